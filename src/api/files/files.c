/* /v1/files - what people have given to the workspace: their own list, one file, its removal. */
#include "api/files/files.h"

#include <assert.h>

#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/files/download.h"
#include "api/files/preview.h"
#include "api/handlers.h"
#include "attach/attach.h"

/* A request that waits for the pool. */
struct files_wait {
    struct api *api;
    struct http_req *req;
    struct attach_op *op;
    struct file_preview preview;
};

static void on_files_gone(struct http_req *r)
{
    struct files_wait *w = r->user;
    attach_cancel(w->op);
}

static struct files_wait *files_wait_new(struct api *api, struct http_req *r)
{
    struct files_wait *w = ARENA_NEW(&r->arena, struct files_wait);
    *w = (struct files_wait){.api = api, .req = r};
    r->user = w;
    r->on_gone = on_files_gone;
    return w;
}

void api_file_write(struct json_writer *w, const struct attached *f)
{
    jw_object(w);
    jw_kstr(w, "id", f->id);
    jw_kstr(w, "name", f->name);
    jw_kstr(w, "mimeType", f->mime);
    jw_kint(w, "bytes", (int64_t)f->bytes);
    jw_key(w, "createdAt");
    api_write_time(w, f->at_ms);
    jw_end(w);
}

static void on_files_listed(void *ctx, const struct err *err, const struct attached *files,
                            size_t n)
{
    struct files_wait *w = ctx;
    struct api_json j;
    if (err) {
        api_fail(w->req, FROM_FILES, err);
        return;
    }
    api_json_begin(&j);
    jw_key(&j.w, "files");
    jw_array(&j.w);
    for (size_t i = 0; i < n; i++)
        api_file_write(&j.w, &files[i]);
    jw_end(&j.w);
    api_json_send(&j, w->req);
}

void api_files_list(void *ctx, struct http_req *r)
{
    struct files_wait *w = files_wait_new(ctx, r);
    w->op = attach_list(api_space(r)->files, api_user(r), on_files_listed, w);
}

static void on_file_opened(void *ctx, const struct err *err, const struct attached *file, int fd)
{
    struct files_wait *w = ctx;
    str sha256;
    w->op = NULL;
    if (err)
        api_fail(w->req, FROM_FILES, err);
    else if (w->preview.kind != PREVIEW_NONE && library_id_sha(file->id, &sha256))
        preview_reply(w->api, w->req, &w->preview, file, sha256, fd);
    else
        download_reply(w->api, w->req, file, fd);
}

void api_file_send(struct api *api, struct http_req *r, str giver_id, str id)
{
    struct file_preview preview;
    if (!preview_query(r, &preview))
        return;
    struct files_wait *w = files_wait_new(api, r);
    w->preview = preview;
    w->op = attach_open(api_space(r)->files, giver_id, id, on_file_opened, w);
}

void api_files_get(void *ctx, struct http_req *r)
{
    api_file_send(ctx, r, api_user(r), r->params[0]);
}

static void on_file_removed(void *ctx, const struct err *err)
{
    struct files_wait *w = ctx;
    if (err)
        api_fail(w->req, FROM_FILES, err);
    else
        api_reply_ok(w->req);
}

void api_files_remove(void *ctx, struct http_req *r)
{
    struct files_wait *w = files_wait_new(ctx, r);
    w->op = attach_remove(api_space(r)->files, api_user(r), r->params[0], on_file_removed, w);
}
