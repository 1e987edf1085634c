/* /v1/conversations/:id/queue - messages that are queued while the agent answers. */
#include "runtime/queue/queue.h"

#include <assert.h>
#include <errno.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"

static void reply_queue(struct api_wait *w, const struct json *messages)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", w->id);
    jw_kval(&j.w, "messages", messages);
    api_json_send(&j, w->req);
}

static void on_others_read(void *ctx, const struct err *err, const struct json_strs *documents)
{
    struct api_wait *w = ctx;
    w->op = NULL;
    if (err)
        api_fail(w->req, FROM_STORE, err);
    else
        reply_queue(w, queue_json_with(w->space->runtime, w->id, documents, &w->req->arena));
}

static void send_list(struct api_wait *w, const struct conv *c)
{
    if (store_keeps_queue(w->space->store))
        w->op = store_read_queue(w->space->store, w->id, on_others_read, w);
    else
        reply_queue(w, queue_json(w->space->runtime, w->id, &w->req->arena));
}

void api_queue_list(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, send_list);
}

/* ---- changing ---- */

struct queue_wait {
    struct http_req *req;
    struct queue_file_op *op;
    struct others_ask *ask; /* another server may have the message */
    bool is_withdrawn;
};

static void on_queue_gone(struct http_req *r)
{
    const struct queue_wait *q = r->user;
    if (q->op)
        queue_files_forget(q->op);
    others_ask_cancel(q->ask);
}

static void on_queue_saved(void *ctx, const struct err *err)
{
    const struct queue_wait *q = ctx;
    struct api_json j;
    if (err) {
        http_reply_error(q->req, 500, "storage_error",
                         "The queued message could not be changed: a file could not be written.",
                         NULL);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "queuedId", q->req->params[1]);
    jw_kbool(&j.w, "withdrawn", q->is_withdrawn);
    api_json_send(&j, q->req);
}

static void queue_refuse(struct queue_wait *q, int r, const char *why)
{
    if (r == -EALREADY)
        http_reply_error(q->req, 409, "already_taken", why, NULL);
    else if (r == -ENOENT)
        http_reply_error(q->req, 404, "not_found", why, NULL);
    else if (r == -EPERM)
        api_forbidden(q->req, why);
    else
        api_bad_request(q->req, why);
}

static void on_queue_answered(void *ctx, const struct err *err)
{
    struct queue_wait *q = ctx;
    q->ask = NULL;
    if (!err)
        on_queue_saved(q, NULL);
    else if (err->code == -ETIMEDOUT)
        queue_refuse(q, -ENOENT, "No queued message has this id in this conversation.");
    else
        queue_refuse(q, err->code, err->msg);
}

/* Not here; on a different server, perhaps. */
static bool is_elsewhere(const struct api_wait *w, int r)
{
    return r == -ENOENT && store_has_leases(w->space->store);
}

static void queue_settle(struct queue_wait *q, int r, const struct err *e)
{
    assert(r < 0 || q->op || q->ask);
    if (r < 0) {
        queue_refuse(q, r, e->msg);
        return;
    }
    q->req->user = q;
    q->req->on_gone = on_queue_gone;
}

struct edit_body {
    str message;
};

const struct json_field API_QUEUE_FIELDS[] = {{"message", JF_STR,
                                               offsetof(struct edit_body, message), JF_REQUIRED,
                                               NULL, 0, "The new text of the message."},
                                              {0}};

static void edit(struct api_wait *w, const struct conv *c)
{
    const struct edit_body *body = w->data;
    struct http_req *r = w->req;
    struct queue_wait *q = ARENA_NEW(&r->arena, struct queue_wait);
    struct queue_ref which = {w->id, r->params[1], api_user(w->req), api_actor(r)};
    struct err e = {0};
    q->req = r;
    struct runtime *rt = w->space->runtime;
    int status = queue_edit(rt, &which, body->message, on_queue_saved, q, &q->op, &e);
    if (is_elsewhere(w, status)) {
        q->ask = queue_edit_elsewhere(rt, &which, body->message, on_queue_answered, q);
        status = 0;
    }
    queue_settle(q, status, &e);
}

void api_queue_edit(void *ctx, struct http_req *r)
{
    struct edit_body *body = ARENA_NEW(&r->arena, struct edit_body);
    if (api_decode_body(r, API_QUEUE_FIELDS, body))
        api_find_conv(ctx, r, body, edit);
}

/* People who may manage participants may also withdraw a queued message. */
static void withdraw(struct api_wait *w, const struct conv *c)
{
    struct http_req *r = w->req;
    struct queue_wait *q = ARENA_NEW(&r->arena, struct queue_wait);
    str me = api_user(w->req);
    struct queue_ref which = {w->id, r->params[1], api_may(w, c, CONV_SHARE) ? STR_NONE : me, NULL};
    struct err e = {0};
    q->req = r;
    q->is_withdrawn = true;
    struct runtime *rt = w->space->runtime;
    int status = queue_withdraw(rt, &which, me, on_queue_saved, q, &q->op, &e);
    if (is_elsewhere(w, status)) {
        q->ask = queue_withdraw_elsewhere(rt, &which, me, on_queue_answered, q);
        status = 0;
    }
    queue_settle(q, status, &e);
}

void api_queue_withdraw(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, withdraw);
}
