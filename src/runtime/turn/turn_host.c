/* turn_host.c - the host of a run: appends, publishing, the end.
 *
 * Appends are made in order. Between turn_hold() and turn_release() they are kept back, because an
 * event that must stand in front of them is not written yet (request_log.c). The transcript of the
 * turn gets a line immediately, and learns its position in the log when the append is durable. */
#include <assert.h>

#include "engine/events.h"
#include "runtime/budget.h"
#include "runtime/turn/setting.h"
#include "runtime/turn/turn.h"
#include "telemetry/tracer.h"

struct pending_append {
    struct list_node node; /* in turn_log.held */
    const str *lines;      /* copies, while it is held */
    size_t n;
    struct turn *turn;
    run_appended_fn fn;
    void *fn_ctx;
    struct store_spend spend;
    size_t first;   /* index in the transcript */
    size_t skipped; /* llm.request lines in front, which are not in the transcript */
};

static void on_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct pending_append *p = ctx;
    struct turn *t = p->turn;
    run_appended_fn fn = p->fn;
    void *fn_ctx = p->fn_ctx;
    assert(t->log.appends > 0);
    if (err)
        t->transcript->is_lost = true; /* the next turn reads the log again */
    else
        transcript_place(t->transcript, p->first, pos + p->skipped, n - p->skipped);
    free(p);
    t->log.appends--;
    if (fn)
        fn(fn_ctx, err);
    else if (err && t->run)
        run_fail(t->run, err);
}

void turn_note_request(struct turn *t, str line)
{
    if (t->log.nrequest_lines < TURN_REQUEST_LINES_MAX)
        t->log.request_lines[t->log.nrequest_lines++] = line;
}

/* The record of the model's input is written in front of the append: one write, one sync. */
static const str *with_requests(struct turn *t, const str *lines, size_t n)
{
    struct turn_log *l = &t->log;
    str *all = arena_array(&t->arena, n + l->nrequest_lines, sizeof *all);
    memcpy(all, l->request_lines, l->nrequest_lines * sizeof *all);
    memcpy(all + l->nrequest_lines, lines, n * sizeof *all);
    l->nrequest_lines = 0;
    return all;
}

static void start_append(struct pending_append *p, const str *lines, size_t n)
{
    struct turn *t = p->turn;
    if (t->log.nrequest_lines > 0) {
        p->skipped = t->log.nrequest_lines;
        lines = with_requests(t, lines, n);
        n += p->skipped;
    }
    const struct store_terms terms = {.lease = t->busy ? t->busy->lease : NULL, .spend = p->spend};
    store_append_if(t->rt->deps.store, t->conversation_id, &terms, lines, n, on_appended, p);
}

/* The lines are copied: their caller's arena may be reset before the release. */
static void hold_append(struct pending_append *p, const str *lines, size_t n)
{
    struct turn *t = p->turn;
    p->lines = arena_strs(&t->arena, lines, n);
    p->n = n;
    list_push(&t->log.held, &p->node);
}

void turn_append(void *turn, const str *lines, size_t n, run_appended_fn fn, void *fn_ctx)
{
    struct turn *t = turn;
    struct pending_append *p = xcalloc(1, sizeof *p);
    assert(n > 0);
    *p = (struct pending_append){.turn = t, .fn = fn, .fn_ctx = fn_ctx, .first = t->transcript->n};
    for (size_t i = 0; i < n; i++)
        transcript_add(t->transcript, lines[i]);
    p->spend = budgets_note(t->rt->deps.budgets, actor_user(t->actor), lines, n);
    t->log.appends++;
    if (t->log.holds > 0)
        hold_append(p, lines, n);
    else
        start_append(p, lines, n);
}

void turn_hold(struct turn *t)
{
    t->log.holds++;
}

void turn_release(struct turn *t)
{
    assert(t->log.holds > 0);
    if (--t->log.holds > 0)
        return;
    LIST_EACH (p, &t->log.held, struct pending_append, node) {
        list_del(&p->node);
        start_append(p, p->lines, p->n);
    }
}

/* ---- a message for people ---- */

static void on_said(void *ctx, const struct err *err)
{
    struct turn *t = ctx;
    struct message *m = t->msg;
    if (err) {
        turn_refuse(t, turn_not_saved(err), err);
        return;
    }
    queue_taken(m);
    if (m->req.files)
        t->transcript->is_lost = true; /* their bytes are not in it */
    if (m->ev && m->ev->on_said)
        m->ev->on_said(m->ctx, t->conversation_id);
    turn_end(t);
}

/* Only its line is appended: an open question stays open, and the next run reads it. While a run is
 * active the message waits, so that the log still says what each request of that run had. */
void turn_tell_people(struct turn *t)
{
    str line = message_event(t->msg, &t->arena);
    assert(t->busy && !t->run);
    turn_append(t, &line, 1, on_said, t);
}

/* ---- the run ---- */

static bool publish_to_watchers(void *turn, str type, str data)
{
    const struct turn *t = turn;
    return store_publish(t->rt->deps.store, t->conversation_id, type, data);
}

static void notify_done(const struct turn *t, const struct message *m, const struct run_result *res)
{
    if (!m->ev)
        return;
    struct turn_result result = {
        .run = res,
        .conversation_id = t->conversation_id,
        .run_id = str_from(t->run_id),
        .skill = t->skill ? t->skill->name : STR_NONE,
    };
    result.is_cost_known = llm_price(t->rt->deps.llm, res->model, &res->usage, &result.cost_usd);
    m->ev->on_done(m->ctx, &result);
}

/* Senders of messages that steered this run are notified of its end, too. */
static void notify_steerers(struct turn *t, const struct run_result *res)
{
    LIST_EACH (m, &t->busy->waiting, struct message, place.node) {
        if (m->state != MESSAGE_JOINED)
            continue; /* a steering message that the run did not read gets a run of its own */
        notify_done(t, m, res);
        message_free(m);
    }
}

/* The trace of the run itself, or, as long as it has none, that of the caller. */
static struct log_ids ids_of(const struct turn *t, char out[TRACE_ID_LEN + 1])
{
    struct trace_context own = tracer_run_context(t->rt->deps.tracer, str_from(t->run_id));
    return (struct log_ids){t->msg->req.request_id,
                            trace_context_id(own.is_set ? &own : &t->msg->req.trace, out)};
}

/* A failed run is not an error of the server: the client has the message. */
static void log_end(const struct turn *t, const struct run_result *res)
{
    struct logger *log = t->rt->deps.log;
    char trace[TRACE_ID_LEN + 1];
    struct log_ids ids = ids_of(t, trace);
    if (res->stop == RUN_STOP_ERROR)
        log_msg_for(log, LOG_INFO, "runtime", &ids, "%s of %.*s failed after %llu ms: %s: %s",
                    t->run_id, STR_ARG(t->conversation_id), (unsigned long long)res->total_ms,
                    res->error_type ? res->error_type : "error", res->err.msg);
    else
        log_msg_for(log, LOG_INFO, "runtime", &ids, "%s of %.*s ended: %s, %d model calls, %llu ms",
                    t->run_id, STR_ARG(t->conversation_id), run_stop_name(res->stop),
                    res->iterations, (unsigned long long)res->total_ms);
}

/* A message without text is about its files. */
static str subject_of(const struct turn *t)
{
    const struct json *files = t->msg->req.files;
    bool has_text = str_trim(t->text).n > 0 || !files || files->len == 0;
    return has_text ? t->text : json_get_string(&files->items[0], "name");
}

/* Calls that the message has declined have their spans in the run that follows. */
static void trace_begin(const struct turn *t)
{
    const struct turn_child *child = t->msg->req.child;
    struct tracer_run r = {
        .run_id = str_from(t->run_id),
        .conversation_id = t->conversation_id,
        .workspace_id = t->rt->deps.workspace_id,
        .model = t->model,
        .parent_run_id = child ? child->parent_run_id : STR_NONE,
        .parent = &t->msg->req.trace,
    };
    tracer_run_begin(t->rt->deps.tracer, &r);
    for (size_t i = 0; i < t->ndeclined; i++) {
        struct tracer_tool_call c = {.id = t->declined[i].id, .name = t->declined[i].name};
        tracer_tool_called(t->rt->deps.tracer, r.run_id, &c);
    }
}

static void trace_end(const struct turn *t, const struct run_result *res)
{
    struct tracer_end end = {&res->usage, run_stop_name(res->stop), res->error_type};
    tracer_run_end(t->rt->deps.tracer, str_from(t->run_id), &end);
}

static void trace_answer(void *turn, const struct run_answer *a)
{
    const struct turn *t = turn;
    struct tracer_model_call c = {a->model, a->usage, a->finish_reason, a->ms};
    tracer_model_called(t->rt->deps.tracer, str_from(t->run_id), &c);
}

static void trace_tool(void *turn, const struct run_tool_record *r)
{
    const struct turn *t = turn;
    struct tracer_tool_call c = {r->id, r->name, r->ok, r->ms};
    tracer_tool_called(t->rt->deps.tracer, str_from(t->run_id), &c);
}

/* The last callback of the run, which frees itself afterwards. */
static void on_run_finished(void *ctx, const struct run_result *res)
{
    struct turn *t = ctx;
    assert(t->msg->state == MESSAGE_RUNNING && t->run);
    t->run = NULL;
    log_end(t, res);
    trace_end(t, res);
    notify_done(t, t->msg, res);
    notify_steerers(t, res);
    bool has_answer = res->stop != RUN_STOP_ERROR && res->response.n > 0;
    if (t->conv != TURN_CONV_TITLED && has_answer && !turn_is_child(t))
        title_start(t, subject_of(t), res->response);
    assert(t->log.appends == 0 &&
           t->log.holds == 0); /* appends are answered in order, and the end was the last */
    turn_end(t);
}

str turn_run_start_event(struct turn *t, str resumes)
{
    const struct turn_child *child = t->msg->req.child;
    struct event_run ev = {
        .run_id = str_from(t->run_id),
        .model = t->model,
        .user_id = actor_user(t->actor),
        .skill = t->skill ? t->skill->name : STR_NONE,
        .resumes = resumes,
        .parent_run_id = child ? child->parent_run_id : STR_NONE,
        .setting = setting_json(t, &t->arena, str_from(t->run_id)),
    };
    char trace[TRACE_ID_LEN + 1];
    struct log_ids ids = ids_of(t, trace);
    log_msg_for(t->rt->deps.log, LOG_INFO, "runtime", &ids, "%s of %.*s begins with %.*s",
                t->run_id, STR_ARG(t->conversation_id), STR_ARG(t->model));
    return event_run_start(&t->arena, &ev);
}

static struct run_limits limits(const struct turn *t)
{
    struct run_limits lim = {
        .max_iterations = (int)t->limits.max_iterations,
        .max_input_tokens = t->limits.max_input_tokens,
        .max_output_tokens = t->limits.max_output_tokens,
        .is_cut_final = t->msg->req.client && t->msg->req.client->max_output_tokens > 0,
    };
    const struct turn_child *child = t->msg->req.child;
    if (child && child->max_iterations < lim.max_iterations)
        lim.max_iterations = child->max_iterations;
    return lim;
}

static str run_setting(void *turn, struct arena *a)
{
    const struct turn *t = turn;
    return setting_json(t, a, str_from(t->run_id));
}

/* A new conversation belongs to its sender; that of a child run to the owner of its parent. */
static str owner_of(const struct turn *t)
{
    if (t->owner_id.n > 0)
        return t->owner_id;
    return turn_is_child(t) ? t->msg->req.child->owner_id : actor_user(t->actor);
}

void turn_start_run(struct turn *t, const struct run_pending *pending, size_t n)
{
    static const struct run_host HOST = {
        .append = turn_append,
        .prepare = turn_prepare,
        .gate = turn_gate,
        .directory = turn_directory,
        .words = turn_words,
        .actor = turn_actor,
        .setting = run_setting,
        .publish = publish_to_watchers,
        .model_answered = trace_answer,
        .tool_answered = trace_tool,
        .finished = on_run_finished,
    };
    const struct runtime_deps *d = &t->rt->deps;
    assert(!t->run && !t->compaction && t->busy);
    t->info = (struct turn_info){
        .runtime = t->rt,
        .conversation_id = t->conversation_id,
        .run_id = str_from(t->run_id),
        .owner_id = owner_of(t),
        .model = t->model,
        .depth = turn_is_child(t) ? t->msg->req.child->depth : 0,
        .is_unattended = t->is_unattended,
        .auto_allow = t->auto_allow,
    };
    struct run_spec spec = {
        .run_id = t->info.run_id,
        .conversation_id = t->conversation_id,
        .model = t->model,
        .limits = limits(t),
        .tool_host = t,
        .pending = pending,
        .npending = n,
    };
    message_enter(t->msg, MESSAGE_RUNNING);
    trace_begin(t);
    t->run = run_new(d->loop, d->llm, d->tools, &spec, &HOST, t);
    message_announce(t->msg, t->conversation_id, spec.run_id, t->conv == TURN_CONV_NEW);
    run_start(t->run);
    if (t->rt->on_stopped || t->msg->is_cancelled) /* while the turn was starting */
        run_cancel(t->run);
}

void turn_promote(void *tool_host, str tool)
{
    struct turn *t = tool_host;
    promoted_add(&t->promoted, tool);
}

void turn_record(void *tool_host, str line)
{
    turn_append(tool_host, &line, 1, NULL, NULL);
}

const struct turn_info *turn_info(void *tool_host)
{
    const struct turn *t = tool_host;
    return &t->info;
}
