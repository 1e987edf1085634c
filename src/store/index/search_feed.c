#include "store/index/search_feed.h"

#include <errno.h>
#include <unistd.h>

#include "store/event/event.h"
#include "store/event/lines.h"
#include "store/index/search_words.h"

enum {
    SLICE_LOGS = 1024,
    SLICE_WORDS = 4 * 1024 * 1024, /* bytes that FTS5 collects before it writes a segment */
    DEAD_MIN = 50000,
    WORDS_MAX = 4 * LINES_MAX_BYTES,
};

struct feed_log {
    str id;
    struct index_log log;
    int64_t reached;  /* searchable up to here after this slice */
    int64_t messages; /* in this slice */
    bool is_stale;    /* another process was faster, or the file has changed */
};

struct indexed_message {
    int64_t ms, pos, len;
    struct feed_log *log;
    size_t words, nwords; /* in slice.words */
};

struct search_slice {
    struct index_sync *sync;
    struct arena arena, scratch;
    struct feed_log logs[SLICE_LOGS];
    size_t nlogs;
    struct indexed_message *messages; /* heap, `max` and those of one line more */
    size_t n, cap, max;
    struct buf words;
};

int64_t search_number(int64_t ms)
{
    ms = ms < 0 ? 0 : ms > SEARCH_MS_MAX ? SEARCH_MS_MAX : ms;
    return ms << SEARCH_NO_SHIFT;
}

/* ---- gathering ---- */

static int pick_logs(struct search_slice *s)
{
    static const char BEHIND[] = "SELECT " INDEX_LOG_COLUMNS ", id FROM log"
                                 " WHERE text_done <> done ORDER BY mtime DESC LIMIT ?";
    struct index_db *db = s->sync->db;
    sqlite3_stmt *st = index_db_sql(db, BEHIND);
    int r;
    sqlite3_bind_int(st, 1, SLICE_LOGS);
    while ((r = index_db_step(db, st)) > 0) {
        struct feed_log *l = &s->logs[s->nlogs++];
        *l = (struct feed_log){.id = arena_str(&s->arena, index_db_column(st, 9))};
        index_log_columns(st, 0, &l->log);
        l->reached = l->log.text_done;
    }
    return r;
}

static bool is_full(const struct search_slice *s)
{
    return s->n >= s->max || s->words.n >= SLICE_WORDS;
}

/* Looked at for each message: this thread has a low priority, and a slice may take it minutes when
 * the processors are busy. The store cannot be closed meanwhile. */
static bool is_cancelled(const struct search_slice *s)
{
    return atomic_load(s->sync->stop);
}

static void slice_add_message(struct search_slice *s, struct feed_log *l, str line, int64_t pos)
{
    const struct files *f = s->sync->store->impl;
    struct event_head head;
    struct event_text text;
    struct json *v;
    arena_reset(&s->scratch);
    str event = index_event(f, &s->scratch, l->id, line);
    if (!event_scan(event, &head) || !text_in_type(head.type) ||
        json_parse(&s->scratch, event, 0, &v, NULL) < 0 ||
        !text_of_event(&s->scratch, head.type, v, &text))
        return;
    struct indexed_message m = {.log = l, .pos = pos, .len = (int64_t)line.n, .words = s->words.n};
    (void)event_time(v, &m.ms);
    search_words(&s->words, &text, l->log.no);
    m.nwords = s->words.n - m.words;
    GROW(s->messages, s->n, s->cap);
    s->messages[s->n++] = m;
    l->messages++;
}

/* A last line without a line feed is part of the derived values, so it is searchable as well. */
static void gather_unended(struct search_slice *s, struct feed_log *l, int fd)
{
    str text;
    if (l->reached >= l->log.done)
        return;
    l->is_stale =
        lines_unended(&s->arena, fd, (off_t)l->reached, (off_t)l->log.done - 1, &text) <= 0;
    if (l->is_stale)
        return;
    if (l->reached > 0 || index_is_notes(l->id))
        slice_add_message(s, l, text, l->log.done);
    l->reached = l->log.done;
}

static void gather_lines(struct search_slice *s, struct feed_log *l, int fd, off_t size)
{
    struct lines lines;
    struct line line;
    int r = 1;
    off_t limit = (off_t)l->log.done < size ? (off_t)l->log.done : size;
    lines_init(&lines, fd, (off_t)l->reached, limit);
    while (!is_full(s) && !is_cancelled(s) && (r = lines_next(&lines, &line)) > 0) {
        if (line.start > 0 || index_is_notes(l->id)) /* line 1 is metadata */
            slice_add_message(s, l, line.text, line.end);
    }
    l->reached = lines.at;
    lines_done(&lines);
    l->is_stale = r < 0;
    if (r == 0)
        gather_unended(s, l, fd);
}

static void gather(struct search_slice *s, struct feed_log *l)
{
    struct files *f = s->sync->store->impl;
    off_t size;
    const char *path = index_path(f, &s->arena, l->id);
    int fd = path ? file_store_open_log(path, UINT64_MAX, &size, NULL) : -ENOENT;
    struct stat st;
    l->is_stale = true;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && (int64_t)st.st_ino == l->log.ino && size >= l->log.done - 1)
        gather_lines(s, l, fd, size);
    close(fd);
}

/* ---- writing ---- */

static int by_time(const void *a, const void *b)
{
    const struct indexed_message *x = a, *y = b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    if (x->log != y->log)
        return x->log < y->log ? -1 : 1;
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* The first free number of a millisecond. */
static int free_number(struct index_db *db, int64_t ms, int64_t *ret)
{
    static const char LAST[] = "SELECT max(no) FROM message WHERE no >= ?1 AND no < ?2";
    sqlite3_stmt *st = index_db_sql(db, LAST);
    int64_t first = search_number(ms);
    sqlite3_bind_int64(st, 1, first);
    sqlite3_bind_int64(st, 2, first + (1ll << SEARCH_NO_SHIFT));
    int r = index_db_step(db, st);
    if (r > 0) {
        bool is_free = sqlite3_column_type(st, 0) == SQLITE_NULL;
        *ret = is_free ? first : sqlite3_column_int64(st, 0) + 1;
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

static int slice_write_message(struct search_slice *s, const struct indexed_message *m, int64_t no)
{
    static const char MESSAGE[] = "INSERT OR REPLACE INTO message VALUES(?, ?, ?, ?)";
    static const char SAID[] = "INSERT INTO said(rowid, words) VALUES(?, ?)";
    struct index_db *db = s->sync->db;
    sqlite3_stmt *st = index_db_sql(db, MESSAGE);
    sqlite3_bind_int64(st, 1, no);
    sqlite3_bind_int64(st, 2, m->log->log.no);
    sqlite3_bind_int64(st, 3, m->pos);
    sqlite3_bind_int64(st, 4, m->len);
    int r = index_db_run(db, st);
    if (r < 0)
        return r;
    st = index_db_sql(db, SAID);
    sqlite3_bind_int64(st, 1, no);
    index_db_bind(st, 2, str_make(s->words.p + m->words, m->nwords));
    return index_db_run(db, st);
}

static int write_messages(struct search_slice *s)
{
    int64_t ms = -1, no = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < s->n; i++) {
        const struct indexed_message *m = &s->messages[i];
        if (is_cancelled(s))
            return -ECANCELED;
        if (m->log->is_stale)
            continue;
        int64_t clamped = search_number(m->ms) >> SEARCH_NO_SHIFT;
        if (clamped != ms)
            r = free_number(s->sync->db, clamped, &no);
        else
            no++;
        ms = clamped;
        if (r == 0)
            r = slice_write_message(s, m, no);
    }
    return r;
}

static int write_log(struct search_slice *s, struct feed_log *l)
{
    struct index_log now;
    struct index_db *db = s->sync->db;
    int r = index_log_read(db, l->id, &now);
    l->is_stale |= now.no != l->log.no || now.text_done != l->log.text_done;
    if (r < 0 || l->is_stale)
        return r;
    now.text_done = l->reached;
    now.messages += l->messages;
    return index_log_write(db, l->id, &now);
}

static int count_messages(struct search_slice *s)
{
    static const char COUNT[] = "INSERT INTO fact VALUES('messages', ?1)"
                                " ON CONFLICT(name) DO UPDATE SET value = value + ?1";
    sqlite3_stmt *st = index_db_sql(s->sync->db, COUNT);
    sqlite3_bind_int64(st, 1, (int64_t)s->n);
    return index_db_run(s->sync->db, st);
}

/* Returns the number of logs that advanced, or -errno. */
static int write_slice(struct search_slice *s)
{
    struct index_db *db = s->sync->db;
    int written = 0;
    int r = index_db_begin(db, true);
    for (size_t i = 0; r == 0 && i < s->nlogs; i++) {
        r = write_log(s, &s->logs[i]);
        written += r == 0 && !s->logs[i].is_stale;
    }
    if (r == 0)
        r = write_messages(s);
    if (r == 0)
        r = count_messages(s);
    if (r == 0)
        r = index_db_commit(db);
    index_db_rollback(db);
    return r < 0 ? r : written;
}

static int is_worn(struct index_db *db)
{
    static const char WORN[] =
        "SELECT dead.value > ?1 AND dead.value * 2 > all_.value FROM fact dead, fact all_"
        " WHERE dead.name = 'dead' AND all_.name = 'messages'";
    sqlite3_stmt *st = index_db_sql(db, WORN);
    sqlite3_bind_int(st, 1, DEAD_MIN);
    int r = index_db_step(db, st);
    if (r > 0) {
        r = sqlite3_column_int(st, 0);
        sqlite3_reset(st);
    }
    return r;
}

void search_slice_free(struct search_slice *s)
{
    if (!s)
        return;
    free(s->messages);
    buf_done(&s->words);
    arena_done(&s->arena);
    arena_done(&s->scratch);
    free(s);
}

int search_gather(struct index_sync *sync, size_t messages_max, struct search_slice **ret)
{
    *ret = NULL;
    int r = is_worn(sync->db);
    if (r > 0)
        index_db_discard(sync->db);
    if (r != 0)
        return r < 0 ? r : -ESTALE;
    struct search_slice *s = xcalloc(1, sizeof(*s));
    s->sync = sync;
    s->max = messages_max;
    arena_init(&s->arena);
    arena_init(&s->scratch);
    buf_init(&s->words, WORDS_MAX + SLICE_WORDS);
    r = pick_logs(s);
    size_t i = 0;
    for (; r == 0 && i < s->nlogs && !is_full(s) && !is_cancelled(s); i++)
        gather(s, &s->logs[i]);
    s->nlogs = i;
    if (s->n > 1)
        qsort(s->messages, s->n, sizeof(*s->messages), by_time);
    if (r == 0 && is_cancelled(s))
        r = -ECANCELED;
    if (r == 0 && s->nlogs > 0)
        *ret = s;
    else
        search_slice_free(s);
    return r;
}

int search_write(struct search_slice *s, struct index_sync *sync)
{
    s->sync = sync;
    int r = write_slice(s);
    search_slice_free(s);
    return r < 0 ? r : r > 0;
}
