/* queue_files.c - one operation at a time: the first of `ops` is in progress (is_busy), the others
 * wait, so that two changes of one file keep their order. */
#include "runtime/queue_files.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/file.h"

struct queue_file_op {
    struct list_node node;
    struct queue_files *files;
    struct job job;
    char *path, *dir;
    char *id;   /* in the store */
    char *text; /* NULL = remove the file */
    size_t n;
    struct err err;
    queue_files_fn fn;
    void *ctx;
};

void queue_files_init(struct queue_files *p, struct pool *pool, struct logger *log, loop_fn on_idle,
                      void *ctx)
{
    *p = (struct queue_files){.pool = pool, .log = log, .on_idle = on_idle, .ctx = ctx};
    list_init(&p->ops);
}

void queue_files_use(struct queue_files *p, const char *dir)
{
    assert(!p->dir);
    p->dir = str_dup(str_from(dir));
}

void queue_files_use_store(struct queue_files *p, struct store *s)
{
    assert(!p->dir && store_keeps_queue(s));
    p->store = s;
}

bool queue_files_is_idle(const struct queue_files *p)
{
    return list_empty(&p->ops);
}

bool queue_files_is_changing(const struct queue_files *p, str id)
{
    LIST_EACH (op, (struct list_node *)&p->ops, struct queue_file_op, node)
        if (op->id && str_eq(str_from(op->id), id))
            return true;
    return false;
}

void queue_files_done(struct queue_files *p)
{
    assert(queue_files_is_idle(p));
    free(p->dir);
}

/* ---- changes ---- */

static void change_file(struct job *j) /* pool thread */
{
    struct queue_file_op *op = CONTAINER_OF(j, struct queue_file_op, job);
    if (op->id)
        (void)store_queue_put(op->files->store, str_from(op->id),
                              op->text ? str_make(op->text, op->n) : STR_NONE, &op->err);
    if (!op->path)
        return;
    if (!op->text) {
        if (unlink(op->path) < 0 && errno != ENOENT)
            err_set(&op->err, -errno, "%s: %s", op->path, strerror(errno));
        return;
    }
    if (file_make_dirs(op->dir, &op->err) == 0)
        (void)file_write_atomic(op->path, str_make(op->text, op->n), 0600, &op->err);
}

static void next(struct queue_files *p);

static void on_worked(struct job *j)
{
    struct queue_file_op *op = CONTAINER_OF(j, struct queue_file_op, job);
    struct queue_files *p = op->files;
    bool is_bad = op->err.code < 0;
    assert(p->is_busy && p->ops.next == &op->node);
    if (is_bad)
        log_error(p->log, "runtime", "the file of a queued message cannot be changed: %s",
                  op->err.msg);
    list_del(&op->node);
    p->is_busy = false;
    if (op->fn)
        op->fn(op->ctx, is_bad ? &op->err : NULL);
    free(op->path);
    free(op->id);
    free(op->dir);
    free(op->text);
    free(op);
    next(p);
}

static void next(struct queue_files *p)
{
    if (p->is_busy)
        return;
    if (list_empty(&p->ops)) {
        p->on_idle(p->ctx);
        return;
    }
    struct queue_file_op *op = LIST_ENTRY(p->ops.next, struct queue_file_op, node);
    p->is_busy = true;
    pool_run(p->pool, &op->job, change_file, on_worked);
}

static char *queue_file_path(const char *dir, str id)
{
    size_t size = strlen(dir) + id.n + sizeof "/.json";
    char *path = xcalloc(1, size);
    snprintf(path, size, "%s/%.*s.json", dir, STR_ARG(id));
    return path;
}

static struct queue_file_op *queue_file_start(struct queue_files *p, str id, char *text, size_t n,
                                              queue_files_fn fn, void *ctx)
{
    assert(id.n > 0);
    struct queue_file_op *op = xcalloc(1, sizeof *op);
    op->files = p;
    op->text = text;
    op->n = n;
    op->fn = fn;
    op->ctx = ctx;
    if (p->store) {
        op->id = str_dup(id);
    } else if (p->dir) {
        op->path = queue_file_path(p->dir, id);
        op->dir = str_dup(str_from(p->dir));
    }
    list_push(&p->ops, &op->node);
    next(p);
    return op;
}

struct queue_file_op *queue_files_write(struct queue_files *p, str id, str text, queue_files_fn fn,
                                        void *ctx)
{
    return queue_file_start(p, id, str_dup(text), text.n, fn, ctx);
}

struct queue_file_op *queue_files_remove(struct queue_files *p, str id, queue_files_fn fn,
                                         void *ctx)
{
    return queue_file_start(p, id, NULL, 0, fn, ctx);
}

void queue_files_forget(struct queue_file_op *op)
{
    op->fn = NULL;
}

/* ---- the start ---- */

static void load_file(struct queue_files *p, str name, queue_files_file_fn fn, void *ctx)
{
    struct arena a;
    struct err e = {0};
    str text;
    arena_init(&a);
    const char *path = arena_printf(&a, "%s/%.*s", p->dir, STR_ARG(name)).p;
    if (file_read(&a, path, QUEUE_FILE_MAX, &text, &e) == 0)
        fn(ctx, str_from(path), text);
    else
        log_warn(p->log, "runtime", "a queued message cannot be read and is skipped: %s", e.msg);
    arena_done(&a);
}

void queue_files_load(struct queue_files *p, queue_files_file_fn fn, void *ctx)
{
    struct dir d = p->dir ? dir_open(p->dir) : (struct dir){0};
    size_t n = 0;
    while (n < QUEUE_FILES_MAX && dir_next(&d)) {
        if (d.name[0] == '.' || !str_ends(str_from(d.name), STR(".json")))
            continue;
        load_file(p, str_from(d.name), fn, ctx);
        n++;
    }
    dir_close(&d);
}
