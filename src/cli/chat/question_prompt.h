/* question_prompt.h - questions of tools in the terminal, during the answer that they belong to.
 *
 * Questions are queued; the first is shown in place of the running answer, which continues hidden.
 * Ctrl-C and Ctrl-D decline. A question that was answered elsewhere disappears. Loop thread
 * only. */
#pragma once

#include "cli/screen/editor.h"
#include "cli/screen/form.h"
#include "cli/session/session.h"
#include "cli/view/view.h"

#define QUESTION_PROMPT_MAX 16 /* queued questions; further ones are declined */

struct question_prompt {
    struct chat_session *session;
    struct view *view;
    struct form forms[QUESTION_PROMPT_MAX];
    size_t n; /* forms[0] is shown */
    struct editor editor;
    struct history none; /* answers are not stored */
};

void question_prompt_init(struct question_prompt *f, struct chat_session *s, struct view *v);
void question_prompt_done(struct question_prompt *f);
void question_prompt_add(struct question_prompt *f, const struct json *question);
void question_prompt_gone(struct question_prompt *f, str input_id);
void question_prompt_clear(
    struct question_prompt *f); /* the answer has ended, and with it its questions */

static inline bool question_prompt_is_active(const struct question_prompt *f)
{
    return f->n > 0;
}
void question_prompt_keys(struct question_prompt *f, str bytes);
void question_prompt_draw(struct question_prompt *f);
