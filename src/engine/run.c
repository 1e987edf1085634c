/* run.c - the machine: its states, its beginning and its end. */
#include "engine/run.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/text/plain.h"
#include "engine/run_impl.h"

#define NOTICE_MAX (1024u * 1024)

const char *run_stop_name(enum run_stop stop)
{
    static const char *const NAMES[] = {
        [RUN_STOP_COMPLETE] = "complete",         [RUN_STOP_MAX_ITERATIONS] = "max_iterations",
        [RUN_STOP_TOKEN_BUDGET] = "token_budget", [RUN_STOP_LENGTH] = "length",
        [RUN_STOP_REFUSAL] = "refusal",           [RUN_STOP_WAITING] = "waiting",
        [RUN_STOP_CANCELLED] = "cancelled",       [RUN_STOP_ERROR] = "error",
    };
    return NAMES[stop];
}

/* ---- the machine ---- */

void run_step(struct run *r)
{
    if (r->state == RUN_TOOLS && r->iteration >= r->limits.max_iterations) {
        run_end(r, RUN_STOP_MAX_ITERATIONS, STR_NONE);
        return;
    }
    if (r->state == RUN_TOOLS)
        r->state = RUN_READY;
    if (r->state != RUN_READY)
        return;
    if (r->has_pending)
        run_start_pending(r);
    else
        run_call_model(r);
}

static void on_next(void *ctx)
{
    run_step(ctx);
}

void run_again(struct run *r)
{
    r->state = RUN_READY;
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
    defer_init(&r->next, on_next, r);
    return r;
}

static void run_free(struct run *r)
{
    defer_stop(&r->next);
    deltas_done(&r->deltas);
    buf_done(&r->response);
    arena_done(&r->step);
    arena_done(&r->arena);
    free(r);
}

str run_id(const struct run *r)
{
    return r->id;
}

str run_streamed(const struct run *r)
{
    return str_slice(buf_str(&r->response), r->response_saved, r->response_shown);
}

/* ---- what watchers see at once, and the log never ---- */

void notice_begin(struct notice *n, struct run *r)
{
    deltas_flush(&r->deltas);
    buf_init(&n->buf, NOTICE_MAX);
    jw_init(&n->w, &n->buf);
    jw_object(&n->w);
    jw_kstr(&n->w, "runId", r->id);
}

void notice_end(struct notice *n, struct run *r, str type)
{
    jw_end(&n->w);
    if (!buf_failed(&n->buf))
        r->host.publish(r->ctx, type, buf_str(&n->buf));
    buf_done(&n->buf);
}

void run_append(struct run *r, const str *lines, size_t n, run_appended_fn fn)
{
    deltas_flush(&r->deltas);
    r->host.append(r->ctx, lines, n, fn, r);
}

/* ---- the end ---- */

static void on_end_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    r->state = RUN_ENDED;
    if (!err && r->lost.code != 0)
        err = &r->lost;
    if (err) {
        r->result.stop = RUN_STOP_ERROR;
        r->result.error_type = "storage_error";
        r->result.err = *err;
    }
    r->result.response = buf_str(&r->response);
    r->host.finished(r->ctx, &r->result);
    run_free(r);
}

/* Appends `line` (may be empty) and the closing event, and waits for both. */
void run_end(struct run *r, enum run_stop stop, str line)
{
    assert(r->state != RUN_ENDING && r->state != RUN_ENDED);
    r->state = RUN_ENDING;
    r->result.stop = stop;
    r->result.iterations = r->iteration;
    r->result.total_ms = clock_mono_ms() - r->started_ms;
    str lines[2];
    size_t n = 0;
    if (line.n > 0)
        lines[n++] = line;
    lines[n++] =
        event_run_done(&r->step, r->id, stop, r->stop_detail, r->iteration, r->result.total_ms);
    run_append(r, lines, n, on_end_saved);
}

void run_end_with_error(struct run *r, const char *type, const struct err *err)
{
    assert(r->state != RUN_ENDING && r->state != RUN_ENDED);
    r->state = RUN_ENDING;
    r->result.stop = RUN_STOP_ERROR;
    r->result.error_type = type;
    r->result.err = *err;
    plain_err(&r->result.err); /* it is for people and models */
    r->result.iterations = r->iteration;
    r->result.total_ms = clock_mono_ms() - r->started_ms;
    deltas_flush(&r->deltas);
    str line = event_run_error(&r->step, r->id, type, str_from(r->result.err.msg), run_streamed(r));
    run_append(r, &line, 1, on_end_saved);
}

/* ---- beginning and stopping ---- */

void run_start(struct run *r)
{
    r->started_ms = clock_mono_ms();
    defer_start(r->loop, &r->next);
}

/* Stops whatever is under way; what had been streamed is kept. Returns a line to append. */
static str halt(struct run *r, str why)
{
    defer_stop(&r->next);
    str partial = STR_NONE;
    if (r->call) {
        struct event_usage spent = run_count_unanswered(r);
        llm_cancel(r->call);
        r->call = NULL;
        deltas_flush(&r->deltas);
        if (run_streamed(r).n > 0)
            partial = event_llm_partial(&r->step, r->id, r->model, run_streamed(r), &spent);
        else if (spent.is_known)
            partial = event_unanswered(&r->step, r->id, r->model, "cancelled", &spent);
    }
    if (r->state == RUN_CHECKING)
        run_append(r, &r->checked_line, 1, NULL);
    run_cancel_tools(r, why);
    return partial;
}

void run_cancel(struct run *r)
{
    if (r->state == RUN_ENDING || r->state == RUN_ENDED)
        return;
    str partial = halt(r, STR("Cancelled by the user."));
    run_end(r, RUN_STOP_CANCELLED, partial);
}

void run_fail(struct run *r, const struct err *err)
{
    if (r->state == RUN_ENDING)
        r->lost = *err; /* the end must not be taken for success */
    if (r->state == RUN_ENDING || r->state == RUN_ENDED)
        return;
    (void)halt(r, STR("The conversation could not be saved."));
    run_end_with_error(r, "storage_error", err);
}
