#include "workspace/audit_read.h"

#include <errno.h>
#include <stdarg.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/glob.h"
#include "os/file.h"
#include "workspace/audit_log.h"

#define FILE_BYTES_MAX (AUDIT_FILE_MAX + 64u * AUDIT_LINE_MAX)

/* ---- queries ---- */

static bool search_wants(const struct audit_search *s, const struct json *v)
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

static void search_take_line(struct audit_search *s, str line)
{
    struct json *v;
    const struct audit_query *q = s->q;
    if (json_parse(&s->scratch, line, 0, &v, NULL) < 0)
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

void audit_search_init(struct audit_search *s, struct arena *a, const struct audit_query *q,
                       struct audit_page *ret)
{
    size_t limit = q->limit && q->limit < AUDIT_LIMIT_MAX ? q->limit : AUDIT_LIMIT_MAX;
    *s = (struct audit_search){.arena = a, .q = q, .page = ret, .limit = limit};
    *ret = (struct audit_page){.lines = arena_alloc(a, limit * sizeof(str))};
    arena_init(&s->scratch);
}

bool audit_search_line(struct audit_search *s, str line)
{
    search_take_line(s, line);
    arena_reset(&s->scratch);
    return !s->is_over;
}

void audit_search_done(struct audit_search *s)
{
    arena_done(&s->scratch);
}

/* The whole lines of one file, first to last or the other way round. */
static void search_text(struct audit_search *s, str text)
{
    ptrdiff_t end = str_rfind_char(text, '\n');
    text = str_slice(text, 0, end < 0 ? 0 : (size_t)end + 1);
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
        (void)audit_search_line(s, line);
    }
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
    size_t n;
    struct audit_search s;
    audit_search_init(&s, a, q, ret);
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
    audit_search_done(&s);
    return r;
}

/* ---- verifying ---- */

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

void audit_check_init(struct audit_check *c, struct arena *a, struct audit_report *ret,
                      const struct audit_head *head)
{
    *c = (struct audit_check){.arena = a, .report = ret, .has_head = head != NULL};
    *ret = (struct audit_report){0};
    if (head)
        c->head = *head;
}

void audit_check_file(struct audit_check *c, const char *name)
{
    c->file = name;
    c->line = 0;
    c->report->files++;
}

void audit_check_line(struct audit_check *c, str line)
{
    c->line++;
    check_line(c, line);
}

static void check_file_text(struct audit_check *c, str text)
{
    while (text.n > 0) {
        ptrdiff_t end = str_find_char(text, '\n');
        if (end < 0) {
            c->line++;
            problem(c, "the last line is not complete; the next write repairs it");
            return;
        }
        audit_check_line(c, str_slice(text, 0, (size_t)end));
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
        audit_check_file(c, files[i].name);
        r = file_read(&one, audit_path(&one, work_dir, files[i].name), FILE_BYTES_MAX, &text, e);
        if (r == 0)
            check_file_text(c, text);
        arena_done(&one);
    }
    return r;
}

/* A writer syncs its lines before it names them in `head`, so `head` is never ahead of the log. */
void audit_check_end(struct audit_check *c, const char *head_name)
{
    unsigned long long last = c->report->last, noted = c->head.seq;
    c->file = head_name;
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
    struct audit_check c;
    struct audit_head head;
    bool has_head = audit_head_read(work_dir, &head, NULL) == 0;
    audit_check_init(&c, a, ret, has_head ? &head : NULL);
    int r = check_files(&c, work_dir, e);
    if (r == 0)
        audit_check_end(&c, AUDIT_DIR "/head");
    return r;
}

/* ---- the files as a log ---- */

static const char *dir_of(struct audit_log *l)
{
    return CONTAINER_OF(l, struct audit_dir, log)->work_dir;
}

static int dir_append(struct audit_log *l, const struct audit_entry *entries, size_t n,
                      size_t *ret_n, struct err *e)
{
    return audit_append(dir_of(l), entries, n, ret_n, e);
}

static int dir_read(struct audit_log *l, struct arena *a, const struct audit_query *q,
                    struct audit_page *ret, struct err *e)
{
    return audit_read(a, dir_of(l), q, ret, e);
}

static int dir_verify(struct audit_log *l, struct arena *a, struct audit_report *ret, struct err *e)
{
    return audit_verify(a, dir_of(l), ret, e);
}

static int dir_last(struct audit_log *l, struct audit_head *ret, struct err *e)
{
    int r = audit_head_read(dir_of(l), ret, e);
    if (r == -ENOENT)
        audit_head_init(ret);
    return r == -ENOENT ? 0 : r;
}

static int dir_extend(struct audit_log *l, const str *lines, size_t n, struct err *e)
{
    return audit_extend(dir_of(l), lines, n, e);
}

void audit_dir_init(struct audit_dir *d, const char *work_dir)
{
    *d = (struct audit_dir){.log = {.append = dir_append,
                                    .read = dir_read,
                                    .verify = dir_verify,
                                    .last = dir_last,
                                    .extend = dir_extend},
                            .work_dir = work_dir};
}

/* ---- from one log to another ---- */

/* Has `in` the record that is the end of another log? */
static int has_end(struct audit_log *in, const struct audit_head *end, bool *ret, struct err *e)
{
    struct arena a;
    struct audit_page page;
    struct audit_line line;
    struct audit_query q = {.after = end->seq - 1, .before = end->seq + 1, .limit = 1};
    *ret = end->seq == 0;
    if (*ret)
        return 0;
    arena_init(&a);
    int r = in->read(in, &a, &q, &page, e);
    *ret = r == 0 && page.n == 1 && audit_line_read(page.lines[0], &line) && line.is_true &&
           memcmp(line.hash, end->hash, SHA256_HEX_LEN) == 0;
    arena_done(&a);
    return r;
}

static int carry_rest(struct audit_log *from, struct audit_log *to, uint64_t after, int64_t *ret_n,
                      struct err *e)
{
    struct audit_query q = {.after = after};
    struct audit_page page = {.has_more = true};
    int r = 0;
    while (r == 0 && page.has_more) {
        struct arena a;
        arena_init(&a);
        r = from->read(from, &a, &q, &page, e);
        if (r == 0 && page.n > 0)
            r = to->extend(to, page.lines, page.n, e);
        *ret_n += r == 0 ? (int64_t)page.n : 0;
        q.after = page.next;
        arena_done(&a);
    }
    return r;
}

int audit_carry(struct audit_log *from, struct audit_log *to, int64_t *ret_n, struct err *e)
{
    struct audit_head source, target;
    bool is_begun = false, is_there = false;
    *ret_n = 0;
    int r = from->last(from, &source, e);
    if (r == 0)
        r = to->last(to, &target, e);
    if (r == 0)
        r = has_end(to, &source, &is_there, e);
    if (r < 0 || is_there)
        return r;
    r = has_end(from, &target, &is_begun, e);
    if (r < 0)
        return r;
    if (!is_begun)
        return err_set(e, -EEXIST, AUDIT_IS_ANOTHER);
    r = carry_rest(from, to, target.seq, ret_n, e);
    if (r == 0)
        r = to->last(to, &target, e);
    if (r == 0 && (target.seq != source.seq || strcmp(target.hash, source.hash) != 0))
        r = err_set(e, -EIO, "the copy of the audit log does not end like the original");
    return r;
}
