/* fetch_request.c - from a caller's spec to a curl handle. */
#include <errno.h>

#include "net/fetch_impl.h"

#define CONNECT_TIMEOUT_MS 10000
#define IDLE_TIMEOUT_MS    120000
#define REDIRECTS_MAX      5
#define KEEPALIVE_IDLE_S   30L
#define KEEPALIVE_PERIOD_S 15L

static bool is_token_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_http_token(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!is_token_char(s.p[i]))
            return false;
    }
    return s.n > 0;
}

/* Anything that could end the line early would let a value forge further headers. */
static bool is_header_value(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* curl only reads the list, so that it may live in our arena. */
static void add_line(struct fetch *f, const str parts[3])
{
    struct curl_slist *item = ARENA_NEW(&f->mem, struct curl_slist);
    item->data = (char *)arena_join(&f->mem, parts, 3).p;
    item->next = f->req.headers;
    f->req.headers = item;
}

static bool has_header(const struct fetch_spec *spec, str name)
{
    for (size_t i = 0; i < spec->nheaders; i++) {
        if (str_eq_nocase(spec->headers[i].name, name))
            return true;
    }
    return false;
}

static int copy_headers(struct fetch *f, const struct fetch_spec *spec, struct err *e)
{
    /* "Expect:" saves the second that curl would wait for "100 Continue"; without "Content-Type:"
     * curl would send that of a form. */
    add_line(f, (const str[3]){STR("Expect:")});
    if (!has_header(spec, STR("content-type")))
        add_line(f, (const str[3]){STR("Content-Type:")});
    for (size_t i = spec->nheaders; i-- > 0;) { /* add_line puts each in front */
        str name = spec->headers[i].name, value = str_trim(spec->headers[i].value);
        if (!is_http_token(name))
            return err_set(e, -EINVAL, "%s: a header's name is not valid", f->req.origin);
        if (!is_header_value(value))
            return err_set(e, -EINVAL, "%s: the header %.*s has a control character in its value",
                           f->req.origin, STR_ARG(name));
        /* curl's way to write a header without a value is a semicolon. */
        add_line(f, (const str[]){name, value.n > 0 ? STR(": ") : STR(";"), value});
    }
    return 0;
}

static int set_url(struct fetch *f, str url, struct err *e)
{
    struct fetch_request *r = &f->req;
    r->url = arena_cstr(&f->mem, url);
    int rc = url_parse((str){r->url, url.n}, &r->parts, e);
    if (rc < 0)
        return rc;
    struct buf origin;
    buf_init(&origin, URL_MAX);
    (void)url_add_origin(&origin, &r->parts);
    r->origin = arena_cstr(&f->mem, buf_str(&origin));
    buf_done(&origin);
    return 0;
}

static int check_policy(const struct fetch_request *r, struct err *e)
{
    if ((r->flags & FETCH_HTTPS_ONLY) && !r->parts.is_https)
        return err_set(e, -EINVAL, "%s: only https:// is allowed here", r->origin);
    if (!(r->flags & FETCH_PUBLIC_ONLY))
        return 0;
    if (r->parts.has_userinfo)
        return err_set(e, -EINVAL, "%s: credentials in the URL are not allowed", r->origin);
    if (r->unix_socket)
        return err_set(e, -EACCES, "%s: local sockets are not allowed", r->origin);
    return 0;
}

int request_copy(struct fetch *f, const struct fetch_spec *spec, struct err *e)
{
    struct fetch_request *r = &f->req;
    r->has_body = spec->has_body || spec->body.n > 0;
    r->body = arena_str(&f->mem, spec->body);
    r->method = arena_cstr(&f->mem, str_from(spec->method  ? spec->method
                                             : r->has_body ? "POST"
                                                           : "GET"));
    r->flags = spec->flags;
    r->connect_timeout_ms =
        spec->connect_timeout_ms ? spec->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    r->idle_timeout_ms = spec->idle_timeout_ms ? spec->idle_timeout_ms : IDLE_TIMEOUT_MS;
    r->body_max = spec->body_max;
    if (spec->unix_socket)
        r->unix_socket = arena_cstr(&f->mem, str_from(spec->unix_socket));
    int rc = set_url(f, spec->url, e);
    if (rc < 0)
        return rc;
    if (!is_http_token(str_from(r->method)))
        return err_set(e, -EINVAL, "%s: the request's method is not valid", r->origin);
    rc = check_policy(r, e);
    return rc < 0 ? rc : copy_headers(f, spec, e);
}

int request_redirect(struct fetch *f, const char *location, struct err *e)
{
    struct fetch_request *r = &f->req;
    if (f->redirects++ == REDIRECTS_MAX)
        return err_set(e, -ELOOP, "%s: more than %d redirects", r->origin, REDIRECTS_MAX);
    struct url from = r->parts;
    const char *origin = r->origin;
    int rc = set_url(f, str_from(location), e);
    if (rc < 0) {
        err_prefix(e, "%s: redirect: ", origin);
        return rc;
    }
    if (!url_same_origin(&from, &r->parts) || r->parts.has_userinfo)
        return err_set(e, -EACCES, "%s: refused to follow a redirect to %s", origin, r->origin);
    int status = f->head.status;
    bool becomes_get = status == 303 || ((status == 301 || status == 302) &&
                                         str_eq(str_from(r->method), STR("POST")));
    if (becomes_get && !str_eq(str_from(r->method), STR("HEAD"))) {
        r->method = "GET";
        r->has_body = false;
    }
    return 0;
}

static size_t read_body(char *to, size_t size, size_t n, void *ctx)
{
    struct fetch *f = ctx;
    str left = str_slice(str_skip(f->req.body, f->body_read), 0, size * n);
    if (left.n > 0)
        memcpy(to, left.p, left.n);
    f->body_read += left.n;
    return left.n;
}

/* curl repeats a request on its own when a kept connection has died. It cannot when it has taken
 * bytes of a body that it cannot rewind. */
static void set_body(struct fetch *f, str body)
{
    const struct curl_api *api = &f->owner->api;
    f->body_read = 0;
    api->easy_setopt(f->easy, CURLOPT_POST, 1L);
    api->easy_setopt(f->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
    if (f->req.flags & FETCH_ONCE) {
        api->easy_setopt(f->easy, CURLOPT_READFUNCTION, read_body);
        api->easy_setopt(f->easy, CURLOPT_READDATA, f);
    } else {
        api->easy_setopt(f->easy, CURLOPT_POSTFIELDS, body.p ? body.p : "");
    }
}

static void set_method(struct fetch *f)
{
    const struct curl_api *api = &f->owner->api;
    const struct fetch_request *r = &f->req;
    bool is_post = str_eq(str_from(r->method), STR("POST"));
    if (r->has_body || is_post)
        set_body(f, r->has_body ? r->body : STR(""));
    if (str_eq(str_from(r->method), STR("HEAD")))
        api->easy_setopt(f->easy, CURLOPT_NOBODY, 1L);
    else if (!is_post)
        api->easy_setopt(f->easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static void set_route(struct fetch *f)
{
    const struct curl_api *api = &f->owner->api;
    const struct fetch_request *r = &f->req;
    if (r->unix_socket)
        api->easy_setopt(f->easy, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
    /* A proxy would connect in our place, out of reach of the address check; and it cannot
     * reach what runs on this machine. Otherwise curl reads the proxy variables. */
    if ((r->flags & FETCH_PUBLIC_ONLY) || r->unix_socket || url_is_local(&r->parts))
        api->easy_setopt(f->easy, CURLOPT_PROXY, "");
    api->easy_setopt(f->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

static void set_tls(struct fetch *f)
{
    const struct curl_api *api = &f->owner->api;
    const char *file = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");
    if (file && file[0])
        api->easy_setopt(f->easy, CURLOPT_CAINFO, file);
    if (dir && dir[0])
        api->easy_setopt(f->easy, CURLOPT_CAPATH, dir);
    api->easy_setopt(f->easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    api->easy_setopt(f->easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    bool is_multiplexed = f->pool == CURL_POOL_MULTIPLEX || f->pool == CURL_POOL_PUBLIC_MULTIPLEX;
    api->easy_setopt(f->easy, CURLOPT_PIPEWAIT, is_multiplexed ? 1L : 0L);
}

int request_open(struct fetch *f, struct err *e)
{
    const struct curl_api *api = &f->owner->api;
    f->easy = api->easy_init();
    if (!f->easy)
        return err_set(e, -ENOMEM, "%s: out of memory", f->req.origin);
    if (api->easy_setopt(f->easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK ||
        api->easy_setopt(f->easy, CURLOPT_URL, f->req.url) != CURLE_OK)
        return err_set(e, -ENOSYS, "%s: this libcurl does not support HTTP and HTTPS",
                       f->req.origin);
    api->easy_setopt(f->easy, CURLOPT_NOSIGNAL, 1L);
    api->easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->req.headers);
    api->easy_setopt(f->easy, CURLOPT_USERAGENT, "nb/" NB_VERSION);
    api->easy_setopt(f->easy, CURLOPT_ERRORBUFFER, f->curl_text);
    api->easy_setopt(f->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)f->req.connect_timeout_ms);
    api->easy_setopt(f->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    api->easy_setopt(f->easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    api->easy_setopt(f->easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_PERIOD_S);
    /* A cancelled fetch must not make the loop wait for a slow name server. */
    (void)api->easy_setopt(f->easy, CURLOPT_QUICK_EXIT, 1L);
    set_method(f);
    set_route(f);
    set_tls(f);
    return 0;
}
