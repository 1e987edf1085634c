#include <errno.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "http/conn/share.h"

/* ---- life ---- */

/* Unique in this process and not guessable from the one before; getrandom for each request
 * would cost more than parsing it. (The finaliser of splitmix64 is a bijection.) */
static void make_id(struct http_server *s, char out[24])
{
    uint64_t z = s->id_seed + ++s->id_count * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    memcpy(out, "req_", 4);
    hex_encode(out + 4, &z, sizeof(z));
}

static struct request *spare_or_new(struct http_server *s)
{
    struct list_node *node = list_pop(&s->spare);
    if (node) {
        s->nspare--;
        return LIST_ENTRY(node, struct request, node);
    }
    struct request *r = xcalloc(1, sizeof(*r));
    arena_init(&r->pub.arena);
    buf_init(&r->body, s->limits.body_bytes);
    buf_init(&r->headers, HTTP_HEADERS_OUT_MAX);
    return r;
}

struct request *request_new_local(struct http_server *s)
{
    struct request *r = spare_or_new(s);
    list_push(&s->live, &r->node);
    r->replaced = 0;
    r->minor = 1;
    r->is_head = r->is_keep_alive = r->expects_continue = r->is_gone = r->has_bad_header = false;
    r->is_counted = r->is_paused = false;
    r->sink = NULL;
    r->local = NULL;

    struct arena arena = r->pub.arena;
    r->pub = (struct http_req){
        .server = s,
        .arena = arena,
        .body_max = s->limits.body_bytes,
        .started_us = clock_mono_us(),
    };
    make_id(s, r->pub.id);
    s->stats.requests++;
    return r;
}

struct request *request_new(struct http_conn *c)
{
    struct request *r = request_new_local(c->server);
    r->pub.conn = c;
    r->pub.is_local_socket = c->is_local_socket;
    r->pub.peer_uid = c->peer_uid;
    memcpy(r->pub.peer_addr, c->peer_addr, sizeof(r->pub.peer_addr));
    return r;
}

static void request_free(struct request *r)
{
    arena_done(&r->pub.arena);
    buf_done(&r->body);
    buf_done(&r->headers);
    free(r);
}

void request_release(struct request *r)
{
    struct http_server *s = r->pub.server;
    if (s && s->handlers.on_released)
        s->handlers.on_released(s->handlers.ctx, &r->pub);
    share_leave(r);
    list_del(&r->node);
    if (!s || s->nspare >= HTTP_SPARE_MAX) {
        request_free(r);
        return;
    }
    arena_reset(&r->pub.arena);
    if (r->pub.arena.total > HTTP_SPARE_BYTES)
        arena_done(&r->pub.arena);
    buf_recycle(&r->body, HTTP_SPARE_BYTES);
    buf_recycle(&r->headers, HTTP_SPARE_BYTES);
    list_push_front(&s->spare, &r->node);
    s->nspare++;
}

void request_drop_all(struct http_server *s)
{
    LIST_FOREACH (it, &s->spare)
        request_free(LIST_ENTRY(it, struct request, node));
    list_init(&s->spare);
    LIST_EACH (r, &s->live, struct request, node) {
        list_del(&r->node);
        r->payer = NULL;
        r->pub.server = NULL;
    }
}

/* ---- the head ---- */

/* The same slice in the copy of the head. */
static str moved(str s, const char *from, const char *to)
{
    return s.p ? str_make(to + (s.p - from), s.n) : STR_NONE;
}

int request_set_head(struct request *r, const struct http_head *h, str bytes)
{
    struct http_req *q = &r->pub;
    r->minor = h->minor;
    r->is_head = str_eq(h->method, STR("HEAD"));
    r->is_keep_alive = h->has_keep_alive;
    r->expects_continue = h->expects_continue;

    const char *copy = arena_str(&q->arena, bytes).p;
    q->method = moved(h->method, bytes.p, copy);
    q->target = moved(h->target, bytes.p, copy);
    q->query = moved(h->query, bytes.p, copy);
    q->nheaders = h->nheaders;
    q->headers = arena_alloc(&q->arena, h->nheaders * sizeof(*q->headers));
    for (size_t i = 0; i < h->nheaders; i++) {
        q->headers[i].name = moved(h->headers[i].name, bytes.p, copy);
        q->headers[i].value = moved(h->headers[i].value, bytes.p, copy);
    }

    char *path = arena_alloc(&q->arena, h->path.n + 1);
    size_t n;
    if (http_decode_path(h->path, path, &n) < 0)
        return -EINVAL;
    path[n] = '\0';
    q->path = str_make(path, n);
    return 0;
}

/* ---- looking things up ---- */

static const struct http_header *find_header(const struct http_req *r, const char *name)
{
    str wanted = str_from(name);
    for (size_t i = 0; i < r->nheaders; i++)
        if (r->headers[i].name.n == wanted.n && str_eq_nocase(r->headers[i].name, wanted))
            return &r->headers[i];
    return NULL;
}

str http_get_header(const struct http_req *r, const char *name)
{
    const struct http_header *h = find_header(r, name);
    return h ? h->value : STR_NONE;
}

bool http_has_header(const struct http_req *r, const char *name)
{
    return find_header(r, name) != NULL;
}

/* %XX and '+' of a form value. False when it is broken or not text. */
static bool decode_form(str raw, char *out, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i] == '+' ? ' ' : raw.p[i];
        if (c == '%') {
            int high = i + 2 < raw.n ? hex_digit(raw.p[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(raw.p[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0')
            return false;
        out[n++] = c;
    }
    *ret_n = n;
    return utf8_valid(str_make(out, n));
}

static bool decode_into(struct arena *a, str raw, str *ret)
{
    char *out = arena_alloc(a, raw.n + 1);
    size_t n;
    if (!decode_form(raw, out, &n))
        return false;
    out[n] = '\0';
    *ret = str_make(out, n);
    return true;
}

/* Takes the next name and value of the query, as they were sent. */
static bool next_pair(str *rest, str *ret_key, str *ret_value)
{
    str part;
    if (!str_split(rest, '&', &part))
        return false;
    ptrdiff_t eq = str_find_char(part, '=');
    *ret_key = eq < 0 ? part : str_slice(part, 0, (size_t)eq);
    *ret_value = eq < 0 ? STR_NONE : str_skip(part, (size_t)eq + 1);
    return true;
}

bool http_query_check(struct http_req *r, str *ret_name)
{
    str rest = r->query, raw_key, raw_value, key, value;
    while (next_pair(&rest, &raw_key, &raw_value)) {
        bool is_name = decode_into(&r->arena, raw_key, &key);
        if (is_name && decode_into(&r->arena, raw_value, &value))
            continue;
        *ret_name = is_name ? key : STR_NONE;
        return false;
    }
    return true;
}

str http_query(struct http_req *r, const char *name)
{
    str rest = r->query, raw_key, raw_value, key, value, wanted = str_from(name);
    while (next_pair(&rest, &raw_key, &raw_value)) {
        if (raw_key.n < wanted.n || !decode_into(&r->arena, raw_key, &key) || !str_eq(key, wanted))
            continue;
        return decode_into(&r->arena, raw_value, &value) ? value : STR_NONE;
    }
    return STR_NONE;
}

static str cookie_in(str header, str wanted)
{
    str rest = header, part;
    while (str_split(&rest, ';', &part)) {
        part = str_trim(part);
        ptrdiff_t eq = str_find_char(part, '=');
        if (eq < 0 || !str_eq(str_slice(part, 0, (size_t)eq), wanted))
            continue;
        str value = str_skip(part, (size_t)eq + 1);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = str_slice(value, 1, value.n - 1);
        return value;
    }
    return STR_NONE;
}

str http_cookie(const struct http_req *r, const char *name)
{
    str wanted = str_from(name);
    for (size_t i = 0; i < r->nheaders; i++) {
        if (!str_eq_nocase(r->headers[i].name, STR("cookie")))
            continue;
        str value = cookie_in(r->headers[i].value, wanted);
        if (value.p)
            return value;
    }
    return STR_NONE;
}
