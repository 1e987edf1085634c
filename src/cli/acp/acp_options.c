/* Modes and models of a session, as modes of the protocol and as configuration options: editors
 * that know the options show those, older ones the modes. */
#include <assert.h>

#include "cli/acp/acp.h"

#define MODELS_MAX 500

static const struct {
    const char *id, *name, *about;
} MODES[] = {
    [ACP_MODE_ASK] = {"ask", "Ask", "Ask for permission as the settings of the workspace say"},
    [ACP_MODE_ALLOW] = {"allow", "Allow all",
                        "Call all tools without asking, unless the settings "
                        "of the workspace refuse them"},
    [ACP_MODE_REFUSE] = {"refuse", "Never ask", "Refuse tools that would need permission"},
};

void acp_use_mode(struct acp_session *s, enum acp_mode mode)
{
    static str everything[] = {STR_INIT("*")};
    struct json_strs all = {everything, 1}, none = {0};
    assert(mode < ACP_MODES);
    s->mode = mode;
    session_set_permissions(s->chat, mode == ACP_MODE_ALLOW ? all : none, mode == ACP_MODE_REFUSE);
}

/* ---- writing ---- */

static void write_modes(struct json_writer *w, const struct acp_session *s)
{
    jw_kobject(w, "modes");
    jw_kcstr(w, "currentModeId", MODES[s->mode].id);
    jw_karray(w, "availableModes");
    for (size_t i = 0; i < ACP_MODES; i++) {
        jw_object(w);
        jw_kcstr(w, "id", MODES[i].id);
        jw_kcstr(w, "name", MODES[i].name);
        jw_kcstr(w, "description", MODES[i].about);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static void write_choice(struct json_writer *w, str value, str name, const char *about)
{
    jw_object(w);
    jw_kstr(w, "value", value);
    jw_kstr(w, "name", name);
    if (about)
        jw_kcstr(w, "description", about);
    jw_end(w);
}

static void begin_select(struct json_writer *w, const char *id, const char *name, str current)
{
    jw_object(w);
    jw_kcstr(w, "id", id);
    jw_kcstr(w, "name", name);
    jw_kcstr(w, "category", id);
    jw_kstr(w, "type", STR("select"));
    jw_kstr(w, "currentValue", current);
    jw_karray(w, "options");
}

static void end_select(struct json_writer *w)
{
    jw_end(w);
    jw_end(w);
}

/* The models of the server; NULL when they cannot be read. */
static const struct json *find_models(const struct acp_session *s, struct arena *a)
{
    struct client_ask q = {.path = STR("/v1/models")};
    struct json *list;
    if (client_ask(session_client(s->chat), &q, a, &list, &(struct err){0}) < 0)
        return NULL;
    const struct json *models = json_get(list, "models");
    return json_is(models, JSON_ARRAY) ? models : NULL;
}

static const struct json *model_row(const struct json *models, str name)
{
    for (size_t i = 0; models && i < models->len; i++)
        if (str_eq(json_get_string(json_at(models, i), "name"), name))
            return json_at(models, i);
    return NULL;
}

static void write_model_option(struct json_writer *w, const struct acp_session *s)
{
    struct arena a;
    arena_init(&a);
    const struct json *models = find_models(s, &a);
    str current = session_model(s->chat);
    begin_select(w, "model", "Model", current);
    if (!model_row(models, current))
        write_choice(w, current, current, NULL);
    for (size_t i = 0; models && i < models->len && i < MODELS_MAX; i++) {
        const struct json *m = json_at(models, i);
        str name = json_get_string(m, "name");
        if (name.n > 0 && !json_get_bool(m, "isRetired", false))
            write_choice(w, name, name, NULL);
        else if (str_eq(name, current))
            write_choice(w, name, name, "retired");
    }
    end_select(w);
    arena_done(&a);
}

static void write_config_options(struct json_writer *w, const struct acp_session *s)
{
    jw_karray(w, "configOptions");
    begin_select(w, "mode", "Permissions", str_from(MODES[s->mode].id));
    for (size_t i = 0; i < ACP_MODES; i++)
        write_choice(w, str_from(MODES[i].id), str_from(MODES[i].name), MODES[i].about);
    end_select(w);
    write_model_option(w, s);
    jw_end(w);
}

void acp_write_options(struct json_writer *w, struct acp_session *s)
{
    write_modes(w, s);
    write_config_options(w, s);
}

int64_t acp_context_tokens(struct acp_session *s)
{
    struct arena a;
    arena_init(&a);
    int64_t n =
        json_get_int(model_row(find_models(s, &a), session_model(s->chat)), "contextTokens", 0);
    arena_done(&a);
    return n;
}

/* ---- changing ---- */

static bool find_mode(const struct json *v, enum acp_mode *ret)
{
    for (size_t i = 0; json_is(v, JSON_STRING) && i < ACP_MODES; i++)
        if (str_eq(v->s, str_from(MODES[i].id))) {
            *ret = (enum acp_mode)i;
            return true;
        }
    return false;
}

static void tell_options(struct acp_session *s)
{
    struct acp_out o;
    write_config_options(acp_update_begin(&o, s, "config_option_update"), s);
    acp_send(s->acp, &o);
}

static void tell_mode(struct acp_session *s)
{
    struct acp_out o;
    jw_kcstr(acp_update_begin(&o, s, "current_mode_update"), "currentModeId", MODES[s->mode].id);
    acp_send(s->acp, &o);
}

void acp_set_mode(struct acp *a, const struct json *id, const struct json *params)
{
    enum acp_mode mode;
    struct acp_session *s = acp_session_of(a, id, params);
    if (!s)
        return;
    if (!find_mode(json_get(params, "modeId"), &mode)) {
        acp_error(a, id, RPC_INVALID_PARAMS, "modeId: expected ask, allow or refuse");
        return;
    }
    acp_use_mode(s, mode);
    acp_reply_empty(a, id);
    tell_mode(s);
    tell_options(s);
}

/* Only a model that the server lists: a name that it does not know would fail with each prompt. */
static bool is_model(const struct acp_session *s, const struct json *v)
{
    struct arena a;
    arena_init(&a);
    bool ok = json_is(v, JSON_STRING) && model_row(find_models(s, &a), v->s);
    arena_done(&a);
    return ok;
}

void acp_set_option(struct acp *a, const struct json *id, const struct json *params)
{
    struct acp_out o;
    enum acp_mode mode;
    struct acp_session *s = acp_session_of(a, id, params);
    const struct json *value = json_get(params, "value");
    str option = json_get_string(params, "configId");
    if (!s)
        return;
    bool is_mode = str_eq(option, STR("mode")) && find_mode(value, &mode);
    if (!is_mode && !(str_eq(option, STR("model")) && is_model(s, value))) {
        acp_error(a, id, RPC_INVALID_PARAMS, "configId, value: there is no such option or value");
        return;
    }
    if (is_mode)
        acp_use_mode(s, mode);
    else
        session_set_model(s->chat, value->s);
    write_config_options(acp_result_begin(&o, id), s);
    acp_send(a, &o);
    if (is_mode)
        tell_mode(s);
}
