/* query.h - parses the text of a search.
 *
 * Words, "quoted phrases" and prefixes* must all occur in one message. The last word, unless it is
 * quoted, is a prefix too. from:USER selects messages
 * of one sender (or of a role: from:assistant), tool:NAME results of one tool, in:title titles
 * only, before: and after: a date. Pure; any thread. */
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

/* The first hit, between U+0001 and U+0002, with about 100 characters on each side. */
str query_snippet(struct arena *a, const struct query *q, str text);
/* The same without these two marks. */
str query_unmarked(struct arena *a, str snippet);
