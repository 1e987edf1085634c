#include "store/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/json/json_scan.h"
#include "store/event/blobs.h"
#include "store/event/lines.h"
#include "store/event/page.h"
#include "store/files/shared_blobs.h"
#include "store/files/trash.h"
#include "store/index/index.h"
#include "store/integrity.h"

static struct files *files(const struct store_op *op)
{
    return op->store->impl;
}

int files_open(struct store *s, const struct file_layout *layout, struct err *e)
{
    const struct store_io *io = appender_io(s->env->appender);
    if (!s->conf.read_only) {
        int r = io_mkdir_all(io, s->conf.dir);
        if (r < 0)
            return err_errno(e, r, "cannot create the directory", s->conf.dir);
    }
    struct files *f = xcalloc(1, sizeof(*f));
    f->store = s;
    f->layout = layout;
    f->io = io;
    f->blob_io = s->conf.durability == STORE_NONE ? io_unsynced(io) : *io;
    if (layout->has_shared_blobs)
        f->shared = shared_new(f);
    f->cache = cache_new(f);
    s->impl = f;
    return 0;
}

static void on_released(void *ctx)
{
    struct store *s = ctx;
    struct files *f = s->impl;
    index_free(f->index);
    cache_free(f->cache);
    shared_free(f->shared);
    if (f->layout->closed)
        f->layout->closed(f);
    free(f);
    store_closed(s);
}

static void on_index_stopped(void *ctx)
{
    struct store *s = ctx;
    appender_release(s->env->appender, s, on_released, s);
}

void files_close(struct store *s)
{
    struct files *f = s->impl;
    index_stop(f->index, on_index_stopped, s);
}

bool files_locate(struct store_op *op, str id)
{
    struct files *f = files(op);
    op->path = f->layout->path(f, &op->arena, id);
    if (!op->path) {
        err_set(&op->err, -ENOENT, "no such conversation: %.*s", STR_ARG(id));
        return false;
    }
    uint64_t end;
    if (appender_end(f->store->env->appender, op->path, &end))
        op->limit = end;
    return true;
}

/* ---- writing ---- */

struct store_op *files_op(struct log_task *t)
{
    return CONTAINER_OF(t, struct store_op, task);
}

static const enum log_sync SYNC[] = {
    [STORE_SYNC] = LOG_SYNC_ALWAYS,
    [STORE_INTERVAL] = LOG_SYNC_INTERVAL,
    [STORE_NONE] = LOG_SYNC_NEVER,
};

/* Any task may make a directory of blobs, except small appends. */
static bool may_change_dir(const struct store_op *op, enum log_task_kind kind)
{
    return kind != LOG_APPEND || op->task.bytes > STORE_SPILL_BYTES;
}

static void on_task_done(struct log_task *t)
{
    struct store_op *op = files_op(t);
    if (op->is_dir_change)
        dir_change_ends(&files(op)->changes);
    op->is_dir_change = false;
    op->submitted(t);
}

void files_submit(struct store_op *op, enum log_task_kind kind, void (*done)(struct log_task *t))
{
    const struct store_conf *conf = &op->store->conf;
    struct log_spec spec = {.path = op->path,
                            .owner = op->store,
                            .sync = SYNC[conf->durability],
                            .journal_dir = files(op)->layout->is_journalled ? conf->dir : NULL,
                            .changes = &files(op)->changes};
    op->task.kind = kind;
    op->task.done = on_task_done;
    op->submitted = done;
    op->is_dir_change = may_change_dir(op, kind);
    if (op->is_dir_change)
        dir_change_begins(&files(op)->changes);
    appender_submit(op->store->env->appender, &spec, &op->task);
}

static int check_line(struct store_op *op, const char *dir, str *line)
{
    struct err *e = &op->task.err;
    bool is_new = json_scan_field(*line, STR("ts")).n == 0; /* not of another log */
    const struct blob_dir blobs = blobs_in_dir(&files(op)->blob_io, dir);
    int r = event_prepare(&op->arena, *line, clock_now_ms(), line, e);
    if (r == 0)
        r = blobs_spill(&op->arena, &blobs.place, line, e);
    const struct file_place from = store_file_place(op->store);
    return r < 0 ? r : file_parts_link(&op->arena, &blobs.place, &from, *line, is_new, e);
}

/* A failure here fails only this task, so the chain is changed only when all lines are valid. */
int files_prepare(struct store_op *op, size_t from, const char *blob_dir, struct chain *chain)
{
    struct files *f = files(op);
    for (size_t i = from; i < op->nlines; i++) {
        int r = check_line(op, blob_dir, &op->lines[i]);
        if (r < 0)
            return r;
    }
    if (chain_resume(chain, op->store->conf.integrity) < 0)
        return err_errno(&op->task.err, -EIO, "cannot read the end of", op->path);
    for (size_t i = from; i < op->nlines; i++) {
        str *line = &op->task.lines[i];
        *line = op->lines[i];
        if (f->layout->record)
            *line = f->layout->record(f, &op->arena, op->id, *line);
        chain_seal(chain, &op->arena, line);
    }
    return 0;
}

/* On a pool thread, right before the write: the time of an event is the time it is written. */
static int append_prepare(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct files *f = files(op);
    const char *blob_dir = f->layout->blob_dir(f, &op->arena, op->id);
    struct chain fresh = {.is_known = true};
    bool is_new = t->kind == LOG_CREATE;
    if (is_new && trash_has_id(op))
        return err_set(&t->err, -EEXIST, "this conversation already exists: %s", op->path);
    if (is_new && op->store->conf.integrity)
        chain_start(&fresh, t->lines[0]);
    int r = files_prepare(op, is_new, blob_dir, is_new ? &fresh : t->chain);
    return r == 0 && f->layout->before_append ? f->layout->before_append(f, op, &t->err) : r;
}

static void on_lines_written(struct log_task *t)
{
    struct store_op *op = files_op(t);
    op->err = t->err;
    store_pos at = t->start;
    for (size_t i = 0; i < t->n && !op->err.code; i++)
        op->pos[i] = at += t->lines[i].n;
    if (op->err.code)
        cache_drop(files(op)->cache, op->id); /* it may have read lines that were undone */
    else if (t->kind == LOG_CREATE)
        cache_create(files(op)->cache, op);
    else
        cache_append(files(op)->cache, op);
    index_touch(files(op)->index, op->id);
    op_done(op);
}

static void submit_lines(struct store_op *op, enum log_task_kind kind)
{
    op->task = (struct log_task){
        .lines = op->lines, .n = op->nlines, .may_wait = op->may_wait, .prepare = append_prepare};
    if (files(op)->layout->record)
        op->task.lines = arena_array(&op->arena, op->nlines + 1, sizeof(str));
    for (size_t i = 0; i < op->nlines; i++)
        op->task.bytes += op->lines[i].n;
    files_submit(op, kind, on_lines_written);
}

void files_create(struct store_op *op)
{
    op->lines[0] = header_line(&op->arena, op->store, op->id, &op->in.create, clock_now_ms());
    if (!op->lines[0].n)
        err_set(&op->err, -E2BIG, "the metadata of a new conversation is too large");
    if (!op->err.code && files_locate(op, op->id))
        submit_lines(op, LOG_CREATE);
    else
        op_done_later(op);
}

void files_append(struct store_op *op)
{
    if (files_locate(op, op->id))
        submit_lines(op, LOG_APPEND);
    else
        op_done_later(op);
}

/* ---- reading ---- */

void files_get(struct store_op *op)
{
    op->limit = UINT64_MAX;
    if (files_locate(op, op->id))
        cache_get(files(op)->cache, op);
    else
        op_done_later(op);
}

static void read_work(struct store_op *op)
{
    struct files *f = files(op);
    struct page_source source = {.is_bounded = op->limit != UINT64_MAX, .event = f->layout->event};
    source.fd = file_store_open_log(op->path, op->limit, &source.limit, &op->err);
    if (source.fd < 0)
        return;
    const struct blob_dir blobs = blobs_in_dir(NULL, f->layout->blob_dir(f, &op->arena, op->id));
    source.blobs = &blobs.place;
    int r = page_read(&op->arena, &source, &op->in.range, &op->out.page);
    close(source.fd);
    if (r < 0)
        err_errno(&op->err, r, "cannot read", op->path);
}

void files_read(struct store_op *op)
{
    bool is_answered = !files_locate(op, op->id) || cache_read(files(op)->cache, op);
    if (is_answered)
        op_done_later(op);
    else
        op_run(op, read_work);
}

static int last_line(const struct file_layout *layout, int fd, off_t at, off_t size,
                     store_line_fn fn, void *ctx)
{
    struct arena a;
    str text;
    arena_init(&a);
    int r = lines_unended(&a, fd, at, size, &text);
    if (r > 0)
        (void)fn(ctx, files_event(layout, &a, text), (store_pos)size + 1);
    arena_done(&a);
    return r < 0 ? r : 0;
}

int files_each_line(const struct file_layout *layout, int fd, off_t from, off_t limit,
                    bool is_bounded, store_line_fn fn, void *ctx, int64_t *overlong)
{
    struct arena scratch;
    struct lines lines;
    struct line line;
    int r;
    bool goes_on = true;
    arena_init(&scratch);
    lines_init(&lines, fd, from, limit);
    while (goes_on && (r = lines_next(&lines, &line)) > 0) {
        arena_reset(&scratch);
        goes_on = fn(ctx, files_event(layout, &scratch, line.text), (store_pos)line.end);
    }
    if (goes_on && r == 0 && !is_bounded)
        r = last_line(layout, fd, lines.at, limit, fn, ctx);
    arena_done(&scratch);
    *overlong += lines.overlong;
    lines_done(&lines);
    return r < 0 ? r : 0;
}

int files_scan(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e)
{
    struct files *f = s->impl;
    struct arena a;
    off_t limit;
    int64_t overlong = 0;
    arena_init(&a);
    const char *path = f->layout->path(f, &a, id);
    int fd = path ? file_store_open_log(path, UINT64_MAX, &limit, e)
                  : err_set(e, -ENOENT, "no such conversation: %.*s", STR_ARG(id));
    int r = fd < 0 ? fd : files_each_line(f->layout, fd, 0, limit, false, fn, ctx, &overlong);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && r < 0)
        err_errno(e, r, "cannot read", path);
    arena_done(&a);
    return r;
}

/* ---- blobs ---- */

/* A hard link to the blob of the conversation that has it already. Not a copy in its place: the
 * caller counts what is stored, and the conversation may have been deleted. */
static int link_blob(struct store_op *op, const char *dir, struct err *e)
{
    struct files *f = files(op);
    const char *have =
        store_id_valid(op->blob_from) && f->layout->path(f, &op->arena, op->blob_from)
            ? f->layout->blob_dir(f, &op->arena, op->blob_from)
            : NULL;
    char hex[SHA256_HEX_LEN + 1];
    struct stat st;
    sha256_hex(op->in.blob, hex);
    op->out.blob = arena_str(&op->arena, str_from(hex));
    const char *from = arena_printf(&op->arena, "%s/%s", have ? have : "", hex).p;
    const struct blob_dir to = blobs_in_dir(&f->blob_io, dir);
    bool is_linked = have && stat(from, &st) == 0 && (size_t)st.st_size == op->in.blob.n &&
                     to.place.keep_file(&to.place, &op->arena, from, op->out.blob, NULL) == 0;
    return is_linked ? 0
                     : err_set(e, -ESTALE, "%.*s does not have this blob", STR_ARG(op->blob_from));
}

static int put_blob(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct files *f = files(op);
    struct stat st;
    if (stat(op->path, &st) < 0)
        return err_set(&t->err, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
    const char *dir = f->layout->blob_dir(f, &op->arena, op->id);
    if (op->blob_from.n > 0 && !str_eq(op->blob_from, op->id))
        return link_blob(op, dir, &t->err);
    return blobs_put(&op->arena, &f->blob_io, dir, op->in.blob, &op->out.blob, &t->err);
}

void files_done(struct log_task *t)
{
    struct store_op *op = files_op(t);
    op->err = t->err;
    op_done(op);
}

void files_changed(struct log_task *t)
{
    struct store_op *op = files_op(t);
    index_touch(files(op)->index, op->id);
    files_done(t);
}

void files_put_blob(struct store_op *op)
{
    op->task = (struct log_task){.run = put_blob, .bytes = op->in.blob.n, .spares_log = true};
    if (files_locate(op, op->id))
        files_submit(op, LOG_RUN, files_done);
    else
        op_done_later(op);
}

static void get_blob_work(struct store_op *op)
{
    struct files *f = files(op);
    const char *dir = f->layout->blob_dir(f, &op->arena, op->id);
    blobs_get(&op->arena, dir, op->in.blob, &op->out.blob, &op->err);
}

int files_blob_fd(struct store *s, struct arena *a, str id, str sha256)
{
    struct files *f = s->impl;
    const char *dir = f->layout->blob_dir(f, a, id);
    int fd = open(arena_printf(a, "%s/%.*s", dir, STR_ARG(sha256)).p, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void files_get_blob(struct store_op *op)
{
    op_run(op, get_blob_work);
}

/* ---- shared blobs ---- */

bool files_take_shared(struct store_op *op)
{
    return shared_take(files(op)->shared, op->out.blob);
}

static void put_shared_work(struct store_op *op)
{
    shared_put(files(op)->shared, &op->arena, op->in.blob, &op->out.blob, &op->err);
}

void files_put_shared(struct store_op *op)
{
    op_run(op, put_shared_work);
}

void files_release_shared(struct store *s, str sha256)
{
    struct files *f = s->impl;
    shared_release(f->shared, sha256);
}

/* Older versions kept them in the directory of the conversation. */
static void get_shared_work(struct store_op *op)
{
    get_blob_work(op);
    if (op->err.code != -ENOENT)
        return;
    op->err = (struct err){0};
    shared_get(files(op)->shared, &op->arena, op->in.blob, &op->out.blob, &op->err);
}

void files_get_shared(struct store_op *op)
{
    op_run(op, get_shared_work);
}
