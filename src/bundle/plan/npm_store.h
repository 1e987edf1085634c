/* npm_store.h - npm packages on disk: each exact version in a directory that never changes.
 *
 *   {package_dir}/_npm/<name>/<version>-<sum>/   package.json, package-lock.json, node_modules,
 *                                                nb-installed.json: the expected files
 *   {package_dir}/_npm/<name>/wanted-<sum>.json  the version that an entry without a pin got
 *   {package_dir}/_npm/<name>/new-<random>/      being installed, or left by a killed installer
 *   {package_dir}/_npm/<name>/lock               held by the one installer
 *
 * A version appears by a rename, completely or not at all. Files that are missing or truncated
 * later are noticed at the next start, and the version is installed again. Blocking: for pool
 * threads and commands. */
#pragma once

#include "base/err.h"
#include "bundle/entry/entry.h"
#include "bundle/entry/package_command.h"

#define NPM_FILES_MAX 500000

struct npm_package {
    struct npm_pin pin;
    const char *dir;
    const char *script; /* the program, an absolute path */
    bool is_direct;     /* executed directly, not by node */
};

/* The path of the version, installed or not. bin: of its package.json. -EINVAL: no such program. */
int npm_store_place(struct arena *a, const char *package_dir, const struct npm_pin *pin,
                    const struct json *bin, str program, struct npm_package *ret, struct err *e);

/* -ENOENT: not installed; -EBADMSG: some of its files are missing or damaged. */
int npm_store_find(struct arena *a, const char *package_dir, const struct npm_pin *pin, str program,
                   struct npm_package *ret, struct err *e);

/* The version that an entry without a pin got; -ENOENT if none. */
int npm_store_wanted(struct arena *a, const char *package_dir, const struct package_command *c,
                     struct npm_pin *ret, struct err *e);
int npm_store_keep_wanted(struct arena *a, const char *package_dir, const struct package_command *c,
                          const struct npm_pin *pin, struct err *e);

/* -EWOULDBLOCK: another process installs this package. close(*ret_fd) releases the lock. */
int npm_store_lock(struct arena *a, const char *package_dir, str name, int *ret_fd, struct err *e);

/* ---- with the lock ---- */

/* Removes directories of killed installers; creates a directory for this one, with "package" in
 * it. */
int npm_store_begin(struct arena *a, const char *package_dir, str name, const char **ret_dir,
                    struct err *e);
/* Writes package.json of {dir}/package. */
int npm_store_want(struct arena *a, const char *dir, const struct npm_pin *pin, struct err *e);
/* After npm has filled {dir}/package: compares it with the pin and makes it the installed
 * version. */
int npm_store_finish(struct arena *a, const char *package_dir, const char *dir,
                     const struct npm_pin *pin, struct err *e);
void npm_store_drop(const char *dir);

/* ---- names and sizes of all files of a directory, in one digest (npm_tree.c) ----
 *
 * Detects files that are missing or truncated; does not detect changed content. Blocking. */

#define NPM_TREE_DEPTH 64

struct npm_tree {
    uint64_t files, bytes;
    char digest[17]; /* hex; does not depend on the order of the files */
};

/* -ENOENT: no such directory; -E2BIG: too many files, or too deep. */
int npm_tree_sum(const char *dir, struct npm_tree *ret, struct err *e);
