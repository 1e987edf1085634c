/* inspect.h - what a bundle would run, and what it could reach, before it is added.
 *
 * One structure, computed by the same steps as a start (bundle_want.h, sandbox_plan): `nb bundle
 * add` prints it and asks, `nb bundle validate` checks with it, and the sandbox enforces the plan
 * in it. Nothing of the bundle is run. Reads files: for pool threads and commands. */
#pragma once

#include "bundle/package/manifest.h"
#include "bundle/plan/bundle_want.h"
#include "bundle/sandbox/sandbox_rules.h"

struct inspect_want {                 /* borrowed */
    const struct bundle_entry *entry; /* not remote */
    const char *package_files;        /* the unpacked files of a package; else NULL */
    const struct json *values;        /* given on the command line; or NULL */
    const struct npm_package *npm;    /* the package of the command; it need not be installed */
    const struct bundle_place *place;
    const char *credentials_dir;
    const struct sandbox_offer *offer;
};

/* A directory or file that a manifest requests. A person has to agree. */
struct bundle_proposal {
    const struct manifest_option *option;
    struct json_strs paths;
};

struct inspection { /* in the arena */
    const struct bundle_entry *entry;
    const struct manifest *manifest; /* NULL = a plain command */
    const struct npm_pin *npm;       /* the npm package that is started, or NULL */
    struct sandbox_plan plan;        /* program, rules, reach, variables */
    const char *cwd;
    const char *data_dir;
    struct bundle_proposal *proposals;
    size_t nproposals;
    struct json_strs missing; /* keys of required values that are not set */
};

/* -EINVAL, -ENOENT: the bundle could not start, with the reason. */
int bundle_inspect(struct arena *a, const struct inspect_want *want, struct inspection *ret,
                   struct err *e);

enum path_right { PATH_HIDDEN, PATH_READ, PATH_WRITE };
const char *path_right_name(enum path_right r);

struct path_grant {
    const char *path;
    enum path_right right;
    const char *why; /* "system", "program", "declared", "package", "data", "secret" */
};

/* All paths of the plan, sorted; if two contain a file, the longer one applies. */
struct path_grant *inspection_paths(struct arena *a, const struct inspection *in, size_t *ret_n);

/* The names of its variables, sorted. */
struct json_strs inspection_variables(struct arena *a, const struct inspection *in);

/* {"name", "command", "args", "cwd", "paths", "network", "variables", "tools", "proposals",
 * "missing", "sandbox"} */
void inspection_write(struct json_writer *w, struct arena *a, const struct inspection *in);
