/* The interactive chat between messages: choices, other programs, the status line. */
#include <assert.h>
#include <errno.h>

#include "cli/chat/conv_list.h"
#include "cli/chat/mentions.h"
#include "cli/chat/outside.h"
#include "cli/chat/repl_impl.h"
#include "cli/term/input.h"
#include "cli/term/styled.h"

#define QUOTED_MAX     (64u * 1024) /* bytes of a conversation that is named in a message */
#define QUOTED_ALL_MAX (16u * 1024 * 1024)

/* ---- choices ---- */

void repl_draw_picker(struct repl *r)
{
    struct buf text;
    size_t col;
    buf_init(&text, DRAW_MAX);
    picker_draw(r->picker, screen_width(&r->screen), r->view.has_color, &text, &col);
    repl_draw_region(r, buf_str(&text), 0, col);
    buf_done(&text);
}

void repl_picker_keys(struct repl *r, str bytes)
{
    r->choice = picker_keys(r->picker, bytes);
    if (r->choice == PICKER_OPEN)
        repl_draw_picker(r);
    else
        r->wake = true;
}

bool repl_choose(void *ctx, struct picker *p)
{
    struct repl *r = ctx;
    assert(!r->picker && !r->is_prompting);
    if (p->n == 0)
        return false;
    r->picker = p;
    r->choice = PICKER_OPEN;
    repl_draw_picker(r);
    repl_wait(r);
    r->picker = NULL;
    return r->choice == PICKER_CHOSEN && !r->is_quitting;
}

/* Tab behind "@conv". */
static void choose_mention(struct repl *r)
{
    struct picker p;
    struct err e = {0};
    picker_init(&p, "Quote a conversation");
    if (conv_list_fill(session_client(r->chat->session), &p, &e) < 0)
        view_say(&r->view, STYLE_RED, "%s", e.msg);
    else if (repl_choose(r, &p))
        editor_mention(&r->editor, picker_value(&p));
    picker_done(&p);
}

/* ---- other programs ---- */

/* Other programs write to the terminal: the region is drawn again below their output. */
static void leave_screen(struct repl *r)
{
    repl_draw_region(r, STR_NONE, 0, 0);
}

static void edit_outside(struct repl *r)
{
    struct err e = {0};
    struct buf text;
    buf_init(&text, EDITOR_TEXT_MAX);
    buf_add_str(&text, buf_str(&r->editor.text));
    leave_screen(r);
    if (outside_edit(r->term, &text, &e) < 0)
        view_say(&r->view, STYLE_RED, "%s", e.msg);
    else
        editor_set(&r->editor, buf_str(&text));
    screen_forget(&r->screen);
    buf_done(&text);
}

void repl_go_outside(struct repl *r)
{
    if (r->outside == EDITOR_EXTERNAL)
        edit_outside(r);
    else
        choose_mention(r);
}

void repl_draw_offer(struct repl *r)
{
    struct buf text;
    struct styled t;
    struct styled_line line;
    char question[128];
    size_t at = 0;
    int n = snprintf(question, sizeof question,
                     "Send these %zu bytes with your next message? [y]es / [N]o ", r->output.n);
    buf_init(&text, DRAW_MAX);
    styled_init(&t, DRAW_MAX);
    styled_add(&t, str_make(question, (size_t)n), 0);
    while (styled_wrap(&t, &at, t.text.n, screen_width(&r->screen), &line)) {
        buf_add_lit(&text, text.n > 0 ? "\n" : "");
        styled_emit(&text, false, &t, line.from, line.to);
    }
    repl_draw_region(r, buf_str(&text), SCREEN_AT_END, 0);
    styled_done(&t);
    buf_done(&text);
}

void repl_offer_key(struct repl *r, char key)
{
    r->is_accepted = key == 'y' || key == 'Y';
    r->wake = true;
}

static void offer_output(struct repl *r)
{
    r->is_offering = true;
    r->is_accepted = false;
    repl_draw_offer(r);
    repl_wait(r);
    r->is_offering = false;
    if (!r->is_accepted)
        buf_clear(&r->output);
    repl_refresh_status(r);
}

void repl_run_command(struct repl *r, str line)
{
    struct err e = {0};
    int code = 0;
    buf_clear(&r->command);
    buf_clear(&r->output);
    buf_add_str(&r->command, line);
    if (line.n == 0) {
        view_say(&r->view, STYLE_DIM, "!COMMAND runs a command of the shell");
        return;
    }
    leave_screen(r);
    int failed = outside_run(r->term, buf_cstr(&r->command), &r->output, &code, &e);
    screen_forget(&r->screen);
    if (failed < 0)
        view_say(&r->view, STYLE_RED, "%s", e.msg);
    else if (code != 0)
        view_say(&r->view, STYLE_RED, "exit %d", code);
    if (r->output.n > 0)
        offer_output(r);
}

/* ---- quoted text of a message ---- */

static bool quote_conversation(struct repl *r, struct buf *ret, str id)
{
    struct arena a;
    struct err e = {0};
    str text;
    arena_init(&a);
    str path =
        arena_printf(&a, "/v1/conversations/%.*s/export?format=markdown&tools=false", STR_ARG(id));
    int failed =
        client_get_bytes(session_client(r->chat->session), path, QUOTED_ALL_MAX, &a, &text, &e);
    if (failed == 0 && text.n > QUOTED_MAX) { /* keep the end, which is the current state */
        text = str_skip(text, text.n - QUOTED_MAX);
        while (text.n > 0 && ((unsigned char)text.p[0] & 0xc0) == 0x80)
            text = str_skip(text, 1);
    }
    if (failed == 0) {
        str label = arena_printf(&a, "Conversation %.*s", STR_ARG(id));
        failed = input_add_block(ret, label.p, text, &e);
    }
    if (failed < 0)
        view_say(&r->view, STYLE_RED, "%.*s: %s", STR_ARG(id), e.msg);
    else
        view_say(&r->view, STYLE_DIM, "quoted %.*s, %zu bytes", STR_ARG(id), text.n);
    arena_done(&a);
    return failed == 0;
}

bool repl_compose(struct repl *r, struct buf *ret)
{
    struct err e = {0};
    str ids[MENTIONS_CONVERSATIONS_MAX], typed = buf_str(&r->message);
    size_t n = mentions_conversations(typed, ids);
    bool is_good = true;
    buf_add_str(ret, typed);
    for (size_t i = 0; i < n && is_good; i++)
        is_good = quote_conversation(r, ret, ids[i]);
    if (is_good && r->output.n > 0) {
        struct arena a;
        arena_init(&a);
        str label = arena_printf(&a, "Output of `%s`", buf_cstr(&r->command));
        is_good = input_add_block(ret, label.p, buf_str(&r->output), &e) == 0;
        arena_done(&a);
        buf_clear(&r->output);
    }
    if (e.code)
        view_say(&r->view, STYLE_RED, "%s", e.msg);
    return is_good;
}

/* ---- the status line ---- */

static const struct json *ask_status(struct repl *r, str path)
{
    struct json *answer = NULL;
    struct err e = {0};
    struct client_ask q = {.path = path};
    if (client_ask(session_client(r->chat->session), &q, &r->status_arena, &answer, &e) < 0)
        return NULL;
    return answer;
}

/* Tokens of the last model call and its answer: the next message is added to both. */
static int64_t context_used(const struct json *history)
{
    const struct json *list = json_get(history, "messages");
    for (size_t i = json_is(list, JSON_ARRAY) ? list->len : 0; i > 0; i--) {
        const struct json *m = json_at(list, i - 1);
        int64_t in = json_get_int(m, "inputTokens", 0) + json_get_int(m, "cacheReadTokens", 0);
        if (in > 0)
            return in + json_get_int(m, "outputTokens", 0);
    }
    return 0;
}

static int64_t limit_of(const struct json *models, str name)
{
    const struct json *list = json_get(models, "models");
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        if (str_eq(json_get_string(json_at(list, i), "name"), name))
            return json_get_int(json_at(list, i), "contextTokens", 0);
    return 0;
}

void repl_refresh_status(struct repl *r)
{
    struct arena *a = &r->status_arena;
    str id = session_conversation(r->chat->session);
    r->status = (struct status_line){.cost = -1};
    arena_reset(a);
    if (r->is_quitting)
        return;
    if (r->output.n > 0)
        r->status.extra = arena_printf(a, "+ output of %s", buf_cstr(&r->command));
    if (id.n == 0)
        return;
    str path = arena_printf(a, "/v1/conversations/%.*s", STR_ARG(id));
    const struct json *conv = ask_status(r, path);
    const struct json *history =
        conv ? ask_status(r, arena_printf(a, "%.*s/history?limit=20", STR_ARG(path))) : NULL;
    const struct json *models = history ? ask_status(r, STR("/v1/models")) : NULL;
    if (!models)
        return;
    r->status = (struct status_line){
        .extra = r->status.extra,
        .model = session_model(r->chat->session),
        .used = context_used(history),
        .limit = limit_of(models, session_model(r->chat->session)),
        .cost = json_double(json_get(conv, "totalCostUsd"), -1),
        .title = json_get_string(conv, "title"),
        .origin = json_get_string(conv, "forkedFrom"),
    };
}
