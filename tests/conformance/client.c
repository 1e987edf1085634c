/* client.c - the client under the public conformance suite: conformance-client URL.
 *
 * The suite runs this program against servers of its own and names the scenario in its
 * environment. The program connects, lists the tools, does what the scenario asks for and
 * agrees to everything: it is a test, not a command of the product. */
#include "mcp/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP_MS 30000

struct session {
    struct loop *loop;
    struct fetcher *fetcher;
    struct mcp_client *client;
    struct arena mem;
    struct json *context; /* of the scenario; NULL: none */
    struct json *tools;
    bool is_ready, is_closed, has_failed;
    bool holds_asks; /* the next question is not answered immediately */
    bool is_asked;
    struct mcp_ask *held;
};

static void complain(struct session *s, const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    s->has_failed = true;
}

/* ---- answers to the server ---- */

static struct json *fill_defaults(struct arena *a, const struct json *schema)
{
    struct json *content = json_new(a, JSON_OBJECT);
    const struct json *properties = json_get(schema, "properties");
    for (uint32_t i = 0; properties && i < properties->len; i++) {
        const struct json_member *m = &properties->members[i];
        const struct json *value = json_get(&m->value, "default");
        if (value)
            json_set(a, content, m->key, *value);
        else if (str_eq(json_get_string(&m->value, "type"), STR("string")))
            json_set(a, content, m->key, json_of_str(STR("conformance")));
        else if (str_eq(json_get_string(&m->value, "type"), STR("boolean")))
            json_set(a, content, m->key, json_of_bool(true));
        else
            json_set(a, content, m->key, json_of_int(1));
    }
    return content;
}

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v = NULL;
    (void)json_parse(a, str_from(text), JSON_COPY, &v, NULL);
    return v;
}

static void answer(struct session *s, struct mcp_ask *ask)
{
    struct arena a;
    arena_init(&a);
    struct json *result = NULL;
    switch (ask->kind) {
    case MCP_ASK_ROOTS:
        result = parse(&a, "{\"roots\":[]}");
        break;
    case MCP_ASK_SAMPLING:
        result = parse(&a, "{\"role\":\"assistant\",\"model\":\"fixed\",\"stopReason\":\"endTurn\","
                           "\"content\":{\"type\":\"text\",\"text\":\"a fixed text\"}}");
        break;
    case MCP_ASK_ELICITATION:
        result = parse(&a, "{\"action\":\"accept\"}");
        json_set(&a, result, STR("content"),
                 *fill_defaults(&a, json_get(ask->params, "requestedSchema")));
        break;
    }
    mcp_ask_answer(ask, result);
    arena_done(&a);
}

static void on_ask(void *ctx, struct mcp_ask *ask)
{
    struct session *s = ctx;
    if (!s->holds_asks) {
        answer(s, ask);
        return;
    }
    s->held = ask;
    s->is_asked = true;
    s->holds_asks = false;
}

static void on_stderr(void *ctx, str bytes)
{
    fprintf(stderr, "%.*s", STR_ARG(bytes));
}

/* ---- requests, one after the other ---- */

struct await {
    struct session *s;
    struct json *result; /* NULL: it failed */
    bool is_done;
};

static void on_done(void *ctx, const struct mcp_reply *r)
{
    struct await *w = ctx;
    w->is_done = true;
    if (r->result)
        w->result = json_clone(&w->s->mem, r->result);
    else if (r->error)
        fprintf(stderr, "error: %.*s\n", STR_ARG(json_to_str(&w->s->mem, r->error)));
    else
        fprintf(stderr, "failed: %s\n", r->err->msg);
}

static const struct mcp_call_events CALL_EVENTS = {.done = on_done};

static struct json *finish(struct await *w)
{
    (void)loop_run_until(w->s->loop, &w->is_done, STEP_MS);
    return w->result;
}

static struct json *list(struct session *s, const char *method, const char *key)
{
    struct await w = {.s = s};
    mcp_list_all(s->client, str_from(method), key, &CALL_EVENTS, &w);
    return json_get(finish(&w), key);
}

static struct json *request(struct session *s, const char *method, struct json *params)
{
    struct await w = {.s = s};
    struct mcp_request r = {.method = str_from(method), .params = params};
    mcp_request(s->client, &r, &CALL_EVENTS, &w);
    struct json *result = finish(&w);
    if (!result)
        complain(s, method, "no result");
    return result;
}

static struct json *call_params(struct session *s, str name, const struct json *arguments)
{
    struct json *params = json_new(&s->mem, JSON_OBJECT);
    json_set(&s->mem, params, STR("name"), json_of_str(name));
    json_set(&s->mem, params, STR("arguments"),
             arguments ? *arguments : *json_new(&s->mem, JSON_OBJECT));
    return params;
}

static void call(struct session *s, str name, const struct json *arguments)
{
    request(s, "tools/call", call_params(s, name, arguments));
}

/* ---- scenarios ---- */

static void do_nothing(struct session *s) {}

static void do_add_numbers(struct session *s)
{
    call(s, STR("add_numbers"), parse(&s->mem, "{\"a\":5,\"b\":3}"));
}

static void do_elicitation_defaults(struct session *s)
{
    call(s, STR("test_client_elicitation_defaults"), NULL);
}

static void do_reconnection(struct session *s)
{
    call(s, STR("test_reconnection"), NULL);
}

/* The unrelated call is made while the first waits for its second round. */
static void do_request_state(struct session *s)
{
    struct await w = {.s = s};
    struct mcp_request first = {.method = STR("tools/call"),
                                .params = call_params(s, STR("test_mrtr_echo_state"), NULL)};
    s->holds_asks = true;
    mcp_request(s->client, &first, &CALL_EVENTS, &w);
    if (!loop_run_until(s->loop, &s->is_asked, STEP_MS)) {
        complain(s, "test_mrtr_echo_state", "asks nothing");
        return;
    }
    call(s, STR("test_mrtr_unrelated"), NULL);
    answer(s, s->held);
    if (!finish(&w))
        complain(s, "test_mrtr_echo_state", "no result");
    call(s, STR("test_mrtr_no_state"), NULL);
    call(s, STR("test_mrtr_no_result_type"), NULL);
}

static void do_every_tool(struct session *s)
{
    for (uint32_t i = 0; i < s->tools->len; i++)
        call(s, json_get_string(&s->tools->items[i], "name"), NULL);
}

static struct json *named(struct session *s, const char *key, str value)
{
    struct json *params = json_new(&s->mem, JSON_OBJECT);
    json_set(&s->mem, params, str_from(key), json_of_str(value));
    return params;
}

static void do_standard_headers(struct session *s)
{
    do_every_tool(s);
    const struct json *resources = list(s, "resources/list", "resources");
    for (uint32_t i = 0; resources && i < resources->len; i++)
        request(s, "resources/read", named(s, "uri", json_get_string(&resources->items[i], "uri")));
    const struct json *prompts = list(s, "prompts/list", "prompts");
    for (uint32_t i = 0; prompts && i < prompts->len; i++)
        request(s, "prompts/get", named(s, "name", json_get_string(&prompts->items[i], "name")));
}

static void do_tool_calls(struct session *s)
{
    const struct json *calls = json_get(s->context, "toolCalls");
    if (!json_is(calls, JSON_ARRAY))
        complain(s, "context", "no toolCalls");
    for (uint32_t i = 0; calls && i < calls->len; i++)
        call(s, json_get_string(&calls->items[i], "name"), json_get(&calls->items[i], "arguments"));
}

static void do_schema_echo(struct session *s)
{
    const struct json *schema = NULL;
    for (uint32_t i = 0; i < s->tools->len; i++) {
        if (str_eq(json_get_string(&s->tools->items[i], "name"), STR("json_schema_2020_12_tool")))
            schema = json_get(&s->tools->items[i], "inputSchema");
    }
    struct json *arguments = json_new(&s->mem, JSON_OBJECT);
    if (schema)
        json_set(&s->mem, arguments, STR("schema"), *schema);
    call(s, STR("json_schema_echo"), arguments);
}

static const struct {
    const char *name;
    void (*run)(struct session *s);
} SCENARIOS[] = {
    {"initialize", do_nothing},
    {"tools_call", do_add_numbers},
    {"elicitation-sep1034-client-defaults", do_elicitation_defaults},
    {"sse-retry", do_reconnection},
    {"request-metadata", do_nothing},
    {"sep-2322-client-request-state", do_request_state},
    {"http-standard-headers", do_standard_headers},
    {"http-custom-headers", do_tool_calls},
    {"http-invalid-tool-headers", do_every_tool},
    {"json-schema-ref-no-deref", do_nothing},
    {"json-schema-2020-12-preservation", do_schema_echo},
};

static void run_scenario(struct session *s, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(SCENARIOS); i++) {
        if (str_eq(str_from(name), str_from(SCENARIOS[i].name))) {
            SCENARIOS[i].run(s);
            return;
        }
    }
    complain(s, name, "no such scenario here");
}

/* ---- the connection ---- */

static void on_ready(void *ctx)
{
    struct session *s = ctx;
    s->is_ready = true;
}

static void on_closed(void *ctx, const struct err *e)
{
    struct session *s = ctx;
    s->is_closed = s->is_ready = true;
    s->client = NULL;
    if (e->code != 0)
        complain(s, "closed", e->msg);
}

static void run(struct session *s, const char *url, const char *scenario)
{
    struct mcp_dial dial = {.wire = MCP_WIRE_HTTP, .url = str_from(url)};
    struct mcp_host host = {
        .capabilities = parse(&s->mem, "{\"sampling\":{},\"elicitation\":{\"form\":{}},"
                                       "\"roots\":{\"listChanged\":true}}"),
        .ask = on_ask,
        .on_stderr = on_stderr,
        .ctx = s,
    };
    static const struct mcp_client_events EV = {.ready = on_ready, .closed = on_closed};
    s->client = mcp_open(s->loop, s->fetcher, &dial, &host, &EV, s);
    (void)loop_run_until(s->loop, &s->is_ready, STEP_MS);
    if (s->is_closed || !s->is_ready)
        return;
    s->tools = list(s, "tools/list", "tools");
    if (!s->tools)
        s->tools = json_new(&s->mem, JSON_ARRAY);
    run_scenario(s, scenario);
    if (s->client) {
        mcp_close(s->client);
        (void)loop_run_until(s->loop, &s->is_closed, STEP_MS);
    }
}

int main(int argc, char **argv)
{
    const char *scenario = getenv("MCP_CONFORMANCE_SCENARIO");
    const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
    if (argc != 2 || !scenario) {
        fprintf(stderr, "usage: MCP_CONFORMANCE_SCENARIO=NAME conformance-client URL\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct session s = {.loop = loop_new(NULL)};
    s.fetcher = fetcher_new(s.loop);
    if (context)
        s.context = parse(&s.mem, context);
    run(&s, argv[1], scenario);
    if (s.client)
        mcp_abort(s.client);
    fetcher_free(s.fetcher);
    loop_free(s.loop);
    arena_done(&s.mem);
    return s.has_failed ? 1 : 0;
}
