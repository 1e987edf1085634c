/* nb usage - tokens and cost by day, model or user, with a small chart. */
#include "base/clock.h"
#include "cli/conversations/conversations.h"
#include "cli/term/bar.h"
#include "cli/term/progress.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"
#include "loop/timer.h"

#define DAYS_DEFAULT  30
#define DAY_MS        (24 * 3600 * 1000LL)
#define ANSWER_MAX_MS (30 * 60 * 1000) /* reading a large store may take long */
#define TICK_MS       200

struct usage_options {
    const char *since, *until, *by;
    bool is_all;
};

static const struct arg ARGS[] = {{"since", 's', ARG_STRING, offsetof(struct usage_options, since),
                                   "DATE", "count from this day, UTC (default: 30 days ago)"},
                                  {"until", 'u', ARG_STRING, offsetof(struct usage_options, until),
                                   "DATE", "count up to this day"},
                                  {"all", 'a', ARG_FLAG, offsetof(struct usage_options, is_all),
                                   NULL, "start from the beginning"},
                                  {"by", 'b', ARG_STRING, offsetof(struct usage_options, by), "KEY",
                                   "group by day (default), model or user"},
                                  {0}};

/* ---- asking ---- */

struct waiting {
    struct progress progress;
    struct timer timer;
    uint64_t began_ms;
};

static void on_usage_tick(void *ctx)
{
    struct waiting *w = ctx;
    char text[64];
    (void)snprintf(text, sizeof text, "%llu s",
                   (unsigned long long)(clock_mono_ms() - w->began_ms) / 1000);
    progress_update(&w->progress, -1, str_from(text));
    timer_start(&w->timer, TICK_MS);
}

static str path(struct conv_cli *x, const struct usage_options *o)
{
    char since[CLOCK_ISO_LEN + 1] = "";
    if (!o->since && !o->is_all)
        clock_iso(clock_now_ms() / DAY_MS * DAY_MS - (DAYS_DEFAULT - 1) * DAY_MS, since);
    struct arena *a = &x->arena;
    return arena_printf(a, "/v1/usage?groupBy=%.*s&from=%.*s&to=%.*s",
                        STR_ARG(client_encode(a, str_from(o->by ? o->by : "day"))),
                        STR_ARG(client_encode(a, str_from(o->since ? o->since : since))),
                        STR_ARG(client_encode(a, str_from(o->until))));
}

static int usage_ask(struct conv_cli *x, const struct usage_options *o, struct json **ret,
                     struct err *e)
{
    struct waiting w = {.began_ms = clock_mono_ms()};
    struct client_ask q = {.path = path(x, o), .timeout_ms = ANSWER_MAX_MS};
    progress_begin(&w.progress, "reading the conversations");
    timer_init(&w.timer, x->loop, on_usage_tick, &w);
    timer_start(&w.timer, TICK_MS);
    int r = client_ask(x->client, &q, &x->arena, ret, e);
    timer_stop(&w.timer);
    progress_end(&w.progress);
    return r;
}

/* ---- showing ---- */

static const struct table_column COLUMNS[] = {
    {"", false, STYLE_BOLD}, {"CALLS", true, 0}, {"INPUT", true, 0},      {"CACHED", true, 0},
    {"OUTPUT", true, 0},     {"COST", true, 0},  {"", false, STYLE_CYAN},
};

/* Cost where it is known, tokens otherwise. */
static double weight(const struct json *row, bool by_cost)
{
    if (by_cost)
        return json_double(json_get(row, "knownCostUsd"), 0);
    return (double)(json_get_int(row, "inputTokens", 0) + json_get_int(row, "outputTokens", 0));
}

static void add_row(struct conv_cli *x, struct table *t, str name, const struct json *row)
{
    bool is_whole = json_get_int(row, "unpricedCalls", 0) == 0;
    str cost = conv_cost(x, json_get(row, "knownCostUsd"));
    table_row(t);
    table_cell(t, 0, name);
    table_cell(t, 1, conv_count(x, json_get_int(row, "calls", 0)));
    table_cell(t, 2, conv_count(x, json_get_int(row, "inputTokens", 0)));
    table_cell(t, 3, conv_count(x, json_get_int(row, "cacheReadTokens", 0)));
    table_cell(t, 4, conv_count(x, json_get_int(row, "outputTokens", 0)));
    table_cellf(t, 5, "%s%.*s", is_whole ? "" : ">", STR_ARG(cost));
}

static void usage_show(struct conv_cli *x, const struct json *report)
{
    const struct json *rows = json_get(report, "rows"), *total = json_get(report, "total");
    str by = json_get_string(report, "groupBy");
    bool by_cost = json_double(json_get(total, "knownCostUsd"), 0) > 0 &&
                   json_get_int(total, "unpricedCalls", 0) == 0;
    double most = 0;
    struct table t;
    for (size_t i = 0; i < rows->len; i++)
        if (weight(json_at(rows, i), by_cost) > most)
            most = weight(json_at(rows, i), by_cost);
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < rows->len; i++) {
        const struct json *row = json_at(rows, i);
        char bar[BAR_BYTES_MAX];
        bar_text(bar, most > 0 ? weight(row, by_cost) / most : 0);
        str key = json_string(json_get_str(row, by), STR("?"));
        add_row(x, &t, str_eq(by, STR("user")) ? conv_person(x, key) : key, row);
        table_cell(&t, 6, str_from(bar));
    }
    add_row(x, &t, STR("all"), total);
    table_cell(&t, 6, by_cost ? STR("(cost)") : STR("(tokens)"));
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
    int64_t unpriced = json_get_int(total, "unpricedCalls", 0);
    if (unpriced > 0)
        fprintf(stderr,
                "The price of %lld calls is not known; modelInfo.NAME.price in nimblebrain.json "
                "sets it.\n",
                (long long)unpriced);
}

static int do_usage(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct json *report;
    struct err e = {0};
    if (usage_ask(x, options, &report, &e) < 0)
        return cli_fail(&e);
    if (x->cli->opt.is_json)
        conv_print_json(report);
    else if (json_get(report, "rows")->len == 0)
        fputs("No model was called in this period; --all counts from the beginning.\n", stderr);
    else
        usage_show(x, report);
    return EXIT_DONE;
}

static int run_usage(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct usage_options *o = options;
    if (argc > 0)
        return cli_usage_error("usage takes no argument '%s'", argv[0]);
    if (o->since && o->is_all)
        return cli_usage_error("--since and --all exclude each other");
    return conv_with(cli, true, do_usage, options, argc, argv);
}

const struct command CMD_USAGE = {
    .name = "usage",
    .usage = "usage [--since DATE | --all] [--until DATE] [--by day|model|user] [--json]",
    .summary = "show tokens and cost by day, model or user",
    .help = "Counts every model call at its time in UTC: answers, titles, summaries and delegated "
            "runs. \">\" before a cost: the price of some calls is not known.\n",
    .args = ARGS,
    .options_size = sizeof(struct usage_options),
    .run = run_usage,
};
