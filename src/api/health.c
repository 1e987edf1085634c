#include "api/internal.h"
#include "base/clock.h"

static int64_t uptime_s(const struct api *api)
{
    return (int64_t)((clock_mono_ms() - api->deps.started_ms) / 1000);
}

void api_health_get(void *ctx, struct http_req *r)
{
    struct api_json j;
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr(&j.w, "status", STR("ok"));
    jw_kint(&j.w, "uptime", uptime_s(ctx));
    jw_kstr(&j.w, "version", STR(NB_VERSION));
    jw_key(&j.w, "bundles");
    jw_array(&j.w);
    jw_end(&j.w);
    jw_end(&j.w);
    api_json_send(&j, r);
}

/* What a page needs to greet its visitor: the model in use and why, and the numbers. */
void api_workspace_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_json j;
    str why, model = llm_default_model(api->deps.llm, &why);
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr(&j.w, "version", STR(NB_VERSION));
    jw_key(&j.w, "model");
    jw_object(&j.w);
    jw_kstr(&j.w, "name", model);
    jw_kstr(&j.w, "why", why);
    jw_kbool(&j.w, "isDemo", str_starts(model, STR("demo:")));
    jw_end(&j.w);
    jw_key(&j.w, "user");
    jw_object(&j.w);
    jw_kstr(&j.w, "id", api_identity(r)->viewer.user_id);
    jw_end(&j.w);
    jw_kstr(&j.w, "dataDir", str_from(api->deps.config->work_dir));
    jw_kstr(&j.w, "store", str_from(api->deps.config->store.type));
    jw_key(&j.w, "status");
    jw_object(&j.w);
    jw_kint(&j.w, "uptime", uptime_s(api));
    jw_kint(&j.w, "totalTools", (int64_t)registry_tools(api_space(r)->tools)->len);
    jw_kint(&j.w, "runs", (int64_t)runtime_runs(api_space(r)->runtime));
    jw_end(&j.w);
    jw_end(&j.w);
    api_json_send(&j, r);
}
