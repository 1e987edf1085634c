/* http_rig.h - an HTTP server for tests of the client: the double of net/ with handlers that
 * speak MCP. Handlers run in the double's threads; what was asked is kept for the test. */
#pragma once

#include <errno.h>
#include <time.h>

#include "unit/mcp/rig.h"
#include "unit/net/http_double.h"

struct web {
    struct http_double *server;
    pthread_mutex_t lock;
    struct buf log; /* under lock: every request as it came */
    atomic_int gets, posts, deletes, step;
    _Atomic uint64_t closed_ms, resumed_ms;
};

static inline uint64_t web_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline struct web *web_new(void (*serve)(struct exchange *x))
{
    struct web *w = xcalloc(1, sizeof(*w));
    pthread_mutex_init(&w->lock, NULL);
    buf_init(&w->log, 1u << 20);
    w->server = http_double_new();
    w->server->ctx = w;
    w->server->serve = serve;
    return w;
}

static inline void web_free(struct web *w)
{
    http_double_free(w->server);
    buf_done(&w->log);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static inline bool web_heard(struct web *w, const char *text)
{
    pthread_mutex_lock(&w->lock);
    bool has = str_find(buf_str(&w->log), str_from(text), 0) >= 0;
    pthread_mutex_unlock(&w->lock);
    return has;
}

static inline void web_await(struct web *w, struct rig *r, const char *text)
{
    for (int i = 0; i < 300 && !web_heard(w, text); i++)
        rig_run(r, 10);
    if (!web_heard(w, text))
        fail_msg("\"%s\" was not sent: %.*s", text, STR_ARG(buf_str(&w->log)));
}

/* ---- for handlers ---- */

static inline struct web *web_take(struct exchange *x)
{
    struct web *w = x->d->ctx;
    str in = buf_str(&x->in);
    pthread_mutex_lock(&w->lock);
    buf_add_str(&w->log, in);
    buf_add_char(&w->log, '\n');
    pthread_mutex_unlock(&w->lock);
    atomic_fetch_add(str_starts(in, STR("GET"))      ? &w->gets
                     : str_starts(in, STR("DELETE")) ? &w->deletes
                                                     : &w->posts,
                     1);
    return w;
}

static inline bool web_is(struct exchange *x, const char *text)
{
    return str_find(buf_str(&x->in), str_from(text), 0) >= 0;
}

static inline void web_reply(struct exchange *x, const char *status, const char *headers,
                             const char *body)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_printf(&b, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n%s", status, strlen(body), headers,
               body);
    dbl_send(x, b.p, b.n);
    buf_done(&b);
}

static inline long long web_id(struct exchange *x)
{
    ptrdiff_t at = str_find(buf_str(&x->in), STR("\"id\":"), 0);
    return at < 0 ? 0 : strtoll(x->in.p + at + 5, NULL, 10);
}

static inline void web_json(struct exchange *x, const char *headers, const char *result)
{
    char body[4096], all[512];
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}", web_id(x),
             result);
    snprintf(all, sizeof(all), "Content-Type: application/json\r\n%s", headers);
    web_reply(x, "200 OK", all, body);
}

static inline void web_error(struct exchange *x, const char *status, int code, const char *data)
{
    char body[1024];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":%d,\"message\":\"m\"%s}}",
             web_id(x), code, data);
    web_reply(x, status, "Content-Type: application/json\r\n", body);
}

static inline void web_stream(struct exchange *x)
{
    dbl_say(x, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    x->close = true;
}

static inline void web_initialize(struct exchange *x)
{
    web_json(x, "Mcp-Session-Id: session-1\r\n",
             "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":"
             "true}},\"serverInfo\":{\"name\":\"web\",\"version\":\"1\"}}");
}

/* What every legacy server of these tests does; true when it was that. */
static inline bool web_serve_legacy(struct exchange *x)
{
    web_take(x);
    if (web_is(x, "server/discover"))
        web_reply(x, "400 Bad Request", "", "no session");
    else if (web_is(x, "\"initialize\""))
        web_initialize(x);
    else if (web_is(x, "notifications/"))
        web_reply(x, "202 Accepted", "", "");
    else if (str_starts(buf_str(&x->in), STR("DELETE")))
        web_reply(x, "200 OK", "", "");
    else
        return false;
    return true;
}

static inline bool web_serve_modern(struct exchange *x)
{
    web_take(x);
    if (!web_is(x, "server/discover"))
        return false;
    web_json(x, "",
             "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
             "\"capabilities\":{\"tools\":{\"listChanged\":true}}}");
    return true;
}

static inline bool web_is_get(struct exchange *x)
{
    return str_starts(buf_str(&x->in), STR("GET"));
}

static inline void web_open(struct rig *r, struct web *w, enum mcp_wire wire)
{
    char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", w->server->port);
    struct fetch_header mine[] = {{STR("Authorization"), STR("Bearer t")},
                                  {STR("Mcp-Session-Id"), STR("forged")}};
    struct mcp_dial dial = {.wire = wire,
                            .url = str_from(url),
                            .headers = mine,
                            .nheaders = ARRAY_LEN(mine),
                            .connect_timeout_ms = RIG_WAIT_MS,
                            .reconnect = {.initial_ms = 50, .max_ms = 200, .max_tries = 3}};
    rig_dial(r, &dial);
}
