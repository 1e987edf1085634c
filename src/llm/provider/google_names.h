/* google_names.h - names of functions as Gemini takes them.
 *
 * They must begin with a letter or an underscore; names of tools may begin with a digit or a
 * hyphen. Those get an underscore in front, and so do names that would look like that: the way
 * back is unambiguous. Pure. */
#pragma once

#include "base/arena.h"

/* True when the first character that is not an underscore is a digit or a hyphen. */
static inline bool google_is_marked(str name)
{
    size_t i = 0;
    while (i < name.n && name.p[i] == '_')
        i++;
    return i < name.n && (name.p[i] == '-' || (name.p[i] >= '0' && name.p[i] <= '9'));
}

static inline str google_name(struct arena *a, str name)
{
    return google_is_marked(name) ? arena_concat(a, STR("_"), name) : name;
}

static inline str google_tool_name(str name)
{
    bool is_ours = google_is_marked(name) && name.p[0] == '_';
    return is_ours ? str_skip(name, 1) : name;
}
