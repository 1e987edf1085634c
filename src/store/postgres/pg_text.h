/* pg_text.h - the words of events for the full-text index of the database.
 *
 * The words are those of the index of the file stores (index/search_words.h), as lexemes of a
 * tsvector without positions: the database only finds candidates, and each is checked against its
 * line, so that all stores find the same. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "store/event/query.h"

#define PG_TEXT_NO_TIME INT64_MIN

struct pg_text {
    int64_t at_ms; /* PG_TEXT_NO_TIME: the event has no time */
    str words;     /* separated by single spaces; empty: too many, always a candidate */
};

/* False: the line has no text. */
bool pg_text_of(struct arena *a, str line, struct pg_text *ret);

/* The query as a tsquery; empty when the database cannot check any part of it. */
str pg_text_query(struct arena *a, const struct query *q);
