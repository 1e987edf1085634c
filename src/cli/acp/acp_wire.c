#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/acp/acp.h"
#include "cli/cli.h"

static struct json_writer *out_begin(struct acp_out *o)
{
    arena_init(&o->arena);
    jw_start(&o->w, &o->buf, ACP_MESSAGE_MAX);
    jw_object(&o->w);
    jw_kstr(&o->w, "jsonrpc", STR("2.0"));
    return &o->w;
}

void acp_send(struct acp *a, struct acp_out *o)
{
    jw_close(&o->w);
    if (buf_failed(&o->buf))
        cli_complain(STR("a message to the editor is too long; it was not sent"));
    else if (!a->is_unread && a->send(buf_str(&o->buf)) < 0)
        a->is_unread = a->is_over = a->wake = true;
    buf_done(&o->buf);
    arena_done(&o->arena);
}

/* ---- answers ---- */

struct json_writer *acp_result_begin(struct acp_out *o, const struct json *id)
{
    struct json_writer *w = out_begin(o);
    jw_kval(w, "id", id);
    jw_kobject(w, "result");
    return w;
}

void acp_reply_empty(struct acp *a, const struct json *id)
{
    struct acp_out o;
    (void)acp_result_begin(&o, id);
    acp_send(a, &o);
}

void acp_error(struct acp *a, const struct json *id, int code, const char *fmt, ...)
{
    struct acp_out o;
    va_list ap;
    struct json_writer *w = out_begin(&o);
    va_start(ap, fmt);
    str message = arena_vprintf(&o.arena, fmt, ap);
    va_end(ap);
    jw_kval(w, "id", id);
    jw_kobject(w, "error");
    jw_kint(w, "code", code);
    jw_kstr(w, "message", message);
    acp_send(a, &o);
}

void acp_api_error(struct acp *a, const struct json *id, const struct err *e)
{
    int code = e->code == -ENOENT   ? ACP_NOT_FOUND
               : e->code == -EINVAL ? RPC_INVALID_PARAMS
                                    : RPC_INTERNAL_ERROR;
    acp_error(a, id, code, "%s", e->msg);
}

/* ---- updates ---- */

struct json_writer *acp_update_begin(struct acp_out *o, const struct acp_session *s,
                                     const char *kind)
{
    struct json_writer *w = out_begin(o);
    jw_kstr(w, "method", STR("session/update"));
    jw_kobject(w, "params");
    jw_kstr(w, "sessionId", s->id);
    jw_kobject(w, "update");
    jw_kcstr(w, "sessionUpdate", kind);
    return w;
}

void acp_send_chunk(struct acp_session *s, const char *kind, str text, str message_id)
{
    struct acp_out o;
    struct json_writer *w = acp_update_begin(&o, s, kind);
    jw_kstr_if(w, "messageId", message_id);
    jw_kobject(w, "content");
    jw_kstr(w, "type", STR("text"));
    jw_kstr(w, "text", text);
    acp_send(s->acp, &o);
}

void acp_notice(struct acp_session *s, const char *severity, str title, str description)
{
    struct acp_out o;
    if (!s->acp->can_notice || title.n == 0)
        return;
    struct json_writer *w = acp_update_begin(&o, s, "notice");
    jw_kcstr(w, "severity", severity);
    jw_kstr(w, "title", title);
    jw_kstr_if(w, "description", description);
    acp_send(s->acp, &o);
}

/* ---- requests to the editor ---- */

struct acp_asked {
    struct list_node node;
    int64_t id;
    struct acp_session *session;
    acp_answer_fn fn;
    char *what;
};

static void asked_free(struct acp_asked *q)
{
    list_del(&q->node);
    free(q->what);
    free(q);
}

struct json_writer *acp_ask_begin(struct acp_out *o, struct acp_session *s, const char *method,
                                  acp_answer_fn fn, str what)
{
    struct acp_asked *q = xcalloc(1, sizeof *q);
    q->id = ++s->acp->last_id;
    q->session = s;
    q->fn = fn;
    q->what = str_dup(what);
    list_push(&s->acp->asked, &q->node);
    struct json_writer *w = out_begin(o);
    jw_kint(w, "id", q->id);
    jw_kcstr(w, "method", method);
    jw_kobject(w, "params");
    jw_kstr(w, "sessionId", s->id);
    return w;
}

void acp_take_answer(struct acp *a, const struct rpc_message *m)
{
    assert(m->kind == RPC_RESULT || m->kind == RPC_ERROR);
    LIST_EACH (q, &a->asked, struct acp_asked, node) {
        if (!json_is(m->id, JSON_INT) || m->id->i != q->id)
            continue;
        struct acp_asked taken = *q;
        list_del(&q->node);
        free(q);
        taken.fn(taken.session, str_from(taken.what), m->kind == RPC_RESULT ? m->result : NULL);
        free(taken.what);
        return;
    }
    /* late, after a cancellation, or never asked: there is nothing to answer */
}

void acp_forget_asked(struct acp_session *s, str what)
{
    LIST_EACH (q, &s->acp->asked, struct acp_asked, node)
        if (q->session == s && (what.n == 0 || str_eq(str_from(q->what), what)))
            asked_free(q);
}
