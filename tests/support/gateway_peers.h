/* gateway_peers.h - the servers behind the gateway, for its fuzzer and its unit tests: one of each
 * era.
 *
 * A transport of this file takes the place of pipes to child processes. Handshakes, pings and lists
 * are answered as a plain server would; every other request waits until the test answers it. At any
 * time a server can send anything (peer_say) or disappear (peers_lose). Each message to a server
 * must be one valid message. Bundles are these servers and nothing more: this file takes the place
 * of bundle/supervise/bundle.c.
 *
 * Unit tests set the hooks of `peers`; the fuzzer leaves them NULL. */
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

static const struct peer_answer {
    enum mcp_era era; /* UNKNOWN = both */
    const char *method, *result;
} PEER_ANSWERS[] = {
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

struct peer { /* a connection to a server */
    struct transport t;
    struct list_node node, said;
    enum mcp_era era;
    const char *name; /* of the bundle */
    bool is_closing;
};

struct peer_said {
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
    /* Every message that a server gets. True: the hook answers it, or lets it wait. */
    bool (*on_heard)(struct peer *p, const struct rpc_message *m);
    void (*on_freed)(struct peer *p);
} peers;

/* ---- the transport ---- */

static inline void peer_say(struct peer *p, str text)
{
    struct peer_said *s = xcalloc(1, sizeof *s + text.n);
    s->n = text.n;
    if (text.n > 0)
        memcpy(s->text, text.p, text.n);
    list_push(&p->said, &s->node);
}

static inline const char *peer_answer_to(const struct peer *p, str method)
{
    for (size_t i = 0; i < ARRAY_LEN(PEER_ANSWERS); i++) {
        bool is_its = PEER_ANSWERS[i].era == MCP_ERA_UNKNOWN || PEER_ANSWERS[i].era == p->era;
        if (is_its && str_eq(method, str_from(PEER_ANSWERS[i].method)))
            return PEER_ANSWERS[i].result;
    }
    return NULL;
}

static void take_request(struct peer *p, struct arena *a, const struct rpc_message *m)
{
    const char *result = peer_answer_to(p, m->method);
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
    bool is_taken = peers.on_heard && peers.on_heard(p, &m);
    if (m.kind == RPC_REQUEST && !is_taken)
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
    if (peers.on_freed)
        peers.on_freed(p);
    for (size_t i = 0; i < peers.nwaiting; i++) {
        if (peers.waiting[i].peer != p)
            peers.waiting[kept++] = peers.waiting[i];
    }
    peers.nwaiting = kept;
    while ((n = list_pop(&p->said)) != NULL)
        free(LIST_ENTRY(n, struct peer_said, node));
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
    p->name = strcmp(dial->child.argv[0], "modern") == 0 ? "new" : "old";
    list_init(&p->said);
    list_push(&peers.open, &p->node);
    return &p->t;
}

/* ---- what happens next ---- */

static inline bool peers_step(void)
{
    LIST_FOREACH (n, &peers.open) {
        struct peer *p = LIST_ENTRY(n, struct peer, node);
        struct list_node *first = list_pop(&p->said);
        if (first) {
            struct peer_said *s = LIST_ENTRY(first, struct peer_said, node);
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

static inline struct peer *peers_nth(unsigned n)
{
    LIST_FOREACH (it, &peers.open) {
        if (n-- == 0)
            return LIST_ENTRY(it, struct peer, node);
    }
    return NULL;
}

static inline void peers_say(unsigned n, str text)
{
    struct peer *p = peers_nth(n);
    if (p)
        peer_say(p, text);
}

static inline void peers_lose(unsigned n)
{
    struct peer *p = peers_nth(n);
    if (p)
        p->t.ev->closed(p->t.ctx, &(struct err){.code = -ECONNRESET, .msg = "lost"});
}

/* The rest of a message, after its id, as the answer to the request that waits longest. */
static inline void peers_answer(str rest)
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
    const struct json *capabilities; /* NULL: it has not started */
    const struct json *tools[2];
    bool is_without_tools, is_per_person, is_unreachable;
    char asked_as[64]; /* the person of the last bundle_request_for or bundle_request_as */
};

struct bundles {
    struct bundle items[2];
    size_t n;
};

static inline struct mcp_dial bundle_dial(const struct bundle *b)
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
    snprintf(b->asked_as, sizeof b->asked_as, "%.*s", STR_ARG(person));
    return bundle_request(b, req, ev, ctx);
}

struct bundle_call *bundle_request_as(struct bundle *b, str person, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    snprintf(b->asked_as, sizeof b->asked_as, "%.*s", STR_ARG(person));
    return bundle_request(b, req, ev, ctx);
}

bool bundle_is_per_person(const struct bundle *b)
{
    return b->is_per_person;
}

void bundle_cancel(struct bundle_call *c, const char *reason)
{
    mcp_cancel((struct mcp_call *)c, reason);
}

struct connections *bundle_connect(struct bundle *b, const struct mcp_host *host,
                                   const struct mcp_client_events *ev, void *ctx)
{
    struct mcp_dial dial = bundle_dial(b);
    if (b->is_unreachable)
        return NULL;
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
    return b->capabilities ? STR("be kind") : STR_NONE;
}

enum mcp_era bundle_era(const struct bundle *b)
{
    return b->era;
}

const struct json *const *bundle_tools(const struct bundle *b, size_t *ret_n)
{
    *ret_n = b->is_without_tools ? 0 : ARRAY_LEN(b->tools);
    return b->tools;
}

const struct json *bundle_find_tool(const struct bundle *b, str name)
{
    for (size_t i = 0; i < ARRAY_LEN(b->tools); i++)
        if (str_eq(json_get_string(b->tools[i], "name"), name))
            return b->tools[i];
    return NULL;
}

const struct bundle_info *bundle_info(struct bundle *b)
{
    static struct bundle_info info;
    info = (struct bundle_info){.name = b->entry.server_name,
                                .state = b->capabilities ? BUNDLE_RUNNING : BUNDLE_STARTING};
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
    return arena_printf(a, "%.*s did not answer", STR_ARG(b->entry.server_name));
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
