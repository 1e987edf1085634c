/* file_table.h - the files of all workspaces, where several servers share them.
 *
 * The table is the truth about who gave which file, and has the bytes; each server has a directory
 * (library.h) with copies of those that were used there lately. The rules are those of library.h:
 * bytes stay while a conversation names them, and for LIBRARY_KEEP_MS after somebody gave them. All
 * functions block, and may be called by several pool threads. */
#pragma once

#include "attach/library.h"

struct file_table;

struct file_put {
    str workspace_id, sha256;
    str user_id;                 /* who gave it; empty: nb made it of a file */
    const struct attached *what; /* of a file that nb made: its size */
    const char *path;            /* of the bytes */
    uint64_t quota;              /* of the workspace; -EDQUOT */
};

struct file_table {
    /* *ret_total: the bytes of all files of the workspace. */
    int (*put)(struct file_table *t, const struct file_put *put, uint64_t *ret_total,
               struct err *e);
    /* As library_find, library_list. */
    int (*find)(struct file_table *t, struct arena *a, str workspace_id, str user_id, str sha256,
                struct attached *ret, struct err *e);
    int (*list)(struct file_table *t, struct arena *a, str workspace_id, str user_id,
                struct attached **ret, size_t *ret_n, struct err *e);
    /* Writes the bytes to fd; the caller compares their hash. -ENOENT: there are none. */
    int (*fetch)(struct file_table *t, str workspace_id, str sha256, int fd, struct err *e);
    /* *ret_freed: of bytes that have gone with it. */
    int (*remove)(struct file_table *t, str workspace_id, str user_id, str sha256,
                  uint64_t *ret_freed, struct err *e);
    void (*mark_named)(struct file_table *t, str workspace_id, str sha256, str user_id);
    /* Removes what nothing refers to any more; the bytes that are left. */
    int (*sweep)(struct file_table *t, str workspace_id, uint64_t *ret_total, struct err *e);
    /* Which of these does the table have? ret_known: as many as there are hashes. */
    int (*known)(struct file_table *t, str workspace_id, const str *sha256, size_t n,
                 bool *ret_known, struct err *e);
};
