/* nb usage - tokens and cost by day, model or user, with a small chart. */
#include "base/clock.h"
#include "cli/conversations/conversations.h"
#include "cli/term/progress.h"
#include "cli/term/styled.h"
#include "cli/term/text.h"
#include "loop/timer.h"

#define DAYS_DEFAULT  30
#define DAY_MS        (24 * 3600 * 1000LL)
#define ANSWER_MAX_MS (30 * 60 * 1000) /* reading a large store may take long */
#define TICK_MS       200

static const struct arg ARGS[] = {
    {"since", 's', ARG_STRING, "DATE", "count from this day, UTC (default: 30 days ago)"},
    {"until", 'u', ARG_STRING, "DATE", "count up to this day"},
    {"all", 'a', ARG_FLAG, NULL, "start from the beginning"},
    {"by", 'b', ARG_STRING, "KEY", "group by day (default), model or user",
     .choices = "day, model, user"},
    {0}};

/* ---- asking ---- */

struct usage_wait {
    struct progress progress;
    struct timer timer;
    uint64_t began_ms;
};

static void on_usage_tick(void *ctx)
{
    struct usage_wait *w = ctx;
    char text[64];
    (void)snprintf(text, sizeof text, "%llu s",
                   (unsigned long long)(clock_mono_ms() - w->began_ms) / 1000);
    progress_update(&w->progress, -1, str_from(text));
    timer_start(&w->timer, TICK_MS);
}

static str path(struct cmd *x)
{
    char since[CLOCK_ISO_LEN + 1] = "";
    if (!cmd_opt(x, "since") && !cmd_flag(x, "all"))
        clock_iso(clock_now_ms() / DAY_MS * DAY_MS - (DAYS_DEFAULT - 1) * DAY_MS, since);
    struct arena *a = &x->arena;
    return arena_printf(a, "/v1/usage?groupBy=%.*s&from=%.*s&to=%.*s",
                        STR_ARG(client_encode(a, str_from(cmd_opt_or(x, "by", "day")))),
                        STR_ARG(client_encode(a, str_from(cmd_opt_or(x, "since", since)))),
                        STR_ARG(client_encode(a, str_from(cmd_opt(x, "until")))));
}

static int usage_ask(struct cmd *x, struct json **ret, struct err *e)
{
    struct usage_wait w = {.began_ms = clock_mono_ms()};
    struct client_ask q = {.path = path(x), .timeout_ms = ANSWER_MAX_MS};
    progress_begin(&w.progress, "reading the conversations");
    timer_init(&w.timer, x->loop, on_usage_tick, &w);
    timer_start(&w.timer, TICK_MS);
    int r = client_ask(x->client, &q, &x->arena, ret, e);
    timer_stop(&w.timer);
    progress_end(&w.progress);
    return r;
}

/* ---- showing ---- */

/* Cost where it is known, tokens otherwise. */
static double weight(const struct json *row, bool by_cost)
{
    if (by_cost)
        return json_double(json_get(row, "knownCostUsd"), 0);
    return (double)(json_get_int(row, "inputTokens", 0) + json_get_int(row, "outputTokens", 0));
}

static str show_cost(struct cmd *x, const struct json *row)
{
    return conv_known_cost(x, row, "unpricedCalls");
}

static const struct cmd_column COLUMNS[] = {
    {"", "name", .style = STYLE_BOLD},
    {"CALLS", "calls", CELL_COUNT, .is_right = true},
    {"INPUT", "inputTokens", CELL_COUNT, .is_right = true},
    {"CACHED", "cacheReadTokens", CELL_COUNT, .is_right = true},
    {"OUTPUT", "outputTokens", CELL_COUNT, .is_right = true},
    {"COST", .show = show_cost, .is_right = true},
    {"", "bar", .style = STYLE_CYAN},
};

/* A row of the table, with a name and the text of the last column. */
static void add_row(struct cmd *x, struct json *rows, const struct json *row, str name, str bar)
{
    struct json *shown = json_clone(&x->arena, row);
    json_set(&x->arena, shown, STR("name"), json_of_str(name));
    json_set(&x->arena, shown, STR("bar"), json_of_str(arena_str(&x->arena, bar)));
    json_push(&x->arena, rows, *shown);
}

static void usage_show(struct cmd *x, const struct json *report)
{
    const struct json *rows = json_get(report, "rows"), *total = json_get(report, "total");
    str by = json_get_string(report, "groupBy");
    int64_t unpriced = json_get_int(total, "unpricedCalls", 0);
    bool by_cost = json_double(json_get(total, "knownCostUsd"), 0) > 0 && unpriced == 0;
    double most = 0;
    struct json *shown = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < rows->len; i++)
        if (weight(json_at(rows, i), by_cost) > most)
            most = weight(json_at(rows, i), by_cost);
    for (size_t i = 0; i < rows->len; i++) {
        const struct json *row = json_at(rows, i);
        char bar[BAR_BYTES_MAX];
        bar_text(bar, most > 0 ? weight(row, by_cost) / most : 0);
        str key = json_string(json_get_str(row, by), STR("?"));
        add_row(x, shown, row, str_eq(by, STR("user")) ? conv_person(x, key) : key, str_from(bar));
    }
    add_row(x, shown, total, STR("all"), by_cost ? STR("(cost)") : STR("(tokens)"));
    cmd_table(x, shown, COLUMNS, ARRAY_LEN(COLUMNS), true);
    if (unpriced > 0)
        fprintf(stderr,
                "The price of %lld calls is not known; modelInfo.NAME.price in nimblebrain.json "
                "sets it.\n",
                (long long)unpriced);
}

static int run_usage(struct cmd *x)
{
    struct json *report;
    struct err e = {0};
    if (cmd_opt(x, "since") && cmd_flag(x, "all"))
        return cli_usage_error("--since and --all exclude each other");
    if (usage_ask(x, &report, &e) < 0)
        return cli_fail(&e);
    if (x->cli->opt.is_json)
        cmd_print_json(report);
    else if (json_get(report, "rows")->len == 0)
        fputs("No model was called in this period; --all counts from the beginning.\n", stderr);
    else
        usage_show(x, report);
    return EXIT_DONE;
}

const struct command CMD_USAGE = {
    .name = "usage",
    .summary = "show tokens and cost by day, model or user",
    .help = "Counts every model call at its time in UTC: answers, titles, summaries and delegated "
            "runs. \">\" before a cost: the price of some calls is not known.\n",
    .args = ARGS,
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = run_usage,
};
