#include "runtime/turn.h"

#include <assert.h>
#include <errno.h>

#include "base/map.h"
#include "base/random.h"
#include "base/utf8.h"
#include "engine/events.h"

#define HISTORY_PAGE_BYTES (4u * 1024 * 1024)
#define HISTORY_BYTES_MAX  (32u * 1024 * 1024)

static void turn_free(struct turn *t)
{
    struct runtime *rt = t->rt;
    if (map_get(&rt->active, t->conversation_id) == t)
        map_del(&rt->active, t->conversation_id);
    list_del(&t->node);
    rt->nturns--;
    defer_stop(&t->begin);
    transcript_done(&t->transcript);
    skills_unref(t->skills);
    arena_done(&t->arena);
    free(t);
    runtime_check_stopped(rt);
}

static void refuse(struct turn *t, enum turn_refusal why, const struct err *err)
{
    if (t->ev)
        t->ev->on_refused(t->ctx, why, err);
    turn_free(t);
}

/* ---- the run's host ---- */

struct pending_append {
    struct turn *turn;
    run_appended_fn fn;
    void *fn_ctx;
};

static void on_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct pending_append *p = ctx;
    struct turn *t = p->turn;
    run_appended_fn fn = p->fn;
    void *fn_ctx = p->fn_ctx;
    free(p);
    t->appends--;
    if (fn)
        fn(fn_ctx, err);
    else if (err && t->run)
        run_fail(t->run, err);
}

static void host_append(void *ctx, const str *lines, size_t n, run_appended_fn fn, void *fn_ctx)
{
    struct turn *t = ctx;
    for (size_t i = 0; i < n; i++)
        transcript_add(&t->transcript, lines[i]);
    struct pending_append *p = xcalloc(1, sizeof *p);
    *p = (struct pending_append){t, fn, fn_ctx};
    t->appends++;
    store_append(t->rt->deps.store, t->conversation_id, lines, n, on_appended, p);
}

static void host_publish(void *ctx, str type, str data)
{
    struct turn *t = ctx;
    struct arena a;
    arena_init(&a);
    struct bus_msg msg = {
        .topic = store_topic(&a, t->rt->deps.store, t->conversation_id),
        .type = type,
        .data = data,
    };
    bus_publish(t->rt->deps.bus, &msg);
    arena_done(&a);
}

static void host_finished(void *ctx, const struct run_result *res)
{
    struct turn *t = ctx;
    struct runtime *rt = t->rt;
    t->run = NULL;
    if (t->ev) {
        struct turn_result result = {
            .run = res,
            .conversation_id = t->conversation_id,
            .run_id = str_from(t->run_id),
            .skill = t->skill ? t->skill->name : STR_NONE,
        };
        result.is_cost_known = llm_price(rt->deps.llm, res->model, &res->usage, &result.cost_usd);
        t->ev->on_done(t->ctx, &result);
    }
    if (t->is_untitled && res->stop != RUN_STOP_ERROR && res->response.n > 0)
        title_start(rt, t->conversation_id, t->model, t->message, res->response);
    if (rt->on_stopped)
        title_hurry(rt);
    assert(t->appends == 0); /* appends are answered in order, and the end waited for its own */
    turn_free(t);
}

static void start_run(struct turn *t)
{
    static const struct run_host HOST = {
        .append = host_append,
        .prepare = turn_prepare,
        .may_call = turn_may_call,
        .publish = host_publish,
        .finished = host_finished,
    };
    const struct runtime_deps *d = &t->rt->deps;
    const struct config_limits *lim = &d->config->limits;
    struct run_spec spec = {
        .run_id = str_from(t->run_id),
        .conversation_id = t->conversation_id,
        .model = t->model,
        .user_id = t->viewer.user_id,
        .is_workspace_admin = t->viewer.is_workspace_admin,
        .limits = {.max_iterations = (int)lim->max_iterations,
                   .max_input_tokens = lim->max_input_tokens,
                   .max_output_tokens = lim->max_output_tokens},
        .tool_host = t->rt,
    };
    t->run = run_new(d->loop, d->llm, d->tools, &spec, &HOST, t);
    if (t->ev && t->ev->on_started)
        t->ev->on_started(t->ctx, t->conversation_id, spec.run_id, t->is_new);
    run_start(t->run);
    if (t->rt->on_stopped)
        run_cancel(t->run);
}

/* ---- finding or creating the conversation ---- */

static size_t first_events(struct turn *t, str ret[2])
{
    ret[0] = event_user_message(&t->arena, t->viewer.user_id, t->message);
    ret[1] = event_run_start(&t->arena, str_from(t->run_id), t->model, t->viewer.user_id,
                             t->skill ? t->skill->name : STR_NONE);
    return 2;
}

static int choose_model(struct turn *t, str conversation_model, struct err *e)
{
    struct llm *llm = t->rt->deps.llm;
    str why, provider, model;
    if (t->model.n == 0)
        t->model = conversation_model;
    if (t->model.n == 0)
        t->model = llm_default_model(llm, &why);
    int r = llm_resolve(llm, t->model, &provider, &model, e);
    if (r == 0)
        t->model = arena_printf(&t->arena, "%.*s:%.*s", STR_ARG(provider), STR_ARG(model));
    return r;
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv)
{
    struct turn *t = ctx;
    t->op = NULL;
    if (err) {
        refuse(t, TURN_FAILED, err);
        return;
    }
    start_run(t);
}

static void create(struct turn *t)
{
    struct err e = {0};
    if (choose_model(t, STR_NONE, &e) < 0) {
        refuse(t, TURN_BAD_REQUEST, &e);
        return;
    }
    char id[RANDOM_ID_MAX];
    random_id("conv", id);
    t->conversation_id = arena_str(&t->arena, str_from(id));
    t->is_new = t->is_untitled = true;
    map_put(&t->rt->active, t->conversation_id, t);
    turn_match_skill(t);
    str events[2];
    struct conv_create spec = {
        .id = t->conversation_id,
        .owner_id = t->viewer.user_id,
        .channel = t->channel,
        .metadata = t->metadata,
        .events = events,
        .nevents = first_events(t, events),
    };
    for (size_t i = 0; i < spec.nevents; i++)
        transcript_add(&t->transcript, events[i]);
    t->op = store_create(t->rt->deps.store, &spec, on_created, t);
}

static void accept_message(struct turn *t)
{
    turn_match_skill(t);
    str events[2];
    size_t n = first_events(t, events);
    start_run(t);
    host_append(t, events, n, NULL, NULL);
}

static void read_history(struct turn *t, store_pos before);

/* Pages come newest first; the transcript wants the oldest first. */
static void prepend(struct transcript *tr, const struct store_page *page)
{
    size_t total = tr->n + page->n;
    str *lines = arena_array(&tr->arena, total + 16, sizeof(str));
    for (size_t i = 0; i < page->n; i++)
        lines[i] = arena_str(&tr->arena, page->events[i].line);
    if (tr->n > 0)
        memcpy(lines + page->n, tr->lines, tr->n * sizeof(str));
    tr->lines = lines;
    tr->n = total;
    tr->cap = total + 16;
}

static void on_history(void *ctx, const struct err *err, const struct store_page *page)
{
    struct turn *t = ctx;
    t->op = NULL;
    if (err) {
        refuse(t, TURN_FAILED, err);
        return;
    }
    prepend(&t->transcript, page);
    bool is_enough =
        page->reached_start || page->n == 0 || t->transcript.arena.total >= HISTORY_BYTES_MAX;
    if (is_enough)
        accept_message(t);
    else
        read_history(t, page->start);
}

static void read_history(struct turn *t, store_pos before)
{
    struct store_range range = {
        .backwards = true,
        .before = before,
        .max_events = 100000,
        .max_bytes = HISTORY_PAGE_BYTES,
        .with_blobs = true,
    };
    t->op = store_read(t->rt->deps.store, t->conversation_id, &range, on_history, t);
}

static void on_found(void *ctx, const struct err *err, const struct conv *conv)
{
    struct turn *t = ctx;
    struct err e = {0};
    t->op = NULL;
    bool is_absent = err && (err->code == -ENOENT || err->code == -EINVAL);
    if (is_absent || (!err && !access_allows(&t->viewer, &conv->acl, CONV_SEND))) {
        err_set(&e, -ENOENT, "There is no conversation '%.*s'.", STR_ARG(t->conversation_id));
        refuse(t, TURN_NOT_FOUND, &e);
    } else if (err) {
        refuse(t, TURN_FAILED, err);
    } else if (choose_model(t, conv->model, &e) < 0) {
        refuse(t, TURN_BAD_REQUEST, &e);
    } else if (map_get(&t->rt->active, t->conversation_id)) {
        err_set(&e, -EBUSY,
                "The agent is still answering in this conversation. Wait for the "
                "answer, or cancel it.");
        refuse(t, TURN_BUSY, &e);
    } else {
        map_put(&t->rt->active, t->conversation_id, t);
        t->is_untitled = conv->title.n == 0;
        read_history(t, 0);
    }
}

static bool check_message(struct turn *t, struct err *e)
{
    if (str_trim(t->message).n == 0)
        return err_set(e, -EINVAL, "The message is empty.") == 0;
    if (t->message.n > TURN_MESSAGE_MAX)
        return err_set(e, -EINVAL, "The message has %zu bytes; the limit is %u.", t->message.n,
                       TURN_MESSAGE_MAX) == 0;
    if (!utf8_valid(t->message))
        return err_set(e, -EINVAL, "The message is not valid UTF-8.") == 0;
    return true;
}

static void begin(void *ctx)
{
    struct turn *t = ctx;
    struct err e = {0};
    if (!check_message(t, &e))
        refuse(t, TURN_BAD_REQUEST, &e);
    else if (t->conversation_id.n == 0)
        create(t);
    else
        t->op = store_get(t->rt->deps.store, t->conversation_id, on_found, t);
}

static struct json_strs copy_strs(struct arena *a, struct json_strs in)
{
    struct json_strs out = {arena_array(a, in.len, sizeof(str)), in.len};
    for (size_t i = 0; i < in.len; i++)
        out.items[i] = arena_str(a, in.items[i]);
    return out;
}

struct turn *turn_start(struct runtime *rt, const struct turn_request *req,
                        const struct turn_events *ev, void *ctx)
{
    struct turn *t = xcalloc(1, sizeof *t);
    t->rt = rt;
    t->ev = ev;
    t->ctx = ctx;
    arena_init(&t->arena);
    transcript_init(&t->transcript);
    t->viewer = req->viewer;
    t->viewer.user_id = arena_str(&t->arena, req->viewer.user_id);
    t->conversation_id = arena_str(&t->arena, req->conversation_id);
    t->message = arena_str(&t->arena, req->message);
    t->model = arena_str(&t->arena, req->model);
    t->channel = arena_str(&t->arena, req->channel);
    t->allowed_tools = copy_strs(&t->arena, req->allowed_tools);
    t->metadata = req->metadata ? json_clone(&t->arena, req->metadata) : NULL;
    random_id("run", t->run_id);
    list_push(&rt->turns, &t->node);
    rt->nturns++;
    defer_init(&t->begin, begin, t);
    defer_start(rt->deps.loop, &t->begin);
    return t;
}

void turn_forget(struct turn *t)
{
    t->ev = NULL;
}

/* ---- transcripts ---- */

void transcript_init(struct transcript *t)
{
    *t = (struct transcript){0};
    arena_init(&t->arena);
}

void transcript_done(struct transcript *t)
{
    arena_done(&t->arena);
}

void transcript_add(struct transcript *t, str line)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        str *grown = arena_array(&t->arena, cap, sizeof(str));
        if (t->n > 0)
            memcpy(grown, t->lines, t->n * sizeof(str));
        t->lines = grown;
        t->cap = cap;
    }
    t->lines[t->n++] = arena_str(&t->arena, line);
}
