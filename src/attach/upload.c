#include "attach/upload.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/attach_impl.h"
#include "attach/file_name.h"
#include "attach/partial.h"
#include "attach/sniff.h"
#include "base/buf.h"
#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "os/file.h"
#include "os/lock.h"
#include "workspace/roster/roster.h"

#define HASH_STEP (8u << 20) /* of a resumed upload, in one job: others get their turn */

struct upload {
    struct attach *attach;
    struct arena arena;
    str user_id, name;
    str part_id; /* empty: not resumed */
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
    int fd, from;     /* from: of upload_take, or -1 */
    const char *temp; /* NULL: not created yet, or gone */
    struct sha256_pieces hash;
    struct partial part;         /* of a resumed upload; its offset is what is on disk */
    uint64_t hashed;             /* of a resumed upload that is complete */
    bool is_short, is_part_kept; /* more is to come; it has become a file */
    char head[SNIFF_BYTES];
    size_t nhead;
    struct attached made;
    bool is_new;
    uint64_t total; /* of the workspace, if it is known; else 0 */
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
    u->fd = u->from = -1;
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

struct upload *upload_resume(struct attach *a, str user_id, str id, uint64_t offset,
                             const struct upload_events *ev, void *ctx)
{
    struct upload *u = upload_new(a, user_id, ev, ctx);
    u->part_id = arena_str(&u->arena, id);
    u->part.offset = offset;
    return u;
}

/* ---- on the pool ---- */

static int open_part(struct upload *u)
{
    int r = partial_open(&u->arena, u->attach->place.dir, u->user_id, u->part_id, u->part.offset,
                         &u->part, &u->fd, &u->job_err);
    if (r == 0) {
        u->temp = partial_path(&u->arena, u->attach->place.dir, u->part_id);
        u->name = u->part.name;
    }
    return r;
}

static int open_temp(struct upload *u)
{
    char unique[RANDOM_ID_MAX];
    struct err *e = &u->job_err;
    if (u->part_id.n > 0)
        return open_part(u);
    int r = file_make_dirs(u->attach->place.dir, e);
    if (r < 0)
        return r;
    random_id("new", unique);
    u->temp = arena_printf(&u->arena, "%s/%s", u->attach->place.dir, unique).p;
    u->fd = open(u->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (u->fd >= 0)
        return 0;
    r = err_errno(e, -errno, "cannot create", u->temp);
    u->temp = NULL;
    return r;
}

static void look_at(struct upload *u, str piece)
{
    str head = str_slice(piece, 0, sizeof u->head - u->nhead);
    if (head.n > 0)
        memcpy(u->head + u->nhead, head.p, head.n);
    u->nhead += head.n;
    sha256_add(&u->hash, piece);
}

static int write_piece(struct upload *u)
{
    str piece = buf_str(&u->writing);
    if (u->part_id.n == 0)
        look_at(u, piece);
    else if (piece.n > u->part.bytes - u->part.offset)
        return err_set(&u->job_err, -EFBIG, "The upload has more than the %llu bytes announced.",
                       (unsigned long long)u->part.bytes);
    int r = file_write_all(u->fd, piece);
    u->part.offset += piece.n;
    return r < 0 ? err_errno(&u->job_err, r, "cannot write", u->temp) : 0;
}

/* The bytes came in several requests, perhaps to several processes: they are hashed at the end. */
static int hash_part(struct upload *u)
{
    char piece[64 * 1024];
    uint64_t until = u->hashed + HASH_STEP;
    int fd = open(u->temp, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && u->hashed < until && u->hashed < u->part.bytes) {
        n = pread(fd, piece, sizeof piece, (off_t)u->hashed);
        if (n > 0)
            look_at(u, str_make(piece, (size_t)n));
        u->hashed += n > 0 ? (uint64_t)n : 0;
    }
    int r = n > 0 ? 0 : n < 0 ? -errno : -EIO;
    file_close(fd);
    return r < 0 ? err_errno(&u->job_err, r, "cannot read", u->temp) : 0;
}

static int keep_file(struct upload *u)
{
    char sha256[SHA256_HEX_LEN + 1];
    sha256_end_hex(&u->hash, sha256);
    u->made = (struct attached){
        .id = library_id(&u->arena, str_from(sha256)),
        .name = u->name,
        .mime = str_from(sniff_type(str_make(u->head, u->nhead))),
        .bytes = u->part_id.n > 0 ? u->part.bytes : u->bytes,
        .at_ms = clock_now_ms(),
    };
    (void)sniff_size(str_make(u->head, u->nhead), &u->made.width, &u->made.height);
    const struct file_arrival in = {.temp = u->temp,
                                    .user_id = u->user_id,
                                    .sha256 = str_from(sha256),
                                    .what = &u->made,
                                    .quota = u->attach->conf.quota_bytes};
    int r = file_place_keep(&u->arena, &u->attach->place, &in, &u->is_new, &u->total, &u->job_err);
    u->temp = NULL;
    if (u->part_id.n > 0) {
        partial_forget(&u->arena, u->attach->place.dir, u->part_id);
        u->is_part_kept = true;
    }
    return r;
}

/* All bytes of this request are written. */
static int finish_file(struct upload *u)
{
    if (u->hashed == 0 && fsync(u->fd) < 0)
        return err_errno(&u->job_err, -errno, "cannot write", u->temp);
    u->is_short = u->part.offset < u->part.bytes;
    if (u->part_id.n > 0 && u->is_short)
        return 0;
    int r = u->part_id.n > 0 ? hash_part(u) : 0;
    return r < 0 || u->hashed < u->part.bytes ? r : keep_file(u);
}

/* Whatever happens to the file meanwhile, exactly the bytes that were announced are kept. */
static int copy_pieces(struct upload *u)
{
    uint64_t left = u->bytes;
    int r = 0;
    while (r == 0 && left > 0) {
        size_t n = left < UPLOAD_BUFFER ? (size_t)left : UPLOAD_BUFFER;
        buf_clear(&u->writing);
        (void)buf_reserve(&u->writing, n); /* below its ceiling */
        if (file_read_all(u->from, u->writing.p, n) < 0)
            return err_set(&u->job_err, -EINVAL, "The file has changed while it was being read.");
        u->writing.n = n;
        r = write_piece(u);
        left -= n;
    }
    return r;
}

static void upload_work(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    int r = u->temp ? 0 : open_temp(u);
    if (r == 0)
        r = u->from >= 0 ? copy_pieces(u) : write_piece(u);
    if (r == 0 && u->is_last)
        (void)finish_file(u);
}

static void discard_work(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    if (u->part_id.n > 0) {
        lock_close(u->fd);
        return;
    }
    file_close(u->fd);
    file_close(u->from);
    if (u->temp)
        (void)unlink(u->temp);
}

/* ---- on the loop ---- */

/* Told when nothing is left of an upload that failed. */
static void on_discarded(struct job *j)
{
    struct upload *u = CONTAINER_OF(j, struct upload, job);
    bool is_failed = u->err.code < 0, has_file = !is_failed && u->made.id.n > 0;
    u->attach->incoming -= u->part_id.n > 0 ? 0 : u->bytes;
    if (u->is_part_kept) /* was counted from its beginning */
        attach_count(u->attach, -(int64_t)u->part.bytes);
    if (has_file && u->is_new)
        attach_count(u->attach, (int64_t)u->made.bytes);
    if (has_file && u->total > 0)
        attach_count(u->attach, (int64_t)u->total - (int64_t)u->attach->used);
    if (!u->is_cancelled)
        u->ev->on_done(u->ctx, is_failed ? &u->err : NULL, has_file ? &u->made : NULL);
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
    bool is_hashing = u->part_id.n > 0 && u->is_last && !u->is_short && u->temp;
    u->is_busy = false;
    buf_clear(&u->writing);
    if (u->part_id.n > 0)
        attach_explain_part(u->attach, &u->job_err);
    if (u->job_err.code < 0 && u->err.code == 0)
        u->err = u->job_err;
    if (u->err.code < 0 || u->is_cancelled || (u->is_last && !is_hashing)) {
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
    bool is_counted = u->part_id.n == 0; /* else resume_begin has counted all of them */
    if (is_counted && upload_limit(a, u->bytes + piece.n, a->incoming - u->bytes, &u->err) < 0) {
        if (!u->is_busy) /* the callback comes after this call */
            upload_finish(u);
        return false;
    }
    u->bytes += piece.n;
    a->incoming += is_counted ? piece.n : 0;
    (void)buf_add_str(&u->filling, piece);
    upload_go_on(u);
    u->wants_room = u->filling.n >= UPLOAD_BUFFER;
    return !u->wants_room;
}

void upload_finish(struct upload *u)
{
    assert(!u->is_cancelled);
    if (u->is_finishing && u->err.code < 0) /* by upload_write: the last piece was refused */
        return;
    assert(!u->is_finishing);
    u->is_finishing = true;
    upload_go_on(u);
}

void upload_take(struct upload *u, int fd, uint64_t bytes)
{
    struct attach *a = u->attach;
    assert(!u->is_cancelled && !u->is_finishing && u->bytes == 0 && u->from < 0);
    u->from = fd;
    if (upload_limit(a, bytes, a->incoming, &u->err) < 0) {
        u->is_finishing = true;
        upload_end(u);
        return;
    }
    u->bytes = bytes;
    a->incoming += bytes;
    upload_finish(u);
}

void upload_cancel(struct upload *u)
{
    assert(!u->is_cancelled);
    u->is_cancelled = true;
    if (!u->is_busy)
        upload_end(u);
}
