#include <assert.h>
#include <errno.h>

#include "base/bytes/random.h"
#include "cli/acp/acp.h"
#include "cli/acp/acp_catalog.h"
#include "store/store.h"

#define CWD_MAX DIR_GRANT_PATH_MAX

/* ---- life ---- */

static struct acp_session *session_make(struct acp *a, str id)
{
    struct acp_session *s = xcalloc(1, sizeof *s);
    s->acp = a;
    arena_init(&s->arena);
    arena_init(&s->turn);
    map_init(&s->calls);
    s->id = arena_str(&s->arena, id);
    s->chat = session_beside(a->door);
    session_set_channel(s->chat, "acp");
    acp_use_mode(s, ACP_MODE_ASK);
    return s;
}

void acp_session_free(struct acp_session *s)
{
    acp_forget_asked(s, STR_NONE);
    permit_done(&s->permit);
    session_close(s->chat);
    map_done(&s->calls);
    arena_done(&s->turn);
    arena_done(&s->arena);
    free(s);
}

/* ---- what the requests about sessions have in common ---- */

static bool take_cwd(struct acp *a, const struct json *id, const struct json *params,
                     struct acp_session *s)
{
    const struct json *cwd = json_get(params, "cwd");
    struct err e = {0};
    str why;
    bool is_path = json_is(cwd, JSON_STRING) && cwd->s.n > 0 && cwd->s.n <= CWD_MAX &&
                   cwd->s.p[0] == '/' && !memchr(cwd->s.p, 0, cwd->s.n);
    if (!is_path) {
        acp_error(a, id, RPC_INVALID_PARAMS, "cwd: expected an absolute path");
        return false;
    }
    s->cwd = arena_str(&s->arena, cwd->s);
    if (session_use_directory(s->chat, s->cwd.p, &e) < 0) {
        acp_error(a, id, RPC_INVALID_PARAMS, "cwd: %s", e.msg);
        return false;
    }
    (void)session_directory(s->chat, &why);
    return true;
}

static bool is_list(const struct json *v)
{
    return !v || v->type == JSON_NULL || v->type == JSON_ARRAY;
}

/* Directories beside cwd were not offered by initialize. MCP servers of the editor are not
 * connected: bundles belong to the workspace, and are installed with its rights. */
static bool check_lists(struct acp *a, const struct json *id, const struct json *params)
{
    const struct json *more = json_get(params, "additionalDirectories");
    if (is_list(more) && is_list(json_get(params, "mcpServers")) && (!more || more->len == 0))
        return true;
    acp_error(a, id, RPC_INVALID_PARAMS,
              is_list(more) && more && more->len > 0
                  ? "additionalDirectories: not supported; a session has one directory"
                  : "mcpServers, additionalDirectories: expected arrays");
    return false;
}

/* After the answer: updates name a session that the editor knows by then. */
static void tell_about(struct acp_session *s, const struct json *params)
{
    const struct json *servers = json_get(params, "mcpServers");
    struct arena a;
    str why, names = STR_NONE;
    arena_init(&a);
    acp_send_commands(s);
    (void)session_directory(s->chat, &why);
    if (why.n > 0)
        acp_notice(s, "warning", STR("Commands run in a directory of nb"), why);
    for (size_t i = 0; json_is(servers, JSON_ARRAY) && i < servers->len && i < 32; i++)
        names = arena_printf(&a, "%.*s%s%.*s", STR_ARG(names), i > 0 ? ", " : "",
                             STR_ARG(json_get_string(json_at(servers, i), "name")));
    if (names.n > 0)
        acp_notice(s, "warning", STR("MCP servers of the editor are not used"),
                   arena_printf(&a, "%.*s: add them to nb with `nb bundle add`", STR_ARG(names)));
    arena_done(&a);
}

static bool has_place(struct acp *a, const struct json *id)
{
    if (map_len(&a->sessions) < ACP_SESSIONS_MAX)
        return true;
    acp_error(a, id, RPC_INTERNAL_ERROR, "%d sessions are open; close one first", ACP_SESSIONS_MAX);
    return false;
}

/* ---- session/new ---- */

static void random_session_id(char out[2 * RANDOM_ID_MAX])
{
    char first[RANDOM_ID_MAX], second[RANDOM_ID_MAX];
    random_id("acp", first);
    random_id("", second);
    snprintf(out, 2 * RANDOM_ID_MAX, "%s%s", first, second + 1); /* without its "_" */
}

void acp_session_new(struct acp *a, const struct json *id, const struct json *params)
{
    char name[2 * RANDOM_ID_MAX];
    struct acp_out o;
    if (!has_place(a, id) || !check_lists(a, id, params))
        return;
    random_session_id(name);
    struct acp_session *s = session_make(a, str_from(name));
    if (!take_cwd(a, id, params, s)) {
        acp_session_free(s);
        return;
    }
    (void)map_put(&a->sessions, s->id, s);
    struct json_writer *w = acp_result_begin(&o, id);
    jw_kstr(w, "sessionId", s->id);
    acp_write_options(w, s);
    acp_send(a, &o);
    tell_about(s, params);
}

/* ---- session/load, session/resume ---- */

str acp_conversation_of(struct acp *a, struct arena *arena, str session)
{
    struct acp_catalog c;
    const struct acp_session *open = map_get(&a->sessions, session);
    if (open && session_conversation(open->chat).n > 0)
        return session_conversation(open->chat);
    acp_catalog_read(arena, a->config->work_dir, &c);
    const struct acp_entry *e = acp_catalog_by_session(&c, session);
    if (e)
        return e->conversation;
    return store_id_valid(session) ? session : STR_NONE;
}

static int find_past(struct acp *a, struct acp_session *s, struct err *e)
{
    struct arena arena;
    arena_init(&arena);
    str conversation = acp_conversation_of(a, &arena, s->id);
    int r = conversation.n > 0 ? session_resume(s->chat, conversation, e)
                               : err_set(e, -ENOENT, "sessionId: no session has this id");
    arena_done(&arena);
    s->is_catalogued = true;
    return r;
}

/* An open session is opened again only between prompts; it begins with the modes of a new one. */
static struct acp_session *reopen(struct acp *a, const struct json *id, const struct json *params)
{
    const struct json *named = json_get(params, "sessionId");
    struct err e = {0};
    if (!json_is(named, JSON_STRING) || named->s.n == 0) {
        acp_error(a, id, RPC_INVALID_PARAMS, "sessionId: required but missing");
        return NULL;
    }
    struct acp_session *open = map_get(&a->sessions, named->s);
    if (open && open->phase != ACP_IDLE) {
        acp_error(a, id, RPC_INVALID_REQUEST, "sessionId: a prompt of this session is running");
        return NULL;
    }
    if (!open && !has_place(a, id))
        return NULL;
    struct acp_session *s = session_make(a, named->s);
    if (!check_lists(a, id, params) || !take_cwd(a, id, params, s)) {
        acp_session_free(s);
        return NULL;
    }
    bool is_unused = open && session_conversation(open->chat).n == 0; /* nothing to load yet */
    if (!is_unused && find_past(a, s, &e) < 0) {
        acp_api_error(a, id, &e);
        acp_session_free(s);
        return NULL;
    }
    s->is_catalogued = !is_unused;
    if (open)
        acp_session_free(open);
    (void)map_put(&a->sessions, s->id, s);
    return s;
}

static void answer_opened(struct acp_session *s, const struct json *id, const struct json *params)
{
    struct acp_out o;
    acp_write_options(acp_result_begin(&o, id), s);
    acp_send(s->acp, &o);
    tell_about(s, params);
}

void acp_session_load(struct acp *a, const struct json *id, const struct json *params)
{
    struct err e = {0};
    struct acp_session *s = reopen(a, id, params);
    if (!s)
        return;
    if (acp_replay(s, &e) < 0)
        acp_api_error(a, id, &e);
    else
        answer_opened(s, id, params);
}

void acp_session_resume(struct acp *a, const struct json *id, const struct json *params)
{
    struct acp_session *s = reopen(a, id, params);
    if (s)
        answer_opened(s, id, params);
}

/* ---- session/close ---- */

void acp_session_close(struct acp *a, const struct json *id, const struct json *params)
{
    struct acp_session *s = acp_session_of(a, id, params);
    if (!s)
        return;
    if (s->phase == ACP_IDLE) {
        (void)map_del(&a->sessions, s->id);
        acp_session_free(s);
        acp_reply_empty(a, id);
        return;
    }
    if (s->close_with) {
        acp_error(a, id, RPC_INVALID_REQUEST, "sessionId: this session is being closed");
        return;
    }
    s->close_with = json_clone(&s->arena, id);
    acp_cancel(s);
}
