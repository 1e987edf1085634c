#include <errno.h>

#include "base/bytes/base64.h"
#include "support/unit.h"

static const struct {
    const char *plain, *standard, *url;
} VECTORS[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/", "-_-_"},
};

TEST(vectors)
{
    struct buf b;
    buf_init(&b, 100);
    for (size_t i = 0; i < ARRAY_LEN(VECTORS); i++) {
        buf_clear(&b);
        assert_int_equal(base64_encode(&b, str_from(VECTORS[i].plain)), 0);
        assert_string_equal(buf_cstr(&b), VECTORS[i].standard);
        buf_clear(&b);
        assert_int_equal(base64_decode(&b, str_from(VECTORS[i].standard)), 0);
        assert_string_equal(buf_cstr(&b), VECTORS[i].plain);
        buf_clear(&b);
        assert_int_equal(base64url_encode(&b, str_from(VECTORS[i].plain)), 0);
        assert_string_equal(buf_cstr(&b), VECTORS[i].url);
        buf_clear(&b);
        assert_int_equal(base64url_decode(&b, str_from(VECTORS[i].url)), 0);
        assert_string_equal(buf_cstr(&b), VECTORS[i].plain);
    }
    buf_done(&b);
}

TEST(strictness)
{
    static const char *const bad[] = {"Z",    "Zg",       "Zg=",  "Zh==",  "Zm9=", "=Zg=",  "Z===",
                                      "====", "Zg==Zg==", "Zm 8", "Zm8\n", "-_-_", "Zm8=\n"};
    static const char *const bad_url[] = {"Z", "Zh", "Zm9", "Zg==", "+/+/", "Zm9v\n", "Zm9vY"};
    struct buf b;
    buf_init(&b, 100);
    (void)buf_add_lit(&b, "kept");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(base64_decode(&b, str_from(bad[i])), -EINVAL);
    for (size_t i = 0; i < ARRAY_LEN(bad_url); i++)
        assert_int_equal(base64url_decode(&b, str_from(bad_url[i])), -EINVAL);
    assert_string_equal(buf_cstr(&b), "kept");
    buf_done(&b);
}

TEST(all_bytes_round_trip)
{
    uint8_t all[256];
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (uint8_t)i;
    for (size_t n = 0; n <= sizeof(all); n++) {
        struct buf text, back;
        buf_init(&text, 1000);
        buf_init(&back, n); /* exactly enough */
        assert_int_equal(base64_encode(&text, str_make((char *)all, n)), 0);
        assert_int_equal(base64_decode(&back, buf_str(&text)), 0);
        assert_int_equal(back.n, n);
        if (n)
            assert_memory_equal(back.p, all, n);
        buf_done(&text);
        buf_done(&back);
    }
}

TEST(ceiling)
{
    struct buf b;
    buf_init(&b, 7);
    assert_int_equal(base64_encode(&b, STR("foob")), -ENOBUFS);
    assert_int_equal(b.n, 0);
    buf_clear(&b);
    assert_int_equal(base64_decode(&b, STR("Zm9vYmFyYmF6")), -ENOBUFS);
    assert_int_equal(b.n, 0);
    buf_done(&b);
}

TEST(hex)
{
    char text[9];
    uint8_t back[4] = {0};
    hex_encode(text, "\x00\x7f\xab\xff", 4);
    assert_string_equal(text, "007fabff");
    assert_int_equal(hex_decode(back, 4, STR("007FabFF")), 0);
    assert_memory_equal(back, "\x00\x7f\xab\xff", 4);
    assert_int_equal(hex_decode(back, 4, STR("007fabf")), -EINVAL);
    assert_int_equal(hex_decode(back, 4, STR("007fabff0")), -EINVAL);
    assert_int_equal(hex_decode(back, 4, STR("007fabfg")), -EINVAL);
    assert_int_equal(hex_decode(back, 0, STR("")), 0);
}
