/* sandbox_rules.h - what one server may read and write, before it becomes a command line.
 *
 * The one structure that both mechanisms enforce and that people are shown. From top to bottom,
 * later lines take precedence: the declared paths and the program's files, then hidden paths inside
 * them, then the bundle's own two directories, then hidden paths inside those. A bundle gets only
 * what a person has written or chosen. */
#pragma once

#include "bundle/confine/path_list.h"
#include "bundle/sandbox/sandbox.h"

struct sandbox_rules {
    struct path_list read, write;   /* declared, or chosen in its settings (read only) */
    struct path_list program_files; /* read: an interpreter's installation, a person's script */
    struct path_list hide; /* secrets and nb's work directory, where they would be visible */
    struct path_list own_read, own_write; /* package and data directory; declared secrets */
    const char *program;                  /* path of argv[0] */
    const char *cwd;
    bool network;
};

int sandbox_rules_make(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *ret,
                       struct err *e);
