#include "gateway/methods/catalog.h"
#include "gateway/methods/method.h"
#include "gateway/upstream/upstream.h"
#include "tools/names.h"

/* ---- lists ---- */

static str shown_name(struct gw_request *q, const struct gw_entry *e)
{
    char made[TOOL_NAME_MAX + 1];
    str name = json_get_string(e->item, "name");
    if (q->source.n > 0)
        return name;
    size_t n = tool_name_make(e->source, name, made);
    return arena_str(&q->arena, str_make(made, n));
}

static void write_entry(struct json_writer *w, struct gw_request *q, const void *items, size_t at)
{
    const struct gw_entry *e = ((const struct gw_entry *const *)items)[at];
    bool is_prompt = str_eq(q->method, STR("prompts/list"));
    jw_object(w);
    for (uint32_t i = 0; i < e->item->len; i++) {
        const struct json_member *m = &e->item->members[i];
        jw_key_str(w, m->key);
        if (is_prompt && str_eq(m->key, STR("name")))
            jw_str(w, shown_name(q, e));
        else
            jw_value(w, &m->value);
    }
    jw_end(w);
}

/* If two servers list the same address, the first server has it. */
static size_t drop_doubles(struct gw_request *q, const struct gw_entries *found,
                           const struct gw_entry **out)
{
    struct map seen;
    size_t n = 0;
    map_init(&seen);
    for (size_t i = 0; i < found->len; i++) {
        str uri = json_get_string(found->items[i].item, "uri");
        if (found->items[i].item->type != JSON_OBJECT)
            continue;
        if (uri.n > 0 && map_put(&seen, uri, q))
            continue;
        out[n++] = &found->items[i];
    }
    map_done(&seen);
    return n;
}

/* The files of the caller, which no server can displace, then what the servers list. */
static struct gw_entries with_files(struct gw_request *q, const struct gw_entries *found)
{
    const struct json *files = q->plan;
    struct gw_entries all = {.ttl_ms = files ? 0 : found->ttl_ms};
    size_t nfiles = files ? files->len : 0;
    struct gw_entry *out = arena_array(&q->arena, nfiles + found->len + 1, sizeof *out);
    for (size_t i = 0; i < nfiles; i++)
        out[all.len++] = (struct gw_entry){NULL, STR("files"), &files->items[i]};
    for (size_t i = 0; i < found->len; i++)
        if (!gw_files_has(q, json_get_string(found->items[i].item, "uri")))
            out[all.len++] = found->items[i];
    all.items = out;
    return all;
}

static void reply_list(struct gw_request *q, const struct gw_entries *servers)
{
    struct gw_entries joined = with_files(q, servers), *found = &joined;
    const struct gw_entry **all = arena_array(&q->arena, found->len + 1, sizeof *all);
    size_t n = drop_doubles(q, found, all);
    gw_page_reply(q, &(struct gw_items){
                         .key = gw_list_key(gw_list_of(q->method)),
                         .items = all,
                         .len = n,
                         .write = write_entry,
                         .ttl_ms = found->ttl_ms,
                     });
}

static void list_with_files(struct gw_request *q, const struct json *items)
{
    q->plan = (void *)items;
    gw_catalog_gather(q, GW_RESOURCES, reply_list);
}

void gw_list_entries(struct gw_request *q)
{
    if (gw_list_of(q->method) == GW_RESOURCES && gw_files_are_offered(q, "list"))
        gw_files_list(q, list_with_files);
    else
        gw_catalog_gather(q, gw_list_of(q->method), reply_list);
}

/* ---- which bundle has it ---- */

/* RFC 6570 level 1, simplified: an expression matches any text up to the literal that follows
 * it. */
static bool template_fits(str pattern, str uri)
{
    while (pattern.n > 0) {
        if (pattern.p[0] != '{') {
            if (uri.n == 0 || uri.p[0] != pattern.p[0])
                return false;
            pattern = str_skip(pattern, 1);
            uri = str_skip(uri, 1);
            continue;
        }
        ptrdiff_t end = str_find_char(pattern, '}');
        if (end < 0)
            return false;
        pattern = str_skip(pattern, (size_t)end + 1);
        ptrdiff_t brace = str_find_char(pattern, '{');
        str literal = brace < 0 ? pattern : str_slice(pattern, 0, (size_t)brace);
        if (literal.n == 0)
            return true;
        ptrdiff_t at = str_find(uri, literal, 0);
        if (at < 0)
            return false;
        uri = str_skip(uri, (size_t)at);
    }
    return uri.n == 0;
}

struct resource_route {
    str uri;
    void (*fn)(struct gw_request *q, str uri, struct bundle *b);
};

static void on_templates(struct gw_request *q, const struct gw_entries *found)
{
    struct resource_route *r = q->route;
    struct bundle *b = NULL;
    for (size_t i = 0; i < found->len && !b; i++) {
        str pattern = json_get_string(found->items[i].item, "uriTemplate");
        if (str_eq(pattern, r->uri) || template_fits(pattern, r->uri))
            b = found->items[i].bundle;
    }
    r->fn(q, r->uri, b);
}

static void on_resources(struct gw_request *q, const struct gw_entries *found)
{
    struct resource_route *r = q->route;
    for (size_t i = 0; i < found->len; i++) {
        if (str_eq(json_get_string(found->items[i].item, "uri"), r->uri)) {
            r->fn(q, r->uri, found->items[i].bundle);
            return;
        }
    }
    gw_catalog_gather(q, GW_TEMPLATES, on_templates);
}

/* The only bundle with a tool that names this address as its interface. Another server that lists
 * the same address must not take its place. */
static struct bundle *interface_of(const struct gw_request *q, str uri)
{
    const struct toolset *all = registry_tools(q->space->tools);
    str source = STR_NONE;
    for (size_t i = 0; i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        if (uri.n == 0 || !str_eq(it->tool->ui_uri, uri) || str_eq(it->source, source))
            continue;
        if (source.n > 0)
            return NULL;
        source = it->source;
    }
    bool is_found = source.n > 0 && q->space->bundles;
    return is_found && tool_selection_may_use_source(q->actor, source)
               ? bundles_find(q->space->bundles, source)
               : NULL;
}

void gw_resources_route(struct gw_request *q, str uri,
                        void (*fn)(struct gw_request *q, str uri, struct bundle *b))
{
    struct bundle *only = gw_request_bundle(q);
    if (q->source.n > 0) {
        fn(q, uri, only);
        return;
    }
    struct bundle *owner = interface_of(q, uri);
    if (owner) {
        fn(q, uri, owner);
        return;
    }
    struct resource_route *r = ARENA_NEW(&q->arena, struct resource_route);
    *r = (struct resource_route){uri, fn};
    q->route = r;
    gw_catalog_gather(q, GW_RESOURCES, on_resources);
}

/* ---- resources/read ---- */

void gw_resources_not_found(struct gw_request *q)
{
    struct json data = JSON_ONE("uri", json_of_str(json_get_string(q->params, "uri")));
    gw_request_fail_data(q, q->era == MCP_ERA_MODERN ? RPC_INVALID_PARAMS : -32002, &data,
                         "Resource not found");
}

static void try_next(struct gw_request *q);

static void on_tried(struct gw_request *q, struct bundle *b, const struct mcp_reply *r)
{
    const struct json *contents = json_get(r->result, "contents");
    bool is_asking = str_eq(json_get_string(r->result, "resultType"), STR("input_required"));
    if (r->result && (is_asking || (json_is(contents, JSON_ARRAY) && contents->len > 0)))
        gw_request_result(q, r->result, bundle_era(b));
    else
        try_next(q);
}

static void try_next(struct gw_request *q)
{
    struct bundle *b;
    while ((b = gw_request_next_bundle(q, &q->tried)) != NULL) {
        if (bundle_server_capabilities(b) && gw_bundle_offers(b, "resources")) {
            gw_upstream_ask(q, b, on_tried);
            return;
        }
    }
    gw_resources_not_found(q);
}

static void read_from(struct gw_request *q, str uri, struct bundle *b)
{
    if (b)
        gw_upstream_forward(q, b);
    else if (q->source.n > 0)
        gw_resources_not_found(q);
    else
        try_next(q);
}

void gw_resources_read(struct gw_request *q)
{
    str uri = json_get_string(q->params, "uri");
    if (uri.n == 0)
        gw_request_fail(q, RPC_INVALID_PARAMS, "resources/read requires a uri.");
    else if (gw_files_has(q, uri))
        gw_files_read(q);
    else
        gw_resources_route(q, uri, read_from);
}
