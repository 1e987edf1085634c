/* GET /v1/usage?from=&to=&groupBy=day|model|user - tokens and cost, from the logs. */
#include "runtime/usage.h"

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "base/clock.h"

struct usage_request {
    struct api *api;
    struct http_req *req;
    struct usage_job *job;
};

static str usage_name_of(void *ctx, str user_id)
{
    return api_display_name(ctx, user_id);
}

static void on_usage(void *ctx, const struct err *err, const struct usage_report *report)
{
    struct usage_request *q = ctx;
    if (err) {
        api_fail(q->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_value(&j);
    usage_write(&j.w, report, usage_name_of, q->api);
    api_json_send(&j, q->req);
}

static void on_usage_gone(struct http_req *r)
{
    struct usage_request *q = r->user;
    usage_cancel(q->job);
}

/* An ISO date or time; absent = 0. False: 400 was sent. */
static bool query_time(struct http_req *r, const char *name, int64_t *ret_ms)
{
    str text = api_query(r, name);
    if (text.n == 0 || clock_parse_iso(text, ret_ms) == 0)
        return true;
    str msg = arena_printf(&r->arena, "%s: expected a date such as 2026-03-25", name);
    return api_bad_request(r, msg.p);
}

void api_usage_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct usage_query query = {.actor = api_actor(r)};
    str by = api_query(r, "groupBy");
    struct err e = {0};
    if (!query_time(r, "from", &query.from_ms) || !query_time(r, "to", &query.to_ms))
        return;
    if (by.n > 0 && usage_key_parse(by, &query.by, &e) < 0) {
        err_prefix(&e, "groupBy");
        api_bad_request(r, e.msg);
        return;
    }
    struct usage_request *q = ARENA_NEW(&r->arena, struct usage_request);
    q->api = api;
    q->req = r;
    r->user = q;
    r->on_gone = on_usage_gone;
    q->job = usage_start(api_space(r)->store, api->deps.llm, &query, on_usage, q);
}
