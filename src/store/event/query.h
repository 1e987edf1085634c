/* query.h - what people type into a search box, taken apart.
 *
 * Words, "quoted phrases" and prefixes* must all be found in one message. from:USER keeps
 * messages of one sender (or of a role: from:assistant), tool:NAME results of one tool,
 * in:title titles only, before:/after: a date. Pure; any thread. */
#pragma once

#include "store/event/text.h"

#define QUERY_TERMS_MAX 32

struct query_term {
    str text; /* folded: lower case, no accents */
    bool is_phrase, is_prefix;
};

struct query {
    struct query_term *terms;
    size_t n;
    str from, tool;
    bool titles_only;
    int64_t after_ms, before_ms; /* 0, INT64_MAX = open */
};

int query_parse(struct arena *a, str text, struct query *ret, struct err *e); /* -EINVAL */

bool query_matches(const struct query *q, struct arena *scratch, const struct event_text *text,
                   const struct json *event);

/* About 100 characters on each side of the first hit, which stands between U+0001 and
 * U+0002. */
str query_snippet(struct arena *a, const struct query *q, str text);
