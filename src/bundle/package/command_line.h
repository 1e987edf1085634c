/* command_line.h - how the server of a package is started: argv, environment, directory.
 *
 * Uses the manifest's own mcp_config if there is one, otherwise the usual command of its type
 * (node, python, binary, uv). A value marked sensitive is passed in the environment, never in argv.
 * Searches programs and files: for pool threads and commands. */
#pragma once

#include "bundle/package/manifest.h"
#include "bundle/package/substitute.h"
#include "bundle/package/user_config.h"

struct command_line {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* "K=V", NULL-terminated */
    const char *cwd;
    struct json_strs chosen_paths; /* directories and files that a person has chosen */
};

/* vars: dir, home_dir, data_dir and the values are set. -EINVAL with the field that is wrong. */
int command_line_build(struct arena *a, const struct manifest *m, const struct variables *vars,
                       struct command_line *ret, struct err *e);
