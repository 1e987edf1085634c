#include "engine/run.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "engine/events.h"
#include "tools/result.h"

#define RESPONSE_MAX (16u * 1024 * 1024)
#define NOTICE_MAX   (1024u * 1024)
#define CALLS_MAX    128 /* tool calls in one response; the rest get an error result */

enum run_state {
    RUN_READY,  /* about to call the model */
    RUN_MODEL,  /* the model is answering */
    RUN_SAVING, /* its response is on its way to the disk */
    RUN_TOOLS,  /* tools are running */
    RUN_ENDING, /* the last event is on its way to the disk */
    RUN_ENDED,
};

/* One tool call of the current iteration. */
struct call {
    struct run *run;
    str id, name, args; /* args: JSON text */
    const char *args_error;
    struct registry_call *handle; /* NULL = not started or answered */
    uint64_t started_ms, ms;
    str line; /* its tool.done event, once it is answered */
    bool is_answered, ok;
    str output;
};

struct run {
    struct loop *loop;
    struct llm *llm;
    struct registry *tools;
    struct run_host host;
    void *ctx;
    struct arena arena; /* lives as long as the run */
    struct arena step;  /* lives for one iteration */

    str id, conversation_id, model, user_id;
    bool is_workspace_admin;
    struct run_limits limits;
    void *tool_host;

    enum run_state state;
    int iteration;
    uint64_t started_ms, model_started_ms;
    struct llm_call *call;
    struct call *calls;
    size_t ncalls, recorded;

    struct buf response;   /* all text of all iterations */
    size_t response_saved; /* how much of it is in the log */
    bool needs_separator;
    struct run_result result;
    struct run_tool_record *records;
    size_t records_cap;
    struct deferred next; /* run_step at the end of this turn of the loop */
};

static void step(void *ctx);

const char *run_stop_name(enum run_stop stop)
{
    static const char *const NAMES[] = {
        [RUN_STOP_COMPLETE] = "complete",
        [RUN_STOP_MAX_ITERATIONS] = "max_iterations",
        [RUN_STOP_TOKEN_BUDGET] = "token_budget",
        [RUN_STOP_LENGTH] = "length",
        [RUN_STOP_REFUSAL] = "refusal",
        [RUN_STOP_CANCELLED] = "cancelled",
        [RUN_STOP_ERROR] = "error",
    };
    return NAMES[stop];
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
    r->user_id = arena_str(&r->arena, spec->user_id);
    r->is_workspace_admin = spec->is_workspace_admin;
    r->limits = spec->limits;
    r->tool_host = spec->tool_host;
    r->result.model = r->model;
    buf_init(&r->response, RESPONSE_MAX);
    defer_init(&r->next, step, r);
    return r;
}

static void run_free(struct run *r)
{
    defer_stop(&r->next);
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
    return str_skip(buf_str(&r->response), r->response_saved);
}

/* ---- what watchers see at once, and the log never ---- */

struct notice {
    struct buf buf;
    struct json_writer w;
};

static void notice_begin(struct notice *n, const struct run *r)
{
    buf_init(&n->buf, NOTICE_MAX);
    jw_init(&n->w, &n->buf);
    jw_object(&n->w);
    jw_kstr(&n->w, "runId", r->id);
}

static void notice_end(struct notice *n, struct run *r, str type)
{
    jw_end(&n->w);
    if (!buf_failed(&n->buf))
        r->host.publish(r->ctx, type, buf_str(&n->buf));
    buf_done(&n->buf);
}

/* ---- the end ---- */

static void on_end_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    r->state = RUN_ENDED;
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
static void end(struct run *r, enum run_stop stop, str line)
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
    lines[n++] = event_run_done(&r->step, r->id, stop, r->iteration, r->result.total_ms);
    r->host.append(r->ctx, lines, n, on_end_saved, r);
}

static void end_with_error(struct run *r, const char *type, const struct err *err)
{
    assert(r->state != RUN_ENDING && r->state != RUN_ENDED);
    r->state = RUN_ENDING;
    r->result.stop = RUN_STOP_ERROR;
    r->result.error_type = type;
    r->result.err = *err;
    r->result.iterations = r->iteration;
    r->result.total_ms = clock_mono_ms() - r->started_ms;
    str line = event_run_error(&r->step, r->id, type, str_from(err->msg), run_streamed(r));
    r->host.append(r->ctx, &line, 1, on_end_saved, r);
}

/* ---- tools ---- */

static void keep_record(struct run *r, const struct call *c)
{
    struct run_result *res = &r->result;
    if (res->ntools == r->records_cap) {
        size_t cap = r->records_cap ? r->records_cap * 2 : 8;
        struct run_tool_record *grown = arena_array(&r->arena, cap, sizeof *grown);
        if (res->ntools > 0)
            memcpy(grown, r->records, res->ntools * sizeof *grown);
        r->records = grown;
        r->records_cap = cap;
        res->tools = grown;
    }
    r->records[res->ntools++] = (struct run_tool_record){
        .id = arena_str(&r->arena, c->id),
        .name = arena_str(&r->arena, c->name),
        .input = arena_str(&r->arena, c->args),
        .output = arena_str(&r->arena, c->output),
        .ok = c->ok,
        .ms = c->ms,
    };
}

/* The model sees the results only once the log holds them, so that watchers get them before
 * the text that follows. */
static void on_results_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    if (r->state != RUN_TOOLS)
        return; /* cancelled or dropped; the end is on its way */
    if (err)
        end_with_error(r, "storage_error", err);
    else
        step(r);
}

/* Results are recorded in call order: a finished call waits for the ones before it. */
static void record_answers(struct run *r)
{
    str *lines = arena_array(&r->step, r->ncalls, sizeof *lines);
    size_t n = 0;
    while (r->recorded < r->ncalls && r->calls[r->recorded].is_answered) {
        struct call *c = &r->calls[r->recorded++];
        lines[n++] = c->line;
        keep_record(r, c);
    }
    bool is_all = r->recorded == r->ncalls;
    if (n > 0)
        r->host.append(r->ctx, lines, n, is_all ? on_results_saved : NULL, r);
}

static void publish_settled(struct run *r, const struct call *c)
{
    struct notice n;
    notice_begin(&n, r);
    jw_kstr(&n.w, "id", c->id);
    jw_kstr(&n.w, "name", c->name);
    jw_kbool(&n.w, "ok", c->ok);
    jw_kint(&n.w, "ms", (int64_t)c->ms);
    notice_end(&n, r, STR("tool.settled"));
}

static void answer(struct call *c, const struct tool_result *res)
{
    struct run *r = c->run;
    c->handle = NULL;
    c->is_answered = true;
    c->ok = !res->is_error;
    c->ms = c->started_ms ? clock_mono_ms() - c->started_ms : 0;
    c->output = tool_result_to_text(&r->step, res);
    c->line = event_tool_done(&r->step, r->id, c->id, c->name, res, c->ms);
    publish_settled(r, c);
}

static void answer_error(struct call *c, str why)
{
    struct tool_result res = tool_result_error(&c->run->step, "%.*s", STR_ARG(why));
    answer(c, &res);
}

static void on_tool_done(void *ctx, const struct tool_result *res)
{
    struct call *c = ctx;
    struct run *r = c->run;
    answer(c, res);
    record_answers(r);
}

static void on_tool_progress(void *ctx, double progress, double total, str message)
{
    const struct call *c = ctx;
    struct notice n;
    notice_begin(&n, c->run);
    jw_kstr(&n.w, "id", c->id);
    jw_key(&n.w, "progress");
    jw_double(&n.w, progress);
    if (total > 0) {
        jw_key(&n.w, "total");
        jw_double(&n.w, total);
    }
    if (message.n > 0)
        jw_kstr(&n.w, "message", message);
    notice_end(&n, c->run, STR("tool.progress"));
}

static void start_call(struct run *r, struct call *c)
{
    str why;
    struct json *args = NULL;
    struct err e = {0};
    c->started_ms = clock_mono_ms();
    if (c->args_error) {
        answer_error(c, arena_printf(&r->step,
                                     "The arguments are not valid JSON (%s). Send the "
                                     "call again with one JSON object.",
                                     c->args_error));
        return;
    }
    if (!r->host.may_call(r->ctx, c->name, &why)) {
        answer_error(c, why);
        return;
    }
    if (json_parse(&r->step, c->args, 0, &args, &e) < 0) {
        answer_error(c, arena_printf(&r->step, "The arguments are not valid JSON: %s", e.msg));
        return;
    }
    struct tool_caller who = {
        .user_id = r->user_id,
        .is_workspace_admin = r->is_workspace_admin,
        .conversation_id = r->conversation_id,
        .run_id = r->id,
        .call_id = c->id,
        .remaining_iterations = r->limits.max_iterations - r->iteration,
        .host = r->tool_host,
    };
    static const struct registry_call_events EVENTS = {on_tool_done, on_tool_progress};
    c->handle = registry_call(r->tools, c->name, args, &who, &EVENTS, c);
}

static void start_tools(struct run *r)
{
    r->state = RUN_TOOLS;
    for (size_t i = 0; i < r->ncalls; i++)
        if (!r->calls[i].is_answered)
            start_call(r, &r->calls[i]);
    record_answers(r);
}

static void cancel_tools(struct run *r, str why)
{
    for (size_t i = 0; i < r->ncalls; i++) {
        struct call *c = &r->calls[i];
        if (c->is_answered)
            continue;
        if (c->handle)
            registry_cancel(c->handle);
        answer_error(c, why);
    }
    record_answers(r);
}

/* ---- the model's answer ---- */

static void publish_delta(struct run *r, str type, str text)
{
    struct notice n;
    notice_begin(&n, r);
    jw_kstr(&n.w, "text", text);
    notice_end(&n, r, type);
}

/* A blank line between the texts of two iterations. It goes out before the later text, so
 * that the deltas add up to the response. */
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
    buf_add_str(&r->response, gap);
    publish_delta(r, STR("text.delta"), gap);
}

static void on_text(void *ctx, str delta)
{
    struct run *r = ctx;
    if (delta.n == 0)
        return;
    if (r->needs_separator)
        separate(r);
    buf_add_str(&r->response, delta);
    publish_delta(r, STR("text.delta"), delta);
}

static void on_thinking(void *ctx, str delta)
{
    publish_delta(ctx, STR("reasoning.delta"), delta);
}

static void on_tool_announced(void *ctx, str id, str name)
{
    struct run *r = ctx;
    struct notice n;
    notice_begin(&n, r);
    jw_kstr(&n.w, "id", id);
    jw_kstr(&n.w, "name", name);
    notice_end(&n, r, STR("tool.preparing"));
}

static void on_retry(void *ctx, unsigned attempt, uint64_t wait_ms, const struct err *why)
{
    struct run *r = ctx;
    struct notice n;
    notice_begin(&n, r);
    jw_kint(&n.w, "attempt", attempt);
    jw_kint(&n.w, "waitMs", (int64_t)wait_ms);
    jw_kstr(&n.w, "message", str_from(why->msg));
    notice_end(&n, r, STR("run.retry"));
}

static void add_usage(struct conv_usage *sum, const struct conv_usage *u)
{
    sum->input_tokens += u->input_tokens;
    sum->output_tokens += u->output_tokens;
    sum->cache_read_tokens += u->cache_read_tokens;
    sum->cache_write_5m_tokens += u->cache_write_5m_tokens;
    sum->cache_write_1h_tokens += u->cache_write_1h_tokens;
}

/* Copies the calls out of the response: its memory is the provider's. */
static void take_calls(struct run *r, const struct llm_result *res)
{
    size_t n = 0;
    for (size_t i = 0; i < res->n; i++)
        n += res->blocks[i].type == LLM_TOOL_USE;
    r->calls = arena_array(&r->step, n, sizeof *r->calls);
    r->ncalls = r->recorded = 0;
    for (size_t i = 0; i < res->n; i++) {
        const struct llm_block *b = &res->blocks[i];
        if (b->type != LLM_TOOL_USE)
            continue;
        r->calls[r->ncalls++] = (struct call){
            .run = r,
            .id = arena_str(&r->step, b->id),
            .name = arena_str(&r->step, b->name),
            .args = b->args.n > 0 && !b->args_error ? arena_str(&r->step, b->args) : STR("{}"),
            .args_error = b->args_error ? arena_cstr(&r->step, str_from(b->args_error)) : NULL,
        };
    }
}

static void on_response_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    if (r->state != RUN_SAVING)
        return; /* cancelled meanwhile; its end is on its way */
    if (err) {
        end_with_error(r, "storage_error", err);
        return;
    }
    start_tools(r);
}

/* Calls that will not run still get a result, so that the next request is valid. */
static void drop_calls(struct run *r, str why)
{
    for (size_t i = 0; i < r->ncalls; i++)
        answer_error(&r->calls[i], why);
    record_answers(r);
}

static void save_and_start_tools(struct run *r, str response_line)
{
    str *lines = arena_array(&r->step, r->ncalls + 1, sizeof(str));
    size_t n = 0;
    lines[n++] = response_line;
    for (size_t i = 0; i < r->ncalls; i++) {
        struct call *c = &r->calls[i];
        lines[n++] = event_tool_start(&r->step, r->id, c->id, c->name, c->args);
    }
    r->state = RUN_SAVING;
    r->host.append(r->ctx, lines, n, on_response_saved, r);
    for (size_t i = CALLS_MAX; i < r->ncalls; i++)
        answer_error(&r->calls[i], STR("Too many tool calls in one response; call again."));
}

static enum run_stop stop_without_calls(enum llm_stop stop)
{
    switch (stop) {
    case LLM_STOP_LENGTH:
        return RUN_STOP_LENGTH;
    case LLM_STOP_REFUSAL:
        return RUN_STOP_REFUSAL;
    default:
        return RUN_STOP_COMPLETE;
    }
}

static void on_done(void *ctx, const struct llm_result *res)
{
    struct run *r = ctx;
    r->call = NULL;
    add_usage(&r->result.usage, &res->usage);
    r->result.llm_ms += res->ms;
    r->result.model = arena_str(&r->arena, res->model);
    str line = event_llm_response(&r->step, r->id, res);
    r->response_saved = r->response.n;
    r->needs_separator = r->response.n > 0;
    take_calls(r, res);

    bool is_usable = res->stop != LLM_STOP_LENGTH && res->stop != LLM_STOP_REFUSAL;
    if (res->stop == LLM_STOP_PAUSE && r->ncalls == 0) {
        r->host.append(r->ctx, &line, 1, NULL, NULL);
        r->state = RUN_READY;
        defer_start(r->loop, &r->next);
    } else if (r->ncalls == 0) {
        end(r, stop_without_calls(res->stop), line);
    } else if (!is_usable || r->result.usage.input_tokens > r->limits.max_input_tokens) {
        r->host.append(r->ctx, &line, 1, NULL, NULL);
        drop_calls(r, is_usable ? STR("Not executed: the token budget of this run is used up.")
                                : STR("Not executed: the response was cut off."));
        end(r, is_usable ? RUN_STOP_TOKEN_BUDGET : stop_without_calls(res->stop), STR_NONE);
    } else {
        save_and_start_tools(r, line);
    }
}

static const char *error_type(enum llm_error_kind kind)
{
    static const char *const TYPES[] = {
        [LLM_ERR_AUTH] = "provider_auth_error",     [LLM_ERR_BILLING] = "provider_billing_error",
        [LLM_ERR_MODEL] = "model_not_found",        [LLM_ERR_INVALID] = "provider_invalid_request",
        [LLM_ERR_TOO_LONG] = "context_too_long",    [LLM_ERR_OVERLOADED] = "provider_overloaded",
        [LLM_ERR_NETWORK] = "provider_unreachable",
    };
    return TYPES[kind];
}

static void on_fail(void *ctx, const struct llm_failure *f)
{
    struct run *r = ctx;
    r->call = NULL;
    end_with_error(r, error_type(f->kind), &f->err);
}

/* ---- the machine ---- */

static void call_model(struct run *r)
{
    static const struct llm_events EVENTS = {
        .on_text = on_text,
        .on_thinking = on_thinking,
        .on_tool_start = on_tool_announced,
        .on_retry = on_retry,
        .on_done = on_done,
        .on_fail = on_fail,
    };
    arena_reset(&r->step);
    r->calls = NULL;
    r->ncalls = r->recorded = 0;
    r->iteration++;
    struct run_input in = {0};
    struct err e = {0};
    bool is_last = r->iteration == r->limits.max_iterations;
    if (r->host.prepare(r->ctx, &r->step, is_last, &in, &e) < 0) {
        end_with_error(r, "engine_error", &e);
        return;
    }
    struct llm_request req = {
        .system_stable = in.system_stable,
        .system_volatile = in.system_volatile,
        .messages = in.messages,
        .nmessages = in.nmessages,
        .tools = in.tools,
        .ntools = in.ntools,
        .max_tokens = r->limits.max_output_tokens,
        .thinking = in.thinking,
        .session_key = r->conversation_id,
    };
    r->state = RUN_MODEL;
    r->call = llm_start(r->llm, r->model, &req, &EVENTS, r);
}

static void step(void *ctx)
{
    struct run *r = ctx;
    if (r->state == RUN_TOOLS) {
        if (r->iteration >= r->limits.max_iterations) {
            end(r, RUN_STOP_MAX_ITERATIONS, STR_NONE);
            return;
        }
        r->state = RUN_READY;
    }
    if (r->state == RUN_READY)
        call_model(r);
}

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
        llm_cancel(r->call);
        r->call = NULL;
        if (run_streamed(r).n > 0)
            partial = event_llm_partial(&r->step, r->id, r->model, run_streamed(r));
    }
    cancel_tools(r, why);
    return partial;
}

void run_cancel(struct run *r)
{
    if (r->state == RUN_ENDING || r->state == RUN_ENDED)
        return;
    str partial = halt(r, STR("Cancelled by the user."));
    end(r, RUN_STOP_CANCELLED, partial);
}

void run_fail(struct run *r, const struct err *err)
{
    if (r->state == RUN_ENDING || r->state == RUN_ENDED)
        return;
    (void)halt(r, STR("The conversation could not be saved."));
    end_with_error(r, "storage_error", err);
}
