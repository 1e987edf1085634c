/* program_files.h - the files outside the system's directories that a program needs to run.
 *
 * An interpreter installed below a home directory (nvm, pyenv, a virtual environment) needs its
 * whole installation; a script needs its package and the modules beside it. A directory with more
 * than programs is never shown: then only the one file is.
 *
 * A package chooses its own command line, so it gets less: its program is a file of the package or
 * of the system, or an interpreter in the user's PATH. Arguments, links in the package and first
 * lines of its scripts add nothing. */
#pragma once

#include "base/err.h"
#include "bundle/confine/path_list.h"

/* System directories that every server may read. Where a distribution keeps them as links (/bin ->
 * usr/bin) they stay links. NULL-terminated. */
extern const char *const SANDBOX_SYSTEM_DIRS[], *const SANDBOX_SYSTEM_FILES[];
bool path_is_of_system(str path); /* one of these directories, or below one */

struct program_query {
    const char *const *argv, *const *env;
    const char *cwd;
    const char *home_dir, *work_dir;
    const char *package_dir, *data_dir; /* NULL = a person wrote the command line */
    /* paths that it may write: visible anyway, and links in them are not followed, because the
     * server may have created them */
    const struct path_list *writes;
};

/* Adds the paths that must be readable to `ret`; *ret_program is the path of argv[0]. -ENOENT with
 * a message when the program does not exist. Reads the file system: for a pool thread. */
int program_files_find(struct arena *a, const struct program_query *q, struct path_list *ret,
                       const char **ret_program, struct err *e);

/* ---- paths in a home directory that hold keys, tokens and histories (sandbox_secrets.c) ----
 *
 * Hidden from every sandbox that may read their surroundings, unless they are declared themselves.
 * Relative to the home directory; NULL-terminated. */

extern const char *const SANDBOX_SECRETS[];
