/* folder_impl.h - the parts of the folder store. Private to folder*.c. */
#pragma once

#include "store/files/files.h"
#include "store/folder/folder_catalog.h"

enum { FOLDER_TREE_DEPTH = 4 }; /* of a conversation: its folder, blobs/, the blobs in it */

struct folder { /* files.own */
    struct store *store;
    struct catalog catalog;
    /* Calls for unknown conversations: they wait, in order, for a refresh of the catalog. */
    struct list_node waiting;
    struct job job;
    struct err err;
    bool is_refreshing;
};

static inline struct folder *folder_of(const struct store *s)
{
    const struct files *f = s->impl;
    return f->own;
}

/* Calls then(op); refreshes the catalog first unless `id` is known. */
void folder_locate(struct store_op *op, str id, void (*then)(struct store_op *op));

/* Does the store sync its files? */
static inline bool folder_syncs(const struct store *s)
{
    return s->conf.durability == STORE_SYNC;
}

/* store_ops */
void folder_create(struct store_op *op);
void folder_fork(struct store_op *op);
void folder_remove(struct store_op *op);
void folder_restore(struct store_op *op);

const char *folder_trash_log(struct store_op *op, int64_t when); /* file_layout */
void folder_sweep(struct store *s); /* starts purging expired conversations */

/* file_layout.before_append: writes notes to notes.jsonl too, and updates conversation.json. */
int folder_add_notes(struct files *f, struct store_op *op, struct err *e);
void folder_update_meta(struct files *f, struct store_op *op); /* folder_meta.c */
