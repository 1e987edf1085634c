/* call.c - one model call: sending, reading the stream, retrying.
 *
 * A call may be cancelled inside any of its own callbacks. Code that calls a callback therefore
 * holds the call (call_hold) and releases it afterwards (call_release); the last release frees a
 * dead call. After the answer is complete the connection gets a moment to end normally, because
 * only then it can be reused. */
#include <assert.h>
#include <errno.h>

#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "llm/call/llm_impl.h"
#include "llm/call/outline.h"
#include "llm/call/reader.h"
#include "llm/demo/demo.h"
#include "llm/llm.h"
#include "llm/provider/failure.h"

#define ERROR_BODY_MAX  (256u * 1024)
#define DRAIN_MS        1000u
#define BYTES_PER_TOKEN 4
#define BODY_LIKELY_MAX (64u * 1024) /* room that a body gets before it is built */

enum body_kind { BODY_UNSEEN, BODY_STREAM, BODY_JSON };

struct llm_call {
    struct list_node node; /* in llm.calls */
    struct llm *llm;
    const struct provider *provider;
    struct arena arena;
    str model;
    struct model_caps caps;
    struct llm_events ev;
    void *ctx;

    struct buf body;
    char body_sha256[SHA256_HEX_LEN + 1];
    struct fetch *fetch;
    struct wire_error head; /* status and headers of the current attempt */
    enum body_kind kind;
    struct buf json; /* the body of a response that is not a stream */
    struct answer_reader reader;
    struct answer answer;

    unsigned attempt;
    bool has_dropped_tool;
    uint64_t start_ms;
    struct timer timer;   /* back-off, draining, or the demo's pace */
    struct timer silence; /* of an attempt; pings do not restart it */
    size_t heard;         /* progress of the answer when it last grew */
    uint64_t heard_ms;
    struct deferred turn;
    struct llm_failure setup; /* err.code != 0: setup failed, nothing was sent */
    struct demo_speech demo;

    bool is_answered; /* on_done or on_fail was called */
    bool is_dead;     /* no callback may follow */
    unsigned busy;
};

static void start_attempt(struct llm_call *c);

/* ---- life ---- */

static void llm_call_free(struct llm_call *c)
{
    assert(c->busy == 0);
    if (c->fetch)
        fetch_cancel(c->fetch);
    timer_stop(&c->timer);
    timer_stop(&c->silence);
    defer_stop(&c->turn);
    list_del(&c->node);
    answer_reader_done(&c->reader);
    answer_done(&c->answer);
    buf_done(&c->json);
    buf_done(&c->body);
    arena_done(&c->arena);
    free(c);
}

static void call_hold(struct llm_call *c)
{
    c->busy++;
}

static void call_release(struct llm_call *c)
{
    assert(c->busy > 0);
    if (--c->busy == 0 && c->is_dead)
        llm_call_free(c);
}

/* Stops everything that could still call back; the last call_release frees the memory. */
static void call_kill(struct llm_call *c)
{
    c->is_dead = true;
    if (c->fetch)
        fetch_cancel(c->fetch);
    c->fetch = NULL;
    timer_stop(&c->timer);
    timer_stop(&c->silence);
    defer_stop(&c->turn);
    if (c->busy == 0)
        llm_call_free(c);
}

bool llm_usage_so_far(const struct llm_call *c, struct conv_usage *ret, bool *ret_is_estimated)
{
    bool is_demo = c->provider && c->provider->type == &PROVIDER_DEMO;
    bool is_streaming = is_demo || (c->head.status == 200 && c->kind == BODY_STREAM);
    bool has_begun = c->answer.n > 0 || answer_usage_so_far(&c->answer).input_tokens > 0;
    if (!is_streaming || !has_begun)
        return false;
    int64_t said = (int64_t)(c->answer.bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
    *ret = answer_usage_so_far(&c->answer);
    *ret_is_estimated = !c->answer.has_stop || ret->input_tokens == 0;
    if (ret->input_tokens == 0)
        ret->input_tokens = (int64_t)(c->body.n + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
    if (*ret_is_estimated && ret->output_tokens < said)
        ret->output_tokens = said;
    return true;
}

void llm_cancel(struct llm_call *c)
{
    assert(!c->is_answered);
    call_kill(c);
}

void llm_cancel_all(struct llm *m)
{
    LIST_FOREACH (it, &m->calls) {
        call_kill(LIST_ENTRY(it, struct llm_call, node));
    }
}

/* ---- telling the caller ---- */

static void heard_text(void *ctx, str delta)
{
    struct llm_call *c = ctx;
    if (!c->is_dead)
        c->ev.on_text(c->ctx, delta);
}

static void heard_thinking(void *ctx, str delta)
{
    struct llm_call *c = ctx;
    if (!c->is_dead && c->ev.on_thinking)
        c->ev.on_thinking(c->ctx, delta);
}

static void heard_tool(void *ctx, str id, str name)
{
    struct llm_call *c = ctx;
    if (!c->is_dead && c->ev.on_tool_start)
        c->ev.on_tool_start(c->ctx, id, name);
}

static void heard_args(void *ctx, str id, str piece)
{
    struct llm_call *c = ctx;
    if (!c->is_dead && c->ev.on_tool_args)
        c->ev.on_tool_args(c->ctx, id, piece);
}

static const struct llm_events LISTENER = {.on_text = heard_text,
                                           .on_thinking = heard_thinking,
                                           .on_tool_start = heard_tool,
                                           .on_tool_args = heard_args};

static void on_drained(void *ctx)
{
    call_kill(ctx);
}

static void report_done(struct llm_call *c)
{
    assert(!c->is_answered && !c->is_dead && c->busy > 0);
    struct llm_result r;
    timer_stop(&c->timer);
    timer_stop(&c->silence);
    answer_result(&c->answer, c->provider->name, c->model, &r);
    r.ms = clock_mono_ms() - c->start_ms;
    if (r.request_id.n == 0)
        r.request_id = c->head.request_id;
    memcpy(r.request_sha256, c->body_sha256, sizeof r.request_sha256);
    struct outline_known known = {buf_str(&c->llm->tools.json), c->llm->tools.sum};
    r.request_parts = outline_of(&c->arena, buf_str(&c->body), known);
    c->is_answered = true;
    c->ev.on_done(c->ctx, &r);
    if (c->is_dead)
        return;
    if (!c->fetch) {
        call_kill(c);
        return;
    }
    /* The rest of the answer is read: that keeps the connection reusable. */
    timer_init(&c->timer, c->llm->loop, on_drained, c);
    timer_start(&c->timer, DRAIN_MS);
}

/* Only after the last attempt: during retries there is nothing for a person to do. */
static void add_advice(struct llm_failure *f)
{
    struct err said = f->err;
    if (f->kind == LLM_ERR_OVERLOADED || f->kind == LLM_ERR_SERVER)
        err_set(&f->err, said.code, "%s Try again later.", said.msg);
}

static void report_failure(struct llm_call *c, struct llm_failure *f)
{
    assert(!c->is_answered && !c->is_dead && c->busy > 0 && f->err.code < 0);
    add_advice(f);
    f->had_output = c->answer.had_output;
    c->is_answered = true;
    c->ev.on_fail(c->ctx, f);
    if (!c->is_dead)
        call_kill(c);
}

/* ---- trying again ---- */

static void on_backoff_over(void *ctx)
{
    struct llm_call *c = ctx;
    call_hold(c);
    start_attempt(c);
    call_release(c);
}

static void retry_later(struct llm_call *c, uint64_t wait_ms, const struct err *why)
{
    assert(!c->fetch && !c->is_answered && !c->answer.had_output);
    if (c->ev.on_retry)
        c->ev.on_retry(c->ctx, c->attempt, c->llm->max_tries, wait_ms, why);
    if (c->is_dead)
        return;
    timer_init(&c->timer, c->llm->loop, on_backoff_over, c);
    timer_start(&c->timer, wait_ms);
}

/* Published output cannot be withdrawn, so it excludes a retry. */
static void fail_or_retry(struct llm_call *c, struct llm_failure *f, struct verdict v)
{
    if (!v.is_retryable || c->answer.had_output || c->attempt >= c->llm->max_tries) {
        report_failure(c, f);
        return;
    }
    uint64_t wait = v.wait_ms >= 0
                        ? (uint64_t)v.wait_ms
                        : failure_backoff_ms(c->attempt, c->llm->retry_base_ms, random_u64());
    retry_later(c, wait, &f->err);
}

static bool drop_bad_tool(struct llm_call *c, const struct wire_error *w)
{
    size_t index;
    str name;
    if (w->status != 400 || c->has_dropped_tool)
        return false;
    if (!tools_text_names_bad(w->param, &index) && !tools_text_names_bad(w->message, &index))
        return false;
    if (provider_drop_tool(&c->body, index, &c->arena, &name) < 0)
        return false;
    c->has_dropped_tool = true;
    sha256_hex(buf_str(&c->body), c->body_sha256);
    log_warn(c->llm->log, "llm", "%.*s refuses the tool %.*s; retrying without it: %.*s",
             STR_ARG(c->provider->name), STR_ARG(name), STR_ARG(w->message));
    return true;
}

static void server_failed(struct llm_call *c, struct wire_error *w)
{
    assert(!c->fetch && !c->is_answered);
    struct llm_failure f = {0};
    if (!c->answer.had_output && drop_bad_tool(c, w)) {
        start_attempt(c);
        return;
    }
    struct verdict v = failure_judge(c->provider, c->model, c->caps.successor, w, &f);
    fail_or_retry(c, &f, v);
}

/* A network error. A local server that is not running will not be running a second later. */
static void network_failed(struct llm_call *c, const struct err *why)
{
    assert(!c->fetch && !c->is_answered && why->code < 0);
    struct llm_failure f = {.kind = LLM_ERR_NETWORK, .request_id = c->head.request_id};
    f.err = *why;
    err_prefix(&f.err, "%.*s", STR_ARG(c->provider->name));
    bool is_absent =
        why->code == -ECONNREFUSED && str_starts(c->provider->base_url, STR("http://"));
    bool is_hopeless = is_absent || why->code == -EINVAL || why->code == -EACCES;
    fail_or_retry(c, &f, (struct verdict){.is_retryable = !is_hopeless, .wait_ms = -1});
}

static void stream_cut(struct llm_call *c)
{
    struct err e = {0};
    err_set(&e, -ECONNRESET, "the answer ended before it was complete");
    network_failed(c, &e);
}

/* ---- the fetch ---- */

static void end_fetch(struct llm_call *c)
{
    timer_stop(&c->silence);
    if (c->fetch)
        fetch_cancel(c->fetch);
    c->fetch = NULL;
}

/* ---- a stream that says nothing ---- */

/* Grows with every kind of content. Pings, comments and empty deltas do not change it. */
static size_t answer_size(const struct answer *an)
{
    return an->bytes + an->n + (size_t)an->has_stop;
}

static void on_silence(void *ctx)
{
    struct llm_call *c = ctx;
    uint64_t max = c->llm->idle_timeout_ms, silent = clock_mono_ms() - c->heard_ms;
    struct err e = {0};
    if (silent < max) {
        timer_start(&c->silence, max - silent);
        return;
    }
    call_hold(c);
    end_fetch(c);
    err_set(&e, -ETIMEDOUT, "no part of an answer arrived within %llu ms", (unsigned long long)max);
    network_failed(c, &e);
    call_release(c);
}

static void listen_for(struct llm_call *c)
{
    c->heard = 0;
    c->heard_ms = clock_mono_ms();
    timer_init(&c->silence, c->llm->loop, on_silence, c);
    if (c->llm->idle_timeout_ms > 0)
        timer_start(&c->silence, c->llm->idle_timeout_ms);
}

static void note_progress(struct llm_call *c)
{
    size_t now = answer_size(&c->answer);
    if (now == c->heard)
        return;
    c->heard = now;
    c->heard_ms = clock_mono_ms();
}

/* After bytes were read: the answer may have failed or be complete. */
static void check_answer(struct llm_call *c)
{
    if (c->is_dead || c->is_answered)
        return;
    if (c->answer.has_error) {
        struct wire_error w = c->answer.error;
        if (w.request_id.n == 0)
            w.request_id = c->head.request_id;
        end_fetch(c);
        server_failed(c, &w);
    } else if (c->answer.is_complete) {
        report_done(c);
    }
}

static void on_call_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    struct llm_call *c = ctx;
    c->head.status = status;
    assert(!c->is_answered && !c->is_dead);
    for (size_t i = 0; i < n; i++)
        wire_error_header(&c->arena, headers[i].name, headers[i].value, &c->head);
}

/* Some servers answer 200 with an error: a JSON object in place of a stream. */
static void sniff(struct llm_call *c, str bytes)
{
    str text = str_trim(bytes);
    if (c->head.status != 200)
        c->kind = BODY_JSON;
    else if (text.n > 0)
        c->kind = text.p[0] == '{' || text.p[0] == '[' ? BODY_JSON : BODY_STREAM;
}

static void on_call_data(void *ctx, str bytes)
{
    struct llm_call *c = ctx;
    if (c->is_answered)
        return;          /* draining */
    assert(!c->is_dead); /* it would have cancelled the fetch */
    call_hold(c);
    if (c->kind == BODY_UNSEEN)
        sniff(c, bytes);
    if (c->kind == BODY_JSON) {
        (void)buf_add_str(&c->json, bytes); /* beyond the limit, the status is enough */
    } else if (c->kind == BODY_STREAM) {
        answer_reader_feed(&c->reader, bytes);
        note_progress(c);
        check_answer(c);
    }
    call_release(c);
}

static void on_json_end(struct llm_call *c)
{
    struct wire_error w = c->head;
    wire_error_parse(&c->arena, buf_str(&c->json), &w);
    if (w.status == 200) { /* an error without an error status, or not a stream */
        w.status = 0;
        if (w.message.n == 0)
            w.message = STR("the server did not send an event stream");
    }
    server_failed(c, &w);
}

static void on_call_end(void *ctx, const struct err *err)
{
    struct llm_call *c = ctx;
    call_hold(c);
    c->fetch = NULL;
    timer_stop(&c->silence);
    if (c->is_answered) {
        call_kill(c);
    } else if (err->code < 0) {
        network_failed(c, err);
    } else if (c->kind == BODY_JSON || c->head.status != 200) {
        on_json_end(c);
    } else {
        c->provider->type->eof(&c->answer);
        if (c->answer.has_error || c->answer.is_complete)
            check_answer(c);
        else
            stream_cut(c);
    }
    call_release(c);
}

static size_t request_headers(struct llm_call *c, str url, struct fetch_header *out)
{
    const struct provider_type *type = c->provider->type;
    size_t n = type->sign
                   ? type->sign(c->provider, &c->arena, url, buf_str(&c->body), clock_now_ms(), out)
                   : 0;
    if (n == 0)
        n = type->auth(c->provider, &c->arena, out);
    out[n++] = (struct fetch_header){STR("content-type"), STR("application/json")};
    out[n++] =
        (struct fetch_header){STR("accept"), type->frame ? STR("application/vnd.amazon.eventstream")
                                                         : STR("text/event-stream")};
    out[n++] = (struct fetch_header){STR("user-agent"), STR("nb/" NB_VERSION)};
    for (size_t i = 0; i < c->provider->nheaders; i++)
        out[n++] = c->provider->headers[i];
    assert(n <= LLM_HEADERS_MAX + AUTH_MAX + 3);
    return n;
}

static void start_attempt(struct llm_call *c)
{
    static const struct fetch_events EVENTS = {
        .on_head = on_call_head, .on_data = on_call_data, .on_done = on_call_end};
    struct fetch_header headers[LLM_HEADERS_MAX + AUTH_MAX + 3];
    assert(!c->fetch && !c->is_answered && !c->is_dead);
    c->attempt++;
    c->kind = BODY_UNSEEN;
    c->head = (struct wire_error){.retry_after_ms = -1, .should_retry = -1};
    buf_clear(&c->json);
    answer_reader_done(&c->reader);
    answer_done(&c->answer);
    answer_init(&c->answer, &LISTENER, c);
    answer_reader_init(&c->reader, c->provider->type, &c->answer, &c->is_dead);
    str url = c->provider->type->url(c->provider, c->model, &c->arena);
    struct fetch_spec spec = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .nheaders = request_headers(c, url, headers),
        .body = buf_str(&c->body),
        .has_body = true,
        .idle_timeout_ms = c->llm->idle_timeout_ms,
        .flags = c->provider->is_public_only ? FETCH_PUBLIC_ONLY | FETCH_HTTPS_ONLY : 0,
    };
    listen_for(c);
    c->fetch = fetch_start(c->llm->fetcher, &spec, &EVENTS, c);
}

/* ---- the demo, and calls that cannot start ---- */

static void speak(void *ctx)
{
    struct llm_call *c = ctx;
    call_hold(c);
    bool is_more = true;
    do
        is_more = demo_step(&c->demo, &c->answer);
    while (is_more && !c->is_dead && c->llm->demo_delay_ms == 0);
    if (is_more && !c->is_dead)
        timer_start(&c->timer, c->llm->demo_delay_ms);
    else if (!c->is_dead)
        report_done(c);
    call_release(c);
}

static void report_setup_failure(void *ctx)
{
    struct llm_call *c = ctx;
    assert(c->attempt == 0 && c->setup.err.code < 0);
    call_hold(c);
    report_failure(c, &c->setup);
    call_release(c);
}

static void defer(struct llm_call *c, loop_fn fn)
{
    defer_init(&c->turn, fn, c);
    defer_start(c->llm->loop, &c->turn);
}

/* ---- starting ---- */

/* The next body is likely to be a little longer, or short again, as that of a title. */
static void note_size(struct llm *m, size_t bytes)
{
    size_t likely = bytes + bytes / 4, half = m->likely_body / 2;
    likely = likely > half ? likely : half;
    m->likely_body = likely < BODY_LIKELY_MAX ? likely : BODY_LIKELY_MAX;
}

static int build_body(struct llm_call *c, const struct llm_request *req, struct err *e)
{
    struct llm_request r = *req;
    (void)buf_reserve(&c->body, c->llm->likely_body);
    r.model = c->model;
    r.tools_json = tools_text_get(&c->llm->tools, c->provider, r.tools_key);
    int rc = c->provider->type->build(c->provider, &c->caps, &r, &c->body, e);
    if (rc == 0 && r.tools_json.n == 0)
        tools_text_keep(&c->llm->tools, c->provider, r.tools_key, buf_str(&c->body));
    note_size(c->llm, c->body.n);
    return rc;
}

static int call_prepare(struct llm_call *c, str name, const struct llm_request *req)
{
    struct llm_failure *f = &c->setup;
    str provider, model;
    f->kind = LLM_ERR_MODEL;
    int rc = llm_resolve(c->llm, name, &provider, &model, &f->err);
    if (rc < 0)
        return rc;
    c->provider = llm_find_provider(c->llm, provider);
    c->model = arena_str(&c->arena, model);
    llm_caps(c->llm, c->provider, c->model, &c->caps);
    f->kind = LLM_ERR_AUTH;
    if (!llm_is_usable(c->provider))
        return err_set(&f->err, -EACCES, "%.*s cannot be used: %.*s", STR_ARG(provider),
                       STR_ARG(c->provider->key_hint));
    rc = build_body(c, req, &f->err);
    f->kind = rc == -EMSGSIZE ? LLM_ERR_TOO_LONG : LLM_ERR_INVALID;
    body_hash_hex(&c->llm->hash, buf_str(&c->body), c->body_sha256);
    return rc;
}

struct llm_call *llm_start(struct llm *m, str name, const struct llm_request *req,
                           const struct llm_events *ev, void *ctx)
{
    assert(ev->on_text && ev->on_done && ev->on_fail);
    struct llm_call *c = xcalloc(1, sizeof *c);
    *c = (struct llm_call){.llm = m, .ev = *ev, .ctx = ctx, .start_ms = clock_mono_ms()};
    list_push(&m->calls, &c->node);
    arena_init(&c->arena);
    buf_init(&c->body, LLM_BODY_MAX);
    buf_init(&c->json, ERROR_BODY_MAX);
    answer_init(&c->answer, &LISTENER, c);
    timer_init(&c->timer, m->loop, speak, c);
    timer_init(&c->silence, m->loop, on_silence, c);
    defer_init(&c->turn, speak, c);
    if (call_prepare(c, name, req) < 0) {
        defer(c, report_setup_failure);
    } else if (c->provider->type == &PROVIDER_DEMO) {
        demo_begin(&c->demo, &c->arena, req, c->body.n);
        defer(c, speak);
    } else {
        start_attempt(c);
    }
    return c;
}
