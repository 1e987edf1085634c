#include "store/folder/folder_catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "os/dir.h"

enum {
    HEADER_MAX = 1024 * 1024,
    /* A directory that changed so recently may change again without a new mtime. */
    RACY_MS = 100,
};

struct catalog_entry {
    char *id;
    struct folder_place place; /* strings are owned */
    bool is_seen;              /* by the refresh under way */
    bool is_reserved;          /* being made: not on disk yet */
};

void catalog_init(struct catalog *c, const char *dir)
{
    *c = (struct catalog){.dir = str_dup(str_from(dir))};
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->scanning, NULL);
    map_init(&c->by_id);
    map_init(&c->by_name);
}

static str own(str s)
{
    return str_make(str_dup(s), s.n);
}

static void entry_free(struct catalog_entry *e)
{
    const struct folder_place *p = &e->place;
    str owned[] = {p->name, p->thread_id, p->conversation_id, p->channel};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free((char *)owned[i].p);
    free(e->id);
    free(e);
}

void catalog_done(struct catalog *c)
{
    struct map_entry *it;
    for (size_t i = 0; (it = map_next(&c->by_id, &i)) != NULL;)
        entry_free(it->value);
    map_done(&c->by_id);
    map_done(&c->by_name);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->scanning);
    free(c->dir);
}

/* ---- with the lock held ---- */

static struct catalog_entry *add_locked(struct catalog *c, str id, const struct folder_place *p)
{
    if (map_get(&c->by_id, id) || map_get(&c->by_name, p->name))
        return NULL;
    struct catalog_entry *e = xcalloc(1, sizeof(*e));
    e->id = str_dup(id);
    e->is_seen = true;
    e->place = (struct folder_place){.name = own(p->name),
                                     .thread_id = own(p->thread_id),
                                     .conversation_id = own(p->conversation_id),
                                     .channel = own(p->channel)};
    map_put(&c->by_id, id, e);
    map_put(&c->by_name, p->name, e);
    return e;
}

static void remove_locked(struct catalog *c, struct catalog_entry *e)
{
    map_del(&c->by_id, str_from(e->id));
    map_del(&c->by_name, e->place.name);
    entry_free(e);
}

/* ---- reading the directory ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the folders, sorted, so that every process sees the same order. */
static int list_names(struct arena *a, const char *dir, char ***ret, size_t *ret_n, struct err *e)
{
    struct dir d = dir_open(dir);
    char **names = NULL;
    size_t n = 0, cap = 0;
    *ret_n = 0;
    if (d.error < 0)
        return d.error == -ENOENT ? 0 : err_errno(e, d.error, "cannot list", dir);
    while (dir_next(&d)) {
        if (d.name[0] == '.' || (d.type != DT_DIR && d.type != DT_UNKNOWN && d.type != DT_LNK))
            continue;
        GROW(names, n, cap);
        names[n++] = arena_cstr(a, str_from(d.name));
    }
    if (n > 1)
        qsort(names, n, sizeof(*names), compare_names);
    *ret = names;
    *ret_n = n;
    return 0;
}

/* Line 1 without its line feed; false when the file does not exist. */
static bool read_first_line(struct arena *a, const char *path, str *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct buf b;
    ssize_t n = 1;
    const char *lf = NULL;
    buf_init(&b, HEADER_MAX);
    while (!lf && n > 0 && buf_reserve(&b, 4096) == 0) {
        n = pread(fd, b.p + b.n, 4096, (off_t)b.n);
        lf = n > 0 ? memchr(b.p + b.n, '\n', (size_t)n) : NULL;
        b.n += n > 0 ? (size_t)n : 0;
    }
    *ret = arena_str(a, str_make(b.p, lf ? (size_t)(lf - b.p) : b.n));
    buf_done(&b);
    close(fd);
    return n >= 0;
}

/* A folder whose header cannot be read is still a conversation, identified by its name. */
static void place_by_name(struct folder_place *p)
{
    *p = (struct folder_place){
        .name = p->name, .thread_id = folder_thread(p->name), .conversation_id = p->name};
}

bool catalog_describe(struct arena *a, const char *folder, struct folder_place *p)
{
    str line;
    if (!read_first_line(a, arena_printf(a, "%s/chat.jsonl", folder).p, &line))
        return false;
    if (!folder_header_read(a, line, p))
        place_by_name(p);
    if (!p->conversation_id.n)
        p->conversation_id = p->name;
    return true;
}

static void learn(struct catalog *c, struct arena *a, const char *name)
{
    struct folder_place p = {.name = str_from(name)};
    if (!catalog_describe(a, arena_printf(a, "%s/%s", c->dir, name).p, &p))
        return;
    str id = folder_id(a, p.thread_id);
    pthread_mutex_lock(&c->lock);
    if (!add_locked(c, id, &p) && !map_get(&c->by_name, p.name)) {
        char hex[SHA256_HEX_LEN + 1];
        sha256_hex(p.name, hex);
        add_locked(c, arena_printf(a, "%.*s-%.8s", STR_ARG(utf8_truncate(id, 60)), hex), &p);
    }
    pthread_mutex_unlock(&c->lock);
}

static bool catalog_knows_name(struct catalog *c, const char *name)
{
    pthread_mutex_lock(&c->lock);
    struct catalog_entry *e = map_get(&c->by_name, str_from(name));
    if (e)
        e->is_seen = true;
    pthread_mutex_unlock(&c->lock);
    return e != NULL;
}

static void mark_unseen(struct catalog *c)
{
    struct map_entry *it;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; (it = map_next(&c->by_id, &i)) != NULL;)
        ((struct catalog_entry *)it->value)->is_seen = false;
    pthread_mutex_unlock(&c->lock);
}

static void drop_unseen(struct catalog *c)
{
    struct map_entry *it;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; (it = map_next(&c->by_name, &i)) != NULL;) {
        struct catalog_entry *e = it->value;
        if (!e->is_seen && !e->is_reserved)
            remove_locked(c, e);
    }
    pthread_mutex_unlock(&c->lock);
}

static int scan(struct catalog *c, struct err *e)
{
    struct arena a, scratch;
    char **names = NULL;
    size_t n;
    arena_init(&a);
    arena_init(&scratch);
    mark_unseen(c);
    int r = list_names(&a, c->dir, &names, &n, e);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (catalog_knows_name(c, names[i]))
            continue;
        arena_reset(&scratch);
        learn(c, &scratch, names[i]);
    }
    if (r == 0)
        drop_unseen(c);
    free(names);
    arena_done(&scratch);
    arena_done(&a);
    return r;
}

static bool is_fresh(const struct catalog *c, int64_t max_age_ms, const struct stat *st)
{
    int64_t changed_ms = st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
    if (!c->is_scanned)
        return false;
    if (clock_now_ms() - c->scanned_ms < max_age_ms && clock_now_ms() >= c->scanned_ms)
        return true;
    return st->st_mtim.tv_sec == c->dir_time.tv_sec && st->st_mtim.tv_nsec == c->dir_time.tv_nsec &&
           c->scanned_ms - changed_ms > RACY_MS;
}

int catalog_refresh(struct catalog *c, int64_t max_age_ms, struct err *e)
{
    struct stat st = {0};
    int r = 0;
    pthread_mutex_lock(&c->scanning);
    if (stat(c->dir, &st) < 0 && errno != ENOENT)
        r = err_errno(e, -errno, "cannot list", c->dir);
    if (r == 0 && !is_fresh(c, max_age_ms, &st)) {
        int64_t now = clock_now_ms();
        r = scan(c, e);
        c->is_scanned = r == 0;
        c->scanned_ms = now;
        c->dir_time = st.st_mtim;
    }
    pthread_mutex_unlock(&c->scanning);
    return r;
}

/* ---- looking up ---- */

bool catalog_find(struct catalog *c, struct arena *a, str id, struct folder_place *ret)
{
    pthread_mutex_lock(&c->lock);
    const struct catalog_entry *e = map_get(&c->by_id, id);
    if (e)
        *ret = (struct folder_place){.name = arena_str(a, e->place.name),
                                     .thread_id = arena_str(a, e->place.thread_id),
                                     .conversation_id = arena_str(a, e->place.conversation_id),
                                     .channel = arena_str(a, e->place.channel)};
    pthread_mutex_unlock(&c->lock);
    return e != NULL;
}

bool catalog_has(struct catalog *c, str id)
{
    pthread_mutex_lock(&c->lock);
    bool found = map_get(&c->by_id, id) != NULL;
    pthread_mutex_unlock(&c->lock);
    return found;
}

bool catalog_reserve(struct catalog *c, str id, const struct folder_place *p)
{
    pthread_mutex_lock(&c->lock);
    struct catalog_entry *e = add_locked(c, id, p);
    if (e)
        e->is_reserved = true;
    pthread_mutex_unlock(&c->lock);
    return e != NULL;
}

void catalog_confirm(struct catalog *c, str id)
{
    pthread_mutex_lock(&c->lock);
    struct catalog_entry *e = map_get(&c->by_id, id);
    if (e) {
        e->is_reserved = false;
        e->is_seen = true; /* a running refresh may have listed the names before */
    }
    pthread_mutex_unlock(&c->lock);
}

void catalog_remove(struct catalog *c, str id)
{
    pthread_mutex_lock(&c->lock);
    struct catalog_entry *e = map_get(&c->by_id, id);
    if (e)
        remove_locked(c, e);
    pthread_mutex_unlock(&c->lock);
}

str *catalog_ids(struct catalog *c, struct arena *a, size_t *ret_n)
{
    struct map_entry *it;
    pthread_mutex_lock(&c->lock);
    str *ids = arena_array(a, map_len(&c->by_id) + 1, sizeof(*ids));
    size_t n = 0;
    for (size_t i = 0; (it = map_next(&c->by_id, &i)) != NULL;)
        ids[n++] = arena_str(a, it->key);
    pthread_mutex_unlock(&c->lock);
    *ret_n = n;
    return ids;
}
