#include "bundle/plan/npm_install.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "bundle/entry/entry.h"
#include "loop/timer.h"
#include "net/child.h"
#include "os/lock.h"

#define LOCK_RETRY_MS 300
#define OUTPUT_MAX    (4u * 1024 * 1024) /* limit for the output of npm view */
#define ERRORS_MAX    (16u * 1024)       /* kept from the end of npm's stderr */
#define STOP_MS       2000

struct npm_install {
    struct npm_want want;
    struct npm_events ev;
    void *ctx;
    struct arena arena;
    struct bundle_entry entry;
    struct package_command command;
    struct npm_pin pin;
    struct npm_package package;
    bool is_pinned;   /* the entry has a pin */
    bool is_resolved; /* pin is known */
    bool is_cancelled, is_busy;
    int lock_fd;
    const char *dir; /* of this installation, or NULL */

    void (*step)(struct npm_install *i, int rc); /* after the job, on the loop thread */
    int (*work)(struct npm_install *i);          /* pool thread */
    struct job job;
    int rc;
    struct err err;

    struct child *child;
    struct sandbox_plan plan;
    struct timer retry, limit;
    bool is_too_late;
    struct buf out, errors;
    unsigned fetched;
    const char *verb; /* for progress messages */
};

bool npm_is_wanted(const struct bundle_entry *entry, struct package_command *ret)
{
    return entry->kind == BUNDLE_COMMAND &&
           package_command_parse(entry->command, &entry->args, ret) && ret->source == PACKAGE_NPM;
}

/* ---- the end ---- */

static void npm_install_free(struct npm_install *i)
{
    assert(!i->is_busy && !i->child);
    timer_stop(&i->retry);
    timer_stop(&i->limit);
    lock_close(i->lock_fd);
    buf_done(&i->out);
    buf_done(&i->errors);
    arena_done(&i->arena);
    free(i);
}

static void npm_install_tell(struct npm_install *i)
{
    if (i->is_cancelled)
        err_set(&i->err, -ECANCELED, "the installation was stopped");
    i->ev.done(i->ctx, i->err.code ? NULL : &i->package, i->err.code ? &i->err : NULL);
    npm_install_free(i);
}

/* ---- jobs ---- */

static void npm_work(struct job *j)
{
    struct npm_install *i = CONTAINER_OF(j, struct npm_install, job);
    i->rc = i->work(i);
}

static void npm_worked(struct job *j)
{
    struct npm_install *i = CONTAINER_OF(j, struct npm_install, job);
    i->is_busy = false;
    assert(i->step && !i->child);
    i->step(i, i->rc);
}

static void npm_install_submit(struct npm_install *i, int (*work)(struct npm_install *),
                               void (*step)(struct npm_install *, int))
{
    assert(!i->is_busy);
    i->work = work;
    i->step = step;
    i->is_busy = true;
    pool_run(i->want.pool, &i->job, npm_work, npm_worked);
}

static int drop_work(struct npm_install *i)
{
    npm_store_drop(i->dir);
    return 0;
}

static void on_dropped(struct npm_install *i, int rc)
{
    npm_install_tell(i);
}

static void npm_install_finish(struct npm_install *i)
{
    timer_stop(&i->retry);
    timer_stop(&i->limit);
    if (i->dir)
        npm_install_submit(i, drop_work, on_dropped);
    else
        npm_install_tell(i);
}

static void npm_install_fail(struct npm_install *i, int code, const char *why)
{
    str name = i->command.spec;
    if (i->is_resolved)
        name = arena_printf(&i->arena, "%.*s@%.*s", STR_ARG(i->pin.name), STR_ARG(i->pin.version));
    char text[ERR_MAX];
    snprintf(text, sizeof text, "%s", why);
    err_set(&i->err, code, "cannot install %.*s: %s", STR_ARG(name), text);
    npm_install_finish(i);
}

static void progress(struct npm_install *i, const char *verb)
{
    if (verb)
        i->verb = verb;
    if (!i->ev.progress || i->is_cancelled)
        return;
    str what = i->is_resolved
                   ? arena_printf(&i->arena, "%s %.*s@%.*s", i->verb, STR_ARG(i->pin.name),
                                  STR_ARG(i->pin.version))
                   : arena_printf(&i->arena, "%s %.*s", i->verb, STR_ARG(i->command.spec));
    i->ev.progress(i->ctx, what.p, i->fetched);
}

/* ---- npm ---- */

/* The first lines with the error, without npm's hints about logs. */
static str npm_words(struct npm_install *i)
{
    str rest = buf_str(&i->errors), line, all = STR_NONE;
    unsigned n = 0;
    while (n < 4 && str_split(&rest, '\n', &line)) {
        if (!str_starts(line, STR("npm error ")) && !str_starts(line, STR("npm ERR! ")))
            continue;
        line = str_trim(str_skip(line, strlen("npm error")));
        if (line.n == 0 || str_starts(line, STR("A complete log")))
            continue;
        all =
            arena_printf(&i->arena, "%.*s%s%.*s", STR_ARG(all), n++ > 0 ? "; " : "", STR_ARG(line));
    }
    if (all.n == 0)
        all = str_trim(buf_str(&i->errors));
    return all.n > 0 ? all : STR("npm gave no reason");
}

static void on_out(void *ctx, str line)
{
    struct npm_install *i = ctx;
    buf_add_str(&i->out, line);
    buf_add_char(&i->out, '\n');
}

static unsigned count_fetched(str bytes)
{
    static const str WORD = STR_INIT("http fetch");
    unsigned n = 0;
    for (ptrdiff_t at = 0; (at = str_find(bytes, WORD, (size_t)at)) >= 0; at += (ptrdiff_t)WORD.n)
        n++;
    return n;
}

/* Counts lines about requests; keeps the others for the reason of a failure. */
static void on_err(void *ctx, str bytes)
{
    struct npm_install *i = ctx;
    unsigned n = count_fetched(bytes);
    str line;
    i->fetched += n;
    if (n > 0)
        progress(i, NULL);
    while (str_split(&bytes, '\n', &line)) {
        if (str_find(line, STR("http fetch"), 0) >= 0 || i->errors.n + line.n > ERRORS_MAX)
            continue;
        buf_add_str(&i->errors, line);
        buf_add_char(&i->errors, '\n');
    }
}

static void npm_view_ended(struct npm_install *i);
static int store_work(struct npm_install *i);
static void on_stored(struct npm_install *i, int rc);

static void on_exit_of_npm(void *ctx, int code)
{
    struct npm_install *i = ctx;
    i->child = NULL;
    if (i->is_cancelled) {
        npm_install_finish(i);
    } else if (i->is_too_late) {
        npm_install_fail(i, -ETIMEDOUT, "npm took more than 10 minutes");
    } else if (code != 0) {
        npm_install_fail(i, -EIO, arena_cstr(&i->arena, npm_words(i)));
    } else if (!i->is_resolved) {
        npm_view_ended(i);
    } else {
        npm_install_submit(i, store_work, on_stored);
    }
}

static const struct child_events NPM_EVENTS = {
    .on_line = on_out, .on_stderr = on_err, .on_exit = on_exit_of_npm};

static bool is_npm_variable(str key)
{
    return str_starts(key, STR("npm_config_")) || str_starts(key, STR("NPM_CONFIG_"));
}

/* Passes only npm's variables of the entry: keys of the server are not for install scripts. */
static struct bundle_entry entry_for_npm(struct npm_install *i)
{
    const struct bundle_entry *e = &i->entry;
    struct bundle_entry ret = {.kind = BUNDLE_COMMAND, .server_name = e->server_name};
    ret.sandbox = (struct bundle_sandbox){.is_off = e->sandbox.is_off, .network = true};
    ret.env = arena_array(&i->arena, e->nenv, sizeof(*ret.env));
    for (size_t k = 0; k < e->nenv; k++)
        if (is_npm_variable(e->env[k].key))
            ret.env[ret.nenv++] = e->env[k];
    return ret;
}

static const char *const QUIET[] = {"npm_config_audit=false", "npm_config_fund=false",
                                    "npm_config_update_notifier=false",
                                    "npm_config_fetch_retries=1", NULL};

static int plan_npm(struct npm_install *i, const char *const *argv)
{
    struct arena *a = &i->arena;
    struct bundle_entry *entry = ARENA_NEW(a, struct bundle_entry);
    *entry = entry_for_npm(i);
    struct sandbox_want w = bundle_want(a, entry, &i->want.place);
    w.argv = argv;
    w.env = QUIET;
    w.data_dir = i->dir;
    w.cwd = arena_printf(a, "%s/package", i->dir).p;
    bundle_want_offer(a, &w, entry, i->want.offer);
    return sandbox_plan(a, &w, &i->plan, &i->err);
}

static int plan_view(struct npm_install *i)
{
    const char **argv = arena_array(&i->arena, 10, sizeof(*argv));
    const char *const words[] = {"npm",  "view",    arena_cstr(&i->arena, i->command.spec),
                                 "name", "version", "dist.integrity",
                                 "bin",  "--json",  NULL};
    memcpy(argv, words, sizeof words);
    return plan_npm(i, argv);
}

static int plan_install(struct npm_install *i)
{
    static const char *const ARGV[] = {"npm",           "install",         "--omit=dev",
                                       "--no-progress", "--loglevel=http", NULL};
    int rc = npm_store_want(&i->arena, i->dir, &i->pin, &i->err);
    return rc < 0 ? rc : plan_npm(i, ARGV);
}

static void run_npm(struct npm_install *i, int rc)
{
    assert(!i->child && i->lock_fd >= 0 && i->dir);
    struct child_spec spec = {.argv = i->plan.argv, .cwd = i->plan.cwd, .message = i->plan.message};
    if (i->is_cancelled) {
        npm_install_finish(i);
        return;
    }
    buf_reset(&i->out);
    buf_reset(&i->errors);
    if (rc == 0)
        rc = child_spawn(i->want.loop, &spec, &NPM_EVENTS, i, &i->child, &i->err);
    if (rc < 0) {
        bool is_missing = rc == -ENOENT;
        npm_install_fail(i, is_missing ? -ENOENT : rc,
                         is_missing
                             ? "npm was not found; install Node.js with npm, and add it to PATH"
                             : i->err.msg);
        return;
    }
    child_close_stdin(i->child);
}

/* ---- npm view ---- */

/* For a range npm lists all matching versions, the newest last. */
static const struct json *newest(const struct json *v)
{
    if (json_is(v, JSON_ARRAY))
        return v->len > 0 ? json_at(v, v->len - 1) : NULL;
    return v;
}

static void begin_install(struct npm_install *i);

static void npm_view_ended(struct npm_install *i)
{
    struct json *answer = NULL;
    struct err e = {0};
    (void)json_parse(&i->arena, buf_str(&i->out), JSON_COPY, &answer, &e);
    const struct json *v = newest(answer);
    str version = json_get_string(v, "version"), integrity = json_get_string(v, "dist.integrity");
    if (!str_eq(json_get_string(v, "name"), i->command.name) || version.n == 0) {
        npm_install_fail(i, -EINVAL, "the registry has no such version");
        return;
    }
    if (integrity.n == 0 || str_find_char(version, '/') >= 0) {
        npm_install_fail(i, -EINVAL, "the registry has no checksum (dist.integrity) for it");
        return;
    }
    i->pin = (struct npm_pin){i->command.name, version, integrity};
    i->is_resolved = true;
    if (npm_store_place(&i->arena, i->want.place.package_dir, &i->pin, json_get(v, "bin"),
                        i->command.program, &i->package, &e) < 0) {
        npm_install_fail(i, e.code, e.msg);
        return;
    }
    if (i->want.only_resolves)
        npm_install_finish(i);
    else
        begin_install(i);
}

/* ---- npm install ---- */

static int store_work(struct npm_install *i)
{
    const char *packages = i->want.place.package_dir;
    int rc = npm_store_finish(&i->arena, packages, i->dir, &i->pin, &i->err);
    if (rc == 0 && !i->is_pinned)
        rc = npm_store_keep_wanted(&i->arena, packages, &i->command, &i->pin, &i->err);
    if (rc == 0)
        rc = npm_store_find(&i->arena, packages, &i->pin, i->command.program, &i->package, &i->err);
    return rc;
}

static void on_stored(struct npm_install *i, int rc)
{
    if (rc < 0)
        npm_install_fail(i, rc, i->err.msg);
    else
        npm_install_finish(i);
}

/* Another entry may have installed the same version already. */
static int look_again_work(struct npm_install *i)
{
    const char *packages = i->want.place.package_dir;
    int rc = npm_store_find(&i->arena, packages, &i->pin, i->command.program, &i->package, &i->err);
    if (rc == 0 && !i->is_pinned)
        rc = npm_store_keep_wanted(&i->arena, packages, &i->command, &i->pin, &i->err);
    return rc;
}

static void on_looked_again(struct npm_install *i, int rc)
{
    if (rc == 0 || i->is_cancelled) {
        npm_install_finish(i);
        return;
    }
    err_clear(&i->err);
    progress(i, "installing");
    npm_install_submit(i, plan_install, run_npm);
}

static void begin_install(struct npm_install *i)
{
    npm_install_submit(i, look_again_work, on_looked_again);
}

/* ---- the lock ---- */

static int begin_work(struct npm_install *i)
{
    return npm_store_begin(&i->arena, i->want.place.package_dir, i->command.name, &i->dir, &i->err);
}

static void on_begun(struct npm_install *i, int rc)
{
    if (rc < 0) {
        npm_install_fail(i, rc, i->err.msg);
    } else if (i->is_resolved) {
        begin_install(i);
    } else {
        progress(i, "looking up");
        npm_install_submit(i, plan_view, run_npm);
    }
}

/* Another process may have installed it while this one waited. */
static int lock_work(struct npm_install *i)
{
    const char *packages = i->want.place.package_dir;
    int rc = npm_store_lock(&i->arena, packages, i->command.name, &i->lock_fd, &i->err);
    if (rc < 0)
        return rc;
    if (!i->is_resolved && !i->want.only_resolves &&
        npm_store_wanted(&i->arena, packages, &i->command, &i->pin, &i->err) == 0)
        i->is_resolved = true;
    err_clear(&i->err);
    return 0;
}

static void on_locked(struct npm_install *i, int rc)
{
    if (i->is_cancelled) {
        npm_install_finish(i);
    } else if (rc == -EWOULDBLOCK) {
        err_clear(&i->err);
        progress(i, "waiting for another installation of");
        timer_start(&i->retry, LOCK_RETRY_MS);
    } else if (rc < 0) {
        npm_install_fail(i, rc, i->err.msg);
    } else {
        timer_start(&i->limit, NPM_INSTALL_MS);
        npm_install_submit(i, begin_work, on_begun);
    }
}

static void on_lock_retry(void *ctx)
{
    struct npm_install *i = ctx;
    if (i->is_cancelled)
        npm_install_finish(i);
    else
        npm_install_submit(i, lock_work, on_locked);
}

static void on_npm_limit(void *ctx)
{
    struct npm_install *i = ctx;
    assert(i->lock_fd >= 0); /* waiting for the lock has no limit */
    i->is_too_late = true;
    if (i->child)
        child_kill(i->child, SIGKILL);
}

/* ---- finding an installed version ---- */

static int find_work(struct npm_install *i)
{
    const char *packages = i->want.place.package_dir;
    int rc = 0;
    if (!i->is_resolved) {
        rc = npm_store_wanted(&i->arena, packages, &i->command, &i->pin, &i->err);
        i->is_resolved = rc == 0;
    }
    if (rc == 0)
        rc = npm_store_find(&i->arena, packages, &i->pin, i->command.program, &i->package, &i->err);
    return rc;
}

static void on_npm_found(struct npm_install *i, int rc)
{
    bool may_install = rc == -ENOENT || rc == -EBADMSG;
    if (rc == 0 || i->is_cancelled) {
        npm_install_finish(i);
    } else if (!may_install) {
        npm_install_fail(i, rc, i->err.msg);
    } else {
        err_clear(&i->err);
        npm_install_submit(i, lock_work, on_locked);
    }
}

/* ---- beginning ---- */

struct npm_install *npm_install_start(const struct npm_want *want, const struct npm_events *ev,
                                      void *ctx)
{
    struct npm_install *i = xcalloc(1, sizeof *i);
    arena_init(&i->arena);
    buf_init(&i->out, OUTPUT_MAX);
    buf_init(&i->errors, 2 * ERRORS_MAX);
    i->want = *want;
    i->ev = *ev;
    i->ctx = ctx;
    i->lock_fd = -1;
    i->entry = bundle_entry_copy(&i->arena, want->entry);
    i->pin = (struct npm_pin){arena_str(&i->arena, want->pin.name),
                              arena_str(&i->arena, want->pin.version),
                              arena_str(&i->arena, want->pin.integrity)};
    i->is_pinned = i->is_resolved = want->pin.name.n > 0;
    timer_init(&i->retry, want->loop, on_lock_retry, i);
    timer_init(&i->limit, want->loop, on_npm_limit, i);
    (void)npm_is_wanted(&i->entry, &i->command);
    if (want->only_resolves)
        npm_install_submit(i, lock_work, on_locked);
    else
        npm_install_submit(i, find_work, on_npm_found);
    return i;
}

void npm_install_cancel(struct npm_install *i)
{
    i->is_cancelled = true;
    if (i->child)
        child_stop(i->child, 0, STOP_MS);
    else if (!i->is_busy)
        timer_start(&i->retry, 0);
}
