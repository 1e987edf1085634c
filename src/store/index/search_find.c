#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "store/event/event.h"
#include "store/event/lines.h"
#include "store/event/query.h"
#include "store/index/index_sync.h"
#include "store/index/search_feed.h"
#include "store/index/search_words.h"

enum { BUDGET_MS = 3000, HITS_MAX = 20000, COUNT_MAX = 20000, BROAD_PAGES = 128 };

struct log_info {       /* shared by the hits of one log; in the arena of the op */
    str row, id, title; /* row: of the log in the index; id: of its conversation */
    const char *path;
    int64_t notes_pos; /* the place of its hits when it is a file of notes: the log's end */
    bool is_visible;
};

struct search_found {
    struct store_hit hit;
    const struct log_info *log;
    int64_t pos, len; /* of the line in its file */
    double score;
};

struct finder {
    struct index_sync *sync;
    struct store_op *op;
    struct query query;
    struct map logs;      /* number, as 8 bytes -> struct log_info */
    struct log_info gone; /* represents deleted logs */
    struct map notes;     /* conversation and key of a note -> its place in hits, plus 1 */
    struct rank rank;
    struct search_found *hits; /* heap */
    size_t n, cap;
    struct arena scratch;
    uint64_t deadline_ms;
    bool is_partial, is_counted;
    bool is_broad[QUERY_TERMS_MAX]; /* of each term of the query */
};

static bool finder_is_over(struct finder *f)
{
    if (f->n >= HITS_MAX || clock_mono_ms() >= f->deadline_ms)
        f->is_partial = true;
    return f->is_partial;
}

/* ---- logs ---- */

/* Notes in a file of their own have no position in the log: they get the position of its end. */
static void set_notes_pos(struct finder *f, struct log_info *info)
{
    struct index_log log;
    if (index_is_notes(info->row) && index_log_read(f->sync->db, info->id, &log) == 0)
        info->notes_pos = log.done;
}

static struct log_info *info_of(struct finder *f, str row)
{
    struct arena *a = &f->op->arena;
    struct files *files = f->op->store->impl;
    const struct viewer *viewer = f->op->in.search.viewer;
    struct log_info *info = ARENA_NEW(a, struct log_info);
    struct derive d;
    derive_init(&d, f->op->store->env);
    info->row = arena_str(a, row);
    info->id = arena_str(a, index_conv_id(row));
    info->path = index_path(files, a, info->row);
    if (info->path && index_conv_read(f->sync->db, info->id, &d) == 0) {
        info->title = arena_str(a, d.conv.title);
        set_notes_pos(f, info);
        /* A child run has the access of its parent, which is not in this log. */
        info->is_visible =
            !viewer || (!d.conv.parent && access_allows(viewer, &d.conv.acl, CONV_VIEW));
    }
    derive_done(&d);
    return info;
}

/* NULL: the log of this message is deleted. */
static struct log_info *info_by_no(struct finder *f, int64_t no)
{
    str key = str_make((const char *)&no, sizeof(no));
    struct log_info *info = map_get(&f->logs, key);
    if (!info) {
        str row;
        bool is_there = index_id_of(f->sync->db, &f->op->arena, no, &row) == 0 && row.n > 0;
        info = is_there ? info_of(f, row) : &f->gone;
        map_put(&f->logs, key, info);
    }
    return info->is_visible ? info : NULL;
}

/* ---- hits ---- */

static bool read_event(struct finder *f, const struct log_info *log, str line,
                       struct json **ret_event, struct event_text *ret_text)
{
    const struct files *files = f->op->store->impl;
    struct event_head head;
    arena_reset(&f->scratch);
    str event = index_event(files, &f->scratch, log->row, line);
    return event_scan(event, &head) && json_parse(&f->scratch, event, 0, ret_event, NULL) == 0 &&
           text_of_event(&f->scratch, head.type, *ret_event, ret_text);
}

static str snippet(struct finder *f, const struct event_text *text)
{
    return arena_str(&f->op->arena, query_snippet(&f->scratch, &f->query, text->text));
}

/* When hits are ranked, most of them are dropped, so their snippets are made at the end. */
static void add_hit(struct finder *f, const struct log_info *log, const struct event_text *text,
                    const struct json *event, int64_t pos, size_t len)
{
    struct arena *a = &f->op->arena;
    GROW(f->hits, f->n, f->cap);
    struct search_found *found = &f->hits[f->n++];
    *found = (struct search_found){.log = log, .len = (int64_t)len};
    found->hit = (struct store_hit){
        .conv_id = log->id,
        .title = log->title,
        .ts = event_iso(a, event),
        .role = text->role,
        .pos = (store_pos)(log->notes_pos ? log->notes_pos : pos),
    };
    found->pos = pos;
    if (f->op->in.search.by_relevance)
        found->score = rank_score(&f->rank, &f->query, &f->scratch, text);
    else
        found->hit.snippet = snippet(f, text);
}

/* A note that nb wrote is in the log and in the file of notes: only the one in the log is returned.
 * True: this note was found before. */
static bool is_second_note(struct finder *f, const struct log_info *log,
                           const struct event_text *text, const struct json *event, int64_t pos)
{
    const struct files *files = f->op->store->impl;
    int64_t ms = 0;
    if (!files->layout->notes_path || !str_eq(text->role, STR("note")))
        return false;
    (void)event_time(event, &ms);
    str key = arena_printf(&f->scratch, "%.*s %lld %.*s\n%.*s", STR_ARG(log->id), (long long)ms,
                           STR_ARG(text->user_id), STR_ARG(text->text));
    size_t at = (size_t)(uintptr_t)map_get(&f->notes, key);
    if (!at) {
        map_put(&f->notes, key, (void *)(uintptr_t)(f->n + 1)); /* the hit that is added now */
        return false;
    }
    if (!index_is_notes(log->row))
        f->hits[at - 1].hit.pos = (store_pos)pos;
    return true;
}

static void try_line(struct finder *f, const struct log_info *log, str line, int64_t pos)
{
    struct event_text text;
    struct json *v;
    if (read_event(f, log, line, &v, &text) && query_matches(&f->query, &f->scratch, &text, v) &&
        !is_second_note(f, log, &text, v, pos))
        add_hit(f, log, &text, v, pos, line.n);
}

/* ---- from the index ---- */

/* The line of a log that ends at pos; the caller frees it. NULL when it is not there. */
static char *read_log_line(const struct log_info *log, int64_t pos, int64_t len)
{
    if (len <= 0 || len > LINES_MAX_BYTES || pos <= len)
        return NULL;
    int fd = open(log->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    char *line = xcalloc(1, (size_t)len + 1);
    ssize_t n = pread(fd, line, (size_t)len, (off_t)(pos - len - 1));
    close(fd);
    if (n != len) {
        free(line);
        line = NULL;
    }
    return line;
}

/* A row of the index is only a hint: the line itself is checked. */
static void try_message(struct finder *f, int64_t log_no, int64_t pos, int64_t len)
{
    const struct log_info *log = info_by_no(f, log_no);
    char *line = log ? read_log_line(log, pos, len) : NULL;
    if (line)
        try_line(f, log, str_make(line, (size_t)len), pos);
    free(line);
}

static void cut_snippet(struct finder *f, struct search_found *found)
{
    struct event_text text;
    struct json *v;
    char *line = read_log_line(found->log, found->pos, found->len);
    if (line && read_event(f, found->log, str_make(line, (size_t)found->len), &v, &text))
        found->hit.snippet = snippet(f, &text);
    free(line);
}

static sqlite3_stmt *finder_ask(struct finder *f, str expression)
{
    static const char SAID[] = "SELECT m.log, m.pos, m.len FROM said CROSS JOIN message m"
                               " ON m.no = said.rowid WHERE said MATCH ?3"
                               " AND said.rowid >= ?1 AND said.rowid < ?2 ORDER BY said.rowid DESC";
    static const char ANY[] = "SELECT log, pos, len FROM message WHERE no >= ?1 AND no < ?2"
                              " ORDER BY no DESC";
    sqlite3_stmt *st = index_db_sql(f->sync->db, expression.n ? SAID : ANY);
    bool is_open = f->query.before_ms > SEARCH_MS_MAX || f->query.before_ms <= 0;
    sqlite3_bind_int64(st, 1, search_number(f->query.after_ms));
    sqlite3_bind_int64(st, 2, is_open ? INT64_MAX : search_number(f->query.before_ms));
    if (expression.n)
        index_db_bind(st, 3, expression);
    return st;
}

static int finder_count(struct finder *f, const char *sql, str expression, int64_t *ret)
{
    struct index_db *db = f->sync->db;
    sqlite3_stmt *st = index_db_sql(db, sql);
    if (expression.n) {
        index_db_bind(st, 1, expression);
        sqlite3_bind_int(st, 2, COUNT_MAX);
    }
    int r = index_db_step(db, st);
    if (r > 0) {
        *ret = sqlite3_column_int64(st, 0);
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

/* ---- beginnings of very many words ----
 *
 * For a prefix FTS5 merges the lists of all words with that beginning in memory, before the first
 * hit: with a million conversations that takes seconds, and hundreds of megabytes. Such a beginning
 * is in so many messages that the newest ones have enough hits: it is left out of the question to
 * the index, and looked for in their lines. */

struct sought { /* the words of one term */
    str word;
    size_t n;
    bool is_prefix;
};

static void note_word(void *ctx, str word, bool is_prefix)
{
    struct sought *s = ctx;
    *s = (struct sought){word, s->n + 1, is_prefix};
}

struct page_span {
    int64_t most;  /* a word before the range may have most of these */
    int64_t least; /* those behind the first page that begins with a word of the range */
};

/* Pages of the index from one word until before another, in all of its segments. The table said_idx
 * has the first word of each page that begins with one, behind the mark '0' of the main index;
 * said_data has the pages, whose numbers begin with that of the segment. */
static int count_pages(struct index_db *db, str from, str to, struct page_span *ret)
{
    static const char PAGES[] =
        "WITH RECURSIVE segment(id) AS (SELECT min(segid) FROM said_idx UNION ALL"
        " SELECT (SELECT min(segid) FROM said_idx WHERE segid > segment.id) FROM segment"
        " WHERE segment.id IS NOT NULL),"
        " span(before, first, behind) AS (SELECT"
        " (SELECT pgno >> 1 FROM said_idx WHERE segid = segment.id AND term <= ?1"
        " ORDER BY term DESC LIMIT 1),"
        " (SELECT pgno >> 1 FROM said_idx WHERE segid = segment.id AND term >= ?1 AND term < ?2"
        " ORDER BY term LIMIT 1),"
        " coalesce((SELECT pgno >> 1 FROM said_idx WHERE segid = segment.id AND term >= ?2"
        " ORDER BY term LIMIT 1), (SELECT max(id) & 2147483647 FROM said_data"
        " WHERE id BETWEEN segment.id << 37 AND (segment.id << 37) + 2147483647))"
        " FROM segment WHERE id IS NOT NULL)"
        " SELECT total(behind - coalesce(before, 1)), total(behind - first) FROM span";
    sqlite3_stmt *st = index_db_sql(db, PAGES);
    sqlite3_bind_blob(st, 1, from.p, (int)from.n, SQLITE_TRANSIENT);
    sqlite3_bind_blob(st, 2, to.p, (int)to.n, SQLITE_TRANSIENT);
    int r = index_db_step(db, st);
    if (r > 0) {
        *ret = (struct page_span){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)};
        sqlite3_reset(st);
    }
    return r < 0 ? r : 0;
}

/* Messages with these words, counted only up to COUNT_MAX. */
static int count_messages(struct finder *f, str expression, int64_t *ret)
{
    static const char WITH[] =
        "SELECT count(*) FROM (SELECT 1 FROM said WHERE said MATCH ?1 LIMIT ?2)";
    return finder_count(f, WITH, expression, ret);
}

/* A word that is very common itself begins on the page of the one before it. */
static int is_word_broad(struct finder *f, str word, bool *ret)
{
    struct arena *a = &f->op->arena;
    struct page_span pages = {0};
    int64_t with = 0;
    str from = arena_concat(a, STR("0"), word);
    char *end = arena_cstr(a, from);
    end[from.n - 1]++; /* no word ends with the byte 0xff */
    int r = count_pages(f->sync->db, from, str_make(end, from.n), &pages);
    if (r == 0 && pages.most > BROAD_PAGES && pages.least <= BROAD_PAGES)
        r = count_messages(f, arena_printf(a, "\"%.*s\"", STR_ARG(word)), &with);
    *ret = pages.least > BROAD_PAGES || with == COUNT_MAX;
    return r;
}

static int find_broad(struct finder *f)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < f->query.n; i++) {
        struct query one = {.terms = &f->query.terms[i], .n = 1};
        struct sought s = {0};
        search_terms(&f->op->arena, &one, note_word, &s);
        if (s.n == 1 && s.is_prefix)
            r = is_word_broad(f, s.word, &f->is_broad[i]);
    }
    return r;
}

/* The query for the index. */
static struct query without_broad(struct finder *f)
{
    struct query q = f->query;
    q.terms = arena_array(&f->op->arena, q.n + 1, sizeof(*q.terms));
    q.n = 0;
    for (size_t i = 0; i < f->query.n; i++)
        if (!f->is_broad[i])
            q.terms[q.n++] = f->query.terms[i];
    return q;
}

/* The newest hits, at most `want`; is_counted when these are all. */
static int find_newest(struct finder *f, str expression, size_t want)
{
    struct index_db *db = f->sync->db;
    sqlite3_stmt *st = finder_ask(f, expression);
    int r;
    while ((r = index_db_step(db, st)) > 0) {
        if (f->n == want || finder_is_over(f)) {
            sqlite3_reset(st);
            f->is_counted = false;
            return 0;
        }
        int64_t log = sqlite3_column_int64(st, 0), pos = sqlite3_column_int64(st, 1);
        try_message(f, log, pos, sqlite3_column_int64(st, 2));
        if (!db->sql)
            return -EIO;
    }
    return r;
}

/* ---- from lines that are not in the index yet ---- */

struct search_tail {
    struct log_info *log;
    int64_t from, to;
};

/* only: the numbers of one log and of its notes; 0 = all. Most recent first: the time of the search
 * may end before all of them are known. */
static int behind(struct finder *f, const int64_t only[2], struct search_tail **ret, size_t *ret_n)
{
    static const char BEHIND[] = "SELECT id, text_done, done, no FROM log"
                                 " WHERE text_done <> done ORDER BY mtime DESC";
    struct index_db *db = f->sync->db;
    sqlite3_stmt *st = index_db_sql(db, BEHIND);
    size_t cap = 0;
    int r;
    while ((r = index_db_step(db, st)) > 0) {
        int64_t no = sqlite3_column_int64(st, 3);
        if (finder_is_over(f)) {
            sqlite3_reset(st);
            return 0;
        }
        if (only[0] && no != only[0] && no != only[1])
            continue;
        struct log_info *info = info_by_no(f, no);
        if (!db->sql)
            return -EIO;
        if (!info)
            continue;
        GROW(*ret, *ret_n, cap);
        (*ret)[(*ret_n)++] = (struct search_tail){
            .log = info, .from = sqlite3_column_int64(st, 1), .to = sqlite3_column_int64(st, 2)};
    }
    return r;
}

static void find_in_tail(struct finder *f, const struct search_tail *t)
{
    struct lines lines;
    struct line line;
    struct arena a;
    off_t size;
    str text;
    int fd = file_store_open_log(t->log->path, (uint64_t)t->to, &size, NULL);
    if (fd < 0)
        return;
    arena_init(&a);
    lines_init(&lines, fd, (off_t)t->from, size);
    while (!finder_is_over(f) && lines_next(&lines, &line) > 0) {
        if (line.start > 0 || index_is_notes(t->log->row))
            try_line(f, t->log, line.text, line.end);
    }
    if (lines.at > 0 && lines.at < t->to && lines_unended(&a, fd, lines.at, t->to - 1, &text) > 0)
        try_line(f, t->log, text, t->to);
    lines_done(&lines);
    arena_done(&a);
    close(fd);
}

/* ---- the whole search ---- */

static int newest_first(const void *a, const void *b)
{
    const struct store_hit *x = &((const struct search_found *)a)->hit,
                           *y = &((const struct search_found *)b)->hit;
    int by_time = str_cmp(y->ts, x->ts);
    if (by_time)
        return by_time;
    int by_pos = (x->pos < y->pos) - (x->pos > y->pos);
    return by_pos ? by_pos : str_cmp(x->conv_id, y->conv_id);
}

static int best_first(const void *a, const void *b)
{
    const struct search_found *x = a, *y = b;
    int by_score = (x->score < y->score) - (x->score > y->score);
    return by_score ? by_score : newest_first(a, b);
}

static void finder_finish(struct finder *f)
{
    struct store_op *op = f->op;
    if (f->n > 1)
        qsort(f->hits, f->n, sizeof(*f->hits),
              op->in.search.by_relevance ? best_first : newest_first);
    size_t n = f->n < op->in.search.limit ? f->n : op->in.search.limit;
    struct store_hit *hits = arena_array(&op->arena, n + 1, sizeof(*hits));
    for (size_t i = 0; i < n; i++) {
        if (op->in.search.by_relevance)
            cut_snippet(f, &f->hits[i]);
        hits[i] = f->hits[i].hit;
    }
    op->out.hits = (struct store_hits){.hits = hits,
                                       .n = n,
                                       .total = f->is_counted ? (int64_t)f->n : -1,
                                       .is_partial = f->is_partial};
}

/* The weight of each word by its frequency. */
static int weigh(struct finder *f)
{
    static const char ALL[] = "SELECT value FROM fact WHERE name = 'messages'";
    int64_t all = 0;
    int r = finder_count(f, ALL, STR_NONE, &all);
    for (size_t i = 0; r == 0 && i < f->query.n; i++) {
        struct query one = {.terms = &f->query.terms[i], .n = 1};
        int64_t with = COUNT_MAX;
        if (!f->is_broad[i])
            r = count_messages(f, search_expression(&f->op->arena, &one, 0, 0), &with);
        f->rank.weight[i] = rank_weight(with, all);
    }
    return r;
}

/* The numbers of the log that the query names and of its notes; 0 = all logs, or no notes. */
static int find_logs(struct finder *f, str conv_id, int64_t ret[2])
{
    struct index_log log = {0}, notes = {0};
    struct index_db *db = f->sync->db;
    if (!conv_id.n)
        return 0;
    str row = arena_printf(&f->op->arena, "%.*s" INDEX_NOTES, STR_ARG(conv_id));
    int r = index_log_read(db, conv_id, &log);
    if (r == 0)
        r = index_log_read(db, row, &notes);
    ret[0] = log.no;
    ret[1] = notes.no;
    return r < 0 || log.no ? r : -ENOENT; /* the scan that follows reports the reason */
}

static int finder_run(struct finder *f)
{
    const struct store_search_query *q = &f->op->in.search;
    struct index_db *db = f->sync->db;
    int64_t logs[2] = {0};
    struct search_tail *tails = NULL;
    size_t ntails = 0;
    int r = index_db_begin(db, false);
    if (r == 0)
        r = find_logs(f, q->conv_id, logs);
    if (r == 0)
        r = find_broad(f);
    struct query asked = without_broad(f);
    str expression = search_expression(&f->op->arena, &asked, logs[0], logs[1]);
    if (r == 0 && q->by_relevance)
        r = weigh(f);
    if (r == 0)
        r = find_newest(f, expression, q->by_relevance ? RANK_HITS_MAX : q->limit);
    if (r == 0)
        r = behind(f, logs, &tails, &ntails);
    if (r == 0)
        r = index_db_commit(db);
    index_db_rollback(db);
    for (size_t i = 0; r == 0 && i < ntails && !finder_is_over(f); i++)
        find_in_tail(f, &tails[i]);
    free(tails);
    return r;
}

int search_find(struct index_sync *s, struct store_op *op)
{
    struct finder f = {.sync = s, .op = op, .is_counted = true};
    if (query_parse(&op->arena, op->in.search.text, &f.query, &op->err) < 0)
        return 0;
    f.deadline_ms = clock_mono_ms() + BUDGET_MS;
    map_init(&f.logs);
    map_init(&f.notes);
    arena_init(&f.scratch);
    int r = finder_run(&f);
    if (r == 0)
        finder_finish(&f);
    free(f.hits);
    map_done(&f.logs);
    map_done(&f.notes);
    arena_done(&f.scratch);
    return r;
}
