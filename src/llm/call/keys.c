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

int llm_may_set_key(const struct llm *m, str provider, struct err *e)
{
    const struct provider *p = llm_find_provider(m, provider);
    if (!llm_takes_key(provider))
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

bool llm_default_needs_key(const struct llm *m, str provider)
{
    const struct provider *p = llm_find_provider(m, provider);
    str name = m->default_model;
    if (!p || !str_starts(name, provider) || name.n == provider.n || name.p[provider.n] != ':')
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
    if (llm_default_needs_key(m, provider))
        m->default_model = STR_NONE;
    use_key(m, p, STR_NONE);
}
