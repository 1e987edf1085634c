/* nb conversations search - full-text search, with the hits marked. */
#include "cli/conversations/conversations.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"

enum { SEARCH_DEFAULT = 20, SNIPPET_MAX = 64 * 1024 };

static const struct arg SEARCH_ARGS[] = {
    {"limit", 'n', ARG_INT, "N", "show at most N (default: 20)"},
    {"best", 'b', ARG_FLAG, NULL, "sort by relevance, not by time"},
    {"in", 'i', ARG_STRING, "ID", "search only in this conversation"},
    {0}};

/* Hits are coloured, or put between asterisks without colours. */
static void add_snippet(struct cmd *x, struct buf *b, const struct json *parts)
{
    struct buf safe;
    buf_init(&safe, SNIPPET_MAX);
    for (size_t i = 0; parts && i < parts->len; i++) {
        const struct json *p = json_at(parts, i);
        str text = json_get_string(p, "text");
        bool is_hit = json_get_bool(p, "isHit", false), has_color = x->cli->has_color_out;
        buf_clear(&safe);
        if (text.n > 0 && text.p[0] <= ' ')
            buf_add_char(&safe, ' ');
        text_add_line(&safe, text);
        if (text.n > 1 && text.p[text.n - 1] <= ' ')
            buf_add_char(&safe, ' ');
        if (is_hit && !has_color)
            buf_printf(b, "*%s*", buf_cstr(&safe));
        else
            style_add(b, has_color, is_hit ? STYLE_BOLD | STYLE_GREEN : 0, buf_str(&safe));
    }
    buf_done(&safe);
}

static void print_heading(struct cmd *x, const struct json *hit)
{
    struct buf b;
    bool has_color = x->cli->has_color_out;
    buf_init(&b, SNIPPET_MAX);
    style_add(&b, has_color, STYLE_CYAN, json_get_string(hit, "conversationId"));
    buf_add_lit(&b, "  ");
    style_add(&b, has_color, STYLE_BOLD, conv_label(x, hit));
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static void print_hit(struct cmd *x, const struct json *hit)
{
    struct buf b, clipped;
    buf_init(&b, 2 * SNIPPET_MAX);
    buf_init(&clipped, 2 * SNIPPET_MAX);
    str ago = conv_ago(x, json_get_string(hit, "timestamp"));
    str who = arena_printf(&x->arena, "  %-9.*s %-12.*s ", STR_ARG(json_get_string(hit, "role")),
                           STR_ARG(ago));
    style_add(&b, x->cli->has_color_out, STYLE_DIM, who);
    add_snippet(x, &b, json_get(hit, "parts"));
    text_clip(&clipped, buf_str(&b), x->width > 0 ? x->width : SNIPPET_MAX);
    printf("%s\n", buf_cstr(&clipped));
    buf_done(&b);
    buf_done(&clipped);
}

static void print_hits(struct cmd *x, const struct json *found)
{
    const struct json *results = json_get(found, "results");
    str before = STR_NONE;
    for (size_t i = 0; results && i < results->len; i++) {
        const struct json *hit = json_at(results, i);
        str id = json_get_string(hit, "conversationId");
        if (!str_eq(id, before)) {
            if (before.n > 0)
                putchar('\n');
            print_heading(x, hit);
        }
        print_hit(x, hit);
        before = id;
    }
    if (!results || results->len == 0)
        fputs("Nothing was found.\n", stderr);
    if (json_get_bool(found, "isPartial", false))
        fputs("The search took too long and was stopped: there may be more results.\n", stderr);
}

static int conv_search(struct cmd *x)
{
    struct arena *a = &x->arena;
    str in = cmd_opt(x, "in") ? conv_id(x, cmd_opt(x, "in")) : STR_NONE;
    if (cmd_opt(x, "in") && in.n == 0)
        return EXIT_FAILED;
    str path = arena_printf(a, "/v1/search?q=%.*s&limit=%d&order=%s&conversation=%.*s",
                            STR_ARG(client_encode(a, cmd_words(x, 0))),
                            cmd_int(x, "limit") ? cmd_int(x, "limit") : SEARCH_DEFAULT,
                            cmd_flag(x, "best") ? "relevance" : "newest", STR_ARG(in));
    const struct json *found = conv_ask_all(x, path, "search");
    if (!found)
        return EXIT_FAILED;
    const struct json *results = json_get(found, "results");
    if (!x->cli->opt.is_json)
        print_hits(x, found);
    for (size_t i = 0; x->cli->opt.is_json && results && i < results->len; i++)
        cmd_print_json(json_at(results, i));
    return results && results->len > 0 ? EXIT_DONE : EXIT_FAILED;
}

const struct command CONV_SEARCH = {
    .name = "search",
    .operands = "WORDS...",
    .summary = "search messages, tool calls, titles and notes",
    .help = "All words must occur. Other forms:\n"
            "  \"two words\"       the phrase\n"
            "  wor*              a word that begins like this\n"
            "  from:user         messages of user, assistant, tool, note, or a user's id\n"
            "  tool:calculate    calls and results of a tool\n"
            "  in:title          only titles\n"
            "  after:2026-03-01  before:2026-04-01\n"
            "\n"
            "With --json, one result per line. Exits with 1 when nothing was found.\n",
    .args = SEARCH_ARGS,
    .run = conv_search,
};
