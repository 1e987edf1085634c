#include "cli/acp/acp.h"
#include "cli/acp/acp_catalog.h"

#define PAGE_ROWS  50
#define CURSOR_MAX 1024

/* ---- session/list ---- */

struct list_request {
    struct acp *acp;
    struct arena arena;
    str cwd, cursor; /* empty = not given */
    struct acp_catalog catalog;
};

static bool optional_string(const struct json *v, size_t max, str *ret)
{
    *ret = json_string(v, STR_NONE);
    return !v || v->type == JSON_NULL || (v->type == JSON_STRING && v->s.n <= max);
}

/* A conversation that no editor began has no directory: it is listed under every one. */
static void write_row(struct json_writer *w, const struct list_request *l, const struct json *conv)
{
    str id = json_get_string(conv, "id"), title = json_get_string(conv, "title");
    const struct acp_entry *e = acp_catalog_by_conversation(&l->catalog, id);
    if (e && l->cwd.n > 0 && !str_eq(e->cwd, l->cwd))
        return;
    str here = l->cwd.n > 0 ? l->cwd : STR("/");
    jw_object(w);
    jw_kstr(w, "sessionId", e ? e->session : id);
    jw_kstr(w, "cwd", e ? e->cwd : here);
    jw_kstr_if(w, "title", title.n > 0 ? title : json_get_string(conv, "preview"));
    jw_kstr_if(w, "updatedAt", json_get_string(conv, "updatedAt"));
    jw_end(w);
}

static void answer_list(struct list_request *l, const struct json *id)
{
    struct acp *a = l->acp;
    struct err e = {0};
    struct json *page;
    struct acp_out o;
    struct client_ask q = {.path = arena_printf(&l->arena, "/v1/conversations?limit=%d%s%.*s",
                                                PAGE_ROWS, l->cursor.n > 0 ? "&cursor=" : "",
                                                STR_ARG(client_encode(&l->arena, l->cursor)))};
    if (client_ask(session_client(a->door), &q, &l->arena, &page, &e) < 0) {
        acp_api_error(a, id, &e);
        return;
    }
    const struct json *rows = json_get(page, "conversations");
    acp_catalog_read(&l->arena, a->config->work_dir, &l->catalog);
    struct json_writer *w = acp_result_begin(&o, id);
    jw_karray(w, "sessions");
    for (size_t i = 0; json_is(rows, JSON_ARRAY) && i < rows->len; i++)
        write_row(w, l, json_at(rows, i));
    jw_end(w);
    jw_kstr_if(w, "nextCursor", json_get_string(page, "nextCursor"));
    acp_send(a, &o);
}

void acp_session_list(struct acp *a, const struct json *id, const struct json *params)
{
    struct list_request l = {.acp = a};
    if (!optional_string(json_get(params, "cwd"), DIR_GRANT_PATH_MAX, &l.cwd) ||
        !optional_string(json_get(params, "cursor"), CURSOR_MAX, &l.cursor)) {
        acp_error(a, id, RPC_INVALID_PARAMS, "cwd, cursor: expected strings");
        return;
    }
    arena_init(&l.arena);
    answer_list(&l, id);
    arena_done(&l.arena);
}

/* ---- session/delete ---- */

/* Deleted conversations can be restored (DELETE /v1/conversations/:id). */
void acp_session_delete(struct acp *a, const struct json *id, const struct json *params)
{
    str session = json_get_string(params, "sessionId");
    struct acp_session *open = map_get(&a->sessions, session);
    struct client_ask q = {.method = "DELETE"};
    struct json *gone;
    struct err e = {0};
    struct arena arena;
    if (open && open->phase != ACP_IDLE) {
        acp_error(a, id, RPC_INVALID_REQUEST, "sessionId: a prompt of this session is running");
        return;
    }
    arena_init(&arena);
    str conversation = acp_conversation_of(a, &arena, session);
    q.path = arena_printf(&arena, "/v1/conversations/%.*s", STR_ARG(conversation));
    if (conversation.n == 0 && !open)
        acp_error(a, id, ACP_NOT_FOUND, "sessionId: no session has this id");
    else if (conversation.n > 0 && client_ask(session_client(a->door), &q, &arena, &gone, &e) < 0)
        acp_api_error(a, id, &e);
    else {
        if (open) {
            (void)map_del(&a->sessions, session);
            acp_session_free(open);
        }
        acp_reply_empty(a, id);
    }
    arena_done(&arena);
}
