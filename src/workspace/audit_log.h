/* audit_log.h - where the audit log is: files of one work directory, or a table that several
 * servers share (store/shared/pg_audit.h).
 *
 * Both have the same lines in one hash chain (audit_file.h), in the order in which they were
 * appended, and both are only appended to: nothing in nb changes or removes a record. Blocking: for
 * commands and pool threads. */
#pragma once

#include "workspace/audit_read.h"

struct audit_log {
    /* As audit_append. */
    int (*append)(struct audit_log *l, const struct audit_entry *entries, size_t n, size_t *ret_n,
                  struct err *e);
    int (*read)(struct audit_log *l, struct arena *a, const struct audit_query *q,
                struct audit_page *ret, struct err *e);
    int (*verify)(struct audit_log *l, struct arena *a, struct audit_report *ret, struct err *e);
    /* seq and hash of the last record; seq 0: there is none. */
    int (*last)(struct audit_log *l, struct audit_head *ret, struct err *e);
    /* Records of another log, byte for byte. -EEXIST unless they continue the chain of this one. */
    int (*extend)(struct audit_log *l, const str *lines, size_t n, struct err *e);
};

struct audit_dir { /* the files */
    struct audit_log log;
    const char *work_dir; /* borrowed */
};

void audit_dir_init(struct audit_dir *d, const char *work_dir);

/* Copies the records that `from` has and `to` has not, and compares the end of both. 0 records if
 * `to` continues `from`; -EEXIST if neither continues the other. */
int audit_carry(struct audit_log *from, struct audit_log *to, int64_t *ret_n, struct err *e);
