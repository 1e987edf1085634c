/* folder_store.c - the folder backend: its paths, and how its lines are read. */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "store/event/lines.h"
#include "store/files/trash.h"
#include "store/folder/folder_impl.h"
#include "store/index/index.h"

enum { MISS_AGE_MS = 1000 }; /* for this time an unknown id is not looked up again */

/* A path in the folder of the conversation; NULL when there is none. */
static const char *folder_path(struct files *f, struct arena *a, str id, const char *name)
{
    struct folder *d = f->own;
    struct folder_place p;
    if (!catalog_find(&d->catalog, a, id, &p))
        return NULL;
    return arena_printf(a, "%s/%s/%s", d->catalog.dir, p.name.p, name).p;
}

static const char *log_path(struct files *f, struct arena *a, str id)
{
    return folder_path(f, a, id, "chat.jsonl");
}

static const char *notes_path(struct files *f, struct arena *a, str id)
{
    return folder_path(f, a, id, "notes.jsonl");
}

static const char *blob_dir(struct files *f, struct arena *a, str id)
{
    const char *path = folder_path(f, a, id, "blobs");
    return path ? path : arena_printf(a, "%s/.none", folder_of(f->store)->catalog.dir).p;
}

static str layout_record(struct files *f, struct arena *a, str id, str event)
{
    struct folder *d = f->own;
    struct folder_place p = {0};
    (void)catalog_find(&d->catalog, a, id, &p);
    return folder_record(a, &p, event);
}

static void closed(struct files *f)
{
    struct folder *d = f->own;
    catalog_done(&d->catalog);
    free(d);
}

static const struct file_layout LAYOUT = {
    .path = log_path,
    .blob_dir = blob_dir,
    .record = layout_record,
    .event = folder_event,
    .before_append = folder_add_notes,
    .notes_path = notes_path,
    .note_event = folder_note_event,
    .closed = closed,
    .trash_suffix = "",
    .trash_depth = FOLDER_TREE_DEPTH + 1,
    .trash_log = folder_trash_log,
};

static int make_directories(struct store *s, const char *conversations, struct err *e)
{
    const struct store_io *io = appender_io(s->env->appender);
    int r = s->conf.read_only ? 0 : io_mkdir_all(io, conversations);
    return r < 0 ? err_errno(e, r, "cannot create the directory", conversations) : 0;
}

static int folder_open(struct store *s, struct err *e)
{
    if (!s->conf.dir || !*s->conf.dir)
        return err_set(e, -EINVAL, "store.dir: the folder store needs a directory");
    struct arena a;
    arena_init(&a);
    const char *conversations = arena_printf(&a, "%s/conversations", s->conf.dir).p;
    int r = make_directories(s, conversations, e);
    if (r == 0)
        r = files_open(s, &LAYOUT, e);
    if (r == 0) {
        struct files *f = s->impl;
        struct folder *d = xcalloc(1, sizeof(*d));
        d->store = s;
        list_init(&d->waiting);
        catalog_init(&d->catalog, conversations);
        f->own = d;
        if (s->conf.cache_dir)
            f->index = index_new(s, conversations);
        folder_sweep(s);
    }
    arena_done(&a);
    return r;
}

/* ---- finding conversations ---- */

static void start_refresh(struct folder *d);

static void refresh_work(struct job *j)
{
    struct folder *d = CONTAINER_OF(j, struct folder, job);
    err_clear(&d->err);
    (void)catalog_refresh(&d->catalog, MISS_AGE_MS, &d->err);
}

/* No call completes inside this loop, so later calls cannot overtake the waiting ones. */
static void refreshed(struct job *j)
{
    struct folder *d = CONTAINER_OF(j, struct folder, job);
    struct list_node ready = LIST_HEAD_INIT(ready), *n;
    d->is_refreshing = false;
    assert(!list_empty(&d->waiting)); /* the call that asked for it cannot leave */
    while ((n = list_pop(&d->waiting)) != NULL)
        list_push(&ready, n);
    while ((n = list_pop(&ready)) != NULL) {
        struct store_op *op = LIST_ENTRY(n, struct store_op, wait);
        op->err = d->err;
        if (op->err.code)
            op_done_later(op);
        else
            op->then(op);
    }
}

static void start_refresh(struct folder *d)
{
    assert(!d->is_refreshing && !list_empty(&d->waiting));
    d->is_refreshing = true;
    pool_run(d->store->env->readers, &d->job, refresh_work, refreshed);
}

void folder_locate(struct store_op *op, str id, void (*then)(struct store_op *op))
{
    struct folder *d = folder_of(op->store);
    if (!d->is_refreshing && catalog_has(&d->catalog, id)) {
        then(op);
        return;
    }
    op->then = then;
    list_push(&d->waiting, &op->wait);
    if (!d->is_refreshing)
        start_refresh(d);
}

static int folder_each_id(struct store *s, store_id_fn fn, void *ctx, struct err *e)
{
    struct folder *d = folder_of(s);
    struct arena a;
    size_t n = 0;
    int r = catalog_refresh(&d->catalog, 0, e);
    arena_init(&a);
    const str *ids = r == 0 ? catalog_ids(&d->catalog, &a, &n) : NULL;
    for (size_t i = 0; i < n && fn(ctx, ids[i]); i++)
        ;
    arena_done(&a);
    return r;
}

/* ---- scanning: the chat, and behind it the notes that others wrote ---- */

struct scanner {
    store_line_fn fn;
    void *ctx;
    store_pos end;
    bool has_stopped;
    struct map notes; /* hashes of the notes in the chat */
    struct arena scratch;
};

static bool on_chat_line(void *ctx, str line, store_pos end)
{
    struct scanner *s = ctx;
    struct event_head head;
    char key[SHA256_HEX_LEN + 1];
    if (event_scan(line, &head) && head.type == EV_NOTE) {
        arena_reset(&s->scratch);
        folder_note_key(&s->scratch, line, key);
        map_put(&s->notes, str_from(key), s);
    }
    s->end = end;
    s->has_stopped = !s->fn(s->ctx, line, end);
    return !s->has_stopped;
}

static void on_note_line(struct scanner *s, str line)
{
    char key[SHA256_HEX_LEN + 1];
    arena_reset(&s->scratch);
    str event = folder_note_event(&s->scratch, line);
    if (!event.n)
        return;
    folder_note_key(&s->scratch, event, key);
    if (!map_get(&s->notes, str_from(key)))
        s->has_stopped = !s->fn(s->ctx, event, s->end);
}

/* Accepts a last line without a line feed, because people edit this file. */
static void scan_notes_file(struct scanner *s, int fd, off_t size)
{
    struct lines lines;
    struct line line;
    struct arena a;
    str text;
    arena_init(&a);
    lines_init(&lines, fd, 0, size);
    while (!s->has_stopped && lines_next(&lines, &line) > 0)
        on_note_line(s, line.text);
    if (!s->has_stopped && lines_unended(&a, fd, lines.at, size, &text) > 0)
        on_note_line(s, text);
    lines_done(&lines);
    arena_done(&a);
}

static int folder_scan(struct store *store, str id, store_line_fn fn, void *ctx, struct err *e)
{
    struct folder *d = folder_of(store);
    struct scanner s = {.fn = fn, .ctx = ctx};
    struct arena a;
    off_t size;
    int r = catalog_has(&d->catalog, id) ? 0 : catalog_refresh(&d->catalog, MISS_AGE_MS, e);
    if (r == 0)
        r = files_scan(store, id, on_chat_line, &s, e);
    arena_init(&a);
    const char *notes = r == 0 && !s.has_stopped ? notes_path(store->impl, &a, id) : NULL;
    if (notes) {
        int fd = file_store_open_log(notes, UINT64_MAX, &size, NULL);
        if (fd >= 0) {
            scan_notes_file(&s, fd, size);
            close(fd);
        }
    }
    arena_done(&a);
    arena_done(&s.scratch);
    map_done(&s.notes);
    return r;
}

const struct store_ops store_folder_ops = {
    .type = "folder",
    .has_files = true,
    .list_trash = trash_list,
    .peek = person_file_peek,
    .person_read = person_file_read,
    .person_change = person_file_change,
    .open = folder_open,
    .close = files_close,
    .locate = folder_locate,
    .create = folder_create,
    .append = files_append,
    .fork = folder_fork,
    .remove = folder_remove,
    .restore = folder_restore,
    .put_blob = files_put_blob,
    .get_blob = files_get_blob,
    .put_shared = files_put_blob,
    .get_shared = files_get_blob,
    .blob_fd = files_blob_fd,
    .ledger_add = ledger_file_add,
    .ledger_page = ledger_file_page,
    .get = files_get,
    .read = files_read,
    .list = index_list,
    .search = index_search,
    .scan = folder_scan,
    .each_id = folder_each_id,
};
