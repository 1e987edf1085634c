/* rig.h - a client and a server that follows a script, for tests.
 *
 * Over pipes the server is the test program itself, started again with "serve" and the script:
 * a JSON list of rules {"on": method, "send": [...], "exit": status, "times": n, "silent": true}.
 * The first rule for a method that is not used up is followed: what it sends are messages in
 * which "$id" stands for the id of the request (a string is sent as it is). Each line that the
 * server gets goes to its stderr, where the test finds it (rig->heard). Requests that no rule
 * names get "method not found".
 *
 * Every test program with a rig starts its main with RIG_SERVE. */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json/json.h"
#include "mcp/client.h"
#include "support/unit.h"

enum { RIG_WAIT_MS = 60000, RIG_ASKS = 16 };

/* ---- the server ---- */

static inline void rig_send(const struct json *v, const struct json *id)
{
    struct arena a;
    arena_init(&a);
    str text = json_is(v, JSON_STRING) ? v->s : json_to_str(&a, v);
    str key = STR("\"$id\""), id_text = id ? json_to_str(&a, id) : STR("null");
    for (ptrdiff_t at; (at = str_find(text, key, 0)) >= 0;
         text = str_skip(text, (size_t)at + key.n))
        printf("%.*s%.*s", (int)at, text.p, STR_ARG(id_text));
    printf("%.*s\n", STR_ARG(text));
    fflush(stdout);
    arena_done(&a);
}

static inline struct json *rig_rule(struct json *script, str method, unsigned *used)
{
    for (uint32_t i = 0; i < script->len; i++) {
        struct json *rule = &script->items[i];
        str on = json_get_string(rule, "on");
        if ((!str_eq(on, method) && !str_eq(on, STR("*"))) ||
            used[i] >= (unsigned)json_get_int(rule, "times", 1000000))
            continue;
        used[i]++;
        return rule;
    }
    return NULL;
}

static inline void rig_follow(struct json *rule, const struct json *id, str method)
{
    if (!rule) {
        if (id && method.n > 0)
            printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32601,\"message\":\"no\"}"
                   "}\n",
                   (long long)(id->type == JSON_INT ? id->i : 0));
        fflush(stdout);
        return;
    }
    const struct json *send = json_get(rule, "send");
    for (uint32_t i = 0; send && i < send->len; i++)
        rig_send(&send->items[i], id);
    if (json_get(rule, "exit"))
        _exit((int)json_get_int(rule, "exit", 0));
}

static inline int rig_serve(const char *script_text)
{
    static unsigned used[64];
    struct arena a;
    arena_init(&a);
    struct json *script, *v;
    if (json_parse(&a, str_from(script_text), JSON_COPY, &script, NULL) < 0)
        _exit(99);
    struct json *first = rig_rule(script, STR("(start)"), used);
    if (first)
        rig_follow(first, NULL, STR_NONE);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        (void)!write(2, line, (size_t)n);
        if (json_parse(&a, (str){line, (size_t)n - 1}, JSON_COPY, &v, NULL) < 0)
            continue;
        str method = json_get_string(v, "method");
        const struct json *id = json_get(v, "id");
        rig_follow(rig_rule(script, method.n > 0 ? method : STR("(answer)"), used), id, method);
    }
    free(line);
    arena_done(&a);
    return 0;
}

#define RIG_SERVE(argc, argv)                                                                      \
    do {                                                                                           \
        signal(SIGPIPE, SIG_IGN);                                                                  \
        if ((argc) == 3 && strcmp((argv)[1], "serve") == 0)                                        \
            return rig_serve((argv)[2]);                                                           \
    } while (0)

/* ---- the client ---- */

struct rig {
    struct loop *loop;
    struct fetcher *fetcher;
    struct mcp_client *client;
    bool is_ready, is_closed, is_opened; /* opened: one of the two */
    struct err closed;
    struct buf heard;    /* what the server got, and what the client reported */
    struct buf notified; /* "method params\n" */
    struct mcp_ask *asks[RIG_ASKS];
    size_t nasks, ngone;
    bool is_asked;
    struct arena mem;
};

static inline void rig_on_ready(void *ctx)
{
    struct rig *r = ctx;
    r->is_ready = r->is_opened = true;
}

static inline void rig_on_closed(void *ctx, const struct err *e)
{
    struct rig *r = ctx;
    r->is_closed = r->is_opened = true;
    r->closed = *e;
    r->client = NULL;
}

static inline void rig_on_ask(void *ctx, struct mcp_ask *a)
{
    struct rig *r = ctx;
    assert_true(r->nasks < RIG_ASKS);
    r->asks[r->nasks++] = a;
    r->is_asked = true;
}

static inline void rig_on_ask_gone(void *ctx, struct mcp_ask *a)
{
    ((struct rig *)ctx)->ngone++;
}

static inline void rig_on_notified(void *ctx, str method, const struct json *params)
{
    struct rig *r = ctx;
    buf_add_str(&r->notified, method);
    buf_add_char(&r->notified, ' ');
    if (params)
        json_write(&r->notified, params);
    buf_add_char(&r->notified, '\n');
}

static inline void rig_on_stderr(void *ctx, str bytes)
{
    buf_add_str(&((struct rig *)ctx)->heard, bytes);
}

static const struct mcp_client_events RIG_EVENTS = {rig_on_ready, rig_on_closed};

static inline struct json *rig_json(struct rig *r, const char *text)
{
    struct json *v;
    struct err e;
    if (json_parse(&r->mem, str_from(text), JSON_COPY, &v, &e) < 0)
        fail_msg("%s in %s", e.msg, text);
    return v;
}

static inline struct mcp_host rig_host(struct rig *r)
{
    return (struct mcp_host){
        .capabilities = rig_json(r, "{\"sampling\":{},\"elicitation\":{},\"roots\":{}}"),
        .ask = rig_on_ask,
        .ask_gone = rig_on_ask_gone,
        .notified = rig_on_notified,
        .on_stderr = rig_on_stderr,
        .ctx = r,
    };
}

static inline int rig_set_up(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    r->loop = loop_new(NULL);
    r->fetcher = fetcher_new(r->loop);
    buf_init(&r->heard, 64u << 20);
    buf_init(&r->notified, 1u << 20);
    *state = r;
    return 0;
}

static inline void rig_run(struct rig *r, uint64_t ms)
{
    bool never = false;
    loop_run_until(r->loop, &never, ms);
}

static inline bool rig_has_children(void)
{
    FILE *f = fopen("/proc/thread-self/children", "re");
    assert_non_null(f);
    bool has = fgetc(f) != EOF;
    fclose(f);
    return has;
}

static inline int rig_tear_down(void **state)
{
    struct rig *r = *state;
    if (r->client) {
        mcp_close(r->client);
        assert_true(loop_run_until(r->loop, &r->is_closed, RIG_WAIT_MS));
    }
    for (int i = 0; i < 500 && rig_has_children(); i++)
        rig_run(r, 10); /* one that was killed is reaped by the loop */
    rig_run(r, 10);
    fetcher_free(r->fetcher);
    loop_free(r->loop);
    buf_done(&r->heard);
    buf_done(&r->notified);
    arena_done(&r->mem);
    free(r);
    return 0;
}

static inline bool rig_until(struct rig *r, const bool *flag)
{
    return loop_run_until(r->loop, flag, RIG_WAIT_MS);
}

static inline void rig_dial(struct rig *r, const struct mcp_dial *dial)
{
    struct mcp_host host = rig_host(r);
    r->is_ready = r->is_closed = r->is_opened = false;
    r->client = mcp_open(r->loop, r->fetcher, dial, &host, &RIG_EVENTS, r);
    assert_false(r->is_opened);
    assert_true(rig_until(r, &r->is_opened));
}

/* The arguments of a child that serves this script. */
static inline struct mcp_dial rig_child(struct rig *r, const char *script)
{
    const char **argv = arena_array(&r->mem, 4, sizeof(*argv));
    argv[0] = "/proc/self/exe";
    argv[1] = "serve";
    argv[2] = script;
    static char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    assert_true(n > 0);
    argv[0] = exe;
    static const char *const env[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
    return (struct mcp_dial){.wire = MCP_WIRE_STDIO, .child = {.argv = argv, .env = env}};
}

static inline void rig_open(struct rig *r, const char *script)
{
    struct mcp_dial dial = rig_child(r, script);
    rig_dial(r, &dial);
}

/* Rules to put at the start of a script. */
#define RIG_LEGACY                                                                                 \
    "{\"on\":\"initialize\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{"            \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true},"       \
    "\"logging\":{}},\"serverInfo\":{\"name\":\"rig\",\"version\":\"1\"},"                         \
    "\"instructions\":\"be kind\"}}]},"
#define RIG_MODERN                                                                                 \
    "{\"on\":\"server/discover\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{"       \
    "\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"        \
    "\"tools\":{\"listChanged\":true}},\"ttlMs\":0,\"cacheScope\":\"public\"}}]},"
#define RIG_RESULT(method, result)                                                                 \
    "{\"on\":\"" method "\",\"send\":[{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":" result "}]" \
    "}"

/* ---- calls ---- */

struct rig_call {
    struct rig *r;
    struct mcp_call *call;
    bool is_done;
    str result, error; /* text */
    struct err err;
    struct buf progress, logged;
};

static inline void rig_on_done(void *ctx, const struct mcp_reply *reply)
{
    struct rig_call *c = ctx;
    assert_false(c->is_done);
    c->is_done = true;
    c->call = NULL;
    if (reply->result)
        c->result = json_to_str(&c->r->mem, reply->result);
    if (reply->error)
        c->error = json_to_str(&c->r->mem, reply->error);
    if (reply->err)
        c->err = *reply->err;
    assert_int_equal(!!reply->result + !!reply->error + !!reply->err, 1);
}

static inline void rig_on_progress(void *ctx, const struct json *params)
{
    json_write(&((struct rig_call *)ctx)->progress, params);
}

static inline void rig_on_logged(void *ctx, const struct json *params)
{
    json_write(&((struct rig_call *)ctx)->logged, params);
}

static const struct mcp_call_events RIG_CALL_EVENTS = {
    .done = rig_on_done, .progress = rig_on_progress, .logged = rig_on_logged};

static inline void rig_start(struct rig *r, struct rig_call *c, const struct mcp_request *req)
{
    *c = (struct rig_call){.r = r};
    buf_init(&c->progress, 1u << 16);
    buf_init(&c->logged, 1u << 16);
    c->call = mcp_request(r->client, req, &RIG_CALL_EVENTS, c);
    assert_false(c->is_done); /* never before it returned */
}

static inline void rig_call_done(struct rig_call *c)
{
    buf_done(&c->progress);
    buf_done(&c->logged);
}

static inline void rig_request(struct rig *r, struct rig_call *c, const char *method,
                               const char *params)
{
    struct mcp_request req = {.method = str_from(method),
                              .params = params ? rig_json(r, params) : NULL};
    rig_start(r, c, &req);
    assert_true(rig_until(r, &c->is_done));
    rig_call_done(c);
}

static inline bool rig_has(const struct buf *b, const char *text)
{
    return str_find(buf_str(b), str_from(text), 0) >= 0;
}

/* Waits until the server has heard it. */
static inline void rig_hears(struct rig *r, const char *text)
{
    for (int i = 0; i < 300 && !rig_has(&r->heard, text); i++)
        rig_run(r, 10);
    if (!rig_has(&r->heard, text))
        fail_msg("\"%s\" is not in: %.*s", text, STR_ARG(buf_str(&r->heard)));
}

#define assert_text(s, expected) assert_string_equal(arena_cstr(&r->mem, (s)), (expected))
