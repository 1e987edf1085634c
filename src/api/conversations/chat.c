#include <assert.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/conversations/chat_files.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/live/live.h"
#include "api/projects/projects.h"
#include "api/views/views.h"
#include "base/clock.h"
#include "base/text/plain.h"
#include "bus/vocabulary.h"
#include "runtime/report.h"
#include "runtime/turn/focus.h"
#include "workspace/roster/roster.h"

#define MENTIONS_MAX 50

/* ---- the request, the same for both routes ---- */

struct answer_body {
    str ask_id, words;
    bool is_allowed;
    const struct json *decisions, *always; /* always: true, "me", "conversation" or "workspace" */
};

struct chat_body {
    str message, conversation_id, model, workspace_id, channel, when_busy, project_id;
    struct json_strs allowed_tools, auto_allow, files, mentions;
    struct answer_body answer;
    struct dir_grant directory;
    bool is_unattended, is_for_people, wants_summary;
    const struct json *metadata, *app_context;
};

static const struct json_field CHAT_ANSWER_FIELDS[] = {
    {"askId", JF_STR, offsetof(struct answer_body, ask_id), JF_REQUIRED, NULL, 0,
     "The id of the question."},
    {"allow", JF_BOOL, offsetof(struct answer_body, is_allowed), 0, NULL, 0,
     "Whether the calls may run."},
    {"always", JF_JSON, offsetof(struct answer_body, always), 0, NULL, 0,
     "Remember the permission: for the person, everywhere (true, \"me\") or in this conversation, "
     "or for the workspace.",
     "boolean|'me'|'conversation'|'workspace'|null"},
    {"words", JF_STR, offsetof(struct answer_body, words), JF_NULLABLE, NULL, 0,
     "With `always`: only commands of the shell that begin with these words are remembered."},
    {"decisions", JF_JSON_OBJECT, offsetof(struct answer_body, decisions), 0, NULL, 0,
     "Decisions for single calls, by the id of the call.", "{boolean|'always'}"},
    {0}};

const struct json_field API_CHAT_FIELDS[] = {
    {"message", JF_STR, offsetof(struct chat_body, message), 0, NULL, 0,
     "What the person says; required unless `answer` is given."},
    {"answer", JF_OBJECT, offsetof(struct chat_body, answer), 0, CHAT_ANSWER_FIELDS, 0,
     "The answer to a question about tool calls (stopReason `waiting`)."},
    {"files", JF_STRS, offsetof(struct chat_body, files), JF_NULLABLE, NULL, 0,
     "Ids of files from POST /v1/files that belong to the message."},
    {"whenBusy", JF_STR, offsetof(struct chat_body, when_busy), 0, NULL, 0,
     "What happens when the agent is still answering there; absent: refuse.",
     "'refuse'|'queue'|'steer'"},
    {"mentions", JF_STRS, offsetof(struct chat_body, mentions), JF_NULLABLE, NULL, 0,
     "Ids of people of the conversation who get a notice of this message."},
    {"autoAllow", JF_STRS, offsetof(struct chat_body, auto_allow), 0, NULL, 0,
     "Patterns of tools that run without a question during this run."},
    {"workingDirectory", JF_OBJECT, offsetof(struct chat_body, directory), 0, API_DIRECTORY_FIELDS,
     0, "A directory of a terminal on the server's machine; only through nb.sock."},
    {"unattended", JF_BOOL, offsetof(struct chat_body, is_unattended), 0, NULL, 0,
     "Nobody can answer questions: calls that would ask are refused."},
    {"forPeople", JF_BOOL, offsetof(struct chat_body, is_for_people), 0, NULL, 0,
     "true: a message to the other people of the conversation, which the agent does not answer; "
     "only for /v1/chat/start."},
    {"compact", JF_BOOL, offsetof(struct chat_body, wants_summary), 0, NULL, 0,
     "true: the older messages are summarised before the answer, however few there are."},
    {"conversationId", JF_STR, offsetof(struct chat_body, conversation_id), JF_NULLABLE, NULL, 0,
     "The conversation to continue; absent: a new one."},
    {"model", JF_STR, offsetof(struct chat_body, model), JF_NULLABLE, NULL, 0,
     "The model as provider:model; absent: the default."},
    {"workspaceId", JF_STR, offsetof(struct chat_body, workspace_id), JF_NULLABLE, NULL, 0,
     "Ignored; X-Workspace-Id names the workspace."},
    {"channel", JF_STR, offsetof(struct chat_body, channel), JF_NULLABLE, NULL, 0,
     "Where the message comes from; absent: api."},
    {"allowedTools", JF_STRS, offsetof(struct chat_body, allowed_tools), JF_NULLABLE, NULL, 0,
     "Patterns of the only tools that this run may use."},
    {"metadata", JF_JSON_OBJECT, offsetof(struct chat_body, metadata), JF_NULLABLE, NULL, 0,
     "Stored with a new conversation."},
    {"projectId", JF_STR, offsetof(struct chat_body, project_id), JF_NULLABLE, NULL, 0,
     "The project of a new conversation."},
    {"appContext", JF_JSON_OBJECT, offsetof(struct chat_body, app_context), JF_NULLABLE, NULL, 0,
     "The app in front of the person: its name, and what it shows."},
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
    if (!name.p)
        return true;
    return api_bad_request(r, "whenBusy: expected refuse, queue or steer");
}

static bool parse_always(struct http_req *r, const struct json *v, enum consent_scope *ret)
{
    static const char *const NAMES[] = {[CONSENT_CONVERSATION] = "conversation",
                                        [CONSENT_MINE] = "me",
                                        [CONSENT_WORKSPACE] = "workspace"};
    ptrdiff_t found = STR_INDEX(json_string(v, STR_NONE), NAMES);
    *ret = CONSENT_ONCE;
    if (!v || v->type == JSON_NULL || (v->type == JSON_BOOL && !v->boolean))
        return true;
    *ret = found >= 0 ? (enum consent_scope)found : CONSENT_MINE;
    return v->type == JSON_BOOL || found >= 0 ||
           api_bad_request(r, "answer.always: expected true, false, \"me\", \"conversation\" or "
                              "\"workspace\"");
}

/* What is asked for; in the arena of the request. */
struct chat_wish {
    struct turn_request turn;
    const struct json *app_context;
    struct json_strs files;
    struct chat_files found; /* while they are being found */
};

/* They are kept with a message that waits: only ids. */
static bool check_mentions(struct http_req *r, const struct json_strs *people)
{
    for (size_t i = 0; i < people->len; i++)
        if (!user_id_ok(people->items[i]))
            return api_bad_request(r, "mentions: expected ids of people");
    return people->len <= MENTIONS_MAX || api_bad_request(r, "mentions: at most 50 people");
}

/* Decodes and checks; replies with 400 and returns NULL when something is wrong. */
static struct chat_wish *decode_chat(struct api *api, struct http_req *r)
{
    struct chat_body b = {0};
    enum turn_when_busy busy;
    enum consent_scope remember;
    if (!api_decode_open_body(r, API_CHAT_FIELDS, &b) || !parse_when_busy(r, b.when_busy, &busy) ||
        !parse_always(r, b.answer.always, &remember) || !api_may_lend(r, &b.directory) ||
        !chat_files_check(r, b.files) || !check_mentions(r, &b.mentions))
        return NULL;
    if (b.project_id.n > 0 && !api_may_begin_in(r, b.project_id, b.conversation_id))
        return NULL;
    if (!b.message.p && b.answer.ask_id.n == 0 && b.files.len == 0) {
        api_bad_request(r, "message: required but missing");
        return NULL;
    }
    struct chat_wish *wish = ARENA_NEW(&r->arena, struct chat_wish);
    struct turn_request *ret = &wish->turn;
    wish->app_context = b.app_context;
    wish->files = b.files;
    *ret = (struct turn_request){
        .actor = api_actor(r),
        .conversation_id = store_id_meant(b.conversation_id),
        .message = b.message,
        .model = b.model,
        .channel = b.channel.n > 0 ? b.channel : STR("api"),
        .allowed_tools = b.allowed_tools,
        .auto_allow = b.auto_allow,
        .is_unattended = b.is_unattended,
        .is_for_people = b.is_for_people,
        .mentions = b.mentions,
        .wants_summary = b.wants_summary,
        .when_busy = busy,
        .metadata = b.metadata,
        .project_id = b.project_id,
        .trace = trace_context_parse(http_get_header(r, "traceparent")),
        .request_id = str_from(r->id),
        .grant = b.directory,
        .answer = {b.answer.ask_id, b.answer.is_allowed, b.answer.decisions, remember,
                   b.answer.words},
    };
    if (b.answer.ask_id.n == 0)
        ret->ncontexts =
            views_contexts(api, ret->actor, &r->arena, ret->conversation_id, &ret->contexts);
    return wish;
}

/* ---- POST /v1/chat ---- */

struct chat_wait {
    struct api *api;
    struct http_req *req;
    struct message *turn; /* NULL: its files are being found */
    str conversation_id;  /* as the request names it */
    struct chat_wish *wish;
    const struct turn_events *ev;
};

static void on_chat_done(void *ctx, const struct turn_result *t)
{
    struct chat_wait *c = ctx;
    struct http_req *r = c->req;
    if (t->run->stop == RUN_STOP_ERROR) {
        struct json *details = json_new(&r->arena, JSON_OBJECT);
        json_set(&r->arena, details, STR("conversationId"), json_of_str(t->conversation_id));
        api_run_failed(r, t->run, details);
        return;
    }
    struct api_json j;
    api_json_value(&j);
    report_write(&j.w, t);
    api_json_send(&j, r);
}

static void on_chat_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct chat_wait *c = ctx;
    views_untold(c->api, api_actor(c->req), c->conversation_id);
    api_turn_refused(c->req, why, err);
}

static void on_chat_gone(struct http_req *r)
{
    struct chat_wait *c = r->user;
    if (c->turn)
        turn_forget(c->turn);
    else
        chat_files_cancel(&c->wish->found);
}

static void chat_begin(struct chat_wait *c)
{
    c->turn = turn_start(api_space(c->req)->runtime, &c->wish->turn, c->ev, c);
    turn_focus(c->turn, c->wish->app_context);
}

static void on_chat_files_found(void *ctx, const struct err *err, const struct json *parts)
{
    struct chat_wait *c = ctx;
    c->wish->turn.files = parts;
    if (err)
        api_fail(c->req, FROM_FILES, err);
    else
        chat_begin(c);
}

/* The other routes reply with an answer, and there is none. */
static bool check_for_people(struct http_req *r, const struct chat_wish *wish)
{
    return wish && (!wish->turn.is_for_people ||
                    api_bad_request(r, "forPeople: send it to /v1/chat/start"));
}

static void start_turn(struct api *api, struct http_req *r, const struct turn_events *ev)
{
    struct chat_wish *wish = decode_chat(api, r);
    if (!wish || (!ev->on_said && !check_for_people(r, wish)))
        return;
    struct chat_wait *c = ARENA_NEW(&r->arena, struct chat_wait);
    *c = (struct chat_wait){.api = api, .req = r, .wish = wish, .ev = ev};
    c->conversation_id = arena_str(&r->arena, wish->turn.conversation_id);
    r->user = c;
    r->on_gone = on_chat_gone;
    if (wish->files.len > 0)
        chat_files_find(&wish->found, api, r, wish->files, wish->turn.model, on_chat_files_found,
                        c);
    else
        chat_begin(c);
}

void api_chat_post(void *ctx, struct http_req *r)
{
    static const struct turn_events EVENTS = {NULL, on_chat_done, on_chat_refused};
    start_turn(ctx, r, &EVENTS);
}

/* ---- POST /v1/chat/start: replies when the run starts or the message is queued ---- */

static void accepted(struct chat_wait *c, str conversation_id, str key, str id)
{
    struct http_req *r = c->req;
    struct json *v = json_new(&r->arena, JSON_OBJECT);
    json_set(&r->arena, v, STR("conversationId"), json_of_str(conversation_id));
    if (id.n > 0)
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

/* A message for people has no run. */
static void on_start_said(void *ctx, str conversation_id)
{
    accepted(ctx, conversation_id, STR_NONE, STR_NONE);
}

void api_chat_start(void *ctx, struct http_req *r)
{
    static const struct turn_events EVENTS = {on_start_started, NULL, on_chat_refused,
                                              on_start_queued, on_start_said};
    start_turn(ctx, r, &EVENTS);
}

/* ---- POST /v1/chat/stream ---- */

/* Belongs to the request until the turn is accepted or queued, then to the stream. */
struct chat_stream {
    struct api *api;
    struct http_req *req;   /* until the stream is open */
    str conversation_id;    /* as the request names it; valid with req */
    struct chat_wish *wish; /* valid with req */
    struct live *live;      /* from then on */
    struct message *turn;   /* NULL: its files are being found, or the last event was sent */
};

static void chat_stream_end(struct chat_stream *c)
{
    c->turn = NULL;
    live_end(c->live);
}

static void chat_stream_fail(struct chat_stream *c, const char *code, const char *message)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "error", str_from(code));
    jw_kstr(&j.w, "message", str_from(message));
    jw_kstr(&j.w, "conversationId", live_answer_id(c->live));
    live_send_json(c->live, STR("error"), &j);
    chat_stream_end(c);
}

/* The run continues, or is cancelled by the code that ended the access; this stream shows no more
 * of it. A deleted conversation and one that this person may not see any more look the same. */
static void on_chat_lost(void *owner)
{
    struct chat_stream *c = owner;
    assert(c->turn);
    turn_forget(c->turn);
    chat_stream_fail(c, "not_found",
                     "The conversation was deleted, or you may not see it any more.");
}

static void on_chat_closed(void *owner)
{
    struct chat_stream *c = owner;
    if (c->turn)
        turn_forget(c->turn); /* the run continues */
    free(c);
}

/* `done` and `error` carry this information here. */
static const enum event_type IN_REPORT[] = {EV_USER_MESSAGE, EV_RUN_START, EV_RUN_DONE,
                                            EV_RUN_ERROR};
static const struct live_kind LIVE_CHAT = {
    .form = FRAME_OWN,
    .is_answer = true,
    .hidden = IN_REPORT,
    .nhidden = ARRAY_LEN(IN_REPORT),
    .on_lost = on_chat_lost,
    .on_closed = on_chat_closed,
};

static void open_chat_stream(struct chat_stream *c, str conversation_id)
{
    assert(c->req && !c->live);
    c->live = live_open(c->api, c->req, &LIVE_CHAT, c);
    c->req = NULL;
    live_answer(c->live, conversation_id);
}

static void on_stream_queued(void *ctx, str conversation_id, str queued_id)
{
    struct chat_stream *c = ctx;
    struct api_json j;
    open_chat_stream(c, conversation_id);
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", conversation_id);
    jw_kstr(&j.w, "queuedId", queued_id);
    live_send_json(c->live, event_name(EV_CHAT_QUEUED), &j);
}

/* There is one more conversation. */
static void tell_new_conversation(struct live *live)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "server", STR("conversations"));
    jw_kstr(&j.w, "tool", STR("list"));
    jw_kint(&j.w, "timestamp", clock_now_ms());
    live_send_json(live, event_name(EV_DATA_CHANGED), &j);
}

static void on_stream_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    struct chat_stream *c = ctx;
    struct api_json j;
    if (c->req)
        open_chat_stream(c, conversation_id);
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", conversation_id);
    jw_kstr(&j.w, "runId", run_id);
    jw_kbool(&j.w, "isNew", is_new);
    live_send_json(c->live, event_name(EV_CHAT_START), &j);
    if (is_new)
        tell_new_conversation(c->live);
    live_answer_begin(c->live);
}

static void on_stream_done(void *ctx, const struct turn_result *t)
{
    struct chat_stream *c = ctx;
    struct api_json j;
    if (t->run->stop == RUN_STOP_ERROR) {
        chat_stream_fail(c, t->run->error_type, t->run->err.msg);
        return;
    }
    api_json_value(&j);
    report_write(&j.w, t);
    live_send_json(c->live, STR("done"), &j);
    chat_stream_end(c);
}

/* The stream of a queued message is open before the turn is accepted, and the turn may still be
 * refused. */
static void on_stream_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct chat_stream *c = ctx;
    if (!c->req) {
        struct err shown = *err;
        plain_err(&shown);
        chat_stream_fail(c, api_refusal_code(why), shown.msg);
        return;
    }
    views_untold(c->api, api_actor(c->req), c->conversation_id);
    api_turn_refused(c->req, why, err);
    free(c);
}

static void on_stream_gone(struct http_req *r)
{
    struct chat_stream *c = r->user;
    assert(!c->live);
    if (c->turn)
        turn_forget(c->turn);
    else
        chat_files_cancel(&c->wish->found);
    free(c);
}

static void chat_stream_begin(struct chat_stream *c)
{
    static const struct turn_events EVENTS = {on_stream_started, on_stream_done, on_stream_refused,
                                              on_stream_queued};
    c->turn = turn_start(api_space(c->req)->runtime, &c->wish->turn, &EVENTS, c);
    turn_focus(c->turn, c->wish->app_context);
}

static void on_stream_files_found(void *ctx, const struct err *err, const struct json *parts)
{
    struct chat_stream *c = ctx;
    c->wish->turn.files = parts;
    if (!err) {
        chat_stream_begin(c);
        return;
    }
    c->req->on_gone = NULL;
    api_fail(c->req, FROM_FILES, err);
    free(c);
}

void api_chat_stream(void *ctx, struct http_req *r)
{
    struct chat_wish *wish = decode_chat(ctx, r);
    if (!check_for_people(r, wish))
        return;
    struct chat_stream *c = xcalloc(1, sizeof *c);
    *c = (struct chat_stream){.api = ctx, .req = r, .wish = wish};
    c->conversation_id = arena_str(&r->arena, wish->turn.conversation_id);
    r->user = c;
    r->on_gone = on_stream_gone;
    if (wish->files.len > 0)
        chat_files_find(&wish->found, ctx, r, wish->files, wish->turn.model, on_stream_files_found,
                        c);
    else
        chat_stream_begin(c);
}
