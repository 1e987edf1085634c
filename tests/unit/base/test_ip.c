#include <errno.h>

#include "base/bytes/ip.h"
#include "support/unit.h"

static const char *again(const char *text)
{
    static char out[IP_TEXT_MAX];
    uint8_t ip[IP_LEN];
    if (ip_parse(str_from(text), ip) < 0)
        return "no";
    ip_format(ip, out);
    return out;
}

TEST(addresses_are_read_and_written)
{
    assert_string_equal(again("192.0.2.7"), "192.0.2.7");
    assert_string_equal(again("::ffff:192.0.2.7"), "192.0.2.7");
    assert_string_equal(again("2001:DB8::1"), "2001:db8::1");
    static const char *const BAD[] = {"",       "localhost", "1.2.3",      "1.2.3.4.5", "1.2.3.4 ",
                                      "::1%lo", "[::1]",     "1.2.3.4:80", "0x7f.1"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_string_equal(again(BAD[i]), "no");
}

static bool has(const char *block, const char *address)
{
    struct ip_block b;
    uint8_t ip[IP_LEN];
    assert_int_equal(ip_block_parse(str_from(block), &b), 0);
    assert_int_equal(ip_parse(str_from(address), ip), 0);
    return ip_block_has(&b, ip);
}

TEST(a_block_has_its_addresses_and_no_others)
{
    assert_true(has("10.0.0.0/8", "10.255.1.2"));
    assert_false(has("10.0.0.0/8", "11.0.0.0"));
    assert_true(has("172.16.0.0/12", "172.31.255.255"));
    assert_false(has("172.16.0.0/12", "172.32.0.0"));
    assert_true(has("127.0.0.1", "::ffff:127.0.0.1"));
    assert_false(has("127.0.0.1", "127.0.0.2"));
    assert_true(has("0.0.0.0/0", "192.0.2.1"));
    assert_false(has("0.0.0.0/0", "2001:db8::1"));
    assert_true(has("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(has("2001:db8::/33", "2001:db8:8000::1"));
    assert_true(has("::/0", "192.0.2.1"));
}

TEST(what_is_no_block_is_refused)
{
    static const char *const BAD[] = {"10.0.0.0/33", "::/129",       "10.0.0.0/", "10.0.0.0/-1",
                                      "/8",          "10.0.0.0/8/8", "all"};
    struct ip_block b;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(ip_block_parse(str_from(BAD[i]), &b), -EINVAL);
}
