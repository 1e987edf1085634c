/* What our request parser accepts, llhttp must accept too and read the same way: method,
 * target, headers, body, where the message ends, and whether the connection lives on. (The
 * other direction does not hold: we refuse on purpose much that llhttp lets through.) */
#include <assert.h>
#include <llhttp.h>

#include "base/buf.h"
#include "http/conn/body.h"

enum { TEXT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One message as text: "method target|name=value|...|body". */
struct message {
    struct buf text, body;
    bool is_complete, has_headers, has_value, has_extra, is_keep_alive;
};

static void message_init(struct message *m)
{
    *m = (struct message){0};
    buf_init(&m->text, TEXT_MAX);
    buf_init(&m->body, TEXT_MAX);
}

static void message_done(struct message *m)
{
    buf_done(&m->text);
    buf_done(&m->body);
}

/* ---- ours ---- */

static bool read_body(const struct http_head *h, str in, struct message *m, size_t *ret_used)
{
    struct http_body b;
    str rest = in, data;
    enum http_parse got = HTTP_PARSE_DONE;
    http_body_init(&b, h);
    if (!http_body_is_done(&b)) {
        do {
            got = http_body_next(&b, &rest, &data);
            buf_add_str(&m->body, data);
        } while (got == HTTP_PARSE_MORE && rest.n);
    }
    m->has_extra = b.extra > 0;
    *ret_used = in.n - rest.n;
    return got == HTTP_PARSE_DONE;
}

/* The bytes of the message, or 0 when it is not acceptable or not complete. */
static size_t read_ours(str in, struct message *m, const struct http_head **ret_head)
{
    static struct http_head h;
    size_t scanned = 0, used;
    if (http_parse_head(in, &scanned, &HTTP_LIMITS_DEFAULT, &h) != HTTP_PARSE_DONE)
        return 0;
    buf_printf(&m->text, "%.*s %.*s", STR_ARG(h.method), STR_ARG(h.target));
    for (size_t i = 0; i < h.nheaders; i++)
        buf_printf(&m->text, "|%.*s=%.*s", STR_ARG(h.headers[i].name), STR_ARG(h.headers[i].value));
    m->is_keep_alive = h.has_keep_alive;
    *ret_head = &h;
    return read_body(&h, str_skip(in, h.bytes), m, &used) ? h.bytes + used : 0;
}

/* ---- llhttp's ---- */

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct message *m = p->data;
    if (m->text.n == 0)
        buf_printf(&m->text, "%s ", llhttp_method_name((llhttp_method_t)p->method));
    return buf_add(&m->text, at, n);
}

static int on_field(llhttp_t *p, const char *at, size_t n)
{
    struct message *m = p->data;
    if (m->has_headers) /* a trailer */
        return 0;
    if (m->has_value)
        buf_add_char(&m->text, '|');
    m->has_value = false;
    return buf_add(&m->text, at, n);
}

/* llhttp keeps white space behind values. */
static int on_value_done(llhttp_t *p)
{
    struct message *m = p->data;
    if (m->has_headers)
        return 0;
    while (m->text.p[m->text.n - 1] == ' ' || m->text.p[m->text.n - 1] == '\t')
        buf_truncate(&m->text, m->text.n - 1);
    m->has_value = true;
    return 0;
}

static int on_field_done(llhttp_t *p)
{
    struct message *m = p->data;
    return m->has_headers ? 0 : buf_add_char(&m->text, '=');
}

static int on_url_done(llhttp_t *p)
{
    struct message *m = p->data;
    m->has_value = true;
    return 0;
}

static int on_value(llhttp_t *p, const char *at, size_t n)
{
    struct message *m = p->data;
    return m->has_headers ? 0 : buf_add(&m->text, at, n);
}

static int on_headers_done(llhttp_t *p)
{
    struct message *m = p->data;
    m->has_headers = true;
    return 0;
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct message *m = p->data;
    return buf_add(&m->body, at, n);
}

static int on_complete(llhttp_t *p)
{
    struct message *m = p->data;
    assert(!m->is_complete);
    m->is_complete = true;
    m->is_keep_alive = llhttp_should_keep_alive(p);
    return 0;
}

/* llhttp refuses some extensions that RFC 9112 allows ("a=b;c"), and trailers with the names
 * of framing headers, all of which we throw away. */
static void read_theirs(str in, struct message *m, bool may_refuse)
{
    llhttp_settings_t settings;
    llhttp_t parser;
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_url_complete = on_url_done;
    settings.on_header_field = on_field;
    settings.on_header_field_complete = on_field_done;
    settings.on_header_value = on_value;
    settings.on_header_value_complete = on_value_done;
    settings.on_headers_complete = on_headers_done;
    settings.on_body = on_body;
    settings.on_message_complete = on_complete;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = m;

    llhttp_errno_t rc = llhttp_execute(&parser, in.p, in.n - 1);
    assert(!m->is_complete);
    if (rc == HPE_OK)
        rc = llhttp_execute(&parser, in.p + in.n - 1, 1);
    assert(rc == HPE_OK || (may_refuse && m->has_headers));
    assert(rc != HPE_OK || m->is_complete);
}

/* ---- comparing ---- */

/* llhttp takes only spaces, not tabs, around a length or a coding. */
static bool has_tab_around(const struct http_header *f)
{
    for (const char *p = f->name.p + f->name.n + 1; *p != '\r'; p++)
        if (*p == '\t' && (p < f->value.p || p >= f->value.p + f->value.n))
            return true;
    return false;
}

/* llhttp knows a fixed list of methods, and leaves HTTP where somebody asks for an upgrade. */
static bool is_comparable(const struct http_head *h)
{
    static const char *const METHODS[] = {"GET",   "HEAD",   "POST",   "PUT",
                                          "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < h->nheaders; i++)
        if (str_eq_nocase(h->headers[i].name, STR("upgrade")) || has_tab_around(&h->headers[i]))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++)
        if (str_eq(h->method, str_from(METHODS[i])))
            return true;
    return false;
}

static void compare(const struct message *ours, const struct message *theirs)
{
    assert(str_eq(buf_str(&ours->text), buf_str(&theirs->text)));
    if (!theirs->is_complete)
        return;
    assert(str_eq(buf_str(&ours->body), buf_str(&theirs->body)));
    /* llhttp lets "keep-alive" win over "close", and a trailer close the connection. */
    assert(!ours->is_keep_alive || theirs->is_keep_alive || ours->has_extra);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message ours, theirs;
    const struct http_head *h = NULL;
    message_init(&ours);
    message_init(&theirs);
    size_t n = read_ours(str_make((const char *)data, size), &ours, &h);
    if (n && is_comparable(h)) {
        read_theirs(str_make((const char *)data, n), &theirs, ours.has_extra);
        compare(&ours, &theirs);
    }
    message_done(&ours);
    message_done(&theirs);
    return 0;
}
