/* The interactive chat: a prompt, the answer as it streams, the next prompt.
 *
 * Keys arrive on the loop at any time. At the prompt the editor gets them; during an answer only
 * Ctrl-C and Esc have an effect, the others are kept for the next prompt. Commands run outside of
 * callbacks, because some of them run the loop themselves. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/chat/mentions.h"
#include "cli/chat/outside.h"
#include "cli/chat/repl_impl.h"
#include "cli/term/signals.h"
#include "cli/term/styled.h"

#define TYPED_MAX   (2u * 1024 * 1024) /* keys kept for the prompt */
#define ESCAPE_MS   50                 /* the bytes of one key arrive faster than this */
#define IN_A_ROW_MS 1500 /* the second Ctrl-C may arrive when the answer has just ended */

/* ---- the prompt ---- */

void repl_draw_region(struct repl *r, str text, size_t row, size_t col)
{
    struct screen_region region = {.text = text, .row = row, .col = col};
    view_gap(&r->view);
    screen_update(&r->screen, buf_str(&r->view.final), &region);
    buf_clear(&r->view.final);
}

/* The status line above the prompt is not kept. */
void repl_draw_prompt(struct repl *r)
{
    struct buf text;
    size_t row, col, width = screen_width(&r->screen);
    buf_init(&text, DRAW_MAX);
    status_line_draw(&r->status, width, r->view.has_color, &text);
    bool has_status = text.n > 0;
    buf_add_lit(&text, has_status ? "\n" : "");
    editor_draw(&r->editor, width, r->view.has_color, &text, &row, &col);
    repl_draw_region(r, buf_str(&text), row + has_status, col);
    buf_done(&text);
}

/* The prompt as it remains on the screen. */
void repl_keep_prompt(struct repl *r)
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

void repl_quit(struct repl *r)
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
    repl_keep_prompt(r);
    editor_clear(&r->editor);
    r->is_prompting = false;
    r->wake = true;
}

static void on_interrupt(struct repl *r)
{
    if (++r->interrupts >= INTERRUPTS_QUIT || clock_mono_ms() - r->stopped_ms < IN_A_ROW_MS)
        repl_quit(r);
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
        repl_quit(r);
    else if (event == EDITOR_REFRESH)
        screen_wipe(&r->screen);
    else if (event == EDITOR_UNFOLD)
        view_unfold(&r->view, 0);
    else if (event == EDITOR_SUSPEND)
        term_suspend(r->term);
    else if (event == EDITOR_INTERRUPT)
        on_interrupt(r);
    else if (event == EDITOR_EXTERNAL || event == EDITOR_CHOOSE)
        r->outside = event, r->is_prompting = false, r->wake = true;
}

/* Passes typed bytes to the editor, until a message is complete. */
static void use_typed(struct repl *r)
{
    while (r->is_prompting && !r->is_quitting && r->typed.n > 0) {
        enum editor_event event;
        size_t n = editor_feed(&r->editor, buf_str(&r->typed), &event);
        buf_consume(&r->typed, n);
        if (r->editor.text.n > 0 || n > 1) /* n: Ctrl-C came behind other keys */
            r->interrupts = 0;
        on_editor_event(r, event);
    }
    if (r->is_prompting && !r->is_quitting)
        repl_draw_prompt(r);
    if (editor_is_waiting(&r->editor))
        timer_start(&r->escape, ESCAPE_MS);
}

/* Esc stops the answer; Ctrl-C does too, and twice quits. */
static void on_escape_alone(void *ctx)
{
    struct repl *r = ctx;
    if (r->is_escape && !r->is_prompting)
        session_cancel(r->chat->session);
    r->is_escape = false;
    editor_idle(&r->editor);
    if (r->is_prompting)
        repl_draw_prompt(r);
}

/* ---- keys and signals ---- */

static void interrupt_answer(struct repl *r)
{
    buf_clear(&r->typed);
    r->stopped_ms = clock_mono_ms();
    if (++r->interrupts >= INTERRUPTS_QUIT)
        repl_quit(r);
    session_cancel(r->chat->session);
}

static void on_bytes(void *ctx, str bytes)
{
    struct repl *r = ctx;
    timer_stop(&r->escape);
    if (r->is_escape && r->typed.n < TYPED_MAX) /* it began the key that goes on here */
        (void)buf_add_char(&r->typed, '\x1b');
    r->is_escape = false;
    if (r->picker) {
        repl_picker_keys(r, bytes);
        return;
    }
    if (r->is_offering) {
        repl_offer_key(r, bytes.p[0]);
        return;
    }
    if (r->is_asking) {
        repl_question_key(r, bytes.p[0]);
        return;
    }
    if (question_prompt_is_active(&r->questions)) {
        question_prompt_keys(&r->questions, bytes);
        return;
    }
    if (!r->is_prompting && str_ends(bytes, STR("\x1b"))) { /* perhaps behind other keys */
        r->is_escape = true;
        timer_start(&r->escape, ESCAPE_MS);
        bytes.n--;
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
    repl_quit(ctx);
}

static void on_resize(void *ctx)
{
    struct repl *r = ctx;
    if (r->is_prompting)
        repl_draw_prompt(r);
    else if (r->picker)
        repl_draw_picker(r);
    else if (r->is_offering)
        repl_draw_offer(r);
    else if (r->is_asking)
        repl_draw_question(r);
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
        repl_quit(r);
}

void repl_wait(struct repl *r)
{
    while (!r->wake)
        (void)loop_run_until(r->chat->loop, &r->wake, UINT32_MAX);
    r->wake = false;
}

/* Waits for a message; false when the input has ended. */
static bool read_message(struct repl *r)
{
    assert(!r->is_prompting && !r->is_asking);
    r->interrupts = 0;
    do {
        if (r->outside)
            repl_go_outside(r);
        r->outside = EDITOR_NOTHING;
        r->is_prompting = true;
        use_typed(r);
        repl_wait(r);
        r->is_prompting = false;
    } while (r->outside && !r->is_quitting);
    return !r->is_quitting;
}

/* ---- start and end ---- */

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

static void open_repl(struct repl *r)
{
    struct chat *c = r->chat;
    bool is_kept = strcmp(c->config->store.type, "memory") != 0;
    screen_init(&r->screen, STDOUT_FILENO);
    view_init(&r->view, c->loop, &r->screen, c->cli->has_color_out);
    r->view.has_footer = r->view.can_unfold = true;
    r->view.on_input = on_input;
    r->view.on_input_gone = on_input_gone;
    question_prompt_init(&r->questions, c->session, &r->view);
    (void)history_init(&r->history, is_kept ? config_path(c->config, "history") : NULL);
    editor_init(&r->editor, &r->history, SLASH_WORDS);
    r->editor.complete_path = mentions_complete;
    r->editor.complete_ctx = getenv("HOME");
    r->editor.can_choose = true;
    timer_init(&r->escape, c->loop, on_escape_alone, r);
    buf_init(&r->typed, TYPED_MAX);
    buf_init(&r->message, EDITOR_TEXT_MAX);
    buf_init(&r->output, 8 * OUTSIDE_OUTPUT_MAX);
    buf_init(&r->command, EDITOR_TEXT_MAX);
    arena_init(&r->status_arena);
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
    buf_done(&r->output);
    buf_done(&r->command);
    arena_done(&r->status_arena);
}

/* What a command leaves to do: a question of the conversation that it chose, a message to send, a
 * draft to edit. */
static void after_command(struct repl *r, struct slash *slash, bool has_moved)
{
    repl_refresh_status(r);
    if (has_moved)
        repl_ask_open_question(r);
    if (slash->message.n > 0 && !r->is_quitting) {
        buf_clear(&r->message);
        buf_add_str(&r->message, slash->message);
        editor_set(&r->editor, slash->message);
        repl_keep_prompt(r);
        editor_clear(&r->editor);
        repl_answer(r);
    } else if (slash->draft.n > 0) {
        editor_set(&r->editor, slash->draft);
    }
}

/* A line that was typed: a command of the chat, a command of the shell, or a message. */
static void use_line(struct repl *r, struct slash *slash, str line)
{
    str before = session_conversation(r->chat->session);
    if (str_starts(line, STR("!")))
        repl_run_command(r, str_trim(str_skip(line, 1)));
    else if (slash_run(slash, line))
        after_command(r, slash, !str_eq(before, session_conversation(r->chat->session)));
    else
        repl_answer(r);
}

static void converse(struct repl *r)
{
    struct slash slash = {
        .chat = r->chat, .view = &r->view, .choose = repl_choose, .choose_ctx = r};
    arena_init(&slash.arena);
    repl_refresh_status(r);
    repl_ask_open_question(r);
    if (r->chat->cli->chat.first)
        use_line(r, &slash, str_from(r->chat->cli->chat.first));
    while (!r->is_quitting && !slash.is_quitting && read_message(r))
        use_line(r, &slash, buf_str(&r->message));
    arena_done(&slash.arena);
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
    media_ask(&r.view, r.term);
    greeting_hello(c, &r.view);
    converse(&r);
    repl_leave(&r);
    term_close(r.term);
    signals_free(signals);
    close_repl(&r);
    return EXIT_DONE;
}
