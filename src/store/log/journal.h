/* journal.h - one file that makes the appends to many logs durable with one sync.
 *
 * A log grows with every append, so its sync makes the file system commit metadata too. The
 * journal has a fixed size and was written once before it is used: a write to it and the sync
 * after it touch nothing but its own blocks, and one batch carries what was appended to any
 * number of logs. The logs themselves are written first and synced later; what the journal
 * holds is read again only when the machine stopped in between (replay.h).
 *
 * The file has two halves. When one is full the other begins, with a higher generation, once
 * every log with bytes in there has been synced; a half is always written from its start. A
 * batch counts when it is whole, of the generation of the first one, and next in sequence.
 *
 * While its owner lives the file is locked (flock). It lies in <dir>/.journal/, so that finding
 * out whether there is one costs no look at all the logs. Blocking: pool threads, one at a
 * time. */
#pragma once

#include "base/buf.h"
#include "store/event/io.h"

#define JOURNAL_DIR        ".journal"
#define JOURNAL_PREFIX     "journal_"
#define JOURNAL_HALF_BYTES (4u * 1024 * 1024)
#define JOURNAL_HALF_MAX   (64u * 1024 * 1024)
#define JOURNAL_BLOCK      4096u /* a batch begins on one: what is acknowledged is not rewritten */

struct journal {
    const struct store_io *io;
    char *path;
    int fd; /* -1 = there is none */
    size_t half_bytes;
    int half; /* 0 or 1, the one that is being filled */
    size_t used;
    uint64_t generation;
    uint32_t sequence; /* of the next batch in this half */
    struct buf batch;
    uint32_t records; /* in it */
};

struct journal_record {
    str name; /* of the log, in the directory: <id>.jsonl */
    uint64_t inode;
    uint64_t offset; /* where in the log the bytes are */
    str bytes;
};

/* ---- the format ---- */

/* In the byte order of the machine: on another one the magic is different. */
#define JOURNAL_MAGIC 0x316c616e72756f6aULL /* "journal1" */

struct journal_head { /* of a batch */
    uint64_t magic;
    uint64_t generation; /* > 0 */
    uint64_t checksum;   /* of the whole batch but for this field */
    uint32_t sequence;
    uint32_t records;
    uint64_t bytes; /* this head included, padding not */
};

struct journal_record_head { /* name and bytes follow */
    uint64_t inode;
    uint64_t offset;
    uint32_t length;
    uint32_t name_bytes;
};

/* Of `n` bytes that begin with their head. */
uint64_t journal_checksum(const char *batch, size_t n);

/* ---- writing ---- */

/* Makes a journal for the logs in `dir`, filled and safe on disk. */
int journal_open(struct journal *j, const struct store_io *io, const char *dir, size_t half_bytes,
                 struct err *e);

/* A batch: begin, then for each log a record and its bytes (`length` in all), then commit. */
void journal_begin(struct journal *j);
void journal_add(struct journal *j, str name, uint64_t inode, uint64_t offset, uint32_t length);
void journal_add_bytes(struct journal *j, str bytes);
/* Writes the batch and syncs it. -ENOBUFS: it does not fit, and nothing was written. After any
 * other failure the journal takes no more. */
int journal_commit(struct journal *j);

/* What a batch may still hold, heads included. */
size_t journal_room(const struct journal *j);
/* Goes on at the start of the other half, whose logs have all been synced. */
void journal_switch(struct journal *j);

/* Every log that it names has been synced: deletes the file. */
int journal_remove(struct journal *j);
void journal_close(struct journal *j); /* leaves the file for the next replay */

/* ---- reading ---- */

typedef void (*journal_record_fn)(void *ctx, const struct journal_record *r);

/* The generation of a half, 0 when it holds no whole batch. */
uint64_t journal_generation(str half);
/* Calls fn with the records of all batches that count, in order; the slices are part of `half`. A
 * record that names anything but a log in the directory ends it. Any bytes will do. */
void journal_parse(str half, journal_record_fn fn, void *ctx);
