#include "store/files/shared_blobs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "os/dir.h"
#include "store/event/blobs.h"
#include "store/files/files.h"
#include "store/files/trash.h"

#define MARK "collect" /* of random_id: collect_<hex> */

enum { LEFTOVER_S = 3600 }; /* a temporary file of this age belongs to no write any more */

struct known_blob {
    unsigned holds;
    bool is_used; /* held at the beginning of the collection under way, or put since then */
};

struct shared_blobs {
    struct files *files;
    struct arena arena;
    const char *dir;
    pthread_rwlock_t logs;   /* read: a log is copied or moved; write: all logs are read */
    pthread_mutex_t writing; /* held while blobs are written or removed */
    pthread_mutex_t lock;    /* of `known`; never held during a system call */
    struct map known;        /* sha256 -> struct known_blob: it is there, whole and durable */
    bool is_collecting;      /* under `lock` */
};

struct shared_blobs *shared_new(struct files *f)
{
    struct shared_blobs *s = xcalloc(1, sizeof(*s));
    s->files = f;
    arena_init(&s->arena);
    s->dir = arena_printf(&s->arena, "%s/blobs", f->store->conf.dir).p;
    (void)pthread_rwlock_init(&s->logs, NULL);
    (void)pthread_mutex_init(&s->writing, NULL);
    (void)pthread_mutex_init(&s->lock, NULL);
    map_init(&s->known);
    return s;
}

void shared_free(struct shared_blobs *s)
{
    struct map_entry *e;
    if (!s)
        return;
    for (size_t i = 0; (e = map_next(&s->known, &i)) != NULL;)
        free(e->value);
    map_done(&s->known);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->writing);
    (void)pthread_rwlock_destroy(&s->logs);
    arena_done(&s->arena);
    free(s);
}

/* ---- known blobs ---- */

static bool hold_known(struct shared_blobs *s, str sha256)
{
    (void)pthread_mutex_lock(&s->lock);
    struct known_blob *k = map_get(&s->known, sha256);
    if (k) {
        k->holds++;
        k->is_used = true;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return k != NULL;
}

/* Those that nobody holds can be found on disk again. */
static void forget_idle(struct shared_blobs *s)
{
    struct map_entry *e;
    struct map kept;
    map_init(&kept);
    for (size_t i = 0; (e = map_next(&s->known, &i)) != NULL;) {
        struct known_blob *k = e->value;
        if (k->holds > 0 || (s->is_collecting && k->is_used))
            map_put(&kept, e->key, k);
        else
            free(k);
    }
    map_done(&s->known);
    s->known = kept;
}

static void know(struct shared_blobs *s, str sha256)
{
    struct known_blob *k = xcalloc(1, sizeof(*k));
    *k = (struct known_blob){.holds = 1, .is_used = true};
    (void)pthread_mutex_lock(&s->lock);
    if (s->known.len >= SHARED_KNOWN_MAX)
        forget_idle(s);
    assert(!map_get(&s->known, sha256)); /* only the holder of `writing` adds */
    map_put(&s->known, sha256, k);
    (void)pthread_mutex_unlock(&s->lock);
}

bool shared_take(struct shared_blobs *s, str sha256)
{
    return hold_known(s, sha256);
}

void shared_release(struct shared_blobs *s, str sha256)
{
    (void)pthread_mutex_lock(&s->lock);
    struct known_blob *k = map_get(&s->known, sha256);
    assert(k && k->holds > 0);
    k->holds--;
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- putting, getting ---- */

/* A blob of an earlier process may be damaged, if it was not synced, or be there only in memory:
 * its writer may have ended before it synced the directory. */
static bool is_whole(const struct shared_blobs *s, struct arena *a, str sha256)
{
    str there;
    return blobs_get(a, s->dir, sha256, &there, NULL) == 0 &&
           io_sync_dir(&s->files->blob_io, s->dir) == 0;
}

/* Only this directory: one above it that is missing was removed with its workspace, and must not
 * come back. */
static int make_shared_dir(const struct shared_blobs *s)
{
    const struct store_io *io = &s->files->blob_io;
    dir_change_begins(&s->files->changes);
    int r = io->mkdir(io, s->dir, 0700);
    dir_change_ends(&s->files->changes);
    return r == -EEXIST ? 0 : r < 0 ? r : io_sync_parent(io, s->dir);
}

static int write_shared(const struct shared_blobs *s, struct arena *a, str sha256, str bytes,
                        struct err *e)
{
    int r = make_shared_dir(s);
    return r < 0 ? err_errno(e, r, "cannot create the directory", s->dir)
                 : blobs_write(a, &s->files->blob_io, s->dir, sha256, bytes, e);
}

int shared_put(struct shared_blobs *s, struct arena *a, str bytes, str *ret_sha256, struct err *e)
{
    char hex[SHA256_HEX_LEN + 1];
    int r = 0;
    if (bytes.n > BLOB_MAX_BYTES)
        return err_set(e, -E2BIG, "value of %zu bytes exceeds the size limit of a blob", bytes.n);
    sha256_hex(bytes, hex);
    *ret_sha256 = arena_str(a, str_from(hex));
    (void)pthread_mutex_lock(&s->writing);
    if (!hold_known(s, *ret_sha256)) {
        if (!is_whole(s, a, *ret_sha256))
            r = write_shared(s, a, *ret_sha256, bytes, e);
        if (r == 0)
            know(s, *ret_sha256);
    }
    (void)pthread_mutex_unlock(&s->writing);
    return r;
}

int shared_get(const struct shared_blobs *s, struct arena *a, str sha256, str *ret_bytes,
               struct err *e)
{
    return blobs_get(a, s->dir, sha256, ret_bytes, e);
}

/* ---- logs and what they name ---- */

void shared_enter(struct shared_blobs *s)
{
    if (s)
        (void)pthread_rwlock_rdlock(&s->logs);
}

void shared_leave(struct shared_blobs *s)
{
    if (s)
        (void)pthread_rwlock_unlock(&s->logs);
}

struct naming {
    struct arena *arena;
    struct map *names;
    const char *dir; /* adds the names of blobs that are here; NULL: removes names */
};

static bool is_there(const struct naming *n, str sha256)
{
    struct stat st;
    const char *path = arena_printf(n->arena, "%s/%.*s", n->dir, STR_ARG(sha256)).p;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void meet_name(const struct naming *n, str sha256)
{
    bool is_listed = map_get(n->names, sha256) != NULL;
    if (!n->dir && is_listed)
        (void)map_del(n->names, sha256);
    else if (n->dir && !is_listed && is_there(n, sha256))
        map_put(n->names, sha256, n->names);
}

/* Every string of 64 hex digits may name a blob: to keep one too many harms nothing. */
static bool read_names(void *ctx, str line, store_pos end)
{
    const struct naming *n = ctx;
    (void)end;
    for (ptrdiff_t at; (at = str_find_char(line, '"')) >= 0;) {
        line = str_skip(line, (size_t)at + 1);
        str sha256 = str_slice(line, 0, SHA256_HEX_LEN);
        if (sha256_is_hex(sha256))
            meet_name(n, sha256);
    }
    return n->dir || n->names->len > 0;
}

static int scan_log(const struct shared_blobs *s, const char *path, struct naming *n)
{
    off_t limit;
    int64_t overlong = 0;
    struct err e = {0};
    int fd = file_store_open_log(path, UINT64_MAX, &limit, &e);
    if (fd < 0)
        return fd == -ENOENT || fd == -EISDIR ? 0 : fd;
    int r = files_each_line(s->files->layout, fd, 0, limit, false, read_names, n, &overlong);
    close(fd);
    return r;
}

/* Removes from `names` what the logs in a directory name, those of unfinished forks included. */
static int subtract_named(const struct shared_blobs *s, const char *dir, struct map *names)
{
    struct naming n = {.names = names};
    struct dir d = dir_open(dir);
    int r = d.error == -ENOENT ? 0 : d.error;
    while (r == 0 && names->len > 0 && dir_next(&d)) {
        char path[PATH_MAX];
        if (!strstr(d.name, ".jsonl"))
            continue;
        bool fits = snprintf(path, sizeof(path), "%s/%s", dir, d.name) < (int)sizeof(path);
        r = fits ? scan_log(s, path, &n) : -ENAMETOOLONG;
    }
    dir_close(&d);
    return r;
}

/* ---- collecting ---- */

static void collection_begins(struct shared_blobs *s)
{
    struct map_entry *e;
    (void)pthread_mutex_lock(&s->lock);
    s->is_collecting = true;
    for (size_t i = 0; (e = map_next(&s->known, &i)) != NULL;) {
        struct known_blob *k = e->value;
        k->is_used = k->holds > 0;
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static void collection_ends(struct shared_blobs *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->is_collecting = false;
    (void)pthread_mutex_unlock(&s->lock);
}

/* False: the blob was put again meanwhile. From now on a put writes it again, after us. */
static bool forget_unused(struct shared_blobs *s, str sha256)
{
    (void)pthread_mutex_lock(&s->lock);
    struct known_blob *k = map_get(&s->known, sha256);
    bool is_unused = !k || !k->is_used;
    if (k && is_unused)
        free(map_del(&s->known, sha256));
    (void)pthread_mutex_unlock(&s->lock);
    return is_unused;
}

static int remove_unnamed(struct shared_blobs *s, const struct map *names)
{
    const struct store_io *io = s->files->io;
    struct map_entry *e;
    int r = 0;
    for (size_t i = 0; r == 0 && (e = map_next(names, &i)) != NULL;) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof(path), "%s/%s", s->dir, e->key.p) >= (int)sizeof(path))
            return -ENAMETOOLONG;
        if (forget_unused(s, e->key))
            r = io->unlink(io, path);
        if (r == -ENOENT)
            r = 0;
    }
    return r;
}

/* Removes those of `names` that no log names. */
static int collect(struct shared_blobs *s, struct map *names)
{
    const struct store *store = s->files->store;
    struct arena a;
    arena_init(&a);
    (void)pthread_rwlock_wrlock(&s->logs);
    collection_begins(s);
    int r = subtract_named(s, store->conf.dir, names);
    if (r == 0)
        r = subtract_named(s, trash_dir(store, &a), names);
    (void)pthread_mutex_lock(&s->writing);
    if (r == 0)
        r = remove_unnamed(s, names);
    (void)pthread_mutex_unlock(&s->writing);
    collection_ends(s);
    (void)pthread_rwlock_unlock(&s->logs);
    arena_done(&a);
    return r;
}

/* ---- purges ---- */

void shared_purge_init(struct shared_purge *p, struct shared_blobs *s)
{
    *p = (struct shared_purge){.shared = s};
    arena_init(&p->arena);
    map_init(&p->names);
}

void shared_purge_done(struct shared_purge *p)
{
    map_done(&p->names);
    arena_done(&p->arena);
}

void shared_purge_add(struct shared_purge *p, const char *log)
{
    struct naming n = {.arena = &p->arena, .names = &p->names};
    if (!p->shared)
        return;
    n.dir = p->shared->dir;
    (void)scan_log(p->shared, log, &n);
}

int shared_purge_begin(struct shared_purge *p)
{
    char unique[RANDOM_ID_MAX];
    if (p->names.len == 0)
        return 0;
    const struct store_io *io = p->shared->files->io;
    random_id(MARK, unique);
    const char *mark = arena_printf(&p->arena, "%s/%s", p->shared->dir, unique).p;
    int fd = io->open(io, mark, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    close(fd);
    p->mark = mark;
    return io_sync_dir(io, p->shared->dir);
}

int shared_purge_end(struct shared_purge *p)
{
    if (!p->mark)
        return 0;
    const struct store_io *io = p->shared->files->io;
    int r = collect(p->shared, &p->names);
    if (r == 0)
        r = io->unlink(io, p->mark);
    return r < 0 ? r : io_sync_dir(io, p->shared->dir);
}

/* ---- what an interrupted purge has left ---- */

static bool is_purge_mark(const char *name)
{
    return strncmp(name, MARK "_", sizeof(MARK)) == 0;
}

bool shared_is_marked(const struct shared_blobs *s)
{
    bool is_marked = false;
    DIR_EACH (d, s->dir)
        is_marked |= is_purge_mark(d.name);
    return is_marked;
}

static bool is_leftover(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (int64_t)st.st_mtime < clock_now_ms() / 1000 - LEFTOVER_S;
}

int shared_collect_all(struct shared_blobs *s)
{
    const struct store_io *io = s->files->io;
    struct map names, marks;
    struct map_entry *e;
    map_init(&names);
    map_init(&marks);
    DIR_EACH (d, s->dir) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof(path), "%s/%s", s->dir, d.name) >= (int)sizeof(path))
            continue;
        if (sha256_is_hex(str_from(d.name)))
            map_put(&names, str_from(d.name), s);
        else if (is_purge_mark(d.name))
            map_put(&marks, str_from(path), s);
        else if (strncmp(d.name, "new_", 4) == 0 && is_leftover(path))
            (void)io->unlink(io, path);
    }
    int r = collect(s, &names);
    for (size_t i = 0; r == 0 && (e = map_next(&marks, &i)) != NULL;)
        (void)io->unlink(io, e->key.p);
    map_done(&names);
    map_done(&marks);
    return r < 0 ? r : io_sync_dir(io, s->dir);
}
