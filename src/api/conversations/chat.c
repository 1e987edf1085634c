#include "api/api_impl.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/live/hub.h"
#include "base/text/plain.h"
#include "http/sse.h"
#include "runtime/report.h"
#include "runtime/turn/focus.h"

/* ---- the request, the same for both routes ---- */

struct answer_body {
    str ask_id;
    bool is_allowed;
    const struct json *decisions, *always; /* always: true, "me" or "workspace" */
};

struct chat_body {
    str message, conversation_id, model, workspace_id, channel, when_busy;
    struct json_strs allowed_tools, auto_allow;
    struct answer_body answer;
    struct dir_grant directory;
    bool is_unattended;
    const struct json *metadata, *app_context;
};

static const struct json_field ANSWER_FIELDS[] = {
    {"askId", JF_STR, offsetof(struct answer_body, ask_id), JF_REQUIRED, NULL, 0},
    {"allow", JF_BOOL, offsetof(struct answer_body, is_allowed), 0, NULL, 0},
    {"always", JF_JSON, offsetof(struct answer_body, always), 0, NULL, 0},
    {"decisions", JF_JSON_OBJECT, offsetof(struct answer_body, decisions), 0, NULL, 0},
    {0}};

static const struct json_field CHAT_FIELDS[] = {
    {"message", JF_STR, offsetof(struct chat_body, message), 0, NULL, 0},
    {"answer", JF_OBJECT, offsetof(struct chat_body, answer), 0, ANSWER_FIELDS, 0},
    {"whenBusy", JF_STR, offsetof(struct chat_body, when_busy), 0, NULL, 0},
    {"autoAllow", JF_STRS, offsetof(struct chat_body, auto_allow), 0, NULL, 0},
    {"workingDirectory", JF_OBJECT, offsetof(struct chat_body, directory), 0, API_DIRECTORY_FIELDS,
     0},
    {"unattended", JF_BOOL, offsetof(struct chat_body, is_unattended), 0, NULL, 0},
    {"conversationId", JF_STR, offsetof(struct chat_body, conversation_id), JF_NULLABLE, NULL, 0},
    {"model", JF_STR, offsetof(struct chat_body, model), JF_NULLABLE, NULL, 0},
    {"workspaceId", JF_STR, offsetof(struct chat_body, workspace_id), JF_NULLABLE, NULL, 0},
    {"channel", JF_STR, offsetof(struct chat_body, channel), JF_NULLABLE, NULL, 0},
    {"allowedTools", JF_STRS, offsetof(struct chat_body, allowed_tools), JF_NULLABLE, NULL, 0},
    {"metadata", JF_JSON_OBJECT, offsetof(struct chat_body, metadata), JF_NULLABLE, NULL, 0},
    {"appContext", JF_JSON_OBJECT, offsetof(struct chat_body, app_context), JF_NULLABLE, NULL, 0},
    {0}};

static const struct {
    const char *name;
    enum turn_when_busy value;
} WHEN_BUSY[] = {{"refuse", TURN_REFUSE_BUSY}, {"queue", TURN_QUEUE}, {"steer", TURN_STEER}};

static bool parse_when_busy(struct http_req *r, str name, enum turn_when_busy *ret)
{
    *ret = TURN_REFUSE_BUSY;
    for (size_t i = 0; i < ARRAY_LEN(WHEN_BUSY); i++)
        if (str_eq(name, str_from(WHEN_BUSY[i].name))) {
            *ret = WHEN_BUSY[i].value;
            return true;
        }
    if (name.n == 0)
        return true;
    http_reply_error(r, 400, "bad_request", "whenBusy: expected refuse, queue or steer", NULL);
    return false;
}

static bool parse_always(struct http_req *r, const struct json *v, enum consent_scope *ret)
{
    str name = json_string(v, STR_NONE);
    *ret = CONSENT_ONCE;
    if (!v || v->type == JSON_NULL || (v->type == JSON_BOOL && !v->boolean))
        return true;
    *ret = str_eq(name, STR("workspace")) ? CONSENT_WORKSPACE : CONSENT_MINE;
    if (v->type == JSON_BOOL || *ret == CONSENT_WORKSPACE || str_eq(name, STR("me")))
        return true;
    http_reply_error(r, 400, "bad_request",
                     "answer.always: expected true, false, \"me\" or \"workspace\"", NULL);
    return false;
}

/* Decodes and checks; replies with 400 and returns false when something is wrong. */
static bool decode_chat(struct http_req *r, struct turn_request *ret,
                        const struct json **ret_app_context)
{
    struct chat_body b = {0};
    enum turn_when_busy busy;
    enum consent_scope remember;
    if (!api_decode_open_body(r, CHAT_FIELDS, &b) || !parse_when_busy(r, b.when_busy, &busy) ||
        !parse_always(r, b.answer.always, &remember) || !api_may_lend(r, &b.directory))
        return false;
    if (!b.message.p && b.answer.ask_id.n == 0) {
        http_reply_error(r, 400, "bad_request", "message: required but missing", NULL);
        return false;
    }
    *ret_app_context = b.app_context;
    *ret = (struct turn_request){
        .actor = api_actor(r),
        .conversation_id = store_id_meant(b.conversation_id),
        .message = b.message,
        .model = b.model,
        .channel = b.channel.n > 0 ? b.channel : STR("api"),
        .allowed_tools = b.allowed_tools,
        .auto_allow = b.auto_allow,
        .is_unattended = b.is_unattended,
        .when_busy = busy,
        .metadata = b.metadata,
        .grant = b.directory,
        .answer = {b.answer.ask_id, b.answer.is_allowed, b.answer.decisions, remember},
    };
    return true;
}

/* ---- POST /v1/chat ---- */

struct chat_wait {
    struct http_req *req;
    struct turn *turn;
};

static int error_status(const char *type)
{
    if (strcmp(type, "context_too_long") == 0)
        return 413;
    return str_starts(str_from(type), STR("provider_")) ? 502 : 500;
}

static void on_chat_done(void *ctx, const struct turn_result *t)
{
    struct chat_wait *c = ctx;
    struct http_req *r = c->req;
    if (t->run->stop == RUN_STOP_ERROR) {
        struct json *details = json_new(&r->arena, JSON_OBJECT);
        json_set(&r->arena, details, STR("conversationId"), json_of_str(t->conversation_id));
        http_reply_error(r, error_status(t->run->error_type), t->run->error_type, t->run->err.msg,
                         details);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    report_write(&j.w, t);
    api_json_send(&j, r);
}

static void on_chat_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct chat_wait *c = ctx;
    api_turn_refused(c->req, why, err);
}

static void on_chat_gone(struct http_req *r)
{
    struct chat_wait *c = r->user;
    turn_forget(c->turn);
}

static void start_turn(struct http_req *r, const struct turn_events *ev)
{
    struct turn_request req;
    const struct json *app_context;
    if (!decode_chat(r, &req, &app_context))
        return;
    struct chat_wait *c = ARENA_NEW(&r->arena, struct chat_wait);
    c->req = r;
    c->turn = turn_start(api_space(r)->runtime, &req, ev, c);
    turn_focus(c->turn, app_context);
    r->user = c;
    r->on_gone = on_chat_gone;
}

void api_chat_post(void *ctx, struct http_req *r)
{
    static const struct turn_events EVENTS = {NULL, on_chat_done, on_chat_refused};
    start_turn(r, &EVENTS);
}

/* ---- POST /v1/chat/start: replies when the run starts or the message is queued ---- */

static void accepted(struct chat_wait *c, str conversation_id, str key, str id)
{
    struct http_req *r = c->req;
    struct json *v = json_new(&r->arena, JSON_OBJECT);
    json_set(&r->arena, v, STR("conversationId"), json_of_str(conversation_id));
    json_set(&r->arena, v, key, json_of_str(id));
    turn_forget(c->turn);
    http_reply_json(r, 202, v);
}

static void on_start_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    accepted(ctx, conversation_id, STR("runId"), run_id);
}

static void on_start_queued(void *ctx, str conversation_id, str queued_id)
{
    accepted(ctx, conversation_id, STR("queuedId"), queued_id);
}

void api_chat_start(void *ctx, struct http_req *r)
{
    static const struct turn_events EVENTS = {on_start_started, NULL, on_chat_refused,
                                              on_start_queued};
    start_turn(r, &EVENTS);
}

/* ---- POST /v1/chat/stream ---- */

struct chat_stream {
    struct watcher watcher; /* joined to the hub while the stream is open */
    struct watch watch;
    struct api *api;
    struct api_space *space; /* held */
    struct http_req *req;    /* until the run has started */
    struct sse *sse;         /* from then on; NULL when the client has disconnected */
    struct bus_sub *sub;
    struct turn *turn;
    struct actor *actor; /* held */
    struct arena arena;
    str conversation_id;
};

static void stream_free(struct chat_stream *c)
{
    if (c->watcher.hub) {
        hub_watch_stop(&c->watch);
        hub_leave(&c->watcher);
    }
    bus_unsubscribe(c->sub);
    arena_done(&c->arena);
    actor_unref(c->actor);
    api_release(c->api, c->space);
    free(c);
}

static void on_stream_closed(void *ctx)
{
    struct chat_stream *c = ctx;
    c->sse = NULL;
    if (c->turn)
        turn_forget(c->turn); /* the run continues */
    stream_free(c);
}

static void on_stream_msg(void *ctx, struct bus_msg *msg)
{
    static const str HIDDEN[] = {STR_INIT("user.message"), STR_INIT("run.start"),
                                 STR_INIT("run.done"), STR_INIT("run.error")};
    struct chat_stream *c = ctx;
    for (size_t i = 0; i < ARRAY_LEN(HIDDEN); i++)
        if (str_eq(msg->type, HIDDEN[i]))
            return; /* `done` and `error` carry this information here */
    if (!hub_allows(&c->watch))
        return;
    struct sse_frame *f = frame_of_msg(msg, &c->api->names, c->conversation_id, FRAME_OWN);
    if (f && c->sse)
        (void)sse_send(c->sse, f);
}

static void end_with_error(struct chat_stream *c, const char *code, const char *message)
{
    struct api_json j;
    c->turn = NULL;
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr(&j.w, "error", str_from(code));
    jw_kstr(&j.w, "message", str_from(message));
    jw_kstr(&j.w, "conversationId", c->conversation_id);
    jw_end(&j.w);
    api_json_send_event(&j, c->sse, STR("error"));
    sse_close(c->sse);
}

/* The run continues, or is cancelled by the code that ended the access; this stream shows no more
 * of it. A deleted conversation and one that this person may not see any more look the same. */
static void on_stream_revoked(struct watcher *watcher, struct watch *watch)
{
    struct chat_stream *c = CONTAINER_OF(watcher, struct chat_stream, watcher);
    bus_unsubscribe(c->sub);
    c->sub = NULL;
    if (c->turn)
        turn_forget(c->turn);
    end_with_error(c, "not_found", "The conversation was deleted, or you may not see it any more.");
}

static void join_hub(struct chat_stream *c)
{
    static const struct watcher_events EVENTS = {.on_revoked = on_stream_revoked};
    c->watcher.ev = &EVENTS;
    hub_join(hub_of(c->api, c->space), &c->watcher, c->actor);
    hub_watch_start(&c->watcher, &c->watch, c->conversation_id, NULL);
}

static void open_chat_stream(struct chat_stream *c, str conversation_id)
{
    struct http_req *r = c->req;
    c->req = NULL;
    c->sse = sse_open(r, on_stream_closed, c);
    c->conversation_id = arena_str(&c->arena, conversation_id);
    join_hub(c);
}

/* A queued request does not see events of the current run. */
static void on_stream_queued(void *ctx, str conversation_id, str queued_id)
{
    struct chat_stream *c = ctx;
    struct api_json j;
    open_chat_stream(c, conversation_id);
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr(&j.w, "conversationId", conversation_id);
    jw_kstr(&j.w, "queuedId", queued_id);
    jw_end(&j.w);
    api_json_send_event(&j, c->sse, STR("chat.queued"));
}

static void on_stream_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct chat_stream *c = ctx;
    struct api_json j;
    if (c->req)
        open_chat_stream(c, conversation_id);
    api_json_begin(&j);
    jw_object(&j.w);
    jw_kstr(&j.w, "conversationId", conversation_id);
    jw_kstr(&j.w, "runId", run_id);
    jw_kbool(&j.w, "isNew", is_new);
    jw_end(&j.w);
    api_json_send_event(&j, c->sse, STR("chat.start"));
    if (is_new)
        sse_send_now(c->sse, STR("data.changed"), STR_NONE,
                     STR("{\"server\":\"conversations\",\"tool\":\"list\"}"));
    str topic = store_topic(&c->arena, c->space->store, c->conversation_id);
    c->sub = bus_subscribe(c->api->deps.bus, topic, on_stream_msg, c);
}

static void on_stream_done(void *ctx, const struct turn_result *t)
{
    struct chat_stream *c = ctx;
    struct api_json j;
    if (t->run->stop == RUN_STOP_ERROR) {
        end_with_error(c, t->run->error_type, t->run->err.msg);
        return;
    }
    c->turn = NULL;
    api_json_begin(&j);
    report_write(&j.w, t);
    api_json_send_event(&j, c->sse, STR("done"));
    sse_close(c->sse);
}

/* A queued request needs its stream before the turn is accepted, because the turn may still be
 * refused. */
static void on_stream_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct chat_stream *c = ctx;
    if (!c->req) {
        struct err shown = *err;
        plain_err(&shown);
        end_with_error(c, api_refusal_code(why), shown.msg);
        return;
    }
    api_turn_refused(c->req, why, err);
    stream_free(c);
}

static void on_stream_gone(struct http_req *r)
{
    struct chat_stream *c = r->user;
    turn_forget(c->turn);
    stream_free(c);
}

void api_chat_stream(void *ctx, struct http_req *r)
{
    static const struct turn_events EVENTS = {on_stream_started, on_stream_done, on_stream_refused,
                                              on_stream_queued};
    struct api *api = ctx;
    struct turn_request req;
    const struct json *app_context;
    if (!decode_chat(r, &req, &app_context))
        return;
    struct chat_stream *c = xcalloc(1, sizeof *c);
    arena_init(&c->arena);
    c->api = api;
    c->space = api_hold(api, api_space(r));
    c->actor = actor_ref(api_actor(r));
    c->req = r;
    r->user = c;
    r->on_gone = on_stream_gone;
    c->turn = turn_start(c->space->runtime, &req, &EVENTS, c);
    turn_focus(c->turn, app_context);
}
