/* texts.h - what people write for the agent in advance: instructions and saved prompts.
 *
 * The workspace has one set of them, which its admins write, and each person has one. Instructions
 * are part of prompts (runtime/prompt/prompt.h): those of the workspace of every run, those of a
 * person only of runs whose messages are all from that person. A saved prompt is a text with
 * variables, {{name}}, that a person puts into a message. All are in one document (doc_file.h).
 * Loop thread. */
#pragma once

#include "base/json/json_decode.h"
#include "workspace/doc_file.h"

#define TEXTS_INSTRUCTIONS_MAX 8000u /* bytes */
#define TEXTS_NAME_MAX         64u
#define TEXTS_DESCRIPTION_MAX  200u
#define TEXTS_PROMPT_MAX       (16u * 1024)
#define TEXTS_PROMPTS_MAX      100u /* of one set */
#define TEXTS_PEOPLE_MAX       1000u
#define TEXTS_VARIABLES_MAX    20u /* of one prompt; further ones stay as they are written */

struct texts;

struct texts *texts_open(const struct doc_place *at); /* blocking */
void texts_reload(struct texts *t);                   /* another server has changed them */
void texts_free(struct texts *t);                     /* accepts NULL */

/* In all of these an empty owner is the workspace. t may be NULL: there are none. */
str texts_instructions(const struct texts *t, str owner); /* or empty */
/* Writes an object {text, by, updatedAt}. */
void texts_write_instructions(const struct texts *t, str owner, struct json_writer *w);
/* Writes the members of an array: {name, scope, description, text, variables, by, updatedAt}. */
void texts_write_prompts(const struct texts *t, str owner, struct json_writer *w);

/* The names of its variables, each once, in their order. */
struct json_strs texts_variables(struct arena *a, str text);

struct text_edit {
    str owner, by;
    str name;        /* of a prompt; empty = the instructions */
    str description; /* of a prompt */
    str text;        /* empty = it is removed; -ENOENT when there is no such prompt */
};
/* Checks it and changes the document; -EINVAL for a value that is too long. */
struct doc_change *texts_change(struct texts *t, const struct text_edit *edit, doc_changed_fn fn,
                                void *ctx);

/* Removes what one person wrote for themself: their account was deleted. t may be NULL. */
void texts_forget(struct texts *t, str user_id);
/* The same for all who do not exist any more. */
void texts_retain(struct texts *t, bool (*exists)(const void *ctx, str user_id), const void *ctx);
