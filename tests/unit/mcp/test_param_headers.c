#include <errno.h>

#include "mcp/transport/param_headers.h"
#include "support/unit.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

#define REGION "{\"type\":\"string\",\"x-mcp-header\":\"Region\"}"

TEST(nested_properties)
{
    struct arena a;
    arena_init(&a);
    struct param_headers h;
    const char *schema = "{\"type\":\"object\",\"properties\":{\"region\":" REGION
                         ",\"o\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
                         "[\"integer\",\"null\"],\"x-mcp-header\":\"N\"}}},"
                         "\"x-mcp-header\":{\"type\":\"array\"},"
                         "\"d\":{\"type\":\"object\",\"default\":{\"x-mcp-header\":\"\"}}}}";
    assert_int_equal(param_headers_compile(&a, parse(&a, schema), &h, NULL), 0);
    assert_int_equal(h.n, 2);
    struct param_headers copy = param_headers_copy(&a, &h);
    const struct json *args = parse(&a, "{\"region\":\"eu\",\"o\":{\"n\":42}}");
    str value;
    assert_true(param_header_value(&a, &copy.items[0], args, &value));
    assert_true(str_eq(value, STR("eu")));
    assert_true(param_header_value(&a, &copy.items[1], args, &value));
    assert_true(str_eq(value, STR("42")));
    args = parse(&a, "{\"region\":null,\"o\":5}");
    assert_false(param_header_value(&a, &h.items[0], args, &value));
    assert_false(param_header_value(&a, &h.items[1], args, &value));
    assert_false(param_header_value(&a, &h.items[0], NULL, &value));
    arena_done(&a);
}

TEST(invalid_annotations)
{
    static const char *const CASES[] = {
        "{\"x-mcp-header\":\"A\",\"type\":\"string\"}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a b\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\xc3\xbc\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":5}}}",
        "{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"object\",\"x-mcp-header\":\"A\"}}}",
        "{\"properties\":{\"a\":{\"type\":[\"string\",\"integer\"],\"x-mcp-header\":\"A\"}}}",
        "{\"properties\":{\"a\":{\"x-mcp-header\":\"A\"}}}",
        "{\"properties\":{\"a\":" REGION
        ",\"b\":{\"type\":\"string\",\"x-mcp-header\":\"REGION\"}}}",
        "{\"properties\":{\"a\":{\"items\":" REGION "}}}",
        "{\"properties\":{\"a\":{\"prefixItems\":[" REGION "]}}}",
        "{\"$defs\":{\"a\":" REGION "}}",
        "{\"oneOf\":[{\"properties\":{\"a\":" REGION "}}]}",
        "{\"if\":{\"properties\":{\"a\":" REGION "}}}",
        "{\"additionalProperties\":" REGION "}",
        "{\"patternProperties\":{\".*\":" REGION "}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        arena_init(&a);
        struct param_headers h;
        struct err e = {0};
        if (param_headers_compile(&a, parse(&a, CASES[i]), &h, &e) != -EINVAL)
            fail_msg("accepted: %s", CASES[i]);
        assert_true(e.msg[0] != '\0');
        arena_done(&a);
    }
}

TEST(number_of_headers_is_bounded)
{
    struct arena a;
    arena_init(&a);
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_add_lit(&b, "{\"properties\":{");
    for (int i = 0; i <= PARAM_HEADERS_MAX; i++)
        buf_printf(&b, "%s\"p%d\":{\"type\":\"string\",\"x-mcp-header\":\"h%d\"}", i ? "," : "", i,
                   i);
    buf_add_lit(&b, "}}");
    struct param_headers h;
    assert_int_equal(param_headers_compile(&a, parse(&a, buf_cstr(&b)), &h, NULL), -EINVAL);
    buf_done(&b);
    arena_done(&a);
}

TEST(encoding)
{
    static const struct {
        str plain, header;
    } CASES[] = {
        {STR_INIT("us-west1"), STR_INIT("us-west1")},
        {STR_INIT(""), STR_INIT("")},
        {STR_INIT("a b"), STR_INIT("a b")},
        {STR_INIT("file:///a%20b"), STR_INIT("file:///a%20b")},
        {STR_INIT(" a"), STR_INIT("=?base64?IGE=?=")},
        {STR_INIT("a "), STR_INIT("=?base64?YSA=?=")},
        {STR_INIT("a\tb"), STR_INIT("=?base64?YQli?=")},
        {STR_INIT("a\r\nb"), STR_INIT("=?base64?YQ0KYg==?=")},
        {STR_INIT("\xc3\xbc"), STR_INIT("=?base64?w7w=?=")},
        {STR_INIT("=?base64?YQ==?="), STR_INIT("=?base64?PT9iYXNlNjQ/WVE9PT89?=")},
        {STR_INIT("=?base64?x"), STR_INIT("=?base64?x")},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_true(str_eq(header_value_encode(&a, CASES[i].plain), CASES[i].header));
    arena_done(&a);
}
