/* GET /v1/audit - the audit log, for owners of the server.
 *
 * Newest first with ?before=SEQ; ?after=SEQ goes forward, for collectors. JSON, or JSON lines
 * (Accept: application/jsonl or application/x-ndjson, or ?format=jsonl): the lines themselves,
 * byte for byte, so that a collector can check the chain. */
#include "workspace/audit.h"

#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "loop/pool.h"
#include "workspace/audit_log.h"

#define LIMIT_DEFAULT 100

struct audit_wait {
    struct job job;
    struct api *api;
    struct http_req *req; /* NULL: the client disconnected */
    struct arena arena;
    struct audit_log *log;
    bool is_lines;
    struct audit_query query;
    struct audit_page page;
    struct err err;
};

static void audit_work(struct job *j)
{
    struct audit_wait *w = CONTAINER_OF(j, struct audit_wait, job);
    (void)w->log->read(w->log, &w->arena, &w->query, &w->page, &w->err);
}

static void add_next(struct audit_wait *w)
{
    if (w->page.has_more)
        http_add_header(w->req, "X-Next",
                        arena_printf(&w->req->arena, "%llu", (unsigned long long)w->page.next));
}

static void send_lines(struct audit_wait *w)
{
    struct buf b;
    if (!api_may_answer(w->req))
        return;
    buf_init(&b, API_JSON_MAX);
    for (size_t i = 0; i < w->page.n; i++) {
        buf_add_str(&b, w->page.lines[i]);
        buf_add_char(&b, '\n');
    }
    add_next(w);
    http_reply(w->req, 200, "application/jsonl; charset=utf-8", buf_str(&b));
    buf_done(&b);
}

static void send_json(struct audit_wait *w)
{
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "records");
    for (size_t i = 0; i < w->page.n; i++)
        jw_raw(&j.w, w->page.lines[i]);
    jw_end(&j.w);
    if (w->page.has_more)
        jw_kint(&j.w, "next", (int64_t)w->page.next);
    api_json_send(&j, w->req);
}

static void audit_done(struct job *j)
{
    struct audit_wait *w = CONTAINER_OF(j, struct audit_wait, job);
    if (w->req && w->err.code == -EHOSTUNREACH) {
        api_fail(w->req, FROM_STORE, &w->err);
    } else if (w->req && w->err.code < 0) {
        log_error(w->api->deps.log, "audit", "%s", w->err.msg);
        http_reply_error(w->req, 500, NULL, "The audit log cannot be read. See the server's log.",
                         NULL);
    } else if (w->req && w->is_lines) {
        send_lines(w);
    } else if (w->req) {
        send_json(w);
    }
    arena_done(&w->arena);
    free(w);
}

static void on_audit_gone(struct http_req *r)
{
    ((struct audit_wait *)r->user)->req = NULL;
}

static bool wants_lines(struct http_req *r)
{
    str accept = http_get_header(r, "accept");
    return str_eq(api_query(r, "format"), STR("jsonl")) ||
           str_find_nocase(accept, STR("application/jsonl")) >= 0 ||
           str_find_nocase(accept, STR("application/x-ndjson")) >= 0;
}

static bool read_query(struct http_req *r, struct audit_wait *w)
{
    int64_t limit, before;
    str since = api_query(r, "since"), after = api_query(r, "after");
    str format = api_query(r, "format");
    if (!api_query_int(r, "limit", LIMIT_DEFAULT, AUDIT_LIMIT_MAX, &limit) ||
        !api_query_int(r, "before", 0, INT64_MAX, &before))
        return false;
    if (after.n > 0 && parse_u64(after, &w->query.after) < 0)
        return api_bad_request(r, "after: expected the number of a record");
    if (format.n > 0 && !str_eq(format, STR("json")) && !str_eq(format, STR("jsonl")))
        return api_bad_request(r, "format: expected json or jsonl");
    if (since.n > 0 && clock_parse_iso(since, &w->query.since_ms) < 0)
        return api_bad_request(r,
                               "since: expected a date such as 2026-03-25 or 2026-03-25T10:30:00Z");
    w->query.actor = arena_str(&w->arena, api_query(r, "actor"));
    w->query.action = arena_str(&w->arena, api_query(r, "action"));
    w->query.limit = (size_t)limit;
    w->query.before = (uint64_t)before;
    w->query.is_newest_first = after.n == 0;
    w->is_lines = wants_lines(r);
    return true;
}

void api_audit_list(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct audit_wait *w = xcalloc(1, sizeof *w);
    arena_init(&w->arena);
    if (!read_query(r, w)) {
        arena_done(&w->arena);
        free(w);
        return;
    }
    w->job = (struct job){.work = audit_work, .done = audit_done};
    w->api = api;
    w->req = r;
    w->log = audit_place(api->deps.audit);
    assert(!r->user && !r->on_gone);
    r->user = w;
    r->on_gone = on_audit_gone;
    pool_submit(api->deps.pool, &w->job);
}
