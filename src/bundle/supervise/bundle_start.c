/* bundle_start.c - one attempt to start: from an entry to a connection.
 *
 *   package:  resolve the package -> probe the sandbox -> plan the command line (pool) -> dial
 *   npx:      probe the sandbox -> install the package unless it is installed -> plan -> dial
 *   remote:   fetch the token -> dial
 *
 * start_cancel gives the attempt up at any point: s->bundle becomes NULL, and the bundle may be
 * freed. A job on the pool, an installation and a token request still run to their end; the attempt
 * frees its own memory then. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bundle/bash/bash_server.h"
#include "bundle/confine/cgroup.h"
#include "bundle/confine/process_usage.h"
#include "bundle/oauth/token.h"
#include "bundle/package/manifest.h"
#include "bundle/plan/npm_install.h"
#include "bundle/settings/plain_secrets.h"
#include "bundle/supervise/bundle_impl.h"
#include "os/dir.h"
#include "os/file.h"

struct start {
    struct bundle *bundle; /* NULL after start_cancel */
    struct bundles *set;
    struct arena arena;
    struct resolve *resolve;
    struct token_get *token;
    struct npm_install *install;
    struct sandbox_waiter waiter;
    struct job job;
    bool is_planning;              /* a job runs on the pool */
    void (*next)(struct start *s); /* after the job */

    struct bundle_entry entry; /* a copy, because the pool reads it */
    struct sandbox_want want;
    struct sandbox_plan plan;
    int rc;
    struct err err;
};

static void start_free(struct start *s)
{
    struct bundles *set = s->set;
    if (s->want.cgroup)
        cgroup_remove(s->want.cgroup);
    assert(set->nstarts > 0 && !s->is_planning && !s->token && !s->install);
    set->nstarts--;
    arena_done(&s->arena);
    free(s);
    defer_start(set->conf.loop, &set->sweep);
}

/* The attempt failed before there was a connection. */
static void give_up(struct start *s)
{
    struct bundle *b = s->bundle;
    assert(b && b->start == s && s->err.code < 0);
    struct err err = s->err;
    b->start = NULL;
    start_free(s);
    supervise_failed(b, &err, false);
}

/* A step is over: true when that ends the attempt, false when it continues. */
static bool did_end(struct start *s, const struct err *err)
{
    if (s->bundle && !err)
        return false;
    if (!s->bundle) {
        start_free(s);
        return true;
    }
    s->err = *err;
    give_up(s);
    return true;
}

/* ---- the connection ---- */

static unsigned fetch_flags_of(const struct bundle *b)
{
    return bundle_entry_fetch_flags(&b->entry, b->set->conf.allow_insecure_remotes);
}

/* The dial lives as long as the connection, because private connections use it too. */
static void dial_remote(struct bundle *b, const struct bundle_entry *e)
{
    struct arena *a = &b->dial_arena;
    struct fetch_header *headers = arena_array(a, e->nheaders, sizeof(*headers));
    for (size_t i = 0; i < e->nheaders; i++)
        headers[i] = (struct fetch_header){arena_str(a, e->headers[i].key),
                                           arena_str(a, e->headers[i].value)};
    b->dial = (struct mcp_dial){
        .wire = e->is_sse ? MCP_WIRE_SSE : MCP_WIRE_HTTP,
        .url = arena_str(a, e->url),
        .headers = headers,
        .nheaders = e->nheaders,
        .fetch_flags = fetch_flags_of(b),
        .reconnect = {.initial_ms = (uint64_t)e->reconnect_initial_ms,
                      .max_ms = (uint64_t)e->reconnect_max_ms,
                      .max_tries = (unsigned)e->reconnect_tries},
    };
}

static void dial_child(struct bundle *b, struct start *s)
{
    static const char *const BASH_ENV[] = {BASH_SPEC_VARIABLE, NULL};
    struct arena *a = &b->dial_arena;
    bool is_bash = s->entry.kind == BUNDLE_BUILT_IN;
    const char *const bash[] = {s->want.own_program, "mcp", "bash", NULL};
    b->dial = (struct mcp_dial){
        .wire = MCP_WIRE_STDIO,
        .child = {.argv = arena_cstrs(a, is_bash ? bash : s->plan.argv),
                  .env = is_bash ? BASH_ENV : NULL,
                  .cwd = arena_cstr(a, str_from(s->plan.cwd)),
                  .message = arena_str(a, s->plan.message)},
    };
    b->facts.sandbox = arena_str(&b->facts.arena, s->plan.description);
    assert(!b->cgroup); /* that of the connection before was removed with it */
    b->cgroup = s->want.cgroup ? str_dup(str_from(s->want.cgroup)) : NULL;
    s->want.cgroup = NULL; /* from now on it belongs to the connection */
}

static void open_connection(struct start *s)
{
    struct bundle *b = s->bundle;
    assert(b && b->start == s && !b->connections);
    arena_reset(&b->dial_arena);
    if (s->entry.kind == BUNDLE_REMOTE)
        dial_remote(b, &s->entry);
    else
        dial_child(b, s);
    b->dial.era = b->era;
    b->start = NULL;
    start_free(s);
    b->connections = connections_open(b->set->conf.loop, b->set->conf.fetcher, &b->dial, &b->host,
                                      &SUPERVISE_EVENTS, b);
}

/* ---- planning ---- */

struct bundle_place start_place(const struct bundles_conf *c)
{
    return (struct bundle_place){
        .data_dir = c->data_dir,
        .package_dir = c->package_dir,
        .work_dir = c->work_dir,
        .home_dir = c->home_dir,
        .own_program = c->own_program,
    };
}

static int make_directory(const char *path, struct err *e)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(e, -errno, "cannot create its data directory %s: %s", path,
                       err_reason(-errno));
    return 0;
}

/* Each command of the bash bundle gets its own leaf: the bash server creates them. */
static const char *make_cgroup(struct start *s)
{
    struct cgroup_limits limits = {bundle_memory_max(&s->entry), PROCESS_TASKS_MAX};
    if (s->entry.kind == BUNDLE_BUILT_IN)
        return cgroup_make_group(&s->arena, &CGROUP_SYSTEM, s->entry.server_name);
    return cgroup_make(&s->arena, &CGROUP_SYSTEM, s->entry.server_name, &limits);
}

/* Removes the files that calls left when nb was killed. Newer ones belong to calls that wait for
 * this start. */
static void clean_inbox(const struct start *s, const char *inbox)
{
    struct stat st;
    DIR_EACH (d, inbox) {
        if (fstatat(dir_fd(&d), d.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (int64_t)st.st_mtim.tv_sec * 1000 + 1000 < s->set->made_ms)
            (void)dir_remove_tree(dir_fd(&d), d.name, 1);
    }
}

static int make_inbox(struct start *s)
{
    const char *root = s->set->conf.data_dir;
    if (s->entry.kind == BUNDLE_BUILT_IN)
        return 0;
    s->want.inbox_dir = bundle_inbox_dir(&s->arena, &s->entry, root);
    int r = file_make_dirs(s->want.inbox_dir, &s->err);
    if (r == 0)
        clean_inbox(s, s->want.inbox_dir);
    return r;
}

static void plan_work(struct job *j)
{
    struct start *s = CONTAINER_OF(j, struct start, job);
    s->rc = make_directory(s->set->conf.data_dir, &s->err);
    if (s->rc == 0)
        s->rc = make_directory(s->want.data_dir, &s->err);
    if (s->rc == 0)
        s->rc = make_inbox(s);
    if (s->rc == 0 && s->want.offer->kind == SANDBOX_LANDLOCK)
        s->rc = make_directory(arena_printf(&s->arena, "%s/tmp", s->want.data_dir).p, &s->err);
    if (s->rc == 0)
        s->want.cgroup = make_cgroup(s);
    if (s->rc == 0)
        s->rc = sandbox_plan(&s->arena, &s->want, &s->plan, &s->err);
}

static void work_done(struct job *j)
{
    struct start *s = CONTAINER_OF(j, struct start, job);
    assert(s->is_planning && !s->token && !s->install && !s->resolve);
    s->is_planning = false;
    if (!did_end(s, s->rc < 0 ? &s->err : NULL))
        s->next(s);
}

static void run_work(struct start *s, void (*work)(struct job *j), void (*next)(struct start *s))
{
    s->next = next;
    s->is_planning = true;
    pool_run(s->set->conf.pool, &s->job, work, work_done);
}

static void plan(struct start *s, const struct sandbox_offer *offer)
{
    assert(s->bundle && !s->is_planning && !s->install && !s->resolve && !s->token);
    bundle_want_offer(&s->arena, &s->want, &s->entry, offer);
    run_work(s, plan_work, open_connection);
}

/* ---- packages of npm ---- */

static void on_install_progress(void *ctx, const char *what, unsigned fetched)
{
    struct start *s = ctx;
    if (s->bundle)
        supervise_state(s->bundle, BUNDLE_STARTING, what);
}

static void on_npm_installed(void *ctx, const struct npm_package *p, const struct err *err)
{
    struct start *s = ctx;
    s->install = NULL;
    assert(!s->is_planning && !s->resolve);
    if (did_end(s, err))
        return;
    struct bundle_facts *f = &s->bundle->facts;
    f->version = arena_str(&f->arena, p->pin.version);
    bundle_want_npm(&s->arena, &s->want, &s->entry, p);
    supervise_state(s->bundle, BUNDLE_STARTING, "");
    plan(s, s->want.offer);
}

/* Usually the package is installed, and this only checks it. An entry without a pin, or with
 * damaged files, is installed now. */
static void install_npm(struct start *s, const struct sandbox_offer *offer)
{
    static const struct npm_events EVENTS = {on_install_progress, on_npm_installed};
    assert(s->bundle && !s->install && !s->is_planning);
    const struct bundles_conf *c = &s->set->conf;
    s->want.offer = offer;
    struct npm_want want = {
        .loop = c->loop,
        .pool = c->pool,
        .offer = offer,
        .place = start_place(c),
        .entry = &s->entry,
        .pin = s->entry.pinned,
    };
    s->install = npm_install_start(&want, &EVENTS, s);
}

static void on_offer(void *ctx, const struct sandbox_offer *offer)
{
    struct start *s = ctx;
    struct package_command c;
    if (npm_is_wanted(&s->entry, &c))
        install_npm(s, offer);
    else
        plan(s, offer);
}

/* ---- the command to run ---- */

/* In a terminal bash works in the user's directory; on a server it works in its data directory. The
 * plan is that of one command: the bash server is nb itself and creates a sandbox for each call. */
static void set_built_in(struct start *s)
{
    static const char *const SHELL[] = {"/bin/sh", NULL};
    const struct bundles_conf *conf = &s->set->conf;
    s->want.argv = SHELL;
    s->want.reads_home = conf->home_dir && conf->project_dir;
    s->want.project_dir = s->want.reads_home ? conf->project_dir : NULL;
    s->want.cwd = s->want.project_dir;
}

static void look_for_sandbox(struct start *s)
{
    s->waiter = (struct sandbox_waiter){.fn = on_offer, .ctx = s};
    sandbox_probe_ask(s->set->probe, &s->waiter);
}

static void learn_package(struct bundle *b, const struct resolved *r)
{
    struct bundle_facts *f = &b->facts;
    const struct manifest *m = r->manifest;
    f->version = arena_str(&f->arena, m->version);
    f->description = arena_str(&f->arena, m->description);
    f->author = arena_str(&f->arena, m->author);
    f->title = arena_str(&f->arena, m->title);
    f->ui = m->ui ? json_clone(&f->arena, m->ui) : NULL;
    f->is_upjack = m->is_upjack;
    f->trust_score = r->trust_score;
}

static void on_resolved(void *ctx, const struct resolved *r, const struct err *err)
{
    struct start *s = ctx;
    s->resolve = NULL;
    assert(s->bundle && !s->is_planning && !s->install); /* a cancelled resolve does not call */
    if (did_end(s, err))
        return;
    learn_package(s->bundle, r);
    bundle_want_package(&s->arena, &s->want, r);
    look_for_sandbox(s);
}

static void resolve_package(struct start *s)
{
    struct bundles *set = s->set;
    const struct bundles_conf *c = &set->conf;
    if (!set->resolver) {
        struct resolver_conf conf = {c->loop,        c->log,         c->fetcher,
                                     c->pool,        c->package_dir, c->credentials_dir,
                                     c->registry_url};
        set->resolver = resolver_new(&conf);
    }
    s->resolve = bundle_resolve(set->resolver, &s->entry, s->want.data_dir, on_resolved, s);
}

/* ---- beginning and cancelling ---- */

static void forget_package(struct bundle *b)
{
    struct arena kept = b->facts.arena;
    arena_reset(&kept);
    b->facts = (struct bundle_facts){.arena = kept, .trust_score = -1};
}

static void add_token(struct start *s, str token)
{
    struct bundle_entry *e = &s->entry;
    struct bundle_pair *headers =
        arena_copy(&s->arena, e->headers, e->nheaders, e->nheaders + 1, sizeof(*headers));
    headers[e->nheaders++] = (struct bundle_pair){
        STR("Authorization"), arena_printf(&s->arena, "Bearer %.*s", STR_ARG(token))};
    e->headers = headers;
}

static void on_token(void *ctx, str token, const struct err *err)
{
    struct start *s = ctx;
    s->token = NULL;
    assert(!s->is_planning && !s->resolve && !s->install);
    if (s->bundle)
        s->bundle->lacks_token = err && (err->code == -ENOKEY || err->code == -EACCES);
    if (did_end(s, err))
        return;
    s->bundle->is_token_refused = s->bundle->wants_rights = false;
    bundle_keep_token(s->bundle, token);
    add_token(s, token);
    open_connection(s);
}

static void start_remote(struct start *s)
{
    const struct bundles_conf *c = &s->set->conf;
    if (bundle_entry_check_url(&s->entry, c->allow_insecure_remotes, &s->err) < 0) {
        give_up(s);
        return;
    }
    if (!s->entry.oauth.is_on) {
        open_connection(s);
        return;
    }
    struct token_want want = {
        .loop = c->loop,
        .fetcher = c->fetcher,
        .pool = c->pool,
        .queue = &s->set->tokens,
        .credentials_dir = bundle_token_dir(s->bundle, &s->arena),
        .slug = bundle_token_slug(s->bundle, &s->arena),
        .server_name = s->entry.server_name,
        .url = s->entry.url,
        .fetch_flags = fetch_flags_of(s->bundle),
        .refused =
            s->bundle->is_token_refused && s->bundle->token ? str_from(s->bundle->token) : STR_NONE,
    };
    s->token = token_get(&want, on_token, s);
}

static void begin_kind(struct start *s)
{
    switch (s->entry.kind) {
    case BUNDLE_REMOTE:
        start_remote(s);
        return;
    case BUNDLE_COMMAND:
        bundle_want_command(&s->arena, &s->want, &s->entry);
        look_for_sandbox(s);
        return;
    case BUNDLE_BUILT_IN:
        set_built_in(s);
        look_for_sandbox(s);
        return;
    case BUNDLE_NAMED:
    case BUNDLE_LOCAL:
        resolve_package(s);
        return;
    }
}

/* ---- secrets of the entry ---- */

static void unseal_work(struct job *j) /* pool thread */
{
    struct start *s = CONTAINER_OF(j, struct start, job);
    s->rc = plain_secrets_unseal(&s->arena, s->set->conf.credentials_dir, &s->entry, &s->err);
}

void start_begin(struct bundle *b)
{
    assert(!b->start && !b->connections);
    struct start *s = xcalloc(1, sizeof(*s));
    s->bundle = b;
    s->set = b->set;
    s->set->nstarts++;
    list_init(&s->waiter.node);
    b->start = s;
    s->entry = bundle_entry_copy(&s->arena, &b->entry);
    struct bundle_place place = start_place(&s->set->conf);
    s->want = bundle_want(&s->arena, &s->entry, &place);
    forget_package(b);
    if (plain_secrets_has_marks(&s->entry))
        run_work(s, unseal_work, begin_kind);
    else
        begin_kind(s);
}

void start_cancel(struct bundle *b)
{
    struct start *s = b->start;
    if (!s)
        return;
    assert(s->bundle == b);
    b->start = NULL;
    s->bundle = NULL;
    if (s->resolve)
        resolve_cancel(s->resolve);
    s->resolve = NULL;
    if (s->token)
        token_cancel(s->token);
    sandbox_probe_forget(&s->waiter);
    if (s->install)
        npm_install_cancel(s->install);
    if (!s->is_planning && !s->token && !s->install)
        start_free(s);
}
