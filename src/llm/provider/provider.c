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

const struct llm_tool *provider_begin_tools(struct json_writer *w, struct arena *a,
                                            const struct llm_request *req, size_t max,
                                            unsigned schema_flags, size_t *ret_n)
{
    if (req->tools_json.n > 0) {
        jw_kraw(w, "tools", req->tools_json);
        return NULL;
    }
    const struct llm_tool *tools = provider_tools(a, req, max, schema_flags, ret_n);
    if (*ret_n == 0)
        return NULL;
    jw_karray(w, "tools");
    return tools;
}

stream_fn provider_handler(const struct stream_handler *table, size_t n, const struct json *data,
                           const struct sse_event *ev)
{
    str type = json_string(json_get(data, "type"), ev->event);
    for (size_t i = 0; data && i < n; i++)
        if (str_eq(type, table[i].type))
            return table[i].fn;
    return NULL;
}

const struct json *provider_parse_event(struct answer *an, const struct sse_event *ev)
{
    struct json *data;
    arena_reset(&an->scratch);
    if (json_parse(&an->scratch, ev->data, 0, &data, NULL) == 0)
        return data;
    answer_fail(an, STR("bad_stream"), STR("the stream holds an event that is not JSON"));
    return NULL;
}

str provider_system(struct arena *a, const struct llm_request *req)
{
    str stable = str_trim(req->system_stable), more = str_trim(req->system_volatile);
    if (stable.n == 0 || more.n == 0)
        return stable.n > 0 ? stable : more;
    return arena_join(a, (const str[]){stable, STR("\n\n"), more}, 3);
}

str provider_openai_url(const struct provider *p, struct arena *a, str path)
{
    ptrdiff_t scheme = str_find(p->base_url, STR("://"), 0);
    str host = str_skip(p->base_url, scheme < 0 ? 0 : (size_t)scheme + 3);
    bool has_path = str_find_char(host, '/') >= 0;
    return arena_printf(a, "%.*s%s%.*s", STR_ARG(p->base_url), has_path ? "" : "/v1",
                        STR_ARG(path));
}

size_t provider_bearer(const struct provider *p, struct arena *a, struct fetch_header out[AUTH_MAX])
{
    size_t n = 0;
    if (p->api_key.n > 0)
        out[n++] = (struct fetch_header){STR("authorization"),
                                         arena_concat(a, STR("Bearer "), p->api_key)};
    if (p->organization.n > 0)
        out[n++] = (struct fetch_header){STR("openai-organization"), p->organization};
    if (p->project.n > 0)
        out[n++] = (struct fetch_header){STR("openai-project"), p->project};
    return n;
}

int64_t provider_max_tokens(const struct model_caps *caps, const struct llm_request *req)
{
    int64_t want = req->max_tokens > 0 ? req->max_tokens : MODEL_MAX_OUTPUT_DEFAULT;
    int64_t limit = caps->max_output_tokens;
    return limit > 0 && want > limit ? limit : want;
}

int provider_finish(const struct buf *body, struct err *e)
{
    if (!buf_failed(body))
        return 0;
    return err_set(e, -EMSGSIZE, "the conversation is too large for one request (over %u MiB)",
                   LLM_BODY_MAX >> 20);
}

str provider_join_texts(struct arena *a, const struct llm_block *blocks, size_t n)
{
    struct buf b;
    buf_init(&b, LLM_BODY_MAX);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].type == LLM_TEXT)
            (void)buf_add_lit(&b, b.n ? "\n\n" : ""), (void)buf_add_str(&b, blocks[i].text);
    return buf_keep(&b, a);
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
    struct json *list = rc == 0 ? json_get(root, "tools") : NULL;
    /* Google has one list in the list */
    struct json *inner = json_get(json_at(list, 0), "functionDeclarations");
    struct json *tools = inner ? inner : list;
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
