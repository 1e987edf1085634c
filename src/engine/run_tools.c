/* run_tools.c - the tool calls of one response: permission, execution, results in order.
 *
 * A call is answered exactly once: by its tool (on_tool_done), by a refusal, or by the end of the
 * run (run_cancel_tools). Its result is appended only after those of the calls before it, so that
 * the log does not depend on which tool is faster. */
#include <assert.h>
#include <string.h>

#include "base/bytes/hash.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "bus/vocabulary.h"
#include "engine/run_impl.h"
#include "tools/result.h"

/* ---- tools ---- */

/* The step arena is reset with the next model call; the summary of the run needs the record later.
 */
static void keep_record(struct run *r, const struct run_call *c)
{
    struct run_result *res = &r->result;
    ARENA_GROW(&r->arena, r->records, res->ntools, r->records_cap);
    res->tools = r->records;
    r->records[res->ntools++] = (struct run_tool_record){
        .id = arena_str(&r->arena, c->id),
        .name = arena_str(&r->arena, c->name),
        .input = arena_str(&r->arena, c->args),
        .output = arena_str(&r->arena, c->output),
        .ok = c->ok,
        .ms = c->ms,
    };
}

/* The same calls with the same results in several iterations: the model is stuck. */
void run_watch_repeats(struct run *r)
{
    struct buf b;
    uint8_t digest[SHA256_LEN];
    uint64_t hash;
    buf_init(&b, RESPONSE_MAX);
    for (size_t i = 0; i < r->ncalls; i++) {
        const struct run_call *c = &r->calls[i];
        buf_printf(&b, "%zu %zu %zu ", c->name.n, c->args.n, c->output.n);
        buf_add_str(&b, c->name);
        buf_add_str(&b, c->args);
        buf_add_str(&b, c->output);
    }
    sha256(buf_str(&b), digest);
    memcpy(&hash, digest, sizeof hash);
    buf_done(&b);
    r->repeats = hash == r->calls_hash ? r->repeats + 1 : 1;
    r->calls_hash = hash;
}

/* The model gets the results only when the log has them, so that watchers see them before the
 * text that follows. */
static void on_results_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    if (err)
        run_fail(r, err); /* also when the run is ending: the log is incomplete then */
    else if (r->state == RUN_TOOLS)
        run_step(r);
    /* Otherwise the calls were dropped or cancelled, and the run continues without this append. */
}

/* Appends results in call order: the result of a call waits for those of the calls before it. */
static void record_answers(struct run *r)
{
    timer_stop(&r->gather);
    str *lines = arena_array(&r->step, r->ncalls, sizeof *lines);
    size_t n = 0, before = r->recorded;
    while (r->recorded < r->ncalls && r->calls[r->recorded].is_answered) {
        struct run_call *c = &r->calls[r->recorded++];
        if (c->is_clients)
            continue; /* its result is not known here */
        lines[n++] = c->line;
        keep_record(r, c);
    }
    assert(r->recorded <= r->ncalls);
    bool is_all = r->recorded == r->ncalls; /* only the last append continues the run */
    if (n > 0)
        run_append(r, lines, n, is_all ? on_results_saved : NULL);
    else if (is_all && r->recorded > before && r->state == RUN_TOOLS)
        run_step(r); /* the last calls were handed over: nothing to append */
}

void run_gather_over(void *run)
{
    record_answers(run);
}

/* An append is a sync, so results that come soon after each other share one: the last answer of the
 * response appends them all. No result waits longer than GATHER_MS for a slower tool. */
static void record_soon(struct run *r)
{
    for (size_t i = r->recorded; i < r->ncalls; i++) {
        if (r->calls[i].is_answered)
            continue;
        if (!timer_active(&r->gather))
            timer_start(&r->gather, GATHER_MS);
        return;
    }
    record_answers(r);
}

/* Watchers learn of a result immediately; the log has it after the results of earlier calls. */
static void publish_settled(struct run *r, const struct run_call *c)
{
    struct notice n;
    notice_begin(&n, r);
    jw_kstr(&n.w, "id", c->id);
    jw_kstr(&n.w, "name", c->name);
    jw_kbool(&n.w, "ok", c->ok);
    jw_kint(&n.w, "ms", (int64_t)c->ms);
    notice_end(&n, r, event_name(EV_TOOL_SETTLED));
}

/* The source may have started since the model named the tool. */
static struct event_call event_of(struct run_call *c)
{
    if (c->ui_uri.n == 0)
        c->ui_uri = arena_str(&c->run->step, registry_interface_of(c->run->tools, c->name));
    return (struct event_call){c->run->id, c->id, c->name, c->ui_uri};
}

static void tell_result(struct run *r, const struct run_call *c)
{
    const struct run_tool_record rec = {.id = c->id, .name = c->name, .ok = c->ok, .ms = c->ms};
    if (r->host.tool_answered)
        r->host.tool_answered(r->ctx, &rec);
}

static void answer_call(struct run_call *c, const struct tool_result *res)
{
    struct run *r = c->run;
    struct event_call call = event_of(c);
    assert(!c->is_answered);
    c->handle = NULL;
    c->is_answered = true;
    c->ok = !res->is_error;
    c->ms = c->started_ms ? clock_mono_ms() - c->started_ms : 0;
    c->output = tool_result_to_text(&r->step, res);
    c->line = event_tool_done(&r->step, &call, res, c->ms);
    publish_settled(r, c);
    tell_result(r, c);
}

/* The run ends when the other calls of the response have their results. */
static void hand_over(struct run_call *c)
{
    struct run *r = c->run;
    struct run_result *res = &r->result;
    struct run_client_call *all =
        arena_array(&r->arena, res->nclient_calls + 1, sizeof *res->client_calls);
    assert(!c->is_answered && !c->handle);
    if (res->nclient_calls > 0)
        memcpy(all, res->client_calls, res->nclient_calls * sizeof *all);
    all[res->nclient_calls++] = (struct run_client_call){
        arena_str(&r->arena, c->id), arena_str(&r->arena, c->name), arena_str(&r->arena, c->args)};
    res->client_calls = all;
    c->is_answered = c->is_clients = true;
}

static void answer_error(struct run_call *c, str why)
{
    struct tool_result res = tool_result_error(&c->run->step, "%.*s", STR_ARG(why));
    answer_call(c, &res);
}

static void on_tool_done(void *ctx, const struct tool_result *res)
{
    struct run_call *c = ctx;
    struct run *r = c->run;
    answer_call(c, res);
    record_soon(r);
}

static void write_progress(struct json_writer *w, const struct run_call *c, str message)
{
    jw_kstr(w, "id", c->id);
    jw_kdouble(w, "progress", c->progress.done);
    if (c->progress.total > 0)
        jw_kdouble(w, "total", c->progress.total);
    if (message.n > 0)
        jw_kstr(w, "message", message);
}

static void on_tool_progress(void *ctx, double progress, double total, str message)
{
    struct run_call *c = ctx;
    struct notice n;
    c->progress = (struct run_progress){.is_known = true, .done = progress, .total = total};
    str kept = utf8_truncate(message, RUN_PROGRESS_MAX);
    if (kept.n > 0)
        memcpy(c->progress.message, kept.p, kept.n);
    c->progress.message_n = kept.n;
    notice_begin(&n, c->run);
    write_progress(&n.w, c, message);
    notice_end(&n, c->run, event_name(EV_TOOL_PROGRESS));
}

void run_write_progress(const struct run *r, struct json_writer *w)
{
    bool has_any = false;
    for (size_t i = 0; i < r->ncalls; i++) {
        const struct run_call *c = &r->calls[i];
        if (!c->progress.is_known || c->is_answered)
            continue;
        if (!has_any)
            jw_karray(w, "progress");
        has_any = true;
        jw_object(w);
        write_progress(w, c, str_make(c->progress.message, c->progress.message_n));
        jw_end(w);
    }
    if (has_any)
        jw_end(w);
}

/* No person was asked about a tool that was not available yet, or that needed no permission when
 * the question was composed. */
#define ASK_AGAIN                                                                                  \
    STR("Not executed: this tool has only just become available and needs permission. Call it "    \
        "again.")

/* A question shows all calls that its answer starts, so the answer starts no other call. */
#define NOT_SHOWN STR("Not executed: the question did not show this call. Call it again.")

/* Checks permission at the time of the call, because rules and rights may have changed since the
 * question. Answers the call when it is refused, or hands it over: nb does not execute it. */
static bool is_refused(struct run *r, struct run_call *c, const struct json *args)
{
    if (c->refusal.n > 0) {
        answer_error(c, c->refusal);
        return true;
    }
    str why = c->was_asked ? STR("The user did not allow this call.") : NOT_SHOWN;
    str reason = why;
    enum run_gate gate = r->host.gate(r->ctx, c->name, args, &reason);
    if (gate == RUN_DENY && !(c->is_declined && c->was_asked))
        why = reason;
    if (c->is_declined)
        gate = RUN_DENY;
    if (gate == RUN_HAND_OVER) {
        hand_over(c);
        return true;
    }
    bool is_question = gate == RUN_ASK || gate == RUN_ASK_EVERY_TIME;
    if (gate == RUN_ALLOW || (is_question && c->was_asked))
        return false;
    answer_error(c, is_question ? ASK_AGAIN : why);
    return true;
}

static struct tool_caller caller_of(const struct run *r, const struct run_call *c)
{
    return (struct tool_caller){
        .actor = r->host.actor(r->ctx),
        .conversation_id = r->conversation_id,
        .run_id = r->id,
        .call_id = c->id,
        .remaining_iterations = r->limits.max_iterations - r->iteration,
        .host = r->tool_host,
    };
}

/* Parses the arguments when they are needed for the first time; 0, or -EINVAL. */
static int parse_args(struct run_call *c, struct json **ret, struct err *e)
{
    if (!c->input) {
        int rc = json_parse(&c->run->step, c->args, 0, &c->input, e);
        if (rc < 0)
            return rc;
    }
    *ret = c->input;
    return 0;
}

static void start_call(struct run *r, struct run_call *c)
{
    struct json *args = NULL;
    struct err e = {0};
    assert(r->state == RUN_TOOLS && !c->handle && !c->wait);
    c->started_ms = clock_mono_ms();
    if (c->args_error) {
        answer_error(c, arena_printf(&r->step,
                                     "The arguments are not valid JSON (%s). Send the "
                                     "call again with one JSON object.",
                                     c->args_error));
        return;
    }
    if (parse_args(c, &args, &e) < 0) {
        answer_error(c, arena_printf(&r->step, "The arguments are not valid JSON: %s", e.msg));
        return;
    }
    if (is_refused(r, c, args))
        return;
    struct tool_caller who = caller_of(r, c);
    static const struct tool_call_events EVENTS = {on_tool_done, on_tool_progress};
    c->handle = registry_call(r->tools, c->name, args, &who, &EVENTS, c);
}

static void on_source_ready(void *ctx)
{
    struct run_call *c = ctx;
    struct run *r = c->run;
    c->wait = NULL;
    start_call(r, c);
    record_soon(r);
}

static bool is_source_starting(struct run *r, const struct run_call *c)
{
    bool ret;
    str source = registry_source_of(r->tools, c->name);
    (void)registry_absence(r->tools, &r->step, source, &ret);
    return ret;
}

void run_start_tools(struct run *r)
{
    assert(r->ncalls > 0); /* or nothing would continue the run */
    run_enter(r, RUN_TOOLS);
    for (size_t i = 0; i < r->ncalls; i++) {
        struct run_call *c = &r->calls[i];
        if (c->is_answered)
            continue; /* beyond CALLS_MAX */
        if (!c->is_declined && is_source_starting(r, c))
            c->wait = registry_await(r->tools, registry_source_of(r->tools, c->name),
                                     REGISTRY_TIMEOUT_MS, on_source_ready, c);
        else
            start_call(r, c);
    }
    record_answers(r);
}

/* Also cancels probes: they use the same handle. */
void run_cancel_tools(struct run *r, str why)
{
    for (size_t i = 0; i < r->ncalls; i++) {
        struct run_call *c = &r->calls[i];
        if (c->is_answered)
            continue;
        if (c->handle)
            registry_cancel(c->handle);
        if (c->wait)
            registry_await_cancel(c->wait);
        c->wait = NULL;
        answer_error(c, why);
    }
    record_answers(r);
}

/* Copies the calls out of the response, which is borrowed from the model call. */
void run_take_calls(struct run *r, const struct llm_result *res)
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
        r->calls[r->ncalls++] = (struct run_call){
            .run = r,
            .id = arena_str(&r->step, b->id),
            .name = arena_str(&r->step, b->name),
            .args = b->args.n > 0 && !b->args_error ? arena_str(&r->step, b->args) : STR("{}"),
            .args_error = b->args_error ? arena_cstr(&r->step, str_from(b->args_error)) : NULL,
        };
    }
}

/* Copies the calls that the answer decides on; they are executed before the first model call. */
void run_take_pending(struct run *r, const struct run_spec *spec)
{
    r->ncalls = spec->npending;
    r->has_pending = r->ncalls > 0;
    r->calls = arena_array(&r->step, r->ncalls, sizeof *r->calls);
    for (size_t i = 0; i < r->ncalls; i++) {
        const struct run_pending *p = &spec->pending[i];
        r->calls[i] = (struct run_call){
            .run = r,
            .id = arena_str(&r->step, p->id),
            .name = arena_str(&r->step, p->name),
            .args = arena_str(&r->step, p->args),
            .is_declined = !p->is_allowed,
            .was_asked = p->was_asked,
        };
    }
}

static void on_response_saved(void *ctx, const struct err *err)
{
    struct run *r = ctx;
    if (r->state != RUN_SAVING)
        return; /* cancelled meanwhile: the end is being appended */
    if (err)
        run_end_with_error(r, "storage_error", err);
    else
        run_step(r);
}

void run_drop_calls(struct run *r, str why)
{
    for (size_t i = 0; i < r->ncalls; i++)
        answer_error(&r->calls[i], why);
    record_answers(r);
}

static str start_event(struct run *r, struct run_call *c)
{
    struct json *args;
    struct event_call call = event_of(c);
    str directory = STR_NONE;
    if (r->host.directory && !c->args_error && parse_args(c, &args, NULL) == 0)
        directory = r->host.directory(r->ctx, &r->step, c->name, args);
    return event_tool_start(&r->step, &call, c->args, directory);
}

/* Response and starts are durable before the first tool runs: a restart knows what may have
 * happened. */
void run_save_response(struct run *r)
{
    str *lines = arena_array(&r->step, r->ncalls + 1, sizeof(str));
    size_t n = 0;
    lines[n++] = r->response_line;
    for (size_t i = 0; i < r->ncalls; i++) {
        struct run_call *c = &r->calls[i];
        lines[n++] = start_event(r, c);
    }
    run_enter(r, RUN_SAVING);
    run_append(r, lines, n, on_response_saved);
    for (size_t i = CALLS_MAX; i < r->ncalls; i++)
        answer_error(&r->calls[i], STR("Too many tool calls in one response; call again."));
}

/* The response of these calls is in the log already: the run that asked appended it. */
void run_start_pending(struct run *r)
{
    str *lines = arena_array(&r->step, r->ncalls, sizeof(str));
    size_t n = 0;
    for (size_t i = 0; i < r->ncalls; i++) {
        struct run_call *c = &r->calls[i];
        if (!c->is_declined)
            lines[n++] = start_event(r, c);
    }
    r->has_pending = false;
    run_enter(r, RUN_SAVING);
    if (n > 0)
        run_append(r, lines, n, on_response_saved);
    else
        run_step(r); /* all were declined: nothing to save, only results to give */
}

/* ---- permission ---- */

static void on_probe_done(void *ctx, const struct tool_result *res)
{
    struct run_call *c = ctx;
    struct run *r = c->run;
    c->handle = NULL;
    if (res->is_error)
        c->refusal = tool_result_to_text(&r->step, res);
    assert(r->state == RUN_CHECKING && r->nchecks > 0);
    if (--r->nchecks == 0)
        run_step(r);
}

/* Only calls that a person would be asked about are probed. */
static void check_call(struct run *r, struct run_call *c)
{
    static const struct tool_call_events EVENTS = {on_probe_done, NULL};
    struct json *args;
    str why;
    if (c->args_error || parse_args(c, &args, NULL) < 0)
        return;
    enum run_gate gate = r->host.gate(r->ctx, c->name, args, &why);
    if (gate != RUN_ASK && gate != RUN_ASK_EVERY_TIME)
        return;
    struct tool_caller who = caller_of(r, c);
    c->handle = registry_probe(r->tools, c->name, args, &who, &EVENTS, c);
    r->nchecks += c->handle != NULL;
}

void run_check_calls(struct run *r)
{
    run_enter(r, RUN_CHECKING);
    r->nchecks = 0;
    for (size_t i = 0; i < r->ncalls && i < CALLS_MAX; i++)
        check_call(r, &r->calls[i]);
    if (r->nchecks == 0)
        run_step(r);
}

static void push_call(struct run *r, struct json *calls, const struct run_call *c,
                      const struct json *args, enum run_gate gate)
{
    struct json *item = json_new(&r->arena, JSON_OBJECT);
    json_set(&r->arena, item, STR("id"), json_of_str(arena_str(&r->arena, c->id)));
    json_set(&r->arena, item, STR("name"), json_of_str(arena_str(&r->arena, c->name)));
    json_set(&r->arena, item, STR("input"), *json_clone(&r->arena, args));
    json_set(&r->arena, item, STR("needsPermission"), json_of_bool(gate != RUN_ALLOW));
    json_set(&r->arena, item, STR("canRemember"), json_of_bool(gate == RUN_ASK));
    str directory =
        r->host.directory ? r->host.directory(r->ctx, &r->arena, c->name, args) : STR_NONE;
    if (directory.n > 0)
        json_set(&r->arena, item, STR("directory"), json_of_str(directory));
    str words = gate == RUN_ASK && r->host.words ? r->host.words(r->ctx, c->name, args) : STR_NONE;
    if (words.n > 0)
        json_set(&r->arena, item, STR("words"), json_of_str(arena_str(&r->arena, words)));
    json_push(&r->arena, calls, *item);
}

/* False: the call is refused, and nobody is asked. */
static bool gate_of(struct run *r, struct run_call *c, struct json **ret_args, enum run_gate *ret)
{
    str why;
    if (c->refusal.n > 0 || c->args_error || parse_args(c, ret_args, NULL) < 0)
        return false;
    *ret = r->host.gate(r->ctx, c->name, *ret_args, &why);
    return *ret != RUN_DENY;
}

static bool has_question(struct run *r)
{
    struct json *args;
    enum run_gate gate;
    for (size_t i = 0; i < r->ncalls; i++)
        if (gate_of(r, &r->calls[i], &args, &gate) &&
            (gate == RUN_ASK || gate == RUN_ASK_EVERY_TIME))
            return true;
    return false;
}

/* One call that needs permission delays the whole response, so that calls run in the order that
 * the model intended. The person therefore sees all calls that the answer would start, and decides
 * on each of them. */
const struct json *run_calls_to_ask(struct run *r)
{
    struct json *args;
    enum run_gate gate;
    if (!has_question(r)) /* as nearly always */
        return NULL;
    struct json *calls = json_new(&r->arena, JSON_ARRAY);
    for (size_t i = 0; i < r->ncalls; i++)
        if (gate_of(r, &r->calls[i], &args, &gate))
            push_call(r, calls, &r->calls[i], args, gate);
    return calls;
}
