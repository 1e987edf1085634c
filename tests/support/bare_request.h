/* bare_request.h - a request without a connection, for code that only needs one to reply to.
 *
 *     struct http_req *r = bare_request("GET", "/v1/users?limit=5", "");
 *     bare_header(r, "Host", "localhost");
 *     ...
 *     assert_string_equal(bare_reply(), "403 forbidden");
 *
 * One request at a time. A request that nothing replied to is ended with bare_end_request(). */
#pragma once

#include "http/conn/conn.h"
#include "http/conn/parse.h"
#include "support/unit.h"

#define BARE_HEADERS_MAX 8

static struct bare {
    struct http_server *server;
    struct http_req *req; /* until the reply */
    struct http_header headers[BARE_HEADERS_MAX];
    int status;           /* of the reply; 0 = none */
    char sent[1024];      /* headers that the code added */
    char body[16 * 1024]; /* of the reply */
    char summary[160];
} bare;

static inline void on_bare_request(void *ctx, struct http_req *r)
{
    fail_msg("nothing connects");
}

static inline void bare_begin(struct loop *l)
{
    struct http_handlers h = {.on_request = on_bare_request};
    bare = (struct bare){.server = http_server_new(l, &HTTP_LIMITS_DEFAULT, &h)};
}

static inline void on_bare_head(void *ctx, int status, const char *type)
{
    struct request *r = ctx;
    bare.req = NULL;
    bare.status = status;
    snprintf(bare.sent, sizeof bare.sent, "%.*s", STR_ARG(buf_str(&r->headers)));
}

static inline void on_bare_data(void *ctx, str bytes)
{
    snprintf(bare.body, sizeof bare.body, "%.*s", STR_ARG(bytes));
}

static inline void on_bare_end(void *ctx) {}

static inline struct http_req *bare_request(const char *method, const char *target,
                                            const char *body)
{
    static const struct http_local_events EVENTS = {on_bare_head, on_bare_data, on_bare_end};
    struct request *r = request_new_local(bare.server);
    struct http_req *q = &r->pub;
    struct http_head head;
    size_t scanned = 0;
    assert_null(bare.req);
    r->local = xcalloc(1, sizeof *r->local);
    *r->local = (struct http_local){.request = r, .ev = &EVENTS, .ctx = r};
    str text = arena_printf(&q->arena, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n", method, target);
    assert_int_equal(http_parse_head(text, &scanned, &bare.server->limits, &head), HTTP_PARSE_DONE);
    assert_int_equal(request_set_head(r, &head, text), 0);
    q->body = arena_str(&q->arena, str_from(body));
    q->headers = bare.headers;
    q->nheaders = 0;
    bare.req = q;
    bare.status = 0;
    bare.sent[0] = bare.body[0] = '\0';
    return q;
}

static inline void bare_header(struct http_req *r, const char *name, const char *value)
{
    assert_true(r->nheaders < BARE_HEADERS_MAX);
    bare.headers[r->nheaders++] = (struct http_header){str_from(name), str_from(value)};
}

static inline void bare_end_request(void)
{
    if (bare.req)
        http_reply(bare.req, 204, NULL, STR_NONE);
}

/* "403 forbidden" for an error, "200" otherwise, "" without a reply. */
static inline const char *bare_reply(void)
{
    struct arena a;
    struct json *body;
    str code = STR_NONE;
    arena_init(&a);
    if (bare.status >= 400 && json_parse(&a, str_from(bare.body), 0, &body, NULL) == 0)
        code = json_get_string(body, "error");
    if (bare.status > 0)
        snprintf(bare.summary, sizeof bare.summary, "%d%s%.*s", bare.status, code.n > 0 ? " " : "",
                 STR_ARG(code));
    else
        bare.summary[0] = '\0';
    arena_done(&a);
    return bare.summary;
}

static inline void on_bare_stopped(void *flag)
{
    *(bool *)flag = true;
}

static inline void bare_end(struct loop *l)
{
    bool is_stopped = false;
    bare_end_request();
    http_server_stop(bare.server, 0, on_bare_stopped, &is_stopped);
    assert_true(loop_run_until(l, &is_stopped, 60000));
    http_server_free(bare.server);
}
