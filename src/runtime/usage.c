#include "runtime/usage.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/map.h"
#include "store/event/derive.h"

#define CONVS_PER_PAGE 200
#define PAGE_BYTES     (1024u * 1024) /* parsed in one step: the loop must not be blocked */
#define DAY_LEN        10             /* of 2026-03-25 */
#define RUNS_MAX       64             /* whose users are remembered; a log has one at a time */

static const char *const KEYS[] = {
    [USAGE_BY_DAY] = "day", [USAGE_BY_MODEL] = "model", [USAGE_BY_USER] = "user"};

int usage_key_parse(str name, enum usage_key *ret, struct err *e)
{
    ptrdiff_t i = STR_INDEX(name, KEYS);
    if (i < 0)
        return err_set(e, -EINVAL, "expected day, model or user");
    *ret = (enum usage_key)i;
    return 0;
}

struct candidate { /* a conversation of the current page of the listing */
    str id, owner, forked_from, created_at;
};

struct usage_job {
    struct store *store;
    struct store_env prices;
    struct actor *actor; /* held; NULL = all */
    struct store_op *op;
    struct arena arena; /* as long as the job */
    struct map rows;    /* key -> struct usage_row */
    struct map live;    /* ids of conversations that exist -> anything */
    struct map deleted; /* ids of those that were deleted -> when, for the last time */
    uint64_t ledger_at; /* in what is known of them */
    bool is_counting;
    struct usage_report report;

    struct arena page; /* the conversations of one page of the listing */
    struct candidate *convs;
    size_t nconvs, at;
    str cursor;
    bool is_last_page;

    store_pos pos;   /* in the conversation being read */
    struct map runs; /* run id -> user id, in the page's arena */

    usage_fn fn;
    void *ctx;
};

static void job_free(struct usage_job *j)
{
    map_done(&j->rows);
    map_done(&j->live);
    map_done(&j->deleted);
    map_done(&j->runs);
    arena_done(&j->page);
    arena_done(&j->arena);
    actor_unref(j->actor);
    free(j);
}

/* ---- the figures ---- */

static struct usage_row *row_of(struct usage_job *j, str key)
{
    if (key.n == 0)
        key = STR("unknown");
    struct usage_row *row = map_get(&j->rows, key);
    if (row)
        return row;
    if (map_len(&j->rows) >= USAGE_ROWS_MAX && !str_eq(key, STR("other")))
        return row_of(j, STR("other"));
    row = ARENA_NEW(&j->arena, struct usage_row);
    row->key = arena_str(&j->arena, key);
    map_put(&j->rows, row->key, row);
    return row;
}

struct call_figures {
    struct conv_usage usage;
    double usd;
    bool is_priced, is_estimated;
};

static void usage_add(struct usage_row *row, const struct call_figures *f)
{
    const struct conv_usage *u = &f->usage;
    row->calls++;
    row->estimated += f->is_estimated;
    conv_usage_add(&row->usage, u);
    row->cost_usd += f->is_priced ? f->usd : 0;
    row->unpriced += !f->is_priced;
}

static str user_of(const struct usage_job *j, const struct json *event)
{
    str run = json_get_string(event, "runId");
    const char *user = run.n > 0 ? map_get(&j->runs, run) : NULL;
    return user ? str_from(user) : j->convs[j->at].owner;
}

/* `event` has the time, `figures` the tokens; they are the same object, except in older logs. */
static void usage_count(struct usage_job *j, const struct json *event, const struct json *figures,
                        str user)
{
    struct call_figures f = {.is_estimated = json_get_bool(figures, "estimated", false)};
    char iso[CLOCK_ISO_LEN + 1];
    int64_t ms;
    if (!event_time(event, &ms) || ms < j->report.from_ms ||
        (j->report.to_ms > 0 && ms >= j->report.to_ms))
        return;
    str model = json_get_string(figures, "model");
    derive_usage(figures, &f.usage);
    f.is_priced = derive_cost(&j->prices, figures, model, &f.usage, &f.usd);
    clock_iso(ms, iso);
    str key = j->report.by == USAGE_BY_DAY     ? str_make(iso, DAY_LEN)
              : j->report.by == USAGE_BY_MODEL ? model
                                               : user;
    usage_add(row_of(j, key), &f);
    usage_add(&j->report.total, &f);
}

/* An event of the current log. Events that a fork copied were counted in the original. */
static void count_event(struct usage_job *j, const struct json *event, const struct json *figures)
{
    const struct candidate *c = &j->convs[j->at];
    if (!derive_is_copied(c->forked_from, c->created_at, event))
        usage_count(j, event, figures, user_of(j, event));
}

static void on_run_start(struct usage_job *j, const struct json *v)
{
    str run = json_get_string(v, "runId"), user = json_get_string(v, "userId");
    if (run.n == 0 || user.n == 0)
        return;
    if (map_len(&j->runs) >= RUNS_MAX) {
        map_done(&j->runs);
        map_init(&j->runs);
    }
    map_put(&j->runs, run, arena_cstr(&j->page, user));
}

static void on_response(struct usage_job *j, const struct json *v)
{
    if (!json_get(v, "quoted")) /* it was counted where it was made, if at all */
        count_event(j, v, v);
}

static void on_aside(struct usage_job *j, const struct json *v)
{
    if (!str_eq(json_get_string(v, "source"), STR("delegate")))
        count_event(j, v, v);
}

static void on_old_message(struct usage_job *j, const struct json *v)
{
    const struct json *figures = json_get(v, "metadata");
    bool is_answer = str_eq(json_get_string(v, "role"), STR("assistant"));
    if (is_answer && json_is(figures, JSON_OBJECT))
        count_event(j, v, figures);
}

static void (*const HANDLERS[])(struct usage_job *j, const struct json *v) = {
    [EV_RUN_START] = on_run_start,
    [EV_LLM_RESPONSE] = on_response,
    [EV_AUX_USAGE] = on_aside,
    [EV_LEGACY_MESSAGE] = on_old_message,
};

static void read_usage_line(struct usage_job *j, struct arena *scratch, str line)
{
    struct event_head head;
    struct json *v;
    if (!event_scan(line, &head) || (size_t)head.type >= ARRAY_LEN(HANDLERS) ||
        !HANDLERS[head.type])
        return;
    if (json_parse(scratch, line, 0, &v, NULL) == 0)
        HANDLERS[head.type](j, v);
    arena_reset(scratch);
}

/* ---- the walk: pages of the listing, in them conversations, in them pages of the log ---- */

static void next_conversations(struct usage_job *j);
static void read_log(struct usage_job *j);

static int by_key(const void *a, const void *b)
{
    const struct usage_row *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

static int by_cost(const void *a, const void *b)
{
    const struct usage_row *x = a, *y = b;
    int64_t in = x->usage.input_tokens + x->usage.output_tokens;
    int64_t other = y->usage.input_tokens + y->usage.output_tokens;
    if (x->cost_usd != y->cost_usd)
        return x->cost_usd < y->cost_usd ? 1 : -1;
    if (in != other)
        return in < other ? 1 : -1;
    return str_cmp(x->key, y->key);
}

static void usage_finish(struct usage_job *j, const struct err *err)
{
    assert(!j->op);
    struct usage_row *rows = arena_array(&j->arena, map_len(&j->rows), sizeof *rows);
    struct map_entry *e;
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&j->rows, &i)) != NULL;)
        rows[n++] = *(struct usage_row *)e->value;
    if (n > 1)
        qsort(rows, n, sizeof *rows, j->report.by == USAGE_BY_DAY ? by_key : by_cost);
    j->report.rows = rows;
    j->report.n = n;
    j->fn(j->ctx, err, err ? NULL : &j->report);
    job_free(j);
}

/* ---- conversations that were deleted ---- */

static bool may_count(const struct usage_job *j, const struct json *v)
{
    struct conv_acl acl = {.owner_id = json_get_string(v, "ownerId"), .is_sealed = true};
    return !j->actor || actor_allows(j->actor, &acl, CONV_VIEW);
}

/* A conversation may have been deleted, restored and deleted again: the last deletion is used. */
static void note_deletion(struct usage_job *j, const struct json *v)
{
    str id = json_get_string(v, "conversationId");
    int64_t at = json_get_int(v, "deletedAt", 0), *known = map_get(&j->deleted, id);
    if (!known) {
        known = ARENA_NEW(&j->arena, int64_t);
        map_put(&j->deleted, id, known);
    }
    if (at > *known)
        *known = at;
}

static void count_deletion(struct usage_job *j, const struct json *v)
{
    str id = json_get_string(v, "conversationId");
    const int64_t *at = map_get(&j->deleted, id);
    bool is_last = at && *at == json_get_int(v, "deletedAt", 0);
    if (is_last && !map_get(&j->live, id) && may_count(j, v))
        usage_count(j, v, v, json_get_string(v, "userId"));
}

static void read_deleted(struct usage_job *j);

/* The first pass finds the last deletion of each conversation, the second pass counts. */
static void on_deleted(void *ctx, const struct err *err, str lines)
{
    struct usage_job *j = ctx;
    struct json *v;
    str rest = lines, line;
    j->op = NULL;
    if (err || (lines.n == 0 && j->is_counting)) {
        usage_finish(j, err);
        return;
    }
    while (str_split(&rest, '\n', &line)) {
        if (json_parse(&j->page, line, 0, &v, NULL) == 0)
            (j->is_counting ? count_deletion : note_deletion)(j, v);
        arena_reset(&j->page);
    }
    j->is_counting |= lines.n == 0;
    j->ledger_at = lines.n == 0 ? 0 : j->ledger_at + lines.n;
    read_deleted(j);
}

static void read_deleted(struct usage_job *j)
{
    j->op = store_deleted_usage(j->store, j->ledger_at, on_deleted, j);
}

static void next_log(struct usage_job *j)
{
    j->at++;
    j->pos = 0;
    map_done(&j->runs);
    map_init(&j->runs);
    if (j->at < j->nconvs)
        read_log(j);
    else if (j->is_last_page)
        read_deleted(j);
    else
        next_conversations(j);
}

static void on_events(void *ctx, const struct err *err, const struct store_page *page)
{
    struct usage_job *j = ctx;
    struct arena scratch;
    j->op = NULL;
    if (err && err->code != -ENOENT) { /* deleted meanwhile: skip it */
        usage_finish(j, err);
        return;
    }
    arena_init(&scratch);
    for (size_t i = 0; !err && i < page->n; i++)
        read_usage_line(j, &scratch, page->events[i].line);
    arena_done(&scratch);
    if (err || page->reached_end || page->n == 0) {
        next_log(j);
        return;
    }
    j->pos = page->events[page->n - 1].pos;
    read_log(j);
}

static void read_log(struct usage_job *j)
{
    struct store_range range = {.after = j->pos, .max_bytes = PAGE_BYTES};
    assert(j->at < j->nconvs && !j->op);
    if (j->pos == 0)
        j->report.conversations++;
    j->op = store_read(j->store, j->convs[j->at].id, &range, on_events, j);
}

static void on_usage_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct usage_job *j = ctx;
    int64_t updated;
    j->op = NULL;
    if (err) {
        usage_finish(j, err);
        return;
    }
    arena_reset(&j->page); /* the cursor in it was used */
    j->convs = arena_array(&j->page, l->n, sizeof *j->convs);
    j->nconvs = j->at = 0;
    j->is_last_page = l->next_cursor.n == 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct conv *c = &l->convs[i];
        map_put(&j->live, c->id, j);
        if (clock_parse_iso(c->updated_at, &updated) == 0 && updated < j->report.from_ms) {
            j->is_last_page = true;
            break;
        }
        j->convs[j->nconvs++] = (struct candidate){
            arena_str(&j->page, c->id), arena_str(&j->page, c->acl.owner_id),
            arena_str(&j->page, c->forked_from), arena_str(&j->page, c->created_at)};
    }
    j->cursor = arena_str(&j->page, l->next_cursor);
    if (j->nconvs > 0)
        read_log(j);
    else if (j->is_last_page)
        read_deleted(j);
    else
        next_conversations(j);
}

static void next_conversations(struct usage_job *j)
{
    struct arena a;
    arena_init(&a);
    struct store_query q = {
        .viewer = j->actor ? actor_query_viewer(j->actor, &a) : NULL,
        .limit = CONVS_PER_PAGE,
        .cursor = j->cursor,
        .sort = STORE_BY_UPDATED,
        .with_hidden = true,
    };
    j->op = store_list(j->store, &q, on_usage_listed, j);
    arena_done(&a);
}

struct usage_job *usage_start(struct store *s, struct llm *llm, const struct usage_query *q,
                              usage_fn fn, void *ctx)
{
    struct usage_job *j = xcalloc(1, sizeof *j);
    *j = (struct usage_job){
        .store = s,
        .prices = {.price = llm_price, .price_ctx = llm},
        .actor = actor_ref(q->actor),
        .report = {.by = q->by, .from_ms = q->from_ms, .to_ms = q->to_ms},
        .fn = fn,
        .ctx = ctx,
    };
    arena_init(&j->arena);
    arena_init(&j->page);
    map_init(&j->rows);
    map_init(&j->live);
    map_init(&j->deleted);
    map_init(&j->runs);
    next_conversations(j);
    return j;
}

void usage_cancel(struct usage_job *j)
{
    if (!j)
        return;
    store_op_cancel(j->op);
    job_free(j);
}

/* ---- as JSON ---- */

static void write_row(struct json_writer *w, const struct usage_row *r)
{
    jw_kint(w, "calls", r->calls);
    conv_usage_write(w, &r->usage);
    jw_key(w, "costUsd");
    if (r->unpriced == 0)
        jw_double(w, r->cost_usd);
    else
        jw_null(w);
    jw_kdouble(w, "knownCostUsd", r->cost_usd);
    jw_kint(w, "unpricedCalls", r->unpriced);
    jw_kint(w, "estimatedCalls", r->estimated);
}

static void write_time(struct json_writer *w, const char *key, int64_t ms)
{
    char iso[CLOCK_ISO_LEN + 1];
    clock_iso(ms, iso);
    jw_kcstr(w, key, ms > 0 ? iso : NULL);
}

void usage_write(struct json_writer *w, const struct usage_report *r,
                 str (*name_of)(void *ctx, str user_id), void *ctx)
{
    jw_object(w);
    write_time(w, "from", r->from_ms);
    write_time(w, "to", r->to_ms);
    jw_kstr(w, "groupBy", str_from(KEYS[r->by]));
    jw_kint(w, "conversations", r->conversations);
    jw_kobject(w, "total");
    write_row(w, &r->total);
    jw_end(w);
    jw_karray(w, "rows");
    for (size_t i = 0; i < r->n; i++) {
        jw_object(w);
        jw_kstr(w, KEYS[r->by], r->rows[i].key);
        if (r->by == USAGE_BY_USER && name_of)
            jw_kstr(w, "displayName", name_of(ctx, r->rows[i].key));
        write_row(w, &r->rows[i]);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}
