/* npm_install.h - resolves a package of npm to an exact version and installs it, in a sandbox.
 *
 *   find it -> lock -> find it again -> a new directory -> [npm view] -> npm install -> rename
 *
 * There is one installer at a time for each package: the others wait for its lock. An installer
 * that is killed leaves a directory that the next one removes; a version is installed completely or
 * not at all. npm and the scripts of packages run in a sandbox that can write only that directory,
 * and reach public addresses and the registry that the owner of the machine has configured.
 *
 * Loop thread only, the main one; files are handled on the pool. */
#pragma once

#include "bundle/plan/bundle_want.h"
#include "bundle/plan/npm_store.h"

#define NPM_INSTALL_MS (10u * 60 * 1000) /* for everything except waiting for the lock */

/* copied, except the objects behind pointers: those must outlive the installation */
struct npm_want {
    struct loop *loop;
    struct pool *pool;
    const struct sandbox_offer *offer;
    struct bundle_place place;
    const struct bundle_entry *entry; /* copied */
    struct npm_pin pin; /* name empty = not pinned: the version is resolved and recorded */
    bool only_resolves; /* install nothing; `dir` need not exist then */
};

struct npm_events {
    /* "looking up X", "installing X@1": for people; n is the number of downloads so far. */
    void (*progress)(void *ctx, const char *what, unsigned n);
    /* Called exactly once, never before npm_install_start has returned. err: NULL on success.
     * Arguments are valid during the callback. */
    void (*done)(void *ctx, const struct npm_package *p, const struct err *err);
};

/* True when the command of an entry is a package that can be installed here. */
bool npm_is_wanted(const struct bundle_entry *entry, struct package_command *ret);

struct npm_install *npm_install_start(const struct npm_want *want, const struct npm_events *ev,
                                      void *ctx);
/* Ends the installation soon; `done` still follows, with -ECANCELED, and never from inside this
 * function. */
void npm_install_cancel(struct npm_install *i);
