/* sandbox_rules.h - what one server may see and change, before it becomes a command line.
 *
 * Read from top to bottom, later lines win: the declared paths, then what is hidden inside
 * them, then its own files. */
#pragma once

#include "bundle/path_list.h"
#include "bundle/sandbox.h"

struct sandbox_rules {
    struct path_list read, write; /* declared */
    struct path_list hide;        /* secrets and nb's work directory, where they would show */
    struct path_list own_read, own_write;
    const char *program; /* where argv[0] is */
    const char *cwd;
    bool network;
};

int sandbox_rules_make(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *ret,
                       struct err *e);
