#include <assert.h>

#include "cli/acp/acp.h"
#include "cli/cli.h"

/* ---- initialize ---- */

static void write_capabilities(struct json_writer *w)
{
    static const char *const SESSION[] = {"list", "delete", "resume", "close"};
    jw_kobject(w, "agentCapabilities");
    jw_kbool(w, "loadSession", true);
    jw_kobject(w, "promptCapabilities");
    jw_kbool(w, "image", true);
    jw_kbool(w, "audio", false);
    jw_kbool(w, "embeddedContext", true);
    jw_end(w);
    jw_kobject(w, "mcpCapabilities");
    jw_kbool(w, "http", false);
    jw_kbool(w, "sse", false);
    jw_end(w);
    jw_kobject(w, "sessionCapabilities");
    for (size_t i = 0; i < ARRAY_LEN(SESSION); i++) {
        jw_kobject(w, SESSION[i]);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static bool has_capability(const struct json *capabilities, const char *area, const char *name)
{
    return json_is(json_get(json_get(capabilities, area), name), JSON_OBJECT);
}

static void acp_initialize(struct acp *a, const struct json *id, const struct json *params)
{
    const struct json *can = json_get(params, "clientCapabilities");
    const struct json *version = json_get(params, "protocolVersion");
    struct acp_out o;
    if (!json_is(version, JSON_INT) || version->i < 0 || version->i > UINT16_MAX) {
        acp_error(a, id, RPC_INVALID_PARAMS, "protocolVersion: expected an integer");
        return;
    }
    if (a->is_initialized) {
        acp_error(a, id, RPC_INVALID_REQUEST, "initialize: the connection is initialized already");
        return;
    }
    a->is_initialized = true;
    a->can_notice = has_capability(can, "session", "notices");
    a->can_forms = has_capability(can, "elicitation", "form");
    a->can_urls = has_capability(can, "elicitation", "url");
    /* The only version that nb speaks; an editor without it closes the connection. */
    struct json_writer *w = acp_result_begin(&o, id);
    jw_kint(w, "protocolVersion", ACP_VERSION);
    write_capabilities(w);
    jw_kobject(w, "agentInfo");
    jw_kstr(w, "name", STR("nb"));
    jw_kstr(w, "title", STR("NimbleBrain"));
    jw_kstr(w, "version", STR(NB_VERSION));
    jw_end(w);
    jw_karray(w, "authMethods");
    acp_send(a, &o);
}

static void acp_authenticate(struct acp *a, const struct json *id, const struct json *params)
{
    acp_error(a, id, RPC_INVALID_PARAMS,
              "methodId: there are no methods; nb uses the keys of its own settings");
}

/* ---- cancellation: notifications, so nothing is answered ---- */

static void acp_session_cancel(struct acp *a, const struct json *id, const struct json *params)
{
    struct acp_session *s = map_get(&a->sessions, json_get_string(params, "sessionId"));
    if (s)
        acp_cancel(s);
}

static void acp_request_cancel(struct acp *a, const struct json *id, const struct json *params)
{
    const struct json *what = json_get(params, "requestId");
    struct map_entry *e;
    for (size_t i = 0; what && (e = map_next(&a->sessions, &i)) != NULL;) {
        struct acp_session *s = e->value;
        if (s->phase != ACP_IDLE && json_equal(s->reply_to, what))
            acp_cancel(s);
    }
}

/* ---- the table ---- */

static const struct {
    const char *name;
    acp_method_fn run;
    bool is_notification;
} METHODS[] = {
    {"initialize", acp_initialize, false},
    {"authenticate", acp_authenticate, false},
    {"session/new", acp_session_new, false},
    {"session/load", acp_session_load, false},
    {"session/resume", acp_session_resume, false},
    {"session/list", acp_session_list, false},
    {"session/close", acp_session_close, false},
    {"session/delete", acp_session_delete, false},
    {"session/prompt", acp_prompt, false},
    {"session/set_mode", acp_set_mode, false},
    {"session/set_config_option", acp_set_option, false},
    {"session/cancel", acp_session_cancel, true},
    {"$/cancel_request", acp_request_cancel, true},
};

static ptrdiff_t method_index(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++)
        if (str_eq(name, str_from(METHODS[i].name)))
            return (ptrdiff_t)i;
    return -1;
}

void acp_dispatch(struct acp *a, const struct rpc_message *m)
{
    ptrdiff_t at = method_index(m->method);
    bool is_request = m->kind == RPC_REQUEST;
    assert(is_request || m->kind == RPC_NOTIFICATION);
    if (at >= 0 && METHODS[at].is_notification) {
        if (is_request)
            acp_error(a, m->id, RPC_INVALID_REQUEST, "%s is a notification: send it without an id",
                      METHODS[at].name);
        METHODS[at].run(a, m->id, m->params);
    } else if (!is_request) {
        return; /* nobody waits for an answer */
    } else if (at < 0) {
        acp_error(a, m->id, RPC_METHOD_NOT_FOUND, "no such method: %.*s",
                  STR_ARG(str_slice(m->method, 0, 100)));
    } else if (!a->is_initialized && METHODS[at].run != acp_initialize) {
        acp_error(a, m->id, RPC_INVALID_REQUEST, "%s: send initialize first", METHODS[at].name);
    } else {
        METHODS[at].run(a, m->id, m->params);
    }
}

struct acp_session *acp_session_of(struct acp *a, const struct json *id, const struct json *params)
{
    const struct json *named = json_get(params, "sessionId");
    struct acp_session *s = json_is(named, JSON_STRING) ? map_get(&a->sessions, named->s) : NULL;
    if (!json_is(named, JSON_STRING))
        acp_error(a, id, RPC_INVALID_PARAMS, "sessionId: required but missing");
    else if (!s)
        acp_error(a, id, ACP_NOT_FOUND, "sessionId: no open session has this id");
    return s;
}
