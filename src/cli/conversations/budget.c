/* nb budget show|set: what may be spent on models in a month. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/session/client.h"

static void print_budget(const char *label, const struct json *b)
{
    const struct json *limit = json_get(b, "limitUsd");
    printf("%-10s", label);
    if (limit && limit->type != JSON_NULL)
        printf("$%.2f of $%.2f  ", json_double(json_get(b, "spentUsd"), 0), json_double(limit, 0));
    cmd_print_text(json_get_string(b, "state"));
    putchar('\n');
}

static int budget_show(struct cmd *x)
{
    const struct json *all = cmd_ask(x, NULL, STR("/v1/budgets"), NULL, NULL);
    if (!all)
        return EXIT_FAILED;
    if (cmd_json(x, all))
        return EXIT_DONE;
    print_budget("You", json_get(all, "personal"));
    print_budget("Workspace", json_get(all, "workspace"));
    return EXIT_DONE;
}

static int budget_set(struct cmd *x)
{
    const char *who = x->argv[0], *text = x->argv[1];
    char *end;
    double usd = strtod(text, &end);
    bool is_none = strcmp(text, "none") == 0;
    if (!is_none && (end == text || *end || !(usd >= 0 && usd <= 1e9)))
        return cmd_usage(x, "AMOUNT is a number of US dollars, or none");
    struct json amount = is_none ? json_of_null() : json_of_double(&x->arena, usd);
    struct json *body = json_new(&x->arena, JSON_OBJECT);
    if (strcmp(who, "workspace") == 0)
        json_set(&x->arena, body, STR("workspaceUsd"), amount);
    else if (strcmp(who, "person") == 0)
        json_set(&x->arena, body, STR("personUsd"), amount);
    else {
        struct json *people = json_new(&x->arena, JSON_OBJECT);
        json_set(&x->arena, people, str_from(who), amount);
        json_set(&x->arena, body, STR("people"), *people);
    }
    const struct json *answer = cmd_ask(x, "PUT", STR("/v1/budgets"), body, NULL);
    return answer ? cmd_say(x, answer, "The budget is set.") : EXIT_FAILED;
}

static const struct command BUDGET_SHOW = {
    .name = "show",
    .summary = "show what is left of your budget and of the workspace's",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = budget_show,
};
static const struct command BUDGET_SET = {
    .name = "set",
    .operands = "WHO AMOUNT",
    .summary = "set what may be spent on models in a month (admins only)",
    .help = "WHO is `workspace`, `person` (each member) or the id of a person. AMOUNT is in US "
            "dollars; `none` removes the limit.\n",
    .needs = NEEDS_CLIENT | WORKS_ELSEWHERE,
    .run = budget_set,
};
static const struct command *const BUDGET_COMMANDS[] = {&BUDGET_SHOW, &BUDGET_SET, NULL};

const struct command CMD_BUDGET = {
    .name = "budget",
    .summary = "show and set what may be spent on models in a month",
    .subs = BUDGET_COMMANDS,
};
