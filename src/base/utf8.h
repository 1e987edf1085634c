/* utf8.h - strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include "base/buf.h"

bool utf8_valid(str s);

/* Length of the valid prefix of s in bytes; s.n when all of it is valid. */
size_t utf8_valid_prefix(str s);

/* Characters in text that is valid. */
size_t utf8_count(str s);

/* The longest prefix of at most max_bytes that does not cut a character. */
str utf8_truncate(str s, size_t max_bytes);

/* Decodes the character at s.p; returns its length, or 0 when it is not valid. */
size_t utf8_decode(str s, uint32_t *ret_cp);
int utf8_encode(struct buf *b, uint32_t cp);

/* Copies s into b with every invalid byte sequence replaced by U+FFFD. */
int utf8_sanitise(struct buf *b, str s);

/* Columns in a terminal: 0 for combining marks, 2 for wide characters. */
int utf8_width(uint32_t cp);
