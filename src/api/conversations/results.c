/* /v1/conversations/:id/blobs/:blob, /v1/conversations/:id/calls/:call/parts/:part - what tools
 * returned, whole.
 *
 * A blob is the JSON text of a large result. A part is one block of a result: its bytes if it has
 * some (pictures, sound, resources), else its text, else its JSON. All of it is foreign: the answer
 * is a download that no browser may show as a page of this server; only pictures and sound keep
 * their type. */
#include <assert.h>
#include <errno.h>

#include "api/exchange.h"
#include "api/handlers.h"
#include "api/views/call_search.h"
#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "base/json/json_scan.h"
#include "base/utf8.h"
#include "bus/vocabulary.h"
#include "store/event/parts.h"

#define PART_MAX        (64u * 1024 * 1024)
#define LOOK_PAGES      64 /* of the log, for the name of a blob */
#define LOOK_PAGE_BYTES (2u * 1024 * 1024)
#define NAME_MAX_BYTES  80

struct result_want { /* in the request's arena */
    struct http_req *req;
    str call, part; /* names of the part */
    struct call_search *search;
    struct store_range range; /* of the log, for a blob */
    unsigned pages;           /* that may still be read */
    str sha256;
    int64_t position;
    int64_t offset, limit; /* limit 0 = to the end */
};

/* ---- the answer ---- */

/* The end of a URI as the name of a file, else the names of call and part. */
static str file_name_of(struct arena *a, const struct result_want *q, str uri)
{
    struct buf b;
    ptrdiff_t slash = str_rfind_char(uri, '/');
    str name = slash >= 0 ? str_skip(uri, (size_t)slash + 1) : uri;
    if (name.n == 0)
        name = q->sha256.n > 0 ? arena_concat(a, str_slice(q->sha256, 0, 16), STR(".json"))
                               : arena_printf(a, "%.*s-%.*s", STR_ARG(q->call), STR_ARG(q->part));
    buf_init(&b, NAME_MAX_BYTES);
    for (size_t i = 0; i < name.n && i < NAME_MAX_BYTES; i++) {
        bool is_safe = str_is_made_of(str_slice(name, i, i + 1), i > 0 ? "._-" : "_");
        buf_add_char(&b, is_safe ? name.p[i] : '_');
    }
    return buf_keep(&b, a);
}

/* A range of a text does not cut characters. */
static str in_range(const struct result_want *q, str bytes, bool is_text)
{
    size_t from = (uint64_t)q->offset < bytes.n ? (size_t)q->offset : bytes.n;
    while (is_text && from < bytes.n && ((unsigned char)bytes.p[from] & 0xc0) == 0x80)
        from++;
    str rest = str_skip(bytes, from);
    size_t limit = q->limit > 0 && (uint64_t)q->limit < rest.n ? (size_t)q->limit : rest.n;
    return is_text ? utf8_truncate(rest, limit) : str_slice(rest, 0, limit);
}

static void send_bytes(const struct result_want *q, const char *type, str name, str bytes)
{
    struct http_req *r = q->req;
    struct arena *a = &r->arena;
    bool is_text =
        str_starts(str_from(type), STR("text/")) || str_eq(str_from(type), STR("application/json"));
    if (!api_may_answer(r))
        return;
    http_add_header(r, "Content-Disposition",
                    arena_printf(a, "attachment; filename=\"%.*s\"", STR_ARG(name)));
    http_add_header(r, "Content-Security-Policy", STR("sandbox; default-src 'none'"));
    http_add_header(r, "Cross-Origin-Resource-Policy", STR("same-origin"));
    http_add_header(r, "X-Total-Bytes", arena_printf(a, "%zu", bytes.n));
    http_reply(r, 200, type, in_range(q, bytes, is_text));
}

static bool wants_range(struct http_req *r, struct result_want *q)
{
    bool is_start = str_eq(api_query(r, "offset"), STR("0"));
    return (is_start || api_query_int(r, "offset", 0, INT64_MAX, &q->offset)) &&
           api_query_int(r, "limit", 0, INT64_MAX, &q->limit);
}

/* ---- parts ---- */

static void send_part(const struct result_want *q, const struct json *block)
{
    struct arena *a = &q->req->arena;
    str base64 = parts_base64(block), text = parts_text(block);
    const struct json *resource = json_get(block, "resource");
    str name = file_name_of(a, q, json_get_string(resource, "uri"));
    bool is_structured = str_eq(q->part, STR("structured"));
    if (base64.n > 0 && !is_structured) {
        struct buf bytes;
        buf_init(&bytes, PART_MAX);
        const char *type = parts_shown_type(parts_mime(block));
        if (base64_decode(&bytes, base64) < 0)
            http_reply_error(q->req, 422, "invalid_base64",
                             "The tool returned bytes that are not valid base64.", NULL);
        else
            send_bytes(q, type ? type : "application/octet-stream", name, buf_str(&bytes));
        buf_done(&bytes);
    } else if (text.n > 0 && !is_structured) {
        send_bytes(q, "text/plain; charset=utf-8", name, text);
    } else {
        send_bytes(q, "application/json", name, json_to_str(a, block));
    }
}

static void on_call_found(void *ctx, const struct err *err, const struct stored_call *call)
{
    struct result_want *q = ctx;
    q->search = NULL;
    q->req->on_gone = NULL;
    const struct json *block = err ? NULL : parts_find(call->result, q->part);
    if (err)
        api_fail(q->req, FROM_STORE, err);
    else if (!block)
        api_not_found(q->req, "part of a result");
    else
        send_part(q, block);
}

static void on_part_gone(struct http_req *r)
{
    struct result_want *q = ((struct api_wait *)r->user)->data;
    call_search_cancel(q->search);
}

static void find_part(struct api_wait *w, const struct conv *c)
{
    struct result_want *q = w->data;
    assert(!q->search);
    w->req->on_gone = on_part_gone;
    q->search = call_search_start(w->space->store, &w->req->arena, w->id, q->call,
                                  (store_pos)q->position, on_call_found, q);
}

void api_results_part(void *ctx, struct http_req *r)
{
    struct result_want *q = ARENA_NEW(&r->arena, struct result_want);
    q->req = r;
    q->call = r->params[1];
    q->part = r->params[2];
    if (!wants_range(r, q) || !api_query_int(r, "position", 0, INT64_MAX, &q->position))
        return;
    if (q->call.n == 0 || q->part.n == 0)
        api_not_found(r, "part of a result");
    else
        (void)api_find_conv(ctx, r, q, find_part);
}

/* ---- blobs ---- */

static void on_blob_read(void *ctx, const struct err *err, str bytes)
{
    struct api_wait *w = ctx;
    struct result_want *q = w->data;
    w->op = NULL;
    if (err && err->code == -ENOENT)
        api_not_found(w->req, "blob");
    else if (err)
        api_fail(w->req, FROM_STORE, err);
    else
        send_bytes(q, "application/json", file_name_of(&w->req->arena, q, STR_NONE), bytes);
}

/* Prompts are blobs too, and a fork has those of all messages of its origin: only a blob that a
 * result in this log names is returned. */
static bool names_blob(const struct result_want *q, str line)
{
    if (str_find(line, q->sha256, 0) < 0 ||
        event_type_of(json_scan_plain(json_scan_field(line, STR("type")))) != EV_TOOL_DONE)
        return false;
    str result = json_scan_field(line, STR("result"));
    return str_eq(json_scan_plain(json_scan_field(result, STR("$blob"))), q->sha256);
}

static void look_for_blob(struct api_wait *w, const struct conv *c);

static void on_look_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct api_wait *w = ctx;
    struct result_want *q = w->data;
    bool is_named = false;
    w->op = NULL;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    for (size_t i = page->n; !is_named && i > 0; i--)
        is_named = names_blob(q, page->events[i - 1].line);
    assert(q->pages > 0);
    q->pages--;
    q->range.before = page->start;
    if (is_named)
        w->op = store_get_blob(w->space->store, w->id, q->sha256, on_blob_read, w);
    else if (page->reached_start || q->pages == 0)
        api_not_found(w->req, "blob");
    else
        look_for_blob(w, NULL);
}

static void look_for_blob(struct api_wait *w, const struct conv *c)
{
    struct result_want *q = w->data;
    w->op = store_read(w->space->store, w->id, &q->range, on_look_page, w);
}

static bool is_sha256(str s)
{
    bool is_hex = s.n == SHA256_HEX_LEN;
    for (size_t i = 0; is_hex && i < s.n; i++)
        is_hex = hex_digit(s.p[i]) >= 0 && (s.p[i] < 'A' || s.p[i] > 'F');
    return is_hex;
}

static void begin_look(struct api_wait *w, const struct conv *c)
{
    struct result_want *q = w->data;
    if (is_sha256(q->sha256))
        look_for_blob(w, c);
    else
        api_not_found(w->req, "blob");
}

void api_results_blob(void *ctx, struct http_req *r)
{
    struct result_want *q = ARENA_NEW(&r->arena, struct result_want);
    q->req = r;
    q->sha256 = r->params[1];
    q->pages = LOOK_PAGES;
    q->range = (struct store_range){.backwards = true, .max_bytes = LOOK_PAGE_BYTES};
    if (wants_range(r, q))
        (void)api_find_conv(ctx, r, q, begin_look);
}
