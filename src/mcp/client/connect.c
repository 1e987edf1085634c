/* connect.c - detection of the era and the transport, and the handshake.
 *
 *   server/discover --result, or an error of the modern era------> READY (modern)
 *         |
 *         +-- access denied, or no connection --> failure
 *         +-- any other answer, or silence (patience timer)
 *         v
 *    initialize --result--> notifications/initialized --accepted-> READY (legacy)
 *         |
 *         +-- HTTP 400, 404, 405 --> oldest transport, initialize again
 *         +-- JSON-RPC error, era known from earlier --> server/discover
 *         +-- anything else --> failure
 *
 * A child that starts slowly may answer both requests. If it refuses the handshake, its answer to
 * server/discover counts (is_discovered). If it accepts both, it may have entered a session of the
 * legacy era: server/discover is sent again, and only a second result makes the connection modern.
 * Otherwise the kept result of the handshake counts (handshake). So the speed of the machine does
 * not decide the era. Some old servers exit when their first message is unknown: these are started
 * a second time with the handshake as first message (has_respawned). */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "mcp/client/client_impl.h"

#define STDIO_TIMEOUT_MS  (30 * 1000u)
#define HTTP_TIMEOUT_MS   (15 * 1000u)
#define STDIO_PATIENCE_MS 2500 /* or a twelfth of the time to connect */
#define HTTP_PATIENCE_MS  5000
#define VERSION_TRIES_MAX 3

static void send_discover(struct mcp_client *c);
static void send_initialize(struct mcp_client *c);
static void take_handshake(struct mcp_client *c, const struct json *result);

static uint64_t connect_ms(const struct mcp_client *c)
{
    if (c->dial.connect_timeout_ms > 0)
        return c->dial.connect_timeout_ms;
    return c->dial.wire == MCP_WIRE_STDIO ? STDIO_TIMEOUT_MS : HTTP_TIMEOUT_MS;
}

/* How long the probe may be unanswered before the older handshake is tried. */
static uint64_t patience_ms(const struct mcp_client *c)
{
    uint64_t share = connect_ms(c) / 12;
    if (c->transport->ops->is_http)
        return HTTP_PATIENCE_MS;
    return share > STDIO_PATIENCE_MS ? share : STDIO_PATIENCE_MS;
}

static void connect_fail(struct mcp_client *c, int code, const char *what,
                         const struct mcp_reply *r)
{
    struct err e;
    if (r && r->error)
        err_set(&e, code, "%s: %.*s (error %lld)", what,
                STR_ARG(json_get_string(r->error, "message")),
                (long long)json_get_int(r->error, "code", 0));
    else if (r && r->err)
        err_set(&e, r->err->code, "%s: %s", what, r->err->msg);
    else
        err_set(&e, code, "%s", what);
    client_fail(c, &e);
}

/* ---- facts about the server ---- */

/* After a renewed session with the same facts, pointers that callers hold stay valid. */
static bool are_facts_known(const struct mcp_client *c, const struct json *result,
                            const struct json *info)
{
    return c->server_capabilities && c->server_info && info &&
           json_equal(c->server_capabilities, json_get(result, "capabilities")) &&
           json_equal(c->server_info, info) &&
           str_eq(c->instructions, json_get_string(result, "instructions"));
}

static void take_facts(struct mcp_client *c, const struct json *result, const struct json *info)
{
    if (are_facts_known(c, result, info))
        return;
    arena_reset(&c->facts);
    const struct json *capabilities = json_get(result, "capabilities");
    c->server_capabilities = json_is(capabilities, JSON_OBJECT)
                                 ? json_clone(&c->facts, capabilities)
                                 : json_new(&c->facts, JSON_OBJECT);
    c->server_info = json_is(info, JSON_OBJECT) ? json_clone(&c->facts, info) : NULL;
    c->instructions = arena_str(&c->facts, json_get_string(result, "instructions"));
}

static void settle_era(struct mcp_client *c, enum mcp_era era, str version)
{
    assert(c->transport && era != MCP_ERA_UNKNOWN);
    c->era = era;
    if (!str_eq(c->version, version))
        c->version = arena_str(&c->mem, version);
    if (c->transport->ops->settle)
        c->transport->ops->settle(c->transport, era, c->version);
}

/* ---- the stateless era ---- */

static void become_modern(struct mcp_client *c)
{
    assert(c->state == CLIENT_CONNECTING);
    exchange_drop(&c->connect.initialize); /* its answer no longer matters */
    settle_era(c, MCP_ERA_MODERN, STR(MCP_REVISION_MODERN));
    client_ready(c);
}

static bool supports_modern(const struct json *result)
{
    return json_has_string(json_get(result, "supportedVersions"), STR(MCP_REVISION_MODERN));
}

static void take_discovered(struct mcp_client *c, const struct json *result)
{
    if (!supports_modern(result)) {
        send_initialize(c);
        return;
    }
    take_facts(c, result, json_get(json_get(result, "_meta"), META_SERVER_INFO));
    if (c->connect.initialize.id != 0) /* too late: the handshake decides first */
        c->connect.is_discovered = true;
    else
        become_modern(c);
}

/* The server has no server/discover, but its refusal exists only in the modern era. */
static void assume_modern(struct mcp_client *c)
{
    struct json capabilities = JSON_ONE("tools", (struct json){.type = JSON_OBJECT});
    take_facts(c, &JSON_ONE("capabilities", capabilities), NULL);
    become_modern(c);
}

static void take_modern_error(struct mcp_client *c, const struct mcp_reply *r)
{
    const struct json *supported = json_get(json_get(r->error, "data"), "supported");
    if (json_get_int(r->error, "code", 0) != MCP_UNSUPPORTED_VERSION)
        connect_fail(c, -EPROTO, "the server refuses server/discover", r);
    else if (json_has_string(supported, STR(MCP_REVISION_MODERN)) &&
             ++c->connect.versions_tried < VERSION_TRIES_MAX)
        send_discover(c);
    else if (json_has_string(supported,
                             STR(MCP_REVISION_LEGACY))) /* both eras behind one endpoint */
        send_initialize(c);
    else
        connect_fail(c, -EPROTO, "nb and the server have no MCP protocol version in common", r);
}

/* The server would refuse every other protocol version as well. */
static bool is_denial(const struct err *err)
{
    return err->code == -EACCES || err->code == -EKEYREJECTED;
}

/* The answer to the second server/discover, after the handshake succeeded too; NULL = none. */
static void choose_era(struct mcp_client *c, const struct json *discovered)
{
    assert(c->connect.handshake && c->connect.initialize.id == 0);
    if (discovered && supports_modern(discovered))
        take_discovered(c, discovered);
    else
        take_handshake(c, c->connect.handshake);
}

static void on_discovered(struct mcp_exchange *x, const struct mcp_reply *r)
{
    struct mcp_client *c = x->client;
    timer_stop(&c->connect.patience);
    if (c->connect.handshake) {
        choose_era(c, r->result);
        return;
    }
    if (r->result) {
        take_discovered(c, r->result);
        return;
    }
    if (c->connect.initialize.id != 0) /* the handshake has begun already, and decides */
        return;
    int64_t code = r->error ? json_get_int(r->error, "code", 0) : 0;
    if (r->error && protocol_is_modern_error(code))
        take_modern_error(c, r);
    else if (r->error && x->http_status == 404 && code == RPC_METHOD_NOT_FOUND)
        assume_modern(c);
    else if (r->err && (is_denial(r->err) || (x->http_status == 0 && code == 0)))
        connect_fail(c, r->err->code, "cannot connect", r);
    else
        send_initialize(c);
}

static void on_patience_over(void *ctx)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    /* Over stdio a late answer is still welcome: the child may only be slow to start. */
    if (c->transport->ops->is_http || c->connect.handshake)
        exchange_drop(&c->connect.discover);
    if (c->connect.handshake)
        choose_era(c, NULL);
    else
        send_initialize(c);
    client_leave(c);
}

static void send_discover(struct mcp_client *c)
{
    c->connect.has_probed = true;
    struct exchange_spec s = {
        .message = {.method = STR("server/discover"), .era = MCP_ERA_MODERN},
        .timeout_ms = connect_ms(c),
        .deadline_ms = clock_mono_ms() + connect_ms(c),
    };
    exchange_send(&c->connect.discover, &s);
    timer_start(&c->connect.patience, patience_ms(c));
}

/* ---- the handshake ---- */

static void to_oldest_transport(struct mcp_client *c, const struct mcp_reply *r)
{
    assert(!c->connect.is_sse && c->transport->ops->is_http); /* there is no older one */
    c->connect.is_sse = true;
    err_set(&c->connect.before_sse, -EPROTO, "%.*s",
            STR_ARG(r->err ? str_from(r->err->msg) : json_get_string(r->error, "message")));
    exchange_drop(&c->connect.discover);
    c->transport->ops->free(c->transport);
    c->transport = transport_sse_open(c->loop, c->fetcher, &c->dial, &CLIENT_TRANSPORT_EVENTS, c);
    send_initialize(c);
}

static void take_handshake(struct mcp_client *c, const struct json *result)
{
    str version = json_get_string(result, "protocolVersion");
    if (protocol_era(version) != MCP_ERA_LEGACY) {
        struct err e;
        err_set(&e, -EPROTO,
                "the server uses the MCP protocol version \"%.*s\", which nb does not support",
                STR_ARG(str_slice(version, 0, 64)));
        client_fail(c, &e);
        return;
    }
    timer_stop(&c->connect.patience);
    exchange_drop(&c->connect.discover);
    take_facts(c, result, json_get(result, "serverInfo"));
    settle_era(c, MCP_ERA_LEGACY, version);
    buf_recycle(&c->out, RPC_SPARE_BYTES);
    rpc_write_notification(&c->out, STR("notifications/initialized"), NULL);
    struct err e;
    struct outgoing m = {.text = buf_str(&c->out),
                         .id = OUTGOING_INITIALIZED,
                         .era = MCP_ERA_LEGACY,
                         .method = STR("notifications/initialized")};
    if (client_send(c, &m, &e) < 0)
        client_fail(c, &e);
    else if (c->transport->ops->is_ordered) /* over HTTP `accepted` follows */
        connect_accepted(c);
}

static bool may_be_older(const struct mcp_client *c, int status)
{
    return c->dial.wire == MCP_WIRE_HTTP && !c->connect.is_sse &&
           (status == 400 || status == 404 || status == 405);
}

static void on_handshake(struct mcp_exchange *x, const struct mcp_reply *r)
{
    struct mcp_client *c = x->client;
    if (r->result && c->connect.is_discovered && !c->connect.is_renewing) {
        c->connect.handshake = json_clone(&c->mem, r->result);
        send_discover(c);
    } else if (r->result)
        take_handshake(c, r->result);
    else if (c->connect.is_renewing)
        connect_fail(c, -EPROTO, "the server refuses a new session", r);
    else if (c->connect.is_discovered)
        become_modern(c);
    /* The era was known from an earlier connection, and the server has been upgraded since. */
    else if (!c->connect.has_probed && !c->connect.is_sse && r->error)
        send_discover(c);
    else if (may_be_older(c, x->http_status))
        to_oldest_transport(c, r);
    else
        connect_fail(c, -EPROTO, "the server refuses the handshake", r);
}

static void send_initialize(struct mcp_client *c)
{
    if (c->connect.initialize.id != 0) /* the patience timer and an answer can both lead here */
        return;
    struct arena a;
    arena_init(&a);
    struct json *params = json_new(&a, JSON_OBJECT);
    json_set(&a, params, STR("protocolVersion"), json_of_str(STR(MCP_REVISION_LEGACY)));
    json_set(&a, params, STR("capabilities"),
             c->host.capabilities ? *c->host.capabilities : *json_new(&a, JSON_OBJECT));
    struct json *info = json_set(&a, params, STR("clientInfo"), *json_new(&a, JSON_OBJECT));
    json_set(&a, info, STR("name"), json_of_str(STR("nb")));
    json_set(&a, info, STR("version"), json_of_str(STR(NB_VERSION)));
    struct exchange_spec s = {
        .message = {.method = STR("initialize"), .params = params, .era = MCP_ERA_LEGACY},
        .timeout_ms = connect_ms(c),
        .deadline_ms = clock_mono_ms() + connect_ms(c),
    };
    exchange_send(&c->connect.initialize, &s);
    arena_done(&a);
}

void connect_accepted(struct mcp_client *c)
{
    if (c->state == CLIENT_CONNECTING)
        client_ready(c);
    else if (c->connect.is_renewing)
        c->transport->ev->gap(c); /* notifications between the two sessions are lost */
    c->connect.is_renewing = false;
}

/* The server has forgotten the session: begin a new one without closing the connection. */
void connect_renew(struct mcp_client *c)
{
    if (c->state != CLIENT_READY || c->connect.is_renewing)
        return;
    c->connect.is_renewing = true;
    c->log_level = -1; /* the new session has the default level */
    send_initialize(c);
}

/* ---- opening ---- */

static struct transport *open_transport(struct mcp_client *c, struct err *e)
{
    const struct transport_events *ev = &CLIENT_TRANSPORT_EVENTS;
    if (c->dial.wire == MCP_WIRE_STDIO)
        return transport_stdio_open(c->loop, &c->dial, ev, c, e);
    return c->dial.wire == MCP_WIRE_SSE ? transport_sse_open(c->loop, c->fetcher, &c->dial, ev, c)
                                        : transport_http_open(c->loop, c->fetcher, &c->dial, ev, c);
}

static void connect_start(struct mcp_client *c)
{
    struct err e = {0};
    assert(!c->transport);
    if (c->state == CLIENT_CLOSING) {
        client_fail(c, &e);
        return;
    }
    c->transport = open_transport(c, &e);
    if (!c->transport) {
        client_fail(c, &e);
        return;
    }
    timer_start(&c->connect.deadline, connect_ms(c));
    c->connect.is_sse = c->dial.wire == MCP_WIRE_SSE;
    if (c->connect.is_sse || c->dial.era == MCP_ERA_LEGACY)
        send_initialize(c);
    else
        send_discover(c);
}

static void on_start(void *ctx)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    connect_start(c);
    client_leave(c);
}

static void on_deadline(void *ctx)
{
    struct mcp_client *c = ctx;
    client_enter(c);
    struct err e;
    err_set(&e, -ETIMEDOUT, "the server did not answer the first request within %.3g s",
            (double)connect_ms(c) / 1000);
    client_fail(c, &e);
    client_leave(c);
}

void connect_init(struct mcp_client *c)
{
    struct connect *k = &c->connect;
    exchange_init(&k->discover, c, on_discovered);
    exchange_init(&k->initialize, c, on_handshake);
    timer_init(&k->deadline, c->loop, on_deadline, c);
    timer_init(&k->patience, c->loop, on_patience_over, c);
    defer_init(&k->start, on_start, c);
    defer_start(c->loop, &k->start);
}

void connect_stop(struct mcp_client *c)
{
    timer_stop(&c->connect.deadline);
    timer_stop(&c->connect.patience);
    defer_stop(&c->connect.start);
    exchange_drop(&c->connect.discover);
    exchange_drop(&c->connect.initialize);
}

bool connect_again(struct mcp_client *c, const struct err *e)
{
    struct connect *k = &c->connect;
    assert(c->state == CLIENT_CONNECTING && c->transport);
    bool is_over_probe = c->dial.wire == MCP_WIRE_STDIO && k->has_probed && !k->has_respawned;
    if (!is_over_probe) {
        if (k->is_sse && k->before_sse.code != 0) {
            struct err both = *e;
            err_prefix(&both, "%s; and with the older HTTP+SSE transport", k->before_sse.msg);
            client_fail(c, &both);
            return true;
        }
        return false;
    }
    k->has_respawned = true;
    timer_stop(&k->patience);
    exchange_drop(&k->discover);
    exchange_drop(&k->initialize);
    c->transport->ops->free(c->transport);
    struct err spawn;
    c->transport = transport_stdio_open(c->loop, &c->dial, &CLIENT_TRANSPORT_EVENTS, c, &spawn);
    if (!c->transport)
        client_fail(c, &spawn);
    else
        send_initialize(c);
    return true;
}
