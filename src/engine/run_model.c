/* run_model.c - one model call, and the decision that follows its response. */
#include <assert.h>
#include <errno.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "bus/vocabulary.h"
#include "engine/run_impl.h"
#include "llm/llm.h"

/* ---- the model's answer ---- */

bool run_publish_delta(void *run, str type, str text)
{
    struct run *r = run;
    struct notice n;
    if (str_eq(type, event_name(EV_TEXT_DELTA)))
        r->response_shown += text.n;
    notice_begin(&n, r);
    jw_kstr(&n.w, "text", text);
    return notice_end(&n, r, type);
}

static void add_response_text(struct run *r, str text)
{
    buf_add_str(&r->response, text);
    deltas_add(&r->deltas, event_name(EV_TEXT_DELTA), text);
}

/* Puts a blank line between the texts of two iterations. It is published before the later text,
 * so that the deltas add up to the response. */
static void separate(struct run *r)
{
    str gap = STR("\n\n"), so_far = buf_str(&r->response);
    r->needs_separator = false;
    while (gap.n > 0 && str_ends(so_far, STR("\n"))) {
        gap = str_skip(gap, 1);
        so_far.n--;
    }
    if (gap.n == 0)
        return;
    add_response_text(r, gap);
}

/* Something other than a thought has come. A model may think again between two parts of its answer:
 * the times add up. */
static void stop_thinking(struct run *r)
{
    r->retry.of = 0;
    if (r->thinking_since_ms == 0)
        return;
    uint64_t ms = clock_mono_ms() - r->thinking_since_ms;
    r->thinking_ms += ms > 0 ? ms : 1; /* 0: it did not think */
    r->thinking_since_ms = 0;
}

static void on_model_text(void *ctx, str delta)
{
    struct run *r = ctx;
    if (delta.n == 0)
        return;
    stop_thinking(r);
    if (r->needs_separator)
        separate(r);
    add_response_text(r, delta);
}

static void on_model_thinking(void *ctx, str delta)
{
    struct run *r = ctx;
    r->retry.of = 0;
    if (r->thinking_since_ms == 0)
        r->thinking_since_ms = clock_mono_ms();
    deltas_add(&r->deltas, event_name(EV_REASONING_DELTA), delta);
}

/* The model has begun to write a call; its arguments are not complete yet. */
static void on_tool_announced(void *ctx, str id, str name)
{
    struct run *r = ctx;
    str ui_uri = registry_interface_of(r->tools, name);
    struct notice n;
    stop_thinking(r);
    drafts_begin(&r->drafts, id, name, ui_uri);
    notice_begin(&n, r);
    jw_kstr(&n.w, "id", id);
    jw_kstr(&n.w, "name", name);
    if (ui_uri.n > 0)
        jw_kstr(&n.w, "resourceUri", ui_uri);
    notice_end(&n, r, event_name(EV_TOOL_PREPARING));
}

static void on_tool_written(void *ctx, str id, str piece)
{
    struct run *r = ctx;
    drafts_add(&r->drafts, id, piece);
}

void run_publish_draft(void *run, const struct call_draft *d, str input)
{
    struct run *r = run;
    struct notice n;
    notice_begin(&n, r);
    jw_kstr(&n.w, "id", d->id);
    jw_kraw(&n.w, "input", input);
    notice_end(&n, r, event_name(EV_TOOL_INPUT));
}

static void write_retry(struct json_writer *w, const struct run_retry *retry)
{
    uint64_t now = clock_mono_ms();
    jw_kint(w, "attempt", retry->attempt);
    jw_kint(w, "of", retry->of);
    jw_kint(w, "waitMs", retry->due_ms > now ? (int64_t)(retry->due_ms - now) : 0);
    jw_kstr(w, "message", str_from(retry->why.msg));
}

void run_write_retry(const struct run *r, struct json_writer *w)
{
    if (r->retry.of == 0)
        return;
    jw_kobject(w, "retry");
    write_retry(w, &r->retry);
    jw_end(w);
}

/* Only watchers are told: a retry that succeeds leaves no trace in the log. */
static void on_model_retry(void *ctx, unsigned attempt, unsigned of, uint64_t wait_ms,
                           const struct err *why)
{
    struct run *r = ctx;
    struct notice n;
    r->retry = (struct run_retry){attempt, of, clock_mono_ms() + wait_ms, *why};
    notice_begin(&n, r);
    write_retry(&n.w, &r->retry);
    notice_end(&n, r, event_name(EV_RUN_RETRY));
}

/* The provider bills a cancelled or failed call for its input and the output so far. */
struct event_usage run_count_unanswered(struct run *r)
{
    struct event_usage u = {0};
    u.is_known = llm_usage_so_far(r->call, &u.usage, &u.is_estimated);
    if (u.is_known)
        conv_usage_add(&r->result.usage, &u.usage);
    return u;
}

/* ---- RUN_MODEL: what follows a response ---- */

/* An answer that was cut off is continued, a few times; a call that was cut off is not run. */
static void after_length(struct run *r)
{
    run_append(r, &r->response_line, 1, NULL);
    run_drop_calls(r,
                   STR("Not executed: the message was cut off at its length limit. Send fewer or "
                       "shorter calls."));
    bool is_over = r->continuations == RUN_CONTINUATIONS_MAX || r->limits.is_cut_final ||
                   r->iteration >= r->limits.max_iterations ||
                   r->result.usage.input_tokens > r->limits.max_input_tokens;
    if (is_over) {
        run_end(r, RUN_STOP_LENGTH, STR_NONE);
        return;
    }
    r->continuations++;
    /* The continuation may begin in the middle of a word; only text after calls is separate. */
    r->needs_separator = r->needs_separator && r->ncalls > 0;
    run_again(r);
}

static void after_calls(struct run *r)
{
    bool is_stuck = r->repeats >= RUN_REPEATS_MAX;
    if (!is_stuck && r->result.usage.input_tokens <= r->limits.max_input_tokens) {
        run_check_calls(r);
        return;
    }
    run_append(r, &r->response_line, 1, NULL);
    run_drop_calls(r, is_stuck ? STR("Not executed: the same calls returned the same results "
                                     "several times.")
                               : STR("Not executed: the token budget of this run is used up."));
    r->stop_detail = is_stuck ? "repeated_calls" : NULL;
    run_end(r, is_stuck ? RUN_STOP_MAX_ITERATIONS : RUN_STOP_TOKEN_BUDGET, STR_NONE);
}

void run_after_response(struct run *r)
{
    if (r->response_stop == LLM_STOP_LENGTH) {
        after_length(r);
    } else if (r->response_stop == LLM_STOP_REFUSAL) {
        r->ncalls = 0; /* the normaliser drops the partial turn */
        run_end(r, RUN_STOP_REFUSAL, r->response_line);
    } else if (r->ncalls > 0) {
        after_calls(r);
    } else if (r->response_stop == LLM_STOP_PAUSE && r->iteration < r->limits.max_iterations) {
        run_append(r, &r->response_line, 1,
                   NULL); /* the provider continues the turn in the next call */
        run_again(r);
    } else {
        run_end(r, RUN_STOP_COMPLETE, r->response_line);
    }
}

/* ---- RUN_CHECKING: ask a person, or start the calls ---- */

static void end_waiting(struct run *r, const struct json *calls)
{
    char id[RANDOM_ID_MAX];
    random_id("ask", id);
    str ask_id = arena_str(&r->arena, str_from(id));
    struct json *ask = json_new(&r->arena, JSON_OBJECT);
    json_set(&r->arena, ask, STR("askId"), json_of_str(ask_id));
    json_set(&r->arena, ask, STR("calls"), *calls);
    r->result.ask = ask;
    run_append(r, &r->response_line, 1, NULL);
    run_end(r, RUN_STOP_WAITING,
            event_ask_opened(&r->step, r->id, ask_id, calls, r->host.setting(r->ctx, &r->step)));
}

void run_after_checks(struct run *r)
{
    assert(r->nchecks == 0);
    const struct json *ask = run_calls_to_ask(r);
    if (ask)
        end_waiting(r, ask); /* the run ends here; the answer starts a new run */
    else
        run_save_response(r);
}

/* ---- RUN_MODEL: the last callback of the model call ---- */

void run_tell_answer(struct run *r, const struct run_answer *a)
{
    if (r->host.model_answered)
        r->host.model_answered(r->ctx, a);
}

static void on_model_done(void *ctx, const struct llm_result *res)
{
    struct run *r = ctx;
    assert(r->state == RUN_MODEL);
    r->call = NULL;
    drafts_clear(&r->drafts);
    deltas_flush(&r->deltas);
    conv_usage_add(&r->result.usage, &res->usage);
    r->result.llm_ms += res->ms;
    r->result.model = arena_str(&r->arena, res->model);
    stop_thinking(r);
    r->response_line = event_llm_response(&r->step, r->id, res, r->thinking_ms);
    run_tell_answer(r, &(struct run_answer){.model = res->model,
                                            .usage = &res->usage,
                                            .finish_reason = event_finish_name(res->stop),
                                            .ms = res->ms});
    r->response_stop = res->stop;
    r->response_saved = r->response.n;
    r->needs_separator = r->response.n > 0;
    run_take_calls(r, res);
    run_step(r);
}

static const char *error_type(enum llm_error_kind kind)
{
    static const char *const TYPES[] = {
        [LLM_ERR_AUTH] = "provider_auth_error",  [LLM_ERR_BILLING] = "provider_billing_error",
        [LLM_ERR_MODEL] = "model_not_found",     [LLM_ERR_INVALID] = "provider_invalid_request",
        [LLM_ERR_TOO_LONG] = "context_too_long", [LLM_ERR_OVERLOADED] = "provider_overloaded",
        [LLM_ERR_SERVER] = "provider_error",     [LLM_ERR_NETWORK] = "provider_unreachable",
    };
    return TYPES[kind];
}

static void on_model_fail(void *ctx, const struct llm_failure *f)
{
    struct run *r = ctx;
    assert(r->state == RUN_MODEL);
    struct event_usage spent = run_count_unanswered(r); /* needs the call */
    r->call = NULL;
    r->retry.of = 0;
    drafts_clear(&r->drafts);
    if (spent.is_known) {
        str line = event_unanswered(&r->step, r->id, r->model, "failed", &spent);
        run_append(r, &line, 1, NULL);
    }
    run_end_with_error(r, error_type(f->kind), &f->err);
}

struct llm_request run_request(const struct run_input *in, int64_t max_tokens, str conversation_id)
{
    return (struct llm_request){
        .system_stable = in->system_stable,
        .system_volatile = in->system_volatile,
        .messages = in->messages,
        .nmessages = in->nmessages,
        .tools = in->tools,
        .ntools = in->ntools,
        .tools_key = in->tools_key,
        .max_tokens = max_tokens,
        .thinking = in->thinking,
        .session_key = conversation_id,
    };
}

void run_call_model(struct run *r)
{
    static const struct llm_events EVENTS = {
        .on_text = on_model_text,
        .on_thinking = on_model_thinking,
        .on_tool_start = on_tool_announced,
        .on_tool_args = on_tool_written,
        .on_retry = on_model_retry,
        .on_done = on_model_done,
        .on_fail = on_model_fail,
    };
    assert(r->state == RUN_READY && !r->call);
    arena_reset(&r->step); /* the calls and the response of the last iteration lived here */
    r->calls = NULL;
    r->ncalls = r->recorded = 0;
    r->iteration++;
    r->thinking_ms = r->thinking_since_ms = 0;
    struct run_input in = {0};
    struct err e = {0};
    /* A stuck model gets one more call, whose prompt announces that it is the last. */
    bool is_last = r->iteration == r->limits.max_iterations || r->repeats >= RUN_REPEATS_MAX;
    if (r->host.prepare(r->ctx, &r->step, is_last, &in, &e) < 0) {
        run_end_with_error(r, e.code == -EDQUOT ? "budget_exceeded" : "engine_error", &e);
        return;
    }
    struct llm_request req = run_request(&in, r->limits.max_output_tokens, r->conversation_id);
    run_enter(r, RUN_MODEL);
    r->call = llm_start(r->llm, r->model, &req, &EVENTS, r);
}
