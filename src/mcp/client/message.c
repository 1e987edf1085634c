#include "mcp/client/message.h"

static const str OURS_IN_META[] = {
    STR_INIT(META_VERSION),   STR_INIT(META_CAPABILITIES),  STR_INIT(META_CLIENT_INFO),
    STR_INIT(META_LOG_LEVEL), STR_INIT(MCP_PROGRESS_TOKEN),
};

static void write_client_info(struct json_writer *w)
{
    jw_object(w);
    jw_kstr(w, "name", STR("nb"));
    jw_kstr(w, "version", STR(NB_VERSION));
    jw_end(w);
}

static void write_meta(struct json_writer *w, const struct message_request *r)
{
    const struct json *theirs = json_get(r->params, "_meta");
    jw_kobject(w, "_meta");
    for (uint32_t i = 0; json_is(theirs, JSON_OBJECT) && i < theirs->len; i++) {
        if (str_in(theirs->members[i].key, OURS_IN_META, ARRAY_LEN(OURS_IN_META)))
            continue;
        jw_key_str(w, theirs->members[i].key);
        jw_value(w, &theirs->members[i].value);
    }
    if (r->wants_progress)
        jw_kint(w, MCP_PROGRESS_TOKEN, r->id);
    if (r->era == MCP_ERA_MODERN) {
        jw_kstr(w, META_VERSION, STR(MCP_REVISION_MODERN));
        jw_kraw(w, META_CAPABILITIES, r->capabilities.n > 0 ? r->capabilities : STR("{}"));
        jw_key(w, META_CLIENT_INFO);
        write_client_info(w);
        if (r->log_level.n > 0)
            jw_kstr(w, META_LOG_LEVEL, r->log_level);
    }
    jw_end(w);
}

static void write_members(struct json_writer *w, const struct json *obj, const struct json *but)
{
    for (uint32_t i = 0; json_is(obj, JSON_OBJECT) && i < obj->len; i++) {
        const struct json_member *m = &obj->members[i];
        if (str_eq(m->key, STR("_meta")) || json_get_str(but, m->key))
            continue;
        jw_key_str(w, m->key);
        jw_value(w, &m->value);
    }
}

static void write_params(struct json_writer *w, const struct message_request *r)
{
    bool has_meta =
        r->era == MCP_ERA_MODERN || r->wants_progress || json_get(r->params, "_meta") != NULL;
    if (!r->params && !r->more && !has_meta)
        return;
    jw_kobject(w, "params");
    write_members(w, r->params, r->more);
    write_members(w, r->more, NULL);
    if (has_meta)
        write_meta(w, r);
    jw_end(w);
}

void message_write_request(struct buf *out, const struct message_request *r)
{
    struct json_writer w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kint(&w, "id", r->id);
    jw_kstr(&w, "method", r->method);
    write_params(&w, r);
    jw_end(&w);
}

static void write_extensions(struct json_writer *w, const struct json *extensions, bool with_tasks)
{
    jw_object(w);
    for (uint32_t i = 0; json_is(extensions, JSON_OBJECT) && i < extensions->len; i++) {
        if (with_tasks && str_eq(extensions->members[i].key, STR(MCP_EXTENSION_TASKS)))
            continue;
        jw_key_str(w, extensions->members[i].key);
        jw_value(w, &extensions->members[i].value);
    }
    if (with_tasks)
        jw_kraw(w, MCP_EXTENSION_TASKS, STR("{}"));
    jw_end(w);
}

void message_write_capabilities(struct buf *out, const struct json *declared, bool with_tasks)
{
    struct json_writer w;
    jw_init(&w, out);
    jw_object(&w);
    for (uint32_t i = 0; json_is(declared, JSON_OBJECT) && i < declared->len; i++) {
        const struct json_member *m = &declared->members[i];
        if (str_eq(m->key, STR("tasks")) || str_eq(m->key, STR("extensions")))
            continue;
        jw_key_str(&w, m->key);
        if (str_eq(m->key, STR("roots")))
            jw_raw(&w, STR("{}"));
        else
            jw_value(&w, &m->value);
    }
    const struct json *extensions = json_get(declared, "extensions");
    if (with_tasks || extensions) {
        jw_key(&w, "extensions");
        write_extensions(&w, extensions, with_tasks);
    }
    jw_end(&w);
}
