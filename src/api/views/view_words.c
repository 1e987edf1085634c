/* ui/message and ui/update-model-context: what an interface says to the model.
 *
 * A message acts in the name of the person. One that the person has seen and confirmed is an
 * ordinary message; any other has only the tools of the interface's own source. The context that an
 * interface gives goes to the model with the next message of the same person in the same
 * conversation. Both are third-party text, and the runtime marks them as such
 * (runtime/history/app_text.h). */
#include <assert.h>

#include "api/views/view_rpc.h"
#include "base/clock.h"
#include "base/utf8.h"

#define MESSAGE_MAX (64u * 1024)
#define MINUTE_MS   60000

/* ---- content as text ---- */

static bool add_block(struct buf *out, const struct json *block)
{
    str type = json_get_string(block, "type");
    const struct json *resource = json_get(block, "resource");
    if (out->n > 0)
        buf_add_char(out, '\n');
    if (str_eq(type, STR("text")))
        buf_add_str(out, json_get_string(block, "text"));
    else if (str_eq(type, STR("resource_link")))
        buf_printf(out, "%.*s", STR_ARG(json_get_string(block, "uri")));
    else if (str_eq(type, STR("resource")) && json_is(json_get(resource, "text"), JSON_STRING))
        buf_add_str(out, json_get_string(resource, "text"));
    else
        return false;
    return true;
}

/* An array of blocks, or one block. False: a block has no text. */
static bool add_content(struct buf *out, const struct json *content)
{
    if (!json_is(content, JSON_ARRAY))
        return !content || add_block(out, content);
    for (size_t i = 0; i < content->len; i++)
        if (!add_block(out, &content->items[i]))
            return false;
    return true;
}

static void refuse_content(struct view_rpc *q, const struct buf *text, size_t max)
{
    if (buf_failed(text))
        view_rpc_fail(q, RPC_INVALID_PARAMS, "content: longer than %zu bytes", max);
    else
        view_rpc_fail(q, RPC_INVALID_PARAMS, "content: only text can be sent to the model");
}

/* ---- ui/update-model-context ---- */

void view_update_context(struct view_rpc *q)
{
    struct app_view *v = q->view;
    const struct json *data = json_get(q->params, "structuredContent");
    struct buf text;
    buf_init(&text, TURN_CONTEXT_TEXT_MAX);
    bool ok = add_content(&text, json_get(q->params, "content"));
    if (ok && json_is(data, JSON_OBJECT)) {
        if (text.n > 0)
            buf_add_char(&text, '\n');
        json_write(&text, data);
    }
    if (!ok || buf_failed(&text)) {
        refuse_content(q, &text, TURN_CONTEXT_TEXT_MAX);
    } else if (v->conversation_id.n == 0) {
        view_rpc_fail(q, RPC_METHOD_NOT_FOUND, "This interface belongs to no conversation.");
    } else {
        v->is_context_new |= !str_eq(buf_str(&text), buf_str(&v->context));
        buf_clear(&v->context);
        buf_add_str(&v->context, buf_str(&text));
        view_rpc_result(q, NULL);
    }
    buf_done(&text);
}

static bool is_of(const struct app_view *v, const struct actor *who, str conv_id)
{
    return str_eq(actor_user(v->watcher.actor), actor_user(who)) &&
           str_eq(v->watcher.actor->workspace_id, who->workspace_id) &&
           str_eq(v->conversation_id, conv_id);
}

size_t views_contexts(struct api *api, const struct actor *who, struct arena *a, str conv_id,
                      const struct view_context **ret)
{
    struct view_context *list = arena_array(a, TURN_CONTEXTS_MAX, sizeof *list);
    size_t n = 0;
    *ret = list;
    if (conv_id.n == 0)
        return 0;
    for (struct list_node *it = api->views->all.prev; it != &api->views->all; it = it->prev) {
        struct app_view *v = LIST_ENTRY(it, struct app_view, node);
        if (!v->is_context_new || v->context.n == 0 || !is_of(v, who, conv_id))
            continue;
        if (n == TURN_CONTEXTS_MAX)
            break;
        v->is_context_new = false;
        list[n++] = (struct view_context){
            .app = arena_str(a, v->source),
            .call_id = arena_str(a, v->call_id),
            .text = arena_str(a, buf_str(&v->context)),
        };
    }
    return n;
}

void views_untold(struct api *api, const struct actor *who, str conv_id)
{
    LIST_EACH (v, &api->views->all, struct app_view, node)
        if (is_of(v, who, conv_id))
            v->is_context_new |= v->context.n > 0;
}

/* ---- ui/message ---- */

static void finish_message(struct view_rpc *q)
{
    turn_forget(q->work); /* the run continues */
    q->cancel = NULL;
    view_rpc_result(q, NULL);
}

static void on_message_started(void *ctx, str conversation_id, str run_id, bool is_new)
{
    finish_message(ctx);
}

static void on_message_queued(void *ctx, str conversation_id, str queued_id)
{
    finish_message(ctx);
}

static void on_message_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct view_rpc *q = ctx;
    struct app_view *v = q->view;
    q->cancel = NULL;
    views_untold(v->api, q->actor, v->conversation_id);
    view_audit_refusal(q, STR("ui/message"), str_from(err->msg));
    view_rpc_fail(q, VIEW_RPC_REFUSED, "%s", err->msg);
}

static void cancel_message(struct view_rpc *q)
{
    turn_forget(q->work);
}

static void send_message(struct view_rpc *q, str text)
{
    static const struct turn_events EVENTS = {on_message_started, NULL, on_message_refused,
                                              on_message_queued};
    struct app_view *v = q->view;
    str own = arena_printf(&q->arena, "%.*s__*", STR_ARG(v->source));
    struct turn_request req = {
        .actor = q->actor,
        .conversation_id = v->conversation_id,
        .message = text,
        .channel = STR("web"),
        .allowed_tools = q->is_confirmed ? (struct json_strs){0} : (struct json_strs){&own, 1},
        .when_busy = TURN_QUEUE,
        .app = v->source,
    };
    req.ncontexts = views_contexts(v->api, q->actor, &q->arena, v->conversation_id, &req.contexts);
    view_audit(q, STR("ui/message"), q->is_confirmed ? STR("confirmed") : STR_NONE);
    q->cancel = cancel_message;
    q->work = turn_start(v->watcher.space->runtime, &req, &EVENTS, q);
}

/* Each message costs a run, also on a server without limits of requests. */
static bool is_message_too_fast(struct view_rpc *q)
{
    struct app_view *v = q->view;
    uint64_t now = clock_mono_ms();
    if (view_rpc_is_too_fast(q, RATE_CHAT))
        return true;
    if (q->is_confirmed)
        return false;
    if (v->messages == 0 || now - v->messages_ms >= MINUTE_MS) {
        v->messages = 0;
        v->messages_ms = now;
    }
    return v->messages++ >= VIEW_MESSAGES;
}

void view_message(struct view_rpc *q)
{
    struct buf text;
    str role = json_get_string(q->params, "role");
    buf_init(&text, MESSAGE_MAX);
    bool ok = add_content(&text, json_get(q->params, "content")) && !buf_failed(&text);
    if (role.n > 0 && !str_eq(role, STR("user")))
        view_rpc_fail(q, RPC_INVALID_PARAMS, "role: expected user");
    else if (!ok)
        refuse_content(q, &text, MESSAGE_MAX);
    else if (q->view->conversation_id.n == 0)
        view_rpc_fail(q, RPC_METHOD_NOT_FOUND, "This interface belongs to no conversation.");
    else if (is_message_too_fast(q))
        view_rpc_fail(q, VIEW_RPC_REFUSED, "Too many messages. Try again in a minute.");
    else
        send_message(q, arena_str(&q->arena, buf_str(&text)));
    buf_done(&text);
}
