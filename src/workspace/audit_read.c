#include "workspace/audit_read.h"

#include <stdarg.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/glob.h"
#include "os/file.h"

#define FILE_BYTES_MAX (AUDIT_FILE_MAX + 64u * AUDIT_LINE_MAX)

/* ---- queries ---- */

struct search {
    struct arena *arena; /* of the result */
    const struct audit_query *q;
    struct audit_page *page;
    size_t limit;
    bool is_over;
};

static bool search_wants(const struct search *s, const struct json *v)
{
    const struct audit_query *q = s->q;
    int64_t when = 0;
    if (q->actor.n > 0 && !str_eq(json_get_string(json_get(v, "actor"), "user"), q->actor))
        return false;
    if (q->action.n > 0 && !glob_match(q->action, json_get_string(v, "action")))
        return false;
    if (q->since_ms > 0 &&
        (clock_parse_iso(json_get_string(v, "time"), &when) < 0 || when < q->since_ms))
        return false;
    return true;
}

static void search_take_line(struct search *s, str line, struct arena *scratch)
{
    struct json *v;
    const struct audit_query *q = s->q;
    if (json_parse(scratch, line, 0, &v, NULL) < 0)
        return;
    int64_t n = json_get_int(v, "seq", 0);
    uint64_t seq = n > 0 ? (uint64_t)n : 0;
    if (seq == 0 || seq <= q->after || (q->before > 0 && seq >= q->before) || !search_wants(s, v))
        return;
    if (s->page->n == s->limit) {
        s->page->has_more = s->is_over = true;
        return;
    }
    s->page->lines[s->page->n++] = arena_str(s->arena, line);
    s->page->next = seq;
}

/* The whole lines of one file, first to last or the other way round. */
static void search_text(struct search *s, str text)
{
    ptrdiff_t end = str_rfind_char(text, '\n');
    struct arena scratch;
    text = str_slice(text, 0, end < 0 ? 0 : (size_t)end + 1);
    arena_init(&scratch);
    while (text.n > 0 && !s->is_over) {
        str line;
        if (s->q->is_newest_first) {
            text = str_slice(text, 0, text.n - 1);
            size_t from = (size_t)(str_rfind_char(text, '\n') + 1);
            line = str_skip(text, from);
            text = str_slice(text, 0, from);
        } else {
            (void)str_split(&text, '\n', &line);
        }
        search_take_line(s, line, &scratch);
        arena_reset(&scratch);
    }
    arena_done(&scratch);
}

/* Whether no line of the file can match: its successor begins at or before `after`, or it begins at
 * or after `before`. */
static bool is_outside(const struct audit_query *q, const struct audit_file_name *files, size_t n,
                       size_t i)
{
    return (i + 1 < n && files[i + 1].first <= q->after + 1) ||
           (q->before > 0 && files[i].first >= q->before);
}

int audit_read(struct arena *a, const char *work_dir, const struct audit_query *q,
               struct audit_page *ret, struct err *e)
{
    struct audit_file_name *files;
    size_t n, limit = q->limit && q->limit < AUDIT_LIMIT_MAX ? q->limit : AUDIT_LIMIT_MAX;
    struct search s = {.arena = a, .q = q, .page = ret, .limit = limit};
    *ret = (struct audit_page){.lines = arena_alloc(a, limit * sizeof(str))};
    int r = audit_files(a, work_dir, &files, &n, e);
    for (size_t k = 0; r == 0 && k < n && !s.is_over; k++) {
        size_t i = q->is_newest_first ? n - 1 - k : k;
        struct arena one;
        str text;
        if (is_outside(q, files, n, i))
            continue;
        arena_init(&one);
        r = file_read(&one, audit_path(&one, work_dir, files[i].name), FILE_BYTES_MAX, &text, e);
        if (r == 0)
            search_text(&s, text);
        arena_done(&one);
    }
    return r;
}

/* ---- verifying ---- */

struct audit_check {
    struct arena *arena;
    struct audit_report *report;
    struct audit_head head;
    bool has_head;
    const char *file;
    uint64_t line;
    uint64_t seq;                  /* of the line before; 0 = none */
    char hash[SHA256_HEX_LEN + 1]; /* its hash */
};

static void __attribute__((format(printf, 2, 3)))
problem(struct audit_check *c, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    size_t i = c->report->nproblems++;
    if (i >= AUDIT_PROBLEMS_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->report->problems[i] = c->line > 0 ? arena_printf(c->arena, "%s line %llu: %s", c->file,
                                                        (unsigned long long)c->line, text)
                                         : arena_printf(c->arena, "%s: %s", c->file, text);
}

static void check_order(struct audit_check *c, const struct audit_line *l)
{
    unsigned long long got = l->seq, want = c->seq + 1;
    if (got == want && memcmp(l->prev, c->hash, SHA256_HEX_LEN) != 0)
        problem(c, "record %llu does not contain the hash of record %llu: one of them was changed",
                got, want - 1);
    else if (got > want && want + 1 == got)
        problem(c, "record %llu is missing before record %llu", want, got);
    else if (got > want)
        problem(c, "records %llu to %llu are missing before record %llu", want, got - 1, got);
    else if (got < want)
        problem(c, "record %llu is out of order or a copy: it follows record %llu", got, want - 1);
}

static void check_line(struct audit_check *c, str text)
{
    struct audit_line l;
    struct audit_report *r = c->report;
    if (!audit_line_read(text, &l)) {
        problem(c, "this line is not a record");
        return;
    }
    if (!l.is_true)
        problem(c, "record %llu was changed: its hash does not match its text",
                (unsigned long long)l.seq);
    if (r->records == 0 && l.seq == 1)
        memset(c->hash, '0', SHA256_HEX_LEN);
    if (r->records == 0 && l.seq > 1) /* the beginning was archived; the rest can be checked */
        problem(c, "records 1 to %llu are not in this log", (unsigned long long)l.seq - 1);
    else
        check_order(c, &l);
    if (c->has_head && l.seq == c->head.seq && memcmp(l.hash, c->head.hash, SHA256_HEX_LEN) != 0)
        problem(c, "record %llu is not the record that was written last",
                (unsigned long long)l.seq);
    if (r->records++ == 0)
        r->first = l.seq;
    r->last = c->seq = l.seq;
    memcpy(c->hash, l.hash, sizeof c->hash);
    memcpy(r->hash, l.hash, sizeof r->hash);
}

static void check_file_text(struct audit_check *c, str text)
{
    while (text.n > 0) {
        ptrdiff_t end = str_find_char(text, '\n');
        c->line++;
        if (end < 0) {
            problem(c, "the last line is not complete; the next write repairs it");
            return;
        }
        check_line(c, str_slice(text, 0, (size_t)end));
        text = str_skip(text, (size_t)end + 1);
    }
}

static int check_files(struct audit_check *c, const char *work_dir, struct err *e)
{
    struct audit_file_name *files;
    size_t n;
    int r = audit_files(c->arena, work_dir, &files, &n, e);
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct arena one;
        str text;
        arena_init(&one);
        c->file = files[i].name;
        c->line = 0;
        r = file_read(&one, audit_path(&one, work_dir, files[i].name), FILE_BYTES_MAX, &text, e);
        if (r == 0)
            check_file_text(c, text);
        c->report->files++;
        arena_done(&one);
    }
    return r;
}

/* A writer syncs its lines before it names them in `head`, so `head` is never ahead of the log. */
static void check_end(struct audit_check *c)
{
    unsigned long long last = c->report->last, noted = c->head.seq;
    c->file = AUDIT_DIR "/head";
    c->line = 0;
    if (c->has_head && last + 1 == noted)
        problem(c, "the log ends too early: record %llu was written and is missing", noted);
    else if (c->has_head && last < noted)
        problem(c, "the log ends too early: records %llu to %llu were written and are missing",
                last + 1, noted);
    else if (!c->has_head && c->report->records > 0)
        problem(c,
                "this file is missing or damaged: whether the end of the log was cut is unknown");
}

int audit_verify(struct arena *a, const char *work_dir, struct audit_report *ret, struct err *e)
{
    struct audit_check c = {.arena = a, .report = ret};
    *ret = (struct audit_report){0};
    /* Read before the lines: during a write the log is ahead of `head`, never behind it. */
    c.has_head = audit_head_read(work_dir, &c.head, NULL) == 0;
    int r = check_files(&c, work_dir, e);
    if (r == 0)
        check_end(&c);
    return r;
}
