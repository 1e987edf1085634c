/* roster_source.h - where the documents of users and workspaces are: files of the work directory
 * (roster_files.c), or a table that several servers share (store/postgres/pg_roster.h).
 *
 * A visit holds the lock of all documents, shared for readers or exclusive for a writer, and reads
 * what it has written. A document has a kind ("users", "workspaces"), an id and a name
 * ("profile.json", "credentials.json", "workspace.json"). Blocking: for commands and pool threads.
 */
#pragma once

#include "base/json/json_decode.h"

struct roster_docs;

struct roster_docs_ops {
    /* The ids of a kind that is_id accepts, sorted. -EFBIG: more than max. */
    int (*list)(struct roster_docs *d, struct arena *a, const char *kind, bool (*is_id)(str),
                size_t max, struct json_strs *ret, struct err *e);
    /* -ENOENT: it is not there. */
    int (*read)(struct roster_docs *d, struct arena *a, const char *kind, str id, const char *name,
                str *ret, struct err *e);
    int (*write)(struct roster_docs *d, const char *kind, str id, const char *name, str text,
                 struct err *e);
    int (*remove)(struct roster_docs *d, const char *kind, str id, const char *name, struct err *e);
    /* Removes a user or workspace; its files go to the trash. */
    int (*trash)(struct roster_docs *d, const char *kind, str id, struct err *e);
    /* Removes the new directory of documents that could not be written. `also`: a document to
     * remove from it, or NULL. */
    void (*forget)(struct roster_docs *d, const char *kind, str id, const char *also);
    /* The id has, or had, documents or data. */
    bool (*is_taken)(struct roster_docs *d, const char *kind, str id);
    /* A new mark: something was written. Exclusive visits, once. */
    int (*stamp)(struct roster_docs *d, struct err *e);
};

struct roster_docs { /* of one visit */
    const struct roster_docs_ops *ops;
    const char *work_dir;
    uint64_t mark;       /* a new one after every change */
    uint64_t generation; /* of a table; 0 = files */
    int64_t now_ms;      /* by the clock that all writers share */
};

/* May be called twice, if the connection to a database is lost. */
typedef int (*roster_visit_fn)(struct roster_docs *d, void *ctx, struct err *e);

struct roster_source {
    const char *work_dir; /* borrowed */
    bool is_sole;         /* as in roster.h */
    /* What fn has written is stored if it returns 0. */
    int (*visit)(struct roster_source *s, bool is_exclusive, roster_visit_fn fn, void *ctx,
                 struct err *e);
    int (*mark)(struct roster_source *s, uint64_t *ret, struct err *e);
};

struct roster_source roster_files(const char *work_dir, bool is_sole);
