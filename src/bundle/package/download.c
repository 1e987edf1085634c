#include "bundle/package/download.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "os/file.h"

#define PIECE_BYTES     (256u * 1024)
#define PENDING_MAX     (16u * 1024 * 1024) /* data that one callback may add beyond a piece */
#define IDLE_TIMEOUT_MS 30000

struct download {
    struct download_spec spec;
    struct arena arena;
    struct fetch *fetch; /* NULL after its end */
    download_done done;
    void *ctx;
    struct buf pending; /* received, not yet passed to the pool */
    uint64_t received;
    struct err err; /* the first error */
    bool is_cancelled, is_busy;

    struct job job;
    /* Used only by the job while it is busy: */
    struct buf piece;
    int fd;
    bool is_ours;              /* the file was created by us: an existing one is not removed */
    bool is_last, is_unwanted; /* close the file; remove it */
    int write_error;
};

static void download_free(struct download *d)
{
    assert(!d->is_busy && d->fd < 0 && !d->fetch);
    buf_done(&d->pending);
    buf_done(&d->piece);
    arena_done(&d->arena);
    free(d);
}

/* ---- pool thread ---- */

static void download_work(struct job *j)
{
    struct download *d = CONTAINER_OF(j, struct download, job);
    if (d->fd < 0 && d->write_error == 0) {
        d->fd = open(d->spec.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        d->write_error = d->fd < 0 ? -errno : 0;
        d->is_ours = d->fd >= 0;
    }
    if (d->write_error == 0)
        d->write_error = file_write_all(d->fd, buf_str(&d->piece));
    buf_clear(&d->piece);
    if (!d->is_last)
        return;
    if (d->fd >= 0 && close(d->fd) < 0 && d->write_error == 0)
        d->write_error = -errno;
    d->fd = -1;
    if (d->is_ours && (d->write_error < 0 || d->is_unwanted))
        (void)unlink(d->spec.path);
}

/* ---- loop thread ---- */

/* Passes the received data to the pool; the last time also closes the file, or removes it. */
static void download_submit(struct download *d, bool is_last)
{
    assert(!d->is_busy && !d->is_last); /* the job owns piece and fd while it is busy */
    struct buf b = d->piece;
    d->piece = d->pending;
    d->pending = b;
    d->is_last = is_last;
    d->is_unwanted = d->err.code < 0;
    d->is_busy = true;
    pool_submit(d->spec.pool, &d->job);
}

static void download_fail(struct download *d, const struct err *err)
{
    if (d->err.code == 0)
        d->err = *err;
    if (d->fetch)
        fetch_cancel(d->fetch);
    d->fetch = NULL;
    if (!d->is_busy)
        download_submit(d, true);
}

static void written(struct job *j)
{
    struct download *d = CONTAINER_OF(j, struct download, job);
    assert(d->is_busy);
    d->is_busy = false;
    if (d->write_error < 0 && d->err.code == 0) {
        struct err e = {0};
        err_errno(&e, d->write_error, "cannot write", d->spec.path);
        d->err = e;
    }
    if (d->is_last) {
        if (!d->is_cancelled)
            d->done(d->ctx, d->err.code < 0 ? &d->err : NULL);
        else if (d->is_ours && !d->is_unwanted)
            (void)unlink(d->spec.path); /* cancelled while the file was being closed */
        download_free(d);
        return;
    }
    if (d->err.code < 0)
        download_fail(d, &d->err);
    else if (!d->fetch)
        download_submit(d, true);
    else if (d->pending.n >= PIECE_BYTES)
        download_submit(d, false);
    else
        fetch_pause(d->fetch, false);
}

static void on_download_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct download *d = ctx;
    if (status != 200 && d->err.code == 0)
        err_set(&d->err, status == 404 ? -ENOENT : -EIO,
                "the download was answered with HTTP status %d", status);
}

static void on_download_data(void *ctx, str bytes)
{
    struct download *d = ctx;
    if (d->err.code < 0)
        return;
    d->received += bytes.n;
    if (d->received > d->spec.bytes_max || buf_add_str(&d->pending, bytes) < 0) {
        err_set(&d->err, -EMSGSIZE, "the download is larger than %llu MiB",
                (unsigned long long)(d->spec.bytes_max >> 20));
        download_fail(d, &d->err);
        return;
    }
    if (d->pending.n < PIECE_BYTES)
        return;
    fetch_pause(d->fetch, true);
    if (!d->is_busy)
        download_submit(d, false);
}

static void on_download_done(void *ctx, const struct err *err)
{
    struct download *d = ctx;
    d->fetch = NULL;
    if (err->code < 0 && d->err.code == 0)
        d->err = *err;
    if (!d->is_busy)
        download_submit(d, true);
}

struct download *download_start(const struct download_spec *spec, download_done done, void *ctx)
{
    static const struct fetch_events EVENTS = {on_download_head, on_download_data,
                                               on_download_done};
    assert(spec->path && spec->bytes_max > 0 && done);
    struct download *d = xcalloc(1, sizeof *d);
    arena_init(&d->arena);
    d->spec = *spec;
    d->spec.path = arena_cstr(&d->arena, str_from(spec->path));
    d->done = done;
    d->ctx = ctx;
    d->fd = -1;
    buf_init(&d->pending, PENDING_MAX);
    buf_init(&d->piece, PENDING_MAX);
    d->job = (struct job){.work = download_work, .done = written};
    struct fetch_spec f = {
        .url = spec->url, .flags = spec->fetch_flags, .idle_timeout_ms = IDLE_TIMEOUT_MS};
    d->fetch = fetch_start(spec->fetcher, &f, &EVENTS, d);
    return d;
}

void download_cancel(struct download *d)
{
    struct err gone = {.code = -ECANCELED};
    assert(!d->is_cancelled);
    d->is_cancelled = true;
    download_fail(d, &gone);
}
