#include "cli/headless/spending.h"

#include <errno.h>

#define TOKENS_PER_PRICE 1e6

void spending_init(struct spending *s)
{
    *s = (struct spending){.limit = -1};
    arena_init(&s->arena);
}

void spending_done(struct spending *s)
{
    arena_done(&s->arena);
}

/* NULL: not known. */
static const struct json *price_of(const struct spending *s, str model)
{
    for (size_t i = 0; json_is(s->models, JSON_ARRAY) && i < s->models->len; i++) {
        const struct json *m = json_at(s->models, i);
        const struct json *price = json_get(m, "usdPerMillionTokens");
        if (str_eq(json_get_string(m, "name"), model))
            return json_is(price, JSON_OBJECT) ? price : NULL;
    }
    return NULL;
}

int spending_limit(struct spending *s, struct client *c, str model, double usd, struct err *e)
{
    struct json *answer;
    struct client_ask q = {.path = STR("/v1/models")};
    int r = client_ask(c, &q, &s->arena, &answer, e);
    if (r < 0)
        return r;
    s->models = json_get(answer, "models");
    s->limit = usd;
    if (price_of(s, model))
        return 0;
    return err_set(e, -EINVAL,
                   "--max-cost: the price of %.*s is not known; modelInfo.NAME.price in "
                   "nimblebrain.json sets it",
                   STR_ARG(model));
}

bool spending_add(struct spending *s, const struct json *call)
{
    static const struct {
        const char *tokens, *price;
    } KINDS[] = {
        {"inputTokens", "input"},
        {"outputTokens", "output"},
        {"cacheReadTokens", "cacheRead"},
        {"cacheWrite5mTokens", "cacheWrite5m"},
        {"cacheWrite1hTokens", "cacheWrite1h"},
    };
    const struct json *price = price_of(s, json_get_string(call, "model"));
    if (s->limit < 0)
        return false;
    if (!price) /* a model that was chosen later: nothing is known, so nothing more is spent */
        return true;
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
        s->spent += (double)json_get_int(call, KINDS[i].tokens, 0) *
                    json_double(json_get(price, KINDS[i].price), 0) / TOKENS_PER_PRICE;
    return s->spent >= s->limit;
}
