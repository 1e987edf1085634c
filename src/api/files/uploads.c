/* /v1/files/uploads - files that come in several requests: the beginning, the state, the end
 * without a file. The bytes come with PATCH (file_add.c). */
#include <assert.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "attach/resume.h"

/* A request that waits for the pool. */
struct uploads_wait {
    struct http_req *req;
    struct resume_op *op;
};

static void on_uploads_gone(struct http_req *r)
{
    struct uploads_wait *w = r->user;
    resume_cancel(w->op);
}

static struct uploads_wait *uploads_wait_new(struct http_req *r)
{
    struct uploads_wait *w = ARENA_NEW(&r->arena, struct uploads_wait);
    w->req = r;
    r->user = w;
    r->on_gone = on_uploads_gone;
    return w;
}

static void on_upload_known(void *ctx, const struct err *err, const struct partial *p)
{
    struct uploads_wait *w = ctx;
    struct api_json j;
    if (err) {
        api_fail(w->req, FROM_FILES, err);
        return;
    }
    api_json_begin(&j);
    jw_kstr(&j.w, "id", p->id);
    jw_kstr(&j.w, "name", p->name);
    jw_kint(&j.w, "bytes", (int64_t)p->bytes);
    jw_kint(&j.w, "offset", (int64_t)p->offset);
    jw_key(&j.w, "expiresAt");
    api_write_time(&j.w, p->expires_ms);
    api_json_send(&j, w->req);
}

struct upload_body {
    str name;
    int64_t bytes;
};

const struct json_field API_UPLOAD_FIELDS[] = {
    {"name", JF_STR, offsetof(struct upload_body, name), JF_REQUIRED, NULL, 0,
     "The name of the file."},
    {"bytes", JF_INT, offsetof(struct upload_body, bytes), JF_REQUIRED, NULL, 0,
     "The size of the whole file.", "integer(1..)"},
    {0},
};

void api_uploads_add(void *ctx, struct http_req *r)
{
    struct upload_body body = {0};
    if (!api_decode_body(r, API_UPLOAD_FIELDS, &body))
        return;
    if (body.bytes < 1) {
        api_bad_request(r, "bytes: expected the size of the file, at least 1.");
        return;
    }
    struct uploads_wait *w = uploads_wait_new(r);
    w->op = resume_begin(api_space(r)->files, api_user(r), body.name, (uint64_t)body.bytes,
                         on_upload_known, w);
}

void api_uploads_get(void *ctx, struct http_req *r)
{
    struct uploads_wait *w = uploads_wait_new(r);
    w->op = resume_look(api_space(r)->files, api_user(r), r->params[0], on_upload_known, w);
}

static void on_upload_dropped(void *ctx, const struct err *err, const struct partial *p)
{
    struct uploads_wait *w = ctx;
    assert(!p);
    if (err)
        api_fail(w->req, FROM_FILES, err);
    else
        api_reply_ok(w->req);
}

void api_uploads_remove(void *ctx, struct http_req *r)
{
    struct uploads_wait *w = uploads_wait_new(r);
    w->op = resume_drop(api_space(r)->files, api_user(r), r->params[0], on_upload_dropped, w);
}
