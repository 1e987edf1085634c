/* nb models - lists models that can be used, models that cannot and why, and prices. */
#include "cli/command.h"
#include "cli/term/styled.h"

static str dollars(struct cmd *x, const struct json *price, const char *key)
{
    double usd = json_double(json_get(price, key), -1);
    if (usd < 0)
        return STR("?");
    if (usd == 0)
        return STR("free");
    return arena_printf(&x->arena, usd < 0.1 ? "%.3f" : "%.2f", usd);
}

static str show_input_price(struct cmd *x, const struct json *m)
{
    return dollars(x, json_get(m, "usdPerMillionTokens"), "input");
}

static str show_output_price(struct cmd *x, const struct json *m)
{
    return dollars(x, json_get(m, "usdPerMillionTokens"), "output");
}

static str remark(struct cmd *x, const struct json *m)
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

static const struct cmd_column MODEL_COLUMNS[] = {
    {"MODEL", "name", .style = STYLE_BOLD},
    {"CONTEXT", "contextTokens", CELL_COUNT, "?", .is_right = true},
    {"OUTPUT", "maxOutputTokens", CELL_COUNT, "?", .is_right = true},
    {"$/M IN", .show = show_input_price, .is_right = true},
    {"$/M OUT", .show = show_output_price, .is_right = true},
    {"PRICE OF", "pricedOn", .style = STYLE_DIM},
    {"", .show = remark, .style = STYLE_DIM},
};

static str show_usable(struct cmd *x, const struct json *p)
{
    return json_get_bool(p, "isUsable", false) ? STR("yes") : STR("no");
}

static str show_reason(struct cmd *x, const struct json *p)
{
    return json_get_string(p, json_get_bool(p, "isUsable", false) ? "baseUrl" : "problem");
}

static const struct cmd_column PROVIDER_COLUMNS[] = {
    {"PROVIDER", "name", .style = STYLE_BOLD},
    {"USABLE", .show = show_usable},
    {"", .show = show_reason, .style = STYLE_DIM},
};

static int run_models(struct cmd *x)
{
    const struct json *all = cmd_ask(x, NULL, STR("/v1/models"), NULL, NULL);
    if (!all)
        return EXIT_FAILED;
    const struct json *chosen = json_get(all, "default");
    (void)cmd_say(x, all, "%.*s answers: %.*s.\n", STR_ARG(json_get_string(chosen, "model")),
                  STR_ARG(json_get_string(chosen, "why")));
    if (x->cli->opt.is_json)
        return EXIT_DONE;
    cmd_table(x, json_get(all, "models"), MODEL_COLUMNS, ARRAY_LEN(MODEL_COLUMNS), true);
    putchar('\n');
    cmd_table(x, json_get(all, "providers"), PROVIDER_COLUMNS, ARRAY_LEN(PROVIDER_COLUMNS), true);
    return EXIT_DONE;
}

const struct command CMD_MODELS = {
    .name = "models",
    .summary = "list models, prices, and why some are unusable",
    .help =
        "Any other model of a usable provider can be used too: nb -m provider:model. Prices are "
        "per million tokens; the setting modelInfo.NAME.price sets one that is not known.\n",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = run_models,
};
