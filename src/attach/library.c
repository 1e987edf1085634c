#include "attach/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "os/dir.h"
#include "os/file.h"
#include "workspace/roster/roster.h"

enum { META_MAX = 16 * 1024 };

/* ---- names ---- */

bool library_id_sha(str id, str *ret_sha256)
{
    *ret_sha256 = str_skip(id, 5);
    return str_starts(id, STR("file_")) && sha256_is_hex(*ret_sha256);
}

str library_id(struct arena *a, str sha256)
{
    return arena_concat(a, STR("file_"), sha256);
}

const char *library_path(struct arena *a, const char *dir, str sha256)
{
    return arena_printf(a, "%s/%.2s/%.*s", dir, sha256.p, STR_ARG(sha256)).p;
}

static const char *meta_path(struct arena *a, const char *dir, str sha256, str user_id)
{
    return arena_printf(a, "%s.%.*s.json", library_path(a, dir, sha256), STR_ARG(user_id)).p;
}

/* ---- one file ---- */

static str meta_text(struct arena *a, const struct attached *what)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, META_MAX);
    jw_object(&w);
    jw_kstr(&w, "name", what->name);
    jw_kstr(&w, "mimeType", what->mime);
    jw_kint(&w, "bytes", (int64_t)what->bytes);
    jw_kint(&w, "width", what->width);
    jw_kint(&w, "height", what->height);
    jw_kint(&w, "at", what->at_ms);
    jw_close(&w);
    return buf_keep(&b, a);
}

static int read_meta(struct arena *a, const char *path, str sha256, struct attached *ret)
{
    str text;
    struct json *meta;
    int r = file_read(a, path, META_MAX, &text, NULL);
    if (r < 0)
        return r;
    if (json_parse(a, text, 0, &meta, NULL) < 0 || meta->type != JSON_OBJECT)
        return -EIO;
    *ret = (struct attached){
        .id = library_id(a, sha256),
        .name = json_get_string(meta, "name"),
        .mime = json_get_string(meta, "mimeType"),
        .bytes = (uint64_t)json_get_int(meta, "bytes", 0),
        .width = (uint32_t)json_get_int(meta, "width", 0),
        .height = (uint32_t)json_get_int(meta, "height", 0),
        .at_ms = json_get_int(meta, "at", 0),
    };
    return 0;
}

/* Bytes that are there already are kept; they count as new for library_sweep. */
static int move_bytes(struct arena *a, const char *temp, const char *path, uint64_t bytes,
                      bool *ret_is_new, struct err *e)
{
    struct stat st;
    *ret_is_new = stat(path, &st) < 0 || (uint64_t)st.st_size != bytes;
    if (!*ret_is_new) {
        (void)utimensat(AT_FDCWD, path, NULL, 0);
        return unlink(temp) < 0 ? err_errno(e, -errno, "cannot remove", temp) : 0;
    }
    str parent = str_slice(str_from(path), 0, (size_t)str_rfind_char(str_from(path), '/'));
    int r = file_make_dirs(arena_cstr(a, parent), e);
    if (r < 0)
        return r;
    return rename(temp, path) < 0 ? err_errno(e, -errno, "cannot write", path) : 0;
}

int library_keep(struct arena *a, const char *dir, const char *temp, str user_id, str sha256,
                 const struct attached *what, bool *ret_is_new, struct err *e)
{
    int r = move_bytes(a, temp, library_path(a, dir, sha256), what->bytes, ret_is_new, e);
    if (r == 0) /* syncs the directory of both */
        r = file_write_atomic(meta_path(a, dir, sha256, user_id), meta_text(a, what), 0600, e);
    if (r < 0)
        (void)unlink(temp);
    return r;
}

int library_add(struct arena *a, const char *dir, str bytes, str *ret_sha256, bool *ret_is_new,
                struct err *e)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(bytes, hex);
    *ret_sha256 = arena_str(a, str_from(hex));
    const char *path = library_path(a, dir, *ret_sha256);
    *ret_is_new = utimensat(AT_FDCWD, path, NULL, 0) < 0;
    if (!*ret_is_new) /* it counts as new for library_sweep */
        return 0;
    str parent = str_slice(str_from(path), 0, (size_t)str_rfind_char(str_from(path), '/'));
    int r = file_make_dirs(arena_cstr(a, parent), e);
    return r < 0 ? r : file_write_atomic(path, bytes, 0600, e);
}

int library_copy(struct arena *a, const char *dir, const char *temp, str sha256, uint64_t bytes,
                 struct err *e)
{
    bool is_new;
    int r = move_bytes(a, temp, library_path(a, dir, sha256), bytes, &is_new, e);
    if (r < 0)
        (void)unlink(temp);
    return r;
}

const char *library_thumb_path(struct arena *a, const char *dir, str sha256)
{
    return arena_printf(a, "%s.thumb", library_path(a, dir, sha256)).p;
}

const char *library_page_path(struct arena *a, const char *dir, str sha256, uint32_t page,
                              uint32_t side)
{
    return arena_printf(a, "%s.page-%u-%u", library_path(a, dir, sha256), page, side).p;
}

int library_find(struct arena *a, const char *dir, str user_id, str sha256, struct attached *ret,
                 struct err *e)
{
    struct stat st;
    const char *meta = meta_path(a, dir, sha256, user_id);
    if (read_meta(a, meta, sha256, ret) < 0 || stat(library_path(a, dir, sha256), &st) < 0)
        return err_set(e, -ENOENT, "There is no file 'file_%.*s' of yours.", STR_ARG(sha256));
    if (st.st_nlink == 1)
        (void)utimensat(AT_FDCWD, meta, NULL, 0);
    return 0;
}

int library_share(struct arena *a, const char *dir, str from_id, str sha256, str to_id,
                  struct attached *ret, struct err *e)
{
    int r = library_find(a, dir, from_id, sha256, ret, e);
    ret->at_ms = clock_now_ms();
    return r < 0 ? r
                 : file_write_atomic(meta_path(a, dir, sha256, to_id), meta_text(a, ret), 0600, e);
}

/* ---- who gave it ---- */

bool library_is_keeper(str giver_id)
{
    return str_starts(giver_id, STR("prj_"));
}

bool library_giver_ok(str giver_id)
{
    return user_id_ok(giver_id) || (library_is_keeper(giver_id) && str_is_made_of(giver_id, "_"));
}

/* The next description of these bytes in an open directory; false: there is none. */
static bool next_giver(struct dir *d, str sha256)
{
    while (d->error == 0 && dir_next(d)) {
        str name = str_from(d->name);
        if (str_starts(name, sha256) && str_ends(name, STR(".json")))
            return true;
    }
    return false;
}

static struct dir open_below(struct arena *a, const char *dir, str sha256)
{
    return dir_open(arena_printf(a, "%s/%.2s", dir, sha256.p).p);
}

static bool has_givers(struct arena *a, const char *dir, str sha256)
{
    struct dir d = open_below(a, dir, sha256);
    bool ret = next_giver(&d, sha256);
    dir_close(&d);
    return ret;
}

/* The description of the only person who gave it; NULL: there is none, or several. */
static const char *sole_giver(struct arena *a, const char *dir, str sha256)
{
    const char *ret = NULL;
    struct dir d = open_below(a, dir, sha256);
    if (next_giver(&d, sha256))
        ret = arena_printf(a, "%s/%.2s/%s", dir, sha256.p, d.name).p;
    if (next_giver(&d, sha256))
        ret = NULL;
    dir_close(&d);
    return ret;
}

void library_mark_named(struct arena *a, const char *dir, str sha256, str user_id)
{
    static const struct timespec LONG_AGO[2] = {{1, 0}, {1, 0}};
    const char *meta =
        user_id.n > 0 ? meta_path(a, dir, sha256, user_id) : sole_giver(a, dir, sha256);
    (void)utimensat(AT_FDCWD, library_path(a, dir, sha256), LONG_AGO, 0);
    if (meta)
        (void)utimensat(AT_FDCWD, meta, LONG_AGO, 0);
}

/* ---- all files ---- */

static int by_time(const void *x, const void *y)
{
    int64_t a = ((const struct attached *)x)->at_ms, b = ((const struct attached *)y)->at_ms;
    return (a < b) - (a > b);
}

struct file_listing {
    struct attached *items;
    size_t n, cap;
};

/* Keeps the newest when there are too many. */
static void listing_add(struct file_listing *l, struct attached one)
{
    if (l->n >= 2 * LIBRARY_LIST_MAX) {
        qsort(l->items, l->n, sizeof(l->items[0]), by_time);
        l->n = LIBRARY_LIST_MAX;
    }
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = one;
}

static void list_below(struct arena *a, const char *path, str suffix, struct file_listing *l)
{
    struct attached one;
    DIR_EACH (d, path) {
        str name = str_from(d.name), sha256 = str_slice(name, 0, SHA256_HEX_LEN);
        if (sha256_is_hex(sha256) && str_eq(str_skip(name, SHA256_HEX_LEN), suffix) &&
            read_meta(a, arena_printf(a, "%s/%s", path, d.name).p, sha256, &one) == 0)
            listing_add(l, one);
    }
}

int library_list(struct arena *a, const char *dir, str user_id, struct attached **ret,
                 size_t *ret_n, struct err *e)
{
    struct file_listing l = {0};
    str suffix = arena_printf(a, ".%.*s.json", STR_ARG(user_id));
    struct dir d = dir_open(dir);
    if (d.error < 0 && d.error != -ENOENT)
        return err_errno(e, d.error, "cannot list", dir);
    while (d.error == 0 && dir_next(&d))
        if (strlen(d.name) == 2)
            list_below(a, arena_printf(a, "%s/%s", dir, d.name).p, suffix, &l);
    dir_close(&d);
    if (l.n > 0)
        qsort(l.items, l.n, sizeof(l.items[0]), by_time);
    *ret_n = l.n < LIBRARY_LIST_MAX ? l.n : LIBRARY_LIST_MAX;
    *ret = arena_array(a, *ret_n, sizeof(l.items[0]));
    if (*ret_n > 0)
        memcpy(*ret, l.items, *ret_n * sizeof(l.items[0]));
    free(l.items);
    return 0;
}

/* Pictures that nb made of a file. */
static bool is_picture(const char *name)
{
    str suffix = str_skip(str_from(name), SHA256_HEX_LEN);
    return str_eq(suffix, STR(".thumb")) || str_starts(suffix, STR(".page-"));
}

static void remove_pictures(struct arena *a, const char *dir, str sha256)
{
    struct dir d = dir_open(arena_printf(a, "%s/%.2s", dir, sha256.p).p);
    while (d.error == 0 && dir_next(&d))
        if (str_starts(str_from(d.name), sha256) && is_picture(d.name))
            (void)unlinkat(dir_fd(&d), d.name, 0);
    dir_close(&d);
}

void library_drop_copy(struct arena *a, const char *dir, str sha256)
{
    (void)unlink(library_path(a, dir, sha256));
    remove_pictures(a, dir, sha256);
}

int library_remove(struct arena *a, const char *dir, str user_id, str sha256, uint64_t *ret_freed,
                   struct err *e)
{
    struct stat st;
    const char *path = library_path(a, dir, sha256);
    *ret_freed = 0;
    if (unlink(meta_path(a, dir, sha256, user_id)) < 0)
        return errno == ENOENT
                   ? err_set(e, -ENOENT, "There is no file 'file_%.*s' of yours.", STR_ARG(sha256))
                   : err_errno(e, -errno, "cannot remove", path);
    if (has_givers(a, dir, sha256) || stat(path, &st) < 0 || st.st_nlink > 1)
        return 0;
    if (unlink(path) == 0)
        *ret_freed = (uint64_t)st.st_size;
    remove_pictures(a, dir, sha256);
    return 0;
}

/* ---- sweeping ---- */

static bool is_older(const struct stat *st, int64_t now_ms, int64_t than_ms)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + than_ms < now_ms;
}

static bool is_old(const struct stat *st, int64_t now_ms)
{
    return is_older(st, now_ms, LIBRARY_KEEP_MS);
}

/* Somebody gave the bytes lately and has not sent them, or a project has them. */
static bool is_awaited(int parent, const char *below, str sha256, int64_t now_ms)
{
    struct stat st;
    bool ret = false;
    struct dir d = dir_open_below(parent, below);
    while (!ret && next_giver(&d, sha256))
        ret = library_is_keeper(str_skip(str_from(d.name), SHA256_HEX_LEN + 1)) ||
              (fstatat(dir_fd(&d), d.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !is_old(&st, now_ms));
    dir_close(&d);
    return ret;
}

/* A file beside the bytes. A picture of bytes that are gone goes with them: what was deleted must
 * not stay visible on the disk. */
static bool is_unneeded(const struct dir *d, const struct stat *st, int64_t now_ms)
{
    char bytes[SHA256_HEX_LEN + 1] = "";
    memcpy(bytes, d->name, strnlen(d->name, SHA256_HEX_LEN));
    bool is_lost = faccessat(dir_fd(d), bytes, F_OK, 0) < 0;
    if (!is_picture(d->name))
        return is_lost && is_old(st, now_ms);
    bool is_thumb = str_ends(str_from(d->name), STR(".thumb"));
    return is_lost || (!is_thumb && is_older(st, now_ms, LIBRARY_PAGES_MS));
}

/* First the bytes, then files beside bytes that are gone. */
static void sweep_below(int parent, const char *name, int64_t now_ms, struct library_size *kept)
{
    struct stat st;
    for (int pass = 0; pass < 2; pass++) {
        struct dir d = dir_open_below(parent, name);
        while (d.error == 0 && dir_next(&d)) {
            bool is_bytes = strlen(d.name) == SHA256_HEX_LEN;
            if (fstatat(dir_fd(&d), d.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                is_bytes != (pass == 0))
                continue;
            bool is_unused = is_bytes ? st.st_nlink == 1 && is_old(&st, now_ms) &&
                                            !is_awaited(parent, name, str_from(d.name), now_ms)
                                      : is_unneeded(&d, &st, now_ms);
            if (is_unused)
                (void)unlinkat(dir_fd(&d), d.name, 0);
            else if (is_bytes)
                kept->bytes += (uint64_t)st.st_size;
            else if (str_starts(str_skip(str_from(d.name), SHA256_HEX_LEN), STR(".page-")))
                kept->pages += (uint64_t)st.st_size;
        }
        dir_close(&d);
    }
}

struct library_size library_sweep(const char *dir, int64_t now_ms)
{
    struct library_size kept = {0};
    struct stat st;
    struct dir d = dir_open(dir);
    while (d.error == 0 && dir_next(&d)) {
        if (strlen(d.name) == 2)
            sweep_below(dir_fd(&d), d.name, now_ms, &kept);
        else if (strncmp(d.name, "new_", 4) == 0 && fstatat(dir_fd(&d), d.name, &st, 0) == 0 &&
                 is_old(&st, now_ms))
            (void)unlinkat(dir_fd(&d), d.name, 0);
    }
    dir_close(&d);
    return kept;
}
