/* form.h - a form that a tool asks the user to fill in, one line per field.
 *
 * A tool's server may ask for a form, for a page to be opened, or for the use of the model
 * (input.requested). This module has the text to show, the meaning of each line, and the answer. It
 * neither reads nor draws. One owner. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

struct form {
    struct arena arena;
    const struct json *question; /* in the arena: {inputId, kind, source, message, ...} */
    const struct json *fields;   /* the schema's properties; NULL = a yes/no question */
    size_t at;                   /* the current field */
    struct json *content;
    const char *action; /* NULL = undecided; "accept", "decline", "cancel" */
};

void form_init(struct form *f, const struct json *question); /* copies it */
void form_done(struct form *f);                              /* accepts a zeroed struct */
str form_id(const struct form *f);

/* The question and its source, as lines that are safe to print. */
void form_add_heading(const struct form *f, struct buf *out, bool has_color);
/* The prompt for the next line: "Name (text, required): ", safe to print. */
void form_add_prompt(const struct form *f, struct buf *out, bool has_color);

/* A line was entered. 0, or -EINVAL with the reason; the same field is then asked again. */
int form_enter(struct form *f, str line, struct err *e);
void form_give_up(struct form *f, const char *action);
static inline bool form_is_complete(const struct form *f)
{
    return f->action != NULL;
}
