/* npm_install.h - a package of npm is resolved to an exact version and installed, in a sandbox.
 *
 *   find it -> lock -> find it again -> a new directory -> [npm view] -> npm install -> rename
 *
 * One installer at a time for each package: the others wait for its lock. Whoever is ended in the
 * middle leaves a directory that the next one removes; a version is there as a whole or not at
 * all. npm and the scripts of packages run in a sandbox that can write that directory only, and
 * reach public addresses and the registry that the owner of the machine has set up.
 *
 * Loop thread only, the main one; files are handled on the pool. */
#pragma once

#include "bundle/plan/bundle_want.h"
#include "bundle/plan/npm_store.h"

#define NPM_INSTALL_MS (10u * 60 * 1000) /* for all of it, without waiting for the lock */

struct npm_want { /* copied, but for what the pointers point to: that outlives the installation */
    struct loop *loop;
    struct pool *pool;
    const struct sandbox_offer *offer;
    struct bundle_place place;
    const struct bundle_entry *entry; /* copied */
    struct npm_pin pin;               /* name empty = not pinned: resolved, and kept */
    bool only_resolves;               /* nothing is installed; `dir` need not exist then */
};

struct npm_events {
    /* "looking up X", "installing X@1": for people; n counts what was fetched so far. */
    void (*progress)(void *ctx, const char *what, unsigned n);
    /* Exactly once, never before the call returned. err: NULL on success. Borrowed. */
    void (*done)(void *ctx, const struct npm_package *p, const struct err *err);
};

/* Whether the command of an entry is a package that this can install. */
bool npm_is_wanted(const struct bundle_entry *entry, struct package_command *ret);

struct npm_install *npm_install_start(const struct npm_want *want, const struct npm_events *ev,
                                      void *ctx);
/* Ends it soon; `done` still comes, with -ECANCELED, and never from inside this call. */
void npm_install_cancel(struct npm_install *i);
