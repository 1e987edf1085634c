/* Tool results in short: what the page and references to blobs show of them. */
#include "os/file.h"
#include "store/event/blobs.h"
#include "store/event/parts.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct arena arena;

static int set_up(void **state)
{
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}

static const struct json *parsed(str text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, text, JSON_COPY, &v, NULL), 0);
    return v;
}

static str written(const struct json *result, struct parts_form form)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 1u << 20);
    parts_write(&w, result, &form);
    return buf_keep_whole(&b, &arena);
}

static const struct parts_form SMALL = {.text_max = 8, .value_max = 24, .address = STR_INIT("/p/")};

TEST_WITH(each_block_in_short, set_up, tear_down)
{
    static const struct {
        const char *result, *parts;
    } CASES[] = {
        {"{\"content\":[{\"type\":\"text\",\"text\":\"abc\"}]}",
         "[{\"type\":\"text\",\"text\":\"abc\"}]"},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"0123456789\"},{\"type\":\"text\",\"text\":"
         "\"x\"}]}",
         "[{\"type\":\"text\",\"text\":\"01234567\",\"bytes\":10,\"address\":\"/p/0\"},{\"type\":"
         "\"text\",\"text\":\"\",\"bytes\":1,\"address\":\"/p/1\"}]"},
        {"{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAAAA==\"}]}",
         "[{\"type\":\"image\",\"mimeType\":\"image/png\",\"bytes\":4,\"address\":\"/p/0\"}]"},
        {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"mimeType\":\"m\","
         "\"blob\":\"AAA=\"}}]}",
         "[{\"type\":\"resource\",\"uri\":\"a:b\",\"mimeType\":\"m\",\"bytes\":2,\"address\":\"/p/"
         "0\"}]"},
        {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"t\"}}]}",
         "[{\"type\":\"resource\",\"uri\":\"a:b\",\"text\":\"t\"}]"},
        {"{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\",\"size\":3}]}",
         "[{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\",\"size\":3}]"},
        {"{\"content\":[1,{\"type\":7,\"text\":{}}],\"structuredContent\":[1]}",
         "[{\"type\":\"\"},{\"type\":\"\"},{\"type\":\"structured\",\"value\":[1]}]"},
        {"{\"structuredContent\":{\"code\":3,\"out\":\"0123456789012345678901234567890\",\"in\":[1]"
         "}"
         "}",
         "[{\"type\":\"structured\",\"value\":{\"code\":3,\"out\":\"01234567890123456\"},\"bytes\":"
         "59,\"address\":\"/p/structured\"}]"},
        {"{\"structuredContent\":{\"out\":\"0123456789abcdef\",\"err\":\"xy\",\"code\":-1.5}}",
         "[{\"type\":\"structured\",\"value\":{\"out\":\"01234\",\"err\":\"xy\",\"code\":-1.5},"
         "\"bytes\":49,\"address\":\"/p/structured\"}]"},
        {"{\"$blob\":\"x\",\"parts\":[{\"type\":\"image\",\"bytes\":4,\"address\":\"/evil\"},{"
         "\"type\":\"structured\",\"bytes\":9}]}",
         "[{\"type\":\"image\",\"bytes\":4,\"address\":\"/p/"
         "0\"},{\"type\":\"structured\",\"bytes\":"
         "9,\"address\":\"/p/structured\"}]"},
        {"{\"content\":\"text\"}", "[]"},
        {"7", "[]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str text = written(parsed(str_from(CASES[i].result)), SMALL);
        if (!str_eq(text, str_from(CASES[i].parts)))
            fail_msg("%s: %.*s", CASES[i].result, STR_ARG(text));
    }
}

TEST_WITH(a_hostile_result_stays_short, set_up, tear_down)
{
    struct buf b;
    buf_init(&b, 8u << 20);
    buf_add_lit(&b, "{\"content\":[");
    for (int i = 0; i < 1000; i++) {
        buf_add_lit(&b, i ? ",{\"type\":\"" : "{\"type\":\"");
        for (int n = 0; n < 1000; n++)
            buf_add_lit(&b, "t");
        buf_add_lit(&b, "\",\"uri\":\"");
        for (int n = 0; n < 1000; n++)
            buf_add_lit(&b, "\\u0001");
        buf_add_lit(&b, "\"}");
    }
    buf_add_lit(&b, "]}");
    const struct json *result = parsed(buf_str(&b));
    str text = written(result, (struct parts_form){.text_max = 4096, .value_max = 4096});
    assert_int_equal(parsed(text)->len, PARTS_MAX);
    assert_true(text.n < 32 * 1024);
    buf_done(&b);
}

TEST_WITH(blocks_are_found_by_their_names, set_up, tear_down)
{
    const struct json *r = parsed(STR("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
                                      "\"resource\",\"resource\":{\"mimeType\":\"m\",\"blob\":"
                                      "\"AAA=\"}}],\"structuredContent\":{\"data\":1}}"));
    assert_true(str_eq(parts_text(parts_find(r, STR("0"))), STR("a")));
    assert_true(str_eq(parts_base64(parts_find(r, STR("1"))), STR("AAA=")));
    assert_true(str_eq(parts_mime(parts_find(r, STR("1"))), STR("m")));
    assert_non_null(parts_find(r, STR("structured")));
    assert_null(parts_find(r, STR("2")));
    assert_null(parts_find(r, STR("-1")));
    assert_null(parts_find(r, STR("x")));
    assert_null(parts_find(NULL, STR("0")));
    assert_false(parts_are_text(r));
    assert_true(parts_are_text(parsed(STR("{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"))));
    assert_int_equal(parts_decoded_size(STR("")), 0);
    assert_int_equal(parts_decoded_size(STR("AA==")), 1);
    assert_int_equal(parts_decoded_size(STR("AAAAAAA")), 5);
}

TEST_WITH(a_link_to_a_file_has_the_address_of_the_file, set_up, tear_down)
{
    struct parts_form form = {
        .text_max = 100, .value_max = 100, .address = STR("/v1/conversations/c/calls/1/parts/")};
    const char *sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const struct {
        const char *uri;
        bool has_address;
    } CASES[] = {
        {arena_printf(&arena, "nb://files/file_%s", sha256).p, true},
        {arena_printf(&arena, "nb://files/file_%s/x", sha256).p, false},
        {"nb://files/../../x", false},
        {"https://example.com/", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        str result = arena_printf(
            &arena, "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"%s\"}]}", CASES[i].uri);
        str address = json_get_string(json_at(parsed(written(parsed(result), form)), 0), "address");
        str expected = CASES[i].has_address
                           ? arena_printf(&arena, "/v1/conversations/c/files/file_%s", sha256)
                           : STR("");
        assert_true(str_eq(address, expected));
    }
}

/* One file may be named as often as a person likes. */
TEST_WITH(the_documents_of_a_message_have_a_ceiling_together, set_up, tear_down)
{
    enum { DOCUMENT = 5 * 1024 * 1024, NAMED = 20 };
    const char *sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct tempdir dir;
    struct buf b;
    size_t restored = 0;
    assert_int_equal(tempdir_make(&dir), 0);
    char *bytes = xcalloc(1, DOCUMENT);
    assert_int_equal(file_write_atomic(arena_printf(&arena, "%s/%s", dir.path, sha256).p,
                                       str_make(bytes, DOCUMENT), 0600, NULL),
                     0);
    free(bytes);
    buf_init(&b, 1u << 20);
    buf_add_lit(&b, "{\"type\":\"user.message\",\"content\":[");
    for (size_t i = 0; i < NAMED; i++)
        buf_printf(&b,
                   "%s{\"type\":\"file\",\"file\":\"file_%s\",\"mimeType\":\"application/pdf\"}",
                   i > 0 ? "," : "", sha256);
    buf_add_lit(&b, "]}");
    const struct blob_dir blobs = blobs_in_dir(NULL, dir.path);
    str line = file_parts_restore(&arena, &blobs.place, buf_str(&b));
    const struct json *content = json_get(parsed(line), "content");
    assert_int_equal(content->len, NAMED);
    for (size_t i = 0; i < NAMED; i++)
        restored += json_get_string(&content->items[i], "data").n > 0;
    assert_int_equal(restored, FILE_DATA_MAX / DOCUMENT);
    buf_done(&b);
    assert_int_equal(tempdir_drop(&dir), 0);
}
