#include "api/internal.h"
#include "base/clock.h"

#define HEALTH_MAX (64u * 1024)

static int64_t uptime_s(const struct api *api)
{
    return (int64_t)((clock_mono_ms() - api->deps.started_ms) / 1000);
}

void api_health_get(void *ctx, struct http_req *r)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, HEALTH_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "status", STR("ok"));
    jw_kint(&w, "uptime", uptime_s(ctx));
    jw_kstr(&w, "version", STR(NB_VERSION));
    jw_key(&w, "bundles");
    jw_array(&w);
    jw_end(&w);
    jw_end(&w);
    http_reply(r, 200, "application/json", buf_str(&b));
    buf_done(&b);
}

/* What a page needs to greet its visitor: the model in use and why, and the numbers. */
void api_workspace_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct buf b;
    struct json_writer w;
    str why, model = llm_default_model(api->deps.llm, &why);
    buf_init(&b, HEALTH_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "version", STR(NB_VERSION));
    jw_key(&w, "model");
    jw_object(&w);
    jw_kstr(&w, "name", model);
    jw_kstr(&w, "why", why);
    jw_kbool(&w, "isDemo", str_starts(model, STR("demo:")));
    jw_end(&w);
    jw_key(&w, "user");
    jw_object(&w);
    jw_kstr(&w, "id", api_identity(r)->viewer.user_id);
    jw_end(&w);
    jw_kstr(&w, "dataDir", str_from(api->deps.config->work_dir));
    jw_kstr(&w, "store", str_from(api->deps.config->store.type));
    jw_key(&w, "status");
    jw_object(&w);
    jw_kint(&w, "uptime", uptime_s(api));
    jw_kint(&w, "totalTools", (int64_t)registry_tools(api->deps.tools)->len);
    jw_kint(&w, "runs", (int64_t)runtime_runs(api->deps.runtime));
    jw_end(&w);
    jw_end(&w);
    http_reply(r, 200, "application/json", buf_str(&b));
    buf_done(&b);
}
