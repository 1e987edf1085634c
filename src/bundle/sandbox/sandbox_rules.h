/* sandbox_rules.h - what one server may see and change, before it becomes a command line.
 *
 * The one structure that both mechanisms enforce and that people are shown. Read from top to
 * bottom, later lines win: the declared paths and the program's files, then what is hidden
 * inside them, then its own two directories, then what is hidden inside those. A bundle gets
 * nothing from a line that a person did not write or choose. */
#pragma once

#include "bundle/confine/path_list.h"
#include "bundle/sandbox/sandbox.h"

struct sandbox_rules {
    struct path_list read, write;   /* declared, or chosen in its settings (read only) */
    struct path_list program_files; /* read: an interpreter's installation, a person's script */
    struct path_list hide;          /* secrets and nb's work directory, where they would show */
    struct path_list own_read, own_write; /* package and data directory; declared secrets */
    const char *program;                  /* where argv[0] is */
    const char *cwd;
    bool network;
};

int sandbox_rules_make(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *ret,
                       struct err *e);
