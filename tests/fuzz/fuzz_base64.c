/* fuzz_base64.c - a text that decodes is the only text for its bytes; all bytes survive. */
#include <assert.h>

#include "base/bytes/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*codec)(struct buf *out, str in);

static void check(codec encode, codec decode, str s)
{
    struct buf bytes, text;
    buf_init(&bytes, s.n * 2);
    buf_init(&text, s.n * 2 + 4);
    if (decode(&bytes, s) == 0) {
        assert(encode(&text, buf_str(&bytes)) == 0);
        assert(str_eq(buf_str(&text), s));
    } else {
        assert(bytes.n == 0);
    }
    buf_clear(&text);
    buf_clear(&bytes);
    assert(encode(&text, s) == 0);
    assert(decode(&bytes, buf_str(&text)) == 0);
    assert(str_eq(buf_str(&bytes), s));
    buf_done(&bytes);
    buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = str_make((const char *)data, size);
    check(base64_encode, base64_decode, s);
    check(base64url_encode, base64url_decode, s);

    char *hex = xcalloc(2 * size + 1, 1), *back = xcalloc(size + 1, 1);
    hex_encode(hex, data, size);
    assert(hex_decode(back, size, str_make(hex, 2 * size)) == 0);
    assert(str_eq(str_make(back, size), s));
    (void)hex_decode(back, size / 2, s);
    free(hex);
    free(back);
    return 0;
}
