#include "gateway/upstream/ask.h"

#include <assert.h>

#include "gateway/upstream/task_ids.h"
#include "gateway/write.h"

#define ASKS_MAX 64 /* unanswered questions of one session */

struct gw_ask {
    struct list_node node; /* in session->asks */
    uint64_t id;
    struct mcp_ask *ask;
    const void *owner; /* the call during which the question was asked, or the connection */
};

static void ask_free(struct gw_ask *a)
{
    list_del(&a->node);
    free(a);
}

static void write_params(struct json_writer *w, const struct gw_session *s,
                         const struct json *params, uint64_t id)
{
    jw_object(w);
    gw_write_members(w, params, NULL);
    /* Stateless servers send no id with their questions; this revision requires one for URL
     * elicitations. */
    bool is_url = str_eq(json_get_string(params, "mode"), STR("url"));
    if (is_url && !json_get(params, "elicitationId")) {
        char made[64];
        snprintf(made, sizeof made, "%.16s-%llu", s->id, (unsigned long long)id);
        jw_kstr(w, "elicitationId", str_from(made));
    }
    jw_end(w);
}

void gw_ask_session(struct gw_session *s, struct gw_request *q, struct bundle *from,
                    struct mcp_ask *a, void *owner)
{
    struct arena mem;
    struct buf *b = &s->g->scratch;
    struct json_writer w;
    if (!mcp_ask_is_declared(s->capabilities, a->kind, a->params)) {
        mcp_ask_refuse(a, RPC_METHOD_NOT_FOUND, "The client does not support this request.");
        return;
    }
    if (list_count(&s->asks) >= ASKS_MAX) {
        mcp_ask_refuse(a, RPC_INTERNAL_ERROR,
                       "Too many requests to this client are waiting for a response.");
        return;
    }
    assert(owner && (!q || q->session == s));
    struct gw_ask *mine = xcalloc(1, sizeof *mine);
    *mine = (struct gw_ask){.id = ++s->next_ask, .ask = a, .owner = owner};
    list_push(&s->asks, &mine->node);
    buf_recycle(b, GW_SPARE_BYTES);
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kint(&w, "id", (int64_t)mine->id);
    jw_kstr(&w, "method", mcp_ask_method(a->kind));
    jw_key(&w, "params");
    arena_init(&mem);
    write_params(&w, s, gw_task_ids_rename(s->space, &mem, actor_user(s->actor), from, a->params),
                 mine->id);
    arena_done(&mem);
    jw_end(&w);
    if (buf_failed(b)) {
        ask_free(mine);
        mcp_ask_refuse(a, RPC_INTERNAL_ERROR, "The request is too large.");
        return;
    }
    if (!q || !q->out->emit(q, buf_str(b)))
        gw_session_send(s, buf_str(b));
}

void gw_ask_withdraw(struct gw_session *s, struct mcp_ask *a)
{
    LIST_EACH (mine, &s->asks, struct gw_ask, node) {
        if (mine->ask != a)
            continue;
        struct json params = JSON_ONE("requestId", json_of_int((int64_t)mine->id));
        gw_session_notify(s, "notifications/cancelled", &params);
        ask_free(mine);
    }
}

void gw_ask_drop_owner(struct gw_session *s, const void *owner)
{
    LIST_EACH (mine, &s->asks, struct gw_ask, node)
        if (mine->owner == owner)
            ask_free(mine);
}

static void pass_on(struct gw_session *s, struct mcp_ask *a, struct json *result)
{
    struct arena mem;
    arena_init(&mem);
    gw_task_ids_restore(s->space, &mem, actor_user(s->actor), result);
    mcp_ask_answer(a, result);
    arena_done(&mem);
}

void gw_ask_answered(struct gw_session *s, const struct rpc_message *m)
{
    LIST_EACH (mine, &s->asks, struct gw_ask, node) {
        if (!m->id || m->id->type != JSON_INT || (uint64_t)m->id->i != mine->id)
            continue;
        struct mcp_ask *a = mine->ask;
        ask_free(mine);
        if (m->kind == RPC_RESULT)
            pass_on(s, a, m->result);
        else
            mcp_ask_refuse(a, (int)json_get_int(m->error, "code", RPC_INTERNAL_ERROR),
                           "The client returned an error.");
        return;
    }
}

void gw_ask_drop_all(struct gw_session *s)
{
    LIST_EACH (mine, &s->asks, struct gw_ask, node) {
        struct mcp_ask *a = mine->ask;
        ask_free(mine);
        mcp_ask_refuse(a, RPC_INTERNAL_ERROR, "The client disconnected.");
    }
}
