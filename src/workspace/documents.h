/* documents.h - small documents of workspaces that several servers share.
 *
 * A document has a path, such as "notices/usr_ann", and is changed as a whole. With one server
 * there is no table: its documents are files. All functions block, and may be called by several
 * pool threads. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define DOCUMENT_MAX (16u * 1024 * 1024)

/* `old` is empty if there is no such document. An empty *ret removes it; a *ret that is `old`
 * itself leaves it as it is. May be called twice for one change: a connection may be lost. */
typedef int (*document_edit_fn)(void *ctx, struct arena *a, str old, str *ret, struct err *e);

struct document_change {
    str workspace_id, path;
    bool is_followed; /* servers ask for it with `news` */
    document_edit_fn edit;
    void *ctx;
};

struct shared_document {
    str path, bytes;
    bool is_removed;
};

struct document_news {
    struct shared_document *items; /* by path */
    size_t n;
    int64_t until; /* for the next call */
};

struct document_table {
    /* Empty: there is none. */
    int (*read)(struct document_table *t, struct arena *a, str workspace_id, str path, str *ret,
                struct err *e);
    /* Changes of one document are made one after the other, whichever server makes them. */
    int (*change)(struct document_table *t, const struct document_change *c, struct err *e);
    /* Documents that have been changed since `since` of an earlier call, or all (0). Only those
     * that are followed. */
    int (*news)(struct document_table *t, struct arena *a, str workspace_id, int64_t since,
                struct document_news *ret, struct err *e);
};
