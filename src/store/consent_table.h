/* consent_table.h - permanent permissions that several servers share (runtime/consent.h has them in
 * memory, and in a file if there is one server).
 *
 * Every server has a copy of the rows of its open workspaces, which is compared with the table
 * every two seconds: a permission that was removed on another server may still count for as long.
 * Loop thread, unless a function says otherwise. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"

struct consent_row {
    str user_id; /* empty = everybody in the workspace */
    str tool;
};

struct consent_edit {
    struct consent_row row;
    bool is_removal;
};

struct consent_watch { /* embedded */
    struct list_node node;
    str workspace_id; /* borrowed while it watches */
    /* All rows of the workspace, when any of any workspace have changed. False: they cannot be used
     * now, and are wanted again. */
    bool (*on_rows)(void *ctx, const struct consent_row *rows, size_t n);
    void *ctx;
};

struct consent_write { /* embedded; lives until `done` */
    struct list_node node;
    str workspace_id;
    const struct consent_edit *edits; /* borrowed; may be repeated */
    size_t n;
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
};

struct consent_table {
    /* Reads the rows now and calls on_rows before it returns; then it watches. Blocking. */
    int (*watch)(struct consent_table *t, struct consent_watch *w, struct err *e);
    /* Stores the edits, in the order of the calls; `done` is never called before it returns. */
    void (*write)(struct consent_table *t, struct consent_write *w);
};
