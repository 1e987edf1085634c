/* The server behind the bundle is the test itself. */
#include <errno.h>

#include "apps/ui_resource.h"
#include "base/bytes/base64.h"
#include "support/unit.h"

#define TYPE "\"mimeType\":\"text/html;profile=mcp-app\""

static struct arena arena;
static struct ui_pages pages;
static struct bundle_entry entry = {.server_name = STR_INIT("maps")};
static bool is_per_person;
static struct {
    char method[40], param[100], user_id[40];
    const struct mcp_call_events *ev;
    void *ctx;
    int n, cancelled;
} asked;
static struct {
    int n;
    struct ui_page *page;
    enum ui_problem why;
    char message[200];
} got;

const struct bundle_entry *bundle_entry(const struct bundle *b)
{
    return &entry;
}

bool bundle_is_per_person(const struct bundle *b)
{
    return is_per_person;
}

str bundle_failure(struct bundle *b, struct arena *a, const struct err *err)
{
    return STR("maps is dead");
}

struct bundle_call *bundle_request_as(struct bundle *b, str user_id, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    snprintf(asked.method, sizeof asked.method, "%.*s", STR_ARG(req->method));
    snprintf(asked.param, sizeof asked.param, "%.*s", STR_ARG(json_to_str(&arena, req->params)));
    snprintf(asked.user_id, sizeof asked.user_id, "%.*s", STR_ARG(user_id));
    asked.ev = ev;
    asked.ctx = ctx;
    asked.n++;
    return (struct bundle_call *)&asked;
}

void bundle_cancel(struct bundle_call *c, const char *reason)
{
    asked.cancelled++;
}

static int set_up(void **state)
{
    arena_init(&arena);
    ui_pages_init(&pages);
    memset(&asked, 0, sizeof asked);
    memset(&got, 0, sizeof got);
    is_per_person = false;
    return 0;
}

static int tear_down(void **state)
{
    ui_page_unref(got.page);
    ui_pages_done(&pages);
    arena_done(&arena);
    return 0;
}

static void on_read(void *ctx, struct ui_page *page, enum ui_problem why, str message)
{
    got.n++;
    ui_page_unref(got.page);
    got.page = page ? ui_page_ref(page) : NULL;
    got.why = why;
    snprintf(got.message, sizeof got.message, "%.*s", STR_ARG(message));
}

static struct ui_read *read_page(const char *uri, bool is_placement)
{
    return ui_read_start(&pages, (struct bundle *)&entry, STR("usr_ana"), str_from(uri),
                         is_placement, on_read, NULL);
}

static void reply(str text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, text, JSON_COPY, &v, NULL), 0);
    struct mcp_reply r = {.result = v};
    asked.ev->done(asked.ctx, &r);
}

static void expect_problem(const char *contents, enum ui_problem why)
{
    read_page("ui://maps/x", false);
    reply(arena_printf(&arena, "{\"contents\":[%s]}", contents));
    assert_null(got.page);
    assert_int_equal(got.why, why);
    assert_true(str_starts(str_from(got.message), STR("ui://maps/x of maps: ")));
}

TEST_WITH(a_page_has_its_html_checksum_and_metadata, set_up, tear_down)
{
    read_page("ui://maps/x", false);
    assert_string_equal(asked.method, "resources/read");
    assert_string_equal(asked.param, "{\"uri\":\"ui://maps/x\"}");
    reply(
        STR("{\"contents\":[{\"uri\":\"ui://other\",\"text\":\"no\"},{\"uri\":\"ui://maps/x\"," TYPE
            ",\"text\":\"<p>\",\"_meta\":{\"ui\":{\"prefersBorder\":true}}}]}"));
    assert_int_equal(got.n, 1);
    assert_string_equal(got.page->html.p, "<p>");
    assert_int_equal(got.page->meta.border, UI_BORDER_SHOWN);
    assert_int_equal(strlen(got.page->sha256), SHA256_HEX_LEN);
    assert_ptr_equal(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://maps/x"), false),
                     got.page);
    assert_null(ui_pages_find(&pages, STR("other"), STR_NONE, STR("ui://maps/x"), false));
    ui_pages_forget(&pages, STR("other"));
    assert_int_equal(pages.bytes, 3);
    ui_pages_forget(&pages, STR("maps"));
    assert_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://maps/x"), false));
    assert_int_equal(pages.bytes, 0);
}

TEST_WITH(metadata_of_the_list_is_used_when_the_resource_has_none, set_up, tear_down)
{
    read_page("ui://maps/x", false);
    reply(STR("{\"contents\":[{" TYPE ",\"text\":\"<p>\"}]}"));
    assert_string_equal(asked.method, "resources/list");
    assert_string_equal(asked.param, "{}");
    reply(STR("{\"resources\":[{\"uri\":\"ui://maps/y\"}],\"nextCursor\":\"two\"}"));
    assert_string_equal(asked.param, "{\"cursor\":\"two\"}");
    reply(STR("{\"resources\":[{\"uri\":\"ui://maps/"
              "x\",\"_meta\":{\"ui\":{\"csp\":{\"connectDomains\":[\"https://a.b\"]}}}}]}"));
    assert_int_equal(got.page->meta.csp.connect.len, 1);
}

TEST_WITH(a_list_without_end_is_not_read_for_ever, set_up, tear_down)
{
    read_page("ui://maps/x", false);
    reply(STR("{\"contents\":[{" TYPE ",\"text\":\"<p>\"}]}"));
    while (got.n == 0)
        reply(STR("{\"resources\":[],\"nextCursor\":\"more\"}"));
    assert_int_equal(asked.n, 1 + UI_LIST_PAGES_MAX);
    assert_non_null(got.page);
}

TEST_WITH(base64_is_decoded, set_up, tear_down)
{
    read_page("ui://maps/x", false);
    reply(STR("{\"contents\":[{" TYPE ",\"blob\":\"PHA+R3LDvMOfZQ==\",\"_meta\":{\"ui\":{}}}]}"));
    assert_string_equal(got.page->html.p, "<p>Gr\xc3\xbc\xc3\x9f"
                                          "e");
}

TEST_WITH(plain_html_is_for_placements_only, set_up, tear_down)
{
    expect_problem("{\"mimeType\":\"text/html\",\"text\":\"<p>\"}", UI_TYPE);
    read_page("ui://maps/x", true);
    reply(STR("{\"contents\":[{\"mimeType\":\"text/html; charset=utf-8\",\"text\":\"<p>\","
              "\"_meta\":{\"ui\":{}}}]}"));
    assert_non_null(got.page);
    assert_non_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://maps/x"), true));
    assert_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://maps/x"), false));
    read_page("ui://maps/y", false);
    reply(
        STR("{\"contents\":[{\"mimeType\":\"Text/HTML; profile=\\\"mcp-app\\\"\",\"text\":\"<p>\","
            "\"_meta\":{\"ui\":{}}}]}"));
    assert_non_null(got.page);
}

TEST_WITH(what_cannot_be_shown_is_a_problem_with_a_name, set_up, tear_down)
{
    expect_problem("", UI_MISSING);
    expect_problem("7", UI_MISSING);
    expect_problem("{\"mimeType\":\"image/png\",\"blob\":\"\"}", UI_TYPE);
    expect_problem("{\"text\":\"<p>\"}", UI_TYPE);
    expect_problem("{" TYPE "}", UI_ENCODING);
    expect_problem("{" TYPE ",\"blob\":\"?\"}", UI_ENCODING);
    expect_problem("{" TYPE ",\"blob\":\"PP/+\"}", UI_ENCODING);
    assert_string_equal(ui_problem_code(UI_ENCODING), "resource_encoding");

    struct json error = {.type = JSON_OBJECT};
    struct mcp_reply r = {.error = &error};
    read_page("ui://maps/x", false);
    asked.ev->done(asked.ctx, &r);
    assert_int_equal(got.why, UI_MISSING);
    struct err lost = {.code = -ECONNRESET};
    r = (struct mcp_reply){.err = &lost};
    read_page("ui://maps/x", false);
    asked.ev->done(asked.ctx, &r);
    assert_int_equal(got.why, UI_UNAVAILABLE);
    assert_string_equal(got.message, "ui://maps/x of maps: maps is dead");
}

static str page_of(size_t n, const char *key)
{
    char *text = arena_alloc(&arena, n + 200);
    int head = snprintf(text, 200, "{\"contents\":[{" TYPE ",\"_meta\":{\"ui\":{}},\"%s\":\"", key);
    memset(text + head, 'A', n);
    memcpy(text + (size_t)head + n, "\"}]}", 5);
    return str_make(text, (size_t)head + n + 4);
}

TEST_WITH(a_page_has_a_ceiling, set_up, tear_down)
{
    read_page("ui://maps/x", false);
    reply(page_of(UI_HTML_MAX, "text"));
    assert_non_null(got.page);
    read_page("ui://maps/x", false);
    reply(page_of(UI_HTML_MAX + 1, "text"));
    assert_int_equal(got.why, UI_TOO_LARGE);
    read_page("ui://maps/x", false);
    reply(page_of((size_t)UI_HTML_MAX / 3 * 4 + 8, "blob"));
    assert_int_equal(got.why, UI_TOO_LARGE);
}

TEST_WITH(tiny_pages_have_a_ceiling_too, set_up, tear_down)
{
    char uri[32];
    for (int i = 0; i < UI_PAGES_MAX + 3; i++) {
        snprintf(uri, sizeof uri, "ui://%d", i);
        read_page(uri, false);
        reply(page_of(0, "text"));
    }
    assert_int_equal(pages.n, UI_PAGES_MAX);
    assert_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://2"), false));
    assert_non_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://3"), false));
}

TEST_WITH(a_page_that_was_asked_for_before_a_change_is_not_kept, set_up, tear_down)
{
    read_page("ui://maps/x", false);
    ui_pages_forget(&pages, STR("maps"));
    reply(page_of(10, "text"));
    assert_non_null(got.page);
    assert_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://maps/x"), false));
}

TEST_WITH(kept_pages_have_a_ceiling_and_the_least_used_goes_first, set_up, tear_down)
{
    static const char *const URIS[] = {"ui://1", "ui://2", "ui://3", "ui://4", "ui://5"};
    for (size_t i = 0; i < ARRAY_LEN(URIS); i++) {
        if (i == 4) /* used again */
            assert_non_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://1"), false));
        read_page(URIS[i], false);
        reply(page_of(UI_HTML_MAX, "text"));
    }
    assert_true(pages.bytes <= UI_PAGES_BYTES_MAX);
    assert_non_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://1"), false));
    assert_null(ui_pages_find(&pages, STR("maps"), STR_NONE, STR("ui://2"), false));
}

TEST_WITH(pages_of_a_persons_connection_are_theirs, set_up, tear_down)
{
    is_per_person = true;
    read_page("ui://maps/x", false);
    assert_string_equal(asked.user_id, "usr_ana");
    reply(page_of(3, "text"));
    assert_null(ui_pages_find(&pages, STR("maps"), STR("usr_ben"), STR("ui://maps/x"), false));
    assert_non_null(ui_pages_find(&pages, STR("maps"), STR("usr_ana"), STR("ui://maps/x"), false));
}

TEST_WITH(a_reading_can_be_cancelled, set_up, tear_down)
{
    ui_read_cancel(read_page("ui://maps/x", false));
    assert_int_equal(asked.cancelled, 1);
    assert_int_equal(got.n, 0);
}
