/* Users and workspaces as files: {workDir}/<kind>/<id>/<name>, with the lock of roster_lock.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "workspace/roster/roster.h"
#include "workspace/roster/roster_lock.h"
#include "workspace/roster/roster_source.h"

struct file_docs {
    struct roster_docs docs;
    struct roster_lock lock;
};

static str path_of(struct arena *a, struct roster_docs *d, const char *kind, str id,
                   const char *name)
{
    return arena_printf(a, "%s/%s/%.*s%s%s", d->work_dir, kind, STR_ARG(id), name ? "/" : "",
                        name ? name : "");
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* A directory that is not there is empty; one that cannot be read is an error, because treating it
 * as empty would lock all users out. */
static int files_list(struct roster_docs *d, struct arena *a, const char *kind, bool (*is_id)(str),
                      size_t max, struct json_strs *ret, struct err *e)
{
    str path = arena_printf(a, "%s/%s", d->work_dir, kind);
    struct dir in = dir_open(path.p);
    size_t cap = 0;
    *ret = (struct json_strs){0};
    if (in.error < 0)
        return in.error == -ENOENT ? 0 : err_errno(e, in.error, "cannot read", path.p);
    while (ret->len <= max && dir_next(&in)) {
        if (!is_id(str_from(in.name)))
            continue;
        ARENA_GROW(a, ret->items, ret->len, cap);
        ret->items[ret->len++] = arena_str(a, str_from(in.name));
    }
    dir_close(&in);
    if (ret->len > max)
        return err_set(e, -EFBIG, "%s has more than %zu entries", path.p, max);
    if (ret->len > 0)
        qsort(ret->items, ret->len, sizeof(str), by_name);
    return 0;
}

static int files_read(struct roster_docs *d, struct arena *a, const char *kind, str id,
                      const char *name, str *ret, struct err *e)
{
    return file_read(a, path_of(a, d, kind, id, name).p, ROSTER_FILE_MAX, ret, e);
}

static int files_write(struct roster_docs *d, const char *kind, str id, const char *name, str text,
                       struct err *e)
{
    struct arena a;
    arena_init(&a);
    int r = file_make_dirs(path_of(&a, d, kind, id, NULL).p, e);
    if (r == 0)
        r = file_write_atomic(path_of(&a, d, kind, id, name).p, text, 0600, e);
    arena_done(&a);
    return r;
}

static int files_remove(struct roster_docs *d, const char *kind, str id, const char *name,
                        struct err *e)
{
    struct arena a;
    arena_init(&a);
    str path = path_of(&a, d, kind, id, name);
    int r =
        unlink(path.p) < 0 && errno != ENOENT ? err_errno(e, -errno, "cannot remove", path.p) : 0;
    arena_done(&a);
    return r;
}

/* One rename: the user or workspace disappears atomically and can be restored by hand. */
static int files_trash(struct roster_docs *d, const char *kind, str id, struct err *e)
{
    struct arena a;
    arena_init(&a);
    str from = path_of(&a, d, kind, id, NULL);
    str trash = arena_printf(&a, "%s/trash", d->work_dir);
    str to = arena_printf(&a, "%s/%.*s-%lld", trash.p, STR_ARG(id), (long long)d->now_ms);
    int r = file_make_dirs(trash.p, e);
    if (r == 0 && rename(from.p, to.p) < 0)
        r = err_errno(e, -errno, "cannot remove", from.p);
    arena_done(&a);
    return r;
}

static void files_forget(struct roster_docs *d, const char *kind, str id, const char *also)
{
    struct arena a;
    arena_init(&a);
    if (also)
        (void)unlink(path_of(&a, d, kind, id, also).p);
    (void)rmdir(path_of(&a, d, kind, id, NULL).p);
    arena_done(&a);
}

/* A directory without a readable document still holds data: its id is not free. */
static bool files_is_taken(struct roster_docs *d, const char *kind, str id)
{
    struct arena a;
    arena_init(&a);
    bool is_there = file_exists(path_of(&a, d, kind, id, NULL).p);
    arena_done(&a);
    return is_there;
}

static int files_stamp(struct roster_docs *d, struct err *e)
{
    struct file_docs *f = CONTAINER_OF(d, struct file_docs, docs);
    int r = roster_lock_set_mark(&f->lock, e);
    d->mark = roster_lock_mark(&f->lock);
    return r;
}

static const struct roster_docs_ops FILES = {
    .list = files_list,
    .read = files_read,
    .write = files_write,
    .remove = files_remove,
    .trash = files_trash,
    .forget = files_forget,
    .is_taken = files_is_taken,
    .stamp = files_stamp,
};

static int files_visit(struct roster_source *s, bool is_exclusive, roster_visit_fn fn, void *ctx,
                       struct err *e)
{
    struct file_docs f = {.docs = {.ops = &FILES, .work_dir = s->work_dir}};
    int r = roster_lock_take(&f.lock, s->work_dir, is_exclusive, e);
    if (r < 0)
        return r;
    f.docs.mark = roster_lock_mark(&f.lock);
    f.docs.now_ms = clock_now_ms();
    r = fn(&f.docs, ctx, e);
    roster_lock_drop(&f.lock);
    return r;
}

static int files_mark(struct roster_source *s, uint64_t *ret, struct err *e)
{
    struct roster_lock l;
    int r = roster_lock_take(&l, s->work_dir, false, e);
    if (r < 0)
        return r;
    *ret = roster_lock_mark(&l);
    roster_lock_drop(&l);
    return 0;
}

struct roster_source roster_files(const char *work_dir, bool is_sole)
{
    return (struct roster_source){
        .work_dir = work_dir, .is_sole = is_sole, .visit = files_visit, .mark = files_mark};
}
