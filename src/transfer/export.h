/* export.h - a conversation as a document: Markdown, JSON, HTML, or its own lines.
 *
 * An exporter takes the events of one log in order and hands out text piece by piece; for
 * JSON it holds one answer with the results of its tools (EXPORT_HELD_BYTES; results beyond
 * are cut and say so), otherwise nothing, whatever the size of the log. HTML is one file without
 * scripts or links to anything, for reading and printing; everything that came from outside is
 * escaped. JSON is
 * {"conversation":{...},"messages":[{role,content,timestamp,...}],"notes":[...]}. jsonl is
 * the log itself, with line 1: what an import of it gives is the same conversation.
 *
 * The exporter is pure and may be used on any thread, by one at a time. export_open and
 * export_next are for the loop thread: they feed an exporter from a store, one page per call,
 * so that a slow reader is never run over. */
#pragma once

#include "store/store.h"

enum export_format { EXPORT_MARKDOWN, EXPORT_JSON, EXPORT_HTML, EXPORT_JSONL };

#define EXPORT_HELD_BYTES  (32u * 1024 * 1024)
#define EXPORT_PIECE_BYTES (64u * 1024) /* of a document, handed out at once */

/* "markdown" or "md", "json", "html", "jsonl"; -EINVAL names what there is. */
int export_format_parse(str name, enum export_format *ret, struct err *e);
const char *export_mime(enum export_format f);
const char *export_suffix(enum export_format f); /* "md", "json", ... */

/* ---- pure ---- */

struct exporter;

struct export_options {
    bool without_tools;    /* leaves tool calls and their results out (not for jsonl) */
    bool with_reasoning;   /* shows what the model thought, where the log has it */
    size_t max_tool_bytes; /* of one result in Markdown and HTML; 0 = 16 KiB */
};

typedef int (*export_write_fn)(void *ctx, str piece); /* 0, or -errno: the export ends with it */

/* conv is borrowed until exporter_free; opt may be NULL. */
struct exporter *exporter_new(enum export_format f, const struct conv *conv,
                              const struct export_options *opt, export_write_fn fn, void *ctx);
int exporter_event(struct exporter *x, str line); /* what is no event is left out */
int exporter_end(struct exporter *x);             /* what stands behind the last event */
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
