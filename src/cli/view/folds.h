/* folds.h - what the chat shows folded: results of tools, changes of files, thoughts.
 *
 * Each has a number, which is shown beside it, until newer ones have taken its place. The texts are
 * foreign. One owner. */
#pragma once

#include "base/buf.h"

#define FOLDS_MAX       100                 /* that are kept, */
#define FOLD_BYTES_MAX  (1024u * 1024)      /* each with so much text, */
#define FOLDS_BYTES_MAX (16u * 1024 * 1024) /* and all together */

struct fold {
    size_t number; /* from 1 */
    bool is_diff;  /* the text is one (view/diff_lines.h) */
    char *title;   /* owned, as the text */
    char *text;
    size_t n, left_out; /* bytes of the text, and behind it */
};

struct folds {
    struct fold items[FOLDS_MAX]; /* oldest first */
    size_t n, bytes, last;        /* last: the newest number */
};

void folds_done(struct folds *f);
size_t folds_add(struct folds *f, str title, str text, bool is_diff); /* its number */
/* 0 = the newest one; NULL when there is none. */
const struct fold *folds_find(const struct folds *f, size_t number);
