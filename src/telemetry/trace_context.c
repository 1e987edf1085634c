#include "telemetry/trace_context.h"

#include "base/bytes/base64.h"

#define LEN 55 /* 00-<32>-<16>-<2> */

static bool is_lower_hex(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (hex_digit(s.p[i]) < 0 || (s.p[i] >= 'A' && s.p[i] <= 'F'))
            return false;
    return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* A later version may have more behind a further dash; version ff is not allowed. */
static bool has_form(str s)
{
    if (s.n < LEN || s.p[2] != '-' || s.p[35] != '-' || s.p[52] != '-')
        return false;
    str version = str_slice(s, 0, 2);
    if (!is_lower_hex(version) || str_eq(version, STR("ff")))
        return false;
    return s.n == LEN || (!str_eq(version, STR("00")) && s.p[LEN] == '-');
}

struct trace_context trace_context_parse(str text)
{
    struct trace_context c = {0};
    uint8_t flags;
    if (!has_form(text))
        return c;
    str trace = str_slice(text, 3, 35), span = str_slice(text, 36, 52);
    if (!is_lower_hex(trace) || !is_lower_hex(span) || !is_lower_hex(str_slice(text, 53, LEN)) ||
        hex_decode(c.trace, sizeof c.trace, trace) < 0 ||
        hex_decode(c.span, sizeof c.span, span) < 0 ||
        hex_decode(&flags, 1, str_slice(text, 53, LEN)) < 0 || is_zero(c.trace, sizeof c.trace) ||
        is_zero(c.span, sizeof c.span))
        return (struct trace_context){0};
    c.is_set = true;
    c.is_sampled = flags & 1;
    return c;
}

str trace_context_id(const struct trace_context *c, char out[TRACE_ID_LEN + 1])
{
    if (!c->is_set)
        return STR_NONE;
    hex_encode(out, c->trace, sizeof c->trace);
    return str_make(out, TRACE_ID_LEN);
}
