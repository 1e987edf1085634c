/* filling.h - questions of tools in the terminal, while the answer they belong to is on its way.
 *
 * Questions wait in line; the first is shown in place of the running answer, which goes on
 * behind it. Ctrl-C and Ctrl-D decline. A question that was answered elsewhere disappears. Loop
 * thread only. */
#pragma once

#include "cli/editor.h"
#include "cli/form.h"
#include "cli/session.h"
#include "cli/view.h"

#define FILLING_MAX 16 /* questions that wait; more are declined */

struct filling {
    struct session *session;
    struct view *view;
    struct form forms[FILLING_MAX];
    size_t n; /* forms[0] is shown */
    struct editor editor;
    struct history none; /* answers are not kept */
};

void filling_init(struct filling *f, struct session *s, struct view *v);
void filling_done(struct filling *f);
void filling_add(struct filling *f, const struct json *question);
void filling_gone(struct filling *f, str input_id);
void filling_clear(struct filling *f); /* the answer has ended, and its questions with it */

static inline bool filling_is_active(const struct filling *f)
{
    return f->n > 0;
}
void filling_keys(struct filling *f, str bytes);
void filling_draw(struct filling *f);
