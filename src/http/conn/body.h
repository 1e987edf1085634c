/* body.h - where a request body ends: by length or by chunks.
 *
 * A pure reader that takes input in pieces of any size and hands the body back piece by
 * piece; it keeps no bytes. Chunk extensions and trailers are checked, counted and thrown
 * away. Framing errors are permanent: after one the start of the next request is
 * unknown. */
#pragma once

#include "http/conn/parse.h"

#define HTTP_CHUNK_EXTRA_MAX 4096u /* extensions and trailers of one body together */

struct http_body {
    uint64_t left;  /* of the body, or of the current chunk */
    uint32_t extra; /* bytes of extensions and trailers so far */
    uint8_t state;
    uint8_t digits;
};

void http_body_init(struct http_body *b, const struct http_head *h);

/* Takes bytes from the front of *in; *ret_data is the piece of body among them, perhaps
 * empty. HTTP_PARSE_MORE: call again, now if *in is not empty, else when more has come.
 * HTTP_PARSE_DONE: the body is complete (with *ret_data) and *in is what follows it. */
enum http_parse http_body_next(struct http_body *b, str *in, str *ret_data);

bool http_body_is_done(const struct http_body *b);

/* Bytes still to come, if that is known: not for chunks. */
bool http_body_length_left(const struct http_body *b, uint64_t *ret_left);
