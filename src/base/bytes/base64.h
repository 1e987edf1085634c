/* base64.h - base64 (padded), base64url (unpadded) and hex. Decoding is strict: wrong
 * alphabet, wrong padding or leftover bits are -EINVAL. Thread-safe. */
#pragma once

#include "base/buf.h"

int base64_encode(struct buf *out, str in);
int base64_decode(struct buf *out, str in);
int base64url_encode(struct buf *out, str in);
int base64url_decode(struct buf *out, str in);

void hex_encode(char *out, const void *in, size_t n); /* 2n lower-case digits and a NUL */
int hex_decode(void *out, size_t n, str in);          /* in.n must be 2n */
int hex_digit(char c);                                /* 0 to 15, or -1 */
