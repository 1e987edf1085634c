/* Answers in the interactive chat, and questions about tool calls. */
#include <assert.h>
#include <stdlib.h>

#include "cli/chat/mentions.h"
#include "cli/chat/project.h"
#include "cli/chat/repl_impl.h"
#include "cli/term/styled.h"

/* ---- questions about tool calls ---- */

void repl_draw_question(struct repl *r)
{
    struct buf text;
    assert(r->is_asking && !permit_is_complete(&r->permit));
    buf_init(&text, DRAW_MAX);
    permit_add_question(&r->permit, &text, screen_width(&r->screen), r->view.has_color);
    repl_draw_region(r, buf_str(&text), SCREEN_AT_END, 0);
    buf_done(&text);
}

/* The whole of a long input is printed above the question, permanently. */
static void begin_question(struct repl *r)
{
    struct buf text;
    struct view *v = &r->view;
    buf_init(&text, DRAW_MAX);
    permit_add_details(&r->permit, &text, screen_width(&r->screen), v->has_color);
    if (text.n > 0) {
        view_say(v, STYLE_BOLD, "%.*s", STR_ARG(permit_tool(&r->permit)));
        buf_add_str(&v->final, buf_str(&text));
    }
    buf_done(&text);
    repl_draw_question(r);
}

static void decide(struct repl *r, enum permit_answer answer)
{
    static const char *const WORDS[] = {
        [PERMIT_YES] = "allowed", [PERMIT_NO] = "not allowed", [PERMIT_ALWAYS] = "always allowed"};
    view_say(&r->view, STYLE_DIM, "%.*s: %s", STR_ARG(permit_tool(&r->permit)), WORDS[answer]);
    permit_decide(&r->permit, answer);
}

/* One key answers one question; the remaining bytes are dropped, so that pasted text decides
 * nothing. */
void repl_question_key(struct repl *r, char key)
{
    enum permit_answer answer = permit_of_key(key);
    if (key == KEY_CTRL_D)
        repl_quit(r);
    while (key == KEY_CTRL_C && !permit_is_complete(&r->permit))
        decide(r, PERMIT_NO);
    if (answer != PERMIT_UNCLEAR)
        decide(r, answer);
    if (permit_is_complete(&r->permit))
        r->wake = true;
    else if (answer != PERMIT_UNCLEAR)
        begin_question(r);
    else
        repl_draw_question(r);
}

/* ---- answers ---- */

static void on_answer_end(void *ctx)
{
    struct repl *r = ctx;
    assert(!r->is_prompting && !r->is_asking);
    question_prompt_clear(&r->questions);
    r->wake = true;
}

static void after_answer(struct repl *r)
{
    view_tell_interface(&r->view, r->chat->session);
    if (!r->is_quitting)
        media_show(&r->view, r->chat->session);
}

/* Asks about the calls, then continues the run with the decisions. Input that was typed before the
 * question was visible is dropped. Leaving keeps the question open. */
static void ask_permission(struct repl *r, const struct json *ask)
{
    str why, here = session_directory(r->chat->session, &why);
    assert(!r->is_prompting && !r->is_asking && !r->view.is_running);
    permit_init(&r->permit, ask);
    r->permit.shell_directory =
        session_is_remote(r->chat->session) || here.n == 0 ? STR("a directory of nb's own") : here;
    r->is_asking = true;
    if (permit_is_complete(&r->permit))
        r->wake = true;
    else
        begin_question(r);
    repl_wait(r);
    r->is_asking = false;
    if (!r->is_quitting) {
        view_begin(&r->view, on_answer_end, r);
        session_answer(r->chat->session, r->permit.ask_id, r->permit.decisions, &VIEW_EVENTS,
                       &r->view);
        repl_wait(r);
        after_answer(r);
    }
    permit_done(&r->permit);
}

static void ask_until_done(struct repl *r)
{
    while (r->view.ask && !r->is_quitting)
        ask_permission(r, r->view.ask);
}

static void tell_project_file(void *ctx, const struct project_file *f)
{
    struct view *v = ctx;
    if (f->is_too_large)
        view_say(v, STYLE_DIM, "%s has more than %u bytes and is not read", f->path,
                 PROJECT_BYTES_MAX);
    else
        view_say(v, STYLE_DIM, "project context: %s", f->path);
}

static bool attach_project(struct chat *c, struct view *v)
{
    struct err e = {0};
    if (project_attach(c->cli, c->config, c->session, tell_project_file, v, &e) == 0)
        return true;
    view_say(v, STYLE_RED, "%s", e.msg);
    return false;
}

static bool attach_mentions(struct chat *c, struct view *v, str message)
{
    struct arena a;
    struct err e = {0};
    struct mentions m;
    bool is_given = true;
    arena_init(&a);
    mentions_find(&a, message, ".", getenv("HOME"), &m);
    for (size_t i = 0; i < m.n && is_given; i++) {
        is_given = session_attach(c->session, m.paths[i], &e) == 0;
        if (is_given)
            view_say(v, STYLE_DIM, "attached %s", m.paths[i]);
        else
            view_say(v, STYLE_RED, "%s: %s", m.paths[i], e.msg);
    }
    if (m.is_cut)
        view_say(v, STYLE_RED, "a message has at most %u files", MENTIONS_MAX);
    arena_done(&a);
    return is_given;
}

bool chat_attach(struct chat *c, struct view *v, str message)
{
    bool is_given = attach_project(c, v) && attach_mentions(c, v, message);
    if (!is_given)
        session_detach(c->session);
    return is_given;
}

void repl_answer(struct repl *r)
{
    struct buf text;
    r->interrupts = 0;
    buf_init(&text, 2 * EDITOR_TEXT_MAX);
    if (chat_attach(r->chat, &r->view, buf_str(&r->message)) && repl_compose(r, &text)) {
        view_begin(&r->view, on_answer_end, r);
        session_send(r->chat->session, buf_str(&text), &VIEW_EVENTS, &r->view);
        repl_wait(r);
        after_answer(r);
        ask_until_done(r);
        repl_refresh_status(r);
    }
    buf_done(&text);
}

/* A conversation that was left while it waited for a permission. */
void repl_ask_open_question(struct repl *r)
{
    struct arena a;
    arena_init(&a);
    const struct json *ask = session_question(r->chat->session, &a);
    if (ask) {
        ask_permission(r, ask);
        ask_until_done(r);
    }
    arena_done(&a);
}
