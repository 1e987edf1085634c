/* The interactive conversation: a prompt, the answer as it streams, the next prompt.
 *
 * Keys arrive on the loop at any time. At the prompt they go to the editor; during an answer
 * only Ctrl-C counts, the rest waits for the next prompt. Commands run outside of callbacks,
 * because some of them run the loop themselves. */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/chat.h"
#include "cli/editor.h"
#include "cli/signals.h"
#include "cli/styled.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/view.h"

#define TYPED_MAX        (2u * 1024 * 1024) /* keys that wait for the prompt */
#define DRAW_MAX         (16u * 1024 * 1024)
#define RESUMED_MESSAGES 6
#define QUESTION_LINES   8
#define QUESTION_BYTES   2000
#define ESCAPE_MS        50 /* a key's bytes come faster than this */
#define INTERRUPTS_QUIT  2
#define IN_A_ROW_MS      1500 /* the second Ctrl-C may come when the answer has just ended */

struct repl {
    struct chat *chat;
    struct term *term;
    struct screen screen;
    struct view view;
    struct editor editor;
    struct history history;
    struct timer escape;
    struct buf typed; /* keys not yet used */
    struct buf message;
    int interrupts;      /* Ctrl-C in a row */
    uint64_t stopped_ms; /* when the latest answer was stopped by one */
    bool is_prompting;
    bool is_quitting;
    bool wake; /* ends the waiting */
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

/* The prompt as it stays behind. */
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
    if (text.n == 0) {
        editor_clear(&r->editor);
        return;
    }
    (void)history_add(&r->history,
                      text); /* a history that cannot be written is no reason to stop */
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
        editor_hint(&r->editor, STR("Ctrl-C again, or Ctrl-D, to leave"));
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

/* Gives the editor what was typed, until a message is complete. */
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
    while (!r->is_prompting && str_find_char(bytes, '\x03') >= 0) {
        interrupt_answer(r);
        bytes = str_skip(bytes, (size_t)str_find_char(bytes, '\x03') + 1);
    }
    if (r->typed.n + bytes.n <= TYPED_MAX)
        buf_add_str(&r->typed, bytes);
    if (r->is_prompting)
        use_typed(r);
}

static void on_end(void *ctx)
{
    quit(ctx);
}

static void on_resize(void *ctx)
{
    struct repl *r = ctx;
    if (r->is_prompting)
        draw_prompt(r);
    else
        view_redraw(&r->view);
}

static void on_signal(void *ctx, int signum)
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

/* Waits for a message; false when there will be none. */
static bool read_message(struct repl *r)
{
    r->is_prompting = true;
    r->interrupts = 0;
    use_typed(r);
    wait(r);
    r->is_prompting = false;
    return !r->is_quitting;
}

/* ---- answers ---- */

static void on_answer_end(void *ctx)
{
    struct repl *r = ctx;
    r->wake = true;
}

static void answer(struct repl *r)
{
    r->interrupts = 0;
    view_begin(&r->view, on_answer_end, r);
    session_send(r->chat->session, buf_str(&r->message), &VIEW_EVENTS, &r->view);
    wait(r);
}

/* ---- commands ---- */

static void say(struct repl *r, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct repl *r, unsigned style, const char *fmt, ...)
{
    struct buf raw, safe;
    va_list ap;
    buf_init(&raw, 16384);
    buf_init(&safe, 65536);
    va_start(ap, fmt);
    (void)buf_vprintf(&raw, fmt, ap);
    va_end(ap);
    text_add_line(&safe, buf_str(&raw));
    view_notice(&r->view, style, buf_str(&safe));
    buf_done(&raw);
    buf_done(&safe);
}

/* The beginning of a message that may be long: whole files were attached to some. */
static void show_question(struct repl *r, str text)
{
    struct buf out;
    str line, rest = utf8_truncate(text, QUESTION_BYTES);
    bool is_cut = rest.n < text.n;
    buf_init(&out, DRAW_MAX);
    for (size_t i = 0; str_split(&rest, '\n', &line); i++) {
        is_cut = is_cut || i == QUESTION_LINES;
        if (i == QUESTION_LINES)
            break;
        style_add(&out, r->view.has_color, STYLE_BOLD | STYLE_CYAN, i == 0 ? STR("❯ ") : STR("  "));
        text_add(&out, line);
        buf_add_char(&out, '\n');
    }
    if (is_cut)
        style_add(&out, r->view.has_color, STYLE_DIM, STR("  …\n"));
    view_lines(&r->view, buf_str(&out));
    buf_done(&out);
}

static void show_message(void *ctx, bool is_user, str text)
{
    struct repl *r = ctx;
    if (is_user)
        show_question(r, text);
    else
        view_markdown(&r->view, text);
}

/* Where the conversation stood. */
static void show_resumed(struct repl *r)
{
    struct err e = {0};
    say(r, STYLE_DIM, "going on with %.*s", STR_ARG(session_conversation(r->chat->session)));
    if (session_history(r->chat->session, RESUMED_MESSAGES, show_message, r, &e) < 0)
        say(r, STYLE_RED, "%s", e.msg);
}

static void cmd_help(struct repl *r, str arg);

static void cmd_new(struct repl *r, str arg)
{
    session_forget(r->chat->session);
    say(r, STYLE_DIM, "a new conversation begins with your next message");
}

static void cmd_resume(struct repl *r, str arg)
{
    struct err e = {0};
    if (session_resume(r->chat->session, arg, &e) < 0)
        say(r, STYLE_RED, "%s", e.msg);
    else
        show_resumed(r);
}

static void cmd_model(struct repl *r, str arg)
{
    say(r, 0, "%.*s", STR_ARG(session_model(r->chat->session)));
}

static void cmd_id(struct repl *r, str arg)
{
    str id = session_conversation(r->chat->session);
    if (id.n > 0)
        say(r, 0, "%.*s", STR_ARG(id));
    else
        say(r, STYLE_DIM, "the conversation gets its id with the first message");
}

static void cmd_clear(struct repl *r, str arg)
{
    buf_clear(&r->view.final);
    r->view.last = VIEW_NOTHING;
    screen_wipe(&r->screen);
}

static void cmd_quit(struct repl *r, str arg)
{
    r->is_quitting = true;
}

static const struct {
    const char *name, *arg, *help;
    void (*run)(struct repl *r, str arg);
} COMMANDS[] = {
    {"/help", "", "this list", cmd_help},
    {"/new", "", "start a new conversation", cmd_new},
    {"/resume", " [ID]", "go on with a conversation, or with the latest one", cmd_resume},
    {"/id", "", "show the id of this conversation", cmd_id},
    {"/model", "", "show which model answers", cmd_model},
    {"/clear", "", "clear the screen", cmd_clear},
    {"/quit", "", "leave (also Ctrl-D)", cmd_quit},
};

static const char *const WORDS[] = {"/help",  "/new",   "/resume", "/id",
                                    "/model", "/clear", "/quit",   NULL};

static void cmd_help(struct repl *r, str arg)
{
    static const char KEYS[] =
        "\n"
        "Enter        send                       Ctrl-C       stop the answer, clear the line\n"
        "Alt-Enter    another line (also \\ Enter) Ctrl-R       search what was typed before\n"
        "Up, Down     what was typed before      Ctrl-L       clear the screen\n"
        "Ctrl-A, E    start, end of the line     Alt-B, F     a word back, forward\n"
        "Ctrl-W, U, K cut a word, before, behind Ctrl-Y       put it back\n";
    struct buf text;
    buf_init(&text, 8192);
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s%s", COMMANDS[i].name, COMMANDS[i].arg);
        buf_printf(&text, "%-12s %s\n", name, COMMANDS[i].help);
    }
    buf_add_lit(&text, KEYS);
    view_lines(&r->view, buf_str(&text));
    buf_done(&text);
}

/* "/word" is a command; "/usr/bin is full" is a message. */
static bool looks_like_command(str text)
{
    str rest = text, word;
    (void)str_split(&rest, ' ', &word);
    for (size_t i = 1; i < word.n; i++)
        if (word.p[i] < 'a' || word.p[i] > 'z')
            return false;
    return word.n > 1 && word.p[0] == '/';
}

static bool run_command(struct repl *r)
{
    str arg = buf_str(&r->message), word;
    if (!looks_like_command(arg))
        return false;
    (void)str_split(&arg, ' ', &word);
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        if (str_eq(word, str_from(COMMANDS[i].name))) {
            COMMANDS[i].run(r, str_trim(arg));
            return true;
        }
    }
    say(r, STYLE_RED, "there is no command %.*s; /help lists them", STR_ARG(word));
    return true;
}

/* ---- beginning and end ---- */

static void add_path(struct buf *out, const char *path)
{
    const char *home = getenv("HOME");
    str p = str_from(path), h = str_from(home);
    bool is_below = h.n > 1 && str_starts(p, h) && (p.n == h.n || p.p[h.n] == '/');
    buf_add_lit(out, is_below ? "~" : "");
    text_add_line(out, is_below ? str_skip(p, h.n) : p);
}

static void greet(struct repl *r)
{
    const struct config *c = r->chat->config;
    str model = session_model(r->chat->session), id = session_conversation(r->chat->session);
    bool is_demo = str_starts(model, STR("demo"));
    struct buf line;
    buf_init(&line, 16384);
    style_add(&line, r->view.has_color, STYLE_BOLD, STR("nb " NB_VERSION));
    buf_add_lit(&line, " · ");
    text_add_line(&line, model);
    buf_add_lit(&line, " · ");
    if (strcmp(c->store.type, "memory") == 0)
        buf_add_lit(&line, "nothing is kept (--store memory)");
    else
        add_path(&line, c->work_dir);
    buf_add_lit(&line,
                session_is_remote(r->chat->session) ? " · through the running server\n" : "\n");
    style_add(&line, r->view.has_color, STYLE_DIM,
              is_demo ? STR("Offline demo; ANTHROPIC_API_KEY or OPENAI_API_KEY brings a real model."
                            "\n/help shows commands and keys.")
                      : STR("/help shows commands and keys."));
    buf_add_char(&line, '\n');
    view_lines(&r->view, buf_str(&line));
    buf_done(&line);
    if (id.n > 0)
        show_resumed(r);
}

static void say_goodbye(struct repl *r)
{
    str id = session_conversation(r->chat->session);
    bool is_kept = strcmp(r->chat->config->store.type, "memory") != 0;
    struct screen_region nothing = {0};
    view_abandon(&r->view);
    view_gap(&r->view);
    if (id.n > 0 && is_kept)
        say(r, STYLE_DIM, "nb --resume %.*s goes on from here", STR_ARG(id));
    screen_update(&r->screen, buf_str(&r->view.final), &nothing);
}

static void open_repl(struct repl *r)
{
    struct chat *c = r->chat;
    bool is_kept = strcmp(c->config->store.type, "memory") != 0;
    screen_init(&r->screen, STDOUT_FILENO);
    view_init(&r->view, c->loop, &r->screen, c->cli->has_color_out);
    r->view.has_footer = true;
    (void)history_init(&r->history, is_kept ? config_path(c->config, "history") : NULL);
    editor_init(&r->editor, &r->history, WORDS);
    timer_init(&r->escape, c->loop, on_escape_alone, r);
    buf_init(&r->typed, TYPED_MAX);
    buf_init(&r->message, EDITOR_TEXT_MAX);
}

static void close_repl(struct repl *r)
{
    timer_stop(&r->escape);
    view_done(&r->view);
    editor_done(&r->editor);
    history_done(&r->history);
    screen_done(&r->screen);
    buf_done(&r->typed);
    buf_done(&r->message);
}

int repl_run(struct chat *c)
{
    static const struct term_events EVENTS = {on_bytes, on_end, on_resize};
    struct repl r = {.chat = c};
    struct err e = {0};
    open_repl(&r);
    int status = term_open(c->loop, STDIN_FILENO, STDOUT_FILENO, &EVENTS, &r, &r.term);
    if (status < 0) {
        close_repl(&r);
        err_set(&e, status, "the terminal cannot be used: %s", err_reason(status));
        return cli_fail(&e);
    }
    struct signals *signals = signals_new(c->loop, on_signal, &r);
    greet(&r);
    while (!r.is_quitting && read_message(&r))
        if (!run_command(&r))
            answer(&r);
    say_goodbye(&r);
    term_close(r.term);
    signals_free(signals);
    close_repl(&r);
    return EXIT_DONE;
}
