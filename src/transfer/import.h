/* import.h - conversations from elsewhere, as events for a store.
 *
 * This floor converts between conversations of nb and those of other programs:
 *
 *   import.c           finds out what a file is, and hands its conversations to a sink
 *   import_store.c     the sink that writes them into a store
 *   import_talk.c      a foreign conversation as events of nb; used by the four below
 *   import_chatgpt.c, import_claude.c, import_code.c   the foreign formats
 *   import_log.c       logs and folders of nb
 *   import_elements.c  one array element at a time out of a large JSON file
 *   import_files.c     the files of a directory, sorted
 *   export.c           an exporter: events in, text out; export_markdown.c, export_json.c and
 *                      export_html.c are its formats
 *   export_store.c     feeds an exporter from a store
 *   convert.c          moves all conversations of one store into another
 *
 * Understood: logs of nb (one .jsonl, or a directory of them), the folder layout (its root,
 * its conversations/, or one conversation), session files of Claude Code (one .jsonl, or a
 * directory of them), and the exports of ChatGPT and Claude.ai (conversations.json, or the
 * directory it was unpacked to). What a file is, is told by what it holds.
 *
 * Times are kept: an event's ts is when it happened there. Ids of nb and of folders are kept;
 * foreign ones become conv_<16 hex> made from the foreign id, so that importing twice finds
 * the conversation already there (-EEXIST) instead of making it twice. What could not be
 * taken over is counted and named in the report.
 *
 * An importer reads; import_run writes what it reads into a store. Files may be of any size:
 * logs are read by lines, exports one conversation at a time (at most IMPORT_CONV_BYTES). The
 * fields relied on stand at the head of import_chatgpt.c, import_claude.c and import_code.c. */
#pragma once

#include "store/store.h"

#define IMPORT_CONV_BYTES  (256u * 1024 * 1024) /* one conversation in a conversations.json */
#define IMPORT_BATCH_BYTES (4u * 1024 * 1024)
#define IMPORT_BATCH_MAX   1000
#define IMPORT_FILES_MAX   1000000
#define IMPORT_LOSSES_MAX  100

enum import_kind {
    IMPORT_ANY, /* find out */
    IMPORT_NB,
    IMPORT_FOLDER,
    IMPORT_CLAUDE_CODE,
    IMPORT_CHATGPT,
    IMPORT_CLAUDE_AI,
};

/* "nb", "folder", "claude-code", "chatgpt", "claude"; -EINVAL names what there is. */
int import_kind_parse(str name, enum import_kind *ret, struct err *e);

struct import_report {
    int64_t conversations; /* made */
    int64_t existing;      /* were there already and left as they are */
    int64_t events;
    int64_t lost;                  /* things that could not be taken over */
    str losses[IMPORT_LOSSES_MAX]; /* the first of them: "file: what", for people */
    size_t nlosses;
    struct arena arena; /* of losses */
};

void import_report_init(struct import_report *r);
void import_report_done(struct import_report *r);

/* ---- reading: blocking, on a pool thread ---- */

struct importer;

struct import_batch {
    bool is_new;             /* a conversation begins: `conv` says which */
    struct conv_create conv; /* without owner and without events */
    const str *events;       /* title changes and notes are among them */
    size_t n;
    /* Blobs that the events name: files to put into the store before the events. */
    const char *const *blob_paths;
    size_t nblobs;
};

int importer_open(const char *path, enum import_kind kind, struct import_report *report,
                  struct importer **ret, struct err *e);
/* 1 and the next batch (valid until the next call), or 0 at the end. Files that cannot be read
 * and what is broken inside them are losses in the report. */
int importer_next(struct importer *im, struct import_batch *ret);
void importer_skip(struct importer *im); /* the rest of the conversation under way */
void importer_close(struct importer *im);
/* Share of the input read so far, 0 to 1, for a progress bar. */
double importer_progress(const struct importer *im);

/* ---- into a store: loop thread ---- */

struct import;

struct import_spec {
    const char *path;
    enum import_kind kind;
    str owner_id; /* of what is made; empty = nobody's, as the source may say itself */
    /* May be NULL. Called after every batch. */
    void (*progress)(void *ctx, const struct import_report *r, double share);
};

/* err is NULL when everything readable was taken over; the report is filled either way. */
typedef void (*import_done_fn)(void *ctx, const struct err *err, const struct import_report *r);

struct import *import_run(struct store *s, const struct import_spec *spec, import_done_fn fn,
                          void *ctx);
/* No callback afterwards. What is whole stays; the conversation under way is taken back. */
void import_cancel(struct import *im);
