#include "cli/session/client.h"

#include <assert.h>
#include <errno.h>

#include "cli/session/own_server.h"
#include "cli/session/session.h"
#include "net/url.h"
#include "workspace/roster/roster.h"

#define HOST          "http://localhost"
#define STOP_GRACE_MS 5000

struct client {
    struct loop *loop;
    struct arena arena;
    const char *socket_path; /* of a running server; or */
    const char *url;         /* of the server of --server, */
    const char *bearer;      /* and what the token is sent in */
    const char *workspace;   /* an id, or NULL */
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
    struct fetch_header headers[4];
    bool is_read = !q->method || strcmp(q->method, "GET") == 0;
    struct arena a;
    size_t nheaders = 0;
    if (q->body.n > 0)
        headers[nheaders++] = (struct fetch_header){STR("Content-Type"), STR("application/json")};
    if (c->workspace)
        headers[nheaders++] = (struct fetch_header){STR("X-Workspace-Id"), str_from(c->workspace)};
    if (q->header)
        headers[nheaders++] = (struct fetch_header){str_from(q->header), q->value};
    if (c->bearer)
        headers[nheaders++] = (struct fetch_header){STR("Authorization"), str_from(c->bearer)};
    arena_init(&a);
    struct fetch_spec spec = {
        .method = q->method,
        .url = arena_printf(&a, "%s%.*s", c->url ? c->url : HOST, STR_ARG(q->path)),
        .headers = headers,
        .nheaders = nheaders,
        .body = q->body,
        .has_body = !is_read,
        .idle_timeout_ms = idle_ms,
        /* No redirect is followed: it could take the token to another host. */
        .flags = is_read ? 0 : FETCH_ONCE,
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
    struct http_local_ask ask = {.method = q->method ? q->method : "GET",
                                 .target = q->path,
                                 .body = q->body,
                                 .header = q->header,
                                 .value = q->value};
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

static const char *client_where(const struct client *c)
{
    return c->url ? c->url : c->socket_path ? c->socket_path : "in this process";
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
            return err_set(e, -ETIMEDOUT, "the server (%s) does not answer", client_where(c));
        }
    if (ret->err.code != 0)
        *e = ret->err;
    return ret->err.code;
}

static bool is_redirect(int status)
{
    return status >= 300 && status < 400;
}

str client_message(const struct client *c, struct arena *a, int status, str body)
{
    struct json *said = NULL;
    (void)json_parse(a, body, JSON_COPY, &said, NULL);
    str message = json_get_string(said, "message");
    if (c->url && status == 401)
        return arena_printf(a, "%s does not accept the token; nb login %s stores a new one", c->url,
                            c->url);
    if (c->url && is_redirect(status))
        return arena_printf(a, "%s redirects to another address; use that one", c->url);
    return message.n > 0 ? message
                         : arena_printf(a, "the server (%s) answered with status %d",
                                        client_where(c), status);
}

static int read_answer(const struct client *c, const struct client_answer *got, struct arena *a,
                       struct json **ret, struct err *e)
{
    static const struct {
        int status, code;
    } CODES[] = {{400, -EINVAL}, {401, -EACCES}, {404, -ENOENT}, {409, -EBUSY}, {507, -ENOSPC}};
    int code = -EIO;
    if (buf_failed(&got->body))
        return err_set(e, -EMSGSIZE, "the answer is larger than %u MiB",
                       CLIENT_BODY_MAX / (1024 * 1024));
    if (got->status >= 200 && got->status < 300)
        return json_parse(a, buf_str(&got->body), JSON_COPY, ret, NULL) == 0
                   ? 0
                   : err_set(e, -EPROTO, "the server answered with something that is not JSON");
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (CODES[i].status == got->status)
            code = CODES[i].code;
    return err_set(e, code, "%.*s",
                   STR_ARG(client_message(c, a, got->status, buf_str(&got->body))));
}

int client_ask(struct client *c, const struct client_ask *q, struct arena *a, struct json **ret,
               struct err *e)
{
    struct client_answer got = {0};
    buf_init(&got.body, CLIENT_BODY_MAX);
    int r = await_answer(c, q, &got, e);
    if (r == 0)
        r = read_answer(c, &got, a, ret, e);
    buf_done(&got.body);
    return r;
}

int client_get_bytes(struct client *c, str path, size_t max, struct arena *a, str *ret,
                     struct err *e)
{
    struct client_answer got = {0};
    struct client_ask q = {.path = path};
    buf_init(&got.body, max);
    int r = await_answer(c, &q, &got, e);
    if (r == 0 && buf_failed(&got.body))
        r = err_set(e, -EFBIG, "the file has more than %zu bytes", max);
    else if (r == 0 && got.status != 200)
        r = err_set(e, -EIO, "%.*s", STR_ARG(client_message(c, a, got.status, buf_str(&got.body))));
    if (r == 0)
        *ret = arena_str(a, buf_str(&got.body));
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

static struct client *client_new(struct loop *l, const char *workspace)
{
    struct client *c = xcalloc(1, sizeof *c);
    c->loop = l;
    arena_init(&c->arena);
    if (workspace)
        c->workspace = arena_cstr(&c->arena, str_from(workspace));
    return c;
}

struct client *client_open_socket(struct loop *l, const char *socket_path, const char *workspace)
{
    struct client *c = client_new(l, workspace);
    c->socket_path = arena_cstr(&c->arena, str_from(socket_path));
    c->fetcher = fetcher_new(l);
    return c;
}

/* On this machine, the roster has the names; elsewhere only the server knows them. */
static int find_workspace(struct client *c, const char *typed, struct err *e)
{
    struct client_ask q = {.path = STR("/v1/workspaces")};
    struct arena a;
    struct json *answer = NULL;
    c->workspace = NULL;
    arena_init(&a);
    int r = client_ask(c, &q, &a, &answer, e);
    const struct json *list = json_get(answer, "workspaces");
    for (size_t i = 0; r == 0 && json_is(list, JSON_ARRAY) && i < list->len; i++) {
        str id = json_get_string(json_at(list, i), "id");
        str name = json_get_string(json_at(list, i), "name");
        if (str_eq(id, str_from(typed)) || str_eq_nocase(name, str_from(typed)))
            c->workspace = arena_cstr(&c->arena, id);
    }
    arena_done(&a);
    return r < 0 || c->workspace
               ? r
               : err_set(e, -ENOENT, "%s has no workspace '%s' for you", c->url, typed);
}

static int open_url(struct loop *l, struct config *config, struct client **ret, struct err *e)
{
    const char *workspace = config->workspace;
    struct client *c = client_new(l, workspace);
    c->url = arena_cstr(&c->arena, str_from(config->remote.url));
    c->bearer = arena_printf(&c->arena, "Bearer %.*s", STR_ARG(config->remote.token)).p;
    c->fetcher = fetcher_new(l);
    bool is_id = workspace && strncmp(workspace, "ws_", 3) == 0;
    int r = workspace && !is_id ? find_workspace(c, workspace, e) : 0;
    if (r < 0)
        client_close(c);
    else
        *ret = c;
    return r;
}

int client_open_served(struct loop *l, struct config *config, struct client **ret, struct err *e)
{
    if (config->remote.url)
        return open_url(l, config, ret, e);
    if (config->workspace && !workspace_id_ok(str_from(config->workspace)))
        return err_set(e, -ENOENT, "no workspace '%s'; run nb workspace list to see all workspaces",
                       config->workspace);
    *ret = client_open_socket(l, server_socket_path(config, &config->arena), config->workspace);
    return 0;
}

int client_open_own(struct loop *l, struct config *config, bool with_bundles, struct client **ret,
                    struct err *e)
{
    struct client *c = client_new(l, NULL);
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
    return session_is_served(config) ? client_open_served(l, config, ret, e)
                                     : client_open_own(l, config, with_bundles, ret, e);
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
