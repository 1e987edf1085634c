#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#include "bundle/settings/settings.h"
#include "loop/timer.h"

#define LOOK_EVERY_MS 1000

/* The state of a file as stat reports it; all zero when it does not exist. */
struct stamp {
    uint64_t dev, ino;
    int64_t size, sec, nsec;
};

struct settings_watch {
    struct settings_watch_conf conf;
    struct arena arena; /* the paths */
    struct timer timer;
    struct stamp file, reload; /* at the last check */
    bool is_wanted;            /* check again after the present check */

    struct job job;
    bool is_busy, is_freed;
    /* Used only by the job: */
    struct stamp file_now, reload_now;
    struct arena found;
    struct json *doc;
    struct bundle_entry *entries;
    size_t n;
    struct err err;
    bool is_changed;
};

/* ---- pool thread ---- */

static struct stamp take_stamp(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return (struct stamp){0};
    return (struct stamp){st.st_dev, st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

static bool is_same_stamp(const struct stamp *a, const struct stamp *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* it has no padding */
}

static void settings_look(struct job *j)
{
    struct settings_watch *w = CONTAINER_OF(j, struct settings_watch, job);
    w->file_now = take_stamp(w->conf.path);
    w->reload_now = take_stamp(w->conf.reload_path);
    w->is_changed =
        !is_same_stamp(&w->file, &w->file_now) || !is_same_stamp(&w->reload, &w->reload_now);
    if (!w->is_changed)
        return;
    w->doc = NULL;
    int r = settings_load(&w->found, w->conf.path, &w->doc, &w->err);
    if (r == -ENOENT)
        err_clear(&w->err);
    if (r == 0 || r == -ENOENT)
        (void)settings_load_bundles(&w->found, w->conf.path, &w->entries, &w->n, &w->err);
}

/* ---- loop thread ---- */

static void start_look(void *ctx)
{
    struct settings_watch *w = ctx;
    w->is_busy = true;
    assert(!w->is_freed);
    w->is_wanted = false;
    timer_stop(&w->timer);
    pool_submit(w->conf.pool, &w->job);
}

static void settings_watch_destroy(struct settings_watch *w)
{
    assert(w->is_freed && !w->is_busy);
    arena_done(&w->found);
    arena_done(&w->arena);
    free(w);
}

static void report_document(struct settings_watch *w)
{
    bool is_wrong = w->err.code != 0;
    if (!is_wrong && w->doc && w->conf.document)
        w->conf.document(w->conf.ctx, w->doc);
    if (w->is_freed) /* freed by the callback */
        return;
    w->conf.changed(w->conf.ctx, is_wrong ? NULL : w->entries, is_wrong ? 0 : w->n,
                    is_wrong ? &w->err : NULL);
}

static void looked(struct job *j)
{
    struct settings_watch *w = CONTAINER_OF(j, struct settings_watch, job);
    assert(w->is_busy);
    if (!w->is_freed) {
        w->file = w->file_now;
        w->reload = w->reload_now;
        if (w->is_changed)
            report_document(w);
    }
    w->is_busy = false;
    if (w->is_freed) { /* possibly freed by the callback */
        settings_watch_destroy(w);
        return;
    }
    arena_reset(&w->found);
    err_clear(&w->err);
    if (w->is_wanted)
        start_look(w);
    else
        timer_start(&w->timer, LOOK_EVERY_MS);
}

struct settings_watch *settings_watch_new(const struct settings_watch_conf *conf)
{
    struct settings_watch *w = xcalloc(1, sizeof *w);
    w->conf = *conf;
    arena_init(&w->arena);
    arena_init(&w->found);
    w->conf.path = arena_cstr(&w->arena, str_from(conf->path));
    if (conf->reload_path)
        w->conf.reload_path = arena_cstr(&w->arena, str_from(conf->reload_path));
    w->job = (struct job){.work = settings_look, .done = looked};
    timer_init(&w->timer, conf->loop, start_look, w);
    /* Immediately, so that a change made a moment later is noticed. */
    w->file = take_stamp(w->conf.path);
    w->reload = take_stamp(w->conf.reload_path);
    timer_start(&w->timer, LOOK_EVERY_MS);
    return w;
}

void settings_watch_look(struct settings_watch *w)
{
    if (w->is_busy)
        w->is_wanted = true;
    else
        start_look(w);
}

void settings_watch_free(struct settings_watch *w)
{
    if (!w)
        return;
    timer_stop(&w->timer);
    w->is_freed = true;
    if (!w->is_busy)
        settings_watch_destroy(w);
}
