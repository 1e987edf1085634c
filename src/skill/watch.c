#include "skill/watch.h"

#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "os/dir.h"

#define CHECK_EVERY_MS 1000
#define ENTRIES_MAX    2000

struct skill_watch {
    struct loop *loop;
    struct pool *pool;
    struct places { /* belongs to the job while it is busy */
        struct arena arena;
        struct skill_dir *dirs;
        size_t ndirs;
    } at, next;
    bool has_next;
    skill_watch_fn on_change;
    void *ctx;

    uint64_t checked_ms;
    uint8_t stamp[SHA256_LEN]; /* of what the current set was loaded from */
    struct skills *current;    /* a reference, for `previous` */
    struct list_node waiting;
    struct deferred at_once;

    bool is_busy;
    bool is_stale; /* a caller needs a check that starts after the current one */
    struct job job;
    uint8_t seen[SHA256_LEN]; /* belongs to the job */
    struct skills *fresh;
};

/* ---- pool thread: what the files look like from outside ---- */

static void add_stat(struct buf *b, int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, 0) < 0)
        return;
    buf_printf(b, "%s %lld %lld.%09ld;", name, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
               st.st_mtim.tv_nsec);
}

static void add_dir(struct buf *b, const struct skill_dir *d)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*s", STR_ARG(d->path));
    struct dir dir = dir_open(path);
    for (int i = 0; i < ENTRIES_MAX && dir_next(&dir); i++) {
        char inner[512];
        add_stat(b, dir_fd(&dir), dir.name);
        snprintf(inner, sizeof inner, "%.255s/SKILL.md", dir.name);
        if (d->is_standard && dir.name[0] != '.')
            add_stat(b, dir_fd(&dir), inner);
    }
    dir_close(&dir);
}

/* The directories of people, each with its files. */
static void add_people(struct buf *b, const struct skill_dir *d)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*s", STR_ARG(d->path));
    struct dir dir = dir_open(path);
    for (int i = 0; i < ENTRIES_MAX && dir_next(&dir); i++) {
        char own[4096 + 300];
        if (dir.name[0] == '.')
            continue;
        snprintf(own, sizeof own, "%s/%.255s/skills", path, dir.name);
        buf_printf(b, "%s:", dir.name);
        add_dir(b, &(struct skill_dir){.path = str_from(own)});
    }
    dir_close(&dir);
}

static void make_stamp(const struct skill_watch *w, uint8_t ret[SHA256_LEN])
{
    struct buf b;
    buf_init(&b, 16u * 1024 * 1024);
    for (size_t i = 0; i < w->at.ndirs; i++)
        if (w->at.dirs[i].is_people)
            add_people(&b, &w->at.dirs[i]);
        else
            add_dir(&b, &w->at.dirs[i]);
    sha256(buf_str(&b), ret);
    buf_done(&b);
}

static void watch_work(struct job *j)
{
    struct skill_watch *w = CONTAINER_OF(j, struct skill_watch, job);
    make_stamp(w, w->seen);
    w->fresh = memcmp(w->seen, w->stamp, SHA256_LEN) == 0
                   ? NULL
                   : skills_load(w->at.dirs, w->at.ndirs, w->current);
}

/* ---- loop thread ---- */

static void tell_waiting(void *ctx)
{
    struct skill_watch *w = ctx;
    struct list_node *n;
    while ((n = list_pop(&w->waiting)) != NULL) {
        struct skill_check *c = LIST_ENTRY(n, struct skill_check, node);
        c->fn(c->ctx);
    }
}

static void skill_watch_take(struct skill_watch *w, struct skills *fresh)
{
    memcpy(w->stamp, w->seen, SHA256_LEN);
    skills_unref(w->current);
    w->current = skills_ref(fresh);
}

static void watch_look(struct skill_watch *w)
{
    assert(!w->is_busy && !w->has_next);
    w->is_busy = true;
    w->is_stale = false;
    pool_submit(w->pool, &w->job);
}

static void adopt(struct skill_watch *w)
{
    assert(w->has_next && !w->is_busy); /* the job reads `at` */
    arena_done(&w->at.arena);
    w->at = w->next;
    w->next = (struct places){0};
    arena_init(&w->next.arena);
    w->has_next = false;
    memset(w->stamp, 0, sizeof w->stamp);
    w->checked_ms = 0;
}

void skill_watch_use(struct skill_watch *w, const struct skill_places *places)
{
    arena_reset(&w->next.arena);
    w->next.dirs = skill_dirs(&w->next.arena, places, &w->next.ndirs);
    w->has_next = w->is_stale = true;
    if (!w->is_busy)
        adopt(w);
}

static void on_watch_done(struct job *j)
{
    struct skill_watch *w = CONTAINER_OF(j, struct skill_watch, job);
    assert(w->is_busy);
    w->is_busy = false;
    w->checked_ms = clock_mono_ms();
    if (w->fresh) {
        skill_watch_take(w, w->fresh);
        w->on_change(w->ctx, w->fresh);
    }
    if (w->has_next)
        adopt(w);
    if (w->is_stale)
        watch_look(w);
    else
        tell_waiting(w);
}

struct skill_watch *skill_watch_new(struct loop *l, struct pool *pool,
                                    const struct skill_places *places, skill_watch_fn on_change,
                                    void *ctx)
{
    struct skill_watch *w = xcalloc(1, sizeof *w);
    w->loop = l;
    w->pool = pool;
    w->on_change = on_change;
    w->ctx = ctx;
    arena_init(&w->at.arena);
    arena_init(&w->next.arena);
    list_init(&w->waiting);
    defer_init(&w->at_once, tell_waiting, w);
    w->job = (struct job){.work = watch_work, .done = on_watch_done};
    w->at.dirs = skill_dirs(&w->at.arena, places, &w->at.ndirs);
    return w;
}

void skill_watch_free(struct skill_watch *w)
{
    if (!w)
        return;
    assert(!w->is_busy && list_empty(&w->waiting));
    defer_stop(&w->at_once);
    skills_unref(w->current);
    arena_done(&w->at.arena);
    arena_done(&w->next.arena);
    free(w);
}

struct skills *skill_watch_load(struct skill_watch *w)
{
    assert(!w->current && !w->is_busy); /* once, before the first check */
    make_stamp(w, w->seen);
    struct skills *s = skills_load(w->at.dirs, w->at.ndirs, NULL);
    skill_watch_take(w, s);
    w->checked_ms = clock_mono_ms();
    return s;
}

void skill_watch_check(struct skill_watch *w, struct skill_check *c, bool is_forced, loop_fn fn,
                       void *ctx)
{
    assert(fn);
    c->fn = fn;
    c->ctx = ctx;
    list_push(&w->waiting, &c->node);
    if (w->is_busy) {
        w->is_stale |= is_forced;
        return;
    }
    if (!is_forced && clock_mono_ms() - w->checked_ms < CHECK_EVERY_MS) {
        defer_start(w->loop, &w->at_once);
        return;
    }
    watch_look(w);
}
