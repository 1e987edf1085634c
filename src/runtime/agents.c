#include "runtime/agents.h"

#include <errno.h>

#define AGENTS_MAX 100

static const struct json_field FIELDS[] = {
    {"description", JF_STR, offsetof(struct agent, description), JF_REQUIRED, NULL, 0},
    {"systemPrompt", JF_STR, offsetof(struct agent, system_prompt), JF_REQUIRED, NULL, 0},
    {"tools", JF_STRS, offsetof(struct agent, tools), 0, NULL, 0},
    {"maxIterations", JF_INT, offsetof(struct agent, max_iterations), 0, NULL, 0},
    {"model", JF_STR, offsetof(struct agent, model), JF_NULLABLE, NULL, 0},
    {0}};

int agents_decode(struct arena *a, const struct json *conf, struct agents *ret, struct err *e)
{
    *ret = (struct agents){0};
    if (!conf)
        return 0;
    if (conf->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "agents: expected object");
    if (conf->len > AGENTS_MAX)
        return err_set(e, -EINVAL, "agents: more than %d", AGENTS_MAX);
    ret->items = arena_array(a, conf->len, sizeof *ret->items);
    for (size_t i = 0; i < conf->len; i++) {
        const struct json_member *m = &conf->members[i];
        struct agent *it = &ret->items[ret->len++];
        str path = arena_printf(a, "agents.%.*s", STR_ARG(m->key));
        it->name = m->key;
        if (m->value.type != JSON_OBJECT)
            return err_set(e, -EINVAL, "%s: expected object", path.p);
        int r = json_decode(a, &m->value, FIELDS, it, path.p, NULL, NULL, e);
        if (r < 0)
            return r;
        if (it->max_iterations < 0)
            return err_set(e, -EINVAL, "%s.maxIterations: must not be negative", path.p);
    }
    return 0;
}

const struct agent *agents_find(const struct agents *all, str name)
{
    for (size_t i = 0; i < all->len; i++)
        if (str_eq(all->items[i].name, name))
            return &all->items[i];
    return NULL;
}
