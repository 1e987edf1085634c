/* export.h - a conversation as a document: Markdown, JSON, HTML, or its own lines.
 *
 * An exporter takes the events of one log in order and writes text piece by piece. For JSON it
 * buffers one answer with the results of its tools (EXPORT_HELD_BYTES; longer results are truncated
 * and marked); other formats buffer no events, whatever the size of the log. HTML is one file
 * without scripts or links, for reading and printing; all text of the conversation is escaped. JSON
 * is
 * {"conversation":{...},"messages":[{role,content,timestamp,...}],"notes":[...]}. jsonl is
 * the log itself, with line 1: importing it gives the same conversation.
 *
 * Files that messages name: HTML has the pictures in it; Markdown and HTML link to them if
 * export_options.file_base says where they are; JSON and jsonl name them by id. on_file tells the
 * caller which ones there are.
 *
 * The exporter is pure and may be used on any thread, by one at a time. export_open and
 * export_next are for the loop thread: they feed an exporter from a store, one page per call,
 * so that a slow reader limits the speed of reading. */
#pragma once

#include "store/store.h"

enum export_format { EXPORT_MARKDOWN, EXPORT_JSON, EXPORT_HTML, EXPORT_JSONL };

#define EXPORT_HELD_BYTES  (32u * 1024 * 1024)
#define EXPORT_PIECE_BYTES (64u * 1024) /* of one call of export_write_fn */

/* "markdown" or "md", "json", "html", "jsonl"; -EINVAL with a message that lists them. */
int export_format_parse(str name, enum export_format *ret, struct err *e);
const char *export_mime(enum export_format f);
const char *export_suffix(enum export_format f); /* "md", "json", ... */

/* ---- pure ---- */

struct exporter;

struct export_options {
    bool without_tools;    /* leaves tool calls and their results out (not for jsonl) */
    bool with_reasoning;   /* includes the reasoning of the model, where the log has it */
    size_t max_tool_bytes; /* of one result in Markdown and HTML; 0 = 16 KiB */
    const char *file_base; /* address of a file without its SHA-256; NULL = no links */
    void (*on_file)(void *ctx, str sha256); /* may be NULL; a file may be told several times */
    void *file_ctx;
};

typedef int (*export_write_fn)(void *ctx, str piece); /* 0, or -errno: the export ends with it */

/* conv is borrowed until exporter_free; opt may be NULL. */
struct exporter *exporter_new(enum export_format f, const struct conv *conv,
                              const struct export_options *opt, export_write_fn fn, void *ctx);
int exporter_event(struct exporter *x, str line); /* ignores lines that are not events */
int exporter_end(struct exporter *x);             /* writes the end of the document */
void exporter_free(struct exporter *x);

/* ---- from a store ---- */

struct export;

/* One piece of the document; the last one may be empty. err ends the export. */
typedef void (*export_piece_fn)(void *ctx, const struct err *err, str piece, bool is_last);

/* Audited, as calls of store.h with `by` are: recorded when it is closed. */
struct export *export_open(struct store *s, str id, enum export_format f,
                           const struct export_options *opt, const struct doer *by);
/* Asks for the next piece; one call at a time, none after the last piece or an error. */
void export_next(struct export *x, export_piece_fn fn, void *ctx);
void export_close(struct export *x); /* no callback afterwards; accepts NULL */
