/* file_store.h - the layout of a store of files, and opening one log for reading. Private to
 * store/. */
#pragma once

#include "store/backend/backend.h"

struct cache;
struct files;
struct index;
struct shared_blobs;

struct file_layout {
    /* Path of the log of a conversation. Must not block; NULL when there is none (-ENOENT). */
    const char *(*path)(struct files *f, struct arena *a, str id);
    /* Directory of its blobs. */
    const char *(*blob_dir)(struct files *f, struct arena *a, str id);

    /* The following may be NULL: then the lines on disk are the events themselves. */

    /* The line on disk that represents an event; both with their line feed. */
    str (*record)(struct files *f, struct arena *a, str id, str event);
    /* The event that a line on disk represents: a part of the line, or in the arena. Pure. */
    str (*event)(struct arena *a, str line);
    /* Called when the lines of an append are checked and not yet written. */
    int (*before_append)(struct files *f, struct store_op *op, struct err *e);
    /* The file of notes beside the log, which other programs write too, and the event of one of
     * its lines: empty when the line is not a note. Either both are set or none. */
    const char *(*notes_path)(struct files *f, struct arena *a, str id);
    str (*note_event)(struct arena *a, str line);
    void (*closed)(struct files *f); /* frees `own` */
    bool is_journalled;              /* all logs are conf.dir/<id>.jsonl (journal.h) */
    bool has_shared_blobs;           /* the same, for shared_blobs.h */

    /* In conf.dir/trash a conversation is "<epoch ms>-<id><suffix>", of at most this depth. May the
     * viewer restore or purge the one that was deleted then? */
    const char *trash_suffix;
    unsigned trash_depth;
    /* The path of the log of op->id that was deleted at `when`, or NULL. */
    const char *(*trash_log)(struct store_op *op, int64_t when);
};

struct files { /* store.impl of a file store */
    struct store *store;
    const struct file_layout *layout;
    const struct store_io *io;
    struct store_io blob_io;     /* for blobs: syncs as store.durability says */
    struct shared_blobs *shared; /* NULL: every conversation has all of its blobs itself */
    struct cache *cache;
    struct index *index;        /* NULL: list and search read every log */
    struct dir_changes changes; /* of the directory of the logs */
    void *own;                  /* data of the layout */
};

static inline str files_event(const struct file_layout *l, struct arena *a, str line)
{
    return l->event ? l->event(a, line) : line;
}

/* Opens a log for reading: an fd and its size, or -ENOENT, -EISDIR, ... with a message. */
int file_store_open_log(const char *path, uint64_t limit, off_t *ret_limit, struct err *e);
