#include "llm/provider/provider.h"

#include <errno.h>

#include "llm/provider/normalise.h"
#include "llm/provider/schema_clean.h"

static bool has_tool(const struct llm_tool *tools, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(tools[i].name, name))
            return true;
    return false;
}

struct llm_tool *provider_tools(struct arena *a, const struct llm_request *req, size_t max,
                                unsigned schema_flags, size_t *ret_n)
{
    struct llm_tool *out = arena_array(a, req->ntools + 1, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; i < req->ntools && n < max; i++) {
        const struct llm_tool *t = &req->tools[i];
        str name = normalise_name(a, t->name);
        if (t->name.n == 0 || has_tool(out, n, name))
            continue; /* one invalid entry must not affect the others */
        out[n++] = (struct llm_tool){name, normalise_text(a, str_trim(t->description)),
                                     schema_clean(a, t->schema, schema_flags)};
    }
    *ret_n = n;
    return out;
}

str provider_system(struct arena *a, const struct llm_request *req)
{
    str stable = str_trim(req->system_stable), more = str_trim(req->system_volatile);
    if (stable.n == 0 || more.n == 0)
        return stable.n > 0 ? stable : more;
    return arena_printf(a, "%.*s\n\n%.*s", STR_ARG(stable), STR_ARG(more));
}

static str tool_name(const struct json *tool)
{
    str name = json_get_string(tool, "name");
    return name.n > 0 ? name : json_get_string(json_get(tool, "function"), "name");
}

static void remove_item(struct json *arr, size_t index)
{
    memmove(&arr->items[index], &arr->items[index + 1],
            (arr->len - index - 1) * sizeof *arr->items);
    arr->len--;
}

/* The cache breakpoint of the last tool moves to the new last tool. */
static void keep_breakpoint(struct arena *a, struct json *tools, const struct json *mark)
{
    if (mark && tools->len > 0 && !json_get(&tools->items[tools->len - 1], "cache_control"))
        json_set(a, &tools->items[tools->len - 1], STR("cache_control"), *mark);
}

int provider_drop_tool(struct buf *body, size_t index, struct arena *a, str *ret_name)
{
    struct json *root;
    int rc = json_parse(a, buf_str(body), JSON_COPY, &root, NULL);
    struct json *tools = rc == 0 ? json_get(root, "tools") : NULL;
    if (!json_is(tools, JSON_ARRAY) || index >= tools->len)
        return -EINVAL;
    struct json *mark = json_get(&tools->items[index], "cache_control");
    struct json kept = mark ? *mark : json_of_null();
    *ret_name = tool_name(&tools->items[index]);
    remove_item(tools, index);
    keep_breakpoint(a, tools, mark ? &kept : NULL);
    if (tools->len == 0)
        json_unset(root, "tools");
    buf_clear(body);
    return json_write(body, root);
}
