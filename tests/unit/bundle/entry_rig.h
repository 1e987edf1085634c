/* entry_rig.h - entries decoded from text: accepted, or refused with a message. */
#pragma once

#include <errno.h>

#include "bundle/entry/entry.h"
#include "unit/bundle/arena_rig.h"

static inline int decode(const char *text, struct bundle_entry *ret, struct err *e)
{
    struct json *v;
    *e = (struct err){0};
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &v, e), 0);
    return bundle_entry_decode(&arena, v, "/etc/nb", ret, e);
}

static inline struct bundle_entry good(const char *text)
{
    struct bundle_entry b = {0};
    struct err e;
    if (decode(text, &b, &e) < 0)
        fail_msg("%s: %s", text, e.msg);
    return b;
}

static inline void bad(const char *text, const char *message)
{
    struct bundle_entry b;
    struct err e;
    if (decode(text, &b, &e) != -EINVAL)
        fail_msg("%s was accepted", text);
    if (!strstr(e.msg, message))
        fail_msg("%s: expected '%s', got '%s'", text, message, e.msg);
}

static inline void is(str s, const char *expected)
{
    if (!str_eq(s, str_from(expected)))
        fail_msg("'%.*s' is not '%s'", STR_ARG(s), expected);
}
