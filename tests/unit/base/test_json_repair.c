#include "base/json/json_repair.h"
#include "support/unit.h"

static struct arena arena;

static const char *repaired(const char *text)
{
    str out = json_repair(&arena, str_from(text));
    return out.n > 0 ? arena_cstr(&arena, out) : "";
}

TEST(what_is_open_is_closed_and_what_is_half_is_left_out)
{
    static const struct {
        const char *text, *repaired;
    } CASES[] = {
        {"", ""},
        {" \n", ""},
        {"{", "{}"},
        {"{\"", "{}"},
        {"{\"a", "{}"},
        {"{\"a\"", "{}"},
        {"{\"a\":", "{}"},
        {"{\"a\": ", "{}"},
        {"{\"a\":\"", "{\"a\":\"\"}"},
        {"{\"a\":\"x", "{\"a\":\"x\"}"},
        {"{\"a\":\"x\"", "{\"a\":\"x\"}"},
        {"{\"a\":\"x\",", "{\"a\":\"x\"}"},
        {"{\"a\":\"x\",\"b", "{\"a\":\"x\"}"},
        {"{\"a\":[", "{\"a\":[]}"},
        {"{\"a\":[{\"b\":[1,2", "{\"a\":[{\"b\":[1]}]}"},
        {"{\"a\":[{\"b\":[1,2,", "{\"a\":[{\"b\":[1,2]}]}"},
        {"{\"a\":[{\"b\":[1,2 ", "{\"a\":[{\"b\":[1,2]}]}"},
        {"{\"a\":1", "{}"}, /* may become 12 */
        {"{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":-1.5e+3 ", "{\"a\":-1.5e+3}"},
        {"{\"a\":1.", "{}"},
        {"{\"a\":tru", "{}"},
        {"{\"a\":true", "{\"a\":true}"},
        {"[nul", "[]"},
        {"[null", "[null]"},
        {"[\"a\\", "[\"a\"]"},
        {"[\"a\\n", "[\"a\\n\"]"},
        {"[\"a\\u", "[\"a\"]"},
        {"[\"a\\u00e", "[\"a\"]"},
        {"[\"a\\u00e9", "[\"a\\u00e9\"]"},
        {"[\"a\\ud83d", "[\"a\"]"}, /* half of a pair */
        {"[\"a\\ud83d\\ude0", "[\"a\"]"},
        {"[\"a\\ud83d\\ude00", "[\"a\\ud83d\\ude00\"]"},
        {"[\"a\xf0\x9f\x98", "[\"a\"]"},
        {"[\"a\xf0\x9f\x98\x80", "[\"a\xf0\x9f\x98\x80\"]"},
        {"\"text", "\"text\""},
        {"12", ""},
        {"12 ", "12"},
        {" {} ", "{}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_string_equal(repaired(CASES[i].text), CASES[i].repaired);
    arena_done(&arena);
}

TEST(what_cannot_become_json_is_nothing)
{
    static const char *const TEXTS[] = {
        "x",
        "{a",
        "{\"a\"1",
        "{\"a\":1]",
        "[1}",
        "[,",
        "[1,]",
        "{,",
        "{\"a\":1,}",
        "{}{",
        "[01,",
        "[1.,",
        "[1e,",
        "[-,",
        "[1-2,",
        "[trux",
        "[\"\\x",
        "[\"\\u12g",
        "[\"\\ude00\"",
        "[\"\\ud83d\\u0041\"",
        "[\"\\ud83dx\"",
        "[\"\n",
        "[\"\xff\xff\xff\xff\"",
        "]",
        "\xef\xbb\xbf{",
    };
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
        assert_string_equal(repaired(TEXTS[i]), "");
    arena_done(&arena);
}

TEST(nesting_is_bounded)
{
    char text[JSON_DEPTH_MAX + 2];
    struct json *v;
    memset(text, '[', sizeof text);
    str out = json_repair(&arena, str_make(text, JSON_DEPTH_MAX));
    assert_int_equal(out.n, 2 * JSON_DEPTH_MAX);
    assert_int_equal(json_parse(&arena, out, 0, &v, NULL), 0);
    assert_int_equal(json_repair(&arena, str_make(text, JSON_DEPTH_MAX + 1)).n, 0);
    arena_done(&arena);
}

/* Is `part` what `whole` looked like at an earlier time? */
static bool is_beginning(const struct json *part, const struct json *whole)
{
    if (part->type != whole->type || part->len > whole->len)
        return false;
    if (part->type == JSON_STRING)
        return str_starts(whole->s, part->s);
    if (part->type != JSON_ARRAY && part->type != JSON_OBJECT)
        return json_equal(part, whole);
    for (uint32_t i = 0; i < part->len; i++) {
        bool is_object = part->type == JSON_OBJECT;
        const struct json *a = is_object ? &part->members[i].value : &part->items[i];
        const struct json *b = is_object ? &whole->members[i].value : &whole->items[i];
        if (is_object && !str_eq(part->members[i].key, whole->members[i].key))
            return false;
        bool is_last = i + 1 == part->len;
        if (is_last ? !is_beginning(a, b) : !json_equal(a, b))
            return false;
    }
    return true;
}

/* Each prefix gives a valid text, and never less than the prefix before it. */
TEST(every_prefix_is_a_beginning_of_the_value)
{
    static const char *const DOCUMENTS[] = {
        "{\"rows\":[{\"name\":\"Z\xc3\xbcrich\",\"n\":12,\"ok\":true},{\"name\":\"\",\"n\":-0.5e3,"
        "\"ok\":false,\"more\":null}],\"title\":\"a \\\"quoted\\\" \\u00e9\\ud83d\\ude00 \\\\ "
        "end\"}",
        " { \"a\" : [ 1 , 2 , [ ] , { } , [ [ 3 ] ] ] , \"b\" : { \"c\" : { \"d\" : \"e\" } } } ",
        "{\"html\":\"<p class=\\\"x\\\">\\n\\t1 < 2 &amp; \xf0\x9f\x99\x82</p>\",\"\":\"\",\"a\":1,"
        "\"a\":2}",
        "[true,false,null,1,1.5,\"x\",[],{}]",
    };
    for (size_t i = 0; i < ARRAY_LEN(DOCUMENTS); i++) {
        str whole = str_from(DOCUMENTS[i]);
        struct json *last = NULL, *all;
        assert_int_equal(json_parse(&arena, whole, 0, &all, NULL), 0);
        for (size_t n = 0; n <= whole.n; n++) {
            str out = json_repair(&arena, str_slice(whole, 0, n));
            struct json *v;
            if (out.n == 0) {
                assert_null(last);
                continue;
            }
            assert_int_equal(json_parse(&arena, out, 0, &v, NULL), 0);
            assert_true(is_beginning(v, all));
            assert_true(!last || is_beginning(last, v));
            last = v;
        }
        assert_true(json_equal(last, all));
    }
    arena_done(&arena);
}
