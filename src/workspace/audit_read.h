/* audit_read.h - the audit log for people: queries, and whether the chain holds.
 *
 * Blocking: for commands and pool threads. Needs no lock: lines are only appended, and an
 * incomplete last line is left out. */
#pragma once

#include "workspace/audit_file.h"

#define AUDIT_LIMIT_MAX 1000

struct audit_query {
    int64_t since_ms;       /* 0 = from the beginning */
    str actor;              /* user id; empty = everybody */
    str action;             /* a glob over actions: "user.*"; empty = all */
    uint64_t after, before; /* seq; 0 = no limit */
    size_t limit;           /* 0 = AUDIT_LIMIT_MAX */
    bool is_newest_first;
};

struct audit_page {
    str *lines; /* without line feeds */
    size_t n;
    bool has_more;
    uint64_t next; /* seq of the last line here: `after`, or `before`, of the next page */
};

int audit_read(struct arena *a, const char *work_dir, const struct audit_query *q,
               struct audit_page *ret, struct err *e);

#define AUDIT_PROBLEMS_MAX 50

struct audit_report {
    uint64_t records, files;
    uint64_t first, last;
    char hash[SHA256_HEX_LEN + 1]; /* of the last record */
    size_t nproblems;              /* all of them */
    str problems[AUDIT_PROBLEMS_MAX];
};

/* Reads everything. 0 also when the chain is broken; then nproblems > 0. */
int audit_verify(struct arena *a, const char *work_dir, struct audit_report *ret, struct err *e);
