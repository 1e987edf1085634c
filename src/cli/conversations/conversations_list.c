/* nb conversations list, stats. */
#include "cli/conversations/conversations.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

enum { PAGE = 1000, LIST_DEFAULT = 20 };

/* ---- list ---- */

struct list_options {
    const char *search, *sort;
    int limit;
    bool is_all, with_hidden;
};

static const struct arg LIST_ARGS[] = {
    {"limit", 'n', ARG_INT, offsetof(struct list_options, limit), "N",
     "show at most N (default: 20)"},
    {"all", 'a', ARG_FLAG, offsetof(struct list_options, is_all), NULL, "show all conversations"},
    {"search", 's', ARG_STRING, offsetof(struct list_options, search), "TEXT",
     "show only those with TEXT in the title or first message"},
    {"sort", 0, ARG_STRING, offsetof(struct list_options, sort), "KEY",
     "sort by updated (default) or created"},
    {"hidden", 0, ARG_FLAG, offsetof(struct list_options, with_hidden), NULL,
     "include conversations of delegated tasks"},
    {0}};

static const struct table_column LIST_COLUMNS[] = {
    {"ID", false, STYLE_CYAN, true}, {"UPDATED", false, 0},
    {"MESSAGES", true, 0},           {"COST", true, 0},
    {"TITLE", false, STYLE_BOLD},
};

static void print_page(struct conv_cli *x, const struct json *convs, bool is_first)
{
    struct table t;
    table_init(&t, LIST_COLUMNS, ARRAY_LEN(LIST_COLUMNS));
    for (size_t i = 0; i < convs->len; i++) {
        const struct json *c = json_at(convs, i);
        if (x->cli->opt.is_json) {
            conv_print_json(c);
            continue;
        }
        table_row(&t);
        table_cell(&t, 0, json_get_string(c, "id"));
        table_cell(&t, 1, conv_ago(x, json_get_string(c, "updatedAt")));
        table_cellf(&t, 2, "%lld", (long long)json_get_int(c, "messageCount", 0));
        table_cell(&t, 3, conv_cost(x, json_get(c, "totalCostUsd")));
        table_cell(&t, 4, conv_label(x, c));
    }
    if (t.nrows > 0)
        table_print(&t, stdout, x->width, x->cli->has_color_out, is_first);
    table_done(&t);
}

static str list_path(struct conv_cli *x, const struct list_options *o, int64_t limit, str cursor)
{
    struct arena *a = &x->arena;
    return arena_printf(
        a, "/v1/conversations?limit=%lld&sortBy=%sAt%s&search=%.*s&cursor=%.*s", (long long)limit,
        o->sort ? o->sort : "updated", o->with_hidden ? "&hidden=true" : "",
        STR_ARG(client_encode(a, str_from(o->search))), STR_ARG(client_encode(a, cursor)));
}

static void say_rest(struct conv_cli *x, int64_t shown, int64_t total)
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

static int do_conv_list(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct list_options *o = options;
    int64_t wanted = o->is_all ? INT64_MAX : o->limit ? o->limit : LIST_DEFAULT;
    int64_t shown = 0, total = 0;
    str cursor = STR_NONE;
    do {
        struct json *page;
        int64_t limit = wanted - shown < PAGE ? wanted - shown : PAGE;
        int code = conv_ask(x, NULL, list_path(x, o, limit, cursor), STR_NONE, NULL, &page);
        if (code != EXIT_DONE)
            return code;
        const struct json *convs = json_get(page, "conversations");
        print_page(x, convs, shown == 0);
        if (cursor.n == 0)
            say_unreadable(page);
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

static int run_conv_list(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct list_options *o = options;
    if (argc > 0)
        return cli_usage_error("list takes no argument '%s' (use --search TEXT)", argv[0]);
    if (o->sort && strcmp(o->sort, "updated") != 0 && strcmp(o->sort, "created") != 0)
        return cli_usage_error("--sort: expected updated or created, not '%s'", o->sort);
    return conv_with(cli, true, do_conv_list, options, argc, argv);
}

const struct command CONV_LIST = {
    .name = "list",
    .alias = "ls",
    .usage = "conversations list [--limit N | --all] [--search TEXT] [--sort created]",
    .summary = "list the latest conversations",
    .help = "With --json, one conversation per line.\n",
    .args = LIST_ARGS,
    .options_size = sizeof(struct list_options),
    .run = run_conv_list,
};

/* ---- stats ---- */

struct stats_options {
    const char *period;
};

static const struct arg STATS_ARGS[] = {{"period", 'p', ARG_STRING,
                                         offsetof(struct stats_options, period), "P",
                                         "count a day, week, month, year or all (default)"},
                                        {0}};

static const struct table_column STATS_COLUMNS[] = {
    {"MODEL", false, STYLE_BOLD},
    {"CONVERSATIONS", true, 0},
    {"MESSAGES", true, 0},
    {"INPUT", true, 0},
    {"CACHED", true, 0},
    {"OUTPUT", true, 0},
    {"COST", true, 0},
};

static void add_stats_row(struct conv_cli *x, struct table *t, str name, const struct json *s)
{
    bool is_whole = json_get_int(s, "unpricedConversations", 0) == 0;
    table_row(t);
    table_cell(t, 0, name);
    table_cell(t, 1, conv_count(x, json_get_int(s, "conversations", 0)));
    table_cell(t, 2, conv_count(x, json_get_int(s, "messages", 0)));
    table_cell(t, 3, conv_count(x, json_get_int(s, "inputTokens", 0)));
    table_cell(t, 4, conv_count(x, json_get_int(s, "cacheReadTokens", 0)));
    table_cell(t, 5, conv_count(x, json_get_int(s, "outputTokens", 0)));
    str cost = conv_cost(x, json_get(s, "knownCostUsd"));
    table_cellf(t, 6, "%s%.*s", is_whole ? "" : ">", STR_ARG(cost));
}

static int do_stats(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct stats_options *o = options;
    struct json *s;
    str period = client_encode(&x->arena, str_from(o->period ? o->period : "all"));
    str path = arena_printf(&x->arena, "/v1/conversations/stats?period=%.*s", STR_ARG(period));
    int code = conv_ask(x, NULL, path, STR_NONE, NULL, &s);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json) {
        conv_print_json(s);
        return EXIT_DONE;
    }
    struct table t;
    const struct json *models = json_get(s, "models");
    table_init(&t, STATS_COLUMNS, ARRAY_LEN(STATS_COLUMNS));
    for (size_t i = 0; models && i < models->len; i++) {
        str model = json_get_string(json_at(models, i), "model");
        add_stats_row(x, &t, model.n > 0 ? model : STR("(none)"), json_at(models, i));
    }
    add_stats_row(x, &t, STR("all"), s);
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
    return EXIT_DONE;
}

static int run_stats(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("stats takes no argument '%s'", argv[0]);
    return conv_with(cli, true, do_stats, options, argc, argv);
}

const struct command CONV_STATS = {
    .name = "stats",
    .usage = "conversations stats [--period week]",
    .summary = "count conversations, tokens and cost by model",
    .help = "Counts every conversation that changed during the period, as a whole, under the model "
            "that answered last. \">\" before a cost: the price of some calls is not known.\n",
    .args = STATS_ARGS,
    .options_size = sizeof(struct stats_options),
    .run = run_stats,
};
