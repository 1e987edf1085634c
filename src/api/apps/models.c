/* GET /v1/models - models that can be used, models that cannot and why, and prices. */
#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "runtime/runtime.h"

#define PROVIDERS_MAX 64

static void write_price(struct json_writer *w, const struct llm_model_info *m)
{
    const struct {
        const char *key;
        double usd;
    } PRICES[] = {
        {"input", m->price_in},
        {"output", m->price_out},
        {"cacheRead", m->price_cache_read},
        {"cacheWrite5m", m->price_write_5m},
        {"cacheWrite1h", m->price_write_1h},
    };
    jw_key(w, "usdPerMillionTokens");
    if (!m->has_price) {
        jw_null(w);
        return;
    }
    jw_object(w);
    for (size_t i = 0; i < ARRAY_LEN(PRICES); i++) {
        jw_kdouble(w, PRICES[i].key, PRICES[i].usd);
    }
    jw_end(w);
}

static void write_limit(struct json_writer *w, const char *key, int64_t tokens)
{
    jw_key(w, key);
    if (tokens > 0)
        jw_int(w, tokens);
    else
        jw_null(w);
}

static bool is_past(str date)
{
    char now[CLOCK_ISO_LEN + 1];
    clock_iso(clock_now_ms(), now);
    return date.n > 0 && str_cmp(date, str_make(now, strlen("2026-03-25"))) <= 0;
}

static void write_model(struct json_writer *w, const struct llm *llm, str name, bool is_default)
{
    struct llm_model_info m;
    if (!llm_model_info(llm, name, &m))
        return;
    jw_object(w);
    jw_kstr(w, "name", name);
    jw_kstr(w, "provider", m.provider);
    jw_kbool(w, "isDefault", is_default);
    write_limit(w, "contextTokens", m.context_tokens);
    write_limit(w, "maxOutputTokens", m.max_output_tokens);
    write_price(w, &m);
    jw_kstr_or_null(w, "pricedOn", m.has_price ? m.priced_on : STR_NONE);
    jw_kbool(w, "canUseTools", m.can_tools);
    jw_kbool(w, "canSeeImages", m.can_images);
    jw_kbool(w, "canReadPdf", m.can_pdf);
    jw_kbool(w, "canThink", m.can_thinking);
    jw_kstr_or_null(w, "retiresOn", m.retires_on);
    jw_kbool(w, "isRetired", is_past(m.retires_on));
    jw_kstr_or_null(w, "successor", m.successor);
    jw_end(w);
}

static void write_provider(struct json_writer *w, const struct llm *llm,
                           const struct llm_provider_info *p, bool is_configured, bool is_admin)
{
    jw_object(w);
    jw_kstr(w, "name", p->name);
    jw_kstr(w, "type", p->type);
    jw_kstr(w, "baseUrl", p->base_url);
    jw_kbool(w, "isConfigured", is_configured);
    jw_kbool(w, "isUsable", is_configured && p->is_usable);
    jw_kstr_or_null(w, "problem", p->problem);
    jw_kstr_or_null(w, "defaultModel", p->default_model);
    jw_kbool(w, "isLocal", p->is_local);
    jw_kbool(w, "takesKey", is_admin && llm_may_set_key(llm, p->name, NULL) == 0);
    jw_kbool(w, "hasEnteredKey", is_admin && llm_may_remove_key(llm, p->name, NULL) == 0);
    jw_end(w);
}

static void write_providers(struct json_writer *w, struct arena *a, const struct llm *llm,
                            bool is_admin)
{
    struct llm_provider_info *mine = arena_array(a, PROVIDERS_MAX, sizeof *mine);
    size_t n = llm_providers(llm, mine, PROVIDERS_MAX), missing;
    const struct llm_provider_info *others = llm_missing_providers(llm, a, &missing);
    jw_karray(w, "providers");
    for (size_t i = 0; i < n && i < PROVIDERS_MAX; i++)
        write_provider(w, llm, &mine[i], true, is_admin);
    for (size_t i = 0; i < missing; i++)
        write_provider(w, llm, &others[i], false, is_admin);
    jw_end(w);
}

/* ---- the same list for clients of model services: docs/openai.md ---- */

#define SERVED_SINCE     1767225600 /* when a model was made is not known: 2026-01-01 for all */
#define SERVED_SINCE_ISO "2026-01-01T00:00:00Z"

static void write_served(struct json_writer *w, str id, str owner)
{
    jw_object(w);
    jw_kstr(w, "id", id);
    jw_kcstr(w, "object", "model");
    jw_kint(w, "created", SERVED_SINCE);
    jw_kstr(w, "owned_by", owner);
    jw_kcstr(w, "type", "model");
    jw_kstr(w, "display_name", id);
    jw_kcstr(w, "created_at", SERVED_SINCE_ISO);
    jw_end(w);
}

static str owner_of_model(str name)
{
    ptrdiff_t colon = str_find_char(name, ':');
    return colon < 0 ? name : str_slice(name, 0, (size_t)colon);
}

static void write_list(struct json_writer *w, struct http_req *r, const str *names, size_t n)
{
    /* Changes of the server's models are answered with this list, too, without a workspace. */
    struct agents agents = {0};
    if (api_space(r))
        agents = *runtime_agents(api_space(r)->runtime);
    jw_kcstr(w, "object", "list");
    jw_karray(w, "data");
    write_served(w, STR("default"), STR("nb"));
    for (size_t i = 0; i < agents.len; i++)
        write_served(w, arena_concat(&r->arena, STR("agent:"), agents.items[i].name), STR("nb"));
    for (size_t i = 0; i < n; i++)
        write_served(w, names[i], owner_of_model(names[i]));
    jw_end(w);
    jw_kbool(w, "has_more", false);
}

/* GET /v1/models/<id> - one of them; a model that is not listed can be used, too. */
void api_models_get(void *ctx, struct http_req *r)
{
    struct llm *llm = ((struct api *)ctx)->deps.llm;
    struct api_json j;
    struct err e = {0};
    str id = r->params[0], agent = STR("agent:"), provider, model;
    bool is_agent = str_starts(id, agent);
    const struct agents *agents = runtime_agents(api_space(r)->runtime);
    bool is_known =
        is_agent ? agents_find(agents, str_skip(id, agent.n)) != NULL
                 : str_eq(id, STR("default")) || llm_resolve(llm, id, &provider, &model, &e) == 0;
    if (!is_known) {
        http_reply_error(r, 404, "model_not_found", is_agent ? "There is no such agent." : e.msg,
                         NULL);
        return;
    }
    api_json_value(&j);
    write_served(&j.w, id, is_agent ? STR("nb") : owner_of_model(id));
    api_json_send(&j, r);
}

void api_models_list(void *ctx, struct http_req *r)
{
    const struct llm *llm = ((struct api *)ctx)->deps.llm;
    struct api_json j;
    size_t n;
    bool is_admin = api_is_org_admin(api_actor(r));
    str why, chosen = llm_default_model(llm, &why);
    const str *names = llm_known_models(llm, &r->arena, &n);
    api_json_begin(&j);
    jw_kobject(&j.w, "default");
    jw_kstr(&j.w, "model", chosen);
    jw_kstr(&j.w, "why", why);
    jw_kbool(&j.w, "isConfigured", llm_has_default(llm));
    jw_end(&j.w);
    jw_kbool(&j.w, "mayChange", is_admin);
    write_providers(&j.w, &r->arena, llm, is_admin);
    jw_karray(&j.w, "models");
    for (size_t i = 0; i < n; i++)
        write_model(&j.w, llm, names[i], i == 0);
    jw_end(&j.w);
    write_list(&j.w, r, names, n);
    api_json_send(&j, r);
}
