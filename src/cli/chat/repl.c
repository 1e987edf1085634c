/* The interactive chat: a prompt, the answer as it streams, the next prompt.
 *
 * Keys arrive on the loop at any time. At the prompt the editor gets them; during an answer only
 * Ctrl-C has an effect, the others are kept for the next prompt. Slash commands run outside of
 * callbacks, because some of them run the loop themselves. */
#include <assert.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/chat/chat.h"
#include "cli/chat/permit.h"
#include "cli/chat/question_prompt.h"
#include "cli/chat/view.h"
#include "cli/screen/editor.h"
#include "cli/screen/term.h"
#include "cli/term/signals.h"
#include "cli/term/styled.h"

#define TYPED_MAX       (2u * 1024 * 1024) /* keys kept for the prompt */
#define DRAW_MAX        (16u * 1024 * 1024)
#define ESCAPE_MS       50 /* the bytes of one key arrive faster than this */
#define INTERRUPTS_QUIT 2
#define KEY_CTRL_C      '\x03'
#define KEY_CTRL_D      '\x04'
#define IN_A_ROW_MS     1500 /* the second Ctrl-C may arrive when the answer has just ended */

struct repl {
    struct chat *chat;
    struct term *term;
    struct screen screen;
    struct view view;
    struct editor editor;
    struct history history;
    struct timer escape;
    struct buf typed; /* keys that were not handled yet */
    struct buf message;
    int interrupts;      /* number of consecutive Ctrl-C */
    uint64_t stopped_ms; /* when the latest answer was stopped by Ctrl-C */
    struct permit permit;
    struct question_prompt questions; /* of tools, during an answer; they get the keys */
    bool is_prompting;
    bool is_asking; /* a question about tool calls: keys are answers */
    bool is_quitting;
    bool wake; /* ends the wait */
};

/* ---- the prompt ---- */

static void draw_prompt(struct repl *r)
{
    struct buf text;
    struct screen_region region;
    struct view *v = &r->view;
    buf_init(&text, DRAW_MAX);
    view_gap(v);
    editor_draw(&r->editor, screen_width(&r->screen), v->has_color, &text, &region.row,
                &region.col);
    region.text = buf_str(&text);
    screen_update(&r->screen, buf_str(&v->final), &region);
    buf_clear(&v->final);
    buf_done(&text);
}

/* The prompt as it remains on the screen. */
static void keep_prompt(struct repl *r)
{
    struct buf text;
    size_t row, col;
    buf_init(&text, DRAW_MAX);
    buf_clear(&r->editor.hint);
    editor_draw(&r->editor, screen_width(&r->screen), r->view.has_color, &text, &row, &col);
    buf_add_char(&text, '\n');
    view_lines(&r->view, buf_str(&text));
    view_gap(&r->view);
    buf_done(&text);
}

static void quit(struct repl *r)
{
    r->is_quitting = r->wake = true;
}

static void on_submit(struct repl *r)
{
    str text = str_trim(buf_str(&r->editor.text));
    assert(r->is_prompting);
    if (text.n == 0) {
        editor_clear(&r->editor);
        return;
    }
    (void)history_add(&r->history, text); /* an error of the history file does not stop the chat */
    buf_clear(&r->message);
    buf_add_str(&r->message, text);
    r->editor.is_searching = false;
    keep_prompt(r);
    editor_clear(&r->editor);
    r->is_prompting = false;
    r->wake = true;
}

static void on_interrupt(struct repl *r)
{
    if (++r->interrupts >= INTERRUPTS_QUIT || clock_mono_ms() - r->stopped_ms < IN_A_ROW_MS)
        quit(r);
    else
        editor_hint(&r->editor, STR("Ctrl-C again, or Ctrl-D, to quit"));
}

static void on_editor_event(struct repl *r, enum editor_event event)
{
    if (event != EDITOR_INTERRUPT && event != EDITOR_NOTHING)
        r->interrupts = 0;
    if (event == EDITOR_SUBMIT)
        on_submit(r);
    else if (event == EDITOR_END)
        quit(r);
    else if (event == EDITOR_REFRESH)
        screen_wipe(&r->screen);
    else if (event == EDITOR_SUSPEND)
        term_suspend(r->term);
    else if (event == EDITOR_INTERRUPT)
        on_interrupt(r);
}

/* Passes typed bytes to the editor, until a message is complete. */
static void use_typed(struct repl *r)
{
    while (r->is_prompting && !r->is_quitting && r->typed.n > 0) {
        enum editor_event event;
        size_t n = editor_feed(&r->editor, buf_str(&r->typed), &event);
        buf_consume(&r->typed, n);
        if (r->editor.text.n > 0)
            r->interrupts = 0;
        on_editor_event(r, event);
    }
    if (r->is_prompting && !r->is_quitting)
        draw_prompt(r);
    if (editor_is_waiting(&r->editor))
        timer_start(&r->escape, ESCAPE_MS);
}

static void on_escape_alone(void *ctx)
{
    struct repl *r = ctx;
    editor_idle(&r->editor);
    if (r->is_prompting)
        draw_prompt(r);
}

/* ---- questions about tool calls ---- */

static void draw_question(struct repl *r)
{
    struct buf text;
    struct view *v = &r->view;
    assert(r->is_asking && !permit_is_complete(&r->permit));
    buf_init(&text, DRAW_MAX);
    view_gap(v);
    permit_add_question(&r->permit, &text, screen_width(&r->screen), v->has_color);
    struct screen_region region = {.text = buf_str(&text), .row = SCREEN_AT_END};
    screen_update(&r->screen, buf_str(&v->final), &region);
    buf_clear(&v->final);
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
    draw_question(r);
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
static void on_question_key(struct repl *r, char key)
{
    enum permit_answer answer = permit_of_key(key);
    if (key == KEY_CTRL_D)
        quit(r);
    while (key == KEY_CTRL_C && !permit_is_complete(&r->permit))
        decide(r, PERMIT_NO);
    if (answer != PERMIT_UNCLEAR)
        decide(r, answer);
    if (permit_is_complete(&r->permit))
        r->wake = true;
    else if (answer != PERMIT_UNCLEAR)
        begin_question(r);
    else
        draw_question(r);
}

/* ---- keys and signals ---- */

static void interrupt_answer(struct repl *r)
{
    buf_clear(&r->typed);
    r->stopped_ms = clock_mono_ms();
    if (++r->interrupts >= INTERRUPTS_QUIT)
        quit(r);
    session_cancel(r->chat->session);
}

static void on_bytes(void *ctx, str bytes)
{
    struct repl *r = ctx;
    timer_stop(&r->escape);
    if (r->is_asking) {
        on_question_key(r, bytes.p[0]);
        return;
    }
    if (question_prompt_is_active(&r->questions)) {
        question_prompt_keys(&r->questions, bytes);
        return;
    }
    while (!r->is_prompting && str_find_char(bytes, '\x03') >= 0) {
        interrupt_answer(r);
        bytes = str_skip(bytes, (size_t)str_find_char(bytes, '\x03') + 1);
    }
    if (r->typed.n + bytes.n <= TYPED_MAX)
        buf_add_str(&r->typed, bytes);
    if (r->is_prompting)
        use_typed(r);
}

static void on_repl_end(void *ctx)
{
    quit(ctx);
}

static void on_resize(void *ctx)
{
    struct repl *r = ctx;
    if (r->is_prompting)
        draw_prompt(r);
    else if (r->is_asking)
        draw_question(r);
    else if (question_prompt_is_active(&r->questions))
        question_prompt_draw(&r->questions);
    else
        view_redraw(&r->view);
}

static void on_continue(void *ctx)
{
    struct repl *r = ctx;
    screen_forget(&r->screen);
    on_resize(r);
}

static void on_repl_signal(void *ctx, int signum)
{
    struct repl *r = ctx;
    if (signum == SIGINT)
        on_bytes(r, STR("\x03"));
    else
        quit(r);
}

static void wait(struct repl *r)
{
    while (!r->wake)
        (void)loop_run_until(r->chat->loop, &r->wake, UINT32_MAX);
    r->wake = false;
}

/* Waits for a message; false when the input has ended. */
static bool read_message(struct repl *r)
{
    assert(!r->is_prompting && !r->is_asking);
    r->is_prompting = true;
    r->interrupts = 0;
    use_typed(r);
    wait(r);
    r->is_prompting = false;
    return !r->is_quitting;
}

/* ---- answers ---- */

static void on_input(void *ctx, const struct json *question)
{
    struct repl *r = ctx;
    question_prompt_add(&r->questions, question);
}

static void on_input_gone(void *ctx, str input_id)
{
    struct repl *r = ctx;
    question_prompt_gone(&r->questions, input_id);
}

static void on_answer_end(void *ctx)
{
    struct repl *r = ctx;
    assert(!r->is_prompting && !r->is_asking);
    question_prompt_clear(&r->questions);
    r->wake = true;
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
    wait(r);
    r->is_asking = false;
    if (!r->is_quitting) {
        view_begin(&r->view, on_answer_end, r);
        session_answer(r->chat->session, r->permit.ask_id, r->permit.decisions, &VIEW_EVENTS,
                       &r->view);
        wait(r);
        view_tell_interface(&r->view, r->chat->session);
    }
    permit_done(&r->permit);
}

static void ask_until_done(struct repl *r)
{
    while (r->view.ask && !r->is_quitting)
        ask_permission(r, r->view.ask);
}

static void repl_answer(struct repl *r)
{
    r->interrupts = 0;
    view_begin(&r->view, on_answer_end, r);
    session_send(r->chat->session, buf_str(&r->message), &VIEW_EVENTS, &r->view);
    wait(r);
    view_tell_interface(&r->view, r->chat->session);
    ask_until_done(r);
}

/* A conversation that was left while it waited for a permission. */
static void ask_open_question(struct repl *r)
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

/* ---- start and end ---- */

static void open_repl(struct repl *r)
{
    struct chat *c = r->chat;
    bool is_kept = strcmp(c->config->store.type, "memory") != 0;
    screen_init(&r->screen, STDOUT_FILENO);
    view_init(&r->view, c->loop, &r->screen, c->cli->has_color_out);
    r->view.has_footer = true;
    r->view.on_input = on_input;
    r->view.on_input_gone = on_input_gone;
    question_prompt_init(&r->questions, c->session, &r->view);
    (void)history_init(&r->history, is_kept ? config_path(c->config, "history") : NULL);
    editor_init(&r->editor, &r->history, SLASH_WORDS);
    timer_init(&r->escape, c->loop, on_escape_alone, r);
    buf_init(&r->typed, TYPED_MAX);
    buf_init(&r->message, EDITOR_TEXT_MAX);
}

static void close_repl(struct repl *r)
{
    timer_stop(&r->escape);
    question_prompt_done(&r->questions);
    view_done(&r->view);
    editor_done(&r->editor);
    history_done(&r->history);
    screen_done(&r->screen);
    buf_done(&r->typed);
    buf_done(&r->message);
}

static void converse(struct repl *r)
{
    struct slash slash = {.chat = r->chat, .view = &r->view};
    ask_open_question(r);
    while (!r->is_quitting && !slash.is_quitting && read_message(r)) {
        str before = session_conversation(r->chat->session);
        if (!slash_run(&slash, buf_str(&r->message)))
            repl_answer(r);
        else if (!str_eq(before, session_conversation(r->chat->session)))
            ask_open_question(r);
    }
}

static void repl_leave(struct repl *r)
{
    struct screen_region nothing = {0};
    view_abandon(&r->view);
    view_gap(&r->view);
    greeting_bye(r->chat, &r->view);
    screen_update(&r->screen, buf_str(&r->view.final), &nothing);
}

int repl_run(struct chat *c)
{
    static const struct term_events EVENTS = {on_bytes, on_repl_end, on_resize, on_continue};
    struct repl r = {.chat = c};
    struct err e = {0};
    open_repl(&r);
    int status = term_open(c->loop, STDIN_FILENO, STDOUT_FILENO, &EVENTS, &r, &r.term);
    if (status < 0) {
        close_repl(&r);
        err_set(&e, status, "the terminal cannot be used: %s", err_reason(status));
        return cli_fail(&e);
    }
    struct signals *signals = signals_new(c->loop, on_repl_signal, &r);
    greeting_hello(c, &r.view);
    converse(&r);
    repl_leave(&r);
    term_close(r.term);
    signals_free(signals);
    close_repl(&r);
    return EXIT_DONE;
}
