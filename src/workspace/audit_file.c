#include "workspace/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "base/utf8.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/lock.h"

#define HEAD_NAME   "head"
#define HEAD_FORMAT "nb-audit-1 %020llu %020llu %s\n"
#define HEAD_BYTES  (11 + 21 + 21 + SHA256_HEX_LEN + 1)
#define FILES_MAX   100000

static const char ZEROS[] = "0000000000000000000000000000000000000000000000000000000000000000";

_Static_assert(sizeof ZEROS == SHA256_HEX_LEN + 1, "a hash of zeros");

/* ---- lines ---- */

static str member(struct arena *a, str s)
{
    return utf8_truncate(plain_line(a, s), AUDIT_TEXT_MAX);
}

struct audit_entry audit_entry_copy(struct arena *a, const struct audit_entry *e)
{
    struct audit_entry c = {
        .user = member(a, e->user),
        .token = member(a, e->token),
        .how = member(a, e->how),
        .address = member(a, e->address),
        .via = member(a, e->via),
        .run = member(a, e->run),
        .workspace = member(a, e->workspace),
        .action = member(a, e->action),
        .target = member(a, e->target),
        .outcome = member(a, e->outcome),
        .detail = member(a, e->detail),
        .time_ms = e->time_ms ? e->time_ms : clock_now_ms(),
    };
    return c;
}

static void write_optional(struct json_writer *w, const char *key, str s)
{
    if (s.n > 0)
        jw_kstr(w, key, s);
}

static void write_line(struct buf *b, const struct audit_entry *e, uint64_t seq, const char *prev)
{
    struct json_writer w;
    char iso[CLOCK_ISO_LEN + 1], hash[SHA256_HEX_LEN + 1];
    clock_iso(e->time_ms, iso);
    size_t start = b->n;
    jw_init(&w, b);
    jw_object(&w);
    jw_kint(&w, "seq", (int64_t)seq);
    jw_kstr(&w, "time", str_from(iso));
    jw_kobject(&w, "actor");
    write_optional(&w, "user", e->user);
    write_optional(&w, "token", e->token);
    write_optional(&w, "how", e->how);
    write_optional(&w, "address", e->address);
    write_optional(&w, "via", e->via);
    write_optional(&w, "run", e->run);
    jw_end(&w);
    write_optional(&w, "workspace", e->workspace);
    jw_kstr(&w, "action", e->action);
    write_optional(&w, "target", e->target);
    jw_kstr(&w, "outcome", e->outcome);
    write_optional(&w, "detail", e->detail);
    jw_kstr(&w, "prev", str_from(prev));
    sha256_hex(str_make(b->p + start, b->n - start), hash);
    jw_kstr(&w, "hash", str_from(hash));
    jw_end(&w);
}

static bool read_hash(const struct json *v, const char *key, char out[SHA256_HEX_LEN + 1])
{
    str s = json_get_string(v, key);
    if (s.n != SHA256_HEX_LEN)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    memcpy(out, s.p, s.n);
    out[s.n] = 0;
    return true;
}

/* The hash is at the end of the line, so that it covers a prefix of the line. */
static bool hash_fits(str line, const char *hash)
{
    char want[SHA256_HEX_LEN + 1], end[SHA256_HEX_LEN + 16];
    int n = snprintf(end, sizeof end, ",\"hash\":\"%s\"}", hash);
    if (line.n < (size_t)n || !str_ends(line, str_make(end, (size_t)n)))
        return false;
    sha256_hex(str_slice(line, 0, line.n - (size_t)n), want);
    return memcmp(want, hash, SHA256_HEX_LEN) == 0;
}

bool audit_line_read(str line, struct audit_line *ret)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    bool is_line = json_parse(&a, line, JSON_UNIQUE, &v, NULL) == 0 && json_is(v, JSON_OBJECT);
    int64_t seq = is_line ? json_get_int(v, "seq", 0) : 0;
    is_line = seq > 0 && read_hash(v, "prev", ret->prev) && read_hash(v, "hash", ret->hash);
    ret->seq = (uint64_t)seq;
    ret->is_true = is_line && hash_fits(line, ret->hash);
    arena_done(&a);
    return is_line;
}

void audit_head_init(struct audit_head *h)
{
    *h = (struct audit_head){0};
    memcpy(h->hash, ZEROS, sizeof ZEROS);
}

bool audit_line_continues(str line, struct audit_head *h)
{
    struct audit_line l;
    if (!audit_line_read(line, &l) || !l.is_true || l.seq != h->seq + 1 ||
        memcmp(l.prev, h->hash, SHA256_HEX_LEN) != 0)
        return false;
    h->seq = l.seq;
    memcpy(h->hash, l.hash, sizeof h->hash);
    return true;
}

int audit_line_make(struct arena *a, const struct audit_entry *entry, struct audit_head *h,
                    str *ret, struct err *e)
{
    struct buf b;
    buf_init(&b, AUDIT_LINE_MAX);
    write_line(&b, entry, h->seq + 1, h->hash);
    bool has_failed = buf_failed(&b);
    *ret = buf_keep(&b, a);
    if (has_failed || !audit_line_continues(*ret, h))
        return err_set(e, -EMSGSIZE, "a record for the audit log is too long");
    return 0;
}

/* ---- names ---- */

const char *audit_path(struct arena *a, const char *work_dir, const char *name)
{
    return arena_printf(a, "%s/" AUDIT_DIR "/%s", work_dir, name).p;
}

static bool is_digits(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* audit-000000000001-202611.jsonl */
static bool name_parse(const char *name, struct audit_file_name *ret)
{
    str rest = str_from(name), first, month;
    if (!str_starts(rest, STR("audit-")) || !str_ends(rest, STR(".jsonl")) ||
        rest.n >= sizeof ret->name)
        return false;
    rest = str_slice(rest, 6, rest.n - 6);
    if (!str_split(&rest, '-', &first) || !str_split(&rest, '-', &month) || rest.n > 0 ||
        !is_digits(first) || !is_digits(month) || parse_u64(first, &ret->first) < 0)
        return false;
    snprintf(ret->name, sizeof ret->name, "%s", name);
    return ret->first > 0;
}

static int by_first(const void *x, const void *y)
{
    const struct audit_file_name *a = x, *b = y;
    return a->first < b->first ? -1 : a->first > b->first ? 1 : strcmp(a->name, b->name);
}

int audit_files(struct arena *a, const char *work_dir, struct audit_file_name **ret, size_t *ret_n,
                struct err *e)
{
    const char *dir = arena_printf(a, "%s/" AUDIT_DIR, work_dir).p;
    struct audit_file_name *all = NULL, one;
    size_t n = 0, cap = 0;
    struct dir d = dir_open(dir);
    *ret = NULL;
    *ret_n = 0;
    if (d.error < 0)
        return d.error == -ENOENT ? 0 : err_errno(e, d.error, "cannot read", dir);
    while (n < FILES_MAX && dir_next(&d)) {
        if (!name_parse(d.name, &one))
            continue;
        GROW(all, n, cap);
        all[n++] = one;
    }
    dir_close(&d);
    if (n > 0) {
        qsort(all, n, sizeof *all, by_first);
        *ret = arena_alloc(a, n * sizeof *all);
        memcpy(*ret, all, n * sizeof *all);
        *ret_n = n;
    }
    free(all);
    return 0;
}

/* ---- head ---- */

static int head_parse(str text, struct audit_head *ret)
{
    str rest = str_trim(text), part[4];
    for (size_t i = 0; i < ARRAY_LEN(part); i++)
        if (!str_split(&rest, ' ', &part[i]))
            return -EINVAL;
    if (!str_eq(part[0], STR("nb-audit-1")) || parse_u64(part[1], &ret->seq) < 0 ||
        parse_u64(part[2], &ret->first) < 0 || part[3].n != SHA256_HEX_LEN)
        return -EINVAL;
    memcpy(ret->hash, part[3].p, SHA256_HEX_LEN);
    ret->hash[SHA256_HEX_LEN] = 0;
    return 0;
}

int audit_head_read(const char *work_dir, struct audit_head *ret, struct err *e)
{
    struct arena a;
    str text;
    arena_init(&a);
    *ret = (struct audit_head){0};
    const char *path = audit_path(&a, work_dir, HEAD_NAME);
    int r = file_read(&a, path, HEAD_BYTES * 2, &text, e);
    if (r == 0 && text.n == 0)
        r = -ENOENT;
    else if (r == 0 && head_parse(text, ret) < 0)
        r = err_set(e, -EINVAL, "%s is damaged", path);
    arena_done(&a);
    return r;
}

/* ---- appending, under the lock ---- */

struct writer {
    struct arena arena;
    const char *work_dir;
    int lock, fd; /* fd: the current file, -1 = none yet */
    struct audit_head last;
    char month[8];
    uint64_t size; /* of the current file */
    size_t torn;   /* bytes of an unfinished line that were moved away */
    struct err *e;
};

static int open_lock(struct writer *w)
{
    const char *dir = arena_printf(&w->arena, "%s/" AUDIT_DIR, w->work_dir).p;
    int r = file_make_dirs(dir, w->e);
    if (r < 0)
        return r;
    const char *path = audit_path(&w->arena, w->work_dir, HEAD_NAME);
    w->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (w->lock < 0)
        return err_errno(w->e, -errno, "cannot open", path);
    r = lock_wait(w->lock, LOCK_EX);
    return r < 0 ? err_errno(w->e, r, "cannot lock", path) : 0;
}

static int write_head(struct writer *w)
{
    char text[HEAD_BYTES + 1];
    int n = snprintf(text, sizeof text, HEAD_FORMAT, (unsigned long long)w->last.seq,
                     (unsigned long long)w->last.first, w->last.hash);
    if (pwrite(w->lock, text, (size_t)n, 0) != n)
        return err_errno(w->e, errno ? -errno : -EIO, "cannot write", AUDIT_DIR "/" HEAD_NAME);
    return 0;
}

/* A head that cannot be read is not trusted; the last line of the last file is then the end. */
static void load_head(struct writer *w)
{
    char text[HEAD_BYTES + 1];
    ssize_t n = pread(w->lock, text, sizeof text, 0);
    w->last = (struct audit_head){0};
    if (n <= 0 || head_parse(str_make(text, (size_t)n), &w->last) < 0 || w->last.seq == 0)
        audit_head_init(&w->last);
}

/* Moves the bytes after the last line feed from the log to a file beside it. */
static int cut_torn(struct writer *w, const char *path, str torn)
{
    const char *beside = arena_printf(&w->arena, "%s.torn", path).p;
    int fd = open(beside, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_kept = fd >= 0 && write(fd, torn.p, torn.n) == (ssize_t)torn.n;
    file_close(fd);
    if (!is_kept)
        return err_errno(w->e, errno ? -errno : -EIO, "cannot write", beside);
    if (ftruncate(w->fd, (off_t)(w->size - torn.n)) < 0)
        return err_errno(w->e, -errno, "cannot repair", path);
    w->size -= torn.n;
    w->torn = torn.n;
    return 0;
}

/* Finds the end of the open file: repairs a torn line, and accepts a last line that `head` does
 * not name yet because its writer died between the two writes. */
static int find_end(struct writer *w, const char *path, uint64_t first)
{
    char *tail = arena_alloc(&w->arena, 2 * AUDIT_LINE_MAX);
    struct stat st;
    struct audit_line line;
    if (fstat(w->fd, &st) < 0)
        return err_errno(w->e, -errno, "cannot examine", path);
    w->size = (uint64_t)st.st_size;
    size_t n = w->size < 2 * AUDIT_LINE_MAX ? (size_t)w->size : 2 * AUDIT_LINE_MAX;
    if (pread(w->fd, tail, n, (off_t)(w->size - n)) != (ssize_t)n)
        return err_errno(w->e, errno ? -errno : -EIO, "cannot read", path);
    str text = str_make(tail, n);
    ptrdiff_t end = str_rfind_char(text, '\n');
    size_t whole = end < 0 ? 0 : (size_t)end + 1;
    if (whole == 0 && w->size > n) { /* not a log: not touched, a new file begins */
        w->size = AUDIT_FILE_MAX;
        return 0;
    }
    int r = whole < n ? cut_torn(w, path, str_skip(text, whole)) : 0;
    if (r < 0 || whole == 0)
        return r;
    text = str_slice(text, 0, whole - 1);
    text = str_skip(text, (size_t)(str_rfind_char(text, '\n') + 1));
    if (audit_line_read(text, &line) && line.seq > w->last.seq) {
        w->last = (struct audit_head){.seq = line.seq, .first = first};
        memcpy(w->last.hash, line.hash, sizeof line.hash);
    }
    return 0;
}

static int open_log_file(struct writer *w, const char *name, int more_flags)
{
    const char *path = audit_path(&w->arena, w->work_dir, name);
    w->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | more_flags, 0600);
    return w->fd < 0 ? err_errno(w->e, -errno, "cannot open", path) : 0;
}

static int open_last(struct writer *w)
{
    struct audit_file_name *files;
    size_t n;
    int r = audit_files(&w->arena, w->work_dir, &files, &n, w->e);
    if (r < 0 || n == 0)
        return r;
    const struct audit_file_name *last = &files[n - 1];
    r = open_log_file(w, last->name, 0);
    if (r < 0)
        return r;
    size_t len = strlen(last->name);
    snprintf(w->month, sizeof w->month, "%.6s", last->name + len - strlen("202611.jsonl"));
    return find_end(w, audit_path(&w->arena, w->work_dir, last->name), last->first);
}

static int sync_dir(struct writer *w)
{
    const char *dir = arena_printf(&w->arena, "%s/" AUDIT_DIR, w->work_dir).p;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0) {
        int r = err_errno(w->e, -errno, "cannot sync", dir);
        file_close(fd);
        return r;
    }
    close(fd);
    return 0;
}

static int start_file(struct writer *w, const char *month)
{
    char name[64];
    file_close(w->fd);
    w->last.first = w->last.seq + 1;
    snprintf(name, sizeof name, "audit-%012llu-%s.jsonl", (unsigned long long)w->last.first, month);
    snprintf(w->month, sizeof w->month, "%s", month);
    w->size = 0;
    int r = open_log_file(w, name, O_CREAT);
    return r < 0 ? r : sync_dir(w);
}

/* The line follows w->last, and `next` is the head after it. */
static int write_record(struct writer *w, str line, int64_t time_ms, const struct audit_head *next)
{
    char iso[CLOCK_ISO_LEN + 1], month[8];
    clock_iso(time_ms, iso);
    snprintf(month, sizeof month, "%.4s%.2s", iso, iso + 5);
    bool is_full = w->fd < 0 || w->size >= AUDIT_FILE_MAX || strcmp(month, w->month) > 0;
    int r = is_full ? start_file(w, month) : 0;
    if (r < 0)
        return r;
    str text = arena_printf(&w->arena, "%.*s\n", STR_ARG(line));
    errno = 0;
    if (write(w->fd, text.p, text.n) != (ssize_t)text.n) /* the next writer repairs a torn one */
        return err_errno(w->e, errno ? -errno : -EIO, "cannot write", "the audit log");
    w->size += text.n;
    w->last.seq = next->seq;
    memcpy(w->last.hash, next->hash, sizeof next->hash);
    return 0;
}

static int append_one(struct writer *w, const struct audit_entry *e)
{
    struct audit_head next = w->last;
    str line;
    int r = audit_line_make(&w->arena, e, &next, &line, w->e);
    return r < 0 ? r : write_record(w, line, e->time_ms, &next);
}

static int extend_one(struct writer *w, str line)
{
    struct audit_head next = w->last;
    struct json *v;
    int64_t ms = 0;
    if (!audit_line_continues(line, &next) || json_parse(&w->arena, line, 0, &v, NULL) < 0 ||
        clock_parse_iso(json_get_string(v, "time"), &ms) < 0)
        return err_set(w->e, -EEXIST, AUDIT_IS_ANOTHER);
    return write_record(w, line, ms, &next);
}

static int report_torn(struct writer *w)
{
    struct audit_entry e = {
        .how = STR("nb"),
        .action = STR("audit.repaired"),
        .outcome = STR("ok"),
        .detail = arena_printf(&w->arena, "%zu bytes of an unfinished line were moved", w->torn),
        .time_ms = clock_now_ms(),
    };
    return append_one(w, &e);
}

/* Entries, or lines of another log. */
struct records {
    const struct audit_entry *entries; /* NULL: lines */
    const str *lines;
    size_t n, written;
};

static int append_record(struct writer *w, const struct records *x, size_t i)
{
    if (!x->entries)
        return extend_one(w, x->lines[i]);
    struct audit_entry clean = audit_entry_copy(&w->arena, &x->entries[i]);
    return append_one(w, &clean);
}

static int append_all(struct writer *w, struct records *x)
{
    int r = open_lock(w);
    if (r < 0)
        return r;
    load_head(w);
    r = open_last(w);
    uint64_t before = w->last.seq;
    if (r == 0 && w->torn > 0)
        r = report_torn(w);
    for (size_t i = 0; r == 0 && i < x->n; i++) {
        r = append_record(w, x, i);
        x->written += r == 0;
    }
    if (w->fd >= 0 && w->last.seq > before && fdatasync(w->fd) < 0 && r == 0)
        r = err_errno(w->e, -errno, "cannot sync", "the audit log");
    if (w->last.seq > before && write_head(w) < 0 && r == 0)
        r = w->e ? w->e->code : -EIO;
    return r;
}

static int append_to(const char *work_dir, struct records *x, struct err *e)
{
    struct err own = {0};
    struct writer w = {.work_dir = work_dir, .lock = -1, .fd = -1, .e = e ? e : &own};
    if (x->n == 0)
        return 0;
    arena_init(&w.arena);
    int r = append_all(&w, x);
    file_close(w.fd);
    lock_close(w.lock);
    arena_done(&w.arena);
    return r;
}

int audit_append(const char *work_dir, const struct audit_entry *entries, size_t n, size_t *ret_n,
                 struct err *e)
{
    struct records x = {.entries = entries, .n = n};
    int r = append_to(work_dir, &x, e);
    if (ret_n)
        *ret_n = x.written;
    return r;
}

int audit_extend(const char *work_dir, const str *lines, size_t n, struct err *e)
{
    struct records x = {.lines = lines, .n = n};
    return append_to(work_dir, &x, e);
}
