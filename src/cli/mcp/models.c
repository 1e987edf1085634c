/* nb models - lists models that can be used, models that cannot and why, and prices. */
#include "cli/conversations/conversations.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

static const struct table_column MODEL_COLUMNS[] = {
    {"MODEL", false, STYLE_BOLD}, {"CONTEXT", true, 0}, {"OUTPUT", true, 0},
    {"$/M IN", true, 0},          {"$/M OUT", true, 0}, {"PRICE OF", false, STYLE_DIM},
    {"", false, STYLE_DIM},
};

static const struct table_column PROVIDER_COLUMNS[] = {
    {"PROVIDER", false, STYLE_BOLD}, {"USABLE", false, 0}, {"", false, STYLE_DIM}};

static str dollars(struct conv_cli *x, const struct json *price, const char *key)
{
    double usd = json_double(json_get(price, key), -1);
    if (usd < 0)
        return STR("?");
    if (usd == 0)
        return STR("free");
    return arena_printf(&x->arena, usd < 0.1 ? "%.3f" : "%.2f", usd);
}

static str tokens(struct conv_cli *x, const struct json *m, const char *key)
{
    int64_t n = json_get_int(m, key, 0);
    return n > 0 ? conv_count(x, n) : STR("?");
}

static str remark(struct conv_cli *x, const struct json *m)
{
    str until = json_get_string(m, "retiresOn"), next = json_get_string(m, "successor");
    bool is_default = json_get_bool(m, "isDefault", false);
    const char *mark = is_default ? "default" : "";
    if (until.n == 0)
        return str_from(mark);
    return arena_printf(&x->arena, "%s%s%s %.*s%s%.*s", mark, is_default ? "; " : "",
                        json_get_bool(m, "isRetired", false) ? "retired on" : "retires on",
                        STR_ARG(until), next.n > 0 ? "; use " : "", STR_ARG(next));
}

static void print_models(struct conv_cli *x, const struct json *models)
{
    struct table t;
    table_init(&t, MODEL_COLUMNS, ARRAY_LEN(MODEL_COLUMNS));
    for (size_t i = 0; models && i < models->len; i++) {
        const struct json *m = json_at(models, i), *price = json_get(m, "usdPerMillionTokens");
        table_row(&t);
        table_cell(&t, 0, json_get_string(m, "name"));
        table_cell(&t, 1, tokens(x, m, "contextTokens"));
        table_cell(&t, 2, tokens(x, m, "maxOutputTokens"));
        table_cell(&t, 3, dollars(x, price, "input"));
        table_cell(&t, 4, dollars(x, price, "output"));
        table_cell(&t, 5, json_get_string(m, "pricedOn"));
        table_cell(&t, 6, remark(x, m));
    }
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
}

static void print_providers(struct conv_cli *x, const struct json *providers)
{
    struct table t;
    table_init(&t, PROVIDER_COLUMNS, ARRAY_LEN(PROVIDER_COLUMNS));
    for (size_t i = 0; providers && i < providers->len; i++) {
        const struct json *p = json_at(providers, i);
        bool is_usable = json_get_bool(p, "isUsable", false);
        table_row(&t);
        table_cell(&t, 0, json_get_string(p, "name"));
        table_cell(&t, 1, is_usable ? STR("yes") : STR("no"));
        table_cell(&t, 2, json_get_string(p, is_usable ? "baseUrl" : "problem"));
    }
    table_print(&t, stdout, x->width, x->cli->has_color_out, true);
    table_done(&t);
}

static int do_models(struct conv_cli *x, const void *options, int argc, char **argv)
{
    struct json *all;
    int code = conv_ask(x, NULL, STR("/v1/models"), STR_NONE, NULL, &all);
    if (code != EXIT_DONE)
        return code;
    if (x->cli->opt.is_json) {
        conv_print_json(all);
        return EXIT_DONE;
    }
    const struct json *chosen = json_get(all, "default");
    printf("%.*s answers: %.*s.\n\n", STR_ARG(json_get_string(chosen, "model")),
           STR_ARG(json_get_string(chosen, "why")));
    print_models(x, json_get(all, "models"));
    putchar('\n');
    print_providers(x, json_get(all, "providers"));
    return EXIT_DONE;
}

static int run_models(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc > 0)
        return cli_usage_error("models takes no argument '%s'", argv[0]);
    return conv_with(cli, true, do_models, options, argc, argv);
}

const struct command CMD_MODELS = {
    .name = "models",
    .usage = "models [--json]",
    .summary = "list models, prices, and why some are unusable",
    .help =
        "Any other model of a usable provider can be used too: nb -m provider:model. Prices are "
        "per million tokens; the setting modelInfo.NAME.price sets one that is not known.\n",
    .run = run_models,
};
