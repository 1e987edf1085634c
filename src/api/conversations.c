#include <errno.h>

#include "api/internal.h"

#define LISTING_MAX    (16u * 1024 * 1024)
#define LIST_LIMIT     20
#define LIST_LIMIT_MAX 1000

static void write_strs(struct json_writer *w, struct json_strs s)
{
    jw_array(w);
    for (size_t i = 0; i < s.len; i++)
        jw_str(w, s.items[i]);
    jw_end(w);
}

static void write_or_null(struct json_writer *w, const char *key, str s)
{
    jw_key(w, key);
    if (s.n > 0)
        jw_str(w, s);
    else
        jw_null(w);
}

void api_write_conv(struct json_writer *w, const struct conv *c)
{
    jw_kstr(w, "id", c->id);
    jw_kstr(w, "createdAt", c->created_at);
    jw_kstr(w, "updatedAt", c->updated_at);
    write_or_null(w, "title", c->title);
    jw_kstr(w, "preview", c->preview);
    jw_kint(w, "messageCount", c->message_count);
    jw_kint(w, "totalInputTokens", c->usage.input_tokens);
    jw_kint(w, "totalOutputTokens", c->usage.output_tokens);
    jw_key(w, "totalCostUsd");
    if (c->is_cost_known)
        jw_double(w, c->cost_usd);
    else
        jw_null(w);
    write_or_null(w, "lastModel", c->last_model);
    jw_kstr(w, "workspaceId", c->workspace_id);
    write_or_null(w, "ownerId", c->acl.owner_id);
    jw_kstr(w, "visibility", c->acl.is_shared ? STR("shared") : STR("private"));
    jw_key(w, "participants");
    write_strs(w, c->acl.participants);
    if (c->channel.n > 0)
        jw_kstr(w, "channel", c->channel);
    if (c->forked_from.n > 0)
        jw_kstr(w, "forkedFrom", c->forked_from);
    if (c->metadata)
        jw_kval(w, "metadata", c->metadata);
    if (c->bad_lines > 0)
        jw_kint(w, "badLines", c->bad_lines);
}

static void reply_buf(struct http_req *r, struct buf *b)
{
    if (buf_failed(b))
        http_reply_error(r, 500, "too_large", "The answer is too large; ask for less.", NULL);
    else
        http_reply(r, 200, "application/json", buf_str(b));
    buf_done(b);
}

/* ---- GET /v1/conversations ---- */

static void on_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_store_error(wait->req, err);
        return;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, LISTING_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_key(&w, "conversations");
    jw_array(&w);
    for (size_t i = 0; i < l->n; i++) {
        jw_object(&w);
        api_write_conv(&w, &l->convs[i]);
        bool is_running = runtime_active_run(wait->api->deps.runtime, l->convs[i].id).n > 0;
        jw_kbool(&w, "isRunning", is_running);
        jw_end(&w);
    }
    jw_end(&w);
    write_or_null(&w, "nextCursor", l->next_cursor);
    jw_kint(&w, "totalCount", l->total);
    jw_end(&w);
    reply_buf(wait->req, &b);
}

static bool parse_sort(struct http_req *r, enum store_sort *ret)
{
    str by = http_query(r, "sortBy");
    *ret = str_eq(by, STR("createdAt")) ? STORE_BY_CREATED : STORE_BY_UPDATED;
    if (by.n == 0 || str_eq(by, STR("createdAt")) || str_eq(by, STR("updatedAt")))
        return true;
    http_reply_error(r, 400, "bad_request", "sortBy: expected createdAt or updatedAt", NULL);
    return false;
}

void api_conversations_list(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    int64_t limit;
    struct store_query q = {.cursor = http_query(r, "cursor"), .search = http_query(r, "search")};
    if (!api_query_int(r, "limit", LIST_LIMIT, LIST_LIMIT_MAX, &limit) || !parse_sort(r, &q.sort))
        return;
    struct api_wait *w = api_wait_new(api, r);
    q.viewer = &w->viewer;
    q.limit = (size_t)limit;
    w->op = store_list(api->deps.store, &q, on_listed, w);
}

/* ---- GET /v1/conversations/:id ---- */

static void on_got(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_store_error(wait->req, err);
        return;
    }
    if (!access_allows(&wait->viewer, &c->acl, CONV_VIEW)) {
        api_not_found(wait->req, "conversation");
        return;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, LISTING_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    api_write_conv(&w, c);
    jw_kbool(&w, "isRunning", runtime_active_run(wait->api->deps.runtime, c->id).n > 0);
    jw_end(&w);
    reply_buf(wait->req, &b);
}

void api_conversations_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_wait *w = api_wait_new(api, r);
    w->op = store_get(api->deps.store, r->params[0], on_got, w);
}

/* ---- POST /v1/conversations/:id/cancel ---- */

static void on_cancel_checked(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_store_error(wait->req, err);
        return;
    }
    if (!access_allows(&wait->viewer, &c->acl, CONV_SEND)) {
        api_not_found(wait->req, "conversation");
        return;
    }
    bool was_running = runtime_cancel(wait->api->deps.runtime, c->id);
    http_reply(wait->req, 200, "application/json",
               was_running ? STR("{\"cancelled\":true}") : STR("{\"cancelled\":false}"));
}

void api_conversations_cancel(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_wait *w = api_wait_new(api, r);
    w->op = store_get(api->deps.store, r->params[0], on_cancel_checked, w);
}
