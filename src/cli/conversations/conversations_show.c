/* nb conversations show - prints a conversation. */
#include "base/utf8.h"
#include "cli/conversations/conversations.h"
#include "cli/screen/markdown.h"
#include "cli/term/result_words.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

enum {
    SHOW_DEFAULT = 20,  /* messages */
    PAGE_EVENTS = 2000, /* per API request */
    TOOL_WIDTH = 100,   /* of a tool's line without a terminal */
    READ_WIDTH = 100,   /* longer lines are hard to read */
    TEXT_MAX = 16 << 20,
};

static const struct arg ARGS[] = {
    {"limit", 'n', ARG_INT, "N", "show the last N messages (default: 20)"},
    {"all", 'a', ARG_FLAG, NULL, "start from the beginning"},
    {"no-tools", 0, ARG_FLAG, NULL, "leave tool calls out"},
    {0}};

struct show {
    struct cmd *x;
    str id;
    struct json *messages; /* oldest first */
    bool has_more;         /* there are earlier messages */
};

/* ---- fetching: pages arrive newest first ---- */

static struct json *conv_show_joined(struct arena *a, const struct json *front,
                                     const struct json *back)
{
    struct json *all = json_new(a, JSON_ARRAY);
    for (size_t i = 0; front && i < front->len; i++)
        json_push(a, all, *json_at(front, i));
    for (size_t i = 0; back && i < back->len; i++)
        json_push(a, all, *json_at(back, i));
    return all;
}

static bool fetch_messages(struct show *s)
{
    struct arena *a = &s->x->arena;
    size_t wanted = cmd_flag(s->x, "all")
                        ? SIZE_MAX
                        : (size_t)(cmd_int(s->x, "limit") ? cmd_int(s->x, "limit") : SHOW_DEFAULT);
    int64_t before = 0;
    s->messages = json_new(a, JSON_ARRAY);
    do {
        str rest = before ? arena_printf(a, "/history?limit=%d&before=%lld", PAGE_EVENTS,
                                         (long long)before)
                          : arena_printf(a, "/history?limit=%d", PAGE_EVENTS);
        const struct json *page = cmd_ask(s->x, NULL, conv_path(s->x, s->id, rest.p), NULL, NULL);
        if (!page)
            return false;
        s->messages = conv_show_joined(a, json_get(page, "messages"), s->messages);
        before = json_get_int(page, "before", 0);
    } while (before > 0 && s->messages->len < wanted);
    s->has_more = before > 0 || s->messages->len > wanted;
    while (s->messages->len > wanted) {
        s->messages->items++;
        s->messages->len--;
    }
    return true;
}

/* ---- printing ---- */

static void print_head(const struct show *s, const struct json *c)
{
    struct cmd *x = s->x;
    cmd_print_styled(s->x, STYLE_BOLD, conv_label(x, c));
    str model = json_get_string(c, "lastModel");
    str facts = arena_printf(
        &x->arena, "%.*s · %lld messages · %.*s tokens in, %.*s out · %.*s%s%.*s · %.*s",
        STR_ARG(s->id), (long long)json_get_int(c, "messageCount", 0),
        STR_ARG(cmd_count(x, json_get_int(c, "totalInputTokens", 0))),
        STR_ARG(cmd_count(x, json_get_int(c, "totalOutputTokens", 0))),
        STR_ARG(conv_cost(x, json_get(c, "totalCostUsd"))), model.n > 0 ? " · " : "",
        STR_ARG(model), STR_ARG(conv_ago(x, json_get_string(c, "updatedAt"))));
    cmd_print_styled(s->x, STYLE_DIM, facts);
    str fork = json_get_string(c, "forkedFrom");
    if (fork.n > 0)
        cmd_print_styled(s->x, STYLE_DIM,
                         arena_printf(&x->arena, "a %s of %.*s",
                                      json_get(c, "branch") ? "branch" : "fork", STR_ARG(fork)));
    if (s->has_more)
        cmd_print_styled(s->x, STYLE_DIM, STR("… earlier messages: --all"));
}

static void print_markdown(const struct show *s, str text)
{
    struct buf b;
    size_t width = s->x->width > 0 && s->x->width < READ_WIDTH ? s->x->width : READ_WIDTH;
    struct markdown_style style = {.width = width, .has_color = s->x->cli->has_color_out};
    buf_init(&b, MARKDOWN_OUTPUT_MAX);
    markdown_render(&b, text, &style);
    fwrite(buf_cstr(&b), 1, b.n, stdout);
    buf_done(&b);
}

static void print_tool(const struct show *s, const struct json *t)
{
    struct buf line, clipped;
    bool ok = result_is_ok(t), has_answer = json_get_bool(t, "isAnswered", false);
    size_t width = s->x->width > 0 ? s->x->width : TOOL_WIDTH;
    buf_init(&line, TEXT_MAX);
    buf_init(&clipped, TEXT_MAX);
    text_add_line(&line, json_get_string(t, "name"));
    buf_add_char(&line, ' ');
    text_add_line(&line, json_to_str(&s->x->arena, json_get(t, "input")));
    buf_add_lit(&line, !has_answer ? " → (no answer)" : ok ? " → " : " ✗ ");
    text_add_line(&line, utf8_truncate(result_words(&s->x->arena, t), 4096));
    text_clip(&clipped, buf_str(&line), width - 4);
    str text = arena_printf(&s->x->arena, "  • %s", buf_cstr(&clipped));
    cmd_print_styled(s->x, has_answer && !ok ? STYLE_RED : STYLE_DIM, text);
    buf_done(&line);
    buf_done(&clipped);
}

static void print_speaker(const struct show *s, const struct json *m, bool is_user)
{
    struct cmd *x = s->x;
    str name = is_user ? json_get_string(m, "userId") : json_get_string(m, "model");
    bool is_me = str_eq(name, STR("usr_default")) || name.n == 0;
    str who = is_user ? (is_me ? STR("You") : conv_person(x, name)) : STR("Assistant");
    putchar('\n');
    cmd_print_styled(s->x, STYLE_BOLD | (is_user ? STYLE_CYAN : STYLE_GREEN),
                     arena_printf(&x->arena, "%.*s%s · %.*s", STR_ARG(who),
                                  json_get_bool(m, "forPeople", false) ? ", to people only" : "",
                                  STR_ARG(conv_ago(x, json_get_string(m, "timestamp")))));
}

static void print_message(const struct show *s, const struct json *m, bool is_continued)
{
    bool is_user = str_eq(json_get_string(m, "role"), STR("user"));
    const struct json *tools = json_get(m, "toolCalls");
    str text = json_get_string(m, "content"), error = json_get_string(m, "error");
    if (!is_continued)
        print_speaker(s, m, is_user);
    if (text.n > 0)
        print_markdown(s, text);
    for (size_t i = 0; !cmd_flag(s->x, "no-tools") && tools && i < tools->len; i++)
        print_tool(s, json_at(tools, i));
    if (error.n > 0)
        cmd_print_styled(s->x, STYLE_RED,
                         arena_printf(&s->x->arena, "failed: %.*s", STR_ARG(error)));
}

static void print_state(const struct show *s, const struct json *c)
{
    static const struct {
        const char *state, *text;
    } STATES[] = {
        {"running", "… a run is under way"},
        {"interrupted",
         "The last run was interrupted before it ended. Send a message to continue."},
        {"waiting", "The last run waits for a permission: nb --resume ID asks for it."},
        {"cancelled", "The last run was cancelled."},
    };
    str state = json_get_string(c, "lastRun");
    for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
        if (str_eq(state, str_from(STATES[i].state))) {
            putchar('\n');
            cmd_print_styled(s->x, STYLE_CYAN, str_from(STATES[i].text));
        }
}

static void print_all(const struct show *s, const struct json *c)
{
    str role_before = STR_NONE;
    print_head(s, c);
    for (size_t i = 0; i < s->messages->len; i++) {
        const struct json *m = json_at(s->messages, i);
        str role = json_get_string(m, "role");
        /* An answer with tools consists of several messages; print it as one. */
        print_message(s, m, str_eq(role, role_before) && str_eq(role, STR("assistant")));
        role_before = role;
    }
    print_state(s, c);
}

static int conv_show(struct cmd *x)
{
    struct json *c = conv_ask(x, x->argv[0], NULL, "", NULL);
    struct show s = {.x = x, .id = json_get_string(c, "id")};
    if (!c || !fetch_messages(&s))
        return EXIT_FAILED;
    if (!x->cli->opt.is_json) {
        print_all(&s, c);
        return EXIT_DONE;
    }
    json_set(&x->arena, c, STR("messages"), *s.messages);
    cmd_print_json(c);
    return EXIT_DONE;
}

const struct command CONV_SHOW = {
    .name = "show",
    .operands = "ID",
    .summary = "read a conversation",
    .help = "With --json, one object: the conversation with its messages.\n",
    .args = ARGS,
    .run = conv_show,
};
