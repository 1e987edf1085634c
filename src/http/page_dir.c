#include "http/page_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes/hash.h"
#include "loop/timer.h"
#include "os/dir.h"
#include "os/file.h"

#define LOOK_MS   300
#define FILES_MAX 2000u
#define BYTES_MAX (64u * 1024 * 1024)
#define DEPTH_MAX 8u
#define INDEX     "/index.html"

#define RELOAD_TAG "<script type=\"module\" src=\"./nb-reload.js\"></script>"
#define RELOAD_SCRIPT                                                                              \
    "// Loads the page again when a file of it has changed (nb serve --web).\n"                    \
    "let known = ''\n"                                                                             \
    "const look = async () => {\n"                                                                 \
    "  const now = await fetch(new URL('./nb-version.txt', import.meta.url), { cache: 'no-store' " \
    "}).catch(() => null)\n"                                                                       \
    "  const text = now?.ok ? await now.text() : known\n"                                          \
    "  if (known && text !== known) location.reload()\n"                                           \
    "  known = text\n"                                                                             \
    "  setTimeout(look, 500)\n"                                                                    \
    "}\n"                                                                                          \
    "void look()\n"

struct found_file {
    str path; /* as it is served */
    str mime;
    uint64_t bytes;
    int64_t changed_ns;
};

/* One look at the directory; pool thread. */
struct page_look {
    struct arena arena;
    struct found_file *files;
    size_t n, cap;
    uint64_t bytes;
    char version[SHA256_HEX_LEN + 1];
    struct asset_table table;
};

struct page_dir {
    struct pool *pool;
    struct logger *log;
    const char *dir;
    struct timer timer;
    struct job job;
    struct page_look *now, *next;  /* next: of the job */
    char seen[SHA256_HEX_LEN + 1]; /* version of the last look: it is read when it stays */
    bool is_looking, is_closed, is_read;
};

/* ---- what there is ---- */

static str mime_of(const char *name)
{
    static const char *const TYPES[][2] = {
        {".css", "text/css; charset=utf-8"},
        {".gif", "image/gif"},
        {".html", "text/html; charset=utf-8"},
        {".ico", "image/x-icon"},
        {".jpg", "image/jpeg"},
        {".js", "text/javascript; charset=utf-8"},
        {".json", "application/json"},
        {".png", "image/png"},
        {".svg", "image/svg+xml"},
        {".txt", "text/plain; charset=utf-8"},
        {".webmanifest", "application/manifest+json"},
        {".webp", "image/webp"},
        {".woff2", "font/woff2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_ends(str_from(name), str_from(TYPES[i][0])))
            return str_from(TYPES[i][1]);
    return STR_NONE;
}

/* A script in it acts for everybody who opens the page. */
static int check_writers(const struct stat *st, str path, struct err *e)
{
    return (st->st_mode & S_IWOTH) == 0
               ? 0
               : err_set(e, -EPERM, "every user of this machine can write to %.*s",
                         STR_ARG(path.n > 0 ? path : STR("it")));
}

static int page_look_add(struct page_look *k, str below, const char *name, const struct stat *st,
                         struct err *e)
{
    str mime = mime_of(name), path = arena_printf(&k->arena, "%.*s/%s", STR_ARG(below), name);
    if (mime.n == 0)
        return 0;
    int r = check_writers(st, path, e);
    if (r < 0)
        return r;
    k->bytes += (uint64_t)st->st_size;
    if (k->n >= FILES_MAX || k->bytes > BYTES_MAX)
        return err_set(e, -EFBIG, "it has more than %u files, or more than %u MiB", FILES_MAX,
                       BYTES_MAX >> 20);
    ARENA_GROW(&k->arena, k->files, k->n, k->cap);
    k->files[k->n++] = (struct found_file){
        .path = path,
        .mime = mime,
        .bytes = (uint64_t)st->st_size,
        .changed_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
    };
    return 0;
}

static int find_files(struct page_look *k, struct dir *d, str below, unsigned depth, struct err *e)
{
    struct stat st;
    int r = d->error;
    if (r == 0)
        r = fstat(dir_fd(d), &st) < 0 ? -errno : check_writers(&st, below, e);
    while (r == 0 && dir_next(d)) {
        if (d->name[0] == '.' || fstatat(dir_fd(d), d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
            struct dir inner = dir_open_below(dir_fd(d), d->name);
            r = find_files(k, &inner, arena_printf(&k->arena, "%.*s/%s", STR_ARG(below), d->name),
                           depth + 1, e);
        } else if (S_ISREG(st.st_mode)) {
            r = page_look_add(k, below, d->name, &st, e);
        }
    }
    dir_close(d);
    return r;
}

static int by_path(const void *a, const void *b)
{
    return str_cmp(((const struct found_file *)a)->path, ((const struct found_file *)b)->path);
}

static int look_at(struct page_look *k, const char *dir, struct err *e)
{
    struct sha256_pieces h;
    struct dir d = dir_open(dir);
    int r = find_files(k, &d, STR(""), 0, e);
    if (r < 0)
        return r;
    if (k->n > 0)
        qsort(k->files, k->n, sizeof *k->files, by_path);
    sha256_begin(&h);
    for (size_t i = 0; i < k->n; i++)
        sha256_add(&h, arena_printf(&k->arena, "%.*s %llu %lld\n", STR_ARG(k->files[i].path),
                                    (unsigned long long)k->files[i].bytes,
                                    (long long)k->files[i].changed_ns));
    sha256_end_hex(&h, k->version);
    return 0;
}

/* ---- reading it ---- */

static int read_bytes(struct arena *a, const char *dir, const struct found_file *f, str *ret)
{
    struct stat st;
    int fd = open(arena_printf(a, "%s%.*s", dir, STR_ARG(f->path)).p,
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char *bytes = arena_array(a, f->bytes + 1, 1);
    int r = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != f->bytes
                ? -ESTALE
                : file_read_all(fd, bytes, f->bytes);
    file_close(fd);
    *ret = str_make(bytes, f->bytes);
    return r < 0 ? r : 0;
}

/* Pages at the root ask for changes. */
static str with_reload(struct arena *a, const struct found_file *f, str bytes)
{
    bool is_page = str_ends(f->path, STR(".html")) && str_find_char(str_skip(f->path, 1), '/') < 0;
    return is_page ? arena_concat(a, bytes, STR(RELOAD_TAG)) : bytes;
}

static struct asset asset_of(struct arena *a, str path, str mime, str bytes)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(bytes, hex);
    return (struct asset){
        .path = path, .mime = mime, .etag = arena_printf(a, "\"%.16s\"", hex), .bytes = bytes};
}

static int compare_assets(const void *a, const void *b)
{
    return str_cmp(((const struct asset *)a)->path, ((const struct asset *)b)->path);
}

static int read_files(struct page_look *k, const char *dir, struct err *e)
{
    struct arena *a = &k->arena;
    struct asset *items = arena_array(a, k->n + 2, sizeof *items);
    for (size_t i = 0; i < k->n; i++) {
        str bytes;
        int r = read_bytes(a, dir, &k->files[i], &bytes);
        if (r < 0)
            return err_set(e, r, "%.*s cannot be read", STR_ARG(k->files[i].path));
        bytes = with_reload(a, &k->files[i], bytes);
        items[i] = asset_of(a, k->files[i].path, k->files[i].mime, bytes);
    }
    items[k->n] = asset_of(a, STR("/nb-reload.js"), mime_of(".js"), STR(RELOAD_SCRIPT));
    items[k->n + 1] = asset_of(a, STR("/nb-version.txt"), mime_of(".txt"), str_from(k->version));
    qsort(items, k->n + 2, sizeof *items, compare_assets);
    k->table = (struct asset_table){items, k->n + 2};
    const struct asset *page = asset_table_find(&k->table, STR(INDEX));
    if (!page)
        return err_set(e, -ENOENT, "it has no index.html");
    if (str_find(page->bytes, STR("=\"/src/"), 0) >= 0)
        return err_set(e, -ENOENT, "it has the source of a page, which browsers cannot run");
    return 0;
}

static struct page_look *look_new(void)
{
    struct page_look *k = xcalloc(1, sizeof *k);
    arena_init(&k->arena);
    return k;
}

static void look_free(struct page_look *k)
{
    if (!k)
        return;
    arena_done(&k->arena);
    free(k);
}

/* ---- looking again ---- */

static void look_work(struct job *j)
{
    struct page_dir *p = CONTAINER_OF(j, struct page_dir, job);
    struct page_look *k = p->next;
    p->is_read = false;
    if (look_at(k, p->dir, NULL) < 0)
        return;
    bool is_settled = strcmp(k->version, p->seen) == 0;
    memcpy(p->seen, k->version, sizeof p->seen);
    if (is_settled && strcmp(k->version, p->now->version) != 0)
        p->is_read = read_files(k, p->dir, NULL) == 0;
}

static void look_done(struct job *j)
{
    struct page_dir *p = CONTAINER_OF(j, struct page_dir, job);
    p->is_looking = false;
    if (p->is_read && !p->is_closed) {
        look_free(p->now);
        p->now = p->next;
        log_info(p->log, "page", "the page in %s has changed", p->dir);
    } else {
        look_free(p->next);
    }
    p->next = NULL;
    if (p->is_closed)
        page_dir_free(p);
    else
        timer_start(&p->timer, LOOK_MS);
}

static void on_look(void *ctx)
{
    struct page_dir *p = ctx;
    p->next = look_new();
    p->is_looking = true;
    pool_run(p->pool, &p->job, look_work, look_done);
}

/* ---- life ---- */

static int check_dir(const char *dir, struct err *e)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return err_set(e, -errno, "it cannot be opened");
    if (!S_ISDIR(st.st_mode))
        return err_set(e, -ENOTDIR, "it is not a directory");
    return 0;
}

int page_dir_open(struct loop *l, struct pool *pool, struct logger *log, const char *dir,
                  struct page_dir **ret, struct err *e)
{
    struct page_look *k = look_new();
    int r = check_dir(dir, e);
    if (r == 0)
        r = look_at(k, dir, e);
    if (r == 0)
        r = read_files(k, dir, e);
    if (r < 0) {
        look_free(k);
        struct err why = *e;
        return err_set(e, r,
                       "%s does not contain a built page: %s. scripts/build-web writes one "
                       "(web/README.md).",
                       dir, why.msg);
    }
    struct page_dir *p = xcalloc(1, sizeof *p);
    *p = (struct page_dir){.pool = pool, .log = log, .dir = dir, .now = k};
    timer_init(&p->timer, l, on_look, p);
    timer_start(&p->timer, LOOK_MS);
    *ret = p;
    return 0;
}

const struct asset_table *page_dir_table(const struct page_dir *p)
{
    return &p->now->table;
}

void page_dir_free(struct page_dir *p)
{
    if (!p)
        return;
    timer_stop(&p->timer);
    p->is_closed = true;
    if (p->is_looking) /* look_done frees it */
        return;
    look_free(p->now);
    free(p);
}
