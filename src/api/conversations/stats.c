/* GET /v1/conversations/stats?period= - totals over conversations. */
#include "store/stats.h"

#include "api/exchange.h"
#include "api/handlers.h"

struct stats_request {
    struct http_req *req;
    struct stats_job *job;
};

static void on_stats(void *ctx, const struct err *err, const struct stats *s)
{
    struct stats_request *q = ctx;
    if (err) {
        api_fail(q->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_value(&j);
    stats_write(&j.w, s);
    api_json_send(&j, q->req);
}

static void on_stats_gone(struct http_req *r)
{
    struct stats_request *q = r->user;
    stats_cancel(q->job);
}

void api_conversations_stats(void *ctx, struct http_req *r)
{
    str name = api_query(r, "period");
    enum stats_period period = STATS_ALL;
    struct err e = {0};
    if (name.n > 0 && stats_period_parse(name, &period, &e) < 0) {
        err_prefix(&e, "period");
        api_bad_request(r, e.msg);
        return;
    }
    struct stats_request *q = ARENA_NEW(&r->arena, struct stats_request);
    q->req = r;
    q->job = stats_start(api_space(r)->store, api_actor(r), period, on_stats, q);
    r->user = q;
    r->on_gone = on_stats_gone;
}
