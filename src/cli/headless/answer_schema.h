/* answer_schema.h - an answer that must be JSON of a given form (--output-schema).
 *
 * The schema goes with the message as an instruction; the answer is checked here, because a model
 * promises nothing. Pure, except that opening reads a file. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"

#define ANSWER_SCHEMA_MAX (64u * 1024) /* bytes of the file */

struct answer_schema {
    struct arena arena;
    const struct json *schema;
    str text; /* of the schema, in one line */
};

int answer_schema_open(struct answer_schema *s, const char *path, struct err *e);
void answer_schema_done(struct answer_schema *s); /* accepts a zeroed struct */

/* The message with the instruction. */
void answer_schema_ask(const struct answer_schema *s, str message, struct buf *out);
/* The message that asks again after a wrong answer. */
void answer_schema_again(const char *reason, struct buf *out);

/* The JSON of the answer, which may be the whole text or one fenced block at its end, in the arena.
 * -EINVAL with the reason. */
int answer_schema_check(const struct answer_schema *s, struct arena *a, str answer,
                        struct json **ret, struct err *e);
