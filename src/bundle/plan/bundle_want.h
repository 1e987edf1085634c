/* bundle_want.h - from an entry to the input of sandbox_plan.
 *
 * This is the only way from an entry (and its package) to a sandbox. The supervisor starts a server
 * with the resulting plan, and inspect.h shows the same plan to a person before anything runs. */
#pragma once

#include "bundle/entry/entry.h"
#include "bundle/package/resolve.h"
#include "bundle/plan/npm_store.h"
#include "bundle/sandbox/sandbox.h"

struct bundle_place {        /* directories of the bundles of a workspace; borrowed */
    const char *data_dir;    /* {workspace}/data */
    const char *package_dir; /* downloaded and unpacked packages */
    const char *work_dir;    /* nb's own: hidden from bundles */
    const char *home_dir;    /* the meaning of ~; NULL = HOME */
    const char *own_program; /* nb, the launcher */
};

/* Sets everything except program, variables and offer. The entry stays borrowed. */
struct sandbox_want bundle_want(struct arena *a, const struct bundle_entry *entry,
                                const struct bundle_place *place);
/* {workspace}/data/<scope-name> for packages of the registry, otherwise the server's name. */
const char *bundle_data_dir(struct arena *a, const struct bundle_entry *entry, const char *root);

/* {workspace}/data/.inbox/<the same>: beside the data directories, because it is read-only. */
const char *bundle_inbox_dir(struct arena *a, const struct bundle_entry *entry, const char *root);

/* The meaning of ~: home_dir, or HOME when it is NULL. */
const char *bundle_home_dir(const char *home_dir);

int64_t bundle_memory_max(const struct bundle_entry *entry); /* bytes */
int64_t bundle_disk_max(const struct bundle_entry *entry);   /* bytes, for its data directory */

void bundle_want_command(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry);
void bundle_want_package(struct arena *a, struct sandbox_want *w, const struct resolved *r);
/* A package of npm, which node starts directly. */
void bundle_want_npm(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                     const struct npm_package *p);
/* The last step: sets what this machine offers, and the variables that depend on it. */
void bundle_want_offer(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                       const struct sandbox_offer *offer);

/* ---- the environment of a stdio server: an allow-list, never nb's own (bundle_env.c) ----
 *
 * Of nb's environment only the variables that programs commonly need are passed on, and those that
 * the entry allows; never keys of nb itself. Then come the package's variables, then the entry's.
 * In a sandbox the home directory is not visible: HOME is then the data directory. */

struct bundle_env_want {
    const struct bundle_entry *entry;
    const char *const *package_env; /* "K=V", NULL-terminated, or NULL */
    const char *data_dir;
    const char *tmp_dir; /* NULL = as nb's own */
    bool keeps_home;     /* the home directory is visible */
};

/* NULL-terminated "K=V" in the arena. */
const char *const *bundle_env(struct arena *a, const struct bundle_env_want *w);
