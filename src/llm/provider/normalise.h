/* normalise.h - turns any history into one that a model API accepts.
 *
 * Histories come from logs: interrupted runs, dropped calls, blank texts, results cut in the middle
 * of a character, blocks of another provider. One pass makes every history valid: roles alternate
 * and begin with the user, every tool call has exactly one result at the head of the next message,
 * ids are unique and well-formed, no text is blank. Pure and deterministic: the same history gives
 * the same values.
 *
 * In the result, LLM_TOOL_USE blocks have `json` set to their arguments as an object. */
#pragma once

#include "llm/llm.h"

struct wire_rules {
    str provider, model;    /* opaque blocks are sent back only to the same ones */
    bool refuses_gif;       /* true: a note replaces GIF pictures */
    size_t id_max;          /* longest tool call id */
    bool ids_of_nine;       /* exactly nine letters and digits */
    bool can_images;        /* false: a note replaces each picture */
    bool images_in_results; /* false: pictures follow the results, in the same message */
    bool can_documents;     /* false: the text of each document replaces it */
};

struct wire_history {
    const struct llm_message *messages;
    size_t n;
};

/* -EINVAL when there is nothing to send. */
int normalise(struct arena *a, const struct wire_rules *rules, const struct llm_message *messages,
              size_t n, struct wire_history *ret, struct err *e);

/* The same text if it is UTF-8, else a copy with U+FFFD in place of invalid bytes. */
str normalise_text(struct arena *a, str s);

/* A tool name in the form that APIs accept: [A-Za-z0-9_-], at most 64 characters. */
str normalise_name(struct arena *a, str name);

/* ---- picture.c: APIs refuse the whole request when a picture does not match its MIME type, so the
 * bytes decide, not the type that a tool claims ---- */

#define PICTURE_BASE64_MAX (10u * 1024 * 1024)

/* The MIME type of base64 data that models accept (png, jpeg, gif, webp), or the empty slice
 * with the reason in *ret_problem. */
str picture_mime(str base64, const char **ret_problem);
