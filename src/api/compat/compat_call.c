/* compat_call.c - one request of a program, from its body to its answer.
 *
 *   compat_begin: read the body -> compat_files (if there are files) -> turn_start
 *   on_compat_started   a stream is opened here, so that everything before can be refused with a
 *                       status
 *   on_compat_message   deltas, while the stream is open
 *   on_compat_done      the whole answer, or the end of the stream
 *
 * The call belongs to the HTTP request until the stream is open, then to the stream. When the
 * program disconnects, its run is cancelled: on_compat_gone, on_compat_closed. */
#include <assert.h>
#include <errno.h>

#include "api/api_impl.h"
#include "api/compat/compat_threads.h"
#include "api/handlers.h"
#include "base/clock.h"
#include "base/text/plain.h"
#include "bus/vocabulary.h"

struct compat_call {
    struct api *api;
    const struct compat_dialect *dialect;
    struct http_req *req;         /* NULL: the stream is open */
    struct compat_request *q;     /* valid with req */
    struct compat_request *whole; /* the same with all messages, if q has only what is new */
    struct compat_thread thread;
    struct compat_files *files; /* in progress, or NULL */
    struct message *turn;       /* NULL: not started, or over */
    struct compat_answer answer;
};

/* ---- the end ---- */

/* Nobody waits for the answer: the run would cost tokens for nothing. */
static void abandon_turn(struct compat_call *c)
{
    struct message *turn = c->turn;
    c->turn = NULL;
    if (!turn)
        return;
    turn_forget(turn);
    turn_cancel(turn);
}

static void on_compat_gone(struct http_req *r)
{
    struct compat_call *c = r->user;
    assert(!c->answer.live);
    compat_files_cancel(c->files);
    abandon_turn(c);
    free(c);
}

/* The request is about to be answered: it calls on_gone no more. */
static struct http_req *call_end(struct compat_call *c)
{
    struct http_req *r = c->req;
    r->on_gone = NULL;
    free(c);
    return r;
}

static void stream_fail(struct compat_call *c, const char *code, str message)
{
    c->turn = NULL;
    c->dialect->fail(&c->answer, code, message);
    live_end(c->answer.live);
}

/* ---- the stream ---- */

void compat_send(struct compat_answer *a, const char *event, struct api_json *j)
{
    assert(a->live);
    live_send_json(a->live, str_from(event), j);
}

void compat_write_id(struct json_writer *w, const char *key, const char *prefix,
                     const struct compat_answer *a)
{
    char id[2 * STORE_ID_MAX];
    const char *random = strchr(a->run_id, '_');
    (void)snprintf(id, sizeof id, "%s%s", prefix, random ? random + 1 : a->run_id);
    jw_kcstr(w, key, id);
}

static void on_compat_lost(void *owner)
{
    struct compat_call *c = owner;
    abandon_turn(c);
    stream_fail(c, "not_found", STR("You may not see this conversation any more."));
}

static void on_compat_closed(void *owner)
{
    struct compat_call *c = owner;
    abandon_turn(c);
    free(c);
}

static void on_compat_message(void *owner, const struct bus_msg *msg)
{
    struct compat_call *c = owner;
    struct arena a;
    struct json *v;
    bool is_text = str_eq(msg->type, event_name(EV_TEXT_DELTA));
    bool is_reasoning = str_eq(msg->type, event_name(EV_REASONING_DELTA));
    if (!is_text && !(is_reasoning && c->dialect->reasoning))
        return;
    arena_init(&a);
    if (json_parse(&a, msg->data, 0, &v, NULL) == 0 && is_text)
        c->dialect->text(&c->answer, json_get_string(v, "text"));
    else if (is_reasoning)
        c->dialect->reasoning(&c->answer, json_get_string(v, "text"));
    arena_done(&a);
}

static const struct live_kind LIVE_COMPAT = {
    .form = FRAME_OWN,
    .is_answer = true,
    .on_message = on_compat_message,
    .on_lost = on_compat_lost,
    .on_closed = on_compat_closed,
};

/* ---- the turn ---- */

static void name_answer(struct compat_call *c, str conversation_id, str run_id)
{
    struct compat_answer *a = &c->answer;
    (void)snprintf(a->conversation_id, sizeof a->conversation_id, "%.*s", STR_ARG(conversation_id));
    (void)snprintf(a->run_id, sizeof a->run_id, "%.*s", STR_ARG(run_id));
}

static void on_compat_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct compat_call *c = ctx;
    name_answer(c, conversation_id, run_id);
    if (!c->q->is_stream)
        return;
    c->answer.live = live_open(c->api, c->req, &LIVE_COMPAT, c);
    c->req = NULL;
    live_answer(c->answer.live, conversation_id);
    c->dialect->start(&c->answer);
    live_answer_begin(c->answer.live);
}

static void reply_whole(struct compat_call *c, const struct turn_result *t)
{
    struct api_json j;
    api_json_value(&j);
    c->dialect->write(&j.w, &c->answer, t);
    api_json_send(&j, call_end(c));
}

static void on_compat_done(void *ctx, const struct turn_result *t)
{
    struct compat_call *c = ctx;
    const struct run_result *run = t->run;
    c->turn = NULL;
    if (run->stop != RUN_STOP_ERROR)
        compat_thread_keep(c->api, &c->thread, &c->answer, run);
    if (run->stop == RUN_STOP_ERROR && c->answer.live) {
        stream_fail(c, run->error_type, str_from(run->err.msg));
    } else if (run->stop == RUN_STOP_ERROR) {
        api_run_failed(call_end(c), run, NULL);
    } else if (c->answer.live) {
        c->dialect->done(&c->answer, t);
        live_end(c->answer.live);
    } else {
        reply_whole(c, t);
    }
}

static void take_files(struct compat_call *c);

static void start_whole(struct compat_call *c)
{
    c->q = c->whole;
    c->whole = NULL;
    take_files(c);
}

/* A turn of a program does not wait, so it is refused before its stream is open. */
static void on_compat_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct compat_call *c = ctx;
    assert(c->req);
    c->turn = NULL;
    if (c->whole)
        start_whole(c); /* it was deleted, or continued by somebody: begin a new one */
    else
        api_turn_refused(call_end(c), why, err);
}

static void start_compat_turn(struct compat_call *c, const struct json *files)
{
    static const struct turn_events EVENTS = {on_compat_started, on_compat_done, on_compat_refused,
                                              NULL};
    struct http_req *r = c->req;
    struct turn_request turn;
    compat_turn(api_actor(r), c->q, files, &turn);
    turn.trace = trace_context_parse(http_get_header(r, "traceparent"));
    r->on_gone = NULL;
    turn.trace = trace_context_parse(http_get_header(r, "traceparent"));
    turn.request_id = str_from(r->id);
    if (!compat_choose_model(c->api, r, &turn)) {
        free(c);
        return;
    }
    r->on_gone = on_compat_gone;
    c->turn = turn_start(api_space(r)->runtime, &turn, &EVENTS, c);
}

static void on_compat_files(void *ctx, const struct err *err, const struct json *parts)
{
    struct compat_call *c = ctx;
    c->files = NULL;
    if (err)
        api_fail(call_end(c), FROM_FILES, err);
    else
        start_compat_turn(c, parts);
}

static void take_files(struct compat_call *c)
{
    if (c->q->nfiles > 0)
        c->files = compat_files_start(c->api, c->req, c->q, on_compat_files, c);
    else
        start_compat_turn(c, NULL);
}

/* ---- the body ---- */

/* The reader needs memory for each value of the body, whatever it is for. */
static bool is_modest(str body)
{
    size_t n = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < body.n && n <= COMPAT_VALUES_MAX; i++) {
        char ch = body.p[i];
        if (ch == '"')
            is_in_string = !is_in_string;
        else if (is_in_string)
            i += ch == '\\';
        else
            n += ch == ',' || ch == '[' || ch == '{';
    }
    return n <= COMPAT_VALUES_MAX;
}

static int read_request(struct http_req *r, const struct compat_dialect *d,
                        struct compat_request *q, struct err *e)
{
    struct json *body;
    if (!is_modest(r->body))
        return err_set(e, -EINVAL, "The body has more than %d values.", COMPAT_VALUES_MAX);
    int code = json_parse(&r->arena, r->body, JSON_UNIQUE, &body, e);
    if (code < 0)
        err_prefix(e, "The body is not valid JSON");
    else if (body->type != JSON_OBJECT)
        code = err_set(e, -EINVAL, "The body must be a JSON object.");
    if (code == 0)
        code = d->read(q, body, e);
    return code < 0 ? code : compat_check(q, e);
}

static void compat_begin(struct api *api, struct http_req *r, const struct compat_dialect *d)
{
    struct compat_request *q = ARENA_NEW(&r->arena, struct compat_request);
    struct err e = {0};
    *q = (struct compat_request){.arena = &r->arena};
    if (read_request(r, d, q, &e) < 0) {
        api_bad_request(r, e.msg);
        return;
    }
    struct compat_call *c = xcalloc(1, sizeof *c);
    *c = (struct compat_call){.api = api, .dialect = d, .req = r, .q = q};
    c->answer.created_s = clock_now_ms() / 1000;
    c->answer.has_usage_chunk = q->has_usage_chunk;
    c->answer.is_listed = q->is_listed;
    (void)snprintf(c->answer.model, sizeof c->answer.model, "%.*s", STR_ARG(q->model));
    (void)snprintf(c->answer.previous_id, sizeof c->answer.previous_id, "%.*s",
                   STR_ARG(q->previous_id));
    r->user = c;
    r->on_gone = on_compat_gone;
    compat_thread_hash(&c->thread, r, q);
    struct compat_request *part = compat_thread_take(api, &c->thread, q);
    if (part) {
        c->whole = q;
        c->q = part;
    }
    take_files(c);
}

void api_compat_chat(void *ctx, struct http_req *r)
{
    compat_begin(ctx, r, &COMPAT_CHAT);
}

void api_compat_responses(void *ctx, struct http_req *r)
{
    compat_begin(ctx, r, &COMPAT_RESPONSES);
}

void api_compat_messages(void *ctx, struct http_req *r)
{
    compat_begin(ctx, r, &COMPAT_ANTHROPIC);
}
