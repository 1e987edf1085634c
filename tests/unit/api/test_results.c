/* The parts of tool results, whole (conversations/results.c). Blobs are in tests/e2e. */
#include "support/api_streams.h"

static void on_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    assert_null(err);
    *(bool *)ctx = true;
}

static void add_call(struct api_rig *t, const char *id, const char *content)
{
    bool is_done = false;
    str lines[] = {
        STR("{\"type\":\"tool.start\",\"id\":\"c1\",\"name\":\"t\",\"input\":{}}"),
        arena_printf(&t->rig->arena,
                     "{\"type\":\"tool.done\",\"id\":\"c1\",\"ok\":true,\"result\":{\"content\":%s,"
                     "\"structuredContent\":{\"data\":\"AAAA\"}}}",
                     content)};
    store_append(t->rig->store, str_from(id), lines, 2, on_appended, &is_done);
    rig_until(t->rig, is_done);
}

static struct api_answer part(struct api_rig *t, const char *who, const char *id, const char *name)
{
    return api_get(t, who, api_path(t, "/v1/conversations/%s/calls/c1/parts/%s", id, name));
}

#define BLOCKS                                                                                     \
    "[{\"type\":\"text\",\"text\":\"a\xc3\xa4"                                                     \
    "b\"},"                                                                                        \
    "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGVsbG8=\"},"                       \
    "{\"type\":\"image\",\"mimeType\":\"image/svg+xml\",\"data\":\"PHN2Zy8+\"},"                   \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x/../a \\\"b\\\".html\",\"mimeType\":" \
    "\"text/html\",\"text\":\"<b>\"}},"                                                            \
    "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"!\"},"                              \
    "{\"type\":\"resource_link\",\"uri\":\"a:b\"}]"

TEST_WITH(a_part_is_its_bytes_with_a_type_that_is_no_page, api_set_up, api_tear_down)
{
    static const struct {
        const char *name, *type, *file, *body;
    } CASES[] = {
        {"0", "text/plain; charset=utf-8", "c1-0",
         "a\xc3\xa4"
         "b"},
        {"0?offset=2", "text/plain; charset=utf-8", "c1-0", "b"}, /* not from inside a character */
        {"0?limit=2", "text/plain; charset=utf-8", "c1-0", "a"},
        {"0?offset=0&limit=3", "text/plain; charset=utf-8", "c1-0", "a\xc3\xa4"},
        {"0?offset=99", "text/plain; charset=utf-8", "c1-0", ""},
        {"1", "image/png", "c1-1", "hello"},
        {"1?offset=1&limit=2", "image/png", "c1-1", "el"},
        {"2", "application/octet-stream", "c1-2", "<svg/>"},
        {"3", "text/plain; charset=utf-8", "a__b_.html", "<b>"},
        {"5", "application/json", "c1-5", "{\"type\":\"resource_link\",\"uri\":\"a:b\"}"},
        {"structured", "application/json", "c1-structured", "{\"data\":\"AAAA\"}"},
    };
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    add_call(t, id, BLOCKS);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct api_answer a = part(t, "ben", id, CASES[i].name);
        assert_int_equal(a.status, 200);
        if (!str_eq(a.body, str_from(CASES[i].body)))
            fail_msg("%s: %.*s", CASES[i].name, STR_ARG(a.body));
        assert_string_equal(api_header(t, &a, "Content-Type"), CASES[i].type);
        assert_string_equal(
            api_header(t, &a, "Content-Disposition"),
            arena_printf(&t->rig->arena, "attachment; filename=\"%s\"", CASES[i].file).p);
        assert_string_equal(api_header(t, &a, "Content-Security-Policy"),
                            "sandbox; default-src 'none'");
        assert_string_equal(api_header(t, &a, "X-Content-Type-Options"), "nosniff");
    }
}

TEST_WITH(parts_that_are_not_there, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    add_call(t, id, BLOCKS);
    assert_int_equal(part(t, "ben", id, "6").status, 404);
    assert_int_equal(part(t, "ben", id, "x").status, 404);
    assert_int_equal(part(t, "ben", id, "0?offset=x").status, 400);
    assert_int_equal(part(t, "ben", id, "4").status, 422);
    assert_int_equal(part(t, "ben", "conv_none", "0").status, 404);
    assert_int_equal(part(t, "dan", id, "0").status, 404); /* may not see the conversation */
    assert_int_equal(part(t, "cyd", id, "0").status, 403);
    struct api_answer a =
        api_get(t, "ben", api_path(t, "/v1/conversations/%s/calls/c2/parts/0", id));
    assert_int_equal(a.status, 404);
    a = api_get(t, "ben", api_path(t, "/v1/conversations/%s/blobs/abc", id));
    assert_refused(a, 404, "not_found", "No such blob.");
}

/* A provider may use the id of a call again. */
TEST_WITH(the_call_behind_a_position, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    add_call(t, id, "[{\"type\":\"text\",\"text\":\"first\"}]");
    add_call(t, id, "[{\"type\":\"text\",\"text\":\"second\"}]");
    assert_true(str_eq(part(t, "ben", id, "0").body, STR("second")));
    assert_true(str_eq(part(t, "ben", id, "0?position=1").body, STR("first")));
}
