/* npm_tree.h - names and sizes of all files of a directory, in one digest.
 *
 * Detects files that are missing or truncated; does not detect changed content. Blocking. */
#pragma once

#include "base/err.h"

#define NPM_TREE_DEPTH 64

struct npm_tree {
    uint64_t files, bytes;
    char digest[17]; /* hex; does not depend on the order of the files */
};

/* -ENOENT: no such directory; -E2BIG: too many files, or too deep. */
int npm_tree_sum(const char *dir, struct npm_tree *ret, struct err *e);
