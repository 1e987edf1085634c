/* catalog.c - the models that can be named, from the table and the configuration. */
#include "llm/call/llm_impl.h"

struct model_listing {
    const struct llm *llm;
    struct arena *arena;
    str *names;
    size_t n, cap;
};

static void add_model(struct model_listing *l, str provider, str model)
{
    str name = arena_printf(l->arena, "%.*s:%.*s", STR_ARG(provider), STR_ARG(model));
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->names[i], name))
            return;
    if (l->n < l->cap)
        l->names[l->n++] = name;
}

/* True when the provider belongs to the maker of this row's model. */
static bool has_row(const struct provider *p, const struct model_caps *row)
{
    bool is_claude = str_starts(row->prefix, STR("claude"));
    bool is_demo = str_eq(row->prefix, STR("demo"));
    if (p->type == &PROVIDER_ANTHROPIC)
        return is_claude;
    if (p->type == &PROVIDER_DEMO)
        return is_demo;
    if (p->type == &PROVIDER_GOOGLE)
        return str_starts(row->prefix, STR("gemini"));
    bool is_gpt = str_starts(row->prefix, STR("gpt")) || str_starts(row->prefix, STR("o"));
    return is_gpt && str_eq(p->key_env, STR("OPENAI_API_KEY"));
}

static void add_rows(struct model_listing *l, const struct provider *p)
{
    const struct model_caps *row;
    for (size_t i = 0; (row = model_row(i)) != NULL; i++)
        if (!str_ends(row->prefix, STR("-")) && has_row(p, row))
            add_model(l, p->name, row->prefix);
}

/* Models of the configuration whose name includes the provider. */
static void add_configured(struct model_listing *l, const struct provider *p)
{
    const struct json *o = l->llm->overrides;
    for (size_t i = 0; json_is(o, JSON_OBJECT) && i < o->len; i++) {
        str key = o->members[i].key;
        if (str_starts(key, p->name) && key.n > p->name.n + 1 && key.p[p->name.n] == ':')
            add_model(l, p->name, str_skip(key, p->name.n + 1));
    }
}

static void add_found(struct model_listing *l, const struct provider *p)
{
    for (size_t i = 0; i < p->found.len; i++)
        add_model(l, p->name, p->found.items[i]);
}

static size_t count_found(const struct llm *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nproviders; i++)
        n += m->providers[i].found.len;
    return n;
}

static size_t count_rows(void)
{
    size_t n = 0;
    while (model_row(n))
        n++;
    return n;
}

str *llm_known_models(const struct llm *m, struct arena *a, size_t *ret_n)
{
    size_t overrides = m->overrides ? m->overrides->len : 0;
    struct model_listing l = {.llm = m, .arena = a};
    l.cap = 1 + m->nproviders + m->nproviders * (count_rows() + overrides) + count_found(m);
    l.names = arena_array(a, l.cap, sizeof *l.names);
    l.names[l.n++] = llm_default_model(m, NULL);
    for (size_t i = 0; i < m->nproviders; i++) {
        const struct provider *p = &m->providers[i];
        if (p->default_model.n > 0)
            add_model(&l, p->name, p->default_model);
        add_found(&l, p);
        add_configured(&l, p);
        add_rows(&l, p);
    }
    *ret_n = l.n;
    return l.names;
}
