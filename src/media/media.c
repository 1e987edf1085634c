#include "media/media.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "attach/upload.h"
#include "base/text/plain.h"
#include "media/media_impl.h"
#include "os/file.h"
#include "store/event/blobs.h"

struct media *media_new(struct pool *files, struct pool *pages, const struct media_conf *conf)
{
    struct media *m = xcalloc(1, sizeof *m);
    assert(conf->program && conf->work_dir && conf->home_dir);
    m->files = (struct media_queue){.pool = files, .max = MEDIA_PENDING_MAX};
    m->pages = (struct media_queue){.pool = pages, .max = MEDIA_PAGES_PENDING_MAX};
    m->conf = *conf;
    m->pdf_sandbox = pdf_sandbox_new();
    return m;
}

void media_stop(struct media *m)
{
    atomic_store(&m->is_stopping, true);
}

void media_free(struct media *m)
{
    if (!m)
        return;
    pdf_sandbox_free(m->pdf_sandbox);
    free(m);
}

/* ---- calls ---- */

struct media_op *media_op_new(struct media *m, struct media_queue *q, struct attach *library,
                              void (*answer)(struct media_op *op, const struct err *err), void *ctx)
{
    struct media_op *op = xcalloc(1, sizeof *op);
    op->media = m;
    op->queue = q;
    op->answer = answer;
    if (q->npending++ >= q->max)
        err_set(&op->err, -EAGAIN, "Too many files are being prepared. Try again later.");
    op->fd = -1;
    op->ctx = ctx;
    arena_init(&op->arena);
    if (library) {
        attach_hold(library);
        op->library = library;
        op->place = attach_place(library);
        op->dir = op->place->dir;
    }
    return op;
}

static void on_media_done(struct job *j)
{
    struct media_op *op = CONTAINER_OF(j, struct media_op, job);
    const struct err *err = op->err.code < 0 ? &op->err : NULL;
    bool is_cancelled = atomic_load(&op->is_cancelled);
    assert(op->queue->npending > 0);
    op->queue->npending--;
    if (op->added > 0)
        attach_count(op->library, (int64_t)op->added);
    if (op->kept > 0)
        attach_count_pages(op->library, op->kept);
    if (is_cancelled || err) {
        file_close(op->fd);
        op->fd = -1;
    }
    if (!is_cancelled)
        op->answer(op, err);
    if (op->library)
        attach_release(op->library);
    arena_done(&op->arena);
    free(op);
}

void media_op_run(struct media_op *op, void (*work)(struct job *j))
{
    pool_run(op->queue->pool, &op->job, work, on_media_done);
}

void media_cancel(struct media_op *op)
{
    if (op)
        atomic_store(&op->is_cancelled, true); /* what has not begun does not begin */
}

/* ---- for models ---- */

/* Whose name promises something else would surprise its reader. */
static int check_name(const struct attached *f, struct err *e)
{
    static const struct {
        str suffix, mime;
    } TYPES[] = {
        {STR_INIT(".pdf"), STR_INIT("application/pdf")}, {STR_INIT(".png"), STR_INIT("image/")},
        {STR_INIT(".jpg"), STR_INIT("image/")},          {STR_INIT(".jpeg"), STR_INIT("image/")},
        {STR_INIT(".gif"), STR_INIT("image/")},          {STR_INIT(".webp"), STR_INIT("image/")}};
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        str suffix = TYPES[i].suffix;
        if (f->name.n > suffix.n &&
            str_eq_nocase(str_skip(f->name, f->name.n - suffix.n), suffix) &&
            !str_starts(f->mime, TYPES[i].mime))
            return err_set(e, -EINVAL, "it is not what its name says; its bytes are %.*s",
                           STR_ARG(f->mime));
    }
    return 0;
}

static int keep_view(struct media_op *op, str bytes, struct media_view *v, struct err *e)
{
    str sha256;
    bool is_new = false;
    int r = file_place_add(&op->arena, op->place, bytes, attach_conf(op->library)->quota_bytes,
                           &sha256, &is_new, e);
    op->added += r == 0 && is_new ? bytes.n : 0;
    v->bytes = bytes.n;
    v->id = r < 0 ? STR_NONE : library_id(&op->arena, sha256);
    return r;
}

static int picture_view(struct media_op *op, struct arena *a, int fd, struct media_view *v,
                        struct err *e)
{
    struct media_result made;
    const struct picture_job job = {fd, op->side, FILE_PICTURE_MAX, &op->is_cancelled};
    int r = media_picture(a, op->media, &job, &made, e);
    if (r < 0)
        return r;
    v->mime = str_from(made.mime);
    v->width = made.width;
    v->height = made.height;
    return keep_view(op, made.bytes, v, e);
}

static int pdf_view(struct media_op *op, struct arena *a, int fd, struct media_view *v,
                    struct err *e)
{
    str text;
    int r = media_pdf_text(a, op->media, fd, &text, e);
    if (r == -ENOSYS || r == -ENODATA) { /* a model that reads PDFs needs no text */
        v->problem = arena_str(&op->arena, str_from(e->msg));
        err_clear(e);
        return 0;
    }
    v->mime = STR("text/plain");
    return r < 0 ? r : keep_view(op, text, v, e);
}

static int prepare_one(struct media_op *op, const struct attached *f, struct media_view *v,
                       struct err *e)
{
    str sha256;
    int r = check_name(f, e);
    bool is_picture = strcmp(sniff_part(f->mime), "image") == 0;
    bool is_pdf = str_eq(f->mime, STR("application/pdf"));
    if (r < 0 || (!is_picture && !is_pdf))
        return r;
    if (!library_id_sha(f->id, &sha256))
        return err_set(e, -ENOENT, "it is gone");
    r = file_place_bring(&op->arena, op->place, sha256, e);
    if (r < 0 && r != -ENOENT)
        return r;
    int fd = r < 0 ? -1 : open(library_path(&op->arena, op->dir, sha256), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, r < 0 || errno == ENOENT ? -ENOENT : -EIO,
                       "it was removed while it was being sent");
    struct arena scratch; /* for the bytes of one file at a time */
    arena_init(&scratch);
    r = is_picture ? picture_view(op, &scratch, fd, v, e) : pdf_view(op, &scratch, fd, v, e);
    arena_done(&scratch);
    file_close(fd);
    return r;
}

static void prepare_work(struct job *j)
{
    struct media_op *op = CONTAINER_OF(j, struct media_op, job);
    for (size_t i = 0; i < op->n && op->err.code == 0 && !atomic_load(&op->is_cancelled); i++)
        if (prepare_one(op, &op->files[i], &op->views[i], &op->err) < 0) {
            err_prefix(&op->err, "The file '%.*s' cannot be sent", STR_ARG(op->files[i].name));
            plain_err(&op->err);
        }
}

static void answer_views(struct media_op *op, const struct err *err)
{
    op->on_views(op->ctx, err, op->views);
}

/* A small PDF may have much text: without the check a full workspace would grow on. */
struct media_op *media_prepare(struct media *m, struct attach *library,
                               const struct attached *files, size_t n, uint32_t side,
                               media_view_fn fn, void *ctx)
{
    struct media_op *op = media_op_new(m, &m->files, library, answer_views, ctx);
    if (op->err.code == 0)
        (void)upload_check(library, 0, &op->err);
    op->n = n;
    op->side = side;
    op->on_views = fn;
    op->files = arena_array(&op->arena, n, sizeof *op->files);
    op->views = arena_array(&op->arena, n, sizeof *op->views);
    for (size_t i = 0; i < n; i++)
        op->files[i] = (struct attached){.id = arena_str(&op->arena, files[i].id),
                                         .name = arena_str(&op->arena, files[i].name),
                                         .mime = arena_str(&op->arena, files[i].mime)};
    media_op_run(op, prepare_work);
    return op;
}
