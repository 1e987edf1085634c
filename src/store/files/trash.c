#include "store/files/trash.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/dir.h"
#include "store/files/files.h"
#include "store/files/shared_blobs.h"
#include "store/index/index.h"

/* The files of a conversation, the log first: when it has moved, the others follow. */
static const char *const SUFFIXES[] = {".jsonl", ".jsonl.torn", ".blobs"};

enum { LEFTOVER_MS = 3600 * 1000 };

const char *trash_dir(const struct store *s, struct arena *a)
{
    return arena_printf(a, "%s/trash", s->conf.dir).p;
}

static const char *live_path(struct store_op *op, const char *suffix)
{
    return arena_printf(&op->arena, "%s/%.*s%s", op->store->conf.dir, STR_ARG(op->id), suffix).p;
}

static const char *trash_path(struct store_op *op, int64_t when, const char *suffix)
{
    return arena_printf(&op->arena, "%s/%lld-%.*s%s", trash_dir(op->store, &op->arena),
                        (long long)when, STR_ARG(op->id), suffix)
        .p;
}

/* Parses "<epoch ms>-<id>", with something behind it in a layout with a suffix; false when the name
 * has a different form. */
static bool parse_name(const struct store_op *op, str name, int64_t *ret_when, str *ret_id)
{
    const struct files *f = op->store->impl;
    ptrdiff_t dash = str_find_char(name, '-'), dot = str_find_char(name, '.');
    if (dash < 0 || parse_i64(str_slice(name, 0, (size_t)dash), ret_when) < 0)
        return false;
    bool has_suffix = *f->layout->trash_suffix && dot >= 0;
    *ret_id = str_slice(name, (size_t)dash + 1, has_suffix ? (size_t)dot : name.n);
    return store_id_valid(*ret_id);
}

/* ---- whose it is ---- */

const char *trash_log(struct store_op *op, int64_t when)
{
    return trash_path(op, when, SUFFIXES[0]);
}

static bool derive_only_header(void *derive, str line, store_pos end)
{
    derive_line(derive, line, end);
    return false;
}

/* Reads the log into d, which the caller ends; false: it cannot be read. */
static bool read_trashed(struct store_op *op, int64_t when, store_line_fn fn, struct derive *d)
{
    const struct files *f = op->store->impl;
    const char *path = f->layout->trash_log(op, when);
    struct err e = {0};
    off_t limit;
    int64_t overlong = 0;
    derive_init(d, op->store->env);
    int fd = path ? file_store_open_log(path, UINT64_MAX, &limit, &e) : -ENOENT;
    if (fd < 0)
        return false;
    int r = files_each_line(f->layout, fd, 0, limit, false, fn, d, &overlong);
    close(fd);
    return r >= 0 && d->has_header;
}

static bool may_manage(struct store_op *op, int64_t when, store_line_fn fn)
{
    struct derive d;
    bool may = read_trashed(op, when, fn, &d) && op_may_manage(op, &d.conv);
    derive_done(&d);
    return may;
}

/* Reads the whole log, because the last metadata is valid. Only the operator may manage a log that
 * cannot be read. */
static bool trash_may_manage(struct store_op *op, int64_t when)
{
    return (!op->has_viewer && op->branch_of.n == 0) || may_manage(op, when, derive_scanned);
}

/* ---- deleting ---- */

static struct shared_blobs *shared_of(const struct store_op *op)
{
    const struct files *f = op->store->impl;
    return f->shared;
}

static int move_to_trash(struct store_op *op, const struct store_io *io, struct err *e)
{
    const char *dir = trash_dir(op->store, &op->arena);
    int64_t now = clock_now_ms();
    int r = io_mkdir_all(io, dir);
    /* An id may be deleted, created and deleted again within one millisecond. */
    while (access(trash_path(op, now, SUFFIXES[0]), F_OK) == 0)
        now++;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(SUFFIXES); i++) {
        const char *from = live_path(op, SUFFIXES[i]);
        r = io->rename(io, from, trash_path(op, now, SUFFIXES[i]));
        if (r == -ENOENT && i > 0)
            r = 0;
        if (r == 0 && i == 0)
            r = io_sync_dir(io, dir);
    }
    if (r == 0)
        r = io_sync_dir(io, op->store->conf.dir);
    return r < 0 ? err_errno(e, r, "cannot move to the trash", op->path) : 0;
}

static int purge_live(struct store_op *op, const struct store_io *io, struct err *e)
{
    struct shared_purge purge;
    shared_purge_init(&purge, shared_of(op));
    shared_purge_add(&purge, op->path);
    int r = shared_purge_begin(&purge);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(SUFFIXES); i++)
        r = io_remove_tree(io, live_path(op, SUFFIXES[i]), TRASH_DEPTH);
    if (r == 0)
        r = io_sync_dir(io, op->store->conf.dir);
    if (r == 0)
        r = shared_purge_end(&purge);
    shared_purge_done(&purge);
    return r < 0 ? err_errno(e, r, "cannot delete", op->path) : 0;
}

/* Removes "<id>.jsonl.new_..." files of creations and forks that were interrupted. */
static void remove_leftovers(const struct store *s, const struct store_io *io)
{
    DIR_EACH (d, s->conf.dir) {
        char path[PATH_MAX];
        struct stat st;
        if (strstr(d.name, ".jsonl.new_") &&
            snprintf(path, sizeof(path), "%s/%s", s->conf.dir, d.name) < PATH_MAX &&
            stat(path, &st) == 0 && (int64_t)st.st_mtime * 1000 < clock_now_ms() - LEFTOVER_MS)
            (void)io->unlink(io, path);
    }
}

static int trash_run_remove(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    remove_leftovers(op->store, io);
    if (op->in.is_purge)
        return purge_live(op, io, &t->err);
    shared_enter(shared_of(op));
    int r = move_to_trash(op, io, &t->err);
    shared_leave(shared_of(op));
    return r;
}

typedef bool (*due_fn)(const struct store_op *op, int64_t when, str id);

/* The path of the next entry that `is_due` selects, or NULL. */
static const char *next_due(struct store_op *op, struct dir *d, due_fn is_due, str *ret_id)
{
    while (dir_next(d)) {
        int64_t when;
        if (parse_name(op, str_from(d->name), &when, ret_id) && is_due(op, when, *ret_id))
            return arena_printf(&op->arena, "%s/%s", trash_dir(op->store, &op->arena), d->name).p;
    }
    return NULL;
}

static void add_names(struct store_op *op, due_fn is_due, struct shared_purge *purge)
{
    struct dir d = dir_open(trash_dir(op->store, &op->arena));
    const char *path;
    str id;
    while (d.error == 0 && (path = next_due(op, &d, is_due, &id)) != NULL)
        if (str_ends(str_from(path), STR(".jsonl")))
            shared_purge_add(purge, path);
    dir_close(&d);
}

/* Returns the number of entries that were removed, or -errno. */
static int remove_due(struct store_op *op, due_fn is_due)
{
    struct files *f = op->store->impl;
    struct dir d = dir_open(trash_dir(op->store, &op->arena));
    const char *path;
    str id;
    int n = 0, r = d.error == -ENOENT ? 0 : d.error;
    while (r >= 0 && d.error == 0 && (path = next_due(op, &d, is_due, &id)) != NULL) {
        r = io_remove_tree(f->io, path, f->layout->trash_depth);
        n++;
        if (r >= 0 && op->id.n == 0)
            note_swept(op, id);
    }
    dir_close(&d);
    return r < 0 ? r : n;
}

/* Removes from the trash the entries that `is_due` selects. Returns their number, or -errno. */
static int purge_trash(struct store_op *op, due_fn is_due)
{
    struct shared_purge purge;
    shared_purge_init(&purge, shared_of(op));
    if (purge.shared)
        add_names(op, is_due, &purge);
    int r = shared_purge_begin(&purge);
    int n = r < 0 ? r : remove_due(op, is_due);
    r = n < 0 ? n : shared_purge_end(&purge);
    shared_purge_done(&purge);
    return r < 0 ? r : n;
}

/* Several people may have used the same id: each purges only conversations that they may manage.
 * The log is checked once, before any of its files is removed; the other files are found by its
 * name. */
static bool is_this_one(const struct store_op *op, int64_t when, str id)
{
    return str_eq(id, op->id) && when == op->trashed_ms;
}

/* When the newest conversation of this id in the trash was deleted that is older than `before` (-1
 * = any); -1 = none. */
static int64_t trash_newest(struct store_op *op, int64_t before)
{
    const struct files *f = op->store->impl;
    int64_t newest = -1, when;
    str id;
    DIR_EACH (d, trash_dir(op->store, &op->arena)) {
        str name = str_from(d.name);
        if (str_ends(name, str_from(f->layout->trash_suffix)) && parse_name(op, name, &when, &id) &&
            str_eq(id, op->id) && when > newest && (before < 0 || when < before))
            newest = when;
    }
    return newest;
}

int64_t trash_newest_own(struct store_op *op)
{
    int64_t when = trash_newest(op, -1);
    while (when >= 0 && !trash_may_manage(op, when))
        when = trash_newest(op, when);
    return when;
}

/* A place without a log is left over from a restoration that was interrupted. */
static bool has_log(struct store_op *op, int64_t when)
{
    const struct files *f = op->store->impl;
    const char *path = f->layout->trash_log(op, when);
    return path && access(path, F_OK) == 0;
}

bool trash_has_id(struct store_op *op)
{
    if (op->in.create.is_fresh_id)
        return false;
    int64_t when = trash_newest(op, -1);
    while (when >= 0 && !has_log(op, when))
        when = trash_newest(op, when);
    return when >= 0;
}

/* Purges all conversations of this id that the viewer may manage. Returns 0 when there are none, or
 * -errno. */
static int purge_own(struct store_op *op)
{
    int n = 0, r = 0;
    int64_t when = -1;
    while (r >= 0 && (when = trash_newest(op, when)) >= 0) {
        if (!trash_may_manage(op, when))
            continue;
        op->trashed_ms = when;
        r = purge_trash(op, is_this_one);
        n += r > 0 ? r : 0;
    }
    return r < 0 ? r : n;
}

void trash_purge(struct store_op *op)
{
    int n = purge_own(op);
    if (n == 0)
        err_set(&op->err, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
    else if (n < 0)
        err_errno(&op->err, n, "cannot delete",
                  op->path ? op->path : trash_dir(op->store, &op->arena));
}

void trash_removed(struct log_task *t)
{
    struct store_op *op = files_op(t);
    struct files *f = op->store->impl;
    cache_drop(f->cache, op->id);
    index_touch(f->index, op->id);
    if (t->err.code == -ENOENT && op->in.is_purge) {
        op_run(op, trash_purge);
        return;
    }
    files_done(t);
}

void trash_remove(struct store_op *op)
{
    op->task = (struct log_task){.run = trash_run_remove, .needs_lock = true};
    files_locate(op, op->id);
    files_submit(op, LOG_RUN, trash_removed);
}

/* ---- restoring ---- */

/* The log is restored last: it must not appear before the blobs that it refers to. */
static int move_back(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    int64_t when = trash_newest_own(op);
    if (when < 0)
        return err_set(&t->err, -ENOENT, "%.*s is not in the trash", STR_ARG(op->id));
    if (access(op->path, F_OK) == 0)
        return err_set(&t->err, -EEXIST, "this conversation already exists: %s", op->path);
    int r = 0;
    for (size_t i = ARRAY_LEN(SUFFIXES); r == 0 && i-- > 1;) {
        r = io->rename(io, trash_path(op, when, SUFFIXES[i]), live_path(op, SUFFIXES[i]));
        if (r == -ENOENT || r == -ENOTEMPTY || r == -EEXIST)
            r = 0;
    }
    const char *trashed = trash_path(op, when, SUFFIXES[0]);
    if (r == 0)
        r = io_sync_dir(io, op->store->conf.dir);
    if (r == 0)
        r = io->link(io, trashed, op->path);
    if (r == 0)
        r = io_sync_dir(io, op->store->conf.dir);
    if (r == 0)
        (void)io->unlink(io, trashed);
    return r < 0 ? err_errno(&t->err, r, "cannot restore", op->path) : 0;
}

static int trash_run_restore(struct log_task *t, const struct store_io *io)
{
    struct shared_blobs *shared = shared_of(files_op(t));
    shared_enter(shared);
    int r = move_back(t, io);
    shared_leave(shared);
    return r;
}

void trash_restore(struct store_op *op)
{
    op->task = (struct log_task){.run = trash_run_restore};
    files_locate(op, op->id);
    files_submit(op, LOG_RUN, files_changed);
}

/* ---- listing ---- */

struct trashed {
    str id;
    int64_t when;
};

static int last_deleted_first(const void *a, const void *b)
{
    const struct trashed *x = a, *y = b;
    return (x->when < y->when) - (x->when > y->when);
}

static size_t find_trashed(struct store_op *op, struct trashed **ret)
{
    const struct files *f = op->store->impl;
    struct trashed one, *all = NULL;
    size_t n = 0, cap = 0;
    DIR_EACH (d, trash_dir(op->store, &op->arena)) {
        str name = str_from(d.name);
        if (!str_ends(name, str_from(f->layout->trash_suffix)) ||
            !parse_name(op, name, &one.when, &one.id))
            continue;
        ARENA_GROW(&op->arena, all, n, cap);
        all[n++] = (struct trashed){arena_str(&op->arena, one.id), one.when};
    }
    if (n > 1)
        qsort(all, n, sizeof *all, last_deleted_first);
    *ret = all;
    return n;
}

/* Of several with the same id only the last can be restored. */
static bool has_conv(const struct conv *convs, size_t n, str id)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(convs[i].id, id))
            return true;
    return false;
}

/* The conversation in this log, in the arena of op; NULL: it is not for this list. */
static const struct conv *listed_conv(struct store_op *op, int64_t when)
{
    struct derive d;
    const struct conv *c = NULL;
    /* Most logs of a trash are other people's: line 1, which names the owner, says so. */
    if (!may_manage(op, when, derive_only_header))
        return NULL;
    if (read_trashed(op, when, derive_scanned, &d) && !d.conv.is_hidden &&
        op_may_manage(op, &d.conv))
        c = derive_conv(&d, &op->arena, op->id, str_from(op->store->conf.workspace_id));
    derive_done(&d);
    return c;
}

void trash_list(struct store_op *op)
{
    struct trashed *all;
    size_t n = find_trashed(op, &all), kept = 0;
    struct conv *convs = arena_array(&op->arena, STORE_TRASH_MAX, sizeof *convs);
    for (size_t i = 0; i < n && kept < STORE_TRASH_MAX; i++) {
        op->id = all[i].id;
        const struct conv *c = has_conv(convs, kept, op->id) ? NULL : listed_conv(op, all[i].when);
        if (!c)
            continue;
        convs[kept] = *c;
        convs[kept++].deleted_ms = all[i].when;
    }
    op->out.listing = (struct store_listing){.convs = convs, .n = kept, .total = (int64_t)kept};
}

/* ---- sweeping ---- */

static bool is_expired(const struct store_op *op, int64_t when, str id)
{
    return when < clock_now_ms() - (int64_t)TRASH_DAYS * 24 * 3600 * 1000;
}

void trash_purge_expired(struct store_op *op)
{
    (void)purge_trash(op, is_expired); /* failures are tried again at the next start */
}

static void swept(struct store_op *op)
{
    tell_swept(op);
}

void trash_start_sweep(struct store *s, void (*work)(struct store_op *op))
{
    if (!s->conf.read_only)
        op_run(op_new(s, STR_NONE, swept, NULL), work);
}

static void collect_shared(struct store_op *op)
{
    (void)shared_collect_all(shared_of(op)); /* the mark stays until it succeeds */
}

void trash_sweep(struct store *s)
{
    struct stat st;
    const struct files *f = s->impl;
    if (f->shared && shared_is_marked(f->shared))
        trash_start_sweep(s, collect_shared);
    struct arena a;
    arena_init(&a);
    bool has_trash = stat(trash_dir(s, &a), &st) == 0;
    arena_done(&a);
    if (has_trash)
        trash_start_sweep(s, trash_purge_expired);
}
