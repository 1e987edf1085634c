/* The MCP gateway between clients and servers that say anything. An input is a script, a line for
 * each step:
 *
 *   P PATH<tab>HEADER: VALUE<tab>...<tab><tab>BODY   a POST with the headers most clients send
 *   M PATH<tab>...<tab><tab>BODY    the same, and the headers that repeat what the body says
 *   G, D PATH<tab>HEADER...         GET, DELETE
 *   X n                             the client of the nth connection goes away
 *   L LINE, l                       a line on a pipe; the pipe is closed
 *   A REST                          the server's answer to what it was asked first: "result":{...}}
 *   U n TEXT, K n                   the nth connection to a server says this; is lost
 *   C n, N PARAMS                   news of a bundle; a resource was updated
 *   V, B                            a person loses access; a bundle is removed
 *
 * %S, %R, %E, %T and %I stand for the last session, requestState, event and task that a client
 * was told, and for the id of what a server was asked first. Whatever is said on either side, what
 * comes out on the other are valid messages, and in the end nothing is left. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "../support/gateway_peers.h"
#include "base/bytes/random.h"
#include "gateway/gateway.h"

enum {
    CONNS_MAX = 16,
    STEPS_MAX = 64,
    INPUT_MAX = 64 * 1024,
    TURNS = 3,
    TURNS_MAX = 200,
    NAME_LEN = 160
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

struct client {
    int fd; /* -1: gone */
    struct buf got;
    size_t seen;
};

static struct {
    struct loop *loop;
    struct http_server *server;
    struct sockaddr_un addr;
    struct registry *tools;
    struct bundles bundles;
    struct arena arena;
    /* of one input: */
    struct gateway *g;
    struct gateway_pipe *pipe;
    struct client clients[CONNS_MAX];
    size_t nclients;
    char told[4][NAME_LEN]; /* S R E T */
    uint64_t random;
} rig;

/* ---- the same ids for the same input ---- */

void random_bytes(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rig.random = rig.random * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)p)[i] = (uint8_t)(rig.random >> 56);
    }
}

uint64_t random_u64(void)
{
    uint64_t v;
    random_bytes(&v, sizeof v);
    return v;
}

void random_id(const char *prefix, char out[RANDOM_ID_MAX])
{
    snprintf(out, RANDOM_ID_MAX, "%.14s_%016llx", prefix, (unsigned long long)random_u64());
}

/* ---- tools ---- */

struct own_call {
    struct tool_call call;
    struct deferred later;
};

static void on_own_call(void *ctx)
{
    struct own_call *c = ctx;
    struct tool_result r = {0};
    tool_call_answer(&c->call, &r);
}

static void call_own(void *self, struct tool_call *call)
{
    struct own_call *c = CONTAINER_OF(call, struct own_call, call);
    tool_call_progress(call, 1, 2, STR("half"));
    defer_init(&c->later, on_own_call, c);
    defer_start(rig.loop, &c->later);
}

static void cancel_own(void *self, struct tool_call *call)
{
    defer_stop(&CONTAINER_OF(call, struct own_call, call)->later);
}

static const struct tool *list_tools(void *self, size_t *ret_n)
{
    static struct tool tools[2];
    const struct bundle *b = &rig.bundles.items[0];
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        tools[i] = (struct tool){.name = json_get_string(b->tools[i], "name"),
                                 .description = STR("d"),
                                 .input_schema = json_get(b->tools[i], "inputSchema")};
    *ret_n = ARRAY_LEN(tools);
    return tools;
}

/* ---- the server side of HTTP ---- */

/* The caller frees the actor. */
static struct gateway_caller caller(str user)
{
    str id = user.n > 0 ? user : STR("ann");
    return (struct gateway_caller){
        .tools = rig.tools,
        .bundles = &rig.bundles,
        .workspace_id = STR("ws"),
        .actor = actor_new_operator(NULL, STR("ws"), id),
    };
}

static void on_request(void *ctx, struct http_req *r)
{
    struct gateway_caller who = caller(http_get_header(r, "x-user"));
    str path = r->path;
    if (str_eq(path, STR("/sse")))
        gateway_sse_open(rig.g, r, &who);
    else if (str_eq(path, STR("/sse/message")))
        gateway_sse_post(rig.g, r, &who);
    else if (str_starts(path, STR("/mcp/")))
        gateway_handle(rig.g, r, &who, str_skip(path, 5));
    else
        gateway_handle(rig.g, r, &who, STR_NONE);
    actor_unref(who.actor);
}

static void set_up_bundle(struct bundle *b, str name, enum mcp_era era)
{
    struct json *list;
    b->loop = rig.loop;
    b->era = era;
    b->entry.server_name = name;
    (void)json_parse(&rig.arena,
                     STR("{" FUZZ_CAPABILITIES ",\"tasks\":{\"list\":{}},\"extensions\":{"
                         "\"io.modelcontextprotocol/tasks\":{}}}"),
                     0, (struct json **)&b->capabilities, NULL);
    (void)json_parse(&rig.arena, STR(FUZZ_TOOLS "}"), 0, &list, NULL);
    for (uint32_t i = 0; i < ARRAY_LEN(b->tools); i++)
        b->tools[i] = json_at(json_get(list, "tools"), i);
}

static void set_up(void)
{
#define SOURCE(called)                                                                             \
    {                                                                                              \
        .name = called, .list = list_tools, .start = call_own, .cancel = cancel_own,               \
        .call_size = sizeof(struct own_call)                                                       \
    }
    static const struct tool_source SOURCES[] = {SOURCE("old"), SOURCE("new"), SOURCE("nb")};
    struct http_handlers h = {.on_request = on_request};
    struct err e;
    signal(SIGPIPE, SIG_IGN);
    list_init(&peers.open);
    arena_init(&rig.arena);
    rig.loop = loop_new(NULL);
    rig.server = http_server_new(rig.loop, NULL, &h);
    rig.addr.sun_family = AF_UNIX;
    (void)snprintf(rig.addr.sun_path, sizeof rig.addr.sun_path, "/tmp/nb-fuzz-gw-%d.sock",
                   getpid());
    assert(http_listen_unix(rig.server, rig.addr.sun_path, &e) == 0);
    rig.bundles.n = 2;
    set_up_bundle(&rig.bundles.items[0], STR("new"), MCP_ERA_MODERN);
    set_up_bundle(&rig.bundles.items[1], STR("old"), MCP_ERA_LEGACY);
    rig.tools = registry_new(rig.loop);
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++)
        assert(registry_add_source(rig.tools, &SOURCES[i], &e) == 0);
}

/* ---- clients ---- */

static void check_message(str text)
{
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    arena_init(&a);
    assert(rpc_parse(&a, text, &doc, NULL) == 0 && rpc_classify(doc, &m, NULL) == 0);
    arena_done(&a);
}

static void on_pipe(void *ctx, str message)
{
    assert(str_find_char(message, '\n') < 0);
    check_message(message);
}

static void remember(char *to, str line, const char *before, const char *end)
{
    ptrdiff_t at = str_find(line, str_from(before), 0);
    if (at < 0)
        return;
    str v = str_skip(line, (size_t)at + strlen(before));
    size_t n = 0;
    while (n < v.n && n < NAME_LEN - 1 && !strchr(end, v.p[n]))
        n++;
    snprintf(to, NAME_LEN, "%.*s", (int)n, v.p);
}

static void take_line(str line)
{
    if (str_starts(line, STR("data: {")))
        check_message(str_skip(line, 6));
    else if (str_starts(line, STR("{\"jsonrpc")))
        check_message(line);
    remember(rig.told[0], line, "Mcp-Session-Id: ", "\r");
    remember(rig.told[0], line, "/sse/message?session=", "&");
    remember(rig.told[1], line, "\"requestState\":\"", "\"");
    if (str_starts(line, STR("id: ")))
        remember(rig.told[2], line, "id: ", "\r");
    remember(rig.told[3], line, "\"taskId\":\"", "\"");
}

static void receive(struct client *c)
{
    for (;;) {
        assert(buf_reserve(&c->got, 65536) == 0);
        ssize_t n = recv(c->fd, c->got.p + c->got.n, 65536, MSG_DONTWAIT);
        if (n <= 0)
            break;
        c->got.n += (size_t)n;
    }
    str rest = str_skip(buf_str(&c->got), c->seen), line;
    bool has_body = false;
    while (str_find_char(rest, '\n') >= 0 && str_split(&rest, '\n', &line)) {
        take_line(line);
        c->seen += line.n + 1;
        has_body = true;
    }
    if (has_body && rest.n > 0 && rest.p[0] == '{') /* an answer without a line end */
        take_line(rest);
}

static void turn(void)
{
    for (int i = 0; i < TURNS; i++) {
        while (peers_step())
            ;
        uv_run(loop_uv(rig.loop), UV_RUN_NOWAIT);
    }
    for (size_t i = 0; i < rig.nclients; i++) {
        if (rig.clients[i].fd >= 0)
            receive(&rig.clients[i]);
    }
}

static void leave(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void talk(str request)
{
    if (rig.nclients == CONNS_MAX)
        return;
    struct client *c = &rig.clients[rig.nclients++];
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    c->seen = 0;
    buf_init(&c->got, 64u << 20);
    assert(connect(c->fd, (struct sockaddr *)&rig.addr, sizeof rig.addr) == 0);
    ssize_t n = send(c->fd, request.p, request.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n;
}

/* ---- steps ---- */

/* Repeats a part of the body, as the stateless era requires. */
static void repeat_in_headers(struct buf *b, str body)
{
    static const char *const MEMBERS[] = {"name", "uri", "taskId"};
    struct arena a;
    struct json *doc;
    arena_init(&a);
    buf_add_lit(b, "MCP-Protocol-Version: 2026-07-28\r\n");
    if (json_parse(&a, body, JSON_COPY, &doc, NULL) == 0) {
        const struct json *params = json_get(doc, "params");
        buf_printf(b, "Mcp-Method: %.*s\r\n", STR_ARG(json_get_string(doc, "method")));
        for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
            str name = json_get_string(params, MEMBERS[i]);
            if (name.n > 0)
                buf_printf(b, "Mcp-Name: %.*s\r\n", STR_ARG(name));
        }
        str a_value = json_get_string(json_get(params, "arguments"), "a");
        if (a_value.n > 0)
            buf_printf(b, "Mcp-Param-A: %.*s\r\n", STR_ARG(a_value));
    }
    arena_done(&a);
}

static void request(char kind, str rest)
{
    static const char *const METHODS[] = {
        ['P'] = "POST", ['M'] = "POST", ['G'] = "GET", ['D'] = "DELETE"};
    struct buf b, head;
    str field = STR_NONE;
    buf_init(&b, 1u << 20);
    buf_init(&head, 1u << 20);
    (void)str_split(&rest, '\t', &field);
    buf_printf(&b, "%s %.*s HTTP/1.1\r\nHost: a\r\nAccept: application/json, text/event-stream\r\n",
               METHODS[(unsigned char)kind], STR_ARG(field));
    while (str_split(&rest, '\t', &field) && field.n > 0)
        buf_printf(&head, "%.*s\r\n", STR_ARG(field));
    bool is_post = kind == 'P' || kind == 'M';
    if (kind == 'M')
        repeat_in_headers(&b, rest);
    buf_add_str(&b, buf_str(&head));
    if (is_post)
        buf_printf(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", rest.n);
    else
        buf_add_lit(&b, "\r\n");
    if (is_post)
        buf_add_str(&b, rest);
    talk(buf_str(&b));
    buf_done(&head);
    buf_done(&b);
}

static void remove_bundle(void)
{
    if (rig.bundles.n < 2)
        return;
    struct bundle *b = &rig.bundles.items[1];
    gateway_bundle_changed(rig.g, rig.tools, b, BUNDLE_REMOVED);
    rig.bundles.n = 1;
    if (b->connections)
        connections_abort(b->connections);
    b->connections = NULL;
}

static void update_resource(str params)
{
    struct arena a;
    struct json *doc;
    arena_init(&a);
    if (json_parse(&a, params, JSON_COPY, &doc, NULL) == 0)
        gateway_bundle_notified(rig.g, rig.tools, &rig.bundles.items[0],
                                STR("notifications/resources/updated"), doc);
    arena_done(&a);
}

static void pipe_line(str line)
{
    struct gateway_caller who = caller(STR_NONE);
    if (!rig.pipe)
        rig.pipe = gateway_pipe_open(rig.g, &who, STR_NONE, on_pipe, NULL);
    actor_unref(who.actor);
    gateway_pipe_line(rig.pipe, line);
}

static void close_pipe(void)
{
    if (rig.pipe)
        gateway_pipe_close(rig.pipe);
    rig.pipe = NULL;
}

static void step(str line)
{
    char kind = line.p[0];
    str rest = str_trim(str_skip(line, 1));
    unsigned n =
        rest.n > 0 && rest.p[0] >= '0' && rest.p[0] <= '9' ? (unsigned)(rest.p[0] - '0') : 0;
    if (strchr("PMGD", kind))
        request(kind, rest);
    else if (kind == 'X' && n < rig.nclients)
        leave(&rig.clients[n]);
    else if (kind == 'L')
        pipe_line(rest);
    else if (kind == 'l')
        close_pipe();
    else if (kind == 'A')
        peers_answer(rest);
    else if (kind == 'U')
        peers_say(n, str_skip(rest, 1));
    else if (kind == 'K')
        peers_lose(n);
    else if (kind == 'C')
        gateway_bundle_changed(rig.g, rig.tools, &rig.bundles.items[0],
                               (enum bundle_change)(n % BUNDLE_REMOVED));
    else if (kind == 'N')
        update_resource(rest);
    else if (kind == 'V')
        gateway_drop_user(rig.g, STR_NONE, STR("ann"));
    else if (kind == 'B')
        remove_bundle();
}

static void fill_in(struct buf *out, str line)
{
    static const char NAMES[] = "SRET";
    for (size_t i = 0; i < line.n; i++) {
        const char *name = line.p[i] == '%' && i + 1 < line.n && line.p[i + 1]
                               ? strchr("SRETI", line.p[i + 1])
                               : NULL;
        if (!name) {
            buf_add_char(out, line.p[i]);
            continue;
        }
        i++;
        if (*name == 'I')
            buf_add_str(out, peers.nwaiting ? str_from(peers.waiting[0].id) : STR("0"));
        else
            buf_add_str(out, str_from(rig.told[strchr(NAMES, *name) - NAMES]));
    }
}

/* ---- one input ---- */

static void begin(void)
{
    struct gateway_deps deps = {.loop = rig.loop, .limits.sessions = 4};
    rig.random = 1;
    rig.nclients = 0;
    rig.bundles.n = 2;
    memset(rig.told, 0, sizeof rig.told);
    rig.g = gateway_new(&deps);
}

static void end(void)
{
    struct http_stats stats;
    for (size_t i = 0; i < rig.nclients; i++)
        leave(&rig.clients[i]);
    turn();
    close_pipe();
    gateway_free(rig.g);
    for (size_t i = 0; i < ARRAY_LEN(rig.bundles.items); i++) {
        if (rig.bundles.items[i].connections)
            connections_abort(rig.bundles.items[i].connections);
        rig.bundles.items[i].connections = NULL;
    }
    for (int i = 0; i < TURNS_MAX; i++) {
        turn();
        http_server_stats(rig.server, &stats);
        if (stats.conns == 0 && list_empty(&peers.open))
            break;
    }
    assert(stats.conns == 0 && list_empty(&peers.open) && peers.nwaiting == 0);
    for (size_t i = 0; i < rig.nclients; i++)
        buf_done(&rig.clients[i].got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    if (!rig.loop)
        set_up();
    str in = str_make((const char *)data, size), line;
    begin();
    for (int i = 0; i < STEPS_MAX && str_split(&in, '\n', &line); i++) {
        struct buf b;
        buf_init(&b, 1u << 20);
        fill_in(&b, line);
        if (b.n > 0)
            step(buf_str(&b));
        turn();
        buf_done(&b);
    }
    end();
    return 0;
}

/* ---- scripts that stay scripts ---- */

static size_t line_start(const uint8_t *data, size_t size, size_t at)
{
    while (at > 0 && at <= size && data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const uint8_t *data, size_t size, size_t at)
{
    while (at < size && data[at] != '\n')
        at++;
    return at < size ? at + 1 : size;
}

/* Half of the time one line is changed; else a line goes, or comes a second time elsewhere. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size == 0 || seed % 8 == 0)
        return LLVMFuzzerMutate(data, size, max);
    size_t from = line_start(data, size, (seed >> 3) % size);
    size_t to = line_end(data, size, from), n = to - from;
    if (seed % 8 < 5) {
        uint8_t line[INPUT_MAX];
        size_t room = max - size + n < sizeof line ? max - size + n : sizeof line;
        if (n > room)
            return size;
        memcpy(line, data + from, n);
        size_t changed = LLVMFuzzerMutate(line, n, room);
        memmove(data + from + changed, data + to, size - to);
        memcpy(data + from, line, changed);
        return size - n + changed;
    }
    if (seed % 8 == 5) {
        memmove(data + from, data + to, size - to);
        return size - n;
    }
    size_t at = line_start(data, size, (seed >> 13) % size);
    uint8_t copy[INPUT_MAX];
    if (size + n > max || n > sizeof copy)
        return size;
    memcpy(copy, data + from, n);
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, copy, n);
    return size + n;
}
