/* A connection to an MCP server that says anything, over any transport. An input is a script:
 *
 *   first line: "stdio", "http" or "sse", and "old", "new" or "odd": the era of the handshake that
 *   the server gets right without help (odd: none)
 *   R METHOD PARAMS      a request of ours
 *   c n, a RESULT, r     the nth is cancelled; a question is answered; is refused
 *   H n STATUS<tab>HEADER: VALUE...   the head of the nth answer that is under way
 *   D n BYTES            bytes of its body; '^' stands for a line end
 *   E n CODE             its end: 0, or an error
 *   O BYTES              a line of the child's output
 *   X, x                 we close; the child ends
 *
 * %I stands for the id of our last request. Every request is answered once or cancelled; what is
 * sent is a valid message under valid headers, and in the end nothing is left under way. */
#include <assert.h>
#include <errno.h>
#include <uv.h>

#include "base/list.h"
#include "mcp/client.h"
#include "mcp/transport/jsonrpc.h"

enum { STEPS_MAX = 64, CALLS_MAX = 16, TURNS = 3, INPUT_MAX = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fetch {
    struct list_node node;
    struct fetch_events ev;
    void *ctx;
    bool has_head, is_get;
    char id[32];     /* of the request in its body, or "" */
    char method[48]; /* of the same */
};

struct call {
    struct mcp_call *call;
    unsigned answers;
    bool is_cancelled;
};

static struct {
    struct loop *loop;
    struct list_node fetches;
    struct child *child;
    struct child_events child_ev;
    void *child_ctx;
    struct mcp_client *client;
    struct call calls[CALLS_MAX];
    size_t ncalls;
    struct mcp_ask *ask; /* the last one that is open */
    enum mcp_era era;    /* of the handshake; UNKNOWN = left to the input */
    char last_id[32];
    bool is_ready, is_closed;
} rig;

/* ---- what we send ---- */

static void look_at(str text, char id[32], char method[48])
{
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    arena_init(&a);
    assert(rpc_parse(&a, text, &doc, NULL) == 0 && rpc_classify(doc, &m, NULL) == 0);
    if (m.kind == RPC_REQUEST) {
        snprintf(id, 32, "%.*s", STR_ARG(json_to_str(&a, m.id)));
        memcpy(rig.last_id, id, sizeof rig.last_id);
    }
    snprintf(method, 48, "%.*s", (int)(m.method.n < 47 ? m.method.n : 47), m.method.p);
    arena_done(&a);
}

static void check_header(const struct fetch_header *h)
{
    assert(h->name.n > 0);
    for (size_t i = 0; i < h->name.n; i++)
        assert(h->name.p[i] > ' ' && h->name.p[i] != ':' && h->name.p[i] != 127);
    for (size_t i = 0; i < h->value.n; i++)
        assert((unsigned char)h->value.p[i] >= ' ' || h->value.p[i] == '\t');
}

static const char *answer_to(const char *method)
{
    if (rig.era == MCP_ERA_MODERN && strcmp(method, "server/discover") == 0)
        return "\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
               "\"capabilities\":{\"tools\":{\"listChanged\":true}}}}";
    if (rig.era == MCP_ERA_LEGACY && strcmp(method, "server/discover") == 0)
        return "\"error\":{\"code\":-32601,\"message\":\"no\"}}";
    if (rig.era == MCP_ERA_LEGACY && strcmp(method, "initialize") == 0)
        return "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{}},"
               "\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"}}}";
    return NULL;
}

/* ---- in place of net/fetch.c ---- */

struct fetch *fetch_start(struct fetcher *f, const struct fetch_spec *spec,
                          const struct fetch_events *ev, void *ctx)
{
    struct fetch *x = xcalloc(1, sizeof *x);
    x->ev = *ev;
    x->ctx = ctx;
    x->is_get = !spec->has_body;
    for (size_t i = 0; i < spec->nheaders; i++)
        check_header(&spec->headers[i]);
    assert(str_starts(spec->url, STR("http://a.b/")));
    if (spec->body.n > 0)
        look_at(spec->body, x->id, x->method);
    list_push(&rig.fetches, &x->node);
    return x;
}

void fetch_cancel(struct fetch *x)
{
    list_del(&x->node);
    free(x);
}

static struct fetch *fetch_nth(unsigned n)
{
    LIST_FOREACH (it, &rig.fetches) {
        if (n-- == 0)
            return LIST_ENTRY(it, struct fetch, node);
    }
    return NULL;
}

static bool is_open(const struct fetch *x)
{
    LIST_FOREACH (it, &rig.fetches) {
        if (LIST_ENTRY(it, struct fetch, node) == x)
            return true;
    }
    return false;
}

static void give_head(struct fetch *x, int status, str fields)
{
    struct fetch_header headers[16];
    size_t n = 0;
    str field, name;
    while (n < ARRAY_LEN(headers) && str_split(&fields, '\t', &field)) {
        if (!str_split(&field, ':', &name))
            continue;
        headers[n++] = (struct fetch_header){name, str_trim(field)};
    }
    x->has_head = true;
    x->ev.on_head(x->ctx, status, headers, n);
}

static void give_end(struct fetch *x, int code)
{
    struct err e = {.code = code, .msg = "end"};
    list_del(&x->node);
    x->ev.on_done(x->ctx, &e);
    free(x);
}

static void give_whole(struct fetch *x, int status, const char *type, str body)
{
    char field[64];
    snprintf(field, sizeof field, "content-type:%s", type);
    give_head(x, status, str_from(field));
    if (is_open(x) && body.n > 0)
        x->ev.on_data(x->ctx, body);
    if (is_open(x))
        give_end(x, 0);
}

/* ---- in place of net/child.c ---- */

int child_spawn(struct loop *l, const struct child_spec *spec, const struct child_events *ev,
                void *ctx, struct child **ret, struct err *e)
{
    rig.child_ev = *ev;
    rig.child_ctx = ctx;
    rig.child = *ret = (struct child *)&rig;
    return 0;
}

static void say_line(str line)
{
    if (rig.child)
        rig.child_ev.on_line(rig.child_ctx, line);
}

static struct deferred child_later;
static char child_answer[512];

static void on_child_later(void *ctx)
{
    say_line(str_from(child_answer));
}

int child_write(struct child *c, str bytes)
{
    str line;
    assert(bytes.n == 0 || bytes.p[bytes.n - 1] == '\n');
    while (bytes.n > 0 && str_split(&bytes, '\n', &line)) {
        char id[32] = "", method[48];
        look_at(line, id, method);
        const char *answer = answer_to(method);
        if (!answer)
            continue;
        snprintf(child_answer, sizeof child_answer, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s", id,
                 answer);
        defer_start(rig.loop, &child_later);
    }
    return 0;
}

void child_close_stdin(struct child *c) {}

static void end_child(void)
{
    struct child *c = rig.child;
    rig.child = NULL;
    if (c)
        rig.child_ev.on_exit(rig.child_ctx, 0);
}

static struct deferred child_end;

static void on_child_end(void *ctx)
{
    end_child();
}

void child_stop(struct child *c, uint64_t term_after_ms, uint64_t kill_after_ms)
{
    defer_start(rig.loop, &child_end);
}

void child_kill(struct child *c, int sig)
{
    child_stop(c, 0, 0);
}

int child_pid(const struct child *c)
{
    return 1;
}

/* ---- our side ---- */

static void on_ready(void *ctx)
{
    rig.is_ready = true;
}

static void on_closed(void *ctx, const struct err *e)
{
    rig.is_closed = true;
    rig.client = NULL;
}

static void on_ask(void *ctx, struct mcp_ask *a)
{
    if (rig.ask)
        mcp_ask_refuse(a, -32603, "one at a time");
    else
        rig.ask = a;
}

static void on_ask_gone(void *ctx, struct mcp_ask *a)
{
    if (rig.ask == a)
        rig.ask = NULL;
}

static void on_notified(void *ctx, str method, const struct json *params) {}
static void on_stderr(void *ctx, str bytes) {}

static void on_done(void *ctx, const struct mcp_reply *r)
{
    struct call *c = ctx;
    assert(!c->is_cancelled && c->answers++ == 0);
    assert((r->result != NULL) + (r->error != NULL) + (r->err != NULL) == 1);
}

static void on_news(void *ctx, const struct json *params) {}

/* Methods are ours, not the server's. */
static bool is_method(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '/' && !(s.p[i] >= 'a' && s.p[i] <= 'z'))
            return false;
    }
    return s.n > 0;
}

static void ask_server(str rest)
{
    static const struct mcp_call_events EVENTS = {
        .done = on_done, .progress = on_news, .logged = on_news};
    struct arena a;
    struct json *params = NULL;
    str method = STR_NONE;
    if (!rig.is_ready || rig.is_closed || rig.ncalls == CALLS_MAX ||
        !str_split(&rest, ' ', &method) || !is_method(method))
        return;
    arena_init(&a);
    bool has_params = json_parse(&a, rest, JSON_COPY, &params, NULL) == 0;
    struct call *c = &rig.calls[rig.ncalls++];
    struct mcp_request req = {
        .method = method,
        .params = has_params && params->type == JSON_OBJECT ? params : NULL,
        .wants_progress = true,
        .log_level = STR("info"),
        .is_raw = rig.ncalls % 4 == 0,
        .is_task = rig.ncalls % 5 == 0,
    };
    *c = (struct call){0};
    c->call = mcp_request(rig.client, &req, &EVENTS, c);
    arena_done(&a);
}

static void cancel(unsigned n)
{
    if (n >= rig.ncalls || rig.calls[n].answers > 0 || rig.calls[n].is_cancelled || !rig.client)
        return;
    rig.calls[n].is_cancelled = true;
    mcp_cancel(rig.calls[n].call, "enough");
}

static void answer(str text)
{
    struct arena a;
    struct json *result;
    struct mcp_ask *ask = rig.ask;
    if (!ask)
        return;
    rig.ask = NULL;
    arena_init(&a);
    if (json_parse(&a, text, JSON_COPY, &result, NULL) == 0 && result->type == JSON_OBJECT)
        mcp_ask_answer(ask, result);
    else
        mcp_ask_refuse(ask, -1, "no");
    arena_done(&a);
}

/* ---- the script ---- */

static void answer_handshake(void)
{
    LIST_FOREACH (it, &rig.fetches) {
        struct fetch *x = LIST_ENTRY(it, struct fetch, node);
        const char *result = x->has_head ? NULL : answer_to(x->method);
        char body[512];
        if (result) {
            snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s", x->id, result);
            give_whole(x, 200, "application/json", str_from(body));
            return;
        }
        if (!x->has_head && rig.era != MCP_ERA_UNKNOWN &&
            strcmp(x->method, "notifications/initialized") == 0) {
            give_whole(x, 202, "text/plain", STR_NONE);
            return;
        }
    }
}

static void turn(void)
{
    for (int i = 0; i < TURNS; i++) {
        answer_handshake();
        uv_run(loop_uv(rig.loop), UV_RUN_NOWAIT);
    }
}

static void give_bytes(struct fetch *x, str text)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < text.n; i++)
        buf_add_char(&b, text.p[i] == '^' ? '\n' : text.p[i]);
    if (b.n > 0)
        x->ev.on_data(x->ctx, buf_str(&b));
    buf_done(&b);
}

static void step_fetch(char kind, str rest)
{
    unsigned n =
        rest.n > 0 && rest.p[0] >= '0' && rest.p[0] <= '9' ? (unsigned)(rest.p[0] - '0') : 0;
    struct fetch *x = fetch_nth(n);
    str number, tail = str_trim(str_skip(rest, 1));
    uint64_t v = 0;
    if (!x)
        return;
    if (kind == 'H' && !x->has_head) {
        if (!str_split(&tail, '\t', &number) || parse_u64(number, &v) < 0 || v < 200 || v > 599)
            v = 200;
        give_head(x, (int)v, tail);
    } else if (kind == 'D' && x->has_head) {
        give_bytes(x, tail);
    } else if (kind == 'E') {
        give_end(x, parse_u64(tail, &v) == 0 && v > 0 ? -(int)(v % 128) : x->has_head ? 0 : -EIO);
    }
}

static void step(str line)
{
    char kind = line.p[0];
    str rest = str_trim(str_skip(line, 1));
    if (kind == 'R')
        ask_server(rest);
    else if (kind == 'c')
        cancel(rest.n > 0 ? (unsigned)(unsigned char)(rest.p[0] - '0') : 0);
    else if (kind == 'a' || kind == 'r')
        answer(rest);
    else if (kind == 'H' || kind == 'D' || kind == 'E')
        step_fetch(kind, rest);
    else if (kind == 'O')
        say_line(rest);
    else if (kind == 'x')
        end_child();
    else if (kind == 'X' && rig.client)
        mcp_close(rig.client);
}

static void fill_in(struct buf *out, str line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '%' && i + 1 < line.n && line.p[i + 1] == 'I') {
            buf_add_str(out, rig.last_id[0] ? str_from(rig.last_id) : STR("0"));
            i++;
        } else {
            buf_add_char(out, line.p[i]);
        }
    }
}

static void begin(str first)
{
    static const char *const ARGV[] = {"server", NULL};
    static struct json_member members[] = {{STR_INIT("roots"), {.type = JSON_OBJECT}},
                                           {STR_INIT("sampling"), {.type = JSON_OBJECT}},
                                           {STR_INIT("elicitation"), {.type = JSON_OBJECT}}};
    static struct json capabilities = {.type = JSON_OBJECT, .len = 3, .members = members};
    static const struct mcp_client_events EVENTS = {on_ready, on_closed};
    struct mcp_host host = {.capabilities = &capabilities,
                            .ask = on_ask,
                            .ask_gone = on_ask_gone,
                            .notified = on_notified,
                            .on_stderr = on_stderr};
    struct mcp_dial dial = {
        .wire = str_starts(first, STR("http"))  ? MCP_WIRE_HTTP
                : str_starts(first, STR("sse")) ? MCP_WIRE_SSE
                                                : MCP_WIRE_STDIO,
        .child.argv = ARGV,
        .url = STR("http://a.b/c/d?e=f"),
        .reconnect = {.initial_ms = 1, .max_ms = 2, .max_tries = 2},
    };
    rig.era = str_ends(first, STR("old"))   ? MCP_ERA_LEGACY
              : str_ends(first, STR("new")) ? MCP_ERA_MODERN
                                            : MCP_ERA_UNKNOWN;
    rig.ncalls = 0;
    rig.ask = NULL;
    rig.is_ready = rig.is_closed = false;
    rig.last_id[0] = 0;
    rig.client = mcp_open(rig.loop, (struct fetcher *)&rig, &dial, &host, &EVENTS, NULL);
}

static void end(void)
{
    for (size_t i = 0; i < rig.ncalls; i++)
        assert(rig.calls[i].answers + rig.calls[i].is_cancelled <= 1);
    if (rig.is_closed) { /* what was under way has been answered before */
        for (size_t i = 0; i < rig.ncalls; i++)
            assert(rig.calls[i].answers + rig.calls[i].is_cancelled == 1);
    } else {
        mcp_abort(rig.client);
    }
    turn();
    assert(list_empty(&rig.fetches));
    assert(!rig.child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str in = str_make((const char *)data, size), line;
    if (size > INPUT_MAX || !str_split(&in, '\n', &line))
        return 0;
    if (!rig.loop) {
        rig.loop = loop_new(NULL);
        list_init(&rig.fetches);
        defer_init(&child_later, on_child_later, NULL);
        defer_init(&child_end, on_child_end, NULL);
    }
    begin(line);
    turn();
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
