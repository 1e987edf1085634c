#include "bundle/package/resolve.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/list.h"
#include "bundle/entry/entry.h"
#include "bundle/package/archive.h"
#include "bundle/package/download.h"
#include "bundle/package/mpak.h"
#include "bundle/package/package.h"
#include "bundle/package/package_prepare.h"

/* The steps for one entry: files (pool) -> registry (loop) -> download -> files (pool) -> done.
 * Most entries skip the steps in the middle. */

struct resolver {
    struct resolver_conf conf;
    struct mpak_conf mpak;
    const char *home_dir;
    struct list_node running;
};

struct resolve {
    struct list_node node;
    struct resolver *owner; /* not used by pool threads */
    struct resolver_conf conf;
    const char *home_dir, *data_dir;
    struct bundle_entry entry;
    struct arena arena;
    resolve_done done;
    void *ctx;
    bool is_cancelled;

    struct mpak_call *asked;
    struct download *download;
    bool is_busy; /* a job runs on the pool and owns the members below */
    struct job job;
    struct package package; /* for packages of the registry */
    str url;                /* of the archive */
    const char *archive;    /* downloaded */
    const char *dir;        /* the bundle's files, when known */
    struct resolved result;
    struct err err;
};

static void resolve_free(struct resolve *r)
{
    assert(!r->is_busy);
    list_del(&r->node);
    arena_done(&r->arena);
    free(r);
}

static void resolve_finish(struct resolve *r)
{
    assert(!r->is_cancelled);
    bool is_fine = r->err.code == 0;
    r->done(r->ctx, is_fine ? &r->result : NULL, is_fine ? NULL : &r->err);
    resolve_free(r);
}

static void resolve_submit(struct resolve *r, void (*work)(struct job *j),
                           void (*done)(struct job *j))
{
    assert(!r->is_busy && !r->is_cancelled);
    r->is_busy = true;
    pool_run(r->conf.pool, &r->job, work, done);
}

/* The job has ended; NULL when the resolve was cancelled. */
static struct resolve *back(struct job *j)
{
    struct resolve *r = CONTAINER_OF(j, struct resolve, job);
    r->is_busy = false;
    assert(!r->asked && !r->download);
    if (!r->is_cancelled)
        return r;
    resolve_free(r);
    return NULL;
}

/* ---- the last step: what to run (pool thread) ---- */

static int resolve_prepare(struct resolve *r)
{
    struct package_use use = {
        .entry = &r->entry,
        .dir = r->dir,
        .home_dir = r->home_dir,
        .data_dir = r->data_dir,
        .credentials_dir = r->conf.credentials_dir,
    };
    struct package_ready *ready = ARENA_NEW(&r->arena, struct package_ready);
    int rc = package_prepare(&r->arena, &use, ready, &r->err);
    if (rc < 0)
        return rc;
    r->result = ready->resolved;
    r->result.trust_score = r->package.trust_score;
    return 0;
}

static void prepare_work(struct job *j)
{
    struct resolve *r = CONTAINER_OF(j, struct resolve, job);
    r->dir = r->package.dir;
    (void)resolve_prepare(r); /* it stores the error */
}

static void prepared(struct job *j)
{
    struct resolve *r = back(j);
    if (r)
        resolve_finish(r);
}

/* ---- a path ---- */

static void local_work(struct job *j)
{
    struct resolve *r = CONTAINER_OF(j, struct resolve, job);
    const char *path = arena_cstr(&r->arena, r->entry.path);
    struct stat st;
    int rc = 0;
    if (stat(path, &st) < 0)
        rc = err_errno(&r->err, -errno, "cannot find", path);
    else if (S_ISDIR(st.st_mode))
        r->dir = path;
    else
        rc = package_of_archive(&r->arena, r->conf.package_dir, path, &r->dir, &r->err);
    if (rc == 0)
        (void)resolve_prepare(r);
}

/* ---- a name: what is there ---- */

/* A cached version is used until a person asks for another version (nb bundle update): the registry
 * is asked only for missing packages. */
static bool is_cached(const struct resolve *r)
{
    str wanted = r->entry.version;
    return r->package.dir && (wanted.n == 0 || str_eq(wanted, r->package.version));
}

static void cache_work(struct job *j)
{
    struct resolve *r = CONTAINER_OF(j, struct resolve, job);
    int rc = package_find(&r->arena, r->conf.package_dir, r->entry.name, &r->package, &r->err);
    if (rc == 0 && !is_cached(r))
        (void)package_download_path(&r->arena, r->conf.package_dir, r->entry.name, &r->archive,
                                    &r->err);
}

/* ---- a name: what the registry has ---- */

static void install_work(struct job *j)
{
    struct resolve *r = CONTAINER_OF(j, struct resolve, job);
    if (package_install(&r->arena, r->conf.package_dir, r->archive, &r->package, &r->err) == 0)
        prepare_work(j);
}

static void downloaded(void *ctx, const struct err *err)
{
    struct resolve *r = ctx;
    r->download = NULL;
    if (err) {
        r->err = *err;
        err_prefix(&r->err, "cannot download %.*s", STR_ARG(r->entry.name));
        resolve_finish(r);
        return;
    }
    resolve_submit(r, install_work, prepared);
}

static void start_download(struct resolve *r, str url)
{
    assert(r->archive && !r->download && !r->asked && !r->is_busy);
    struct download_spec spec = {
        .pool = r->conf.pool,
        .fetcher = r->conf.fetcher,
        .url = url,
        .fetch_flags = mpak_fetch_flags(&r->owner->mpak, url),
        .path = r->archive,
        .bytes_max = ARCHIVE_BYTES_MAX,
    };
    log_info(r->conf.log, "bundle", "%.*s: downloading %.*s", STR_ARG(r->entry.server_name),
             STR_ARG(r->package.version));
    r->download = download_start(&spec, downloaded, r);
}

/* The download answer need not contain the trust score, so the bundle's page is read too. If the
 * page does not have it, or cannot be read, the score is unknown. */
static void scored(void *ctx, const struct json *result, const struct err *err)
{
    struct resolve *r = ctx;
    r->asked = NULL;
    if (!err) {
        const struct json *bundle = json_get(result, "bundle");
        r->package.trust_score = mpak_trust_score(json_is(bundle, JSON_OBJECT) ? bundle : result);
    }
    start_download(r, r->url);
}

static void located(void *ctx, const struct json *result, const struct err *err)
{
    struct resolve *r = ctx;
    r->asked = NULL;
    if (err) {
        r->err = *err;
        resolve_finish(r);
        return;
    }
    const struct json *bundle = json_get(result, "bundle");
    str version = json_get_string(bundle, "version"), sha = json_get_string(bundle, "sha256");
    r->package = (struct package){
        .name = r->entry.name,
        .version = arena_str(&r->arena, version),
        .sha256 = arena_str(&r->arena, sha),
        .trust_score = mpak_trust_score(bundle),
    };
    r->url = arena_str(&r->arena, json_get_string(result, "url"));
    if (r->package.trust_score >= 0)
        start_download(r, r->url);
    else
        r->asked = mpak_info(&r->owner->mpak, r->entry.name, scored, r);
}

static void cache_looked_up(struct job *j)
{
    struct resolve *r = back(j);
    if (!r)
        return;
    if (r->err.code < 0)
        resolve_finish(r);
    else if (!is_cached(r))
        r->asked = mpak_locate(&r->owner->mpak, r->entry.name, r->entry.version, located, r);
    else
        resolve_submit(r, prepare_work, prepared);
}

/* ---- life ---- */

struct resolver *resolver_new(const struct resolver_conf *conf)
{
    struct resolver *s = xcalloc(1, sizeof *s);
    s->conf = *conf;
    s->mpak = (struct mpak_conf){conf->fetcher, conf->registry_url};
    s->home_dir = getenv("HOME");
    list_init(&s->running);
    return s;
}

void resolver_free(struct resolver *s)
{
    struct list_node *n;
    if (!s)
        return;
    while ((n = list_pop(&s->running)) != NULL)
        resolve_cancel(LIST_ENTRY(n, struct resolve, node));
    free(s);
}

struct resolve *bundle_resolve(struct resolver *s, const struct bundle_entry *entry,
                               const char *data_dir, resolve_done done, void *ctx)
{
    assert(entry->kind == BUNDLE_NAMED || entry->kind == BUNDLE_LOCAL);
    struct resolve *r = xcalloc(1, sizeof *r);
    arena_init(&r->arena);
    r->owner = s;
    r->conf = s->conf;
    /* A cancelled job may outlive the resolver and the strings of its settings. */
    r->conf.package_dir = arena_cstr(&r->arena, str_from(s->conf.package_dir));
    r->conf.credentials_dir = arena_cstr(&r->arena, str_from(s->conf.credentials_dir));
    r->home_dir = s->home_dir;
    r->data_dir = arena_cstr(&r->arena, str_from(data_dir));
    r->entry = bundle_entry_copy(&r->arena, entry);
    r->package.trust_score = -1;
    r->done = done;
    r->ctx = ctx;
    list_push(&s->running, &r->node);
    if (entry->kind == BUNDLE_LOCAL)
        resolve_submit(r, local_work, prepared);
    else
        resolve_submit(r, cache_work, cache_looked_up);
    return r;
}

void resolve_cancel(struct resolve *r)
{
    if (r->asked)
        mpak_cancel(r->asked);
    if (r->download)
        download_cancel(r->download);
    if (!r->is_busy) {
        resolve_free(r);
        return;
    }
    r->is_cancelled = true;
    list_del(&r->node); /* the resolver may be freed before the job has ended */
}
