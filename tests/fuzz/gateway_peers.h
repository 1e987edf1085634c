/* gateway_peers.h - the servers behind the gateway, inside the fuzzer: one of each era.
 *
 * A transport of ours takes the place of pipes to children. Handshakes, pings and lists are
 * answered as a plain server would; every other request waits until the input answers it
 * (peers_answer), and at any time the input can have a server say anything (peers_say) or disappear
 * (peers_lose). What is sent to a server must be one valid message. Bundles are these servers and
 * nothing more: this file takes the place of bundle/supervise/bundle.c. */
#pragma once

#include <assert.h>
#include <errno.h>

#include "bundle/bundle.h"
#include "mcp/transport/jsonrpc.h"
#include "mcp/transport/transport.h"

enum { WAITING_MAX = 64 };

#define FUZZ_TOOLS                                                                                 \
    "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{"     \
    "\"type\":\"string\",\"x-mcp-header\":\"A\"},\"n\":{\"type\":\"integer\",\"x-mcp-header\":"    \
    "\"N\"}}},\"outputSchema\":{\"type\":\"array\"}},{\"name\":\"k\",\"description\":\"d\","       \
    "\"inputSchema\":{\"type\":\"object\"},\"execution\":{\"taskSupport\":\"required\"}}]"
#define FUZZ_CAPABILITIES                                                                          \
    "\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,\"listChanged\":true},"    \
    "\"prompts\":{\"listChanged\":true},\"completions\":{},\"logging\":{}"

static const struct answer {
    enum mcp_era era; /* UNKNOWN = both */
    const char *method, *result;
} ANSWERS[] = {
    {MCP_ERA_LEGACY, "initialize",
     "{\"protocolVersion\":\"2025-11-25\",\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"},"
     "\"instructions\":\"be kind\",\"capabilities\":{" FUZZ_CAPABILITIES
     ",\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}}}"},
    {MCP_ERA_MODERN, "server/discover",
     "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"ttlMs\":0,"
     "\"cacheScope\":\"public\",\"capabilities\":{" FUZZ_CAPABILITIES
     ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"},
    {MCP_ERA_LEGACY, "ping", "{}"},
    {MCP_ERA_LEGACY, "logging/setLevel", "{}"},
    {MCP_ERA_LEGACY, "resources/subscribe", "{}"},
    {MCP_ERA_LEGACY, "resources/unsubscribe", "{}"},
    {MCP_ERA_UNKNOWN, "tools/list", FUZZ_TOOLS "}"},
    {MCP_ERA_UNKNOWN, "resources/list", "{\"resources\":[{\"uri\":\"x://one\",\"name\":\"one\"}]}"},
    {MCP_ERA_UNKNOWN, "resources/templates/list",
     "{\"resourceTemplates\":[{\"uriTemplate\":\"y://{id}/z\",\"name\":\"y\"}]}"},
    {MCP_ERA_UNKNOWN, "prompts/list", "{\"prompts\":[{\"name\":\"p\"}]}"},
};

struct peer {
    struct transport t;
    struct list_node node, said;
    enum mcp_era era;
    bool is_closing;
};

struct said {
    struct list_node node;
    size_t n;
    char text[];
};

static struct {
    struct list_node open; /* struct peer */
    struct {
        struct peer *peer;
        char id[32];
    } waiting[WAITING_MAX];
    size_t nwaiting;
} peers;

/* ---- the transport ---- */

static void peer_say(struct peer *p, str text)
{
    struct said *s = xcalloc(1, sizeof *s + text.n);
    s->n = text.n;
    if (text.n > 0)
        memcpy(s->text, text.p, text.n);
    list_push(&p->said, &s->node);
}

static const char *answer_to(const struct peer *p, str method)
{
    for (size_t i = 0; i < ARRAY_LEN(ANSWERS); i++) {
        bool is_its = ANSWERS[i].era == MCP_ERA_UNKNOWN || ANSWERS[i].era == p->era;
        if (is_its && str_eq(method, str_from(ANSWERS[i].method)))
            return ANSWERS[i].result;
    }
    return NULL;
}

static void take_request(struct peer *p, struct arena *a, const struct rpc_message *m)
{
    const char *result = answer_to(p, m->method);
    str id = json_to_str(a, m->id);
    bool is_probe = p->era == MCP_ERA_LEGACY && str_eq(m->method, STR("server/discover"));
    if (result) {
        peer_say(p, arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", STR_ARG(id),
                                 result));
    } else if (is_probe) {
        peer_say(p, arena_printf(a,
                                 "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32601,"
                                 "\"message\":\"no\"}}",
                                 STR_ARG(id)));
    } else if (peers.nwaiting < WAITING_MAX) {
        peers.waiting[peers.nwaiting].peer = p;
        snprintf(peers.waiting[peers.nwaiting++].id, 32, "%.*s", STR_ARG(id));
    }
}

static int peer_send(struct transport *t, const struct outgoing *out, struct err *e)
{
    struct peer *p = (struct peer *)t;
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    if (p->is_closing)
        return err_set(e, -EPIPE, "closed");
    arena_init(&a);
    assert(str_find_char(out->text, '\n') < 0);
    assert(rpc_parse(&a, out->text, &doc, NULL) == 0 && rpc_classify(doc, &m, NULL) == 0);
    assert(p->era == MCP_ERA_LEGACY || m.kind == RPC_REQUEST || m.kind == RPC_NOTIFICATION);
    if (m.kind == RPC_REQUEST)
        take_request(p, &a, &m);
    arena_done(&a);
    return 0;
}

static void peer_release(struct transport *t, int64_t id, bool was_answered) {}
static void peer_settle(struct transport *t, enum mcp_era era, str revision) {}

static void peer_close(struct transport *t)
{
    ((struct peer *)t)->is_closing = true;
}

static void peer_free(struct transport *t)
{
    struct peer *p = (struct peer *)t;
    struct list_node *n;
    size_t kept = 0;
    for (size_t i = 0; i < peers.nwaiting; i++) {
        if (peers.waiting[i].peer != p)
            peers.waiting[kept++] = peers.waiting[i];
    }
    peers.nwaiting = kept;
    while ((n = list_pop(&p->said)) != NULL)
        free(LIST_ENTRY(n, struct said, node));
    list_del(&p->node);
    free(p);
}

static int peer_pid(const struct transport *t)
{
    return 0;
}

struct transport *transport_stdio_open(struct loop *l, const struct mcp_dial *dial,
                                       const struct transport_events *ev, void *ctx, struct err *e)
{
    static const struct transport_ops OPS = {
        .is_ordered = true,
        .send = peer_send,
        .release = peer_release,
        .settle = peer_settle,
        .close = peer_close,
        .free = peer_free,
        .pid = peer_pid,
    };
    struct peer *p = xcalloc(1, sizeof *p);
    p->t = (struct transport){&OPS, ev, ctx};
    p->era = strcmp(dial->child.argv[0], "modern") == 0 ? MCP_ERA_MODERN : MCP_ERA_LEGACY;
    list_init(&p->said);
    list_push(&peers.open, &p->node);
    return &p->t;
}

/* ---- what happens next ---- */

static bool peers_step(void)
{
    LIST_FOREACH (n, &peers.open) {
        struct peer *p = LIST_ENTRY(n, struct peer, node);
        struct list_node *first = list_pop(&p->said);
        if (first) {
            struct said *s = LIST_ENTRY(first, struct said, node);
            p->t.ev->message(p->t.ctx, 0, str_make(s->text, s->n));
            free(s);
            return true;
        }
        if (p->is_closing) {
            p->is_closing = false;
            p->t.ev->closed(p->t.ctx, &(struct err){0});
            return true;
        }
    }
    return false;
}

static struct peer *peers_nth(unsigned n)
{
    LIST_FOREACH (it, &peers.open) {
        if (n-- == 0)
            return LIST_ENTRY(it, struct peer, node);
    }
    return NULL;
}

static void peers_say(unsigned n, str text)
{
    struct peer *p = peers_nth(n);
    if (p)
        peer_say(p, text);
}

static void peers_lose(unsigned n)
{
    struct peer *p = peers_nth(n);
    if (p)
        p->t.ev->closed(p->t.ctx, &(struct err){.code = -ECONNRESET, .msg = "lost"});
}

/* The rest of a message, after its id, as the answer to the request that waits longest. */
static void peers_answer(str rest)
{
    if (peers.nwaiting == 0)
        return;
    struct arena a;
    arena_init(&a);
    struct peer *p = peers.waiting[0].peer;
    str text =
        arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"id\":%s,%.*s", peers.waiting[0].id, STR_ARG(rest));
    memmove(&peers.waiting[0], &peers.waiting[1], --peers.nwaiting * sizeof peers.waiting[0]);
    peer_say(p, text);
    arena_done(&a);
}

/* ---- bundles ---- */

struct bundle {
    struct loop *loop;
    struct bundle_entry entry;
    enum mcp_era era;
    struct mcp_host host;
    struct connections *connections; /* that everybody shares; opened when first needed */
    const struct json *capabilities;
    const struct json *tools[2];
};

struct bundles {
    struct bundle items[2];
    size_t n;
};

static struct mcp_dial bundle_dial(const struct bundle *b)
{
    static const char *const ARGV[][2] = {{"legacy", NULL}, {"modern", NULL}};
    return (struct mcp_dial){.wire = MCP_WIRE_STDIO,
                             .child.argv = ARGV[b->era == MCP_ERA_MODERN],
                             .era = MCP_ERA_UNKNOWN};
}

static void on_bundle_ready(void *ctx) {}

static void on_bundle_closed(void *ctx, const struct err *e)
{
    ((struct bundle *)ctx)->connections = NULL;
}

struct bundle_call *bundle_request(struct bundle *b, const struct mcp_request *req,
                                   const struct mcp_call_events *ev, void *ctx)
{
    static const struct mcp_client_events EVENTS = {on_bundle_ready, on_bundle_closed};
    struct mcp_dial dial = bundle_dial(b);
    if (!b->connections)
        b->connections = connections_open(b->loop, NULL, &dial, &b->host, &EVENTS, b);
    return (struct bundle_call *)connections_request(b->connections, req, ev, ctx);
}

struct bundle_call *bundle_request_for(struct bundle *b, str person, const struct mcp_request *req,
                                       const struct mcp_call_events *ev, void *ctx)
{
    return bundle_request(b, req, ev, ctx);
}

struct bundle_call *bundle_request_as(struct bundle *b, str person, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    return bundle_request(b, req, ev, ctx);
}

bool bundle_is_per_person(const struct bundle *b)
{
    return false;
}

void bundle_cancel(struct bundle_call *c, const char *reason)
{
    connections_cancel((struct connections_call *)c, reason);
}

struct connections *bundle_connect(struct bundle *b, const struct mcp_host *host,
                                   const struct mcp_client_events *ev, void *ctx)
{
    struct mcp_dial dial = bundle_dial(b);
    return connections_open(b->loop, NULL, &dial, host, ev, ctx);
}

void bundle_disconnect(struct bundle *b, struct connections *p)
{
    connections_abort(p);
}

const struct bundle_entry *bundle_entry(const struct bundle *b)
{
    return &b->entry;
}

const struct json *bundle_server_capabilities(const struct bundle *b)
{
    return b->capabilities;
}

str bundle_instructions(const struct bundle *b)
{
    return STR("be kind");
}

enum mcp_era bundle_era(const struct bundle *b)
{
    return b->era;
}

const struct json *const *bundle_tools(const struct bundle *b, size_t *ret_n)
{
    *ret_n = ARRAY_LEN(b->tools);
    return b->tools;
}

const struct bundle_info *bundle_info(struct bundle *b)
{
    static struct bundle_info info;
    info = (struct bundle_info){.name = b->entry.server_name, .state = BUNDLE_RUNNING};
    return &info;
}

bool bundle_is_waiting(const struct bundle *b)
{
    return false;
}

const char *bundle_state_name(enum bundle_state s)
{
    return "running";
}

str bundle_failure(struct bundle *b, struct arena *a, const struct err *err)
{
    return STR("The server did not answer.");
}

size_t bundles_count(const struct bundles *s)
{
    return s->n;
}

struct bundle *bundles_at(const struct bundles *s, size_t i)
{
    return (struct bundle *)&s->items[i];
}

struct bundle *bundles_find(const struct bundles *s, str name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (str_eq(s->items[i].entry.server_name, name))
            return bundles_at(s, i);
    }
    return NULL;
}
