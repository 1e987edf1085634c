#include "apps/ui_resource.h"

#include <assert.h>

#include "base/bytes/base64.h"
#include "base/utf8.h"

#define TYPE_MAX 128

const char *ui_problem_code(enum ui_problem p)
{
    static const char *const CODES[] = {
        [UI_MISSING] = "resource_missing",    [UI_TOO_LARGE] = "resource_too_large",
        [UI_TYPE] = "resource_type",          [UI_ENCODING] = "resource_encoding",
        [UI_UNAVAILABLE] = "app_unavailable",
    };
    return CODES[p];
}

/* ---- pages ---- */

struct ui_page *ui_page_ref(struct ui_page *p)
{
    p->refs++;
    return p;
}

struct ui_page *ui_page_unref(struct ui_page *p)
{
    if (!p || --p->refs > 0)
        return NULL;
    arena_done(&p->arena);
    free(p);
    return NULL;
}

void ui_pages_init(struct ui_pages *p)
{
    list_init(&p->kept);
    p->bytes = p->n = 0;
    p->changes = 0;
}

static void forget(struct ui_pages *p, struct ui_page *page)
{
    assert(p->bytes >= page->html.n && p->n > 0);
    p->bytes -= page->html.n;
    p->n--;
    list_del(&page->node);
    ui_page_unref(page);
}

void ui_pages_done(struct ui_pages *p)
{
    LIST_EACH (page, &p->kept, struct ui_page, node)
        forget(p, page);
}

void ui_pages_forget(struct ui_pages *p, str source)
{
    p->changes++;
    LIST_EACH (page, &p->kept, struct ui_page, node)
        if (str_eq(page->source, source))
            forget(p, page);
}

struct ui_page *ui_pages_find(struct ui_pages *p, str source, str user_id, str uri,
                              bool is_placement)
{
    LIST_EACH (page, &p->kept, struct ui_page, node) {
        if (!str_eq(page->uri, uri) || !str_eq(page->source, source) ||
            !str_eq(page->user_id, user_id) || (page->is_plain && !is_placement))
            continue;
        list_del(&page->node);
        list_push(&p->kept, &page->node);
        return page;
    }
    return NULL;
}

static void keep_page(struct ui_pages *p, struct ui_page *page)
{
    struct ui_page *old = ui_pages_find(p, page->source, page->user_id, page->uri, true);
    if (old)
        forget(p, old); /* two readings were in progress */
    list_push(&p->kept, &page->node);
    p->bytes += ui_page_ref(page)->html.n;
    p->n++;
    while (p->bytes > UI_PAGES_BYTES_MAX || p->n > UI_PAGES_MAX)
        forget(p, LIST_ENTRY(p->kept.next, struct ui_page, node));
}

/* ---- one content item ---- */

/* "text/html; profile=mcp-app" is the same type with other spaces. */
static bool is_type(str given, str wanted)
{
    char text[TYPE_MAX];
    size_t n = 0;
    for (size_t i = 0; i < given.n && n < sizeof text; i++)
        if (given.p[i] != ' ' && given.p[i] != '"')
            text[n++] = given.p[i];
    return str_eq_nocase(str_make(text, n), wanted);
}

static bool is_html(str type)
{
    ptrdiff_t end = str_find_char(type, ';');
    return is_type(end < 0 ? type : str_slice(type, 0, (size_t)end), STR("text/html"));
}

/* The one with this address, among contents or entries of a list; or NULL. */
static const struct json *find_resource(const struct json *list, str uri)
{
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "uri"), uri))
            return &list->items[i];
    return NULL;
}

static enum ui_problem decode_blob(struct arena *a, str blob, str *ret)
{
    struct buf out;
    if (blob.n > (size_t)UI_HTML_MAX / 3 * 4 + 4)
        return UI_TOO_LARGE;
    buf_init(&out, UI_HTML_MAX + 4);
    bool ok = base64_decode(&out, blob) == 0 && utf8_valid(buf_str(&out));
    *ret = buf_keep(&out, a);
    return ok ? UI_OK : UI_ENCODING;
}

static enum ui_problem read_html(struct arena *a, const struct json *item, str *ret)
{
    const struct json *text = json_get(item, "text"), *blob = json_get(item, "blob");
    enum ui_problem why = UI_OK;
    if (json_is(text, JSON_STRING))
        *ret = text->s;
    else if (json_is(blob, JSON_STRING))
        why = decode_blob(a, blob->s, ret);
    else
        why = UI_ENCODING;
    return why == UI_OK && ret->n > UI_HTML_MAX ? UI_TOO_LARGE : why;
}

/* ---- reading ---- */

struct ui_read {
    struct ui_pages *pages;
    struct bundle *bundle;
    struct bundle_call *call;
    struct ui_page *page; /* being made */
    uint64_t changes;     /* of the pages, when it began */
    bool is_placement;
    unsigned listed; /* pages of resources/list that were read */
    ui_read_fn fn;
    void *ctx;
};

static void ui_read_free(struct ui_read *r)
{
    ui_page_unref(r->page);
    free(r);
}

void ui_read_cancel(struct ui_read *r)
{
    assert(r->call);
    bundle_cancel(r->call, "The interface is not needed any more.");
    ui_read_free(r);
}

static void fail(struct ui_read *r, enum ui_problem why, const char *words)
{
    struct arena *a = &r->page->arena;
    str message =
        arena_printf(a, "%.*s of %.*s: %s", STR_ARG(r->page->uri), STR_ARG(r->page->source), words);
    r->fn(r->ctx, NULL, why, message);
    ui_read_free(r);
}

static void succeed(struct ui_read *r, const struct json *ui)
{
    struct ui_page *page = r->page;
    page->meta = ui_meta_read(&page->arena, ui);
    if (r->changes == r->pages->changes)
        keep_page(r->pages, page);
    r->fn(r->ctx, page, UI_OK, STR_NONE);
    ui_read_free(r);
}

static void ask_server(struct ui_read *r, str method, const char *key, str value,
                       void (*done)(void *ctx, const struct mcp_reply *reply));

/* A server that does not list its resources has said nothing about them. */
static void on_ui_listed(void *ctx, const struct mcp_reply *reply)
{
    struct ui_read *r = ctx;
    const struct json *entry = find_resource(json_get(reply->result, "resources"), r->page->uri);
    str next = json_get_string(reply->result, "nextCursor");
    r->call = NULL;
    if (!entry && next.n > 0 && ++r->listed < UI_LIST_PAGES_MAX)
        ask_server(r, STR("resources/list"), "cursor", next, on_ui_listed);
    else
        succeed(r, ui_meta_of_entry(entry));
}

static const char *const WORDS[] = {
    [UI_MISSING] = "the server has no such resource",
    [UI_TOO_LARGE] = "it is larger than 8 MiB",
    [UI_TYPE] = "its type is not text/html;profile=mcp-app",
    [UI_ENCODING] = "it is neither text nor base64 of UTF-8",
};

static void use_contents(struct ui_read *r, const struct json *result)
{
    struct ui_page *page = r->page;
    const struct json *contents = json_get(result, "contents");
    const struct json *item = find_resource(contents, page->uri);
    if (!item)
        item = json_at(contents, 0); /* some servers name it differently */
    const struct json *ui = ui_meta_find(item, result);
    str type = json_get_string(item, "mimeType"), html = STR_NONE;
    enum ui_problem why;
    page->is_plain = !is_type(type, STR("text/html;profile=mcp-app"));
    if (!json_is(item, JSON_OBJECT))
        why = UI_MISSING;
    else if (page->is_plain && !(r->is_placement && is_html(type)))
        why = UI_TYPE;
    else
        why = read_html(&page->arena, item, &html);
    if (why != UI_OK) {
        fail(r, why, WORDS[why]);
        return;
    }
    page->html = arena_str(&page->arena, html);
    sha256_hex(page->html, page->sha256);
    if (ui)
        succeed(r, ui);
    else
        ask_server(r, STR("resources/list"), NULL, STR_NONE, on_ui_listed);
}

static void on_ui_read(void *ctx, const struct mcp_reply *reply)
{
    struct ui_read *r = ctx;
    r->call = NULL;
    if (reply->err)
        fail(r, UI_UNAVAILABLE,
             arena_cstr(&r->page->arena, bundle_failure(r->bundle, &r->page->arena, reply->err)));
    else if (reply->error)
        fail(r, UI_MISSING, WORDS[UI_MISSING]);
    else
        use_contents(r, reply->result);
}

static void ask_server(struct ui_read *r, str method, const char *key, str value,
                       void (*done)(void *ctx, const struct mcp_reply *reply))
{
    struct arena *a = &r->page->arena;
    struct json *params = json_new(a, JSON_OBJECT);
    const struct mcp_call_events *ev = arena_copy(a, &(struct mcp_call_events){.done = done}, 1, 1,
                                                  sizeof(struct mcp_call_events));
    assert(!r->call);
    if (key)
        json_set(a, params, str_from(key), json_of_str(arena_str(a, value)));
    struct mcp_request req = {.method = method, .params = params};
    r->call = bundle_request_as(r->bundle, r->page->user_id, &req, ev, r);
}

struct ui_read *ui_read_start(struct ui_pages *pages, struct bundle *b, str user_id, str uri,
                              bool is_placement, ui_read_fn fn, void *ctx)
{
    struct ui_read *r = xcalloc(1, sizeof *r);
    struct ui_page *page = xcalloc(1, sizeof *page);
    page->refs = 1;
    list_init(&page->node);
    arena_init(&page->arena);
    page->source = arena_str(&page->arena, bundle_entry(b)->server_name);
    page->user_id = bundle_is_per_person(b) ? arena_str(&page->arena, user_id) : STR_NONE;
    page->uri = arena_str(&page->arena, uri);
    *r = (struct ui_read){.pages = pages,
                          .bundle = b,
                          .page = page,
                          .changes = pages->changes,
                          .is_placement = is_placement,
                          .fn = fn,
                          .ctx = ctx};
    ask_server(r, STR("resources/read"), "uri", uri, on_ui_read);
    return r;
}
