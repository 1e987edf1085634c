#include "cli/session/client.h"

#include <assert.h>
#include <errno.h>

#include "cli/session/own_server.h"
#include "cli/session/session.h"
#include "net/url.h"

#define HOST          "http://localhost"
#define STOP_GRACE_MS 5000

struct client {
    struct loop *loop;
    struct arena arena;
    const char *socket_path; /* of a running server */
    const char *workspace;   /* or NULL */
    struct fetcher *fetcher;
    struct server *server; /* our own server */
};

/* One request in progress. */
struct client_answer {
    int status;
    struct buf body;
    struct err err;
    bool is_done;
};

/* ---- requests, over the socket or in this process ---- */

struct client_call {
    struct fetch *fetch;
    struct http_local *local; /* or */
    const struct fetch_events *ev;
    void *ctx;
};

static void on_call_head(void *call, int status, const struct fetch_header *h, size_t n)
{
    struct client_call *k = call;
    k->ev->on_head(k->ctx, status, h, n);
}

static void on_call_data(void *call, str bytes)
{
    struct client_call *k = call;
    k->ev->on_data(k->ctx, bytes);
}

static void on_call_done(void *call, const struct err *err)
{
    struct client_call k = *(struct client_call *)call;
    free(call);
    k.ev->on_done(k.ctx, err);
}

static void on_own_head(void *call, int status, const char *type)
{
    on_call_head(call, status, NULL, 0);
}

static void on_own_end(void *call)
{
    on_call_done(call, &(struct err){0});
}

static struct fetch *start_remote(struct client *c, const struct client_ask *q, uint64_t idle_ms,
                                  struct client_call *call)
{
    static const struct fetch_events EVENTS = {on_call_head, on_call_data, on_call_done};
    struct fetch_header headers[2];
    struct arena a;
    size_t nheaders = 0;
    if (q->body.n > 0)
        headers[nheaders++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    if (c->workspace)
        headers[nheaders++] = (struct fetch_header){STR("X-Workspace-Id"), str_from(c->workspace)};
    arena_init(&a);
    struct fetch_spec spec = {
        .method = q->method,
        .url = arena_printf(&a, HOST "%.*s", STR_ARG(q->path)),
        .headers = headers,
        .nheaders = nheaders,
        .body = q->body,
        .has_body = q->method && strcmp(q->method, "GET") != 0,
        .idle_timeout_ms = idle_ms,
        .unix_socket = c->socket_path,
    };
    struct fetch *f = fetch_start(c->fetcher, &spec, &EVENTS, call);
    arena_done(&a);
    return f;
}

struct client_call *client_start(struct client *c, const struct client_ask *q, uint64_t idle_ms,
                                 const struct fetch_events *ev, void *ctx)
{
    static const struct http_local_events EVENTS = {on_own_head, on_call_data, on_own_end};
    struct http_local_ask ask = {q->method ? q->method : "GET", q->path, q->body};
    struct client_call *call = xcalloc(1, sizeof *call);
    *call = (struct client_call){.ev = ev, .ctx = ctx};
    if (c->server)
        call->local = server_ask(c->server, &ask, &EVENTS, call);
    else
        call->fetch = start_remote(c, q, idle_ms, call);
    return call;
}

void client_cancel(struct client_call *call)
{
    if (call->local)
        http_local_cancel(call->local);
    else
        fetch_cancel(call->fetch);
    free(call);
}

/* ---- one request and its whole response ---- */

static void on_client_head(void *ctx, int status, const struct fetch_header *h, size_t n)
{
    ((struct client_answer *)ctx)->status = status;
}

static void on_client_data(void *ctx, str bytes)
{
    buf_add_str(&((struct client_answer *)ctx)->body, bytes);
}

static void on_client_done(void *ctx, const struct err *err)
{
    struct client_answer *a = ctx;
    assert(!a->is_done);
    a->err = *err;
    a->is_done = true;
}

/* No timeout in this process: the work is done here, and the response needs a receiver. */
static int await_answer(struct client *c, const struct client_ask *q, struct client_answer *ret,
                        struct err *e)
{
    static const struct fetch_events EVENTS = {on_client_head, on_client_data, on_client_done};
    uint64_t timeout_ms = q->timeout_ms ? q->timeout_ms : CLIENT_TIMEOUT_MS;
    struct client_call *call = client_start(c, q, timeout_ms, &EVENTS, ret);
    while (!loop_run_until(c->loop, &ret->is_done, c->server ? UINT32_MAX : timeout_ms))
        if (!c->server) {
            client_cancel(call);
            return err_set(e, -ETIMEDOUT, "the running server (%s) does not answer",
                           c->socket_path);
        }
    if (ret->err.code != 0)
        *e = ret->err;
    return ret->err.code;
}

str client_message(struct arena *a, str body)
{
    struct json *said = NULL;
    (void)json_parse(a, body, JSON_COPY, &said, NULL);
    return json_get_string(said, "message");
}

static int read_answer(const struct client_answer *got, struct arena *a, struct json **ret,
                       struct err *e)
{
    static const struct {
        int status, code;
    } CODES[] = {{400, -EINVAL}, {404, -ENOENT}, {409, -EBUSY}, {507, -ENOSPC}};
    if (buf_failed(&got->body))
        return err_set(e, -EMSGSIZE, "the answer is larger than %u MiB",
                       CLIENT_BODY_MAX / (1024 * 1024));
    if (json_parse(a, buf_str(&got->body), JSON_COPY, ret, NULL) < 0)
        return err_set(e, -EPROTO, "the server answered with something that is not JSON");
    if (got->status >= 200 && got->status < 300)
        return 0;
    int code = -EIO;
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (CODES[i].status == got->status)
            code = CODES[i].code;
    return err_set(e, code, "%.*s", STR_ARG(json_get_string(*ret, "message")));
}

int client_ask(struct client *c, const struct client_ask *q, struct arena *a, struct json **ret,
               struct err *e)
{
    struct client_answer got = {0};
    buf_init(&got.body, CLIENT_BODY_MAX);
    int r = await_answer(c, q, &got, e);
    if (r == 0)
        r = read_answer(&got, a, ret, e);
    buf_done(&got.body);
    return r;
}

str client_encode(struct arena *a, str s)
{
    struct buf b;
    buf_init(&b, s.n * 3);
    url_encode(&b, s, NULL);
    return buf_keep(&b, a);
}

struct client *client_open_remote(struct loop *l, const char *socket_path, const char *workspace)
{
    struct client *c = xcalloc(1, sizeof *c);
    c->loop = l;
    arena_init(&c->arena);
    c->socket_path = arena_cstr(&c->arena, str_from(socket_path));
    if (workspace)
        c->workspace = arena_cstr(&c->arena, str_from(workspace));
    c->fetcher = fetcher_new(l);
    return c;
}

int client_open_own(struct loop *l, struct config *config, bool with_bundles, struct client **ret,
                    struct err *e)
{
    struct client *c = xcalloc(1, sizeof *c);
    c->loop = l;
    arena_init(&c->arena);
    int r = own_server_new(l, config, with_bundles, &c->server, e);
    if (r < 0)
        client_close(c);
    else
        *ret = c;
    return r;
}

static int open_any(struct loop *l, struct config *config, bool with_bundles, struct client **ret,
                    struct err *e)
{
    if (!session_is_served(config))
        return client_open_own(l, config, with_bundles, ret, e);
    *ret = client_open_remote(l, server_socket_path(config, &config->arena), config->workspace);
    return 0;
}

int client_open(struct loop *l, struct config *config, struct client **ret, struct err *e)
{
    return open_any(l, config, false, ret, e);
}

int client_open_bundles(struct loop *l, struct config *config, struct client **ret, struct err *e)
{
    int r = open_any(l, config, true, ret, e);
    if (r == 0 && (*ret)->server)
        await_bundles((*ret)->server, false);
    return r;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    if (c->server)
        server_close(c->server, STOP_GRACE_MS);
    fetcher_free(c->fetcher);
    arena_done(&c->arena);
    free(c);
}

struct server *client_server(const struct client *c)
{
    return c->server;
}
