/* resolve.h - from an entry of the settings to a command line that can be run.
 *
 * A named bundle is found in the cache or downloaded, an archive is unpacked, a manifest is
 * read and its variables are replaced. Entries with a command or a URL need none of this and
 * are never given to it. Files and archives are read on the pool; `done` comes on the loop
 * thread, exactly once, never before the call returned, unless it is cancelled. Loop thread
 * only. */
#pragma once

#include "bundle/entry/entry.h"
#include "loop/pool.h"
#include "net/fetch.h"

struct resolver;
struct resolve; /* one under way; dies with `done` or its cancellation */

struct resolver_conf { /* copied; pointers outlive the resolver */
    struct loop *loop;
    struct logger *log;
    struct fetcher *fetcher;
    struct pool *pool;
    const char *package_dir;     /* what was downloaded or unpacked */
    const char *credentials_dir; /* values of user_config */
    const char *registry_url;    /* NULL = the public one */
};

struct resolved { /* borrowed for the callback */
    /* NULL-terminated. argv[0] is a path or a name to be looked up in the PATH of the bundle's
     * environment; no value marked sensitive is ever in it. */
    const char *const *argv;
    const char *const *env; /* "K=V", NULL-terminated, or NULL; the entry's own env wins */
    const char *cwd;        /* NULL = the bundle's data directory */
    const char *dir;        /* its files: may be read, never written */
    /* Values of user_config of the types directory and file that a person chose: they may be
     * read. Never a default of the manifest. */
    struct json_strs chosen_paths;
    str version, description, author, title; /* of the manifest; may be empty */
    const struct json *ui;                   /* of the manifest, or NULL */
    bool is_upjack;
    int64_t trust_score; /* of the registry; -1 = unknown */
};

/* err: NULL when r is set. -ENOKEY: values of user_config are missing (the message names them
 * all) and -EINVAL: the package is no good; neither is tried again by itself. Any other code
 * may pass (the registry does not answer, the disk is full). */
typedef void (*resolve_done)(void *ctx, const struct resolved *r, const struct err *err);

struct resolver *resolver_new(const struct resolver_conf *conf);
void resolver_free(struct resolver *s); /* cancels what is left; accepts NULL */

/* data_dir: what ${DATA_DIR} of a manifest and MPAK_WORKSPACE mean. Both are copied. */
struct resolve *bundle_resolve(struct resolver *s, const struct bundle_entry *entry,
                               const char *data_dir, resolve_done done, void *ctx);
void resolve_cancel(struct resolve *r); /* no callback any more */
