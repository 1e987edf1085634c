/* compat_files.c - files inside a request become files of the workspace, one after the other.
 *
 * The bytes take the way of an upload (attach/upload.h): to disk, with its limits, and their type
 * is what they are, not what the request says. Then all files are found by their ids, as those of
 * any message, and the request has no bytes any more. */
#include <assert.h>

#include "api/compat/compat.h"
#include "api/conversations/chat_files.h"
#include "attach/upload.h"
#include "base/bytes/base64.h"

#define PIECE_CHARS (4u * 16 * 1024) /* of base64, decoded at a time; a multiple of four */

struct compat_files {
    const struct api *api;
    struct http_req *req;
    struct compat_request *q;
    size_t at;             /* the file at work */
    str rest;              /* of its text */
    struct upload *upload; /* NULL: none is in progress */
    struct chat_files find;
    bool is_finding;
    compat_files_fn fn;
    void *ctx;
};

/* ---- finding ---- */

static void on_compat_files_found(void *ctx, const struct err *err, const struct json *parts)
{
    struct compat_files *f = ctx;
    f->is_finding = false;
    f->fn(f->ctx, err, parts);
}

static void find_files(struct compat_files *f)
{
    struct compat_request *q = f->q;
    struct json_strs ids = {arena_array(q->arena, q->nfiles, sizeof(str)), q->nfiles};
    for (size_t i = 0; i < q->nfiles; i++)
        ids.items[i] = q->files[i].id;
    f->is_finding = true;
    chat_files_find(&f->find, f->api, f->req, ids, q->model, on_compat_files_found, f);
}

/* ---- storing ---- */

static void next_file(struct compat_files *f);

/* The text was checked when it was read (compat_read_base64). */
static void write_some(struct compat_files *f)
{
    struct buf b;
    bool has_room = true;
    while (f->rest.n > 0 && has_room) {
        str piece = str_slice(f->rest, 0, PIECE_CHARS);
        buf_init(&b, PIECE_CHARS);
        int r = base64_decode(&b, piece);
        assert(r == 0);
        (void)r;
        f->rest = str_skip(f->rest, piece.n);
        has_room = upload_write(f->upload, buf_str(&b));
        buf_done(&b);
    }
    if (f->rest.n == 0)
        upload_finish(f->upload);
}

static void on_compat_room(void *ctx)
{
    struct compat_files *f = ctx;
    if (f->rest.n > 0)
        write_some(f);
}

static void on_compat_stored(void *ctx, const struct err *err, const struct attached *file)
{
    struct compat_files *f = ctx;
    f->upload = NULL;
    if (err) {
        f->fn(f->ctx, err, NULL);
        return;
    }
    f->q->files[f->at++].id = arena_str(f->q->arena, file->id);
    next_file(f);
}

static void next_file(struct compat_files *f)
{
    static const struct upload_events EVENTS = {on_compat_room, on_compat_stored};
    struct compat_request *q = f->q;
    while (f->at < q->nfiles && q->files[f->at].id.n > 0)
        f->at++;
    if (f->at == q->nfiles) {
        find_files(f);
        return;
    }
    f->upload = upload_new(api_space(f->req)->files, api_user(f->req), &EVENTS, f);
    upload_name(f->upload, q->files[f->at].name);
    f->rest = q->files[f->at].base64;
    write_some(f);
}

struct compat_files *compat_files_start(const struct api *api, struct http_req *r,
                                        struct compat_request *q, compat_files_fn fn, void *ctx)
{
    struct compat_files *f = ARENA_NEW(q->arena, struct compat_files);
    assert(q->nfiles > 0);
    *f = (struct compat_files){.api = api, .req = r, .q = q, .fn = fn, .ctx = ctx};
    next_file(f);
    return f;
}

void compat_files_cancel(struct compat_files *f)
{
    if (f && f->upload)
        upload_cancel(f->upload);
    if (f && f->is_finding)
        chat_files_cancel(&f->find);
}
