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

/* For a log that has its lines elsewhere: each line, in the order of the query. */
struct audit_search {
    struct arena *arena; /* of the result */
    struct arena scratch;
    const struct audit_query *q;
    struct audit_page *page;
    size_t limit;
    bool is_over;
};

void audit_search_init(struct audit_search *s, struct arena *a, const struct audit_query *q,
                       struct audit_page *ret);
bool audit_search_line(struct audit_search *s, str line); /* false: the page is full */
void audit_search_done(struct audit_search *s);

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

/* The same for lines that are elsewhere: init, file, each line, end. */
struct audit_check {
    struct arena *arena;
    struct audit_report *report;
    struct audit_head head; /* read before the lines: a log is never behind it */
    bool has_head;
    const char *file;
    uint64_t line;
    uint64_t seq;                  /* of the line before; 0 = none */
    char hash[SHA256_HEX_LEN + 1]; /* its hash */
};

/* head: NULL = it is not known. */
void audit_check_init(struct audit_check *c, struct arena *a, struct audit_report *ret,
                      const struct audit_head *head);
void audit_check_file(struct audit_check *c, const char *name);
void audit_check_line(struct audit_check *c, str line);
void audit_check_end(struct audit_check *c, const char *head_name);
