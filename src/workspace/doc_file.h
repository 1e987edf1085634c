/* doc_file.h - a small JSON document of a workspace, in one file.
 *
 * The document is read whole when it is opened and kept in memory. Changes are made one after the
 * other: an edit gets a copy of the document, a pool thread writes the copy, and only when it is on
 * disk it takes the place of the document and the callback is called. So a change that could not be
 * written has not happened. A file that cannot be read is reported and never overwritten: every
 * change of it fails.
 *
 * If several servers have the document, a change is made in their table (documents.h), on what the
 * table has; workspace/mirror.h brings it into the files of all servers, and doc_file_reload reads
 * it again. Loop thread. */
#pragma once

#include "base/json/json.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/pool.h"
#include "workspace/documents.h"

struct doc_file;

/* Changes `doc`, an object of its own; what it adds lives in `a`. In a table: on a pool thread, and
 * perhaps twice. */
typedef int (*doc_edit_fn)(void *data, struct arena *a, struct json *doc, struct err *e);
typedef void (*doc_changed_fn)(void *ctx, const struct err *err); /* err: NULL = it is on disk */

struct doc_change { /* waits or is being written; freed after its callback */
    struct list_node node;
    struct arena arena; /* for the data of the edit */
    doc_edit_fn edit;
    void *data;
    doc_changed_fn fn; /* NULL = nobody waits */
    void *ctx;
};

/* Names of documents; with several servers, all have them (mirror.h). */
#define TEXTS_FILE    "texts.json"
#define PROJECTS_FILE "projects.json"
#define BUDGETS_FILE  "budgets.json"

struct doc_place {
    struct pool *pool;
    struct logger *log;
    const char *path;
    struct document_table *table; /* of several servers; borrowed. NULL: there is only the file */
    str workspace_id, name;       /* in the table */
};

struct doc_file *doc_file_open(const struct doc_place *at, size_t max_bytes); /* blocking */
/* Another server may have changed the file: if so, a pool thread reads it. */
void doc_file_reload(struct doc_file *f);
void doc_file_free(struct doc_file *f); /* changes are still written; accepts NULL */

/* An object. Valid until the loop continues. */
const struct json *doc_file_root(const struct doc_file *f);
uint64_t doc_file_version(const struct doc_file *f); /* changes with it; never 0 */

/* The data of the edit goes into the change's arena before doc_change_start. */
struct doc_change *doc_change_new(void);
/* Never calls back before it returns. */
void doc_change_start(struct doc_file *f, struct doc_change *c, doc_edit_fn edit, void *data,
                      doc_changed_fn fn, void *ctx);
void doc_change_forget(struct doc_change *c); /* no callback; the change is still made */
