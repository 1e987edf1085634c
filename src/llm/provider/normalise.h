/* normalise.h - any history becomes one that a model API accepts.
 *
 * Histories come out of logs: interrupted runs, dropped calls, blank texts, results cut in
 * the middle of a character, blocks of another provider. One pass makes them valid by
 * construction, whatever came in: roles alternate and begin with the user, every tool call
 * has exactly one result at the head of the next message, ids are unique and of the allowed
 * shape, nothing is blank. Pure and deterministic: the same history gives the same values.
 *
 * In what comes out, LLM_TOOL_USE blocks have `json` set to their arguments as an object. */
#pragma once

#include "llm/llm.h"

struct wire_rules {
    str provider, model;    /* opaque blocks go back only to where they came from */
    size_t id_max;          /* longest tool call id */
    bool ids_of_nine;       /* exactly nine letters and digits */
    bool can_images;        /* false: a note stands in for a picture */
    bool images_in_results; /* false: pictures follow the results, in the same message */
};

struct wire_history {
    const struct llm_message *messages;
    size_t n;
};

/* -EINVAL when there is nothing to send. */
int normalise(struct arena *a, const struct wire_rules *rules, const struct llm_message *messages,
              size_t n, struct wire_history *ret, struct err *e);

/* The same text if it is UTF-8, else a copy with U+FFFD in place of what is not. */
str normalise_text(struct arena *a, str s);

/* A tool name as APIs take it: [A-Za-z0-9_-], at most 64 characters. */
str normalise_name(struct arena *a, str name);
