/* Conversations: summaries, and operations on a whole conversation. */
#include "api/conversations/conversations.h"

#include <assert.h>
#include <errno.h>

#include "api/handlers.h"
#include "api/trail.h"

#define LIST_LIMIT     20
#define LIST_LIMIT_MAX 1000

/* Writes the members of a summary, without the braces. */
static void write_conv(struct json_writer *w, const struct conv *c)
{
    jw_kstr(w, "id", c->id);
    jw_kstr(w, "createdAt", c->created_at);
    jw_kstr(w, "updatedAt", c->updated_at);
    jw_kstr_or_null(w, "title", c->title);
    jw_kstr(w, "preview", c->preview);
    jw_kint(w, "messageCount", c->message_count);
    jw_kint(w, "totalInputTokens", c->usage.input_tokens);
    jw_kint(w, "totalOutputTokens", c->usage.output_tokens);
    jw_key(w, "totalCostUsd");
    if (c->is_cost_known)
        jw_double(w, c->cost_usd);
    else
        jw_null(w);
    jw_kstr_or_null(w, "lastModel", c->last_model);
    jw_kstr(w, "workspaceId", c->workspace_id);
    jw_kstr_or_null(w, "ownerId", c->acl.owner_id);
    jw_kstr(w, "visibility", c->acl.is_shared ? STR("shared") : STR("private"));
    api_write_strs(w, "participants", c->acl.participants);
    if (c->channel.n > 0)
        jw_kstr(w, "channel", c->channel);
    if (c->forked_from.n > 0)
        jw_kstr(w, "forkedFrom", c->forked_from);
    if (c->metadata)
        jw_kval(w, "metadata", c->metadata);
    if (c->bad_lines > 0)
        jw_kint(w, "badLines", c->bad_lines);
}

/* The last run of the log has no end although nothing runs: the server stopped during the run. */
static void write_run(struct json_writer *w, struct runtime *rt, const struct conv *c)
{
    bool is_running = runtime_active_run(rt, c->id).n > 0;
    bool is_open = str_eq(c->last_run, STR("open"));
    jw_kbool(w, "isRunning", is_running);
    jw_kstr_or_null(w, "lastRun",
                    is_running ? STR("running")
                    : is_open  ? STR("interrupted")
                               : c->last_run);
}

void api_reply_conv(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    write_conv(&j.w, c);
    write_run(&j.w, wait->space->runtime, c);
    api_json_send(&j, wait->req);
}

/* ---- GET /v1/conversations ---- */

/* Contains paths, so only people who can repair it get it. */
static void write_unreadable(struct json_writer *w, const struct store_listing *l)
{
    jw_kstrs(w, "unreadable", l->unreadable, l->nunreadable);
}

static void on_conv_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "conversations");
    for (size_t i = 0; i < l->n; i++) {
        jw_object(&j.w);
        write_conv(&j.w, &l->convs[i]);
        write_run(&j.w, wait->space->runtime, &l->convs[i]);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    jw_kstr_or_null(&j.w, "nextCursor", l->next_cursor);
    jw_kint(&j.w, "totalCount", l->total);
    if (l->nunreadable > 0 && api_is_admin(wait->req))
        write_unreadable(&j.w, l);
    api_json_send(&j, wait->req);
}

static bool parse_sort(struct http_req *r, enum store_sort *ret)
{
    str by = http_query(r, "sortBy");
    *ret = str_eq(by, STR("createdAt")) ? STORE_BY_CREATED : STORE_BY_UPDATED;
    if (by.n == 0 || str_eq(by, STR("createdAt")) || str_eq(by, STR("updatedAt")))
        return true;
    return api_bad_request(r, "sortBy: expected createdAt or updatedAt");
}

void api_conversations_list(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    int64_t limit;
    struct store_query q = {
        .cursor = http_query(r, "cursor"),
        .search = http_query(r, "search"),
        .with_hidden = str_eq(http_query(r, "hidden"), STR("true")),
    };
    if (!api_query_int(r, "limit", LIST_LIMIT, LIST_LIMIT_MAX, &limit) || !parse_sort(r, &q.sort))
        return;
    struct api_wait *w = api_wait_new(api, r);
    q.viewer = api_viewer(w->req);
    q.limit = (size_t)limit;
    w->op = store_list(w->space->store, &q, on_conv_listed, w);
}

/* ---- GET, PATCH /v1/conversations/:id ---- */

static void reply_found(struct api_wait *w, const struct conv *c)
{
    api_reply_conv(w, NULL, c);
}

void api_conversations_get(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, reply_found);
}

struct rename_body {
    str title;
};

static const struct json_field RENAME_FIELDS[] = {
    {"title", JF_STR, offsetof(struct rename_body, title), JF_REQUIRED, NULL, 0}, {0}};

static void rename_found(struct api_wait *w, const struct conv *c)
{
    const struct rename_body *body = w->data;
    w->op = store_set_title(w->space->store, w->id, body->title, false, api_reply_conv, w);
}

void api_conversations_rename(void *ctx, struct http_req *r)
{
    struct rename_body *body = ARENA_NEW(&r->arena, struct rename_body);
    if (!api_decode_body(r, RENAME_FIELDS, body))
        return;
    if (str_trim(body->title).n == 0)
        api_bad_request(r, "title: must not be empty");
    else
        api_find_conv(ctx, r, body, rename_found);
}

/* ---- POST /v1/conversations/:id/fork ---- */

struct fork_body {
    const struct json *at_message;
};

static const struct json_field FORK_FIELDS[] = {
    {"atMessage", JF_JSON, offsetof(struct fork_body, at_message), JF_NULLABLE, NULL, 0}, {0}};

/* In the body or in the query: clients use both. -1 = all messages. */
static bool parse_fork(struct http_req *r, int64_t *ret)
{
    struct fork_body body = {0};
    str in_query = http_query(r, "atMessage");
    if (r->body.n > 0 && !api_decode_body(r, FORK_FIELDS, &body))
        return false;
    if (!body.at_message && in_query.n == 0) {
        *ret = -1;
        return true;
    }
    *ret = body.at_message && body.at_message->type == JSON_INT ? body.at_message->i : -1;
    if (*ret >= 0 || (!body.at_message && parse_i64(in_query, ret) == 0 && *ret >= 0))
        return true;
    return api_bad_request(r, "atMessage: expected a whole number, 0 or more");
}

static void fork_found(struct api_wait *w, const struct conv *c)
{
    const int64_t *at_message = w->data;
    assert(*at_message >= -1 && !w->op);
    if (*at_message > c->message_count) {
        str msg = arena_printf(&w->req->arena, "atMessage: there are only %lld messages",
                               (long long)c->message_count);
        api_bad_request(w->req, msg.p);
        return;
    }
    w->op = store_fork(w->space->store, w->id, *at_message, api_user(w->req), api_reply_conv, w);
}

void api_conversations_fork(void *ctx, struct http_req *r)
{
    int64_t *at_message = ARENA_NEW(&r->arena, int64_t);
    if (parse_fork(r, at_message))
        api_find_conv(ctx, r, at_message, fork_found);
}

/* ---- DELETE /v1/conversations/:id, POST .../restore ---- */

static void on_deleted(void *ctx, const struct err *err)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "id", wait->id);
    jw_kbool(&j.w, "deleted", true);
    jw_kbool(&j.w, "purged", wait->data != NULL);
    api_json_send(&j, wait->req);
}

static void delete_now(struct api_wait *w)
{
    assert(!w->op);
    w->op = store_delete(w->space->store, w->id, w->data != NULL, api_viewer(w->req),
                         trail_doer(w->api, w->req), on_deleted, w);
}

/* A run in progress is cancelled; its last lines are queued before the deletion and are deleted
 * with the log. Streams end with the deletion. A conversation in the trash is purged by people who
 * may delete it: the store reads the owner from the log. */
static void on_delete_found(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    bool is_trashed = err && err->code == -ENOENT && w->data;
    w->op = NULL;
    if (is_trashed) {
        delete_now(w);
    } else if (err) {
        api_fail(w->req, FROM_STORE, err);
    } else if (api_check_right(w, c)) {
        (void)runtime_cancel(w->space->runtime, w->id);
        delete_now(w);
    }
}

void api_conversations_delete(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    str purge = http_query(r, "purge");
    bool is_purge = str_eq(purge, STR("true"));
    if (purge.n > 0 && !is_purge && !str_eq(purge, STR("false"))) {
        api_bad_request(r, "purge: expected true or false");
        return;
    }
    struct api_wait *w = api_wait_new(api, r);
    w->id = r->params[0];
    w->data = is_purge ? r : NULL;
    w->op = store_get(w->space->store, w->id, on_delete_found, w);
}

void api_conversations_restore(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    struct api_wait *w = api_wait_new(api, r);
    w->id = r->params[0];
    w->op = store_restore(w->space->store, w->id, api_viewer(w->req), trail_doer(api, r),
                          api_reply_conv, w);
}

/* ---- POST /v1/conversations/:id/cancel ---- */

static void cancel_run(struct http_req *r)
{
    bool was_running = runtime_cancel(api_space(r)->runtime, r->params[0]);
    http_reply(r, 200, "application/json",
               was_running ? STR("{\"cancelled\":true}") : STR("{\"cancelled\":false}"));
}

static void cancel_found(struct api_wait *w, const struct conv *c)
{
    cancel_run(w->req);
}

/* The person who started a run may cancel it, even when its log is gone and its rights cannot be
 * read. */

void api_conversations_cancel(void *ctx, struct http_req *r)
{
    const struct runtime *rt = api_space(r)->runtime;
    bool is_own = runtime_has_run_of(rt, r->params[0], api_user(r));
    if (is_own || (actor_is_operator(api_actor(r)) && runtime_active_run(rt, r->params[0]).n > 0))
        cancel_run(r);
    else
        api_find_conv(ctx, r, NULL, cancel_found);
}
