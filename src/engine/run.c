/* run.c - the state machine of a run, its start and its end. run_impl.h has the diagram. */
#include "engine/run.h"

#include <assert.h>

#include "base/clock.h"
#include "base/text/plain.h"
#include "engine/run_impl.h"

/* The names are part of the log format and the API. */
const char *run_stop_name(enum run_stop stop)
{
    static const char *const NAMES[] = {
        [RUN_STOP_COMPLETE] = "complete",         [RUN_STOP_MAX_ITERATIONS] = "max_iterations",
        [RUN_STOP_TOKEN_BUDGET] = "token_budget", [RUN_STOP_LENGTH] = "length",
        [RUN_STOP_REFUSAL] = "refusal",           [RUN_STOP_WAITING] = "waiting",
        [RUN_STOP_CANCELLED] = "cancelled",       [RUN_STOP_ERROR] = "error",
        [RUN_STOP_CLIENT_TOOLS] = "client_tools",
    };
    return NAMES[stop];
}

static void run_free(struct run *r)
{
    defer_stop(&r->next);
    timer_stop(&r->gather);
    deltas_done(&r->deltas);
    drafts_done(&r->drafts);
    buf_done(&r->response);
    arena_done(&r->step);
    arena_done(&r->arena);
    free(r);
}

/* ---- the machine ---- */

#define TO(state) (1u << (state))

/* The arrows of the diagram. RUN_ENDING is reachable from every state before it, because a person
 * can cancel and the log can fail at any time. */
static const unsigned TRANSITIONS[] = {
    [RUN_READY] = TO(RUN_MODEL) | TO(RUN_SAVING) | TO(RUN_ENDING),
    [RUN_MODEL] = TO(RUN_READY) | TO(RUN_CHECKING) | TO(RUN_ENDING),
    [RUN_CHECKING] = TO(RUN_SAVING) | TO(RUN_ENDING),
    [RUN_SAVING] = TO(RUN_TOOLS) | TO(RUN_ENDING),
    [RUN_TOOLS] = TO(RUN_READY) | TO(RUN_ENDING),
    [RUN_ENDING] = TO(RUN_ENDED),
    [RUN_ENDED] = 0,
};

void run_enter(struct run *r, enum run_state state)
{
    assert(TRANSITIONS[r->state] & TO(state));
    assert(!r->call); /* a model call never outlives RUN_MODEL */
    r->state = state;
}

static void finish_run(struct run *r)
{
    run_enter(r, RUN_ENDED);
    if (r->lost.code != 0) { /* the log is incomplete: never report success */
        r->result.stop = RUN_STOP_ERROR;
        r->result.error_type = "storage_error";
        r->result.err = r->lost;
    }
    r->result.response = buf_str(&r->response);
    r->host.finished(r->ctx, &r->result);
    run_free(r);
}

/* Calls that a person has decided on come first: the response that asked for them is in the log,
 * and the model cannot be called before they have results. */
static void continue_run(struct run *r)
{
    if (r->has_pending)
        run_start_pending(r);
    else
        run_call_model(r);
}

/* All results are in the log. The limit is checked here, not before the calls, so that the last
 * iteration still gets its results. */
static void after_tools(struct run *r)
{
    assert(r->recorded == r->ncalls);
    run_watch_repeats(r);
    if (r->result.nclient_calls > 0) {
        run_end(r, RUN_STOP_CLIENT_TOOLS, STR_NONE);
        return;
    }
    if (r->iteration >= r->limits.max_iterations) {
        run_end(r, RUN_STOP_MAX_ITERATIONS, STR_NONE);
        return;
    }
    run_enter(r, RUN_READY);
    continue_run(r);
}

void run_step(struct run *r)
{
    switch (r->state) {
    case RUN_READY:
        continue_run(r);
        break;
    case RUN_MODEL:
        run_after_response(r);
        break;
    case RUN_CHECKING:
        run_after_checks(r);
        break;
    case RUN_SAVING:
        run_start_tools(r);
        break;
    case RUN_TOOLS:
        after_tools(r);
        break;
    case RUN_ENDING:
        finish_run(r);
        break;
    case RUN_ENDED:
        assert(!"a run continues after its end");
    }
}

static void on_next(void *ctx)
{
    struct run *r = ctx;
    assert(r->state == RUN_READY); /* every end stops this deferred */
    run_step(r);
}

/* Deferred: the callers are callbacks of the model call that has just ended. */
void run_again(struct run *r)
{
    run_enter(r, RUN_READY);
    defer_start(r->loop, &r->next);
}

struct run *run_new(struct loop *l, struct llm *llm, struct registry *tools,
                    const struct run_spec *spec, const struct run_host *host, void *ctx)
{
    struct run *r = xcalloc(1, sizeof *r);
    r->loop = l;
    r->llm = llm;
    r->tools = tools;
    r->host = *host;
    r->ctx = ctx;
    arena_init(&r->arena);
    arena_init(&r->step);
    r->id = arena_str(&r->arena, spec->run_id);
    r->conversation_id = arena_str(&r->arena, spec->conversation_id);
    r->model = arena_str(&r->arena, spec->model);
    r->limits = spec->limits;
    r->tool_host = spec->tool_host;
    r->result.model = r->model;
    run_take_pending(r, spec);
    buf_init(&r->response, RESPONSE_MAX);
    deltas_init(&r->deltas, l, run_publish_delta, r);
    drafts_init(&r->drafts, l, run_publish_draft, r);
    defer_init(&r->next, on_next, r);
    timer_init(&r->gather, l, run_gather_over, r);
    return r;
}

str run_id(const struct run *r)
{
    return r->id;
}

str run_streamed(const struct run *r)
{
    return str_slice(buf_str(&r->response), r->response_saved, r->response_shown);
}

void run_write_drafts(const struct run *r, struct json_writer *w)
{
    drafts_write(&r->drafts, w);
}

void run_write_status(const struct run *r, struct json_writer *w)
{
    run_write_retry(r, w);
    run_write_progress(r, w);
}

static struct run_call_state state_of(const struct run *r, const struct run_call *c)
{
    return (struct run_call_state){
        .name = c->name,
        .args = c->args,
        .is_started = r->state == RUN_SAVING || r->state == RUN_TOOLS,
        .is_done = c->is_answered,
    };
}

bool run_find_call(const struct run *r, str call_id, struct run_call_state *ret)
{
    const struct call_draft *d = drafts_find(&r->drafts, call_id);
    if (d)
        *ret = (struct run_call_state){.name = d->name};
    for (size_t i = 0; !d && i < r->ncalls; i++) {
        if (!str_eq(r->calls[i].id, call_id))
            continue;
        *ret = state_of(r, &r->calls[i]);
        return true;
    }
    return d != NULL;
}

/* ---- events for watchers, which are not stored ---- */

void notice_begin(struct notice *n, struct run *r)
{
    deltas_flush(&r->deltas);
    jw_start(&n->w, &n->buf, NOTICE_MAX);
    jw_object(&n->w);
    jw_kstr(&n->w, "runId", r->id);
}

bool notice_end(struct notice *n, struct run *r, str type)
{
    jw_end(&n->w);
    bool is_late = !buf_failed(&n->buf) && r->host.publish(r->ctx, type, buf_str(&n->buf));
    buf_done(&n->buf);
    return is_late;
}

void run_append(struct run *r, const str *lines, size_t n, run_appended_fn fn)
{
    deltas_flush(&r->deltas);
    r->host.append(r->ctx, lines, n, fn, r);
}

/* ---- the end ---- */

/* Also called when the append failed: the host is notified in any case. */
static void on_end_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    if (err)
        r->lost = *err;
    run_step(r);
}

static void begin_end(struct run *r, enum run_stop stop)
{
    run_enter(r, RUN_ENDING);
    r->result.stop = stop;
    r->result.iterations = r->iteration;
    r->result.total_ms = clock_mono_ms() - r->started_ms;
}

void run_end(struct run *r, enum run_stop stop, str line)
{
    begin_end(r, stop);
    str lines[2];
    size_t n = 0;
    if (line.n > 0)
        lines[n++] = line;
    lines[n++] =
        event_run_done(&r->step, r->id, stop, r->stop_detail, r->iteration, r->result.total_ms);
    run_append(r, lines, n, on_end_saved);
}

/* Text that watchers have seen and that is not in the log is kept in the event. */
void run_end_with_error(struct run *r, const char *type, const struct err *err)
{
    begin_end(r, RUN_STOP_ERROR);
    r->result.error_type = type;
    r->result.err = *err;
    plain_err(&r->result.err); /* people and models read it */
    deltas_flush(&r->deltas);  /* run_streamed() below covers published text only */
    str line = event_run_error(&r->step, r->id, type, str_from(r->result.err.msg), run_streamed(r));
    run_append(r, &line, 1, on_end_saved);
}

/* ---- starting and stopping ---- */

void run_start(struct run *r)
{
    assert(r->state == RUN_READY && r->started_ms == 0);
    r->started_ms = clock_mono_ms();
    defer_start(r->loop, &r->next);
}

/* Text of a call that was cancelled, as a line. */
static str keep_partial(struct run *r, const struct event_usage *spent)
{
    run_tell_answer(r, &(struct run_answer){.model = r->model,
                                            .usage = &spent->usage,
                                            .finish_reason = EVENT_FINISH_CANCELLED});
    return event_llm_partial(&r->step, r->id, r->model, run_streamed(r), spent);
}

/* Stops the model call, the probes and the tools that are in progress. Streamed text is kept: the
 * returned line (may be empty) contains it and is appended before the end. */
static str halt(struct run *r, str why)
{
    defer_stop(&r->next);
    str partial = STR_NONE;
    if (r->call) { /* billed, although it has no response */
        struct event_usage spent = run_count_unanswered(r);
        llm_cancel(r->call);
        r->call = NULL;
        drafts_clear(&r->drafts);
        deltas_flush(&r->deltas);
        if (run_streamed(r).n > 0)
            partial = keep_partial(r, &spent);
        else if (spent.is_known)
            partial = event_unanswered(&r->step, r->id, r->model, "cancelled", &spent);
    }
    if (r->state == RUN_CHECKING) /* the results that follow need their calls in the log */
        run_append(r, &r->response_line, 1, NULL);
    run_cancel_tools(r, why);
    return partial;
}

void run_cancel(struct run *r)
{
    if (r->state == RUN_ENDING || r->state == RUN_ENDED)
        return; /* too late: the end is decided */
    str partial = halt(r, STR("Cancelled by the user."));
    run_end(r, RUN_STOP_CANCELLED, partial);
}

void run_fail(struct run *r, const struct err *err)
{
    if (r->state == RUN_ENDING)
        r->lost = *err; /* finish_run() turns the end into an error */
    if (r->state == RUN_ENDING || r->state == RUN_ENDED)
        return;
    (void)halt(r, STR("The conversation could not be saved."));
    run_end_with_error(r, "storage_error", err);
}
