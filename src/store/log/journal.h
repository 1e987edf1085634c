/* journal.h - one file that makes the appends to many logs durable with one sync.
 *
 * A log grows with every append, so its sync makes the file system commit metadata too. The
 * journal has a fixed size and is filled with zeros before its first use: a write and the sync
 * after it touch only the blocks of the journal, and one batch holds the appended lines of any
 * number of logs. The logs themselves are written first and synced later; the journal is read
 * only when the machine stopped in between (replay.h).
 *
 * The file has two halves, which are filled in turns, always from the start of a half:
 *
 *     | batch 0 | batch 1 | batch 2 | old zeros or batches |   generation 5, being filled
 *     | batch 0 | batch 1 | ...                            |   generation 4
 *
 * journal_switch moves to the other half and raises the generation. The caller must first have
 * synced every log with bytes in that half. A batch is valid when it is complete (checksum), has
 * the generation of batch 0 of its half, and has the next sequence number.
 *
 * Life: journal_open -> (journal_begin, journal_add ..., journal_commit)* -> journal_remove, or
 * journal_close to leave the file for replay.
 *
 * The file is locked (flock) while its process lives. Journals are in <dir>/.journal/, so that
 * checking for one does not list all logs. Blocking: pool threads, one at a time. */
#pragma once

#include "base/buf.h"
#include "store/event/io.h"

#define JOURNAL_DIR        ".journal"
#define JOURNAL_PREFIX     "journal_"
#define JOURNAL_HALF_BYTES (4u * 1024 * 1024)
#define JOURNAL_HALF_MAX   (64u * 1024 * 1024)
#define JOURNAL_BLOCK      4096u /* batches are aligned, so that no write touches an older batch */

struct journal {
    const struct store_io *io;
    char *path;
    int fd; /* -1 = not open */
    size_t half_bytes;
    int half;    /* 0 or 1: the half that is being filled */
    size_t used; /* bytes of that half */
    uint64_t generation;
    uint32_t sequence; /* of the next batch in this half */
    struct buf batch;
    uint32_t records; /* in the batch */
};

struct journal_record {
    str name; /* of the log, in the directory: <id>.jsonl */
    uint64_t inode;
    uint64_t offset; /* where in the log the bytes are */
    str bytes;
};

/* ---- the format ---- */

/* In the byte order of the machine: with a different byte order the magic does not match. */
#define JOURNAL_MAGIC 0x316c616e72756f6aULL /* "journal1" */

struct journal_head { /* of a batch */
    uint64_t magic;
    uint64_t generation; /* > 0 */
    uint64_t checksum;   /* of the whole batch except this field */
    uint32_t sequence;
    uint32_t records;
    uint64_t bytes; /* including this head, without the padding */
};

struct journal_record_head { /* name and bytes follow */
    uint64_t inode;
    uint64_t offset;
    uint32_t length;
    uint32_t name_bytes;
};

/* The checksum of a batch of `n` bytes, which begin with the head. */
uint64_t journal_checksum(const char *batch, size_t n);

/* ---- writing ---- */

/* Creates a journal for the logs in `dir`; it is filled and durable when this returns. */
int journal_open(struct journal *j, const struct store_io *io, const char *dir, size_t half_bytes,
                 struct err *e);

/* A batch: begin, then for each log a record and its bytes (`length` in total), then commit. */
void journal_begin(struct journal *j);
void journal_add(struct journal *j, str name, uint64_t inode, uint64_t offset, uint32_t length);
void journal_add_bytes(struct journal *j, str bytes);
/* Writes the batch and syncs it. -ENOBUFS: the batch does not fit, and nothing was written. After
 * any other failure the journal must not be written again. */
int journal_commit(struct journal *j);

/* Free bytes of this half, for a batch with its heads. */
size_t journal_room(const struct journal *j);
/* Continues at the start of the other half, whose logs must all have been synced. */
void journal_switch(struct journal *j);

/* Deletes the file. Every log that the journal names must have been synced. */
int journal_remove(struct journal *j);
void journal_close(struct journal *j); /* leaves the file for the next replay */

/* ---- reading ---- */

typedef void (*journal_record_fn)(void *ctx, const struct journal_record *r);

/* The generation of a half; 0 when its first batch is not valid. */
uint64_t journal_generation(str half);
/* Calls fn with the records of all valid batches, in order; the slices are part of `half`. Parsing
 * stops at a record whose name is not a log name. `half` may be any bytes. */
void journal_parse(str half, journal_record_fn fn, void *ctx);
