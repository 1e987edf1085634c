#include "store/index/file_find.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach/file_place.h"
#include "attach/sniff.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "os/file.h"
#include "store/event/query.h"
#include "store/index/index_db.h"
#include "store/index/search_words.h"

enum {
    PIECE_BYTES = 4096,
    WORDS_BYTES = 8 * PIECE_BYTES, /* of a piece, as words of the index */
    FILE_HITS = 3,                 /* of one file */
    BUDGET_MS = 3000,
    GONE_MIN = 100, /* deleted files in the index before it is made again */
};

struct file_finder {
    struct store_op *op;
    struct query query;
    struct index_db db;
    struct arena scratch;
    uint64_t deadline_ms;
    struct store_file_hit *hits;
    size_t n, cap;
    size_t in_file; /* hits of the file that is being looked at */
    bool is_partial;
};

/* ---- pieces ---- */

/* The end of a piece: after its last line feed, else after its last space, else where a character
 * ends. */
static size_t piece_end(str text, bool is_last)
{
    if (is_last)
        return text.n;
    ptrdiff_t line = str_rfind_char(text, '\n'), word = str_rfind_char(text, ' ');
    if (line >= 0)
        return (size_t)line + 1;
    if (word > 0)
        return (size_t)word + 1;
    size_t whole = utf8_truncate(text, text.n - 1).n;
    return whole > 0 ? whole : text.n;
}

typedef bool (*piece_fn)(struct file_finder *f, str text, uint64_t offset, void *ctx);

/* Calls fn for each piece from `at` on, until it returns false; returns the end of the last piece,
 * or -EIO. */
static int64_t each_piece(struct file_finder *f, int fd, uint64_t at, piece_fn fn, void *ctx)
{
    char bytes[PIECE_BYTES];
    ssize_t n;
    while ((n = pread(fd, bytes, sizeof bytes, (off_t)at)) > 0) {
        size_t end = piece_end(str_make(bytes, (size_t)n), (size_t)n < sizeof bytes);
        arena_reset(&f->scratch);
        bool goes_on = fn(f, str_make(bytes, end), at, ctx);
        at += end;
        if (!goes_on)
            break;
    }
    return n < 0 ? -EIO : (int64_t)at;
}

static bool finder_is_late(struct file_finder *f)
{
    f->is_partial |= clock_mono_ms() >= f->deadline_ms;
    return f->is_partial;
}

static struct event_text piece_text(struct file_finder *f, str bytes)
{
    struct buf b;
    buf_init(&b, 4 * PIECE_BYTES);
    (void)utf8_sanitise(&b, bytes);
    return (struct event_text){.role = STR("file"), .text = buf_keep(&b, &f->scratch)};
}

/* ---- hits ---- */

static bool try_piece(struct file_finder *f, str bytes, uint64_t offset, void *ctx)
{
    struct arena *a = &f->op->arena;
    struct event_text text = piece_text(f, bytes);
    if (query_matches(&f->query, &f->scratch, &text, NULL)) {
        str snippet = query_snippet(&f->scratch, &f->query, text.text);
        ARENA_GROW(a, f->hits, f->n, f->cap);
        f->hits[f->n++] = (struct store_file_hit){ctx, offset, arena_str(a, snippet)};
        f->in_file++;
    }
    return f->in_file < FILE_HITS && f->n < f->op->in.file_query.limit && !finder_is_late(f);
}

static int open_candidate(struct file_finder *f, size_t i)
{
    const struct store_file_query *q = &f->op->in.file_query;
    struct store *s = f->op->store;
    struct arena *a = &f->scratch;
    str sha256;
    if (!library_id_sha(q->files[i].id, &sha256) || !sniff_is_text(q->files[i].mime))
        return -1;
    if (i < q->nconv)
        return s->ops->blob_fd ? s->ops->blob_fd(s, a, q->conv_id, sha256) : -1;
    const struct file_place files = store_file_place(s);
    if (!files.dir || file_place_bring(a, &files, sha256, NULL) < 0)
        return -1;
    return open(library_path(a, files.dir, sha256), O_RDONLY | O_CLOEXEC);
}

/* ---- the index ---- */

struct file_row {
    int64_t no, done, size;
};

static int row_read(struct index_db *db, str sha256, struct file_row *ret)
{
    static const char READ[] = "SELECT no, text_done, done FROM log WHERE id = ?";
    sqlite3_stmt *st = index_db_sql(db, READ);
    index_db_bind(st, 1, sha256);
    int r = index_db_step(db, st);
    *ret = (struct file_row){0};
    if (r <= 0)
        return r;
    *ret = (struct file_row){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
                             sqlite3_column_int64(st, 2)};
    sqlite3_reset(st);
    return 1;
}

static int64_t next_number(struct index_db *db, const char *sql)
{
    sqlite3_stmt *st = index_db_sql(db, sql);
    int r = index_db_step(db, st);
    int64_t n = r > 0 ? sqlite3_column_int64(st, 0) : 0;
    if (r > 0)
        sqlite3_reset(st);
    return n + 1;
}

struct indexing {
    struct file_row *row;
    int64_t message;
    int r;
};

static bool index_piece(struct file_finder *f, str bytes, uint64_t offset, void *ctx)
{
    static const char MESSAGE[] = "INSERT INTO message VALUES(?, ?, ?, ?)";
    static const char WORDS[] = "INSERT INTO said(rowid, words) VALUES(?, ?)";
    struct indexing *x = ctx;
    struct event_text text = piece_text(f, bytes);
    struct buf words;
    buf_init(&words, WORDS_BYTES);
    search_words(&words, &text, x->row->no);
    sqlite3_stmt *st = index_db_sql(&f->db, MESSAGE);
    sqlite3_bind_int64(st, 1, x->message);
    sqlite3_bind_int64(st, 2, x->row->no);
    sqlite3_bind_int64(st, 3, (int64_t)offset);
    sqlite3_bind_int64(st, 4, (int64_t)bytes.n);
    x->r = index_db_run(&f->db, st);
    if (x->r == 0) {
        st = index_db_sql(&f->db, WORDS);
        sqlite3_bind_int64(st, 1, x->message++);
        index_db_bind(st, 2, buf_str(&words));
        x->r = index_db_run(&f->db, st);
    }
    buf_done(&words);
    return x->r == 0 && !finder_is_late(f);
}

static int row_write(struct index_db *db, str sha256, const struct file_row *row)
{
    static const char WRITE[] = "INSERT OR REPLACE INTO log(id, no, text_done, done)"
                                " VALUES(?, ?, ?, ?)";
    sqlite3_stmt *st = index_db_sql(db, WRITE);
    index_db_bind(st, 1, sha256);
    sqlite3_bind_int64(st, 2, row->no);
    sqlite3_bind_int64(st, 3, row->done);
    sqlite3_bind_int64(st, 4, row->size);
    return index_db_run(db, st);
}

/* Adds what the index does not have of a file. */
static int index_file(struct file_finder *f, size_t i)
{
    static const char LAST_LOG[] = "SELECT coalesce(max(no), 0) FROM log";
    static const char LAST_MESSAGE[] = "SELECT coalesce(max(no), 0) FROM message";
    str sha256 = str_skip(f->op->in.file_query.files[i].id, 5);
    struct file_row row;
    int r = row_read(&f->db, sha256, &row);
    if (r < 0 || (r > 0 && row.done == row.size))
        return r < 0 ? r : 0;
    int fd = open_candidate(f, i);
    if (fd < 0)
        return 0;
    if (row.no == 0)
        row.no = next_number(&f->db, LAST_LOG);
    struct indexing x = {&row, next_number(&f->db, LAST_MESSAGE), 0};
    int64_t end = each_piece(f, fd, (uint64_t)row.done, index_piece, &x);
    row.size = lseek(fd, 0, SEEK_END);
    file_close(fd);
    if (x.r < 0 || end < 0)
        return x.r < 0 ? x.r : 0;
    row.done = end;
    return row_write(&f->db, sha256, &row);
}

/* The words of deleted files cannot be taken out of the index (search_feed.h): it is made again
 * when they are most of it. True: it was discarded. */
static bool is_mostly_gone(struct file_finder *f)
{
    static const char ALL[] = "SELECT id FROM log";
    sqlite3_stmt *st = index_db_sql(&f->db, ALL);
    size_t n = 0, gone = 0;
    int r;
    while ((r = index_db_step(&f->db, st)) > 0) {
        str sha256 = index_db_column(st, 0);
        arena_reset(&f->scratch);
        n++;
        gone += !file_exists(library_path(&f->scratch, f->op->store->conf.files_dir, sha256));
    }
    return r == 0 && gone >= GONE_MIN && gone > n / 2;
}

static bool is_all_indexed(struct file_finder *f)
{
    const struct store_file_query *q = &f->op->in.file_query;
    struct file_row row;
    bool is_all = true;
    for (size_t i = 0; i < q->n && is_all; i++)
        is_all = !sniff_is_text(q->files[i].mime) ||
                 (row_read(&f->db, str_skip(q->files[i].id, 5), &row) > 0 && row.done == row.size);
    return is_all;
}

static int index_missing(struct file_finder *f)
{
    const struct store_file_query *q = &f->op->in.file_query;
    if (is_all_indexed(f))
        return 0;
    int r = index_db_begin(&f->db, true);
    for (size_t i = 0; r == 0 && i < q->n && !finder_is_late(f); i++)
        if (sniff_is_text(q->files[i].mime))
            r = index_file(f, i);
    if (r == 0)
        r = index_db_commit(&f->db);
    index_db_rollback(&f->db);
    if (r == 0 && is_mostly_gone(f))
        index_db_discard(&f->db); /* the next search makes it again; this one reads the files */
    return f->db.sql ? r : -EIO;
}

/* A row of the index is only a hint: the piece itself is checked. */
static void try_row(struct file_finder *f, size_t i, int fd, sqlite3_stmt *st)
{
    char bytes[PIECE_BYTES];
    int64_t at = sqlite3_column_int64(st, 0), len = sqlite3_column_int64(st, 1);
    if (at < 0 || len <= 0 || len > PIECE_BYTES ||
        pread(fd, bytes, (size_t)len, (off_t)at) != (ssize_t)len)
        return;
    arena_reset(&f->scratch);
    (void)try_piece(f, str_make(bytes, (size_t)len), (uint64_t)at,
                    (void *)&f->op->in.file_query.files[i]);
}

static int find_in_index(struct file_finder *f, size_t i)
{
    static const char SAID[] = "SELECT m.pos, m.len FROM said CROSS JOIN message m"
                               " ON m.no = said.rowid WHERE said MATCH ? ORDER BY said.rowid";
    const struct store_file_query *q = &f->op->in.file_query;
    struct file_row row;
    int r = row_read(&f->db, str_skip(q->files[i].id, 5), &row);
    int fd = r > 0 ? open_candidate(f, i) : -1;
    if (fd < 0)
        return r < 0 ? r : 0;
    sqlite3_stmt *st = index_db_sql(&f->db, SAID);
    index_db_bind(st, 1, search_expression(&f->op->arena, &f->query, row.no, 0));
    while ((r = index_db_step(&f->db, st)) > 0 && f->in_file < FILE_HITS && f->n < q->limit)
        try_row(f, i, fd, st);
    if (r > 0)
        sqlite3_reset(st);
    file_close(fd);
    return r < 0 ? r : 0;
}

static int find_with_index(struct file_finder *f)
{
    const struct store_conf *conf = &f->op->store->conf;
    const struct store_file_query *q = &f->op->in.file_query;
    if (!conf->cache_dir || !conf->files_dir)
        return -ENOENT;
    const char *path = arena_printf(&f->op->arena, "%s/" FILE_FIND_NAME, conf->cache_dir).p;
    index_db_init(&f->db, path, conf->files_dir, f->op->store->env);
    int r = index_db_ready(&f->db);
    if (r >= 0)
        r = index_missing(f);
    for (size_t i = 0; r == 0 && i < q->n && f->n < q->limit; i++) {
        f->in_file = 0;
        r = find_in_index(f, i);
    }
    index_db_close(&f->db);
    return r;
}

/* ---- without the index ---- */

static void find_by_reading(struct file_finder *f)
{
    const struct store_file_query *q = &f->op->in.file_query;
    f->n = 0;
    for (size_t i = 0; i < q->n && f->n < q->limit && !finder_is_late(f); i++) {
        int fd = open_candidate(f, i);
        f->in_file = 0;
        if (fd >= 0)
            (void)each_piece(f, fd, 0, try_piece, (void *)&q->files[i]);
        file_close(fd);
    }
}

void file_find(struct store_op *op)
{
    struct file_finder f = {.op = op, .deadline_ms = clock_mono_ms() + BUDGET_MS};
    assert(op->in.file_query.limit > 0);
    if (query_parse(&op->arena, op->in.file_query.text, &f.query, &op->err) < 0)
        return;
    if (f.query.n == 0) { /* a filter of conversations alone */
        err_set(&op->err, -EINVAL, "the search needs at least one word");
        return;
    }
    arena_init(&f.scratch);
    if (find_with_index(&f) < 0)
        find_by_reading(&f);
    arena_done(&f.scratch);
    op->out.file_hits = (struct store_file_hits){f.hits, f.n, f.is_partial};
}
