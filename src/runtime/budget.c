/* {"workspaceUsd": 100, "personUsd": 20, "people": {USER: 5}} */
#include "runtime/budget.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "store/event/derive.h"

#define FILE_MAX (1024u * 1024)
#define NO_LIMIT (-1.0)

struct spender {
    double logs;   /* as read from the logs */
    double stored; /* as counted by the store */
    double noted;  /* calls of this server: all, or since the reading of the store began */
    double older;  /* since the reading before began, until the one under way has ended */
};

struct budgets {
    struct doc_file *file;
    struct store *store; /* NULL before budgets_start and after budgets_stop */
    struct llm *llm;
    struct store_env prices;
    struct usage_job *job; /* reads the month so far */
    struct store_op *op;   /* reads what the store has counted */
    char op_month[STORE_MONTH_LEN + 1];
    bool is_read;                     /* that has ended once in this month */
    uint64_t read_ms;                 /* when the last one began */
    struct list_node waiting, served; /* struct budget_wait: for the next reading, for this one */
    char month[STORE_MONTH_LEN + 1];  /* that is counted; empty = none */
    struct spender all;               /* the workspace */
    struct arena arena;               /* of the people */
    struct map people;                /* user id -> struct spender */
};

/* ---- limits ---- */

static double amount(const struct json *v)
{
    double usd = v && v->type != JSON_NULL ? json_double(v, NO_LIMIT) : NO_LIMIT;
    return usd >= 0 && usd <= BUDGET_USD_MAX ? usd : NO_LIMIT;
}

static double workspace_limit(const struct budgets *b)
{
    return amount(json_get(doc_file_root(b->file), "workspaceUsd"));
}

static double person_limit(const struct budgets *b, str user_id)
{
    const struct json *root = doc_file_root(b->file);
    const struct json *own = json_get_str(json_get(root, "people"), user_id);
    return amount(own ? own : json_get(root, "personUsd"));
}

static bool has_limits(const struct budgets *b)
{
    const struct json *root = doc_file_root(b->file);
    const struct json *people = json_get(root, "people");
    return workspace_limit(b) >= 0 || amount(json_get(root, "personUsd")) >= 0 ||
           (json_is(people, JSON_OBJECT) && people->len > 0);
}

/* ---- counting ---- */

static double spent(const struct spender *s)
{
    return s ? s->logs + s->stored + s->older + s->noted : 0;
}

/* NULL for nobody in particular. */
static struct spender *spender_of(struct budgets *b, str user_id)
{
    struct spender *s = map_get(&b->people, user_id);
    if (!s && user_id.n > 0) {
        s = ARENA_NEW(&b->arena, struct spender);
        map_put(&b->people, arena_str(&b->arena, user_id), s);
    }
    return s;
}

static void forget_spending(struct budgets *b)
{
    usage_cancel(b->job);
    b->job = NULL;
    b->all = (struct spender){0};
    b->month[0] = '\0';
    b->is_read = false;
    map_done(&b->people);
    map_init(&b->people);
    arena_done(&b->arena);
    arena_init(&b->arena);
}

static void on_month_read(void *ctx, const struct err *err, const struct usage_report *r)
{
    struct budgets *b = ctx;
    b->job = NULL;
    if (err) {
        b->month[0] = '\0'; /* the next call tries again */
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        spender_of(b, r->rows[i].key)->logs += r->rows[i].cost_usd;
        b->all.logs += r->rows[i].cost_usd;
    }
}

/* The calls of this month before `to_ms`; later ones are counted elsewhere. */
static void read_logs(struct budgets *b, int64_t to_ms)
{
    int64_t from = 0;
    char first[sizeof "2026-03-01"];
    snprintf(first, sizeof first, "%.7s-01", b->month);
    if (clock_parse_iso(str_from(first), &from) < 0 || !b->store || to_ms <= from)
        return;
    struct usage_query q = {.by = USAGE_BY_USER, .from_ms = from, .to_ms = to_ms};
    b->job = usage_start(b->store, b->llm, &q, on_month_read, b);
}

/* ---- what the store has counted ---- */

static void each_spender(struct budgets *b, void (*fn)(struct spender *s))
{
    struct map_entry *e;
    fn(&b->all);
    for (size_t i = 0; (e = map_next(&b->people, &i)) != NULL;)
        fn(e->value);
}

static void begin_reading(struct spender *s)
{
    s->older += s->noted;
    s->noted = 0;
}

static void reading_failed(struct spender *s)
{
    s->noted += s->older;
    s->older = 0;
}

static void forget_stored(struct spender *s)
{
    s->stored = s->older = 0;
}

static void read_store(struct budgets *b);

static void call_all(struct list_node *waits)
{
    struct list_node *n;
    while ((n = list_pop(waits)) != NULL) {
        struct budget_wait *w = LIST_ENTRY(n, struct budget_wait, node);
        w->fn(w->ctx);
    }
}

static void call_waiting(struct budgets *b)
{
    call_all(&b->served);
    if (!b->month[0]) /* the limits are gone */
        call_all(&b->waiting);
    else if (!list_empty(&b->waiting) && !b->op)
        read_store(b);
}

static void take_stored(struct budgets *b, const struct store_spending *r)
{
    each_spender(b, forget_stored);
    for (size_t i = 0; i < r->n; i++) {
        struct spender *s = spender_of(b, r->rows[i].user_id);
        if (s)
            s->stored = r->rows[i].usd;
        b->all.stored += r->rows[i].usd;
    }
    if (!b->is_read)
        read_logs(b, r->since_ms);
    b->is_read = true;
}

static void on_store_read(void *ctx, const struct err *err, const struct store_spending *r)
{
    struct budgets *b = ctx;
    b->op = NULL;
    if (err || strcmp(b->op_month, b->month) != 0)
        each_spender(b, reading_failed);
    else
        take_stored(b, r);
    call_waiting(b);
}

static void read_store(struct budgets *b)
{
    struct list_node *n;
    assert(!b->op && b->store);
    while ((n = list_pop(&b->waiting)) != NULL)
        list_push(&b->served, n);
    each_spender(b, begin_reading);
    b->read_ms = clock_mono_ms();
    memcpy(b->op_month, b->month, sizeof b->op_month);
    b->op = store_read_spending(b->store, str_from(b->month), on_store_read, b);
}

static bool is_shared(const struct budgets *b)
{
    return b->store && store_counts_spending(b->store);
}

static bool is_stale(const struct budgets *b)
{
    return !b->is_read || clock_mono_ms() - b->read_ms >= BUDGET_STALE_MS;
}

/* What is appended from now on is added by budgets_note: the logs are read up to this moment. */
static void begin_month(struct budgets *b, const char *month)
{
    forget_spending(b);
    snprintf(b->month, sizeof b->month, "%.7s", month);
    if (!is_shared(b))
        read_logs(b, clock_now_ms());
}

static void follow(struct budgets *b)
{
    char now[CLOCK_ISO_LEN + 1];
    if (!has_limits(b)) {
        if (b->month[0])
            forget_spending(b);
        return;
    }
    clock_iso(clock_now_ms(), now);
    now[STORE_MONTH_LEN] = '\0';
    if (strcmp(b->month, now) != 0)
        begin_month(b, now);
    if (is_shared(b) && !b->op && is_stale(b))
        read_store(b);
}

void budgets_fresh(struct budgets *b, struct budget_wait *wait, loop_fn fn, void *ctx)
{
    if (b)
        follow(b);
    if (!b || !is_shared(b) || !b->month[0]) {
        fn(ctx);
        return;
    }
    *wait = (struct budget_wait){.fn = fn, .ctx = ctx};
    list_push(&b->waiting, &wait->node);
    if (!b->op)
        read_store(b);
}

void budgets_forget(struct budget_wait *wait)
{
    if (wait->node.next)
        list_del(&wait->node);
}

static double cost_of(const struct budgets *b, str line)
{
    struct event_head head;
    struct json *v;
    struct arena a;
    double usd = 0;
    if (!event_scan(line, &head) || (head.type != EV_LLM_RESPONSE && head.type != EV_AUX_USAGE))
        return 0;
    arena_init(&a);
    /* A delegated run notes its own calls, and a quoted answer was made elsewhere. */
    if (json_parse(&a, line, 0, &v, NULL) == 0 && !json_get(v, "quoted") &&
        !str_eq(json_get_string(v, "source"), STR("delegate"))) {
        struct conv_usage u = {0};
        derive_usage(v, &u);
        if (!derive_cost(&b->prices, v, json_get_string(v, "model"), &u, &usd) || !(usd > 0))
            usd = 0;
    }
    arena_done(&a);
    return usd < BUDGET_USD_MAX ? usd : BUDGET_USD_MAX;
}

struct store_spend budgets_note(struct budgets *b, str user_id, const str *lines, size_t n)
{
    struct store_spend sum = {.user_id = user_id};
    if (!b || (!b->month[0] && !is_shared(b)))
        return sum;
    for (size_t i = 0; i < n; i++)
        sum.usd += cost_of(b, lines[i]);
    if (sum.usd > 0 && b->month[0]) {
        struct spender *s = spender_of(b, user_id);
        if (s)
            s->noted += sum.usd;
        b->all.noted += sum.usd;
    }
    return sum;
}

/* ---- asking ---- */

static double spent_by(const struct budgets *b, str user_id)
{
    return spent(map_get(&b->people, user_id));
}

static bool is_spent(double limit, double usd)
{
    return limit >= 0 && usd >= limit;
}

int budgets_check(struct budgets *b, str user_id, struct err *e)
{
    if (!b)
        return 0;
    follow(b);
    if (is_spent(person_limit(b, user_id), spent_by(b, user_id)))
        return err_set(e, -EDQUOT,
                       "Your budget of $%.2f for this month is used up. An admin of the workspace "
                       "can raise it; the next month begins with a new one.",
                       person_limit(b, user_id));
    if (is_spent(workspace_limit(b), spent(&b->all)))
        return err_set(e, -EDQUOT,
                       "The budget of this workspace for this month is used up. An admin can raise "
                       "it; the next month begins with a new one.");
    return 0;
}

static const char *state_name(double limit, double usd)
{
    return limit < 0                       ? "unlimited"
           : usd >= limit                  ? "stopped"
           : usd >= BUDGET_WARNING * limit ? "warning"
                                           : "ok";
}

static void write_limit(struct json_writer *w, const char *key, double limit)
{
    jw_key(w, key);
    if (limit >= 0)
        jw_double(w, limit);
    else
        jw_null(w);
}

static void write_part(struct json_writer *w, const char *key, double limit, double usd,
                       bool with_amounts)
{
    jw_kobject(w, key);
    jw_kcstr(w, "state", state_name(limit, usd));
    if (with_amounts) {
        write_limit(w, "limitUsd", limit);
        jw_kdouble(w, "spentUsd", usd);
    }
    jw_end(w);
}

static void write_limits(struct json_writer *w, const struct budgets *b)
{
    const struct json *root = doc_file_root(b->file), *people = json_get(root, "people");
    jw_kobject(w, "limits");
    write_limit(w, "workspaceUsd", workspace_limit(b));
    write_limit(w, "personUsd", amount(json_get(root, "personUsd")));
    jw_kobject(w, "people");
    for (size_t i = 0; json_is(people, JSON_OBJECT) && i < people->len; i++) {
        jw_key_str(w, people->members[i].key);
        jw_double(w, amount(&people->members[i].value));
    }
    jw_end(w);
    jw_end(w);
}

void budgets_write(struct budgets *b, str user_id, bool is_admin, struct json_writer *w)
{
    if (b)
        follow(b);
    bool is_counted = b && b->month[0];
    jw_kcstr(w, "month", is_counted ? b->month : NULL);
    jw_kbool(w, "isCounting", is_counted && (b->job || (is_shared(b) && !b->is_read)));
    write_part(w, "personal", b ? person_limit(b, user_id) : NO_LIMIT,
               is_counted ? spent_by(b, user_id) : 0, true);
    write_part(w, "workspace", b ? workspace_limit(b) : NO_LIMIT, is_counted ? spent(&b->all) : 0,
               is_admin);
    if (b && is_admin)
        write_limits(w, b);
}

/* ---- changing ---- */

struct budget_data {
    const struct json *workspace, *person, *people;
};

static int set_amount(struct arena *a, struct json *in, str key, const struct json *v,
                      struct err *e)
{
    if (!v)
        return 0;
    if (v->type == JSON_NULL) {
        json_unset(in, arena_cstr(a, key));
        return 0;
    }
    if (amount(v) < 0)
        return err_set(e, -EINVAL, "%.*s: expected an amount in US dollars, or null", STR_ARG(key));
    json_set(a, in, arena_str(a, key), *json_clone(a, v));
    return 0;
}

static int apply_budget(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const struct budget_data *d = data;
    struct json *people = json_get(doc, "people");
    if (!json_is(people, JSON_OBJECT))
        people = json_set(a, doc, STR("people"), *json_new(a, JSON_OBJECT));
    int r = 0;
    for (size_t i = 0; r == 0 && d->people && i < d->people->len; i++)
        r = set_amount(a, people, d->people->members[i].key, &d->people->members[i].value, e);
    if (r == 0 && people->len > BUDGET_PEOPLE_MAX)
        r = err_set(e, -EPERM, "At most %u people can have a budget of their own.",
                    BUDGET_PEOPLE_MAX);
    if (r == 0)
        r = set_amount(a, doc, STR("workspaceUsd"), d->workspace, e);
    return r == 0 ? set_amount(a, doc, STR("personUsd"), d->person, e) : r;
}

struct doc_change *budgets_change(struct budgets *b, const struct budget_edit *edit,
                                  doc_changed_fn fn, void *ctx)
{
    struct doc_change *c = doc_change_new();
    struct budget_data *d = ARENA_NEW(&c->arena, struct budget_data);
    d->workspace = edit->workspace ? json_clone(&c->arena, edit->workspace) : NULL;
    d->person = edit->person ? json_clone(&c->arena, edit->person) : NULL;
    d->people = edit->people ? json_clone(&c->arena, edit->people) : NULL;
    doc_change_start(b->file, c, apply_budget, d, fn, ctx);
    return c;
}

/* ---- life ---- */

struct budgets *budgets_open(const struct doc_place *at)
{
    struct budgets *b = xcalloc(1, sizeof *b);
    b->file = doc_file_open(at, FILE_MAX);
    arena_init(&b->arena);
    map_init(&b->people);
    list_init(&b->waiting);
    list_init(&b->served);
    return b;
}

void budgets_reload(struct budgets *b)
{
    doc_file_reload(b->file);
}

void budgets_start(struct budgets *b, struct store *store, struct llm *llm)
{
    assert(!b->store);
    b->store = store;
    b->llm = llm;
    b->prices = (struct store_env){.price = llm_price, .price_ctx = llm};
    follow(b);
}

void budgets_stop(struct budgets *b)
{
    if (!b)
        return;
    assert(list_empty(&b->waiting) && list_empty(&b->served));
    usage_cancel(b->job);
    b->job = NULL;
    if (b->op)
        store_op_cancel(b->op);
    b->op = NULL;
    b->store = NULL;
}

void budgets_free(struct budgets *b)
{
    if (!b)
        return;
    assert(!b->job);
    doc_file_free(b->file);
    map_done(&b->people);
    arena_done(&b->arena);
    free(b);
}
