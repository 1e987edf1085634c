/* bundle_want.h - from an entry to the question that sandbox_plan answers.
 *
 * The one way from an entry (and its package) to a sandbox. The supervisor starts a server with
 * the plan that follows from it, and inspect.h shows the same plan to a person before anything
 * runs. */
#pragma once

#include "bundle/package/resolve.h"
#include "bundle/plan/npm_store.h"
#include "bundle/sandbox/sandbox.h"

struct bundle_place {        /* where the bundles of a workspace live; borrowed */
    const char *data_dir;    /* {workspace}/data */
    const char *package_dir; /* what was downloaded or unpacked */
    const char *work_dir;    /* nb's: never seen */
    const char *home_dir;    /* what ~ means; NULL = HOME */
    const char *own_program; /* nb, the launcher */
};

/* All but program, variables and offer. The entry stays borrowed. */
struct sandbox_want bundle_want(struct arena *a, const struct bundle_entry *entry,
                                const struct bundle_place *place);
/* {workspace}/data/<scope-name> for packages of the registry, the server's name for the rest. */
const char *bundle_data_dir(struct arena *a, const struct bundle_entry *entry, const char *root);

/* What ~ means: home_dir, or HOME when it is NULL. */
const char *bundle_home_dir(const char *home_dir);

int64_t bundle_memory_max(const struct bundle_entry *entry); /* bytes */
int64_t bundle_disk_max(const struct bundle_entry *entry);   /* the same, of its data directory */

void bundle_want_command(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry);
void bundle_want_package(struct arena *a, struct sandbox_want *w, const struct resolved *r);
/* A package of npm: started directly, by node. */
void bundle_want_npm(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                     const struct npm_package *p);
/* The last step: what this machine offers, and the variables that follow from it. */
void bundle_want_offer(struct arena *a, struct sandbox_want *w, const struct bundle_entry *entry,
                       const struct sandbox_offer *offer);
