/* folder_trash.c - deletes conversations of the folder store, and restores them.
 *
 * A deleted folder is moved to <root>/trash/<epoch ms>-<id>/ under its own name, and is purged
 * after TRASH_DAYS, when a store is opened. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "os/dir.h"
#include "store/files/trash.h"
#include "store/folder/folder_impl.h"
#include "store/index/index.h"

enum { LEFTOVER_MS = 3600 * 1000 };

/* ---- deleting ---- */

/* The directory of a conversation in the trash. */
static const char *trashed_place(struct store_op *op, int64_t when)
{
    return arena_printf(&op->arena, "%s/%lld-%.*s", trash_dir(op->store, &op->arena),
                        (long long)when, STR_ARG(op->id))
        .p;
}

static int move_to_trash(struct store_op *op, const struct store_io *io, const char *folder,
                         const char *name)
{
    struct folder *d = folder_of(op->store);
    const char *trash = trash_dir(op->store, &op->arena), *place;
    int64_t now = clock_now_ms();
    int r = io_mkdir_all(io, trash);
    do
        place = trashed_place(op, now++);
    while (r == 0 && (r = io->mkdir(io, place, 0700)) == -EEXIST && (r = 0, true));
    if (r == 0)
        r = io->rename(io, folder, arena_printf(&op->arena, "%s/%s", place, name).p);
    if (r < 0) {
        (void)io->unlink(io, place);
        return r;
    }
    r = io_sync_dir(io, place);
    if (r == 0)
        r = io_sync_dir(io, trash);
    return r < 0 ? r : io_sync_dir(io, d->catalog.dir);
}

/* Renames the folder first, so that a crash does not leave half of a conversation. */
static int purge(struct store_op *op, const struct store_io *io, const char *folder)
{
    struct folder *d = folder_of(op->store);
    char unique[RANDOM_ID_MAX];
    random_id("gone", unique);
    const char *gone = arena_printf(&op->arena, "%s/.%s", d->catalog.dir, unique).p;
    int r = io->rename(io, folder, gone);
    if (r == 0)
        r = io_sync_dir(io, d->catalog.dir);
    return r < 0 ? r : io_remove_tree(io, gone, FOLDER_TREE_DEPTH);
}

static int folder_run_remove(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct folder *d = folder_of(op->store);
    struct folder_place p;
    if (!catalog_find(&d->catalog, &op->arena, op->id, &p))
        return err_set(&t->err, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
    const char *folder = arena_printf(&op->arena, "%s/%s", d->catalog.dir, p.name.p).p;
    int r = op->in.is_purge ? purge(op, io, folder) : move_to_trash(op, io, folder, p.name.p);
    return r < 0 ? err_errno(&t->err, r, "cannot delete", folder) : 0;
}

/* The name of the only folder inside, or an empty string. */
static str only_child(struct arena *a, const char *dir)
{
    str name = STR_NONE;
    DIR_EACH (d, dir) {
        if (d.name[0] != '.')
            name = arena_str(a, str_from(d.name));
    }
    return name;
}

const char *folder_trash_log(struct store_op *op, int64_t when)
{
    const char *place = trashed_place(op, when);
    str name = only_child(&op->arena, place);
    return name.n > 0 ? arena_printf(&op->arena, "%s/%.*s/chat.jsonl", place, STR_ARG(name)).p
                      : NULL;
}

static void on_folder_removed(struct log_task *t)
{
    struct store_op *op = files_op(t);
    if (!t->err.code || t->err.code == -ENOENT)
        catalog_remove(&folder_of(op->store)->catalog, op->id);
    trash_removed(t);
}

void folder_remove(struct store_op *op)
{
    if (files_locate(op, op->id)) {
        op->task = (struct log_task){.run = folder_run_remove, .needs_lock = true};
        files_submit(op, LOG_RUN, on_folder_removed);
    } else if (op->in.is_purge) {
        err_clear(&op->err);
        op_run(op, trash_purge);
    } else {
        op_done_later(op);
    }
}

/* ---- taking back ---- */

static int folder_run_restore(struct log_task *t, const struct store_io *io)
{
    struct store_op *op = files_op(t);
    struct catalog *c = &folder_of(op->store)->catalog;
    int64_t when = trash_newest_own(op);
    const char *place = trashed_place(op, when);
    struct folder_place p = {.name = when < 0 ? STR_NONE : only_child(&op->arena, place)};
    if (!p.name.n)
        return err_set(&t->err, -ENOENT, "%.*s is not in the trash", STR_ARG(op->id));
    const char *from = arena_printf(&op->arena, "%s/%s", place, p.name.p).p;
    const char *to = arena_printf(&op->arena, "%s/%s", c->dir, p.name.p).p;
    catalog_describe(&op->arena, from, &p);
    if (!catalog_reserve(c, op->id, &p))
        return err_set(&t->err, -EEXIST, "this conversation already exists: %.*s", STR_ARG(op->id));
    int r = io->rename(io, from, to);
    if (r == 0)
        r = io_sync_dir(io, c->dir);
    if (r < 0) {
        catalog_remove(c, op->id);
        return err_errno(&t->err, r, "cannot restore", from);
    }
    catalog_confirm(c, op->id);
    (void)io->unlink(io, place);
    return 0;
}

/* The target folder is not known yet, so the task is queued under a name of its own. */
void folder_restore(struct store_op *op)
{
    struct folder *d = folder_of(op->store);
    op->task = (struct log_task){.run = folder_run_restore};
    op->path = arena_printf(&op->arena, "%s/.restore-%.*s", d->catalog.dir, STR_ARG(op->id)).p;
    files_submit(op, LOG_RUN, files_changed);
}

/* ---- sweeping ---- */

/* Removes ".new_..." and ".gone_..." folders of work that was interrupted. */
static void remove_leftovers(struct store_op *op)
{
    struct files *f = op->store->impl;
    const char *dir = folder_of(op->store)->catalog.dir;
    DIR_EACH (d, dir) {
        str name = str_from(d.name);
        struct stat st;
        if (!str_starts(name, STR(".new_")) && !str_starts(name, STR(".gone_")))
            continue;
        const char *path = arena_printf(&op->arena, "%s/%s", dir, d.name).p;
        if (stat(path, &st) == 0 && (int64_t)st.st_mtime * 1000 < clock_now_ms() - LEFTOVER_MS)
            (void)io_remove_tree(f->io, path, FOLDER_TREE_DEPTH);
    }
}

static void sweep(struct store_op *op)
{
    trash_purge_expired(op);
    remove_leftovers(op);
}

void folder_sweep(struct store *s)
{
    trash_start_sweep(s, sweep);
}
