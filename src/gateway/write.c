#include "gateway/write.h"

#include <assert.h>

#include "gateway/methods/catalog.h"

void gw_write_envelope(struct json_writer *w, const struct json *id)
{
    jw_object(w);
    jw_kstr(w, "jsonrpc", STR("2.0"));
    jw_kval(w, "id", id);
}

void gw_write_server_info(struct json_writer *w)
{
    jw_object(w);
    jw_kstr(w, "name", STR("nimblebrain"));
    jw_kstr(w, "title", STR("NimbleBrain"));
    jw_kstr(w, "version", STR(NB_VERSION));
    jw_end(w);
}

void gw_write_members(struct json_writer *w, const struct json *object, const char *except)
{
    for (uint32_t i = 0; json_is(object, JSON_OBJECT) && i < object->len; i++) {
        const struct json_member *m = &object->members[i];
        if (except && str_eq(m->key, str_from(except)))
            continue;
        jw_key_str(w, m->key);
        jw_value(w, &m->value);
    }
}

void gw_write_begin(struct json_writer *w, struct gw_request *q)
{
    assert(q->id); /* only requests have a result */
    buf_recycle(&q->g->scratch, GW_SPARE_BYTES);
    jw_init(w, &q->g->scratch);
    gw_write_envelope(w, q->id);
    jw_kobject(w, "result");
}

void gw_write_own_meta(struct json_writer *w)
{
    jw_kobject(w, "_meta");
    jw_key(w, META_SERVER_INFO);
    gw_write_server_info(w);
    jw_end(w);
}

/* ---- results ---- */

/* Members that exist only in the modern era. */
static bool is_modern_member(str key)
{
    return str_eq(key, STR("resultType")) || str_eq(key, STR("ttlMs")) ||
           str_eq(key, STR("cacheScope"));
}

static bool is_cacheable(str method)
{
    return str_ends(method, STR("/list")) || str_eq(method, STR("resources/read")) ||
           str_eq(method, STR("server/discover"));
}

static void write_meta(struct json_writer *w, const struct gw_result *how, const struct json *meta)
{
    jw_kobject(w, "_meta");
    gw_write_members(w, meta, META_SERVER_INFO);
    if (how->to == MCP_ERA_MODERN) {
        jw_key(w, META_SERVER_INFO);
        gw_write_server_info(w);
    }
    jw_end(w);
}

/* Older clients accept only objects in structuredContent. */
static bool is_left_out(const struct gw_result *how, const struct json_member *m)
{
    if (str_eq(m->key, STR("_meta")))
        return true;
    if (how->to != MCP_ERA_LEGACY || how->from != MCP_ERA_MODERN)
        return false;
    return is_modern_member(m->key) ||
           (str_eq(m->key, STR("structuredContent")) && m->value.type != JSON_OBJECT);
}

static bool is_complete(const struct json *result)
{
    str type = json_get_string(result, "resultType");
    return type.n == 0 || str_eq(type, STR("complete"));
}

static void write_added(struct json_writer *w, const struct gw_result *how,
                        const struct json *result)
{
    if (!json_get(result, "resultType"))
        jw_kstr(w, "resultType", STR("complete"));
    if (!is_cacheable(how->method) || !is_complete(result))
        return;
    if (!json_get(result, "ttlMs"))
        jw_kint(w, "ttlMs", 0);
    if (!json_get(result, "cacheScope"))
        jw_kstr(w, "cacheScope", STR("private"));
}

void gw_write_result(struct json_writer *w, const struct gw_result *how, const struct json *result)
{
    const struct json *meta = json_get(result, "_meta");
    jw_object(w);
    for (uint32_t i = 0; i < result->len; i++) {
        const struct json_member *m = &result->members[i];
        if (is_left_out(how, m))
            continue;
        jw_key_str(w, m->key);
        jw_value(w, &m->value);
    }
    bool is_only_info =
        json_is(meta, JSON_OBJECT) && meta->len == 1 && json_get(meta, META_SERVER_INFO);
    if (how->to == MCP_ERA_MODERN)
        write_added(w, how, result);
    if (how->to == MCP_ERA_MODERN || (meta && !is_only_info))
        write_meta(w, how, meta);
    jw_end(w);
}

void gw_write_list_end(struct json_writer *w, const struct gw_request *q, uint64_t ttl_ms)
{
    if (q->era == MCP_ERA_MODERN) {
        jw_kstr(w, "resultType", STR("complete"));
        jw_kint(w, "ttlMs", (int64_t)ttl_ms);
        jw_kstr(w, "cacheScope", STR("private"));
        gw_write_own_meta(w);
    }
    jw_close(w);
}

/* ---- capabilities ---- */

static void write_flags(struct json_writer *w, const char *name, bool has_subscribe)
{
    jw_kobject(w, name);
    if (has_subscribe)
        jw_kbool(w, "subscribe", true);
    jw_kbool(w, "listChanged", true);
    jw_end(w);
}

static bool is_task_server(const struct bundle *b, enum mcp_era era)
{
    const struct json *can = bundle_server_capabilities(b);
    if (era == MCP_ERA_MODERN)
        return json_get(json_get(can, "extensions"), MCP_EXTENSION_TASKS) != NULL;
    return json_get(can, "tasks") != NULL;
}

static bool has_tasks(const struct gw_request *q)
{
    struct bundle *one = gw_request_bundle(q);
    if (q->source.n > 0)
        return one && is_task_server(one, q->era);
    for (size_t i = 0; q->space->bundles && i < bundles_count(q->space->bundles); i++) {
        if (is_task_server(bundles_at(q->space->bundles, i), q->era))
            return true;
    }
    return false;
}

static void write_tasks(struct json_writer *w, const struct gw_request *q)
{
    if (q->era == MCP_ERA_MODERN) {
        jw_kraw(w, "extensions", STR("{\"" MCP_EXTENSION_TASKS "\":{}}"));
        return;
    }
    jw_kraw(w, "tasks", STR("{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
}

/* One source: its own capabilities. The whole workspace: all capabilities; some lists may be empty.
 * A server that has not started yet may turn out to have any of them. */
static bool is_offered(const struct gw_request *q, const char *capability)
{
    struct bundle *b = gw_request_bundle(q);
    if (str_eq(q->source, STR("files"))) /* nb's own */
        return strcmp(capability, "resources") == 0;
    return q->source.n == 0 || (b && gw_bundle_offers(b, capability));
}

void gw_write_capabilities(struct json_writer *w, const struct gw_request *q)
{
    jw_object(w);
    write_flags(w, "tools", false);
    if (is_offered(q, "resources"))
        write_flags(w, "resources", true);
    if (is_offered(q, "prompts"))
        write_flags(w, "prompts", false);
    if (is_offered(q, "completions"))
        jw_kraw(w, "completions", STR("{}"));
    jw_kraw(w, "logging", STR("{}"));
    if (has_tasks(q))
        write_tasks(w, q);
    jw_end(w);
}

static void add_instructions(struct buf *text, struct bundle *b, bool is_one)
{
    str s = bundle_instructions(b);
    if (s.n == 0)
        return;
    if (!is_one)
        buf_printf(text, "%s# %.*s\n", text->n ? "\n\n" : "",
                   STR_ARG(bundle_entry(b)->server_name));
    buf_add_str(text, s);
}

void gw_write_instructions(struct json_writer *w, const struct gw_request *q)
{
    struct bundle *b;
    struct buf text;
    buf_init(&text, GW_INSTRUCTIONS_MAX);
    for (size_t at = 0; (b = gw_request_next_bundle(q, &at)) != NULL;)
        add_instructions(&text, b, q->source.n > 0);
    if (text.n > 0 && !buf_failed(&text))
        jw_kstr(w, "instructions", buf_str(&text));
    buf_done(&text);
}

/* ---- tools ---- */

static bool is_object_schema(const struct json *schema)
{
    return str_eq(json_get_string(schema, "type"), STR("object"));
}

void gw_write_tool(struct json_writer *w, const struct gw_request *q, const struct json *raw,
                   str name)
{
    bool is_legacy = q->era == MCP_ERA_LEGACY;
    jw_object(w);
    jw_kstr(w, "name", name);
    for (uint32_t i = 0; i < raw->len; i++) {
        const struct json_member *m = &raw->members[i];
        if (str_eq(m->key, STR("name")))
            continue;
        if (!is_legacy && str_eq(m->key, STR("execution")))
            continue;
        if (is_legacy && str_eq(m->key, STR("outputSchema")) && !is_object_schema(&m->value))
            continue;
        jw_key_str(w, m->key);
        jw_value(w, &m->value);
    }
    /* Some clients refuse a tool without a description. */
    if (!json_is(json_get(raw, "description"), JSON_STRING))
        jw_kstr(w, "description", name);
    jw_end(w);
}
