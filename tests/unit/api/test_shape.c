/* Shapes: types in one line, as JSON Schema. */
#include "api/describe/shape.h"
#include "support/unit.h"

static struct buf out;

static int set_up(void **state)
{
    buf_init(&out, 64u * 1024);
    return 0;
}

static int tear_down(void **state)
{
    buf_done(&out);
    return 0;
}

static const char *schema_of(const char *shape, const char *about)
{
    struct json_writer w;
    buf_clear(&out);
    jw_init(&w, &out);
    shape_write(&w, shape, about);
    return buf_cstr(&out);
}

#define IS(shape, schema) assert_string_equal(schema_of(shape, NULL), schema)
#define REF(name)         "{\"$ref\":\"#/components/schemas/" name "\"}"

TEST_WITH(words_are_types, set_up, tear_down)
{
    IS("string", "{\"type\":\"string\"}");
    IS("integer", "{\"type\":\"integer\"}");
    IS("number", "{\"type\":\"number\"}");
    IS("boolean", "{\"type\":\"boolean\"}");
    IS("object", "{\"type\":\"object\"}");
    IS("time", "{\"type\":\"string\",\"format\":\"date-time\"}");
    IS("uri", "{\"type\":\"string\",\"format\":\"uri\"}");
    IS("any", "{}");
}

TEST_WITH(a_description_is_added_to_every_kind, set_up, tear_down)
{
    assert_string_equal(schema_of("string", "A name."),
                        "{\"type\":\"string\",\"description\":\"A name.\"}");
    assert_string_equal(schema_of("User", "Who."),
                        "{\"$ref\":\"#/components/schemas/User\",\"description\":\"Who.\"}");
    assert_string_equal(schema_of("any", "x"), "{\"description\":\"x\"}");
}

TEST_WITH(ranges_limit_numbers_and_lengths, set_up, tear_down)
{
    IS("integer(1..200)", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":200}");
    IS("integer(0..)", "{\"type\":\"integer\",\"minimum\":0}");
    IS("number(..5)", "{\"type\":\"number\",\"maximum\":5}");
    IS("string(8..1024)", "{\"type\":\"string\",\"minLength\":8,\"maxLength\":1024}");
    IS("integer(1..9)|null", "{\"type\":[\"integer\",\"null\"],\"minimum\":1,\"maximum\":9}");
}

TEST_WITH(strings_in_quotes_are_the_only_values, set_up, tear_down)
{
    IS("'a'", "{\"const\":\"a\"}");
    IS("'a'|'b'", "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}");
    IS("'a'|null", "{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",null]}");
    IS("null|'a'|'b'", "{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",\"b\",null]}");
}

TEST_WITH(a_capital_letter_names_a_model, set_up, tear_down)
{
    IS("User", REF("User"));
    IS("User|null", "{\"anyOf\":[" REF("User") ",{\"type\":\"null\"}]}");
    IS("User|Member", "{\"anyOf\":[" REF("User") "," REF("Member") "]}");
}

TEST_WITH(lists_maps_and_brackets_nest, set_up, tear_down)
{
    IS("string[]", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
    IS("string[][]", "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":"
                     "\"string\"}}}");
    IS("{integer}", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}");
    IS("('a'|'b')[]",
       "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}");
    IS("string[]|null",
       "{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"string\"}},{\"type\":\"null\"}]}");
    IS("{boolean|'always'}", "{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[{\"type\":"
                             "\"boolean\"},{\"const\":\"always\"}]}}");
}

TEST(what_is_not_a_shape_is_refused)
{
    static const char *const WRONG[] = {
        "",        "strin", "string[",  "(string",    "{string",      "'a",       "string|",
        "|string", "a b",   "string ",  "string]",    "integer(1)",   "integer(", "integer(a..2)",
        "()",      "{}",    "string()", "integer(..", "integer(1..2", "'a'b",
    };
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        if (shape_is_valid(WRONG[i]))
            fail_msg("\"%s\" passes for a shape", WRONG[i]);
}

static bool is_union_of(size_t n)
{
    buf_clear(&out);
    buf_add_lit(&out, "string");
    for (size_t i = 1; i < n; i++)
        buf_add_lit(&out, "|string");
    return shape_is_valid(buf_cstr(&out));
}

TEST_WITH(a_shape_has_a_limited_number_of_parts, set_up, tear_down)
{
    assert_true(is_union_of(30));
    assert_false(is_union_of(60));
}
