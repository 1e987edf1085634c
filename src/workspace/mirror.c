#include "workspace/mirror.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/map.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/lock.h"
#include "workspace/texts.h"

#define STATE_NAME    ".shared.json"
#define STATE_MAX     (4u * 1024 * 1024)
#define CONFLICTS     "shared-conflicts"
#define SETTINGS_NAME "workspace.json"
#define PATH_BYTES    400u

enum { DEPTH = 8 };

struct mirror_hash {
    char hex[SHA256_HEX_LEN + 1]; /* empty: there is no such file */
};

struct mirror_file {
    str path; /* heap; the key of the map */
    /* as it was when it was last read */
    int64_t mtime_ns, size;
    uint64_t inode;
    struct mirror_hash local, base;
    const struct shared_document *news; /* of this sync; or NULL: the document is as `base` */
    bool is_seen;                       /* in this sync */
};

struct mirror {
    struct mirror_conf conf;
    struct map files; /* path -> struct mirror_file */
    int64_t since;
    bool is_loaded, is_dirty; /* the state, on disk */
    bool has_changed;         /* files of this server, in this sync */
};

/* ---- which files ---- */

static const char *const DOCUMENTS[] = {TEXTS_FILE, PROJECTS_FILE, BUDGETS_FILE};

static bool is_document(str path)
{
    return STR_INDEX(path, DOCUMENTS) >= 0;
}

static size_t mirror_limit(str path)
{
    return is_document(path) ? DOCUMENT_MAX : MIRROR_FILE_MAX;
}

static bool is_part_ok(str part)
{
    return part.n > 0 && part.p[0] != '.' && str_find(part, STR(".tmp_"), 0) < 0;
}

static str take_part(str *path)
{
    ptrdiff_t at = str_find_char(*path, '/');
    str part = at < 0 ? *path : str_slice(*path, 0, (size_t)at);
    *path = at < 0 ? STR_NONE : str_skip(*path, (size_t)at + 1);
    return part;
}

/* Names in the documents are checked in the same way: they become part of a path. */
static bool is_followed(const struct mirror *m, str path)
{
    static const char *const TREES[] = {"skills", "credentials", "pins", "people"};
    str rest = path;
    size_t depth = 0;
    if (path.n > PATH_BYTES || memchr(path.p, '\0', path.n))
        return false;
    if (str_eq(path, STR(SETTINGS_NAME)))
        return m->conf.has_settings;
    if (is_document(path))
        return true;
    str first = take_part(&rest);
    if (STR_INDEX(first, TREES) < 0 || rest.n == 0)
        return false;
    for (; rest.n > 0; depth++) {
        str part = take_part(&rest);
        if (!is_part_ok(part) || depth >= DEPTH)
            return false;
        if (str_eq(first, STR("people")) && depth == 1 && !str_eq(part, STR("skills")))
            return false;
    }
    return !str_eq(first, STR("people")) || depth >= 3;
}

static struct mirror_file *file_of(struct mirror *m, str path)
{
    struct mirror_file *f = map_get(&m->files, path);
    if (f)
        return f;
    if (map_len(&m->files) >= MIRROR_FILES)
        return NULL;
    f = xcalloc(1, sizeof *f);
    f->path = str_make(str_dup(path), path.n);
    map_put(&m->files, f->path, f);
    return f;
}

static void file_drop(struct mirror *m, struct mirror_file *f)
{
    map_del(&m->files, f->path);
    free((char *)f->path.p);
    free(f);
}

static const char *path_of(const struct mirror *m, struct arena *a, str path)
{
    return arena_printf(a, "%s/%.*s", m->conf.root, STR_ARG(path)).p;
}

/* ---- the state ---- */

static void load_state(struct mirror *m, struct arena *a)
{
    str text;
    struct json *doc;
    m->is_loaded = true;
    if (file_read(a, path_of(m, a, STR(STATE_NAME)), STATE_MAX, &text, NULL) < 0 ||
        json_parse(a, text, 0, &doc, NULL) < 0)
        return;
    const struct json *files = json_get(doc, "files");
    m->since = json_get_int(doc, "since", 0);
    for (size_t i = 0; json_is(files, JSON_OBJECT) && i < files->len; i++) {
        str hash = json_string(&files->members[i].value, STR_NONE);
        str path = files->members[i].key;
        struct mirror_file *f =
            is_followed(m, path) && sha256_is_hex(hash) ? file_of(m, path) : NULL;
        if (f)
            memcpy(f->base.hex, hash.p, hash.n);
    }
}

static int save_state(struct mirror *m, struct arena *a, struct err *e)
{
    struct json_writer w;
    struct buf b;
    struct map_entry *it;
    jw_start(&w, &b, STATE_MAX);
    jw_object(&w);
    jw_kint(&w, "since", m->since);
    jw_kobject(&w, "files");
    for (size_t i = 0; (it = map_next(&m->files, &i)) != NULL;) {
        const struct mirror_file *f = it->value;
        if (f->base.hex[0] == '\0')
            continue;
        jw_key_str(&w, f->path);
        jw_cstr(&w, f->base.hex);
    }
    jw_end(&w);
    jw_close(&w);
    int r = file_write_atomic(path_of(m, a, STR(STATE_NAME)), buf_keep(&b, a), 0600, e);
    m->is_dirty = r < 0;
    return r;
}

static void set_base(struct mirror *m, struct mirror_file *f, struct mirror_hash hash)
{
    m->is_dirty |= strcmp(f->base.hex, hash.hex) != 0;
    f->base = hash;
}

/* ---- files of this server ---- */

static struct mirror_hash hash_bytes(str bytes)
{
    struct mirror_hash h = {0};
    if (bytes.n > 0)
        sha256_hex(bytes, h.hex);
    return h;
}

static int read_local(const struct mirror *m, struct arena *a, str path, str *ret)
{
    *ret = STR_NONE;
    return file_read(a, path_of(m, a, path), mirror_limit(path), ret, NULL);
}

static void see_file(struct mirror *m, str path, const struct stat *st)
{
    struct arena a;
    str bytes;
    if (!S_ISREG(st->st_mode) || st->st_size == 0 || (size_t)st->st_size > mirror_limit(path) ||
        !is_followed(m, path))
        return;
    struct mirror_file *f = file_of(m, path);
    int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    if (!f)
        return;
    f->is_seen = true;
    if (f->local.hex[0] && f->mtime_ns == mtime && f->size == st->st_size && f->inode == st->st_ino)
        return;
    arena_init(&a);
    if (read_local(m, &a, path, &bytes) == 0) {
        f->local = hash_bytes(bytes);
        f->mtime_ns = mtime;
        f->size = st->st_size;
        f->inode = st->st_ino;
    }
    arena_done(&a);
}

static void see_tree(struct mirror *m, struct arena *a, int parent, str path, const char *name,
                     unsigned depth)
{
    struct stat st;
    struct dir d = dir_open_below(parent, name);
    while (d.error == 0 && dir_next(&d)) {
        if (!is_part_ok(str_from(d.name)) ||
            fstatat(dir_fd(&d), d.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        str below = arena_printf(a, "%.*s/%s", STR_ARG(path), d.name);
        if (S_ISDIR(st.st_mode) && depth > 0)
            see_tree(m, a, dir_fd(&d), below, d.name, depth - 1);
        else
            see_file(m, below, &st);
    }
    dir_close(&d);
}

static void see_all(struct mirror *m, struct arena *a)
{
    static const char *const TREES[] = {"skills", "credentials", "pins", "people"};
    struct stat st;
    struct map_entry *it;
    for (size_t i = 0; (it = map_next(&m->files, &i)) != NULL;)
        ((struct mirror_file *)it->value)->is_seen = false;
    int root = open(m->conf.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0) {
        if (fstatat(root, SETTINGS_NAME, &st, 0) == 0)
            see_file(m, STR(SETTINGS_NAME), &st);
        for (size_t i = 0; i < ARRAY_LEN(DOCUMENTS); i++)
            if (fstatat(root, DOCUMENTS[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
                see_file(m, str_from(DOCUMENTS[i]), &st);
        for (size_t i = 0; i < ARRAY_LEN(TREES); i++)
            see_tree(m, a, root, str_from(TREES[i]), TREES[i], DEPTH);
        file_close(root);
    }
    for (size_t i = 0; (it = map_next(&m->files, &i)) != NULL;) {
        struct mirror_file *f = it->value;
        if (!f->is_seen)
            f->local = (struct mirror_hash){0};
    }
}

/* Programs among the files of a skill stay programs. */
static unsigned mode_of(str bytes)
{
    return str_starts(bytes, STR("#!")) ? 0700 : 0600;
}

static int write_local(const struct mirror *m, struct arena *a, str path, str bytes, struct err *e)
{
    const char *to = path_of(m, a, path);
    str parent = str_slice(str_from(to), 0, (size_t)str_rfind_char(str_from(to), '/'));
    int r = file_make_dirs(arena_cstr(a, parent), e);
    return r < 0 ? r : file_write_atomic(to, bytes, mode_of(bytes), e);
}

static void keep_conflict(const struct mirror *m, struct arena *a, str path)
{
    struct buf b;
    buf_init(&b, PATH_BYTES + 64);
    for (size_t i = 0; i < path.n; i++)
        buf_add_char(&b, path.p[i] == '/' ? '_' : path.p[i]);
    const char *dir = path_of(m, a, STR(CONFLICTS));
    const char *to = arena_printf(a, "%s/%lld-%s", dir, (long long)clock_now_ms(), buf_cstr(&b)).p;
    bool is_kept = file_make_dirs(dir, NULL) == 0 && rename(path_of(m, a, path), to) == 0;
    log_warn(m->conf.log, "workspace",
             "%s/%.*s was changed here and on another server at the same time: that of the other "
             "server counts, yours is %s",
             m->conf.root, STR_ARG(path), is_kept ? to : "lost");
    buf_done(&b);
}

/* ---- both sides ---- */

static int take_document(struct mirror *m, struct mirror_file *f, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct mirror_hash remote = hash_bytes(f->news->bytes);
    bool is_own = f->local.hex[0] && strcmp(f->local.hex, f->base.hex) != 0;
    const char *path = path_of(m, &a, f->path);
    int r = 0;
    if (is_own)
        keep_conflict(m, &a, f->path);
    if (f->news->bytes.n > 0)
        r = write_local(m, &a, f->path, f->news->bytes, e);
    else if (unlink(path) < 0 && errno != ENOENT)
        r = err_errno(e, -errno, "cannot remove", path);
    if (r == 0) {
        m->has_changed = true;
        f->local = remote;
        f->mtime_ns = 0; /* it is read again if it is there */
        set_base(m, f, remote);
    }
    arena_done(&a);
    return r;
}

struct giving {
    struct mirror *mirror;
    struct mirror_file *file;
    str bytes;
    bool is_late; /* another server was faster */
};

static int give_edit(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct giving *g = ctx;
    struct mirror_hash there = hash_bytes(old);
    g->is_late = strcmp(there.hex, g->file->base.hex) != 0;
    *ret = g->is_late ? old : g->bytes;
    return g->is_late ? err_set(e, -EBUSY, "another server was faster") : 0;
}

static int give_document(struct mirror *m, struct mirror_file *f, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct giving g = {.mirror = m, .file = f};
    const struct document_change change = {.workspace_id = m->conf.workspace_id,
                                           .path = f->path,
                                           .is_followed = true,
                                           .edit = give_edit,
                                           .ctx = &g};
    int r = 0;
    if (f->local.hex[0])
        r = read_local(m, &a, f->path, &g.bytes);
    if (r == 0)
        r = m->conf.table->change(m->conf.table, &change, e);
    if (r == 0)
        set_base(m, f, hash_bytes(g.bytes));
    else if (r == -EBUSY || r == -ENOENT) { /* the next sync sees it */
        err_clear(e);
        r = 0;
    }
    arena_done(&a);
    return r;
}

static int settle(struct mirror *m, struct mirror_file *f, struct err *e)
{
    if (!f->news)
        return strcmp(f->local.hex, f->base.hex) == 0 ? 0 : give_document(m, f, e);
    struct mirror_hash remote = hash_bytes(f->news->bytes);
    if (strcmp(remote.hex, f->local.hex) == 0) {
        set_base(m, f, remote);
        return 0;
    }
    if (strcmp(remote.hex, f->base.hex) == 0) /* it is this server that has changed it */
        return give_document(m, f, e);
    return take_document(m, f, e);
}

static int settle_all(struct mirror *m, struct err *e)
{
    struct map_entry *it;
    int r = 0;
    for (size_t i = 0; r == 0 && (it = map_next(&m->files, &i)) != NULL;)
        r = settle(m, it->value, e);
    for (size_t i = 0; (it = map_next(&m->files, &i)) != NULL;) {
        struct mirror_file *f = it->value;
        f->news = NULL;
        if (f->base.hex[0] == '\0' && f->local.hex[0] == '\0')
            file_drop(m, f);
    }
    return r;
}

static void use_news(struct mirror *m, const struct document_news *news)
{
    for (size_t i = 0; i < news->n; i++) {
        const struct shared_document *d = &news->items[i];
        struct mirror_file *f = is_followed(m, d->path) && d->bytes.n <= mirror_limit(d->path)
                                    ? file_of(m, d->path)
                                    : NULL;
        if (f)
            f->news = d;
    }
}

/* Another database, or one that was restored: everything is compared again. */
static void forget(struct mirror *m)
{
    struct map_entry *it;
    m->since = 0;
    for (size_t i = 0; (it = map_next(&m->files, &i)) != NULL;)
        set_base(m, it->value, (struct mirror_hash){0});
}

static int sync_locked(struct mirror *m, struct arena *a, struct err *e)
{
    struct document_news news;
    struct document_table *t = m->conf.table;
    int r = t->news(t, a, m->conf.workspace_id, m->since, &news, e);
    if (r == 0 && news.until < m->since) {
        forget(m);
        r = t->news(t, a, m->conf.workspace_id, 0, &news, e);
    }
    if (r < 0)
        return r;
    see_all(m, a);
    use_news(m, &news);
    r = settle_all(m, e);
    if (r < 0)
        return r;
    m->is_dirty |= m->since != news.until;
    m->since = news.until;
    return m->is_dirty ? save_state(m, a, e) : 0;
}

int mirror_sync(struct mirror *m, bool *ret_changed, struct err *e)
{
    struct arena a;
    int lock;
    struct err local = {0};
    e = e ? e : &local;
    arena_init(&a);
    m->has_changed = false;
    int r = file_make_dirs(m->conf.root, e);
    if (r == 0)
        r = dir_lock_settings(m->conf.root, &lock, e); /* no change of the settings meanwhile */
    if (r == 0) {
        if (!m->is_loaded)
            load_state(m, &a);
        r = sync_locked(m, &a, e);
        lock_close(lock);
    }
    arena_done(&a);
    *ret_changed = m->has_changed;
    return r;
}

/* ---- life ---- */

struct mirror *mirror_new(const struct mirror_conf *conf)
{
    struct mirror *m = xcalloc(1, sizeof *m);
    m->conf = *conf;
    m->conf.root = str_dup(str_from(conf->root));
    m->conf.workspace_id = str_make(str_dup(conf->workspace_id), conf->workspace_id.n);
    map_init(&m->files);
    return m;
}

void mirror_free(struct mirror *m)
{
    struct map_entry *it;
    if (!m)
        return;
    for (size_t i = 0; (it = map_next(&m->files, &i)) != NULL;)
        file_drop(m, it->value);
    map_done(&m->files);
    free((char *)m->conf.root);
    free((char *)m->conf.workspace_id.p);
    free(m);
}
