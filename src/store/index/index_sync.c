#include "store/index/index_sync.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "store/event/lines.h"
#include "store/index/index_price.h"

enum {
    MARK_FIRST = 128,
    MARK_LAST = 64,
    STEP_BYTES = 8 * 1024 * 1024, /* of one log per transaction */
    STEP_MS = 50,                 /* of one transaction, so that other connections can write */
    MANY = 2000,                  /* logs to read: then the transactions grow */
    FIRST_MS = 16,                /* from this */
    MANY_MS = 1000,               /* to this */
    YIELD_NAP_US = 300,
    YIELD_NAPS = 100,
    ROWS = 256,     /* read at a time */
    BUCKETS = 1024, /* of names */
    PORTION = 64,   /* logs */
    PORTION_MAX = 16384,
};

bool index_is_notes(str row_id)
{
    return str_ends(row_id, STR(INDEX_NOTES));
}

str index_conv_id(str row_id)
{
    return str_make(row_id.p, row_id.n - (index_is_notes(row_id) ? sizeof(INDEX_NOTES) - 1 : 0));
}

const char *index_path(struct files *f, struct arena *a, str row_id)
{
    if (!index_is_notes(row_id))
        return f->layout->path(f, a, row_id);
    return f->layout->notes_path ? f->layout->notes_path(f, a, index_conv_id(row_id)) : NULL;
}

str index_event(const struct files *f, struct arena *a, str row_id, str line)
{
    if (!index_is_notes(row_id))
        return files_event(f->layout, a, line);
    return f->layout->note_event ? f->layout->note_event(a, line) : STR_NONE;
}

bool index_is_current(const struct index_log *log, const struct stat *st)
{
    return log->no && log->size == st->st_size && log->ino == (int64_t)st->st_ino &&
           log->dev == (int64_t)st->st_dev &&
           log->mtime_ns == (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static size_t read_some(int fd, char *p, size_t n, off_t at)
{
    ssize_t got = n ? pread(fd, p, n, at) : 0;
    return got > 0 ? (size_t)got : 0;
}

/* A checksum of the first bytes, and of the last bytes before the line feed that ends at `end`. */
static int64_t mark_of(int fd, off_t end)
{
    char bytes[MARK_FIRST + MARK_LAST];
    uint8_t digest[SHA256_LEN];
    int64_t mark;
    off_t n = end > 0 ? end - 1 : 0; /* the line feed itself may not be written yet */
    off_t last = n > MARK_LAST ? n - MARK_LAST : 0;
    size_t first = read_some(fd, bytes, n < MARK_FIRST ? (size_t)n : MARK_FIRST, 0);
    size_t all = first + read_some(fd, bytes + first, (size_t)(n - last), last);
    sha256(str_make(bytes, all), digest);
    memcpy(&mark, digest, sizeof(mark));
    return mark;
}

bool index_is_same(const struct index_log *log, int fd, const struct stat *st, off_t limit)
{
    return log->no && log->ino == (int64_t)st->st_ino && log->dev == (int64_t)st->st_dev &&
           log->done <= limit && lines_is_boundary(fd, (off_t)log->done) == 1 &&
           log->mark == mark_of(fd, (off_t)log->done);
}

/* ---- one log ---- */

struct sync_reading {
    struct index_sync *sync;
    str id;
    int fd;
    struct stat st;
    struct index_log log;
    bool is_notes; /* searched only: the file has a row of its own and derives nothing */
    struct derive derive;
    struct arena scratch; /* of one line */
};

static void derive_from(struct sync_reading *r, str line, off_t end)
{
    const struct files *f = r->sync->store->impl;
    if (r->is_notes)
        return;
    arena_reset(&r->scratch);
    derive_line(&r->derive, files_event(f->layout, &r->scratch, line), (store_pos)end);
}

static int next_number(struct index_db *db, int64_t *ret)
{
    static const char NEXT[] =
        "UPDATE fact SET value = value + 1 WHERE name = 'numbers' RETURNING value";
    sqlite3_stmt *st = index_db_sql(db, NEXT);
    int r = index_db_step(db, st);
    if (r > 0)
        *ret = sqlite3_column_int64(st, 0);
    return r > 0 ? index_db_run(db, st) : r;
}

/* Loads the row of the log, or replaces it by a new one when it describes another file. */
static int reading_resume(struct sync_reading *r)
{
    struct index_db *db = r->sync->db;
    int rc = -ENOENT;
    if (index_is_same(&r->log, r->fd, &r->st, r->st.st_size))
        rc = r->log.done > 0 && !r->is_notes ? index_conv_read(db, r->id, &r->derive) : 0;
    if (rc == 0) {
        r->derive.conv.end = (store_pos)r->log.done;
        r->derive.has_header = r->log.done > 0;
        return 0;
    }
    if (rc == -ENOENT && r->log.no)
        rc = index_conv_delete(db, r->id);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    r->log = (struct index_log){0};
    return next_number(db, &r->log.no);
}

/* The last line may lack its line feed while another process writes it. */
static int read_unended(struct sync_reading *r, off_t at)
{
    struct arena a;
    str text;
    arena_init(&a);
    int rc = lines_unended(&a, r->fd, at, r->st.st_size, &text);
    if (rc > 0) {
        derive_from(r, text, r->st.st_size + 1);
        r->log.done = r->st.st_size + 1;
    }
    arena_done(&a);
    return rc < 0 ? rc : 0;
}

/* Derives from at most STEP_BYTES more. 1: there is more. */
static int read_on(struct sync_reading *r)
{
    struct derive *d = &r->derive;
    struct lines lines;
    struct line line;
    int rc;
    off_t from = (off_t)r->log.done;
    lines_init(&lines, r->fd, from, r->st.st_size);
    while ((rc = lines_next(&lines, &line)) > 0) {
        derive_from(r, line.text, line.end);
        if (line.end - from >= STEP_BYTES && line.end < r->st.st_size)
            break;
    }
    d->conv.bad_lines += lines.overlong;
    off_t at = d->has_header || r->is_notes ? lines.at : 0;
    lines_done(&lines);
    r->log.done = at;
    return rc == 0 ? read_unended(r, at) : rc;
}

static int reading_save(struct sync_reading *r, bool has_more)
{
    struct index_log *l = &r->log;
    l->dev = (int64_t)r->st.st_dev;
    l->ino = (int64_t)r->st.st_ino;
    l->size = has_more ? -1 : r->st.st_size;
    l->mtime_ns = (int64_t)r->st.st_mtim.tv_sec * 1000000000 + r->st.st_mtim.tv_nsec;
    l->mark = mark_of(r->fd, (off_t)l->done);
    int rc = r->is_notes ? 0 : index_conv_write(r->sync->db, r->id, l->no, &r->derive);
    return rc < 0 ? rc : index_log_write(r->sync->db, r->id, l);
}

/* 1: there is more of this log to read. */
static int read_log(struct sync_reading *r)
{
    int rc = index_log_read(r->sync->db, r->id, &r->log);
    if (rc < 0 || index_is_current(&r->log, &r->st))
        return rc;
    rc = reading_resume(r);
    if (rc < 0)
        return rc;
    int more = read_on(r);
    if (more < 0) /* a log that cannot be read is not listed */
        return index_conv_delete(r->sync->db, r->id);
    rc = reading_save(r, more > 0);
    return rc < 0 ? rc : more;
}

static int catch_up_file(struct index_sync *s, const struct store_env *env, str id)
{
    struct files *f = s->store->impl;
    struct sync_reading r = {.sync = s, .id = id, .is_notes = index_is_notes(id)};
    struct arena a;
    struct err e = {0};
    off_t size;
    arena_init(&a);
    const char *path = index_path(f, &a, id);
    r.fd = path ? file_store_open_log(path, UINT64_MAX, &size, &e) : -ENOENT;
    if (r.fd >= 0 && fstat(r.fd, &r.st) < 0) {
        close(r.fd);
        r.fd = err_errno(&e, -EIO, "cannot read", path);
    }
    int rc;
    if (r.fd < 0) {
        if (e.code && !r.is_notes)
            unreadable_add(s->store, id, &e);
        rc = index_conv_delete(s->db, id);
    } else {
        derive_init(&r.derive, env);
        arena_init(&r.scratch);
        rc = read_log(&r);
        arena_done(&r.scratch);
        derive_done(&r.derive);
        close(r.fd);
    }
    arena_done(&a);
    return rc;
}

/* A log, and with it the notes beside it. */
static int catch_up_one(struct index_sync *s, const struct store_env *env, str id)
{
    const struct files *f = s->store->impl;
    struct arena a;
    int r = catch_up_file(s, env, id);
    if (r != 0 || !f->layout->notes_path || index_is_notes(id))
        return r;
    arena_init(&a);
    r = catch_up_file(s, env, arena_printf(&a, "%.*s" INDEX_NOTES, STR_ARG(id)));
    arena_done(&a);
    return r;
}

/* ---- many logs ---- */

/* One transaction, of `ms` and at least so many logs. Returns how many are done, or -errno. */
static int catch_up_some(struct index_sync *s, struct index_price *prices, const str *ids, size_t n,
                         unsigned ms, size_t at_least)
{
    size_t i = 0;
    int r = index_db_begin(s->db, true);
    uint64_t until = clock_mono_ms() + ms;
    bool goes_on = true;
    while (r >= 0 && i < n && goes_on && !atomic_load(s->stop)) {
        r = catch_up_one(s, &prices->env, ids[i]);
        i += r == 0;
        bool is_over = clock_mono_ms() >= until || (s->yield && atomic_load(s->yield) > 0);
        goes_on = r == 0 && (i < at_least || !is_over);
    }
    if (r >= 0)
        r = index_price_save(prices, s->db);
    if (r >= 0)
        r = index_db_commit(s->db);
    index_db_rollback(s->db);
    return r < 0 ? r : (int)i;
}

/* SQLite has no queue for writers: without a pause the next transaction would begin before those
 * who wait look again. */
static void let_others_write(const struct index_sync *s)
{
    const struct timespec nap = {.tv_nsec = YIELD_NAP_US * 1000};
    for (int i = 0; s->yield && atomic_load(s->yield) > 0 && i < YIELD_NAPS; i++)
        (void)nanosleep(&nap, NULL);
}

static void tell_progress(struct index_sync *s, size_t behind)
{
    if (!s->progress)
        return;
    atomic_store(&s->progress->behind, behind);
    atomic_store(&s->progress->has_rows, true);
}

/* The first transactions are short, so that lists have something to show; the later ones are long,
 * because writing the same pages again and again takes most of the time. */
int index_catch_up(struct index_sync *s, const str *ids, size_t n)
{
    struct index_price prices;
    index_price_init(&prices, s->db->env);
    unsigned ms = n > MANY ? FIRST_MS : STEP_MS;
    int r = 0;
    s->has_written |= n > 0;
    for (size_t i = 0; r >= 0 && i < n;) {
        r = atomic_load(s->stop)
                ? -ECANCELED
                : catch_up_some(s, &prices, ids + i, n - i, ms, n > MANY && i == 0 ? PORTION : 1);
        i += r > 0 ? (size_t)r : 0;
        tell_progress(s, n - i);
        let_others_write(s);
        if (n > MANY && ms < MANY_MS)
            ms *= 2;
    }
    index_price_done(&prices);
    return r < 0 ? r : 0;
}

/* ---- all logs ---- */

struct log_names {
    struct arena *arena;
    struct log_name {
        str id;
        int64_t mtime_ns;
    } * items; /* heap */
    size_t n, cap;
};

static void add_name(struct log_names *names, str id, int64_t mtime_ns)
{
    GROW(names->items, names->n, names->cap);
    names->items[names->n++] = (struct log_name){arena_str(names->arena, id), mtime_ns};
}

static int latest_first(const void *a, const void *b)
{
    int64_t x = ((const struct log_name *)a)->mtime_ns, y = ((const struct log_name *)b)->mtime_ns;
    return (x < y) - (x > y);
}

/* A directory may hold a million names, and is swept again and again, so the names are not kept:
 *
 *   1. names are counted, and their hashes added to the sums of buckets;
 *   2. each row is compared with its file; the hash of a file that is there is subtracted;
 *   3. a bucket whose sum is not zero has names without a row: its names are looked up.
 *
 * What it takes does not depend on the number of names, only on that of the differences. */
struct sweep {
    struct index_sync *sync;
    struct log_names *differ;
    struct arena path, notes; /* of one file */
    size_t logs;              /* without the notes beside them */
    size_t max;               /* 0 = no limit */
    uint64_t buckets[BUCKETS];
    int status;
};

/* FNV-1a, mixed at the end, so that two sets of names have the same sum only by an accident of one
 * in 2^64. */
static uint64_t hash_name(str id)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < id.n; i++)
        h = (h ^ (uint8_t)id.p[i]) * 0x100000001b3u;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t *bucket_of(struct sweep *w, str id, uint64_t *ret_hash)
{
    *ret_hash = hash_name(id);
    return &w->buckets[*ret_hash % BUCKETS];
}

/* Calls fn with the row of a log, and with that of the notes beside it. */
static void each_row(struct sweep *w, str id, void (*fn)(struct sweep *w, str row_id))
{
    struct files *f = w->sync->store->impl;
    struct stat st;
    fn(w, id);
    if (!f->layout->notes_path)
        return;
    arena_reset(&w->notes);
    const char *notes = f->layout->notes_path(f, &w->notes, id);
    if (notes && lstat(notes, &st) == 0 && S_ISREG(st.st_mode))
        fn(w, arena_printf(&w->notes, "%.*s" INDEX_NOTES, STR_ARG(id)));
}

/* Adds the file to `differ` unless the row describes it. log: NULL = there is no row. False: the
 * file is not there. */
static bool compare_file(struct sweep *w, str id, const struct index_log *log)
{
    struct files *f = w->sync->store->impl;
    struct stat st;
    arena_reset(&w->path);
    const char *path = index_path(f, &w->path, id);
    bool is_there = path && stat(path, &st) == 0;
    if (is_there && log && index_is_current(log, &st))
        return true;
    int64_t ns = is_there ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
    add_name(w->differ, id, ns);
    return is_there;
}

static void count_name(struct sweep *w, str id)
{
    uint64_t hash;
    *bucket_of(w, id, &hash) += hash;
}

static bool count_log(void *ctx, str id)
{
    struct sweep *w = ctx;
    w->logs++;
    each_row(w, id, count_name);
    return (!w->max || w->logs <= w->max) && !atomic_load(w->sync->stop);
}

static int count_names(struct sweep *w)
{
    struct index_sync *s = w->sync;
    struct err e = {0};
    int r = s->store->ops->each_id(s->store, count_log, w, &e);
    if (r == 0 && w->max && w->logs > w->max)
        r = -E2BIG;
    if (r == 0 && s->progress) {
        atomic_store(&s->progress->behind, w->logs); /* as long as nothing is compared */
        atomic_store(&s->progress->total, w->logs);
    }
    return r;
}

struct row {
    str id;
    struct index_log log;
};

/* The next rows, by id. A statement that is under way keeps others from writing, so it ends before
 * any file is looked at. Returns how many, or -errno. */
static int next_rows(struct index_sync *s, str after, struct arena *a, struct row rows[ROWS])
{
    static const char NEXT[] =
        "SELECT " INDEX_LOG_COLUMNS ", id FROM log WHERE id > ? ORDER BY id LIMIT ?";
    sqlite3_stmt *st = index_db_sql(s->db, NEXT);
    int n = 0, r;
    index_db_bind(st, 1, after);
    sqlite3_bind_int(st, 2, ROWS);
    while ((r = index_db_step(s->db, st)) > 0) {
        index_log_columns(st, 0, &rows[n].log);
        rows[n++].id = arena_str(a, index_db_column(st, 9));
    }
    return r < 0 ? r : n;
}

static int compare_rows(struct sweep *w)
{
    struct index_sync *s = w->sync;
    struct row *rows = xcalloc(ROWS, sizeof(*rows));
    struct arena ids[2]; /* the last id of the rows before is needed for the next ones */
    str last = STR_NONE;
    uint64_t hash;
    int n = ROWS, turn = 0;
    arena_init(&ids[0]);
    arena_init(&ids[1]);
    while (n == ROWS && !atomic_load(s->stop)) {
        turn = !turn;
        arena_reset(&ids[turn]);
        n = next_rows(s, last, &ids[turn], rows);
        if (n > 0 && s->progress)
            atomic_store(&s->progress->has_rows, true);
        for (int i = 0; i < n; i++) {
            last = rows[i].id;
            if (compare_file(w, last, &rows[i].log))
                *bucket_of(w, last, &hash) -= hash;
        }
    }
    arena_done(&ids[0]);
    arena_done(&ids[1]);
    free(rows);
    return n < 0 ? n : 0;
}

static void seek_row(struct sweep *w, str id)
{
    struct index_log log = {0};
    uint64_t hash;
    if (w->status < 0 || *bucket_of(w, id, &hash) == 0)
        return;
    w->status = index_log_read(w->sync->db, id, &log);
    if (w->status == 0 && !log.no)
        (void)compare_file(w, id, NULL);
}

static bool seek_log(void *ctx, str id)
{
    struct sweep *w = ctx;
    each_row(w, id, seek_row);
    return w->status == 0 && !atomic_load(w->sync->stop);
}

static int seek_names(struct sweep *w)
{
    const struct store *store = w->sync->store;
    struct err e = {0};
    bool is_same = true;
    for (size_t i = 0; i < BUCKETS; i++)
        is_same &= w->buckets[i] == 0;
    int r = is_same ? 0 : store->ops->each_id(w->sync->store, seek_log, w, &e);
    return r < 0 ? r : w->status;
}

static int find_differences(struct sweep *w)
{
    struct index_sync *s = w->sync;
    struct log_names *differ = w->differ;
    int r = count_names(w);
    if (r == 0)
        r = compare_rows(w);
    if (r == 0)
        r = seek_names(w);
    if (r == 0 && atomic_load(s->stop))
        r = -ECANCELED;
    if (differ->n > 1)
        qsort(differ->items, differ->n, sizeof(*differ->items), latest_first);
    if (r == 0 && s->progress)
        atomic_store(&s->progress->behind, differ->n);
    return r;
}

/* The latest come first, but in portions, each of which except the first is in the order of time:
 * the entries of a shelf that are added in that order fill their pages, in the opposite order only
 * half. */
static void copy_in_portions(const struct log_names *latest_first, str *ret)
{
    size_t n = latest_first->n, portion = PORTION;
    for (size_t at = 0; at < n; at += portion, portion *= portion < PORTION_MAX ? 2 : 1) {
        size_t end = n - at < portion ? n : at + portion;
        for (size_t i = at; i < end; i++)
            ret[i] = latest_first->items[at == 0 ? i : end - 1 - (i - at)].id;
    }
}

int index_sweep(struct index_sync *s, struct arena *a, size_t names_max, str **ret, size_t *ret_n,
                size_t *ret_total)
{
    struct log_names differ = {.arena = a};
    struct sweep *w = xcalloc(1, sizeof(*w));
    w->sync = s;
    w->differ = &differ;
    w->max = names_max;
    arena_init(&w->path);
    arena_init(&w->notes);
    int r = find_differences(w);
    *ret_total = w->logs;
    *ret_n = differ.n;
    *ret = arena_array(a, differ.n + 1, sizeof(str));
    copy_in_portions(&differ, *ret);
    free(differ.items);
    arena_done(&w->path);
    arena_done(&w->notes);
    free(w);
    return r;
}
