/* history.h - earlier input lines, in memory and in a file.
 *
 * One entry per line of the file; line feeds inside an entry are written as \n, backslashes as
 * \\. Only the user can read the file. New entries are appended immediately, so that several
 * terminals share it; it is rewritten when it has grown to twice the limit. Reading and writing
 * block, but only for a small local file. */
#pragma once

#include "base/err.h"

#define HISTORY_MAX       1000
#define HISTORY_ENTRY_MAX (64u * 1024) /* longer entries are not stored */

struct history {
    char *entries[HISTORY_MAX]; /* oldest first */
    size_t len;
    char *path; /* NULL: not stored in a file */
};

/* path may be NULL. A missing file is an empty history; -errno when it cannot be read. */
int history_init(struct history *h, const char *path);
void history_done(struct history *h);

/* Ignores empty text and a repetition of the latest entry. */
int history_add(struct history *h, str text);
/* The newest entry before `before` that contains needle; start with h->len; -1 = none. */
ptrdiff_t history_search(const struct history *h, str needle, size_t before);
