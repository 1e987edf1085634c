#include "store/index/index_sync.h"

#include <errno.h>
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
    MANY = 2000,                  /* logs to read: nobody can use the index before it is done, */
    MANY_MS = 1000, /* and writing the same pages again and again takes most of the time */
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
    int rc = r->is_notes ? 0 : index_conv_write(r->sync->db, r->id, &r->derive);
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

/* One transaction. Returns how many logs are done, or -errno. */
static int catch_up_some(struct index_sync *s, struct index_price *prices, const str *ids, size_t n)
{
    size_t i = 0;
    int r = index_db_begin(s->db, true);
    uint64_t until = clock_mono_ms() + (n > MANY ? MANY_MS : STEP_MS);
    while (r >= 0 && i < n && clock_mono_ms() < until) {
        r = catch_up_one(s, &prices->env, ids[i]);
        if (r == 0)
            i++;
        if (r > 0)
            break;
    }
    if (r >= 0)
        r = index_price_save(prices, s->db);
    if (r >= 0)
        r = index_db_commit(s->db);
    index_db_rollback(s->db);
    return r < 0 ? r : (int)i;
}

int index_catch_up(struct index_sync *s, const str *ids, size_t n)
{
    struct index_price prices;
    index_price_init(&prices, s->db->env);
    int r = 0;
    for (size_t i = 0; r >= 0 && i<n; i += r> 0 ? (size_t)r : 0)
        r = atomic_load(s->stop) ? -ECANCELED : catch_up_some(s, &prices, ids + i, n - i);
    index_price_done(&prices);
    return r < 0 ? r : 0;
}

/* ---- all logs ---- */

struct ids {
    struct arena *arena;
    str *items; /* heap */
    size_t n, cap;
};

static void add_id(void *ctx, str id)
{
    struct ids *ids = ctx;
    GROW(ids->items, ids->n, ids->cap);
    ids->items[ids->n++] = arena_str(ids->arena, id);
}

static int by_bytes(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static bool is_current_file(struct index_sync *s, struct arena *a, str id,
                            const struct index_log *log)
{
    struct files *f = s->store->impl;
    struct stat st;
    arena_reset(a);
    const char *path = index_path(f, a, id);
    return path && stat(path, &st) == 0 && index_is_current(log, &st);
}

struct there { /* what the directory holds */
    struct index_sync *sync;
    struct ids ids;
    struct arena scratch;
    size_t logs; /* without the notes beside them */
};

static void add_log(void *ctx, str id)
{
    struct there *t = ctx;
    struct files *f = t->sync->store->impl;
    struct stat st;
    add_id(&t->ids, id);
    t->logs++;
    if (!f->layout->notes_path)
        return;
    arena_reset(&t->scratch);
    const char *notes = f->layout->notes_path(f, &t->scratch, id);
    if (notes && lstat(notes, &st) == 0 && S_ISREG(st.st_mode))
        add_id(&t->ids, arena_printf(&t->scratch, "%.*s" INDEX_NOTES, STR_ARG(id)));
}

/* Compares the sorted names of the directory with the sorted rows, like a merge. */
static int compare_dir(struct index_sync *s, const struct ids *there, struct ids *differ)
{
    static const char ALL[] = "SELECT " INDEX_LOG_COLUMNS ", id FROM log ORDER BY id";
    sqlite3_stmt *st = index_db_sql(s->db, ALL);
    struct arena scratch;
    size_t i = 0;
    int r;
    arena_init(&scratch);
    while ((r = index_db_step(s->db, st)) > 0) {
        struct index_log log;
        str id = index_db_column(st, 9);
        index_log_columns(st, 0, &log);
        while (i < there->n && str_cmp(there->items[i], id) < 0)
            add_id(differ, there->items[i++]);
        bool is_there = i < there->n && str_eq(there->items[i], id);
        if (!is_there || !is_current_file(s, &scratch, id, &log))
            add_id(differ, id);
        i += is_there;
    }
    while (r == 0 && i < there->n)
        add_id(differ, there->items[i++]);
    arena_done(&scratch);
    return r;
}

int index_sweep(struct index_sync *s, struct arena *a, str **ret, size_t *ret_n, size_t *ret_total)
{
    struct arena names;
    arena_init(&names);
    struct there there = {.sync = s, .ids = {.arena = &names}};
    struct ids differ = {.arena = a};
    struct err e = {0};
    arena_init(&there.scratch);
    int r = s->store->ops->each_id(s->store, add_log, &there, &e);
    if (there.ids.n > 1)
        qsort(there.ids.items, there.ids.n, sizeof(str), by_bytes);
    if (r == 0)
        r = compare_dir(s, &there.ids, &differ);
    *ret_total = there.logs;
    *ret_n = differ.n;
    *ret = arena_array(a, differ.n + 1, sizeof(str));
    if (differ.n)
        memcpy(*ret, differ.items, differ.n * sizeof(str));
    free(there.ids.items);
    free(differ.items);
    arena_done(&there.scratch);
    arena_done(&names);
    return r;
}
