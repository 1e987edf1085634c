#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "store/event/io.h"
#include "store/postgres/pg_store.h"

enum { CHOOSE_LINES = 200, SCAN_LINES = 1000, SCAN_BYTES = 4 * 1024 * 1024, IDS_PAGE = 1000 };

static int fail_missing(struct err *e, str id)
{
    return err_set(e, -ENOENT, "no such conversation: %.*s", STR_ARG(id));
}

static int fail_lost(struct err *e)
{
    return err_set(e, -EHOSTUNREACH, "the connection was lost while blobs were read");
}

/* ---- one conversation ---- */

/* The lines after `after`, in pages that fit into memory. Returns 1 when there are more. */
static int each_line(struct pg_conn *c, int64_t key, int64_t *after, store_line_fn fn, void *ctx,
                     struct err *e)
{
    static const char LINES[] =
        "SELECT seq, line FROM (SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq)"
        " AS upto FROM (SELECT seq, line FROM nb_event WHERE conversation = $1::bigint"
        " AND seq > $2::bigint ORDER BY seq LIMIT $3::bigint) p) q"
        " WHERE upto <= $4::bigint OR upto = octet_length(line) ORDER BY seq";
    struct arena a;
    struct pg_params p;
    bool goes_on = true;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_int(&p, key);
    pg_int(&p, *after);
    pg_int(&p, SCAN_LINES);
    pg_int(&p, SCAN_BYTES);
    struct pg_query q = {.sql = LINES, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    int n = r == 0 ? pg_rows(c, &q) : 0;
    for (int i = 0; i < n && goes_on; i++) {
        *after = pg_get_int(c, &q, i, 0);
        goes_on = fn(ctx, pg_get_text(c, &q, i, 1), (store_pos)*after);
    }
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r < 0 ? r : n > 0 && goes_on;
}

int pg_each_line(struct pg_conn *c, int64_t key, store_line_fn fn, void *ctx, struct err *e)
{
    int64_t after = -1;
    int r;
    while ((r = each_line(c, key, &after, fn, ctx, e)) > 0)
        ;
    return r;
}

int pg_derive_log(struct pg_conn *c, int64_t key, struct pg_derive *d, struct err *e)
{
    return pg_each_line(c, key, derive_scanned, &d->derive, e);
}

/* The row of a live conversation; *ret_key 0: there is none. The texts are in the arena. */
struct conv_row {
    int64_t key, last;
    str summary;
};

static int read_row(struct pg_conn *c, struct arena *a, const struct store *s, str id,
                    struct conv_row *ret, struct err *e)
{
    static const char ROW[] = "SELECT key, last, summary FROM nb_conversation"
                              " WHERE workspace = $1 AND id = $2 AND deleted_ms = 0";
    struct pg_params p;
    pg_params_init(&p, a);
    pg_text(&p, pg_workspace(s));
    pg_text(&p, id);
    struct pg_query q = {.sql = ROW, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    *ret = (struct conv_row){0};
    if (r == 0 && pg_rows(c, &q) > 0)
        *ret = (struct conv_row){.key = pg_get_int(c, &q, 0, 0),
                                 .last = pg_get_int(c, &q, 0, 1),
                                 .summary = arena_str(a, pg_get_text(c, &q, 0, 2))};
    pg_clear(c, &q, 1);
    return r < 0 ? r : ret->key == 0 ? fail_missing(e, id) : 0;
}

int pg_find_key(struct pg_conn *c, struct arena *a, const struct store *s, str id, int64_t *ret,
                struct err *e)
{
    struct conv_row row;
    int r = read_row(c, a, s, id, &row, e);
    *ret = row.key;
    return r;
}

int pg_conv_of(struct pg_conn *c, struct store_op *op, str id, int64_t key, int64_t last,
               str summary, struct conv **ret, struct err *e)
{
    struct store *s = op->store;
    struct pg_derive d;
    pg_derive_init(&d, s->env);
    int r = 0;
    if (pg_summary_read(&d, summary, (store_pos)last) < 0) {
        pg_derive_done(&d);
        pg_derive_init(&d, s->env);
        r = pg_derive_log(c, key, &d, e);
    }
    if (r == 0)
        *ret = derive_conv(&d.derive, &op->arena, id, pg_workspace(s));
    pg_derive_done(&d);
    return r;
}

int pg_conv_named(struct pg_conn *c, struct store_op *op, str id, struct conv **ret, struct err *e)
{
    struct conv_row row;
    int r = read_row(c, &op->arena, op->store, id, &row, e);
    return r < 0 ? r : pg_conv_of(c, op, id, row.key, row.last, row.summary, ret, e);
}

static int get_conv(struct pg_conn *c, void *ctx, struct err *e)
{
    struct store_op *op = ctx;
    return pg_conv_named(c, op, op->id, &op->out.conv, e);
}

static void get_work(struct store_op *op)
{
    (void)database_read(pg_database(op->store), get_conv, op, &op->err);
}

void pg_get(struct store_op *op)
{
    op_run(op, get_work);
}

/* ---- blobs ---- */

struct pg_blobs { /* the blobs of one conversation, for reading */
    struct blob_place place;
    struct pg_conn *conn;
    int64_t key;
};

/* `max` bytes from the start; negative: all. */
static int blob_query(struct pg_conn *c, struct arena *a, int64_t key, str sha256, int64_t max,
                      str *ret, uint64_t *ret_size, struct err *e)
{
    static const char BLOB[] =
        "SELECT CASE WHEN $3::bigint < 0 THEN b.bytes"
        " ELSE substring(b.bytes FROM 1 FOR ($3::bigint)::integer) END,"
        " octet_length(b.bytes)::bigint"
        " FROM nb_blob_use u JOIN nb_blob b ON b.workspace = u.workspace AND b.sha256 = u.sha256"
        " WHERE u.conversation = $1::bigint AND u.sha256 = $2";
    struct pg_params p;
    pg_params_init(&p, a);
    pg_int(&p, key);
    pg_text(&p, sha256);
    pg_int(&p, max);
    struct pg_query q = {.sql = BLOB, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    if (r == 0 && pg_rows(c, &q) == 0)
        r = err_set(e, -ENOENT, "no such blob: %.*s", STR_ARG(sha256));
    if (r == 0) {
        *ret = arena_str(a, pg_get_text(c, &q, 0, 0));
        *ret_size = (uint64_t)pg_get_int(c, &q, 0, 1);
    }
    pg_clear(c, &q, 1);
    return r;
}

static int whole_blob(struct pg_conn *c, struct arena *a, int64_t key, str sha256, str *ret,
                      struct err *e)
{
    uint64_t size;
    char hex[SHA256_HEX_LEN + 1];
    int r = blob_query(c, a, key, sha256, -1, ret, &size, e);
    if (r < 0)
        return r;
    sha256_hex(*ret, hex);
    return str_eq(str_from(hex), sha256)
               ? 0
               : err_set(e, -EIO, "blob %.*s is damaged: its content does not match its SHA-256",
                         STR_ARG(sha256));
}

static const struct pg_blobs *pg_blobs(const struct blob_place *p)
{
    return CONTAINER_OF(p, const struct pg_blobs, place);
}

static int blobs_get_one(const struct blob_place *p, struct arena *a, str sha256, str *ret,
                         struct err *e)
{
    return whole_blob(pg_blobs(p)->conn, a, pg_blobs(p)->key, sha256, ret, e);
}

static str blobs_begin(const struct blob_place *p, struct arena *a, str sha256, size_t max,
                       uint64_t *ret_size)
{
    str bytes;
    assert(max <= INT32_MAX);
    *ret_size = 0;
    bool is_there = blob_query(pg_blobs(p)->conn, a, pg_blobs(p)->key, sha256, (int64_t)max, &bytes,
                               ret_size, NULL) == 0;
    return is_there ? bytes : STR_NONE;
}

static int get_blob(struct pg_conn *c, void *ctx, struct err *e)
{
    struct store_op *op = ctx;
    struct conv_row row;
    int r = read_row(c, &op->arena, op->store, op->id, &row, e);
    return r < 0 ? r : whole_blob(c, &op->arena, row.key, op->in.blob, &op->out.blob, e);
}

static void get_blob_work(struct store_op *op)
{
    (void)database_read(pg_database(op->store), get_blob, op, &op->err);
}

void pg_get_blob(struct store_op *op)
{
    op_run(op, get_blob_work);
}

struct blob_request {
    struct store *store;
    struct arena *arena;
    str id, sha256, bytes;
};

static int read_blob(struct pg_conn *c, void *ctx, struct err *e)
{
    struct blob_request *b = ctx;
    struct conv_row row;
    int r = read_row(c, b->arena, b->store, b->id, &row, e);
    return r < 0 ? r : whole_blob(c, b->arena, row.key, b->sha256, &b->bytes, e);
}

/* A file without a name, that ends with its last descriptor. */
int pg_blob_fd(struct store *s, struct arena *a, str id, str sha256)
{
    struct blob_request b = {.store = s, .arena = a, .id = id, .sha256 = sha256};
    int r = database_read(pg_database(s), read_blob, &b, NULL);
    if (r < 0)
        return r;
    int fd = memfd_create("nb-blob", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = io_write(&store_io_system, fd, b.bytes);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* ---- a page of events ---- */

/* The row of the conversation and its lines are read by one statement, so they belong together. */
#define PAGE(order, condition)                                                                     \
    "SELECT c.key, c.last, q.seq, q.line FROM nb_conversation c LEFT JOIN LATERAL ("               \
    "SELECT seq, line FROM (SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq " order   \
    ") AS upto FROM (SELECT e.seq, e.line FROM nb_event e WHERE e.conversation = c.key"            \
    " AND e.seq > 0 AND " condition " ORDER BY e.seq " order " LIMIT $4::bigint) p) w"             \
    " WHERE upto <= $5::bigint OR upto = octet_length(line)) q ON true"                            \
    " WHERE c.workspace = $1 AND c.id = $2 AND c.deleted_ms = 0 ORDER BY q.seq"

static const char FORWARDS[] = PAGE("ASC", "e.seq > $3::bigint");
static const char BACKWARDS[] = PAGE("DESC", "e.seq <= $3::bigint");

/* With its blobs and files, as the range says. */
static str restored(struct pg_conn *c, struct store_op *op, int64_t key, str line)
{
    const struct store_range *r = &op->in.range;
    const struct pg_blobs blobs = {
        .place = {.get = blobs_get_one, .begin = blobs_begin}, .conn = c, .key = key};
    str whole = r->with_blobs ? blobs_restore(&op->arena, &blobs.place, line) : line;
    if (r->with_files)
        whole = file_parts_restore(&op->arena, &blobs.place, whole);
    return whole.p == line.p ? arena_str(&op->arena, line) : whole;
}

static void fill_page(struct pg_conn *c, struct store_op *op, const struct pg_query *q)
{
    const struct store_range *r = &op->in.range;
    struct store_page *page = &op->out.page;
    int64_t last = pg_get_int(c, q, 0, 1);
    store_pos pos = r->backwards ? r->before : r->after;
    int n = pg_is_null(c, q, 0, 2) ? 0 : pg_rows(c, q);
    *page = (struct store_page){.is_beyond_end = pos > (store_pos)last};
    if (page->is_beyond_end)
        return;
    struct store_event *events = arena_array(&op->arena, (size_t)n + 1, sizeof *events);
    for (int i = 0; i < n; i++)
        events[i] = (struct store_event){
            .pos = (store_pos)pg_get_int(c, q, i, 2),
            .line = restored(c, op, pg_get_int(c, q, i, 0), pg_get_text(c, q, i, 3)),
        };
    page->events = events;
    page->n = (size_t)n;
    page->start = n > 0 ? events[0].pos - 1 : pos;
    page->reached_start = page->start == 0;
    page->reached_end = n > 0 ? events[n - 1].pos == (store_pos)last : pos == (store_pos)last;
    if (r->backwards && n == 0)
        page->reached_end = last == 0;
    page->end = r->backwards && r->before ? r->before : (store_pos)last;
}

/* ---- a page of events that the caller chooses ---- */

struct choosing {
    struct store_op *op;
    int64_t key, last; /* 0: not known yet */
    int64_t at; /* backwards: the next line has at most this number; forwards: a higher one */
    bool is_over, is_beyond_end;
    int64_t asked; /* the line that was offered last, and the answer; -1: none */
    enum store_choice answer;
    struct store_event *events;
    size_t n, cap, bytes;
};

static void choose_line(struct pg_conn *c, struct choosing *s, int64_t seq, str line)
{
    const struct store_range *r = &s->op->in.range;
    if (s->bytes >= r->max_bytes) {
        s->is_over = true;
        return;
    }
    if (s->asked != seq)
        s->answer = r->choose(r->choose_ctx, line);
    s->asked = seq;
    s->is_over = s->answer == STORE_STOP;
    if (s->is_over)
        return;
    if (s->answer != STORE_SKIP) {
        str kept = s->answer == STORE_TAKE_WHOLE ? restored(c, s->op, s->key, line)
                                                 : arena_str(&s->op->arena, line);
        if (c->is_lost) /* its blobs may be missing: the line is read again */
            return;
        GROW(s->events, s->n, s->cap);
        s->events[s->n++] = (struct store_event){.pos = (store_pos)seq, .line = kept};
        s->bytes += kept.n;
    }
    s->at = r->backwards ? seq - 1 : seq;
}

/* The lines that come next, as many as fit into memory; 1 when there may be more. */
static int choose_some(struct pg_conn *c, struct choosing *s, struct err *e)
{
    static const char BACK[] = "SELECT seq, line FROM nb_event WHERE conversation = $1::bigint"
                               " AND seq <= $2::bigint ORDER BY seq DESC LIMIT $3::bigint";
    static const char FORTH[] = "SELECT seq, line FROM nb_event WHERE conversation = $1::bigint"
                                " AND seq > $2::bigint ORDER BY seq LIMIT $3::bigint";
    struct arena a;
    struct pg_params p;
    arena_init(&a);
    pg_params_init(&p, &a);
    pg_int(&p, s->key);
    pg_int(&p, s->at);
    pg_int(&p, CHOOSE_LINES);
    struct pg_query q = {.sql = s->op->in.range.backwards ? BACK : FORTH, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    int n = r == 0 ? pg_rows(c, &q) : 0;
    for (int i = 0; i < n && !s->is_over && !c->is_lost; i++)
        choose_line(c, s, pg_get_int(c, &q, i, 0), pg_get_text(c, &q, i, 1));
    if (r == 0 && c->is_lost)
        r = fail_lost(e);
    pg_clear(c, &q, 1);
    arena_done(&a);
    return r < 0 ? r : n == CHOOSE_LINES && !s->is_over;
}

static void fill_chosen(struct choosing *s)
{
    const struct store_range *r = &s->op->in.range;
    struct store_page *page = &s->op->out.page;
    for (size_t i = 0; r->backwards && i < s->n / 2; i++) {
        struct store_event swapped = s->events[i];
        s->events[i] = s->events[s->n - 1 - i];
        s->events[s->n - 1 - i] = swapped;
    }
    size_t bytes = s->n * sizeof *s->events;
    struct store_event *events = arena_array(&s->op->arena, s->n + 1, sizeof *events);
    if (s->n > 0)
        memcpy(events, s->events, bytes);
    store_pos last = (store_pos)s->last;
    store_pos end = r->backwards && r->before ? r->before : last;
    *page = (struct store_page){
        .events = events,
        .n = s->n,
        .start = !r->backwards ? r->after
                 : s->at > 0   ? (store_pos)s->at
                               : 0,
        .end = end,
        .reached_start = r->backwards ? !s->is_over : r->after == 0,
        .reached_end = r->backwards ? end == last : !s->is_over,
    };
}

/* Every line is offered once: after a lost connection it continues where it was. */
static int choose_on(struct pg_conn *c, void *ctx, struct err *e)
{
    struct choosing *s = ctx;
    const struct store_range *range = &s->op->in.range;
    int r = 0;
    if (s->key == 0) {
        struct conv_row row;
        store_pos pos = range->backwards ? range->before : range->after;
        r = read_row(c, &s->op->arena, s->op->store, s->op->id, &row, e);
        if (r < 0)
            return r;
        s->key = row.key;
        s->last = row.last;
        s->is_over = s->is_beyond_end = pos > (store_pos)row.last;
        if (s->is_over)
            return 0;
        s->at = pos > 0 ? (int64_t)pos : range->backwards ? row.last : -1;
    }
    while ((r = choose_some(c, s, e)) > 0)
        ;
    return r;
}

static void choose_page(struct store_op *op)
{
    struct choosing s = {.op = op, .asked = -1};
    int r = database_read(pg_database(op->store), choose_on, &s, &op->err);
    if (r == 0 && s.is_beyond_end)
        op->out.page = (struct store_page){.is_beyond_end = true};
    else if (r == 0)
        fill_chosen(&s);
    free(s.events);
}

static int read_page(struct pg_conn *c, void *ctx, struct err *e)
{
    struct store_op *op = ctx;
    const struct store_range *r = &op->in.range;
    store_pos pos = r->backwards ? r->before : r->after;
    struct pg_params p;
    if (pos > INT64_MAX || (r->backwards && pos == 0))
        pos = INT64_MAX;
    pg_params_init(&p, &op->arena);
    pg_text(&p, pg_workspace(op->store));
    pg_text(&p, op->id);
    pg_int(&p, (int64_t)pos);
    pg_int(&p, (int64_t)r->max_events);
    pg_int(&p, (int64_t)r->max_bytes);
    struct pg_query q = {.sql = r->backwards ? BACKWARDS : FORWARDS, .params = &p};
    int code = pg_conn_run(c, &q, 1, e);
    if (code == 0 && pg_rows(c, &q) == 0)
        code = fail_missing(e, op->id);
    if (code == 0)
        fill_page(c, op, &q);
    if (code == 0 && c->is_lost) /* a blob would be missing in the page without a word */
        code = fail_lost(e);
    pg_clear(c, &q, 1);
    return code;
}

static void read_work(struct store_op *op)
{
    if (op->in.range.choose)
        choose_page(op);
    else
        (void)database_read(pg_database(op->store), read_page, op, &op->err);
}

void pg_read(struct store_op *op)
{
    op_run(op, read_work);
}

/* ---- scans ---- */

struct scanning {
    struct store *store;
    str id;
    store_line_fn fn;
    void *ctx;
    int64_t key, after; /* continues here with another connection */
};

static int scan_on(struct pg_conn *c, void *ctx, struct err *e)
{
    struct scanning *s = ctx;
    struct arena a;
    struct conv_row row;
    int r = 0;
    if (s->key == 0) {
        arena_init(&a);
        r = read_row(c, &a, s->store, s->id, &row, e);
        s->key = row.key;
        arena_done(&a);
    }
    if (r == 0)
        while ((r = each_line(c, s->key, &s->after, s->fn, s->ctx, e)) > 0)
            ;
    return r;
}

int pg_scan(struct store *s, str id, store_line_fn fn, void *ctx, struct err *e)
{
    struct scanning scan = {.store = s, .id = id, .fn = fn, .ctx = ctx, .after = -1};
    return database_read(pg_database(s), scan_on, &scan, e);
}

struct pg_id_page {
    struct store *store;
    struct arena arena;
    str after;
    str ids[IDS_PAGE];
    size_t n;
};

static int read_ids(struct pg_conn *c, void *ctx, struct err *e)
{
    static const char IDS[] = "SELECT id FROM nb_conversation WHERE workspace = $1"
                              " AND deleted_ms = 0 AND id > $2 ORDER BY id LIMIT $3::bigint";
    struct pg_id_page *page = ctx;
    struct pg_params p;
    pg_params_init(&p, &page->arena);
    pg_text(&p, pg_workspace(page->store));
    pg_text(&p, page->after);
    pg_int(&p, IDS_PAGE);
    struct pg_query q = {.sql = IDS, .params = &p};
    int r = pg_conn_run(c, &q, 1, e);
    page->n = 0;
    for (int i = 0; r == 0 && i < pg_rows(c, &q); i++)
        page->ids[page->n++] = arena_str(&page->arena, pg_get_text(c, &q, i, 0));
    pg_clear(c, &q, 1);
    return r;
}

int pg_each_id(struct store *s, store_id_fn fn, void *ctx, struct err *e)
{
    struct pg_id_page *page = xcalloc(1, sizeof *page);
    bool goes_on = true;
    int r;
    page->store = s;
    arena_init(&page->arena);
    do {
        r = database_read(pg_database(s), read_ids, page, e);
        for (size_t i = 0; r == 0 && goes_on && i < page->n; i++)
            goes_on = fn(ctx, page->ids[i]);
        if (page->n > 0)
            page->after = page->ids[page->n - 1];
    } while (r == 0 && goes_on && page->n == IDS_PAGE);
    arena_done(&page->arena);
    free(page);
    return r;
}

/* ---- health ---- */

void pg_probe(struct store_op *op)
{
    database_check(pg_database(op->store), &op->err);
}
