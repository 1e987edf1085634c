/* settings_watch.c - notices changes of the settings file and of the reload file.
 *
 * The kernel reports changes in the directories of the two files, because editors replace a file by
 * renaming another. Where it cannot (no more watches, a directory that other machines share), and
 * for a link in the path, whose target may change, the files are examined every second, and the log
 * says so. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "bundle/settings/settings.h"
#include "loop/timer.h"
#include "loop/watch.h"

#define LOOK_EVERY_MS 1000
#define SETTLE_MS     100 /* an editor that does not rename writes in several steps */

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
    struct dir_watch *dirs[2]; /* of the file and of the reload file; NULL = not watched */
    bool is_polling;           /* since the last message about it */
    bool is_wanted;            /* check again after the present check */
    bool is_soon;              /* the timer runs because of a change */

    struct job job;
    bool is_busy, is_freed;
    /* Used only by the job: */
    struct stamp file_now, reload_now;
    struct arena found;
    struct json *doc;
    struct bundle_entry *entries;
    size_t n;
    struct err err;
    bool is_changed, is_link;
};

/* ---- pool thread ---- */

static struct stamp take_stamp(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return (struct stamp){0};
    return (struct stamp){st.st_dev, st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

/* The file itself, or a directory above it: the watch would stay with the old target. */
static bool has_link(const char *path)
{
    struct stat st;
    char part[PATH_MAX];
    size_t n = path ? strlen(path) : 0;
    for (size_t i = 1; n < sizeof part && i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode))
            return true;
    }
    return false;
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
    w->is_link = has_link(w->conf.path) || has_link(w->conf.reload_path);
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

static void stop_listening(struct settings_watch *w)
{
    for (size_t i = 0; i < ARRAY_LEN(w->dirs); i++) {
        dir_watch_stop(w->dirs[i]);
        w->dirs[i] = NULL;
    }
}

static void start_look(void *ctx)
{
    struct settings_watch *w = ctx;
    w->is_busy = true;
    assert(!w->is_freed);
    w->is_wanted = w->is_soon = false;
    timer_stop(&w->timer);
    pool_submit(w->conf.pool, &w->job);
}

static bool is_name(const char *path, const char *name)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strcmp(slash ? slash + 1 : path, name) == 0;
}

/* It may be NULL: the directory is gone, and the watches have to be made again. */
static void on_entry_changed(void *ctx, const char *name)
{
    struct settings_watch *w = ctx;
    if (!name)
        stop_listening(w);
    else if (!is_name(w->conf.path, name) && !is_name(w->conf.reload_path, name))
        return;
    if (w->is_busy)
        w->is_wanted = true;
    else if (!w->is_soon)
        timer_start(&w->timer, SETTLE_MS);
    w->is_soon = true;
}

static int listen_to(struct settings_watch *w, const char *path, struct dir_watch **ret)
{
    struct arena a;
    if (!path || *ret)
        return 0;
    const char *slash = strrchr(path, '/');
    arena_init(&a);
    str dir = !slash ? STR(".") : slash == path ? STR("/") : str_make(path, (size_t)(slash - path));
    int r = dir_watch_start(w->conf.loop, arena_cstr(&a, dir), on_entry_changed, w, ret);
    arena_done(&a);
    return r;
}

/* Returns false when changes can only be found by examining the files. */
static bool listen_all(struct settings_watch *w)
{
    int r = w->is_link ? -ELOOP : listen_to(w, w->conf.path, &w->dirs[0]);
    if (r == 0)
        r = listen_to(w, w->conf.reload_path, &w->dirs[1]);
    if (r < 0 && !w->is_polling)
        log_msg(loop_log(w->conf.loop), w->is_link ? LOG_INFO : LOG_WARN, "settings",
                "%s is examined every second: %s", w->conf.path,
                w->is_link ? "there is a link in its path, and its target may change"
                           : err_reason(r));
    w->is_polling = r < 0;
    if (r < 0)
        stop_listening(w);
    return r == 0;
}

/* A change between the last check and the start of the watches would be missed: another check. */
static void await_change(struct settings_watch *w)
{
    bool was_listening = w->dirs[0] != NULL;
    bool is_listening = listen_all(w);
    w->is_soon = is_listening && !was_listening;
    if (!is_listening || !was_listening)
        timer_start(&w->timer, is_listening ? SETTLE_MS : LOOK_EVERY_MS);
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
        await_change(w);
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
    w->is_link = has_link(w->conf.path) || has_link(w->conf.reload_path);
    await_change(w);
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
    stop_listening(w);
    w->is_freed = true;
    if (!w->is_busy)
        settings_watch_destroy(w);
}
