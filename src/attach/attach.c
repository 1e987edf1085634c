#include "attach/attach.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/attach_impl.h"
#include "attach/partial.h"
#include "base/clock.h"

#define SWEEP_MS (3600 * 1000)
#define AGAIN_MS 1000

/* ---- life ---- */

void attach_hold(struct attach *a)
{
    a->holders++;
}

void attach_release(struct attach *a)
{
    assert(a->holders > 0);
    if (--a->holders > 0)
        return;
    arena_done(&a->arena);
    free(a);
}

void attach_count(struct attach *a, int64_t bytes)
{
    a->changes++;
    a->used = bytes < 0 && a->used < (uint64_t)-bytes ? 0 : a->used + (uint64_t)bytes;
}

bool attach_may_keep_page(const struct attach *a)
{
    return a->pages < ATTACH_PAGES_MAX;
}

void attach_count_pages(struct attach *a, uint64_t bytes)
{
    a->pages += bytes;
}

struct sweep_job {
    struct job job;
    struct attach *attach;
    uint64_t changes, kept, pages;
    bool is_unknown; /* kept */
};

static void sweep_work(struct job *j)
{
    struct sweep_job *s = CONTAINER_OF(j, struct sweep_job, job);
    int64_t now = clock_now_ms();
    struct library_size size;
    s->is_unknown = file_place_sweep(&s->attach->place, now, &size, NULL) < 0;
    s->kept = size.bytes + partial_sweep(s->attach->place.dir, now);
    s->pages = size.pages;
}

static void sweep_done(struct job *j)
{
    struct sweep_job *s = CONTAINER_OF(j, struct sweep_job, job);
    struct attach *a = s->attach;
    a->pages = s->pages;
    /* An upload in progress may be on disk already, and is added to `used` at its end. */
    if (s->changes == a->changes && a->incoming == 0)
        a->used = s->is_unknown ? a->used : s->kept;
    else if (timer_active(&a->sweep)) /* not closed */
        timer_start(&a->sweep, AGAIN_MS);
    attach_release(a);
    free(s);
}

static void on_attach_sweep(void *ctx)
{
    struct attach *a = ctx;
    struct sweep_job *s = xcalloc(1, sizeof *s);
    s->attach = a;
    s->changes = a->changes;
    attach_hold(a);
    pool_run(a->pool, &s->job, sweep_work, sweep_done);
    timer_start(&a->sweep, SWEEP_MS);
}

struct attach *attach_new(struct loop *l, struct pool *pool, const struct attach_conf *conf)
{
    struct attach *a = xcalloc(1, sizeof *a);
    *a = (struct attach){.loop = l, .pool = pool, .conf = *conf, .holders = 1};
    arena_init(&a->arena);
    a->conf.dir = arena_cstr(&a->arena, str_from(conf->dir));
    a->place = (struct file_place){.dir = a->conf.dir, .table = conf->table};
    if (conf->table)
        a->place.workspace_id = arena_str(&a->arena, str_from(conf->workspace_id));
    timer_init(&a->sweep, l, on_attach_sweep, a);
    timer_start(&a->sweep, 0);
    return a;
}

void attach_sweep(struct attach *a)
{
    if (a && timer_active(&a->sweep))
        timer_start(&a->sweep, AGAIN_MS); /* one sweep for many that are purged together */
}

void attach_close(struct attach *a)
{
    if (!a)
        return;
    timer_stop(&a->sweep);
    attach_release(a);
}

const struct attach_conf *attach_conf(const struct attach *a)
{
    return &a->conf;
}

const struct file_place *attach_place(const struct attach *a)
{
    return &a->place;
}

void attach_explain_part(const struct attach *a, struct err *e)
{
    if (e->code == -ENOENT && a->place.table)
        err_set(
            e, -ENOENT,
            "This server has no such unfinished upload: it has expired, or was begun on another "
            "server. Begin it again.");
}

/* ---- calls ---- */

struct attach_op {
    struct job job;
    struct attach *attach;
    struct arena arena;
    str user_id, to_id;
    str *ids;
    struct attached *files;
    size_t n;
    int fd;
    uint64_t freed;
    struct err err;
    bool is_cancelled;
    attach_list_fn on_list;
    attach_open_fn on_open;
    attach_done_fn on_done;
    void *ctx;
};

static void attach_answer(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    const struct err *err = op->err.code < 0 ? &op->err : NULL;
    if (op->freed > 0)
        attach_count(op->attach, -(int64_t)op->freed);
    if (op->is_cancelled && op->fd >= 0)
        close(op->fd);
    else if (op->is_cancelled)
        ;
    else if (op->on_list)
        op->on_list(op->ctx, err, op->files, op->n);
    else if (op->on_open)
        op->on_open(op->ctx, err, op->files, op->fd);
    else if (op->on_done)
        op->on_done(op->ctx, err);
    attach_release(op->attach);
    arena_done(&op->arena);
    free(op);
}

static struct attach_op *attach_op_new(struct attach *a, str user_id, const str *ids, size_t n,
                                       void *ctx)
{
    struct attach_op *op = xcalloc(1, sizeof *op);
    attach_hold(a);
    op->attach = a;
    op->ctx = ctx;
    op->fd = -1;
    arena_init(&op->arena);
    op->user_id = arena_str(&op->arena, user_id);
    op->n = n;
    op->ids = arena_array(&op->arena, n, sizeof(str));
    for (size_t i = 0; i < n; i++)
        op->ids[i] = arena_str(&op->arena, ids[i]);
    return op;
}

void attach_cancel(struct attach_op *op)
{
    if (op)
        op->is_cancelled = true;
}

static void list_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    (void)file_place_list(&op->arena, &op->attach->place, op->user_id, &op->files, &op->n,
                          &op->err);
}

struct attach_op *attach_list(struct attach *a, str user_id, attach_list_fn fn, void *ctx)
{
    struct attach_op *op = attach_op_new(a, user_id, NULL, 0, ctx);
    op->on_list = fn;
    pool_run(a->pool, &op->job, list_work, attach_answer);
    return op;
}

static void find_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    op->files = arena_array(&op->arena, op->n, sizeof(op->files[0]));
    for (size_t i = 0; i < op->n && op->err.code == 0; i++) {
        str sha256;
        if (!library_id_sha(op->ids[i], &sha256))
            err_set(&op->err, -ENOENT, "There is no file '%.*s' of yours.",
                    (int)(op->ids[i].n < 80 ? op->ids[i].n : 80), op->ids[i].p);
        else
            (void)file_place_find(&op->arena, &op->attach->place, op->user_id, sha256,
                                  &op->files[i], &op->err);
    }
}

struct attach_op *attach_find(struct attach *a, str user_id, const str *ids, size_t n,
                              attach_list_fn fn, void *ctx)
{
    struct attach_op *op = attach_op_new(a, user_id, ids, n, ctx);
    op->on_list = fn;
    pool_run(a->pool, &op->job, find_work, attach_answer);
    return op;
}

static void open_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    find_work(j);
    if (op->err.code < 0)
        return;
    str sha256 = str_skip(op->ids[0], 5);
    if (file_place_bring(&op->arena, &op->attach->place, sha256, &op->err) < 0)
        return;
    op->fd = open(library_path(&op->arena, op->attach->place.dir, sha256), O_RDONLY | O_CLOEXEC);
    if (op->fd < 0)
        err_errno(&op->err, -errno, "cannot open", "the file");
}

struct attach_op *attach_open(struct attach *a, str user_id, str id, attach_open_fn fn, void *ctx)
{
    struct attach_op *op = attach_op_new(a, user_id, &id, 1, ctx);
    op->on_open = fn;
    pool_run(a->pool, &op->job, open_work, attach_answer);
    return op;
}

static void remove_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    find_work(j);
    if (op->err.code == 0)
        (void)file_place_remove(&op->arena, &op->attach->place, op->user_id,
                                str_skip(op->ids[0], 5), &op->freed, &op->err);
}

struct attach_op *attach_remove(struct attach *a, str user_id, str id, attach_done_fn fn, void *ctx)
{
    struct attach_op *op = attach_op_new(a, user_id, &id, 1, ctx);
    op->on_done = fn;
    pool_run(a->pool, &op->job, remove_work, attach_answer);
    return op;
}

static void share_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    find_work(j);
    if (op->err.code == 0)
        (void)file_place_share(&op->arena, &op->attach->place, op->user_id, str_skip(op->ids[0], 5),
                               op->to_id, &op->files[0], &op->err);
}

struct attach_op *attach_share(struct attach *a, str user_id, str id, str project_id,
                               attach_list_fn fn, void *ctx)
{
    assert(library_is_keeper(project_id));
    struct attach_op *op = attach_op_new(a, user_id, &id, 1, ctx);
    op->to_id = arena_str(&op->arena, project_id);
    op->on_list = fn;
    pool_run(a->pool, &op->job, share_work, attach_answer);
    return op;
}

static void mark_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    str sha256;
    if (library_id_sha(op->ids[0], &sha256))
        file_place_mark_named(&op->arena, &op->attach->place, sha256, op->user_id);
}

void attach_mark_named(struct attach *a, str user_id, str id)
{
    struct attach_op *op = attach_op_new(a, user_id, &id, 1, NULL);
    pool_run(a->pool, &op->job, mark_work, attach_answer);
}

/* One that has gone meanwhile is gone. */
static void remove_all_work(struct job *j)
{
    struct attach_op *op = CONTAINER_OF(j, struct attach_op, job);
    list_work(j);
    for (size_t i = 0; i < op->n && op->err.code == 0; i++) {
        uint64_t freed = 0;
        int r = file_place_remove(&op->arena, &op->attach->place, op->user_id,
                                  str_skip(op->files[i].id, 5), &freed, &op->err);
        op->freed += freed;
        if (r == -ENOENT)
            err_clear(&op->err);
    }
}

struct attach_op *attach_remove_all(struct attach *a, str project_id, attach_done_fn fn, void *ctx)
{
    assert(library_is_keeper(project_id));
    struct attach_op *op = attach_op_new(a, project_id, NULL, 0, ctx);
    op->on_done = fn;
    pool_run(a->pool, &op->job, remove_all_work, attach_answer);
    return op;
}
