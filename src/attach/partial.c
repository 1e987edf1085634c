#include "attach/partial.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes/base64.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/lock.h"

enum { PLAN_MAX = 4096, ID_LEN = 21 }; /* part_ and 16 digits */

struct upload_plan { /* what the description says */
    str user_id, name;
    uint64_t bytes;
};

/* The id becomes part of a path. */
static bool is_id(str id)
{
    if (id.n != ID_LEN || !str_starts(id, STR("part_")))
        return false;
    for (size_t i = 5; i < id.n; i++)
        if (hex_digit(id.p[i]) < 0)
            return false;
    return true;
}

const char *partial_path(struct arena *a, const char *dir, str id)
{
    assert(is_id(id));
    return arena_printf(a, "%s/%.*s", dir, STR_ARG(id)).p;
}

static const char *plan_path(struct arena *a, const char *dir, str id)
{
    return arena_printf(a, "%s.json", partial_path(a, dir, id)).p;
}

static str plan_text(struct arena *a, const struct upload_plan *p)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, PLAN_MAX);
    jw_object(&w);
    jw_kstr(&w, "user", p->user_id);
    jw_kstr(&w, "name", p->name);
    jw_kint(&w, "bytes", (int64_t)p->bytes);
    jw_close(&w);
    return buf_keep(&b, a);
}

static bool read_plan(struct arena *a, const char *dir, str id, struct upload_plan *ret)
{
    str text;
    struct json *plan;
    if (file_read(a, plan_path(a, dir, id), PLAN_MAX, &text, NULL) < 0 ||
        json_parse(a, text, 0, &plan, NULL) < 0 || plan->type != JSON_OBJECT)
        return false;
    *ret = (struct upload_plan){json_get_string(plan, "user"), json_get_string(plan, "name"),
                                (uint64_t)json_get_int(plan, "bytes", 0)};
    return ret->bytes > 0;
}

static int64_t expiry(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + PARTIAL_KEEP_MS;
}

static int none(str id, struct err *e)
{
    return err_set(e, -ENOENT, "There is no unfinished upload '%.*s' of yours.",
                   (int)(id.n < 40 ? id.n : 40), id.p);
}

/* The bytes are locked, or -EBUSY. A file without a name was removed while the lock was taken. */
static int lock_bytes(const char *path, int how)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | how, 0600);
    if (fd < 0)
        return -errno;
    int r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -EBUSY : 0;
    if (r == 0 && (fstat(fd, &st) < 0 || st.st_nlink == 0))
        r = -ENOENT;
    if (r == 0)
        return fd;
    lock_close(fd);
    return r;
}

void partial_forget(struct arena *a, const char *dir, str id)
{
    (void)unlink(partial_path(a, dir, id));
    (void)unlink(plan_path(a, dir, id));
}

/* ---- one upload ---- */

int partial_find(struct arena *a, const char *dir, str user_id, str id, struct partial *ret,
                 struct err *e)
{
    struct upload_plan p;
    struct stat st;
    if (!is_id(id) || !read_plan(a, dir, id, &p) || !str_eq(p.user_id, user_id) ||
        lstat(partial_path(a, dir, id), &st) < 0 || !S_ISREG(st.st_mode) ||
        expiry(&st) < clock_now_ms())
        return none(id, e);
    *ret = (struct partial){arena_str(a, id), p.name, p.bytes, (uint64_t)st.st_size, expiry(&st)};
    return 0;
}

int partial_open(struct arena *a, const char *dir, str user_id, str id, uint64_t offset,
                 struct partial *ret, int *ret_fd, struct err *e)
{
    struct stat st;
    int r = partial_find(a, dir, user_id, id, ret, e);
    if (r < 0)
        return r;
    int fd = lock_bytes(partial_path(a, dir, id), 0);
    if (fd == -EBUSY)
        return err_set(e, -EBUSY, "Another request is sending this upload.");
    if (fd < 0)
        return none(id, e);
    ret->offset = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    if (ret->offset == offset) {
        *ret_fd = fd;
        return 0;
    }
    lock_close(fd);
    return err_set(e, -ESTALE, "Upload-Offset: the upload continues at byte %llu, not at %llu.",
                   (unsigned long long)ret->offset, (unsigned long long)offset);
}

static int drop(struct arena *a, const char *dir, str id)
{
    int fd = lock_bytes(partial_path(a, dir, id), 0);
    if (fd < 0)
        return fd;
    partial_forget(a, dir, id);
    lock_close(fd);
    return 0;
}

int partial_remove(struct arena *a, const char *dir, str user_id, str id, uint64_t *ret_freed,
                   struct err *e)
{
    struct partial p;
    int r = partial_find(a, dir, user_id, id, &p, e);
    if (r == 0 && (r = drop(a, dir, id)) == -EBUSY)
        err_set(e, -EBUSY, "Another request is sending this upload.");
    else if (r < 0)
        r = none(id, e);
    *ret_freed = r == 0 ? p.bytes : 0;
    return r;
}

/* ---- those of a person ---- */

struct pile {
    struct partial items[2 * PARTIAL_MAX];
    size_t n;
};

static void pile_fill(struct arena *a, const char *dir, str user_id, struct pile *pile)
{
    DIR_EACH (d, dir) {
        struct partial *p = &pile->items[pile->n];
        if (is_id(str_from(d.name)) &&
            partial_find(a, dir, user_id, str_from(d.name), p, NULL) == 0 &&
            ++pile->n == ARRAY_LEN(pile->items))
            break;
    }
}

/* Makes room for one more: the one that was left alone the longest, and that nobody writes. */
static int make_room(struct arena *a, const char *dir, str user_id, uint64_t *ret_freed,
                     struct err *e)
{
    struct pile pile = {0};
    pile_fill(a, dir, user_id, &pile);
    size_t left = pile.n;
    while (left >= PARTIAL_MAX && pile.n > 0) {
        size_t oldest = 0;
        for (size_t i = 1; i < pile.n; i++)
            if (pile.items[i].expires_ms < pile.items[oldest].expires_ms)
                oldest = i;
        if (drop(a, dir, pile.items[oldest].id) == 0) {
            *ret_freed += pile.items[oldest].bytes;
            left--;
        }
        pile.items[oldest] = pile.items[--pile.n];
    }
    return left < PARTIAL_MAX
               ? 0
               : err_set(e, -EUSERS, "You are sending %u files already. Try again later.",
                         PARTIAL_MAX);
}

int partial_make(struct arena *a, const char *dir, str user_id, str name, uint64_t bytes,
                 struct partial *ret, uint64_t *ret_freed, struct err *e)
{
    char id[RANDOM_ID_MAX];
    assert(bytes > 0);
    *ret_freed = 0;
    int r = file_make_dirs(dir, e);
    if (r == 0)
        r = make_room(a, dir, user_id, ret_freed, e);
    if (r < 0)
        return r;
    random_id("part", id);
    int fd = lock_bytes(partial_path(a, dir, str_from(id)), O_CREAT | O_EXCL);
    if (fd < 0)
        return err_errno(e, fd, "cannot create an upload in", dir);
    r = file_write_atomic(plan_path(a, dir, str_from(id)),
                          plan_text(a, &(struct upload_plan){user_id, name, bytes}), 0600, e);
    if (r < 0)
        partial_forget(a, dir, str_from(id));
    lock_close(fd);
    *ret = (struct partial){arena_str(a, str_from(id)), name, bytes, 0,
                            clock_now_ms() + PARTIAL_KEEP_MS};
    return r;
}

/* ---- sweeping ---- */

uint64_t partial_sweep(const char *dir, int64_t now_ms)
{
    uint64_t reserved = 0;
    struct upload_plan p;
    struct stat st;
    struct arena a;
    arena_init(&a);
    DIR_EACH (d, dir) {
        str id = str_slice(str_from(d.name), 0, ID_LEN);
        bool is_bytes = strlen(d.name) == ID_LEN;
        if (!is_id(id) || lstat(arena_printf(&a, "%s/%s", dir, d.name).p, &st) < 0)
            continue;
        if (expiry(&st) < now_ms && is_bytes)
            (void)drop(&a, dir, id);
        else if (expiry(&st) < now_ms && !file_exists(partial_path(&a, dir, id)))
            (void)unlink(plan_path(&a, dir, id));
        else if (is_bytes && read_plan(&a, dir, id, &p))
            reserved += p.bytes;
    }
    arena_done(&a);
    return reserved;
}
