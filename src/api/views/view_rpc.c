/* /v1/views/:view/rpc and /asks - requests of interfaces, and questions about them. */
#include "api/views/view_rpc.h"

#include <assert.h>
#include <math.h>

#include "api/bodies.h"
#include "api/handlers.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/text/plain.h"
#include "base/utf8.h"
#include "bundle/bundle.h"
#include "bus/vocabulary.h"
#include "tools/tool_selection.h"

#define EVENT_MAX   (64u * 1024)
#define QUEUE_MAX   (32u * 1024 * 1024) /* unread bytes of an answer; results may be large */
#define LOGGED_MAX  500                 /* bytes of a log message that are kept */
#define MESSAGE_MAX 400
#define LINK_MAX    200 /* bytes of an opened link that are recorded */

/* ---- ends ---- */

static void rpc_free(struct view_rpc *q)
{
    actor_unref(q->actor);
    arena_done(&q->arena);
    free(q);
}

/* The work is over; what remains is the answer. */
static void rpc_settle(struct view_rpc *q)
{
    q->cancel = NULL;
    q->ask_id[0] = '\0';
    if (list_empty(&q->node))
        return;
    list_del(&q->node);
    assert(q->view->nrpcs > 0);
    q->view->nrpcs--;
}

static void rpc_cancel(struct view_rpc *q)
{
    if (q->cancel)
        q->cancel(q);
    rpc_settle(q);
}

static void on_rpc_closed(void *ctx)
{
    struct view_rpc *q = ctx;
    rpc_cancel(q);
    rpc_free(q);
}

static void on_rpc_gone(struct http_req *r)
{
    on_rpc_closed(r->user);
}

static void rpc_send(struct view_rpc *q, struct api_json *j)
{
    rpc_settle(q);
    if (q->req) {
        q->req->on_gone = NULL;
        api_json_send(j, q->req);
        rpc_free(q);
        return;
    }
    str text = api_json_text(j);
    if (buf_failed(&j->buf))
        text = STR("{\"error\":{\"code\":-32000,\"message\":\"The result is too large.\"}}");
    sse_send_now(q->sse, STR("done"), STR_NONE, plain_json(&q->arena, text));
    buf_done(&j->buf);
    sse_close(q->sse); /* on_rpc_closed frees it */
}

void view_rpc_result(struct view_rpc *q, const struct json *result)
{
    struct api_json j;
    api_json_begin(&j);
    jw_key(&j.w, "result");
    if (result)
        jw_value(&j.w, result);
    else
        jw_raw(&j.w, STR("{}"));
    rpc_send(q, &j);
}

void view_rpc_error(struct view_rpc *q, const struct json *error)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kval(&j.w, "error", error);
    rpc_send(q, &j);
}

void view_rpc_fail(struct view_rpc *q, int code, const char *fmt, ...)
{
    va_list ap;
    struct json *error = json_new(&q->arena, JSON_OBJECT);
    va_start(ap, fmt);
    str message = arena_vprintf(&q->arena, fmt, ap);
    va_end(ap);
    json_set(&q->arena, error, STR("code"), json_of_int(code));
    json_set(&q->arena, error, STR("message"), json_of_str(plain_text(&q->arena, message)));
    view_rpc_error(q, error);
}

/* ---- events before the answer ---- */

static void rpc_event(struct view_rpc *q, const char *event, struct json_writer *w,
                      struct buf *data)
{
    struct arena a; /* a server may report progress without end */
    arena_init(&a);
    jw_end(w);
    if (q->sse && !buf_failed(data))
        sse_send_now(q->sse, str_from(event), STR_NONE, plain_json(&a, buf_str(data)));
    buf_done(data);
    arena_done(&a);
}

void view_rpc_progress(struct view_rpc *q, double progress, double total, str message)
{
    struct json_writer w;
    struct buf data;
    jw_start(&w, &data, EVENT_MAX);
    jw_object(&w);
    jw_kdouble(&w, "progress", progress);
    if (total > 0 && isfinite(total))
        jw_kdouble(&w, "total", total);
    if (message.n > 0)
        jw_kstr(&w, "message", utf8_truncate(message, MESSAGE_MAX));
    rpc_event(q, "progress", &w, &data);
}

static size_t open_asks(const struct app_view *v)
{
    size_t n = 0;
    LIST_EACH (q, &v->rpcs, const struct view_rpc, node)
        n += q->ask_id[0] != '\0';
    return n;
}

void view_rpc_ask(struct view_rpc *q, const struct view_ask *ask,
                  void (*decided)(struct view_rpc *q, enum ask_decision d))
{
    struct json_writer w;
    struct buf data;
    if (!q->sse || open_asks(q->view) >= VIEW_ASKS_MAX) {
        view_rpc_fail(q, VIEW_RPC_NEEDS_PERSON, "%s",
                      q->sse ? "Too many questions to the person are open."
                             : "This needs the permission of the person.");
        return;
    }
    random_id("ask", q->ask_id);
    q->can_remember = ask->can_remember;
    q->decided = decided;
    jw_start(&w, &data, API_JSON_MAX);
    jw_object(&w);
    jw_kcstr(&w, "askId", q->ask_id);
    jw_kcstr(&w, "kind", ask->kind);
    if (ask->tool.n > 0)
        jw_kstr(&w, "tool", ask->tool);
    if (ask->title.n > 0)
        jw_kstr(&w, "title", ask->title);
    if (ask->input)
        jw_kval(&w, "input", ask->input);
    if (ask->detail)
        jw_kval(&w, "detail", ask->detail);
    jw_kbool(&w, "canRemember", ask->can_remember);
    rpc_event(q, "ask", &w, &data);
}

/* ---- the end of the view ---- */

void view_rpcs_end(struct app_view *v)
{
    LIST_EACH (q, &v->rpcs, struct view_rpc, node) {
        if (q->cancel)
            q->cancel(q);
        q->cancel = NULL;
        view_rpc_fail(q, VIEW_RPC_REFUSED, "The view has ended.");
    }
    assert(v->nrpcs == 0);
}

/* ---- limits and records ---- */

bool view_rpc_is_too_fast(struct view_rpc *q, enum rate_kind kind)
{
    struct api *api = q->view->api;
    const struct config_rates *max = &api->deps.config->http.rates;
    if (actor_is_operator(q->actor) || auth_mode(api->deps.auth) == AUTH_DEV)
        return false;
    return rates_take(&api->rates, actor_user(q->actor), kind,
                      kind == RATE_CHAT ? max->chat : max->tools, clock_now_ms()) > 0;
}

static void record(struct view_rpc *q, const char *outcome, str tool, str detail)
{
    const struct app_view *v = q->view;
    struct doer by = {.actor = q->actor, .via = STR("app"), .conversation_id = v->conversation_id};
    struct audit_entry e = doer_entry(&q->arena, &by);
    e.action = event_name(EV_APP_CALL);
    e.target = tool;
    e.outcome = str_from(outcome);
    e.detail = arena_printf(&q->arena, "view %s of %.*s%s%.*s%s%.*s", v->id, STR_ARG(v->source),
                            v->conversation_id.n > 0 ? " in " : "", STR_ARG(v->conversation_id),
                            detail.n > 0 ? ": " : "", STR_ARG(detail));
    e.workspace = v->watcher.space->id;
    audit_record(v->api->deps.audit, &e);
}

void view_audit(struct view_rpc *q, str tool, str detail)
{
    record(q, "ok", tool, detail);
}

void view_audit_refusal(struct view_rpc *q, str tool, str why)
{
    if (q->view->refusals >= VIEW_REFUSALS)
        return;
    bool is_last = ++q->view->refusals == VIEW_REFUSALS;
    record(q, "denied", tool,
           is_last ? arena_printf(&q->arena, "%.*s; later refusals of this view are not recorded",
                                  STR_ARG(why))
                   : why);
}

/* ---- methods that are forwarded to the server ---- */

static void on_forward_done(void *ctx, const struct mcp_reply *r)
{
    struct view_rpc *q = ctx;
    q->cancel = NULL;
    if (r->err)
        view_rpc_fail(q, VIEW_RPC_REFUSED, "%.*s does not answer.", STR_ARG(q->view->source));
    else if (r->error)
        view_rpc_error(q, r->error);
    else {
        if (q->heard)
            q->heard(q, r->result);
        view_rpc_result(q, r->result);
    }
}

static void on_forward_progress(void *ctx, const struct json *p)
{
    view_rpc_progress(ctx, json_double(json_get(p, "progress"), 0),
                      json_double(json_get(p, "total"), 0), json_get_string(p, "message"));
}

static void cancel_forward(struct view_rpc *q)
{
    bundle_cancel(q->work, "The interface does not wait for it any more.");
}

void view_rpc_forward(struct view_rpc *q, const struct mcp_request *req)
{
    static const struct mcp_call_events EVENTS = {.done = on_forward_done,
                                                  .progress = on_forward_progress};
    struct bundle *b = view_bundle(q->view);
    if (!b) {
        view_rpc_fail(q, VIEW_RPC_REFUSED, "The app is not installed any more.");
        return;
    }
    q->cancel = cancel_forward;
    q->work = bundle_request_as(b, actor_sole_user(q->actor), req, &EVENTS, q);
}

/* The server gets the one member that the method has, not what else the interface has sent. */
static void forward(struct view_rpc *q, const char *member, bool is_required)
{
    const struct json *value = json_get(q->params, member);
    struct json *params = json_new(&q->arena, JSON_OBJECT);
    if (is_required && !json_is(value, JSON_STRING)) {
        view_rpc_fail(q, RPC_INVALID_PARAMS, "%s: expected a string", member);
        return;
    }
    if (!tool_selection_may_use_source(q->actor, q->view->source)) {
        view_rpc_fail(q, VIEW_RPC_REFUSED, "This token does not allow that app.");
        return;
    }
    if (json_is(value, JSON_STRING))
        json_set(&q->arena, params, str_from(member), *value);
    struct mcp_request req = {.method = q->method, .params = params, .is_kept = true};
    view_rpc_forward(q, &req);
}

static void forward_read(struct view_rpc *q)
{
    forward(q, "uri", true);
}

static void forward_list(struct view_rpc *q)
{
    forward(q, "cursor", false);
}

static void note_log(struct view_rpc *q)
{
    const struct json *data = json_get(q->params, "data");
    str text = data ? json_string(data, json_to_str(&q->arena, data)) : STR_NONE;
    log_info(q->view->api->deps.log, "views", "%.*s: %.*s: %.*s", STR_ARG(q->view->source),
             STR_ARG(plain_line(&q->arena, utf8_truncate(json_get_string(q->params, "level"), 16))),
             STR_ARG(plain_line(&q->arena, utf8_truncate(text, LOGGED_MAX))));
    view_rpc_result(q, NULL);
}

/* The page has opened the link, because the person wanted it. The part behind '?' or '#' may be
 * secret. */
static void note_link(struct view_rpc *q)
{
    str url = json_get_string(q->params, "url");
    size_t n = 0;
    while (n < url.n && url.p[n] != '?' && url.p[n] != '#')
        n++;
    str shown = plain_line(&q->arena, utf8_truncate(str_slice(url, 0, n), LINK_MAX));
    if (!q->is_confirmed) {
        view_rpc_fail(q, RPC_METHOD_NOT_FOUND, "Method not found");
        return;
    }
    if (view_rpc_is_too_fast(q, RATE_TOOLS)) {
        view_rpc_fail(q, VIEW_RPC_REFUSED, "Too many links. Try again in a minute.");
        return;
    }
    log_info(q->view->api->deps.log, "views", "%s of %.*s: %.*s opened %.*s", q->view->id,
             STR_ARG(q->view->source), STR_ARG(actor_user(q->actor)), STR_ARG(shown));
    view_audit(q, STR("ui/open-link"), shown);
    view_rpc_result(q, NULL);
}

static const struct {
    const char *method;
    void (*handle)(struct view_rpc *q);
} METHODS[] = {
    {"tools/call", view_tools_call},
    {"tools/list", view_tools_list},
    {"tasks/get", view_task},
    {"tasks/result", view_task},
    {"tasks/cancel", view_task},
    {"resources/read", forward_read},
    {"resources/list", forward_list},
    {"resources/templates/list", forward_list},
    {"prompts/list", forward_list},
    {"notifications/message", note_log},
    {"ui/open-link", note_link},
    {"ui/message", view_message},
    {"ui/update-model-context", view_update_context},
    {"sampling/createMessage", view_sample},
};

/* ---- POST /v1/views/:view/rpc ---- */

struct rpc_in {
    str method;
    const struct json *params;
    bool is_confirmed;
};

const struct json_field API_RPC_FIELDS[] = {
    {"method", JF_STR, offsetof(struct rpc_in, method), JF_REQUIRED, NULL, 0,
     "The MCP method that the interface asks for."},
    {"params", JF_JSON_OBJECT, offsetof(struct rpc_in, params), JF_NULLABLE, NULL, 0,
     "Its parameters."},
    {"confirmed", JF_BOOL, offsetof(struct rpc_in, is_confirmed), JF_NULLABLE, NULL, 0,
     "The person has already agreed on the page."},
    {0}};

static bool wants_events(const struct http_req *r)
{
    return str_find_nocase(http_get_header(r, "accept"), STR("text/event-stream")) >= 0;
}

static struct view_rpc *rpc_new(struct app_view *v, struct http_req *r, const struct rpc_in *in)
{
    struct view_rpc *q = xcalloc(1, sizeof *q);
    arena_init(&q->arena);
    q->view = v;
    q->actor = actor_ref(api_actor(r));
    q->method = arena_str(&q->arena, in->method);
    q->params = in->params ? json_clone(&q->arena, in->params) : NULL;
    q->is_confirmed = in->is_confirmed;
    q->started_ms = clock_mono_ms();
    list_push(&v->rpcs, &q->node);
    v->nrpcs++;
    if (wants_events(r)) {
        q->sse = sse_open(r, on_rpc_closed, q); /* frees r */
        sse_set_queue_max(q->sse, QUEUE_MAX);
    } else {
        q->req = r;
        r->user = q;
        r->on_gone = on_rpc_gone;
    }
    return q;
}

void api_views_rpc(void *ctx, struct http_req *r)
{
    struct rpc_in in = {0};
    struct app_view *v = view_of_request(ctx, r);
    if (!v || !api_decode_body(r, API_RPC_FIELDS, &in))
        return;
    bool is_full = v->nrpcs >= VIEW_CALLS_MAX;
    struct view_rpc *q = rpc_new(v, r, &in);
    if (!view_take_token(v) || is_full) {
        view_rpc_fail(q, VIEW_RPC_REFUSED, "Too many requests of this interface%s.",
                      is_full ? " are in progress" : "");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++)
        if (str_eq(q->method, str_from(METHODS[i].method))) {
            METHODS[i].handle(q);
            return;
        }
    view_rpc_fail(q, RPC_METHOD_NOT_FOUND, "Method not found");
}

/* ---- POST /v1/views/:view/asks/:ask ---- */

struct ask_in {
    str decision;
};

const struct json_field API_VIEW_ASK_FIELDS[] = {
    {"decision", JF_STR, offsetof(struct ask_in, decision), JF_REQUIRED, NULL, 0,
     "What the person decided.", "'allow'|'deny'|'always'"},
    {0}};

static struct view_rpc *find_ask(const struct app_view *v, str id)
{
    LIST_EACH (q, &v->rpcs, struct view_rpc, node)
        if (q->ask_id[0] && str_eq(str_from(q->ask_id), id))
            return q;
    return NULL;
}

void api_views_answer(void *ctx, struct http_req *r)
{
    static const char *const DECISIONS[] = {
        [ASK_DENY] = "deny", [ASK_ALLOW] = "allow", [ASK_ALWAYS] = "always"};
    struct ask_in in = {0};
    struct app_view *v = view_of_request(ctx, r);
    if (!v || !api_decode_body(r, API_VIEW_ASK_FIELDS, &in))
        return;
    ptrdiff_t d = STR_INDEX(in.decision, DECISIONS);
    struct view_rpc *q = find_ask(v, r->params[1]);
    if (!q) {
        http_reply_error(r, 404, "ask_not_found", "This question is not open.", NULL);
    } else if (d < 0 || (d == ASK_ALWAYS && !q->can_remember)) {
        api_bad_request(r, "decision: expected allow, deny, or always where that is offered");
    } else {
        api_reply_ok(r);
        q->ask_id[0] = '\0';
        q->decided(q, (enum ask_decision)d);
    }
}
