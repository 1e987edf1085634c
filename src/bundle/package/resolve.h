/* resolve.h - from an entry of the settings to a command line that can be run.
 *
 * Finds a package of the registry in the cache or downloads it, unpacks an archive, reads the
 * manifest and replaces its variables. Entries with a command or a URL do not need this. Files and
 * archives are read on the pool; `done` is called on the loop thread, exactly once unless
 * cancelled, and never before bundle_resolve has returned. Loop thread only. */
#pragma once

#include "bundle/entry/entry.h"
#include "loop/pool.h"
#include "net/fetch.h"

struct manifest;
struct resolver;
struct resolve; /* in progress; freed after `done` or its cancellation */

struct resolver_conf { /* copied; pointers must outlive the resolver */
    struct loop *loop;
    struct logger *log;
    struct fetcher *fetcher;
    struct pool *pool;
    const char *package_dir;     /* downloaded and unpacked packages */
    const char *credentials_dir; /* values of user_config */
    const char *registry_url;    /* NULL = the public registry */
};

struct resolved { /* valid during the callback */
    /* NULL-terminated. argv[0] is a path or a name to look up in the PATH of the bundle's
     * environment; it never contains a value marked sensitive. */
    const char *const *argv;
    const char *const *env; /* "K=V", NULL-terminated, or NULL; the entry's env takes precedence */
    const char *cwd;        /* NULL = the bundle's data directory */
    const char *dir;        /* its files: readable, never writable */
    /* Directories and files that a person has set in user_config: they may be read. Never a default
     * of the manifest. */
    struct json_strs chosen_paths;
    const struct manifest *manifest;
    int64_t trust_score; /* of the registry; -1 = unknown */
};

/* err: NULL when r is set. -ENOKEY: values of user_config are missing (the message names all of
 * them). -EINVAL: the package is wrong. Neither is retried automatically. Any other failure may be
 * temporary (the registry does not answer, the disk is full). */
typedef void (*resolve_done)(void *ctx, const struct resolved *r, const struct err *err);

struct resolver *resolver_new(const struct resolver_conf *conf);
void resolver_free(struct resolver *s); /* cancels everything in progress; accepts NULL */

/* data_dir: the value of ${DATA_DIR} in a manifest and of MPAK_WORKSPACE. Both are copied. */
struct resolve *bundle_resolve(struct resolver *s, const struct bundle_entry *entry,
                               const char *data_dir, resolve_done done, void *ctx);
void resolve_cancel(struct resolve *r); /* no callback follows */
