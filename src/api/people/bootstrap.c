/* GET /v1/bootstrap - everything that the page needs to start: person, workspaces, features. */
#include "api/api_impl.h"
#include "api/handlers.h"
#include "api/people/people.h"
#include "api/people/provision.h"

static str active_workspace(const struct api *api, struct http_req *r)
{
    const struct actor *me = api_actor(r);
    const struct workspace *first = NULL;
    str wanted = actor_bound_workspace(me).n > 0 ? actor_bound_workspace(me)
                                                 : http_get_header(r, "x-preferred-workspace");
    const struct workspace *w = roster_workspace(api_roster(api), wanted);
    if (w && workspace_role(w, actor_user(me)) != WS_NONE)
        return w->id;
    (void)roster_memberships(api_roster(api), actor_user(me), &first);
    if (!first && actor_is_operator(me))
        return api->deps.home_id;
    return first ? first->id : STR_NONE;
}

static void write_shell(struct json_writer *w)
{
    jw_kobject(w, "shell");
    jw_karray(w, "placements");
    jw_end(w);
    jw_kstr(w, "chatEndpoint", STR("/v1/chat/stream"));
    jw_kstr(w, "eventsEndpoint", STR("/v1/events"));
    jw_end(w);
}

static void write_config(struct json_writer *w, const struct api *api, struct arena *a)
{
    const struct config *c = api->deps.config;
    struct llm_provider_info providers[16];
    size_t n = llm_providers(api->deps.llm, providers, ARRAY_LEN(providers));
    str why;
    jw_kobject(w, "config");
    jw_kobject(w, "models");
    jw_kstr(w, "default", llm_default_model(api->deps.llm, &why));
    jw_kstr_or_null(w, "fast", c->models.fast);
    jw_kstr_or_null(w, "reasoning", c->models.reasoning);
    jw_end(w);
    jw_karray(w, "configuredProviders");
    for (size_t i = 0; i < n && i < ARRAY_LEN(providers); i++)
        jw_str(w, providers[i].name);
    jw_end(w);
    jw_kint(w, "maxIterations", c->limits.max_iterations);
    jw_kint(w, "maxInputTokens", c->limits.max_input_tokens);
    jw_kint(w, "maxOutputTokens", c->limits.max_output_tokens);
    jw_end(w);
}

static void write_me(struct json_writer *w, const struct api *api, const struct actor *me)
{
    const struct user *u = roster_user(api_roster(api), actor_user(me));
    jw_key(w, "user");
    if (u)
        api_write_user(w, u, true);
    else
        jw_null(w);
}

void api_bootstrap_get(void *ctx, struct http_req *r)
{
    const struct api *api = ctx;
    const struct actor *me = api_actor(r);
    str active = active_workspace(api, r);
    struct api_json j;
    if (active.n == 0) {
        provision_refuse(r, me);
        return;
    }
    api_json_begin(&j);
    write_me(&j.w, api, me);
    jw_key(&j.w, "workspaces");
    api_write_workspaces(&j.w, api, me, false);
    jw_kstr(&j.w, "activeWorkspace", active);
    jw_kstr(&j.w, "authMode", str_from(auth_mode_name(auth_mode(api->deps.auth))));
    jw_kstr_or_null(&j.w, "orgName", api->deps.org_name);
    write_shell(&j.w);
    write_config(&j.w, api, &r->arena);
    jw_kstr(&j.w, "version", STR(NB_VERSION));
    api_json_send(&j, r);
}
