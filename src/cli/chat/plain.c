/* nb --plain: the chat for screen readers and simple terminals. Lines in, lines out: nothing is
 * redrawn, moved or coloured, and the terminal itself edits the line. */
#include <unistd.h>

#include "cli/chat/slash.h"
#include "cli/term/input.h"
#include "cli/term/signals.h"
#include "cli/term/styled.h"
#include "cli/view/permit.h"

#define CHOICES_MAX 20 /* numbered lines of a list */
#define TEXT_MAX    (16u * 1024 * 1024)

struct plain {
    struct chat *chat;
    struct screen screen;
    struct view view;
    struct buf line;
    bool is_over; /* the answer */
};

static void print_view(struct plain *p)
{
    screen_update(&p->screen, buf_str(&p->view.final), &(struct screen_region){0});
    buf_clear(&p->view.final);
}

/* False at the end of the input. */
static bool read_plain(struct plain *p, const char *prompt)
{
    print_view(p);
    fputs(prompt, stdout);
    fflush(stdout);
    return input_read_line(stdin, &p->line);
}

static bool plain_choose(void *ctx, struct picker *list)
{
    struct plain *p = ctx;
    int64_t number;
    for (size_t i = 0; i < list->n && i < CHOICES_MAX; i++)
        view_say(&p->view, 0, "%zu. %.*s (%.*s)", i + 1, STR_ARG(list->items[i].label),
                 STR_ARG(list->items[i].detail));
    if (list->n == 0 || !read_plain(p, "Number, or nothing: ") ||
        parse_i64(str_trim(buf_str(&p->line)), &number) < 0 || number < 1 || number > CHOICES_MAX ||
        (size_t)number > list->n)
        return false;
    list->at = (size_t)number - 1;
    return true;
}

/* ---- answers ---- */

static void on_plain_end(void *ctx)
{
    ((struct plain *)ctx)->is_over = true;
}

static void on_plain_signal(void *ctx, int signum)
{
    session_cancel(((struct plain *)ctx)->chat->session);
}

/* A form needs keys during the answer, which are not read here. */
static void on_plain_input(void *ctx, const struct json *question)
{
    struct plain *p = ctx;
    view_say(&p->view, STYLE_RED, "a tool asks a question; --plain declines it");
    session_answer_input(p->chat->session, json_get_string(question, "inputId"), "decline", NULL);
}

static void await_plain(struct plain *p)
{
    struct signals *signals = signals_new(p->chat->loop, on_plain_signal, p);
    while (!p->is_over)
        (void)loop_run_until(p->chat->loop, &p->is_over, UINT32_MAX);
    signals_free(signals);
    view_tell_interface(&p->view, p->chat->session);
}

/* One line answers for one call; the whole input is printed above the question. */
static bool decide_all(struct plain *p, struct permit *permit)
{
    struct buf text;
    bool has_input = true;
    buf_init(&text, TEXT_MAX);
    while (!permit_is_complete(permit) && has_input) {
        enum permit_answer answer;
        buf_clear(&text);
        permit_add_details(permit, &text, screen_width(&p->screen), false);
        view_lines(&p->view, buf_str(&text));
        buf_clear(&text);
        permit_add_question(permit, &text, screen_width(&p->screen), false);
        has_input = read_plain(p, buf_cstr(&text));
        answer = permit_of_key(p->line.n > 0 ? p->line.p[0] : '\n');
        if (has_input && answer != PERMIT_UNCLEAR)
            permit_decide(permit, answer);
    }
    buf_done(&text);
    return has_input;
}

static bool ask_plain(struct plain *p, const struct json *ask)
{
    struct permit permit;
    permit_init(&permit, ask);
    bool is_decided = decide_all(p, &permit);
    if (is_decided) {
        p->is_over = false;
        view_begin(&p->view, on_plain_end, p);
        session_answer(p->chat->session, permit.ask_id, permit.decisions, &VIEW_EVENTS, &p->view);
        await_plain(p);
    }
    permit_done(&permit);
    return is_decided;
}

static void answer_plain(struct plain *p, str message)
{
    if (!chat_attach(p->chat, &p->view, message))
        return;
    p->is_over = false;
    view_begin(&p->view, on_plain_end, p);
    session_send(p->chat->session, message, &VIEW_EVENTS, &p->view);
    await_plain(p);
    while (p->view.ask && ask_plain(p, p->view.ask))
        continue;
}

/* ---- the conversation ---- */

static void use_plain_line(struct plain *p, struct slash *slash)
{
    str line = str_trim(buf_str(&p->line));
    if (line.n == 0)
        return;
    if (str_starts(line, STR("!")))
        view_say(&p->view, STYLE_RED, "!COMMAND is not there with --plain");
    else if (!slash_run(slash, line))
        answer_plain(p, line);
    else if (slash->message.n > 0)
        answer_plain(p, slash->message);
    else if (slash->draft.n > 0)
        view_say(&p->view, 0, "your message was: %.*s", STR_ARG(slash->draft));
}

int plain_run(struct chat *c)
{
    struct plain p = {.chat = c};
    struct slash slash = {.chat = c, .view = &p.view, .choose = plain_choose, .choose_ctx = &p};
    screen_init(&p.screen, STDOUT_FILENO);
    p.screen.is_plain = true;
    view_init(&p.view, c->loop, &p.screen, false);
    p.view.has_footer = p.view.can_unfold = true;
    p.view.on_input = on_plain_input;
    buf_init(&p.line, INPUT_LINE_MAX);
    arena_init(&slash.arena);
    greeting_hello(c, &p.view);
    while (!slash.is_quitting && read_plain(&p, "> "))
        use_plain_line(&p, &slash);
    greeting_bye(c, &p.view);
    print_view(&p);
    arena_done(&slash.arena);
    buf_done(&p.line);
    view_done(&p.view);
    screen_done(&p.screen);
    return EXIT_DONE;
}
