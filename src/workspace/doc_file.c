#include "workspace/doc_file.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/hash.h"
#include "os/file.h"

#define CHANGED_HERE "-"

struct doc_file {
    struct pool *pool;
    struct logger *log;
    char *path;
    size_t max_bytes;
    struct arena arena; /* of the document */
    struct json *root;
    uint64_t version;
    struct document_table *table; /* NULL: the file is all there is */
    char *workspace_id, *name;
    /* the text when it was last read; empty: there was none; CHANGED_HERE: it was changed since */
    char seen[SHA256_HEX_LEN + 1];
    bool is_unreadable, is_closing;
    bool is_stale;            /* the file is to be read again, behind the changes */
    struct list_node changes; /* the first is being made, unless the file is being read */

    /* of the job, a change or a reading */
    struct arena next_arena; /* of the document that takes the place of this one */
    struct json *next;
    char next_seen[SHA256_HEX_LEN + 1];
    struct err err;
    bool is_working;
    struct job job;
};

/* ---- changes ---- */

static void doc_free_all(struct doc_file *f)
{
    assert(!f->is_working && list_empty(&f->changes));
    arena_done(&f->arena);
    free(f->path);
    free(f->workspace_id);
    free(f->name);
    free(f);
}

static str document_text(struct doc_file *f, struct arena *a, const struct json *doc, struct err *e)
{
    struct buf text;
    buf_init(&text, f->max_bytes);
    if (json_write(&text, doc) < 0 || buf_failed(&text))
        err_set(e, -EPERM, "The workspace has no room for more; its limit is %zu kB.",
                f->max_bytes / 1024);
    return buf_keep(&text, a);
}

/* What the table has is changed, not what this server knows of it. */
static int edit_in_table(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct doc_file *f = ctx;
    struct doc_change *c = LIST_ENTRY(f->changes.next, struct doc_change, node);
    struct json *doc = json_new(&f->next_arena, JSON_OBJECT);
    int r = old.n == 0 ? 0 : json_parse(&f->next_arena, old, JSON_COPY | JSON_UNIQUE, &doc, e);
    if (r == 0 && doc->type != JSON_OBJECT)
        r = err_set(e, -EINVAL, "%s in the database is not a JSON object", f->name);
    if (r == 0)
        r = c->edit(c->data, &f->next_arena, doc, e);
    f->next = doc;
    *ret = r == 0 ? document_text(f, a, doc, e) : STR_NONE;
    return r < 0 ? r : e->code;
}

static void change_in_table(struct doc_file *f)
{
    const struct document_change change = {.workspace_id = str_from(f->workspace_id),
                                           .path = str_from(f->name),
                                           .is_followed = true,
                                           .edit = edit_in_table,
                                           .ctx = f};
    int r = f->table->change(f->table, &change, &f->err);
    if (r == -EHOSTUNREACH) /* as a change of people says it */
        f->err.code = -ENOTCONN;
}

static void write_document(struct job *j) /* pool thread */
{
    struct doc_file *f = CONTAINER_OF(j, struct doc_file, job);
    if (f->err.code < 0)
        return;
    if (f->table) {
        change_in_table(f);
        return;
    }
    str text = document_text(f, &f->next_arena, f->next, &f->err);
    if (f->err.code == 0)
        (void)file_write_atomic(f->path, text, 0600, &f->err);
}

static void work_on(struct doc_file *f);

/* The document of the job takes the place of the one that people see. */
static void take_next(struct doc_file *f)
{
    arena_done(&f->arena);
    f->arena = f->next_arena;
    f->root = f->next;
    f->version++;
}

static void on_document_written(struct job *j)
{
    struct doc_file *f = CONTAINER_OF(j, struct doc_file, job);
    struct doc_change *c = LIST_ENTRY(list_pop(&f->changes), struct doc_change, node);
    bool is_done = f->err.code == 0;
    if (is_done) {
        take_next(f);
        memcpy(f->seen, CHANGED_HERE, sizeof CHANGED_HERE);
    } else {
        arena_done(&f->next_arena);
    }
    if (c->fn) /* which may close the document: it still works */
        c->fn(c->ctx, is_done ? NULL : &f->err);
    arena_done(&c->arena);
    free(c);
    f->is_working = false;
    work_on(f);
}

/* The edit is made here, behind the changes before it: it sees what they have written. */
static void make_change(struct doc_file *f)
{
    struct doc_change *c = LIST_ENTRY(f->changes.next, struct doc_change, node);
    if (f->is_unreadable)
        err_set(&f->err, -EIO, "%s cannot be read; repair or remove it.", f->path);
    else if (!f->table) {
        f->next = json_clone(&f->next_arena, f->root);
        if (c->edit(c->data, &f->next_arena, f->next, &f->err) == 0)
            assert(f->err.code == 0 && f->next->type == JSON_OBJECT);
    }
    pool_run(f->pool, &f->job, write_document, on_document_written);
}

struct doc_change *doc_change_new(void)
{
    struct doc_change *c = xcalloc(1, sizeof *c);
    arena_init(&c->arena);
    list_init(&c->node);
    return c;
}

void doc_change_start(struct doc_file *f, struct doc_change *c, doc_edit_fn edit, void *data,
                      doc_changed_fn fn, void *ctx)
{
    assert(!f->is_closing);
    c->edit = edit;
    c->data = data;
    c->fn = fn;
    c->ctx = ctx;
    list_push(&f->changes, &c->node);
    work_on(f);
}

void doc_change_forget(struct doc_change *c)
{
    c->fn = NULL;
}

/* ---- reading ---- */

/* What all servers have, or the file: of the two the table is never older than a change that was
 * made here, and the file is there without the database. *ret_found: there is a document. */
static int read_document_text(struct doc_file *f, bool is_open, str *ret, bool *ret_found,
                              struct err *e)
{
    if (f->table && is_open &&
        f->table->read(f->table, &f->next_arena, str_from(f->workspace_id), str_from(f->name), ret,
                       e) == 0) {
        *ret_found = ret->n > 0;
        return ret->n <= f->max_bytes ? 0 : err_set(e, -EFBIG, "it is too large");
    }
    *e = (struct err){0};
    *ret_found = file_exists(f->path);
    return *ret_found ? file_read(&f->next_arena, f->path, f->max_bytes, ret, e) : 0;
}

/* Sets next and next_seen; without a document, to an empty one and "". */
static int read_next(struct doc_file *f, bool is_open, struct err *e)
{
    str text;
    bool is_found;
    f->next = json_new(&f->next_arena, JSON_OBJECT);
    f->next_seen[0] = '\0';
    int r = read_document_text(f, is_open, &text, &is_found, e);
    if (r < 0 || !is_found)
        return r;
    sha256_hex(text, f->next_seen);
    if (strcmp(f->next_seen, f->seen) != 0)
        r = json_parse(&f->next_arena, text, JSON_COPY | JSON_UNIQUE, &f->next, e);
    if (r == 0 && f->next->type != JSON_OBJECT)
        r = err_set(e, -EINVAL, "not a JSON object");
    return r;
}

static void reread_document(struct job *j) /* pool thread */
{
    struct doc_file *f = CONTAINER_OF(j, struct doc_file, job);
    (void)read_next(f, true, &f->err);
}

static void take_read(struct doc_file *f)
{
    if (f->err.code < 0)
        log_error(f->log, "workspace", "%s is not used: %s", f->path, f->err.msg);
    if (f->err.code < 0 || strcmp(f->next_seen, f->seen) == 0) {
        arena_done(&f->next_arena);
        return;
    }
    take_next(f);
    f->is_unreadable = false;
    memcpy(f->seen, f->next_seen, sizeof f->seen);
}

static void on_document_reread(struct job *j)
{
    struct doc_file *f = CONTAINER_OF(j, struct doc_file, job);
    f->is_working = false;
    take_read(f);
    work_on(f);
}

/* ---- life ---- */

/* One job at a time: the changes in their order, then the file if it is to be read again. */
static void work_on(struct doc_file *f)
{
    if (f->is_working)
        return;
    if (list_empty(&f->changes) && f->is_closing) {
        doc_free_all(f);
        return;
    }
    if (list_empty(&f->changes) && !f->is_stale)
        return;
    f->is_working = true;
    f->err = (struct err){0};
    arena_init(&f->next_arena);
    if (!list_empty(&f->changes)) {
        make_change(f);
        return;
    }
    f->is_stale = false;
    pool_run(f->pool, &f->job, reread_document, on_document_reread);
}

struct doc_file *doc_file_open(const struct doc_place *at, size_t max_bytes)
{
    struct doc_file *f = xcalloc(1, sizeof *f);
    f->pool = at->pool;
    f->log = at->log;
    f->path = str_dup(str_from(at->path));
    f->table = at->table;
    if (at->table) {
        f->workspace_id = str_dup(at->workspace_id);
        f->name = str_dup(at->name);
    }
    f->max_bytes = max_bytes;
    f->version = 1;
    list_init(&f->changes);
    arena_init(&f->arena);
    arena_init(&f->next_arena);
    f->root = json_new(&f->arena, JSON_OBJECT);
    f->is_unreadable = read_next(f, false, &f->err) < 0;
    take_read(f);
    return f;
}

void doc_file_reload(struct doc_file *f)
{
    f->is_stale = true;
    work_on(f);
}

void doc_file_free(struct doc_file *f)
{
    if (!f)
        return;
    f->is_closing = true;
    LIST_EACH (c, &f->changes, struct doc_change, node)
        doc_change_forget(c);
    work_on(f);
}

const struct json *doc_file_root(const struct doc_file *f)
{
    return f->root;
}

uint64_t doc_file_version(const struct doc_file *f)
{
    return f->version;
}
