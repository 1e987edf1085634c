#include <errno.h>

#include "bundle/network/network_dns.h"
#include "support/unit.h"

/* A question for `name`, of a type. Returns its length. */
static size_t ask(uint8_t *p, const char *name, uint8_t type)
{
    static const uint8_t HEAD[12] = {0x12, 0x34, 1, 0, 0, 1};
    size_t n = sizeof(HEAD);
    memcpy(p, HEAD, n);
    str rest = str_from(name), label;
    while (str_split(&rest, '.', &label)) {
        p[n++] = (uint8_t)label.n;
        memcpy(p + n, label.p, label.n);
        n += label.n;
    }
    memcpy(p + n, (uint8_t[]){0, 0, type, 0, 1}, 5);
    return n + 5;
}

TEST(reads_a_question)
{
    uint8_t p[512];
    struct dns_question q;
    size_t n = ask(p, "API.Example.com", 1);
    assert_int_equal(dns_parse(p, n, &q), 0);
    assert_string_equal(q.name, "api.example.com");
    assert_int_equal(q.id, 0x1234);
    assert_int_equal(q.kind, DNS_A);
    assert_true(q.wants_recursion);
    assert_int_equal(dns_parse(p, ask(p, "x.y", 28), &q), 0);
    assert_int_equal(q.kind, DNS_AAAA);
    assert_int_equal(dns_parse(p, ask(p, "x.y", 16), &q), 0);
    assert_int_equal(q.kind, DNS_OTHER);
}

TEST(every_cut_is_refused)
{
    uint8_t p[512];
    struct dns_question q;
    size_t n = ask(p, "api.example.com", 1);
    for (size_t i = 0; i < n; i++) {
        uint8_t *exact = xcalloc(1, i + 1); /* the sanitizer sees a byte too many */
        memcpy(exact, p, i);
        assert_int_equal(dns_parse(exact, i, &q), -EBADMSG);
        free(exact);
    }
}

TEST(what_is_not_a_plain_question_is_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
    } CHANGES[] = {{2, 0x81}, {2, 0x09}, {2, 0x03}, {5, 0},    {5, 2},    {12, 0xc0},
                   {12, 64},  {13, '.'}, {13, 0},   {13, ' '}, {13, '/'}, {13, 0xff}};
    for (size_t i = 0; i < ARRAY_LEN(CHANGES); i++) {
        uint8_t p[512];
        struct dns_question q;
        size_t n = ask(p, "api.example.com", 1);
        p[CHANGES[i].at] = CHANGES[i].value;
        if (dns_parse(p, n, &q) == 0)
            fail_msg("accepted: %zu", i);
    }
    uint8_t p[512] = {0};
    struct dns_question q;
    assert_int_equal(dns_parse(p, ask(p, "", 1), &q), -EBADMSG); /* the root */
}

TEST(the_longest_name_is_answered)
{
    char name[300] = "";
    uint8_t p[512], out[DNS_MESSAGE_MAX];
    struct dns_question q;
    for (int i = 0; i < 126; i++)
        memcpy(name + 2 * i, "a.", 3);
    name[251] = 0;
    assert_int_equal(dns_parse(p, ask(p, name, 1), &q), 0);
    struct network_ip ips[DNS_ANSWERS_MAX + 3] = {0};
    size_t n = dns_answer(&q, DNS_OK, ips, ARRAY_LEN(ips), out);
    assert_true(n <= DNS_MESSAGE_MAX);
    assert_int_equal(out[7], DNS_ANSWERS_MAX);
    memcpy(name + 251, ".aa.a", 6);
    assert_int_equal(dns_parse(p, ask(p, name, 1), &q), -EBADMSG);
}

TEST(answers_carry_the_question_and_ipv4_addresses)
{
    uint8_t p[512], out[DNS_MESSAGE_MAX];
    struct dns_question q;
    size_t n = ask(p, "x.y", 1);
    assert_int_equal(dns_parse(p, n, &q), 0);
    struct network_ip ips[] = {{.is_v6 = true, .at = {1}}, {.at = {1, 2, 3, 4}}};
    size_t len = dns_answer(&q, DNS_OK, ips, 2, out);
    assert_int_equal(len, n + 16);
    assert_memory_equal(out + 12, p + 12, n - 12);
    assert_memory_equal(out + len - 4, ((uint8_t[]){1, 2, 3, 4}), 4);
    assert_int_equal(out[2] & 0x80, 0x80);
    assert_int_equal(dns_answer(&q, DNS_NO_SUCH_NAME, ips, 2, out), n);
    assert_int_equal(out[3] & 15, 3);
    assert_int_equal(out[7], 0);
}
