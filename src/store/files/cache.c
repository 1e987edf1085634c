#include "store/files/cache.h"

#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/backend/backend.h"
#include "store/event/lines.h"
#include "store/event/stat_nowait.h"
#include "store/files/files.h"
#include "store/index/index.h"
#include "store/log/tail.h"

enum { SEEN_MS = 5 }; /* for this time a read may rely on the check that a get has made */

struct cache {
    const struct files *files;
    struct map entries; /* id -> struct cached */
    struct list_node lru;
};

struct cached {
    struct cache *cache;
    const struct store_conf *conf;
    struct list_node lru;
    char *id;
    bool is_busy, is_dropped;
    struct list_node waiting;
    struct tail tail;
    uint64_t seen_ms; /* when a get found it up to date; 0 = a read has used that */

    struct job job; /* the following members belong to the reader thread while is_busy */
    struct list_node batch;
    const char *path;
    uint64_t limit;
    struct derive derive;
    dev_t dev;
    ino_t ino;
    struct err err;
};

struct cache *cache_new(const struct files *f)
{
    struct cache *c = xcalloc(1, sizeof(*c));
    c->files = f;
    map_init(&c->entries);
    list_init(&c->lru);
    return c;
}

static void cached_free(struct cached *e)
{
    list_del(&e->lru);
    derive_done(&e->derive);
    tail_drop(&e->tail);
    free(e->id);
    free(e);
}

void cache_free(struct cache *c)
{
    LIST_FOREACH (it, &c->lru) {
        cached_free(LIST_ENTRY(it, struct cached, lru));
    }
    map_done(&c->entries);
    free(c);
}

static void cached_forget(struct cached *e)
{
    const struct store_env *env = e->derive.env;
    derive_done(&e->derive);
    derive_init(&e->derive, env);
}

/* Do the derived properties still describe the beginning of this file? */
static bool is_same_log(const struct cached *e, int fd, off_t limit)
{
    struct stat st;
    off_t end = (off_t)e->derive.conv.end;
    return fstat(fd, &st) == 0 && st.st_dev == e->dev && st.st_ino == e->ino && limit >= end &&
           lines_is_boundary(fd, end) == 1;
}

static void read_on(struct cached *e, int fd, off_t limit)
{
    struct conv *c = &e->derive.conv;
    int r = files_each_line(e->cache->files->layout, fd, (off_t)c->end, limit,
                            e->limit != UINT64_MAX, derive_scanned, &e->derive, &c->bad_lines);
    if (r < 0)
        err_errno(&e->err, r, "cannot read", e->path);
}

static void cached_work(struct job *j)
{
    struct cached *e = CONTAINER_OF(j, struct cached, job);
    off_t limit;
    int fd = file_store_open_log(e->path, e->limit, &limit, &e->err);
    if (fd < 0) {
        trouble_check_dir(e->conf, &e->err);
        return;
    }
    struct stat st;
    if (!is_same_log(e, fd, limit)) {
        cached_forget(e);
        if (fstat(fd, &st) == 0) {
            e->dev = st.st_dev;
            e->ino = st.st_ino;
        }
        if (limit > INDEX_LOAD_BYTES)
            (void)index_load(e->cache->files->index, str_from(e->id), fd, limit, &e->derive);
    }
    read_on(e, fd, limit);
    close(fd);
}

static void cached_start(struct cached *e);

static void cached_answer(struct cached *e, struct store_op *op)
{
    if (e->err.code)
        op->err = e->err;
    else
        op->out.conv =
            derive_conv(&e->derive, &op->arena, op->id, str_from(op->store->conf.workspace_id));
}

static void on_caught_up(struct job *j)
{
    struct cached *e = CONTAINER_OF(j, struct cached, job);
    struct list_node done = LIST_HEAD_INIT(done), *n;
    e->is_busy = false;
    assert(!list_empty(&e->batch));
    while ((n = list_pop(&e->batch)) != NULL) {
        cached_answer(e, LIST_ENTRY(n, struct store_op, wait));
        list_push(&done, n);
    }
    bool is_gone = e->is_dropped || e->err.code;
    if (!list_empty(&e->waiting)) {
        if (is_gone)
            cached_forget(e);
        e->is_dropped = false;
        cached_start(e);
    } else if (is_gone) {
        map_del(&e->cache->entries, str_from(e->id));
        cached_free(e);
    }
    while ((n = list_pop(&done)) != NULL)
        op_done(LIST_ENTRY(n, struct store_op, wait));
}

static void cached_start(struct cached *e)
{
    struct list_node *n;
    struct store_op *op = NULL;
    assert(!e->is_busy && list_empty(&e->batch));
    e->limit = 0;
    while ((n = list_pop(&e->waiting)) != NULL) {
        list_push(&e->batch, n);
        op = LIST_ENTRY(n, struct store_op, wait);
        e->limit = op->limit > e->limit ? op->limit : e->limit;
    }
    assert(op);
    e->path = op->path; /* in the arena of an op of this batch */
    err_clear(&e->err);
    e->is_busy = true;
    pool_run(op->store->env->readers, &e->job, cached_work, on_caught_up);
}

static void evict(struct cache *c)
{
    LIST_EACH (e, &c->lru, struct cached, lru) {
        if (e->is_busy)
            continue;
        map_del(&c->entries, str_from(e->id));
        cached_free(e);
        return;
    }
}

static struct cached *entry_for(struct cache *c, struct store_op *op)
{
    struct cached *e = map_get(&c->entries, op->id);
    if (e) {
        list_del(&e->lru);
    } else {
        if (map_len(&c->entries) >= CACHE_CONVS_MAX)
            evict(c);
        e = xcalloc(1, sizeof(*e));
        e->cache = c;
        e->conf = &op->store->conf;
        e->id = str_dup(op->id);
        list_init(&e->waiting);
        list_init(&e->batch);
        derive_init(&e->derive, op->store->env);
        map_put(&c->entries, op->id, e);
    }
    list_push(&c->lru, &e->lru);
    return e;
}

/* Is there nothing to catch up? True only for a log that is open here, because no other process
 * writes it. The file may still be deleted or replaced; if the kernel cannot tell without waiting,
 * a reader thread checks. */
static bool is_current(const struct cached *e, const struct store_op *op)
{
    struct file_stat now;
    store_pos end = e->derive.conv.end;
    return !e->is_busy && op->limit == end && end > 0 && stat_nowait(op->path, &now) &&
           now.ino == e->ino && now.dev == e->dev && now.size == end;
}

/* The file has the lines of the op as they are, not records of a layout, and they are few. */
static bool is_derivable(const struct store_op *op)
{
    return op->task.lines == op->lines && op->task.bytes <= CACHE_APPEND_BYTES;
}

void cache_create(struct cache *c, struct store_op *op)
{
    if (!is_derivable(op))
        return;
    struct cached *e = entry_for(c, op);
    if (e->is_busy)
        return; /* somebody has asked for this id: a reader thread finds out */
    cached_forget(e);
    e->dev = op->task.dev;
    e->ino = op->task.ino;
    for (size_t i = 0; i < op->nlines; i++)
        derive_line(&e->derive, str_slice(op->lines[i], 0, op->lines[i].n - 1), op->pos[i]);
    tail_add(&e->tail, op->pos[0], op->lines + 1, op->nlines - 1); /* line 1 is not an event */
}

void cache_append(struct cache *c, const struct store_op *op)
{
    struct cached *e = map_get(&c->entries, op->id);
    if (!e || e->is_busy || !is_derivable(op) || e->derive.conv.end != op->task.start)
        return;
    for (size_t i = 0; i < op->nlines; i++)
        derive_appended(&e->derive, str_slice(op->lines[i], 0, op->lines[i].n - 1), op->pos[i]);
    tail_add(&e->tail, op->task.start, op->lines, op->nlines);
}

/* A read usually follows a get of the same conversation: one check is enough for both. */
static bool was_just_seen(struct cached *e, const struct store_op *op)
{
    bool is_fresh = e->seen_ms && clock_mono_ms() - e->seen_ms <= SEEN_MS;
    e->seen_ms = 0;
    return is_fresh && !e->is_busy && op->limit == e->derive.conv.end;
}

bool cache_read(struct cache *c, struct store_op *op)
{
    struct cached *e = map_get(&c->entries, op->id);
    return e && (was_just_seen(e, op) || is_current(e, op)) && tail_end(&e->tail) == op->limit &&
           tail_page(&e->tail, &op->arena, &op->in.range, &op->out.page);
}

void cache_get(struct cache *c, struct store_op *op)
{
    struct cached *e = entry_for(c, op);
    if (is_current(e, op)) {
        e->seen_ms = clock_mono_ms();
        cached_answer(e, op);
        op_done_later(op);
        return;
    }
    list_push(&e->waiting, &op->wait);
    if (!e->is_busy)
        cached_start(e);
}

void cache_drop(struct cache *c, str id)
{
    struct cached *e = map_get(&c->entries, id);
    if (e && e->is_busy) {
        e->is_dropped = true;
    } else if (e) {
        map_del(&c->entries, id);
        cached_free(e);
    }
}
