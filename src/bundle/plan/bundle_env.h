/* bundle_env.h - the environment of a stdio server: an allow-list, never nb's own.
 *
 * Of nb's environment only the variables that programs commonly need are passed on, and those that
 * the entry allows; never keys of nb itself. Then come the package's variables, then the entry's.
 * In a sandbox the home directory is not visible: HOME is then the data directory. */
#pragma once

#include "bundle/entry/entry.h"

struct bundle_env_want {
    const struct bundle_entry *entry;
    const char *const *package_env; /* "K=V", NULL-terminated, or NULL */
    const char *data_dir;
    const char *tmp_dir; /* NULL = as nb's own */
    bool keeps_home;     /* the home directory is visible */
};

/* NULL-terminated "K=V" in the arena. */
const char *const *bundle_env(struct arena *a, const struct bundle_env_want *w);
