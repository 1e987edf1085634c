/* pages.c - a list with several pages as one answer. */
#include <assert.h>
#include <errno.h>

#include "mcp/client/client_impl.h"

#define LIST_BYTES_MAX (64u * 1024 * 1024)

struct pages {
    const char *key;
    struct json *all; /* {key: [...]} */
    struct json *items;
    unsigned n;
    str cursor;         /* of the page that is being requested */
    struct json *error; /* when refreshing a tool: the error that caused it */
};

static void on_list_page(struct mcp_exchange *x, const struct mcp_reply *r);

static void send_page(struct mcp_call *call, const struct json *cursor)
{
    struct json params = JSON_ONE("cursor", cursor ? *cursor : json_of_null());
    str method = call->pages->error ? STR("tools/list") : call->method;
    call_send_other(call, method, cursor ? &params : NULL, on_list_page);
}

static void pages_new(struct mcp_call *call, const char *key)
{
    struct pages *p = ARENA_NEW(&call->mem, struct pages);
    p->key = arena_cstr(&call->mem, str_from(key));
    p->all = json_new(&call->mem, JSON_OBJECT);
    p->items = json_set(&call->mem, p->all, str_from(p->key), *json_new(&call->mem, JSON_ARRAY));
    call->pages = p;
}

void pages_start(struct mcp_call *call, const char *key)
{
    pages_new(call, key);
    send_page(call, NULL);
}

/* ---- one page ---- */

static int add_items(struct mcp_call *call, const struct json *result, struct err *e)
{
    struct pages *p = call->pages;
    const struct json *items = json_get(result, p->key);
    if (!json_is(items, JSON_ARRAY))
        return err_set(e, -EPROTO, "%.*s: the answer has no list \"%s\"", STR_ARG(call->method),
                       p->key);
    if (items->len > MCP_LIST_MAX - p->items->len || call->mem.total > LIST_BYTES_MAX)
        return err_set(e, -EMSGSIZE, "%.*s: the server lists more than %d items or %u MiB",
                       STR_ARG(call->method), MCP_LIST_MAX, LIST_BYTES_MAX / 1024 / 1024);
    for (uint32_t i = 0; i < items->len; i++)
        json_push(&call->mem, p->items, *json_clone(&call->mem, &items->items[i]));
    return 0;
}

static int check_next(struct mcp_call *call, const struct json *cursor, struct err *e)
{
    struct pages *p = call->pages;
    if (!json_is(cursor, JSON_STRING))
        return err_set(e, -EPROTO, "%.*s: the cursor is not a string", STR_ARG(call->method));
    if (++p->n >= MCP_PAGES_MAX)
        return err_set(e, -EMSGSIZE, "%.*s: more than %d pages", STR_ARG(call->method),
                       MCP_PAGES_MAX);
    if (p->n > 1 && str_eq(cursor->s, p->cursor))
        return err_set(e, -EPROTO, "%.*s: the server returns the same page repeatedly",
                       STR_ARG(call->method));
    p->cursor = arena_str(&call->mem, cursor->s);
    return 0;
}

static void finish_refresh(struct mcp_call *call);

static void take_page(struct mcp_call *call, struct json *result)
{
    struct err e;
    struct pages *p = call->pages;
    if (p->error || str_eq(call->method, STR("tools/list")))
        tools_take_list(call->client, result, p->n == 0);
    const struct json *next = json_get(result, "nextCursor");
    /* not allowed by the specification, but some servers send it */
    if (next && next->type == JSON_NULL)
        next = NULL;
    if ((!p->error && add_items(call, result, &e) < 0) || (next && check_next(call, next, &e) < 0))
        call_fail_with(call, &e);
    else if (next)
        send_page(call, next);
    else if (p->error)
        finish_refresh(call);
    else
        call_result(call, p->all);
}

static void on_list_page(struct mcp_exchange *x, const struct mcp_reply *r)
{
    struct mcp_call *call = x->call;
    assert(call->pages && !call->is_dead);
    if (r->result)
        take_page(call, (struct json *)r->result);
    else if (call->pages->error)
        call_error(call, call->pages->error);
    else
        call_answer(call, r);
}

/* ---- headers of a tool that has changed ---- */

static void finish_refresh(struct mcp_call *call)
{
    const struct known_tool *tool = tools_find(call->client, json_get_string(call->params, "name"));
    call->headers =
        tool ? param_headers_copy(&call->mem, &tool->headers) : (struct param_headers){0};
    call_send(call, NULL);
}

void pages_refresh_tool(struct mcp_call *call, const struct json *error)
{
    assert(!call->has_refreshed && call->params); /* once, and it can be sent again */
    call->has_refreshed = true;
    pages_new(call, "tools");
    call->pages->error = json_clone(&call->mem, error);
    send_page(call, NULL);
}
