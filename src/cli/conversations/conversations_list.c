/* nb conversations list, stats. */
#include "cli/conversations/conversations.h"
#include "cli/term/styled.h"

enum { PAGE = 1000, LIST_DEFAULT = 20 };

/* ---- list ---- */

static const struct arg LIST_ARGS[] = {
    {"limit", 'n', ARG_INT, "N", "show at most N (default: 20)"},
    {"all", 'a', ARG_FLAG, NULL, "show all conversations"},
    {"search", 's', ARG_STRING, "TEXT", "show only those with TEXT in the title or first message"},
    {"sort", 0, ARG_STRING, "KEY", "sort by updated (default) or created",
     .choices = "updated, created"},
    {"hidden", 0, ARG_FLAG, NULL, "include delegated tasks and branches"},
    {0}};

static str show_cost(struct cmd *x, const struct json *row)
{
    return conv_cost(x, json_get(row, "totalCostUsd"));
}

static const struct cmd_column LIST_COLUMNS[] = {
    {"ID", "id", .style = STYLE_CYAN, .is_whole = true},
    {"UPDATED", "updatedAt", CELL_AGO, "?"},
    {"MESSAGES", "messageCount", .is_right = true},
    {"COST", .show = show_cost, .is_right = true},
    {"TITLE", .show = conv_label, .style = STYLE_BOLD},
};

static void print_page(struct cmd *x, const struct json *convs, bool is_first)
{
    for (size_t i = 0; x->cli->opt.is_json && i < convs->len; i++)
        cmd_print_json(json_at(convs, i));
    if (!x->cli->opt.is_json)
        cmd_table(x, convs, LIST_COLUMNS, ARRAY_LEN(LIST_COLUMNS), is_first);
}

static str list_path(struct cmd *x, int64_t limit, str cursor)
{
    struct arena *a = &x->arena;
    return arena_printf(a, "/v1/conversations?limit=%lld&sortBy=%sAt%s&search=%.*s&cursor=%.*s",
                        (long long)limit, cmd_opt_or(x, "sort", "updated"),
                        cmd_flag(x, "hidden") ? "&hidden=true" : "",
                        STR_ARG(client_encode(a, str_from(cmd_opt(x, "search")))),
                        STR_ARG(client_encode(a, cursor)));
}

static void say_rest(struct cmd *x, int64_t shown, int64_t total)
{
    if (x->cli->opt.is_json)
        return;
    if (total == 0)
        fputs("There are no conversations.\n", stderr);
    else if (shown < total)
        fprintf(stderr, "%lld of %lld; --all shows all of them.\n", (long long)shown,
                (long long)total);
}

static void say_unreadable(const struct json *page)
{
    const struct json *list = json_get(page, "unreadable");
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        fprintf(stderr, "nb: warning: %.*s\n", STR_ARG(json_string(json_at(list, i), STR_NONE)));
}

static void say_indexing(const struct json *page)
{
    const struct json *now = json_get(page, "indexing");
    if (now)
        fprintf(stderr,
                "nb: older conversations are missing: they are still being read (%lld%%); try "
                "again soon\n",
                (long long)json_get_int(now, "percent", 0));
}

/* A page; with --all the first one waits until every conversation is known. */
static const struct json *ask_page(struct cmd *x, int64_t limit, str cursor)
{
    bool waits = cmd_flag(x, "all") && cursor.n == 0;
    str path = list_path(x, limit, cursor);
    return waits ? conv_ask_all(x, path, NULL) : cmd_ask(x, NULL, path, NULL, NULL);
}

static int conv_list(struct cmd *x)
{
    int64_t wanted = cmd_flag(x, "all")    ? INT64_MAX
                     : cmd_int(x, "limit") ? cmd_int(x, "limit")
                                           : LIST_DEFAULT;
    int64_t shown = 0, total = 0;
    str cursor = STR_NONE;
    do {
        int64_t limit = wanted - shown < PAGE ? wanted - shown : PAGE;
        const struct json *page = ask_page(x, limit, cursor);
        if (!page)
            return EXIT_FAILED;
        const struct json *convs = json_get(page, "conversations");
        print_page(x, convs, shown == 0);
        if (cursor.n == 0) {
            say_unreadable(page);
            say_indexing(page);
        }
        shown += convs->len;
        total = json_get_int(page, "totalCount", 0);
        char next[512];
        (void)snprintf(next, sizeof next, "%.*s", STR_ARG(json_get_string(page, "nextCursor")));
        arena_reset(&x->arena); /* a long list needs no more memory than one page */
        cursor = arena_str(&x->arena, str_from(next));
    } while (cursor.n > 0 && shown < wanted);
    say_rest(x, shown, total);
    return EXIT_DONE;
}

const struct command CONV_LIST = {
    .name = "list",
    .alias = "ls",
    .summary = "list the latest conversations",
    .help = "With --json, one conversation per line.\n",
    .args = LIST_ARGS,
    .run = conv_list,
};

/* ---- stats ---- */

static const struct arg STATS_ARGS[] = {{"period", 'p', ARG_STRING, "P",
                                         "count a day, week, month, year or all (default)",
                                         .choices = "day, week, month, year, all"},
                                        {0}};

static str show_known_cost(struct cmd *x, const struct json *row)
{
    return conv_known_cost(x, row, "unpricedConversations");
}

static int conv_stats(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"MODEL", "model", .otherwise = "(none)", .style = STYLE_BOLD},
        {"CONVERSATIONS", "conversations", CELL_COUNT, .is_right = true},
        {"MESSAGES", "messages", CELL_COUNT, .is_right = true},
        {"INPUT", "inputTokens", CELL_COUNT, .is_right = true},
        {"CACHED", "cacheReadTokens", CELL_COUNT, .is_right = true},
        {"OUTPUT", "outputTokens", CELL_COUNT, .is_right = true},
        {"COST", .show = show_known_cost, .is_right = true},
    };
    str period = client_encode(&x->arena, str_from(cmd_opt_or(x, "period", "all")));
    str path = arena_printf(&x->arena, "/v1/conversations/stats?period=%.*s", STR_ARG(period));
    struct json *s = cmd_ask(x, NULL, path, NULL, NULL);
    if (!s)
        return EXIT_FAILED;
    if (cmd_json(x, s))
        return EXIT_DONE;
    struct json *rows = json_new(&x->arena, JSON_ARRAY), *models = json_get(s, "models");
    for (size_t i = 0; models && i < models->len; i++)
        json_push(&x->arena, rows, *json_at(models, i));
    json_set(&x->arena, s, STR("model"), json_of_str(STR("all")));
    json_push(&x->arena, rows, *s);
    cmd_table(x, rows, COLUMNS, ARRAY_LEN(COLUMNS), true);
    return EXIT_DONE;
}

const struct command CONV_STATS = {
    .name = "stats",
    .summary = "count conversations, tokens and cost by model",
    .help = "Counts every conversation that changed during the period, as a whole, under the model "
            "that answered last. \">\" before a cost: the price of some calls is not known.\n",
    .args = STATS_ARGS,
    .run = conv_stats,
};
