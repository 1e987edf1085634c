/* command_line.h - how the server of a package is started: argv, environment, directory.
 *
 * Takes the manifest's own words where there are some, else what is usual for its type (node,
 * python, binary, uv). A value marked sensitive reaches the environment, never argv. Looks
 * for programs and files, so: pool threads and commands. */
#pragma once

#include "bundle/package/manifest.h"
#include "bundle/package/substitute.h"
#include "bundle/package/user_config.h"

struct command_line {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* "K=V", NULL-terminated */
    const char *cwd;
    struct json_strs chosen_paths; /* directories and files that a person chose */
};

/* vars: dir, home_dir, data_dir and the values are set. -EINVAL with the field that is wrong. */
int command_line_build(struct arena *a, const struct manifest *m, const struct variables *vars,
                       struct command_line *ret, struct err *e);
