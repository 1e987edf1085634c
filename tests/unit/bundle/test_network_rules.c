#include "bundle/network/network_rules.h"
#include "support/unit.h"

static struct arena arena;

static struct network_rules rules_of(const char *x, const char *y)
{
    str texts[] = {str_from(x), str_from(y)};
    struct json_strs list = {texts, y ? 2 : 1};
    struct network_rules r;
    struct err e = {0};
    if (network_rules_make(&arena, &list, &r, &e) < 0)
        fail_msg("%s", e.msg);
    return r;
}

TEST(destinations_have_one_spelling)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
        bool is_ip;
    } ROWS[] = {
        {"api.example.com:443", "api.example.com", 443, false},
        {"API.Example.COM:1", "api.example.com", 1, false},
        {"localhost:5432", "localhost", 5432, false},
        {"127.0.0.1:65535", "127.0.0.1", 65535, true},
        {"[::1]:80", "::1", 80, true},
        {"[::FFFF:10.0.0.1]:80", "10.0.0.1", 80, true},
        {"[2001:DB8:0:0::5]:80", "2001:db8::5", 80, true},
        {"my_host-1:80", "my_host-1", 80, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct network_dest d;
        struct err e = {0};
        if (network_dest_parse(&arena, str_from(ROWS[i].text), &d, &e) < 0)
            fail_msg("%s: %s", ROWS[i].text, e.msg);
        assert_true(str_eq(d.host, str_from(ROWS[i].host)));
        assert_int_equal(d.port, ROWS[i].port);
        assert_int_equal(d.is_ip, ROWS[i].is_ip);
    }
}

TEST(what_other_programs_might_read_differently_is_refused)
{
    static const char *const ROWS[] = {
        "",
        ":",
        ":80",
        "host",
        "host:",
        "host:0",
        "host:65536",
        "host:080",
        "host:+80",
        "host:80 ",
        " host:80",
        "host :80",
        "*:80",
        "*.example.com:443",
        "a..b:80",
        "a.:80",
        "-a:80",
        "a-:80",
        "127.1:80",
        "2130706433:80",
        "0x7f000001:80",
        "0177.0.0.1:80",
        "1.2.3.4.5:80",
        "1.2.3.256:80",
        "::1:80",
        "[::1]",
        "[host]:80",
        "[127.0.0.1]:80",
        "[::1%lo]:80",
        "http://host:80",
        "host/x:80",
        "user@host:80",
        "h\xc3\xb6st:80",
        "host:80:90",
        "host:8\n0",
        "a_very.0x10:80",
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct network_dest d;
        struct err e = {0};
        if (network_dest_parse(&arena, str_from(ROWS[i]), &d, &e) == 0)
            fail_msg("accepted: %s", ROWS[i]);
        assert_true(e.msg[0]);
    }
    char longest[400];
    memset(longest, 'a', sizeof(longest));
    struct network_dest d;
    assert_true(network_dest_parse(&arena, (str){longest, sizeof(longest)}, &d, NULL) < 0);
    assert_true(network_dest_parse(&arena, (str){"a\0b:80", 6}, &d, NULL) < 0);
}

static bool allows(const struct network_rules *r, const char *host, uint16_t port, const char *ip,
                   bool is_own)
{
    struct network_ip addr;
    const char *why;
    assert_true(network_ip_parse(str_from(ip), &addr));
    bool ret = network_allows(r, str_from(host), port, &addr, is_own, &why);
    assert_int_equal(ret, why[0] == 0);
    return ret;
}

static const char *const NEVER[] = {"127.0.0.1",
                                    "127.9.9.9",
                                    "0.0.0.0",
                                    "10.1.2.3",
                                    "172.16.0.1",
                                    "192.168.1.1",
                                    "100.64.0.1",
                                    "169.254.169.254",
                                    "169.254.1.1",
                                    "192.0.2.2",
                                    "198.18.0.1",
                                    "224.0.0.1",
                                    "255.255.255.255",
                                    "::1",
                                    "::",
                                    "fe80::1",
                                    "fd00::2",
                                    "fd00:ec2::254",
                                    "::ffff:127.0.0.1",
                                    "::ffff:10.0.0.1",
                                    "64:ff9b::7f00:1",
                                    "64:ff9b::a00:1",
                                    "2002:7f00:1::1",
                                    "2002:a00:1::1",
                                    "ff02::1",
                                    "168.63.129.16",
                                    "64:ff9b::a9fe:a9fe"};

TEST(public_means_the_open_internet_only)
{
    struct network_rules r = rules_of("public", NULL);
    for (size_t i = 0; i < ARRAY_LEN(NEVER); i++) {
        if (allows(&r, NEVER[i], 443, NEVER[i], false) || allows(&r, "x.org", 443, NEVER[i], false))
            fail_msg("allowed: %s", NEVER[i]);
    }
    assert_true(allows(&r, "x.org", 443, "8.8.8.8", false));
    assert_true(allows(&r, "8.8.8.8", 1, "8.8.8.8", false));
    assert_true(allows(&r, "x.org", 443, "2606:4700::1", false));
    assert_false(allows(&r, "x.org", 443, "8.8.8.8", true)); /* this machine's public address */
}

TEST(a_list_allows_what_is_in_it)
{
    struct network_rules r = rules_of("api.example.com:443", "127.0.0.1:5432");
    assert_true(allows(&r, "api.example.com", 443, "8.8.8.8", false));
    assert_true(allows(&r, "api.example.com", 443, "10.0.0.5", false)); /* it was declared */
    assert_false(allows(&r, "api.example.com", 80, "8.8.8.8", false));
    assert_false(allows(&r, "other.example.com", 443, "8.8.8.8", false));
    assert_false(allows(&r, "8.8.8.8", 443, "8.8.8.8", false));
    assert_true(allows(&r, "127.0.0.1", 5432, "127.0.0.1", true));
    assert_false(allows(&r, "127.0.0.1", 5433, "127.0.0.1", true));
    assert_false(allows(&r, "127.0.0.2", 5432, "127.0.0.2", true));
    assert_int_equal(network_find_name(&r, STR("api.example.com")), 0);
    assert_int_equal(network_find(&r, STR("api.example.com"), 80), -1);
}

TEST(a_declared_name_does_not_lead_to_this_machine)
{
    struct network_rules r = rules_of("evil.example.com:443", "localhost:8080");
    static const char *const HERE[] = {"127.0.0.1", "::1",           "169.254.169.254",
                                       "fe80::1",   "fd00:ec2::254", "::ffff:127.0.0.1"};
    for (size_t i = 0; i < ARRAY_LEN(HERE); i++)
        assert_false(allows(&r, "evil.example.com", 443, HERE[i], false));
    assert_false(allows(&r, "evil.example.com", 443, "8.8.8.8", true));
    assert_false(allows(&r, "evil.example.com", 443, "10.0.0.1", true));
    assert_true(allows(&r, "localhost", 8080, "127.0.0.1", true));
    assert_true(allows(&r, "localhost", 8080, "::1", true));
    assert_false(allows(&r, "localhost", 8081, "127.0.0.1", true));
    assert_false(allows(&r, "localhost", 8080, "10.0.0.1", true));
}

TEST(there_is_a_ceiling)
{
    str texts[NETWORK_DESTS_MAX + 1];
    struct json_strs list = {texts, ARRAY_LEN(texts)};
    struct network_rules r;
    struct err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        texts[i] = arena_printf(&arena, "h%zu:80", i);
    assert_true(network_rules_make(&arena, &list, &r, &e) < 0);
    texts[0] = texts[1];
    assert_int_equal(network_rules_make(&arena, &list, &r, &e), 0);
    assert_int_equal(r.n, NETWORK_DESTS_MAX);
}

TEST(own_addresses_are_known)
{
    struct network_ip ip;
    assert_true(network_ip_parse(STR("127.0.0.1"), &ip) && network_is_own_address(&ip));
    assert_true(network_ip_parse(STR("192.0.2.254"), &ip) && !network_is_own_address(&ip));
}

static int begin(void **state)
{
    arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    arena_done(&arena);
    return 0;
}

TESTS_SHARE(begin, end)
