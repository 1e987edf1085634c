#include "http/conn/body.h"

#include <string.h>

#include "base/bytes/base64.h"

enum state {
    DONE,
    LENGTH,
    SIZE,
    EXT_BEGIN,
    EXT_NAME,
    EXT_EQUALS,
    EXT_VALUE,
    EXT_QUOTED,
    EXT_ESCAPED,
    EXT_END,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    FAILED,
};

enum { SIZE_DIGITS_MAX = 15 }; /* below 2^60: sums cannot overflow */

void http_body_init(struct http_body *b, const struct http_head *h)
{
    *b = (struct http_body){.state = DONE};
    if (h->framing == HTTP_FRAMING_CHUNKED)
        b->state = SIZE;
    else if (h->framing == HTTP_FRAMING_LENGTH && h->content_length > 0) {
        b->state = LENGTH;
        b->left = h->content_length;
    }
}

bool http_body_is_done(const struct http_body *b)
{
    return b->state == DONE;
}

bool http_body_length_left(const struct http_body *b, uint64_t *ret_left)
{
    if (b->state != DONE && b->state != LENGTH)
        return false;
    *ret_left = b->left;
    return true;
}

static enum state on_size(struct http_body *b, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0 && b->digits < SIZE_DIGITS_MAX) {
        b->left = b->left * 16 + (uint64_t)digit;
        b->digits++;
        return SIZE;
    }
    if (b->digits == 0)
        return FAILED;
    return c == '\r' ? SIZE_LF : c == ';' ? EXT_BEGIN : FAILED;
}

/* Extensions and trailers are ignored, but a body of nothing else would be endless. */
static enum state on_extra(struct http_body *b, bool is_allowed, enum state next)
{
    return is_allowed && ++b->extra <= HTTP_CHUNK_EXTRA_MAX ? next : FAILED;
}

static enum state on_extension_end(struct http_body *b, char c)
{
    return c == '\r' ? SIZE_LF : on_extra(b, c == ';', EXT_BEGIN);
}

/* chunk-ext of RFC 9112 7.1.1, without the white space it calls bad. */
static enum state on_extension(struct http_body *b, char c)
{
    bool is_token = http_is_token_char(c), is_text = http_is_value_char(c);
    switch ((enum state)b->state) {
    case EXT_BEGIN:
        return on_extra(b, is_token, EXT_NAME);
    case EXT_NAME:
        return is_token || c == '=' ? on_extra(b, true, is_token ? EXT_NAME : EXT_EQUALS)
                                    : on_extension_end(b, c);
    case EXT_EQUALS:
        return on_extra(b, is_token || c == '"', is_token ? EXT_VALUE : EXT_QUOTED);
    case EXT_VALUE:
        return is_token ? on_extra(b, true, EXT_VALUE) : on_extension_end(b, c);
    case EXT_QUOTED:
        return on_extra(b, is_text, c == '"' ? EXT_END : c == '\\' ? EXT_ESCAPED : EXT_QUOTED);
    case EXT_ESCAPED:
        return on_extra(b, is_text, EXT_QUOTED);
    default:
        return on_extension_end(b, c);
    }
}

static enum state on_size_lf(struct http_body *b, char c)
{
    if (c != '\n')
        return FAILED;
    b->digits = 0;
    return b->left ? DATA : TRAILER;
}

static enum state body_step(struct http_body *b, char c)
{
    switch ((enum state)b->state) {
    case SIZE:
        return on_size(b, c);
    case EXT_BEGIN:
    case EXT_NAME:
    case EXT_EQUALS:
    case EXT_VALUE:
    case EXT_QUOTED:
    case EXT_ESCAPED:
    case EXT_END:
        return on_extension(b, c);
    case SIZE_LF:
        return on_size_lf(b, c);
    case DATA_CR:
        return c == '\r' ? DATA_LF : FAILED;
    case DATA_LF:
        return c == '\n' ? SIZE : FAILED;
    case TRAILER:
        return c == '\r' ? LAST_LF : on_extra(b, http_is_token_char(c), TRAILER_NAME);
    case TRAILER_NAME:
        return c == ':' ? TRAILER_VALUE : on_extra(b, http_is_token_char(c), TRAILER_NAME);
    case TRAILER_VALUE:
        return c == '\r' ? TRAILER_LF : on_extra(b, http_is_value_char(c), TRAILER_VALUE);
    case TRAILER_LF:
        return c == '\n' ? TRAILER : FAILED;
    case LAST_LF:
        return c == '\n' ? DONE : FAILED;
    case DONE:
    case LENGTH:
    case DATA:
    case FAILED:
        break;
    }
    return FAILED;
}

static str take_data(struct http_body *b, str *in)
{
    size_t n = b->left < in->n ? (size_t)b->left : in->n;
    str data = str_slice(*in, 0, n);
    *in = str_skip(*in, n);
    b->left -= n;
    if (b->left == 0)
        b->state = b->state == LENGTH ? DONE : DATA_CR;
    return data;
}

enum http_parse http_body_next(struct http_body *b, str *in, str *ret_data)
{
    *ret_data = STR_NONE;
    while (in->n && b->state != DONE && b->state != FAILED) {
        if (b->state == LENGTH || b->state == DATA) {
            *ret_data = take_data(b, in);
            break;
        }
        b->state = (uint8_t)body_step(b, in->p[0]);
        *in = str_skip(*in, 1);
    }
    if (b->state == FAILED)
        return HTTP_PARSE_BAD;
    return b->state == DONE ? HTTP_PARSE_DONE : HTTP_PARSE_MORE;
}
