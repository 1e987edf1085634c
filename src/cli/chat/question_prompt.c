#include "cli/chat/question_prompt.h"

#include <assert.h>

#include "cli/term/styled.h"

#define DRAW_MAX (1024u * 1024)

void question_prompt_init(struct question_prompt *f, struct chat_session *s, struct view *v)
{
    static const char *const NO_WORDS[] = {NULL};
    *f = (struct question_prompt){.session = s, .view = v};
    (void)history_init(&f->none, NULL);
    editor_init(&f->editor, &f->none, NO_WORDS);
}

void question_prompt_done(struct question_prompt *f)
{
    question_prompt_clear(f);
    editor_done(&f->editor);
    history_done(&f->none);
}

static void announce(struct question_prompt *f)
{
    struct buf text;
    assert(f->n > 0);
    buf_init(&text, DRAW_MAX);
    form_add_heading(&f->forms[0], &text, f->view->has_color);
    view_lines(f->view, buf_str(&text));
    buf_done(&text);
}

void question_prompt_draw(struct question_prompt *f)
{
    struct buf text, line;
    struct view *v = f->view;
    size_t row, col;
    assert(f->n > 0);
    buf_init(&text, DRAW_MAX);
    buf_init(&line, DRAW_MAX);
    form_add_prompt(&f->forms[0], &text, v->has_color);
    buf_add_char(&text, '\n');
    editor_draw(&f->editor, screen_width(v->screen), v->has_color, &line, &row, &col);
    buf_add_str(&text, buf_str(&line));
    struct screen_region region = {.text = buf_str(&text), .row = row + 1, .col = col};
    screen_update(v->screen, buf_str(&v->final), &region);
    buf_clear(&v->final);
    buf_done(&text);
    buf_done(&line);
}

/* Shows the next question, or the answer again. */
static void show_next(struct question_prompt *f)
{
    editor_clear(&f->editor);
    f->view->is_paused = f->n > 0;
    if (f->n > 0) {
        announce(f);
        question_prompt_draw(f);
    } else {
        view_redraw(f->view);
    }
}

static void remove_at(struct question_prompt *f, size_t i)
{
    assert(i < f->n);
    form_done(&f->forms[i]);
    memmove(&f->forms[i], &f->forms[i + 1], (f->n - i - 1) * sizeof f->forms[0]);
    f->n--;
    if (i == 0)
        show_next(f);
}

void question_prompt_add(struct question_prompt *f, const struct json *question)
{
    if (f->n == QUESTION_PROMPT_MAX) {
        session_answer_input(f->session, json_get_string(question, "inputId"), "decline", NULL);
        return;
    }
    form_init(&f->forms[f->n++], question);
    if (f->n == 1)
        show_next(f);
}

void question_prompt_gone(struct question_prompt *f, str input_id)
{
    for (size_t i = f->n; i > 0; i--)
        if (str_eq(form_id(&f->forms[i - 1]), input_id))
            remove_at(f, i - 1);
}

void question_prompt_clear(struct question_prompt *f)
{
    while (f->n > 0)
        form_done(&f->forms[--f->n]);
    f->view->is_paused = false;
}

/* The server confirms the answer with an event, which removes the form. */
static void send(struct question_prompt *f)
{
    struct form *form = &f->forms[0];
    struct arena a;
    assert(f->n > 0 && form_is_complete(form));
    arena_init(&a);
    str id = arena_str(&a, form_id(form));
    const struct json *content =
        form->fields && strcmp(form->action, "accept") == 0 ? json_clone(&a, form->content) : NULL;
    view_say(f->view, STYLE_DIM, "%.*s: %s", STR_ARG(json_get_string(form->question, "source")),
             strcmp(form->action, "accept") == 0 ? "answered" : "declined");
    const char *action = form->action;
    remove_at(f, 0);
    session_answer_input(f->session, id, action, content);
    arena_done(&a);
}

static void on_question_line(struct question_prompt *f)
{
    struct err e = {0};
    if (form_enter(&f->forms[0], buf_str(&f->editor.text), &e) < 0) {
        editor_hint(&f->editor, str_from(e.msg));
        return;
    }
    editor_clear(&f->editor);
}

void question_prompt_keys(struct question_prompt *f, str bytes)
{
    while (bytes.n > 0 && f->n > 0) {
        enum editor_event event;
        size_t used = editor_feed(&f->editor, bytes, &event);
        bytes = str_skip(bytes, used);
        if (event == EDITOR_SUBMIT)
            on_question_line(f);
        else if (event == EDITOR_INTERRUPT || event == EDITOR_END)
            form_give_up(&f->forms[0], "decline");
        if (form_is_complete(&f->forms[0]))
            send(f);
    }
    if (f->n > 0)
        question_prompt_draw(f);
}
