#include "base/bytes/base64.h"

#include <errno.h>
#include <string.h>

static const char STANDARD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char URL_SAFE[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char HEX[] = "0123456789abcdef";

static int encode(struct buf *out, str in, const char *alphabet, bool padded)
{
    if (in.n > SIZE_MAX / 2 || buf_reserve(out, (in.n + 2) / 3 * 4) < 0)
        return -ENOBUFS;
    for (size_t at = 0; at < in.n; at += 3) {
        size_t have = in.n - at < 3 ? in.n - at : 3;
        uint32_t bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < have ? (uint8_t)in.p[at + i] : 0);
        char quad[4];
        for (size_t i = 0; i < 4; i++)
            quad[i] = i <= have ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
        (void)buf_add(out, quad, padded ? 4 : have + 1);
    }
    return 0;
}

/* 0 to 63, or -1. `c62` and `c63` are the two characters on which the alphabets differ. */
static int sextet(char c, char c62, char c63)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == c62 ? 62 : c == c63 ? 63 : -1;
}

/* One group of two to four characters without padding. */
static int decode_group(struct buf *out, str in, const char *alphabet)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int v = i < in.n ? sextet(in.p[i], alphabet[62], alphabet[63]) : 0;
        if (v < 0)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)v;
    }
    size_t bytes = in.n - 1;
    if (bits & (0xffffffu >> (8 * bytes)))
        return -EINVAL;
    char triple[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
    return buf_add(out, triple, bytes);
}

/* `in` without padding. A failure leaves `out` as it was. */
static int decode_unpadded(struct buf *out, str in, const char *alphabet)
{
    size_t before = out->n;
    int r = in.n % 4 == 1 ? -EINVAL : buf_reserve(out, in.n / 4 * 3 + (in.n % 4 * 3) / 4);
    for (size_t at = 0; r == 0 && at < in.n; at += 4)
        r = decode_group(out, str_slice(in, at, at + 4), alphabet);
    if (r < 0)
        buf_truncate(out, before);
    return r;
}

int base64_encode(struct buf *out, str in)
{
    return encode(out, in, STANDARD, true);
}

int base64_decode(struct buf *out, str in)
{
    if (in.n % 4)
        return -EINVAL;
    for (int i = 0; i < 2 && in.n > 0 && in.p[in.n - 1] == '='; i++)
        in.n--;
    return decode_unpadded(out, in, STANDARD);
}

int base64url_encode(struct buf *out, str in)
{
    return encode(out, in, URL_SAFE, false);
}

int base64url_decode(struct buf *out, str in)
{
    return decode_unpadded(out, in, URL_SAFE);
}

void hex_encode(char *out, const void *in, size_t n)
{
    const uint8_t *p = in;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = HEX[p[i] >> 4];
        out[2 * i + 1] = HEX[p[i] & 15];
    }
    out[2 * n] = '\0';
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int hex_decode(void *out, size_t n, str in)
{
    uint8_t *p = out;
    if (in.n / 2 != n || in.n % 2)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(in.p[2 * i]), low = hex_digit(in.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return -EINVAL;
        p[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}
