/* keys.c - the keys that people enter while nb runs: who may have one, set it, take it away. */
#include <errno.h>

#include "llm/call/llm_impl.h"
#include "llm/llm.h"

static int key_is_fixed(struct err *e)
{
    return err_set(e, -EPERM,
                   "The API key of this provider is in the settings or the environment, which "
                   "take precedence.");
}

/* A provider that nb does not know by its name is a server with its own address, which may need a
 * key. Headers of the settings are in the place of one. */
static bool takes_key(const struct provider *p, str name)
{
    return llm_is_known(name) ? llm_takes_key(name) : p && p->nheaders == 0;
}

int llm_may_set_key(const struct llm *m, str provider, struct err *e)
{
    const struct provider *p = llm_find_provider(m, provider);
    if (!takes_key(p, provider))
        return err_set(e, -ENOENT, "No provider with this name takes an API key.");
    if (p && p->is_key_fixed)
        return key_is_fixed(e);
    return p || m->nproviders < LLM_PROVIDERS_MAX
               ? 0
               : err_set(e, -ENOBUFS, "The limit of %u providers is reached.", LLM_PROVIDERS_MAX);
}

static void use_key(struct llm *m, struct provider *p, str key)
{
    p->api_key = arena_str(&m->arena, key); /* calls in progress keep the old key */
    llm_choose_default(m);
    llm_qualify_default(m);
}

void llm_set_key(struct llm *m, str provider, str key)
{
    struct provider *p = llm_find_provider(m, provider);
    if (!p)
        p = llm_add_known(m, provider);
    if (p && !str_eq(p->api_key, key))
        use_key(m, p, key);
}

int llm_may_remove_key(const struct llm *m, str provider, struct err *e)
{
    const struct provider *p = llm_find_provider(m, provider);
    if (p && p->is_key_fixed)
        return key_is_fixed(e);
    return p && p->api_key.n > 0 ? 0
                                 : err_set(e, -ENOENT, "No API key of this provider is stored.");
}

bool llm_has_prefix(str model, str provider)
{
    return str_starts(model, provider) && model.n > provider.n && model.p[provider.n] == ':';
}

bool llm_needs_key(const struct llm *m, str provider)
{
    const struct provider *p = llm_find_provider(m, provider);
    if (!p)
        return false;
    struct provider without = *p;
    without.api_key = STR_NONE;
    return !llm_is_usable(&without);
}

void llm_remove_key(struct llm *m, str provider)
{
    struct provider *p = llm_find_provider(m, provider);
    if (!p || p->is_key_fixed)
        return;
    if (llm_has_prefix(m->default_model, provider) && llm_needs_key(m, provider))
        m->default_model = STR_NONE;
    use_key(m, p, STR_NONE);
}
