#include "attach/upload.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/attach_impl.h"
#include "attach/file_name.h"
#include "attach/sniff.h"
#include "base/buf.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "os/file.h"
#include "workspace/roster/roster.h"

struct upload {
    struct attach *attach;
    struct arena arena;
    str user_id, name;
    const struct upload_events *ev;
    void *ctx;
    uint64_t bytes;     /* accepted so far; counted in attach->incoming */
    struct buf filling; /* the next piece for the disk */
    bool wants_room, is_finishing, is_cancelled;
    struct err err;

    /* of the job, while it is busy */
    struct job job;
    bool is_busy, is_last;
    struct buf writing;
    int fd;
    const char *temp; /* NULL: not created yet, or gone */
    struct sha256_pieces hash;
    char head[SNIFF_BYTES];
    size_t nhead;
    struct attached made;
    bool is_new;
    struct err job_err;
};

static void upload_go_on(struct upload *u);

static int upload_limit(const struct attach *a, uint64_t bytes, uint64_t others, struct err *e)
{
    if (bytes > a->conf.max_bytes)
        return err_set(e, -EFBIG, "The file is too large: at most %llu MiB (files.maxMb).",
                       (unsigned long long)(a->conf.max_bytes >> 20));
    if (a->used + others + bytes > a->conf.quota_bytes)
        return err_set(e, -EDQUOT,
                       "The files of this workspace have reached their limit of %llu MiB "
                       "(files.quotaMb). Remove files or conversations first.",
                       (unsigned long long)(a->conf.quota_bytes >> 20));
    return 0;
}

int upload_check(const struct attach *a, uint64_t bytes, struct err *e)
{
    return upload_limit(a, bytes, a->incoming, e);
}

struct upload *upload_new(struct attach *a, str user_id, const struct upload_events *ev, void *ctx)
{
    struct upload *u = xcalloc(1, sizeof *u);
    assert(user_id_ok(user_id)); /* it becomes part of a path */
    attach_hold(a);
    arena_init(&u->arena);
    u->attach = a;
    u->ev = ev;
    u->ctx = ctx;
    u->fd = -1;
    u->user_id = arena_str(&u->arena, user_id);
    u->name = STR("file");
    /* a piece is never larger than one file may be, and the buffer holds one beyond its fill */
    buf_init(&u->filling, a->conf.max_bytes + UPLOAD_BUFFER);
    buf_init(&u->writing, a->conf.max_bytes + UPLOAD_BUFFER);
    sha256_begin(&u->hash);
    return u;
}

void upload_name(struct upload *u, str name)
{
    u->name = file_name_clean(&u->arena, name);
}

/* ---- on the pool ---- */

static int open_temp(struct upload *u)
{
    char unique[RANDOM_ID_MAX];
    struct err *e = &u->job_err;
    int r = file_make_dirs(u->attach->dir, e);
    if (r < 0)
        return r;
    random_id("new", unique);
    u->temp = arena_printf(&u->arena, "%s/%s", u->attach->dir, unique).p;
    u->fd = open(u->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (u->fd >= 0)
        return 0;
    r = err_errno(e, -errno, "cannot create", u->temp);
    u->temp = NULL;
    return r;
}

static int write_piece(struct upload *u)
{
    str piece = buf_str(&u->writing);
    size_t wanted = sizeof u->head - u->nhead;
    str head = str_slice(piece, 0, wanted);
    if (head.n > 0)
        memcpy(u->head + u->nhead, head.p, head.n);
    u->nhead += head.n;
    sha256_add(&u->hash, piece);
    int r = file_write_all(u->fd, piece);
    return r < 0 ? err_errno(&u->job_err, r, "cannot write", u->temp) : 0;
}

static int keep_file(struct upload *u)
{
    char sha256[SHA256_HEX_LEN + 1];
    if (fsync(u->fd) < 0)
        return err_errno(&u->job_err, -errno, "cannot write", u->temp);
    sha256_end_hex(&u->hash, sha256);
    u->made = (struct attached){
        .id = library_id(&u->arena, str_from(sha256)),
        .name = u->name,
        .mime = str_from(sniff_type(str_make(u->head, u->nhead))),
        .bytes = u->bytes,
        .at_ms = clock_now_ms(),
    };
    (void)sniff_size(str_make(u->head, u->nhead), &u->made.width, &u->made.height);
    int r = library_keep(&u->arena, u->attach->dir, u->temp, u->user_id, str_from(sha256), &u->made,
                         &u->is_new, &u->job_err);
    u->temp = NULL;
    return r;
}

static void upload_work(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    int r = u->temp ? 0 : open_temp(u);
    if (r == 0)
        r = write_piece(u);
    if (r == 0 && u->is_last)
        (void)keep_file(u);
}

static void discard_work(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    file_close(u->fd);
    if (u->temp)
        (void)unlink(u->temp);
}

/* ---- on the loop ---- */

/* Told when nothing is left of an upload that failed. */
static void on_discarded(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    bool is_failed = u->err.code < 0;
    u->attach->incoming -= u->bytes;
    if (!is_failed && u->is_new)
        attach_count(u->attach, (int64_t)u->bytes);
    if (!u->is_cancelled)
        u->ev->on_done(u->ctx, is_failed ? &u->err : NULL, is_failed ? NULL : &u->made);
    attach_release(u->attach);
    buf_done(&u->filling);
    buf_done(&u->writing);
    arena_done(&u->arena);
    free(u);
}

static void upload_end(struct upload *u)
{
    assert(!u->is_busy);
    u->is_busy = true; /* until it is freed */
    pool_run(u->attach->pool, &u->job, discard_work, on_discarded);
}

static void on_written(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    u->is_busy = false;
    buf_clear(&u->writing);
    if (u->job_err.code < 0 && u->err.code == 0)
        u->err = u->job_err;
    if (u->err.code < 0 || u->is_cancelled || u->is_last) {
        upload_end(u);
        return;
    }
    upload_go_on(u);
    if (u->wants_room && u->filling.n < UPLOAD_BUFFER) {
        u->wants_room = false;
        u->ev->on_room(u->ctx);
    }
}

/* Hands what has come to the pool, if it is idle. */
static void upload_go_on(struct upload *u)
{
    if (u->is_busy || (u->filling.n < UPLOAD_BUFFER && !u->is_finishing))
        return;
    struct buf full = u->filling;
    u->filling = u->writing;
    u->writing = full;
    u->is_last = u->is_finishing && u->err.code == 0;
    u->is_busy = true;
    pool_run(u->attach->pool, &u->job, upload_work, on_written);
}

bool upload_write(struct upload *u, str piece)
{
    struct attach *a = u->attach;
    assert(!u->is_cancelled);
    if (u->err.code < 0)
        return false;
    assert(!u->is_finishing);
    if (upload_limit(a, u->bytes + piece.n, a->incoming - u->bytes, &u->err) < 0) {
        if (!u->is_busy) /* the callback comes after this call */
            upload_finish(u);
        return false;
    }
    u->bytes += piece.n;
    a->incoming += piece.n;
    (void)buf_add_str(&u->filling, piece);
    upload_go_on(u);
    u->wants_room = u->filling.n >= UPLOAD_BUFFER;
    return !u->wants_room;
}

void upload_finish(struct upload *u)
{
    assert(!u->is_finishing && !u->is_cancelled);
    u->is_finishing = true;
    upload_go_on(u);
}

void upload_cancel(struct upload *u)
{
    assert(!u->is_cancelled);
    u->is_cancelled = true;
    if (!u->is_busy)
        upload_end(u);
}
