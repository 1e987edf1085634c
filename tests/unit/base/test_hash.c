#include "base/bytes/hash.h"
#include "support/unit.h"

TEST(known_digests)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(STR_NONE, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex(STR("abc"), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    uint8_t raw[SHA256_LEN];
    sha256(STR("abc"), raw);
    assert_int_equal(raw[0], 0xba);
    assert_int_equal(raw[31], 0xad);
}

TEST(constant_time_compare)
{
    assert_true(bytes_eq_const_time("secret", "secret", 6));
    assert_false(bytes_eq_const_time("secret", "secreT", 6));
    assert_true(bytes_eq_const_time("a", "b", 0));
}
