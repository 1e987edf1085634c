#include "store/shared/pg_audit.h"

#include <errno.h>

enum { PAGE_ROWS = 1000, TRIES = 5 };

struct audit_call { /* of one function of the log */
    struct pg_audit *audit;
    struct arena *arena;
    const struct audit_entry *entries;
    size_t n, written;
    int64_t after, before; /* of a page */
    bool is_newest_first;
    str *lines;
    size_t nlines;
    struct audit_head head;
};

static int audit_run(struct pg_conn *c, const char *sql, const struct pg_params *p, struct err *e)
{
    struct pg_query q = {.sql = sql, .params = p};
    int r = pg_conn_run(c, &q, 1, e);
    pg_clear(c, &q, 1);
    return r;
}

static int call(struct pg_audit *a, database_fn fn, struct audit_call *x, struct err *e)
{
    x->audit = a;
    return database_read(a->db, fn, x, e);
}

/* ---- appending ---- */

static int audit_head_row(struct pg_conn *c, const char *sql, struct audit_head *ret, struct err *e)
{
    struct pg_query q = {.sql = sql};
    int r = pg_conn_run(c, &q, 1, e);
    *ret = (struct audit_head){0};
    if (r == 0 && (pg_rows(c, &q) != 1 || pg_get_text(c, &q, 0, 1).n != SHA256_HEX_LEN))
        r = err_set(e, -EINVAL, "the head of the audit log in the database is damaged");
    if (r == 0) {
        ret->seq = (uint64_t)pg_get_int(c, &q, 0, 0);
        memcpy(ret->hash, pg_get_text(c, &q, 0, 1).p, SHA256_HEX_LEN);
    }
    pg_clear(c, &q, 1);
    return r;
}

/* Was the append in doubt committed? Records are never changed, so its last one decides. */
static int resolve_doubt(struct pg_conn *c, struct audit_call *x, struct err *e)
{
    struct pg_audit *a = x->audit;
    struct pg_params p;
    struct audit_line line = {0};
    pg_params_init(&p, x->arena);
    pg_int(&p, a->doubtful_seq);
    struct pg_query q = {.sql = "SELECT line FROM nb_audit WHERE seq = $1::bigint", .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    bool is_there = r == 0 && pg_rows(c, &q) > 0 &&
                    audit_line_read(pg_get_text(c, &q, 0, 0), &line) &&
                    strcmp(line.hash, a->doubtful_hash) == 0;
    pg_clear(c, &q, 1);
    if (r < 0)
        return r;
    x->written = is_there ? a->doubtful : 0;
    a->doubtful = 0;
    return 0;
}

static int insert_lines(struct pg_conn *c, struct audit_call *x, const int64_t *seqs,
                        const str *lines, size_t n, struct err *e)
{
    struct pg_params rows, head;
    pg_params_init(&rows, x->arena);
    pg_ints(&rows, seqs, n);
    pg_texts(&rows, lines, n);
    int r = audit_run(c,
                      "INSERT INTO nb_audit (seq, line)"
                      " SELECT seq, line FROM unnest($1::bigint[], $2::text[]) AS t(seq, line)",
                      &rows, e);
    pg_params_init(&head, x->arena);
    pg_int(&head, (int64_t)x->head.seq);
    pg_text(&head, str_from(x->head.hash));
    return r < 0 ? r
                 : audit_run(c, "UPDATE nb_audit_head SET seq = $1::bigint, hash = $2::text", &head,
                             e);
}

static int write_entries(struct pg_conn *c, struct audit_call *x, struct err *e)
{
    str *lines = arena_array(x->arena, x->n, sizeof *lines);
    int64_t *seqs = arena_array(x->arena, x->n, sizeof *seqs);
    for (size_t i = 0; i < x->n; i++) {
        struct audit_entry clean = audit_entry_copy(x->arena, &x->entries[i]);
        int r = audit_line_make(x->arena, &clean, &x->head, &lines[i], e);
        if (r < 0)
            return r;
        seqs[i] = (int64_t)x->head.seq;
    }
    return insert_lines(c, x, seqs, lines, x->n, e);
}

/* Lines of another log. */
static int write_lines(struct pg_conn *c, struct audit_call *x, struct err *e)
{
    int64_t *seqs = arena_array(x->arena, x->nlines + 1, sizeof *seqs);
    for (size_t i = 0; i < x->nlines; i++) {
        if (!audit_line_continues(x->lines[i], &x->head))
            return err_set(e, -EEXIST, AUDIT_IS_ANOTHER);
        seqs[i] = (int64_t)x->head.seq;
    }
    return insert_lines(c, x, seqs, x->lines, x->nlines, e);
}

static void note_doubt(struct audit_call *x)
{
    struct pg_audit *a = x->audit;
    a->doubtful = x->n;
    a->doubtful_seq = (int64_t)x->head.seq;
    memcpy(a->doubtful_hash, x->head.hash, sizeof a->doubtful_hash);
}

static int commit(struct pg_conn *c, struct err *e)
{
    struct pg_query q = {.sql = "COMMIT"};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && !str_eq(pg_command_tag(c, &q), STR("COMMIT")))
        r = err_set(e, -EIO, "the database has not stored the record");
    pg_clear(c, &q, 1);
    return r;
}

static int abandon(struct pg_conn *c, int r)
{
    struct err ignored = {0};
    if (!c->is_lost)
        (void)audit_run(c, "ROLLBACK", NULL, &ignored);
    return r;
}

/* The head is locked until the end of the transaction. */
static int begin(struct pg_conn *c, struct audit_head *head, struct err *e)
{
    int r = audit_run(c, "BEGIN", NULL, e);
    return r < 0 ? r : audit_head_row(c, "SELECT seq, hash FROM nb_audit_head FOR UPDATE", head, e);
}

static int append_records(struct pg_conn *c, void *ctx, struct err *e)
{
    struct audit_call *x = ctx;
    int r = begin(c, &x->head, e);
    if (r == 0 && x->entries && x->audit->doubtful > 0)
        r = resolve_doubt(c, x, e);
    if (r < 0 || x->written > 0)
        return abandon(c, r);
    r = x->entries ? write_entries(c, x, e) : write_lines(c, x, e);
    if (r < 0)
        return abandon(c, r);
    r = commit(c, e);
    if (r == 0)
        x->written = x->n;
    else if (c->is_lost && x->entries)
        note_doubt(x);
    return r;
}

static int table_append(struct audit_log *l, const struct audit_entry *entries, size_t n,
                        size_t *ret_n, struct err *e)
{
    struct arena a;
    struct err local = {0};
    size_t written = 0;
    int r = n == 0 ? 0 : -EAGAIN;
    e = e ? e : &local;
    arena_init(&a);
    for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
        struct audit_call x = {.arena = &a, .entries = entries, .n = n};
        err_clear(e);
        r = call(CONTAINER_OF(l, struct pg_audit, log), append_records, &x, e);
        written = x.written;
    }
    arena_done(&a);
    if (ret_n)
        *ret_n = written;
    return r;
}

static int table_extend(struct audit_log *l, const str *lines, size_t n, struct err *e)
{
    struct arena a;
    arena_init(&a);
    struct audit_call x = {.arena = &a, .lines = (str *)lines, .nlines = n};
    int r = call(CONTAINER_OF(l, struct pg_audit, log), append_records, &x, e);
    arena_done(&a);
    return r;
}

/* ---- reading ---- */

static int audit_rows(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char FORWARD[] = "SELECT line FROM nb_audit WHERE seq > $1::bigint"
                                  " AND seq < $2::bigint ORDER BY seq LIMIT 1000";
    static const char BACK[] = "SELECT line FROM nb_audit WHERE seq > $1::bigint"
                               " AND seq < $2::bigint ORDER BY seq DESC LIMIT 1000";
    struct audit_call *x = ctx;
    struct pg_params p;
    pg_params_init(&p, x->arena);
    pg_int(&p, x->after);
    pg_int(&p, x->before);
    struct pg_query q = {.sql = x->is_newest_first ? BACK : FORWARD, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    x->nlines = r == 0 ? (size_t)pg_rows(c, &q) : 0;
    x->lines = arena_array(x->arena, x->nlines + 1, sizeof *x->lines);
    for (size_t i = 0; i < x->nlines; i++)
        x->lines[i] = arena_str(x->arena, pg_get_text(c, &q, (int)i, 0));
    pg_clear(c, &q, 1);
    return r;
}

/* Calls fn with the lines in the order of the page until it returns false. */
static int each_line(struct pg_audit *a, struct audit_call *x, bool (*fn)(void *ctx, str line),
                     void *ctx, struct err *e)
{
    struct arena page;
    struct audit_line line;
    bool is_wanted = true;
    int r = 0;
    arena_init(&page);
    x->arena = &page;
    do {
        arena_reset(&page);
        r = call(a, audit_rows, x, e);
        for (size_t i = 0; r == 0 && is_wanted && i < x->nlines; i++) {
            is_wanted = fn(ctx, x->lines[i]);
            if (audit_line_read(x->lines[i], &line))
                *(x->is_newest_first ? &x->before : &x->after) = (int64_t)line.seq;
        }
    } while (r == 0 && is_wanted && x->nlines == PAGE_ROWS);
    arena_done(&page);
    return r;
}

static bool search_next(void *ctx, str line)
{
    return audit_search_line(ctx, line);
}

static int table_read(struct audit_log *l, struct arena *a, const struct audit_query *q,
                      struct audit_page *ret, struct err *e)
{
    struct audit_search s;
    struct audit_call x = {.after = q->after < INT64_MAX ? (int64_t)q->after : INT64_MAX,
                           .before = q->before > 0 && q->before < INT64_MAX ? (int64_t)q->before
                                                                            : INT64_MAX,
                           .is_newest_first = q->is_newest_first};
    audit_search_init(&s, a, q, ret);
    int r = each_line(CONTAINER_OF(l, struct pg_audit, log), &x, search_next, &s, e);
    audit_search_done(&s);
    return r;
}

static int read_end(struct pg_conn *c, void *ctx, struct err *e)
{
    struct audit_call *x = ctx;
    return audit_head_row(c, "SELECT seq, hash FROM nb_audit_head", &x->head, e);
}

static int table_last(struct audit_log *l, struct audit_head *ret, struct err *e)
{
    struct audit_call x = {0};
    int r = call(CONTAINER_OF(l, struct pg_audit, log), read_end, &x, e);
    *ret = x.head;
    return r;
}

static bool verify_next(void *ctx, str line)
{
    audit_check_line(ctx, line);
    return true;
}

static int table_verify(struct audit_log *l, struct arena *a, struct audit_report *ret,
                        struct err *e)
{
    struct pg_audit *audit = CONTAINER_OF(l, struct pg_audit, log);
    struct audit_check check;
    struct audit_call x = {.before = INT64_MAX};
    int r = call(audit, read_end, &x, e); /* first: the log is never behind it */
    if (r < 0)
        return r;
    audit_check_init(&check, a, ret, &x.head);
    audit_check_file(&check, "nb_audit");
    r = each_line(audit, &x, verify_next, &check, e);
    if (r == 0)
        audit_check_end(&check, "nb_audit_head");
    return r;
}

void pg_audit_init(struct pg_audit *a, struct database *db)
{
    *a = (struct pg_audit){.log = {.append = table_append,
                                   .read = table_read,
                                   .verify = table_verify,
                                   .last = table_last,
                                   .extend = table_extend},
                           .db = db};
}
