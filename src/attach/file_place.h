/* file_place.h - where the files of a workspace are: in a directory (library.h), or in a table that
 * several servers share (file_table.h), of which the directory has copies. Blocking: pool threads.
 */
#pragma once

#include "attach/file_table.h"

struct file_place {
    const char *dir;
    struct file_table *table; /* NULL: the directory is all there is */
    str workspace_id;
};

/* As library_keep. quota: of the table, which knows what other servers got meanwhile.
 * *ret_total: the bytes of the workspace, if the table has said so; else unchanged. */
struct file_arrival {
    const char *temp;
    str user_id, sha256;
    const struct attached *what;
    uint64_t quota;
};
int file_place_keep(struct arena *a, const struct file_place *p, const struct file_arrival *in,
                    bool *ret_is_new, uint64_t *ret_total, struct err *e);
int file_place_add(struct arena *a, const struct file_place *p, str bytes, uint64_t quota,
                   str *ret_sha256, bool *ret_is_new, struct err *e);

/* Makes sure that the bytes are at library_path(p->dir). -ENOENT: they are gone. */
int file_place_bring(struct arena *a, const struct file_place *p, str sha256, struct err *e);

int file_place_find(struct arena *a, const struct file_place *p, str user_id, str sha256,
                    struct attached *ret, struct err *e);
int file_place_list(struct arena *a, const struct file_place *p, str user_id, struct attached **ret,
                    size_t *ret_n, struct err *e);
int file_place_remove(struct arena *a, const struct file_place *p, str user_id, str sha256,
                      uint64_t *ret_freed, struct err *e);
/* As library_share. */
int file_place_share(struct arena *a, const struct file_place *p, str from_id, str sha256,
                     str to_id, struct attached *ret, struct err *e);
void file_place_mark_named(struct arena *a, const struct file_place *p, str sha256, str user_id);
/* -EHOSTUNREACH: how much there is in the table is not known. */
int file_place_sweep(const struct file_place *p, int64_t now_ms, struct library_size *ret,
                     struct err *e);
