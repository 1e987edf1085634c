/* package_prepare.h - from the files of a package and its user's values to a command line.
 *
 * The last step of resolving an entry, also used to show a package before it is added. Reads files:
 * for pool threads and commands. */
#pragma once

#include "bundle/package/manifest.h"
#include "bundle/package/resolve.h"
#include "bundle/package/user_config.h"

struct package_use { /* borrowed */
    const struct bundle_entry *entry;
    const char *dir; /* the package's files */
    const char *home_dir, *data_dir, *credentials_dir;
    const struct json *given; /* values that override those of the entry; or NULL */
    bool may_lack_values;     /* missing required values are not an error */
};

struct package_ready { /* `resolved` points into it */
    struct manifest manifest;
    struct user_value *values; /* one for each option of the manifest */
    struct resolved resolved;
};

/* -ENOKEY: required values are missing; -EINVAL: the package is wrong, with the field. */
int package_prepare(struct arena *a, const struct package_use *use, struct package_ready *ret,
                    struct err *e);

/* ---- how the server of a package is started: argv, environment, directory (command_line.c) ----
 *
 * Uses the manifest's own mcp_config if there is one, otherwise the usual command of its type
 * (node, python, binary, uv). A value marked sensitive is passed in the environment, never in
 * argv. Searches programs and files: for pool threads and commands. */

/* Sets argv, env, cwd and chosen_paths. vars: dir, home_dir, data_dir and the values are set.
 * -EINVAL with the field that is wrong. */
int command_line_build(struct arena *a, const struct manifest *m, const struct variables *vars,
                       struct resolved *ret, struct err *e);
