#include "gateway/methods/catalog.h"
#include "gateway/methods/method.h"
#include "gateway/upstream/upstream.h"
#include "tools/names.h"

static bool is_named(const struct gw_entry *e, str name)
{
    char made[TOOL_NAME_MAX + 1];
    size_t n = tool_name_make(e->source, json_get_string(e->item, "name"), made);
    return str_eq(str_make(made, n), name);
}

/* Where the name of the prompt is: params, or params.ref of a completion. */
static struct json *holder(struct gw_request *q)
{
    return str_eq(q->method, STR("prompts/get")) ? q->params : json_get(q->params, "ref");
}

static void on_prompts(struct gw_request *q, const struct gw_entries *found)
{
    struct json *at = holder(q);
    str name = json_get_string(at, "name");
    for (size_t i = 0; i < found->len; i++) {
        if (!is_named(&found->items[i], name))
            continue;
        str own = arena_str(&q->arena, json_get_string(found->items[i].item, "name"));
        json_set(&q->arena, at, STR("name"), json_of_str(own));
        gw_upstream_forward(q, found->items[i].bundle);
        return;
    }
    gw_request_fail(q, RPC_INVALID_PARAMS, "Unknown prompt: %.*s",
                    STR_ARG(str_slice(name, 0, 200)));
}

void gw_prompts_get(struct gw_request *q)
{
    struct bundle *only = gw_request_bundle(q);
    str name = json_get_string(holder(q), "name");
    if (name.n == 0)
        gw_request_fail(q, RPC_INVALID_PARAMS, "The name of the prompt is missing.");
    else if (only)
        gw_upstream_forward(q, only);
    else
        gw_catalog_gather(q, GW_PROMPTS, on_prompts);
}

static void complete_from(struct gw_request *q, str uri, struct bundle *b)
{
    if (b)
        gw_upstream_forward(q, b);
    else
        gw_request_fail(q, RPC_INVALID_PARAMS, "Unknown resource template: %.*s",
                        STR_ARG(str_slice(uri, 0, 200)));
}

void gw_completion_complete(struct gw_request *q)
{
    const struct json *ref = json_get(q->params, "ref");
    str type = json_get_string(ref, "type"), uri = json_get_string(ref, "uri");
    if (str_eq(type, STR("ref/prompt")))
        gw_prompts_get(q);
    else if (str_eq(type, STR("ref/resource")) && uri.n > 0)
        gw_resources_route(q, uri, complete_from);
    else
        gw_request_fail(q, RPC_INVALID_PARAMS, "ref must be a ref/prompt or a ref/resource.");
}
