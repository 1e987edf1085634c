#include "attach/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "os/dir.h"
#include "os/file.h"

enum { COPIES_MAX = 10000 /* compared with the table in one sweep */ };
#define YOUNG_MS (10 * 60 * 1000LL) /* a copy that may not be in the table yet */

/* ---- adding ---- */

static int put(const struct file_place *p, const struct file_put *what, uint64_t *ret_total,
               struct err *e)
{
    return p->table->put(p->table, what, ret_total, e);
}

int file_place_keep(struct arena *a, const struct file_place *p, const struct file_arrival *in,
                    bool *ret_is_new, uint64_t *ret_total, struct err *e)
{
    if (!p->table)
        return library_keep(a, p->dir, in->temp, in->user_id, in->sha256, in->what, ret_is_new, e);
    int r = library_copy(a, p->dir, in->temp, in->sha256, in->what->bytes, e);
    const struct file_put what = {.workspace_id = p->workspace_id,
                                  .sha256 = in->sha256,
                                  .user_id = in->user_id,
                                  .what = in->what,
                                  .path = library_path(a, p->dir, in->sha256),
                                  .quota = in->quota};
    *ret_is_new = false; /* the table counts */
    return r < 0 ? r : put(p, &what, ret_total, e);
}

int file_place_add(struct arena *a, const struct file_place *p, str bytes, uint64_t quota,
                   str *ret_sha256, bool *ret_is_new, struct err *e)
{
    uint64_t total;
    int r = library_add(a, p->dir, bytes, ret_sha256, ret_is_new, e);
    if (r < 0 || !p->table)
        return r;
    const struct attached size = {.bytes = bytes.n};
    const struct file_put what = {.workspace_id = p->workspace_id,
                                  .sha256 = *ret_sha256,
                                  .what = &size,
                                  .path = library_path(a, p->dir, *ret_sha256),
                                  .quota = quota};
    return put(p, &what, &total, e);
}

/* ---- a copy of the bytes ---- */

static int hash_of(int fd, char hex[SHA256_HEX_LEN + 1])
{
    char piece[64 * 1024];
    struct sha256_pieces h;
    uint64_t at = 0;
    ssize_t n;
    sha256_begin(&h);
    while ((n = pread(fd, piece, sizeof piece, (off_t)at)) > 0) {
        sha256_add(&h, str_make(piece, (size_t)n));
        at += (uint64_t)n;
    }
    sha256_end_hex(&h, hex);
    return n < 0 ? -errno : 0;
}

static int fetch_into(struct arena *a, const struct file_place *p, str sha256, const char *temp,
                      struct err *e)
{
    char hex[SHA256_HEX_LEN + 1];
    struct stat st;
    int fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, "cannot create", temp);
    int r = p->table->fetch(p->table, p->workspace_id, sha256, fd, e);
    if (r == 0 &&
        (hash_of(fd, hex) < 0 || fstat(fd, &st) < 0 ||
         !str_eq(str_from(hex), sha256))) /* removed while it was being read, or damaged */
        r = err_set(e, -ENOENT, "There is no file 'file_%.*s' any more.", STR_ARG(sha256));
    file_close(fd);
    if (r == 0)
        r = library_copy(a, p->dir, temp, sha256, (uint64_t)st.st_size, e);
    else
        (void)unlink(temp);
    return r;
}

int file_place_bring(struct arena *a, const struct file_place *p, str sha256, struct err *e)
{
    char unique[RANDOM_ID_MAX];
    struct stat st;
    const char *path = library_path(a, p->dir, sha256);
    if (stat(path, &st) == 0) {
        if (p->table) /* it was used now */
            (void)utimensat(AT_FDCWD, path, NULL, 0);
        return 0;
    }
    if (!p->table)
        return err_set(e, -ENOENT, "There is no file 'file_%.*s' any more.", STR_ARG(sha256));
    int r = file_make_dirs(p->dir, e);
    if (r < 0)
        return r;
    random_id("new", unique);
    return fetch_into(a, p, sha256, arena_printf(a, "%s/%s", p->dir, unique).p, e);
}

/* ---- the others ---- */

int file_place_find(struct arena *a, const struct file_place *p, str user_id, str sha256,
                    struct attached *ret, struct err *e)
{
    return p->table ? p->table->find(p->table, a, p->workspace_id, user_id, sha256, ret, e)
                    : library_find(a, p->dir, user_id, sha256, ret, e);
}

int file_place_list(struct arena *a, const struct file_place *p, str user_id, struct attached **ret,
                    size_t *ret_n, struct err *e)
{
    return p->table ? p->table->list(p->table, a, p->workspace_id, user_id, ret, ret_n, e)
                    : library_list(a, p->dir, user_id, ret, ret_n, e);
}

int file_place_remove(struct arena *a, const struct file_place *p, str user_id, str sha256,
                      uint64_t *ret_freed, struct err *e)
{
    if (!p->table)
        return library_remove(a, p->dir, user_id, sha256, ret_freed, e);
    int r = p->table->remove(p->table, p->workspace_id, user_id, sha256, ret_freed, e);
    if (r == 0 && *ret_freed > 0)
        library_drop_copy(a, p->dir, sha256);
    return r;
}

/* The bytes are in the table and count already. */
int file_place_share(struct arena *a, const struct file_place *p, str from_id, str sha256,
                     str to_id, struct attached *ret, struct err *e)
{
    uint64_t total;
    if (!p->table)
        return library_share(a, p->dir, from_id, sha256, to_id, ret, e);
    int r = file_place_find(a, p, from_id, sha256, ret, e);
    if (r == 0)
        r = file_place_bring(a, p, sha256, e);
    ret->at_ms = clock_now_ms();
    const struct file_put what = {.workspace_id = p->workspace_id,
                                  .sha256 = sha256,
                                  .user_id = to_id,
                                  .what = ret,
                                  .path = library_path(a, p->dir, sha256),
                                  .quota = UINT64_MAX};
    return r < 0 ? r : put(p, &what, &total, e);
}

void file_place_mark_named(struct arena *a, const struct file_place *p, str sha256, str user_id)
{
    if (p->table)
        p->table->mark_named(p->table, p->workspace_id, sha256, user_id);
    else
        library_mark_named(a, p->dir, sha256, user_id);
}

/* ---- sweeping ---- */

static size_t old_copies(struct arena *a, const char *dir, int64_t now_ms, str *ret)
{
    size_t n = 0;
    struct stat st;
    DIR_EACH (d, dir) {
        if (strlen(d.name) != 2)
            continue;
        DIR_EACH (f, arena_printf(a, "%s/%s", dir, d.name).p)
            if (n < COPIES_MAX && sha256_is_hex(str_from(f.name)) &&
                fstatat(dir_fd(&f), f.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                (int64_t)st.st_mtim.tv_sec * 1000 + YOUNG_MS < now_ms)
                ret[n++] = arena_str(a, str_from(f.name));
    }
    return n;
}

/* A file that was removed on another server must not stay on this disk. */
static int drop_unknown(struct arena *a, const struct file_place *p, int64_t now_ms, struct err *e)
{
    str *all = arena_array(a, COPIES_MAX, sizeof *all);
    size_t n = old_copies(a, p->dir, now_ms, all);
    bool *is_known = arena_array(a, n + 1, sizeof *is_known);
    int r = n > 0 ? p->table->known(p->table, p->workspace_id, all, n, is_known, e) : 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        if (!is_known[i])
            library_drop_copy(a, p->dir, all[i]);
    return r;
}

int file_place_sweep(const struct file_place *p, int64_t now_ms, struct library_size *ret,
                     struct err *e)
{
    struct arena a;
    *ret = library_sweep(p->dir, now_ms);
    if (!p->table)
        return 0;
    arena_init(&a);
    int r = p->table->sweep(p->table, p->workspace_id, &ret->bytes, e);
    if (r == 0)
        r = drop_unknown(&a, p, now_ms, e);
    arena_done(&a);
    return r;
}
