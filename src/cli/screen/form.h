/* form.h - fills in what a tool asks for, at the keyboard, one line per field.
 *
 * A tool's server may want a form filled in, a page visited or the model used
 * (input.requested). This is the conversation about it: what to show, what a line means, and
 * the answer in the end. It neither reads nor draws itself. One owner. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"

struct form {
    struct arena arena;
    const struct json *question; /* in the arena: {inputId, kind, source, message, ...} */
    const struct json *fields;   /* the schema's properties; NULL = one yes or no */
    size_t at;                   /* the field being asked for */
    struct json *content;
    const char *action; /* NULL = not decided yet; "accept", "decline", "cancel" */
};

void form_init(struct form *f, const struct json *question); /* copies it */
void form_done(struct form *f);                              /* accepts a zeroed struct */
str form_id(const struct form *f);

/* Who asks what: lines for people, safe to print. */
void form_add_heading(const struct form *f, struct buf *out, bool has_color);
/* What the next line is for: "Name (text, required): ", safe to print. */
void form_add_prompt(const struct form *f, struct buf *out, bool has_color);

/* A line was entered. 0, or -EINVAL with what is wrong with it; the field is asked again. */
int form_enter(struct form *f, str line, struct err *e);
void form_give_up(struct form *f, const char *action);
static inline bool form_is_complete(const struct form *f)
{
    return f->action != NULL;
}
