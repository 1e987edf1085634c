/* mcp_driver.c - the MCP client under the hands of a test script.
 *
 * Reads one JSON object per line from stdin and writes one per event to stdout:
 *
 *   {"op":"open","command":[...],"env":[...]} or {"op":"open","url":"...","sse":true}
 *       with "capabilities", "connections", "timeoutMs", "era"     -> ready | closed
 *   {"op":"request","id":"a","method":"...","params":{...},"progress":true,"raw":true,
 *       "logLevel":"...","timeoutMs":1,"maxMs":1}             -> progress, logged, ask, done
 *   {"op":"list","id":"a","method":"tools/list","key":"tools"} -> done
 *   {"op":"cancel","id":"a"}, {"op":"answer","ask":1,"result":{...}}, {"op":"refuse","ask":1}
 *   {"op":"notify","method":"..."}, {"op":"close"}, {"op":"abort"}
 *
 * Ends with the end of its input. One connection at a time. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#include "base/map.h"
#include "mcp/connections.h"

struct driver {
    struct loop *loop;
    struct fetcher *fetcher;
    struct mcp_client *client;
    struct connections *connections;
    struct arena mem; /* of the host's capabilities */
    struct map calls; /* struct call by id */
    struct map asks;  /* struct mcp_ask by number */
    int64_t last_ask;
    struct buf in;
    uv_pipe_t stdin_pipe;
};

struct call {
    struct driver *d;
    char *id;
    struct mcp_call *call;
};

/* ---- out ---- */

static void put(struct buf *line)
{
    buf_add_char(line, '\n');
    for (size_t at = 0; at < line->n;) {
        ssize_t n = write(1, line->p + at, line->n - at);
        if (n <= 0)
            _exit(3);
        at += (size_t)n;
    }
    buf_done(line);
}

static struct json_writer begin(struct buf *line, const char *event)
{
    struct json_writer w;
    buf_init(line, 256u << 20);
    jw_init(&w, line);
    jw_object(&w);
    jw_kstr(&w, "event", str_from(event));
    return w;
}

static void say_call(const struct call *c, const char *event, const char *key, const struct json *v)
{
    struct buf line;
    struct json_writer w = begin(&line, event);
    jw_kstr(&w, "id", str_from(c->id));
    if (key)
        jw_kval(&w, key, v);
    jw_end(&w);
    put(&line);
}

/* ---- calls ---- */

static void call_free(struct call *c)
{
    map_del(&c->d->calls, str_from(c->id));
    free(c->id);
    free(c);
}

static void on_done(void *ctx, const struct mcp_reply *r)
{
    struct call *c = ctx;
    struct buf line;
    struct json_writer w = begin(&line, "done");
    jw_kstr(&w, "id", str_from(c->id));
    if (r->result)
        jw_kval(&w, "result", r->result);
    if (r->error)
        jw_kval(&w, "error", r->error);
    if (r->err) {
        jw_kint(&w, "errno", r->err->code);
        jw_kstr(&w, "message", str_from(r->err->msg));
    }
    jw_end(&w);
    put(&line);
    call_free(c);
}

static void on_progress(void *ctx, const struct json *params)
{
    say_call(ctx, "progress", "params", params);
}

static void on_logged(void *ctx, const struct json *params)
{
    say_call(ctx, "logged", "params", params);
}

static struct call *call_new(struct driver *d, str id)
{
    struct call *c = xcalloc(1, sizeof(*c));
    c->d = d;
    c->id = str_dup(id);
    map_put(&d->calls, id, c);
    return c;
}

/* ---- the host ---- */

static void on_ask(void *ctx, struct mcp_ask *a)
{
    static const char *const KINDS[] = {"sampling", "elicitation", "roots"};
    struct driver *d = ctx;
    char key[32];
    snprintf(key, sizeof(key), "%lld", (long long)++d->last_ask);
    map_put(&d->asks, str_from(key), a);
    a->user = (void *)(intptr_t)d->last_ask;
    struct buf line;
    struct json_writer w = begin(&line, "ask");
    jw_kint(&w, "ask", d->last_ask);
    jw_kstr(&w, "kind", str_from(KINDS[a->kind]));
    jw_kval(&w, "params", a->params);
    jw_kbool(&w, "hasCall", a->call != NULL);
    jw_end(&w);
    put(&line);
}

static void on_ask_gone(void *ctx, struct mcp_ask *a)
{
    struct driver *d = ctx;
    char key[32];
    snprintf(key, sizeof(key), "%lld", (long long)(intptr_t)a->user);
    map_del(&d->asks, str_from(key));
    struct buf line;
    struct json_writer w = begin(&line, "gone");
    jw_kint(&w, "ask", (intptr_t)a->user);
    jw_end(&w);
    put(&line);
}

static void on_notified(void *ctx, str method, const struct json *params)
{
    struct buf line;
    struct json_writer w = begin(&line, "notified");
    jw_kstr(&w, "method", method);
    jw_kval(&w, "params", params);
    jw_end(&w);
    put(&line);
}

static void on_stderr(void *ctx, str bytes)
{
    (void)!write(2, bytes.p, bytes.n);
}

static struct mcp_client *main_client(struct driver *d)
{
    return d->connections ? connections_main(d->connections) : d->client;
}

static void on_ready(void *ctx)
{
    struct driver *d = ctx;
    struct mcp_client *c = main_client(d);
    struct buf line;
    struct json_writer w = begin(&line, "ready");
    jw_kstr(&w, "era", mcp_era(c) == MCP_ERA_MODERN ? STR("modern") : STR("legacy"));
    jw_kstr(&w, "version", mcp_version(c));
    jw_kval(&w, "capabilities", mcp_server_capabilities(c));
    jw_kval(&w, "info", mcp_server_info(c));
    jw_kstr(&w, "instructions", mcp_instructions(c));
    jw_kint(&w, "pid", mcp_pid(c));
    jw_end(&w);
    put(&line);
}

static void on_closed(void *ctx, const struct err *e)
{
    struct driver *d = ctx;
    d->client = NULL;
    d->connections = NULL;
    struct buf line;
    struct json_writer w = begin(&line, "closed");
    jw_kint(&w, "errno", e->code);
    jw_kstr(&w, "message", e->code ? str_from(e->msg) : STR(""));
    jw_end(&w);
    put(&line);
}

/* ---- commands ---- */

static const char **strings(struct arena *a, const struct json *list)
{
    size_t n = list ? list->len : 0;
    const char **out = arena_array(a, n + 1, sizeof(*out));
    for (size_t i = 0; i < n; i++)
        out[i] = arena_cstr(a, json_string(&list->items[i], STR_NONE));
    return out;
}

static void do_open(struct driver *d, struct arena *a, const struct json *v)
{
    struct mcp_dial dial = {.connect_timeout_ms = (uint64_t)json_get_int(v, "timeoutMs", 0)};
    str era = json_get_string(v, "era");
    dial.era = str_eq(era, STR("legacy"))   ? MCP_ERA_LEGACY
               : str_eq(era, STR("modern")) ? MCP_ERA_MODERN
                                            : MCP_ERA_UNKNOWN;
    dial.reconnect.initial_ms = (uint64_t)json_get_int(v, "reconnectMs", 0);
    dial.reconnect.max_tries = (unsigned)json_get_int(v, "reconnectTries", 0);
    struct fetch_header headers[16];
    const struct json *given = json_get(v, "headers");
    for (uint32_t i = 0; given && i < given->len && i < 16; i++)
        headers[dial.nheaders++] = (struct fetch_header){
            given->members[i].key, json_string(&given->members[i].value, STR_NONE)};
    dial.headers = headers;
    dial.url = json_get_string(v, "url");
    dial.wire = dial.url.n == 0                  ? MCP_WIRE_STDIO
                : json_get_bool(v, "sse", false) ? MCP_WIRE_SSE
                                                 : MCP_WIRE_HTTP;
    dial.child.argv = strings(a, json_get(v, "command"));
    dial.child.env = strings(a, json_get(v, "env"));
    struct mcp_host host = {
        .ask = on_ask,
        .ask_gone = on_ask_gone,
        .notified = on_notified,
        .on_stderr = on_stderr,
        .ctx = d,
    };
    arena_reset(&d->mem);
    if (json_get(v, "capabilities"))
        host.capabilities = json_clone(&d->mem, json_get(v, "capabilities"));
    static const struct mcp_client_events EV = {.ready = on_ready, .closed = on_closed};
    if (json_get_bool(v, "connections", false))
        d->connections = connections_open(d->loop, d->fetcher, &dial, &host, &EV, d);
    else
        d->client = mcp_open(d->loop, d->fetcher, &dial, &host, &EV, d);
}

static void do_request(struct driver *d, struct arena *a, const struct json *v)
{
    struct mcp_request req = {
        .method = json_get_string(v, "method"),
        .params = json_get(v, "params"),
        .timeout_ms = (uint64_t)json_get_int(v, "timeoutMs", 0),
        .max_ms = (uint64_t)json_get_int(v, "maxMs", 0),
        .is_raw = json_get_bool(v, "raw", false),
        .capabilities = json_get(v, "capabilities"),
        .log_level = json_get_string(v, "logLevel"),
        .wants_progress = json_get_bool(v, "progress", false),
    };
    static const struct mcp_call_events EV = {
        .done = on_done, .progress = on_progress, .logged = on_logged};
    struct call *c = call_new(d, json_get_string(v, "id"));
    c->call = d->connections ? connections_request(d->connections, &req, &EV, c)
                             : mcp_request(d->client, &req, &EV, c);
}

static void do_list(struct driver *d, struct arena *a, const struct json *v)
{
    static const struct mcp_call_events EV = {.done = on_done};
    struct call *c = call_new(d, json_get_string(v, "id"));
    c->call = mcp_list_all(main_client(d), json_get_string(v, "method"),
                           arena_cstr(a, json_get_string(v, "key")), &EV, c);
}

static void do_cancel(struct driver *d, struct arena *a, const struct json *v)
{
    struct call *c = map_get(&d->calls, json_get_string(v, "id"));
    if (!c)
        return;
    mcp_cancel(c->call, "no longer wanted");
    call_free(c);
}

static struct mcp_ask *take_ask(struct driver *d, const struct json *v)
{
    char key[32];
    snprintf(key, sizeof(key), "%lld", (long long)json_get_int(v, "ask", 0));
    return map_del(&d->asks, str_from(key));
}

static void do_answer(struct driver *d, struct arena *a, const struct json *v)
{
    struct mcp_ask *ask = take_ask(d, v);
    if (ask)
        mcp_ask_answer(ask, json_get(v, "result"));
}

static void do_refuse(struct driver *d, struct arena *a, const struct json *v)
{
    struct mcp_ask *ask = take_ask(d, v);
    if (ask)
        mcp_ask_refuse(ask, -1, "no");
}

static void do_notify(struct driver *d, struct arena *a, const struct json *v)
{
    (void)mcp_notify(main_client(d), json_get_string(v, "method"), json_get(v, "params"));
}

static void do_close(struct driver *d, struct arena *a, const struct json *v)
{
    if (d->connections)
        connections_close(d->connections, (uint64_t)json_get_int(v, "drainMs", 0));
    else if (d->client)
        mcp_close(d->client);
}

static void do_abort(struct driver *d, struct arena *a, const struct json *v)
{
    if (d->connections)
        connections_abort(d->connections);
    else if (d->client)
        mcp_abort(d->client);
    d->connections = NULL;
    d->client = NULL;
    struct map_entry *e;
    for (size_t i = 0; (e = map_next(&d->calls, &i)) != NULL;)
        call_free(e->value);
    map_done(&d->asks);
    map_init(&d->asks);
}

static const struct {
    str name;
    void (*run)(struct driver *d, struct arena *a, const struct json *v);
} OPS[] = {
    {STR_INIT("open"), do_open},     {STR_INIT("request"), do_request},
    {STR_INIT("list"), do_list},     {STR_INIT("cancel"), do_cancel},
    {STR_INIT("answer"), do_answer}, {STR_INIT("refuse"), do_refuse},
    {STR_INIT("notify"), do_notify}, {STR_INIT("close"), do_close},
    {STR_INIT("abort"), do_abort},
};

static void run_line(struct driver *d, str line)
{
    struct arena a;
    arena_init(&a);
    struct json *v;
    struct err e;
    if (json_parse(&a, line, JSON_COPY, &v, &e) < 0) {
        fprintf(stderr, "mcp_driver: %s\n", e.msg);
        _exit(2);
    }
    bool is_known = false;
    for (size_t i = 0; i < ARRAY_LEN(OPS); i++) {
        if (!str_eq(json_get_string(v, "op"), OPS[i].name))
            continue;
        is_known = true;
        OPS[i].run(d, &a, v);
    }
    assert(is_known && "an op that is not in the table");
    arena_done(&a);
}

/* ---- in ---- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
    static char block[65536];
    *ret = uv_buf_init(block, sizeof(block));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct driver *d = s->data;
    if (n < 0) {
        loop_stop(d->loop);
        return;
    }
    buf_add(&d->in, b->base, (size_t)n);
    ptrdiff_t lf;
    while ((lf = str_find_char(buf_str(&d->in), '\n')) >= 0) {
        run_line(d, str_slice(buf_str(&d->in), 0, (size_t)lf));
        buf_consume(&d->in, (size_t)lf + 1);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    struct driver d = {.loop = loop_new(NULL)};
    d.fetcher = fetcher_new(d.loop);
    map_init(&d.calls);
    map_init(&d.asks);
    buf_init(&d.in, 64u << 20);
    uv_pipe_init(loop_uv(d.loop), &d.stdin_pipe, 0);
    d.stdin_pipe.data = &d;
    uv_pipe_open(&d.stdin_pipe, 0);
    uv_read_start((uv_stream_t *)&d.stdin_pipe, on_alloc, on_read);
    loop_run(d.loop);
    do_abort(&d, NULL, NULL);
    uv_close((uv_handle_t *)&d.stdin_pipe, NULL);
    fetcher_free(d.fetcher);
    bool never = false;
    loop_run_until(d.loop, &never, 300); /* a killed child is reaped */
    loop_free(d.loop);
    map_done(&d.calls);
    map_done(&d.asks);
    buf_done(&d.in);
    arena_done(&d.mem);
    return 0;
}
