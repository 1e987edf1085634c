#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "base/text/plain.h"
#include "http/conn/share.h"

#define HEADER_FAILED                                                                              \
    "{\"error\":\"internal_error\",\"message\":\"A response header could not be sent.\"}"

#define TOO_MUCH_UNREAD                                                                            \
    "{\"error\":\"unavailable\",\"message\":\"Too many response bytes are unread. "                \
    "Read the earlier responses or close their connections, then retry.\"}"

enum { SMALL_BODY = 4096 }; /* cheaper to copy behind the head than to send as a second piece */

static const struct {
    int status;
    const char *code; /* of our own error bodies */
    const char *text;
} STATUSES[] = {
    {200, NULL, "OK"},
    {201, NULL, "Created"},
    {202, NULL, "Accepted"},
    {204, NULL, "No Content"},
    {206, NULL, "Partial Content"},
    {301, NULL, "Moved Permanently"},
    {302, NULL, "Found"},
    {303, NULL, "See Other"},
    {304, NULL, "Not Modified"},
    {307, NULL, "Temporary Redirect"},
    {308, NULL, "Permanent Redirect"},
    {400, "bad_request", "Bad Request"},
    {401, "unauthorized", "Unauthorized"},
    {402, "payment_required", "Payment Required"},
    {403, "forbidden", "Forbidden"},
    {404, "not_found", "Not Found"},
    {405, "method_not_allowed", "Method Not Allowed"},
    {406, "not_acceptable", "Not Acceptable"},
    {408, "request_timeout", "Request Timeout"},
    {409, "conflict", "Conflict"},
    {410, "gone", "Gone"},
    {411, "length_required", "Length Required"},
    {412, "precondition_failed", "Precondition Failed"},
    {413, "payload_too_large", "Content Too Large"},
    {414, "uri_too_long", "URI Too Long"},
    {415, "unsupported_media_type", "Unsupported Media Type"},
    {416, "range_not_satisfiable", "Range Not Satisfiable"},
    {417, "expectation_failed", "Expectation Failed"},
    {421, "misdirected_request", "Misdirected Request"},
    {422, "unprocessable", "Unprocessable Content"},
    {425, "too_early", "Too Early"},
    {426, "upgrade_required", "Upgrade Required"},
    {428, "precondition_required", "Precondition Required"},
    {429, "rate_limited", "Too Many Requests"},
    {431, "headers_too_large", "Request Header Fields Too Large"},
    {500, "internal_error", "Internal Server Error"},
    {501, "not_implemented", "Not Implemented"},
    {502, "bad_gateway", "Bad Gateway"},
    {503, "unavailable", "Service Unavailable"},
    {504, "gateway_timeout", "Gateway Timeout"},
    {505, "http_version_not_supported", "HTTP Version Not Supported"},
    {507, "insufficient_storage", "Insufficient Storage"},
};

const char *http_status_text(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(STATUSES); i++)
        if (STATUSES[i].status == status)
            return STATUSES[i].text;
    return "Unknown";
}

static const char *error_code(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(STATUSES); i++)
        if (STATUSES[i].status == status && STATUSES[i].code)
            return STATUSES[i].code;
    return "error";
}

/* ---- headers ---- */

/* On every answer, unless the handler sets the same header itself. */
static const struct {
    str name, value;
} DEFAULTS[] = {
    {STR_INIT("X-Content-Type-Options"), STR_INIT("nosniff")},
    {STR_INIT("X-Frame-Options"), STR_INIT("DENY")},
    {STR_INIT("Referrer-Policy"), STR_INIT("strict-origin-when-cross-origin")},
    {STR_INIT("X-XSS-Protection"), STR_INIT("0")},
    {STR_INIT("Permissions-Policy"), STR_INIT("camera=(), microphone=(), geolocation=()")},
    {STR_INIT("Content-Security-Policy"),
     STR_INIT("default-src 'none'; frame-ancestors 'none'; base-uri 'none'")},
    {STR_INIT("Cache-Control"), STR_INIT("no-store")},
};

static void add_header_line(struct buf *out, str name, str value)
{
    buf_add_str(out, name);
    buf_add(out, ": ", 2);
    buf_add_str(out, value);
    buf_add(out, "\r\n", 2);
}

static bool is_header_text(str name, str value)
{
    for (size_t i = 0; i < name.n; i++)
        if (!http_is_token_char(name.p[i]))
            return false;
    for (size_t i = 0; i < value.n; i++)
        if (!http_is_value_char(value.p[i]))
            return false;
    return name.n > 0;
}

void http_add_header(struct http_req *q, const char *name, str value)
{
    struct request *r = request_of(q);
    str n = str_from(name);
    size_t before = r->headers.n;
    if (!is_header_text(n, value)) {
        r->has_bad_header = true;
        return;
    }
    for (unsigned i = 0; i < ARRAY_LEN(DEFAULTS); i++)
        if (str_eq_nocase(n, DEFAULTS[i].name))
            r->replaced |= 1u << i;
    if (value.n)
        add_header_line(&r->headers, n, value);
    if (buf_failed(&r->headers)) {
        buf_truncate(&r->headers, before);
        r->has_bad_header = true;
    }
}

/* IMF-fixdate, formatted once per second. */
static str date_now(struct http_server *s)
{
    static const char DAYS[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char MONTHS[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t now_s = clock_now_ms() / 1000;
    if (now_s != s->date_s) {
        struct tm tm;
        time_t t = (time_t)now_s;
        gmtime_r(&t, &tm);
        (void)snprintf(s->date, sizeof(s->date), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                       DAYS[tm.tm_wday], tm.tm_mday, MONTHS[tm.tm_mon], tm.tm_year + 1900,
                       tm.tm_hour, tm.tm_min, tm.tm_sec);
        s->date_s = now_s;
    }
    return str_from(s->date);
}

static void add_status_line(struct buf *out, int status)
{
    buf_add_lit(out, "HTTP/1.1 ");
    buf_add_u64(out, (uint64_t)status);
    buf_add_char(out, ' ');
    buf_add_lit(out, http_status_text(status));
    buf_add(out, "\r\n", 2);
}

/* Formats status line and headers into server->out_head; more is added by the caller, who
 * ends it with an empty line. */
static struct buf *response_begin(struct request *r, int status)
{
    struct http_server *s = r->pub.server;
    struct buf *out = &s->out_head;
    buf_clear(out);
    add_status_line(out, status);
    add_header_line(out, STR("Date"), date_now(s));
    add_header_line(out, STR("X-Request-Id"), str_from(r->pub.id));
    for (unsigned i = 0; i < ARRAY_LEN(DEFAULTS); i++)
        if (!(r->replaced & 1u << i))
            add_header_line(out, DEFAULTS[i].name, DEFAULTS[i].value);
    buf_add_str(out, buf_str(&r->headers));
    return out;
}

/* ---- sending ---- */

/* Whether the start of the next request on this connection is known. A client that waits for
 * "100 Continue" and gets a refusal may or may not send its body: the server cannot tell. */
static bool can_keep_alive(const struct request *r)
{
    const struct http_conn *c = r->pub.conn;
    uint64_t left;
    if (!r->is_keep_alive || c->server->is_stopping)
        return false;
    if (http_body_is_done(&c->body))
        return true;
    return !r->expects_continue && http_body_length_left(&c->body, &left) &&
           left <= c->server->limits.drain_bytes;
}

/* Decides whether the connection is kept, and adds a Connection header if the client would expect
 * otherwise. */
static void response_add_connection(struct request *r, struct buf *out)
{
    struct http_conn *c = r->pub.conn;
    c->is_keep_alive = can_keep_alive(r);
    if (!c->is_keep_alive)
        add_header_line(out, STR("Connection"), STR("close"));
    else if (r->minor == 0)
        add_header_line(out, STR("Connection"), STR("keep-alive"));
}

static bool has_no_body(int status)
{
    return status == 204 || status == 304 || status < 200;
}

static void format_head(struct request *r, int status, const char *type, size_t body_bytes)
{
    struct buf *out = response_begin(r, status);
    if (type) /* foreign text: it may come from a remote server */
        add_header_line(out, STR("Content-Type"),
                        is_header_text(STR("Content-Type"), str_from(type))
                            ? str_from(type)
                            : STR("application/octet-stream"));
    if (!has_no_body(status)) {
        buf_add_lit(out, "Content-Length: ");
        buf_add_u64(out, body_bytes);
        buf_add(out, "\r\n", 2);
    }
    response_add_connection(r, out);
    buf_add(out, "\r\n", 2);
}

void response_begin_stream(struct request *r, const char *type, int status, int64_t length)
{
    struct buf *out = response_begin(r, status);
    buf_printf(out, "Content-Type: %s\r\n", type);
    if (length >= 0)
        buf_printf(out, "Content-Length: %lld\r\n", (long long)length);
    else if (r->minor == 1)
        buf_add_lit(out, "Transfer-Encoding: chunked\r\n");
    else
        r->is_keep_alive = false; /* the end of the connection is the end of the stream */
    response_add_connection(r, out);
    buf_add_lit(out, "\r\n");
}

/* Calls on_answered and detaches the request from its connection. */
struct http_conn *response_detach(struct request *r, int status)
{
    struct http_conn *c = r->pub.conn;
    const struct http_handlers *h = &c->server->handlers;
    if (h->on_answered)
        h->on_answered(h->ctx, &r->pub, status);
    c->req = NULL;
    return c;
}

static void response_send(struct http_req *q, int status, const char *type, str body,
                          bool is_static)
{
    struct request *r = request_of(q);
    assert(!r->is_gone);
    if (r->local)
        local_answer(r, status, type, body);
    if (!q->conn) { /* of this process, or the client disconnected; on_answered is called anyway */
        const struct http_handlers *h = q->server ? &q->server->handlers : NULL;
        if (h && h->on_answered)
            h->on_answered(h->ctx, q, status);
        request_release(r);
        return;
    }
    assert(q->conn->req == r);
    if (r->has_bad_header) {
        status = 500;
        type = "application/json";
        body = STR(HEADER_FAILED);
        is_static = true;
    }
    if (body.n > SMALL_BODY && !is_static && !tally_has_room(q->conn, body.n)) {
        status = 503;
        type = "application/json";
        body = STR(TOO_MUCH_UNREAD);
    }
    format_head(r, status, type, body.n);
    if (r->is_head || has_no_body(status))
        body = STR_NONE;
    struct buf *out = &q->server->out_head;
    if (body.n <= SMALL_BODY && buf_add_str(out, body) == 0)
        body = STR_NONE;
    struct http_server *s = q->server;
    bool is_paid = share_begin_answer(q->conn);
    struct http_conn *c = response_detach(r, status);
    if (conn_write(c, buf_str(out), body, is_static))
        conn_answered(c);
    request_release(r);
    if (is_paid)
        share_end(s);
}

void http_reply(struct http_req *q, int status, const char *type, str body)
{
    response_send(q, status, type, body, false);
}

void http_reply_static(struct http_req *q, int status, const char *type, str body)
{
    response_send(q, status, type, body, true);
}

static bool has_reader(const struct http_req *q)
{
    return q->conn || request_of(q)->local;
}

void http_reply_json(struct http_req *q, int status, const struct json *v)
{
    if (!has_reader(q)) {
        response_send(q, status, NULL, STR_NONE, false);
        return;
    }
    struct buf *out = &q->server->out_body;
    buf_clear(out);
    if (json_write(out, v) < 0) {
        http_reply_error(q, 500, "internal_error", "The response is too large.", NULL);
        return;
    }
    struct http_server *s = q->server;
    response_send(q, status, "application/json", buf_str(out), false);
    buf_recycle(&s->out_body, HTTP_SPARE_BYTES);
}

/* A client over the Unix socket, or in this process, owns the files. Other clients do not get paths
 * of this machine: those are only logged. */
static str for_reader(struct http_req *q, int status, const char *message)
{
    str full = str_from(message);
    if (!q->conn || q->is_local_socket)
        return full;
    str shown = plain_without_paths(&q->arena, full);
    struct http_server *s = q->server;
    bool is_hidden = shown.p != full.p;
    if ((!is_hidden && status < 500) || s->date_s == s->error_logged_s)
        return shown;
    s->error_logged_s = s->date_s; /* one a second: refused requests must not fill the log */
    const struct log_ids ids = {.request = str_from(q->id)};
    log_msg_for(loop_log(s->loop), LOG_WARN, "http", &ids, "%.*s %.*s was answered with %d: %s",
                STR_ARG(q->method), STR_ARG(q->path), status, message);
    return shown;
}

static void write_own_error(struct json_writer *w, const char *code, str message,
                            const struct json *details)
{
    jw_object(w);
    jw_kcstr(w, "error", code);
    jw_kstr(w, "message", message);
    if (details)
        jw_kval(w, "details", details);
    jw_end(w);
}

void http_reply_error(struct http_req *q, int status, const char *code, const char *message,
                      const struct json *details)
{
    if (!has_reader(q)) {
        response_send(q, status, NULL, STR_NONE, false);
        return;
    }
    struct http_server *s = q->server;
    str shown = for_reader(q, status, message);
    struct json_writer w;
    buf_clear(&s->out_body);
    jw_init(&w, &s->out_body);
    if (q->write_error)
        q->write_error(&w, status, code ? code : error_code(status), shown);
    else
        write_own_error(&w, code ? code : error_code(status), shown, details);
    response_send(q, status, "application/json", buf_str(&s->out_body), false);
    buf_recycle(&s->out_body, HTTP_SPARE_BYTES);
}

void response_refuse(struct request *r, int status, const char *message)
{
    http_reply_error(&r->pub, status, NULL, message, NULL);
}

void response_fail(struct http_conn *c, int status, const char *message)
{
    struct request *r = c->req = request_new(c);
    response_refuse(r, status, message);
}
