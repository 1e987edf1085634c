/* import.h - reads conversations of other programs as events for a store.
 *
 * This floor converts between conversations of nb and those of other programs:
 *
 *   import.c           detects the format of a file, and reads its conversations in batches
 *   import_store.c     writes these batches into a store
 *   import_talk.c      builds nb events from a foreign conversation; used by the formats below
 *   import_chatgpt.c, import_claude.c, import_code.c   the foreign formats
 *   import_log.c       logs and folders of nb
 *   import_assets.c    pictures and documents beside the conversations of an export
 *   import_elements.c  reads a large JSON array one element at a time
 *   export.c           an exporter: events in, text out; export_markdown.c, export_json.c and
 *                      export_html.c are its formats
 *   export_store.c     feeds an exporter from a store
 *   convert.c          copies all conversations of one store into another
 *
 * Supported: logs of nb (one .jsonl, or a directory of them), the folder layout (its root, its
 * conversations/, or one conversation), session files of Claude Code (one .jsonl, or a directory of
 * them), and the exports of ChatGPT and Claude.ai (conversations.json, or the directory it was
 * unpacked to; its pictures and documents come along). The format is detected from the content of
 * the file.
 *
 * Times are kept: the ts of an event is its original time. Ids of nb and of folders are kept;
 * foreign ids become conv_<16 hex> made from the owner and the foreign id, so that a second import
 * of the same person finds the conversation (-EEXIST) instead of creating it twice, and nobody
 * learns what others have imported. Data that cannot be imported is counted and listed in the
 * report.
 *
 * An importer reads; import_run writes its batches into a store. Files may have any size: logs are
 * read by lines, exports one conversation at a time (at most IMPORT_CONV_BYTES). The required
 * fields are listed at the head of import_chatgpt.c, import_claude.c and import_code.c. */
#pragma once

#include "store/store.h"

#define IMPORT_CONV_BYTES     (256u * 1024 * 1024) /* one conversation in a conversations.json */
#define IMPORT_BATCH_BYTES    (4u * 1024 * 1024)
#define IMPORT_BATCH_MAX      1000
#define IMPORT_FILES_MAX      1000000
#define IMPORT_LOSSES_MAX     100
#define IMPORT_FILE_BYTES     (64u * 1024 * 1024) /* one file beside a conversations.json */
#define IMPORT_CONV_FILES_MAX 1000u               /* of them in one conversation */
#define IMPORT_VIEWS_BYTES    (64u * 1024 * 1024) /* pictures made for models, of a conversation */
#define IMPORT_PICTURES_BYTES (64u * 1024 * 1024) /* pictures in results of tools, likewise */
#define IMPORT_ASKED_MAX      4000u               /* names of files, in one conversation */
/* One import of an export: what its conversations need in the store. A file that several of them
 * name is stored once. */
#define IMPORT_TOTAL_BYTES (8ull * 1024 * 1024 * 1024)
#define IMPORT_TOTAL_FILES 200000u /* each conversation counts its own */

enum import_kind {
    IMPORT_ANY, /* detect the format */
    IMPORT_NB,
    IMPORT_FOLDER,
    IMPORT_CLAUDE_CODE,
    IMPORT_CHATGPT,
    IMPORT_CLAUDE_AI,
};

/* "nb", "folder", "claude-code", "chatgpt", "claude"; -EINVAL with a message that lists them. */
int import_kind_parse(str name, enum import_kind *ret, struct err *e);

struct import_report {
    int64_t conversations; /* created */
    int64_t existing;      /* existed already and were not changed */
    int64_t events;
    int64_t lost;                  /* items that could not be imported */
    str losses[IMPORT_LOSSES_MAX]; /* the first of them, as text: "file: what" */
    size_t nlosses;
    struct arena arena; /* of losses */
};

void import_report_init(struct import_report *r);
void import_report_done(struct import_report *r);

/* ---- reading: blocking, on a pool thread ---- */

struct importer;

struct import_view { /* a picture as models get it */
    str bytes;
    const char *mime;
    uint32_t width, height;
};

/* Makes pictures for models, on the thread of the importer; bytes in the arena. -EINVAL, -EFBIG:
 * models cannot have this picture; any other error says nothing about it. */
struct import_views {
    int (*make)(void *ctx, uint32_t side, struct arena *a, str picture, struct import_view *ret,
                struct err *e);
    void *ctx;     /* stays until the pool of the importer has ended */
    uint32_t side; /* the longest, in pixels */
};

struct import_blob {
    const char *path; /* or: */
    str bytes;
    bool is_shared; /* many logs of that directory name it */
    bool is_file;   /* its name can be anything; that of a blob is the hash of its content */
};

struct import_batch {
    bool is_new;             /* the batch begins a conversation, described by `conv` */
    struct conv_create conv; /* without owner and without events */
    str old_id;        /* earlier versions gave it this id, for all owners; empty = the same */
    bool is_export;    /* of ChatGPT or Claude.ai */
    const str *events; /* title changes and notes are among them */
    size_t n;
    /* Blobs that the events refer to: files to store before the events. */
    const struct import_blob *blobs;
    size_t nblobs;
};

int importer_open(const char *path, enum import_kind kind, struct import_report *report,
                  struct importer **ret, struct err *e);
/* Ids of other programs become those of this owner; copied. Without, of nobody. */
void importer_use_owner(struct importer *im, str owner_id);
/* Messages and results of other programs get views of their pictures; `v` outlives the importer.
 * Without, models get them as they are. */
void importer_use_views(struct importer *im, const struct import_views *v);
/* 1 and the next batch (valid until the next call), or 0 at the end. Files that cannot be read and
 * damaged parts of files are losses in the report. */
int importer_next(struct importer *im, struct import_batch *ret);
void importer_skip(struct importer *im); /* skips the rest of the current conversation */
void importer_close(struct importer *im);
/* Share of the input read so far, 0 to 1, for a progress bar. */
double importer_progress(const struct importer *im);

/* ---- into a store: loop thread ---- */

struct import;

struct import_spec {
    const char *path;
    enum import_kind kind;
    str owner_id; /* of the new conversations; empty = no owner, unless the source names one */
    struct import_views views; /* make NULL: none */
    /* Of an export; 0 = IMPORT_TOTAL_BYTES, IMPORT_TOTAL_FILES. */
    uint64_t max_bytes, max_files;
    /* May be NULL. Called after every batch. */
    void (*progress)(void *ctx, const struct import_report *r, double share);
};

/* err is NULL when everything readable was imported; the report is filled in both cases. */
typedef void (*import_done_fn)(void *ctx, const struct err *err, const struct import_report *r);

struct import *import_run(struct store *s, const struct import_spec *spec, import_done_fn fn,
                          void *ctx);
/* No callback afterwards. Complete conversations stay; the current one is deleted again. */
void import_cancel(struct import *im);
