#include <errno.h>

#include "base/schema/schema.h"
#include "support/unit.h"

struct schema_case {
    const char *schema, *value;
    const char *reason; /* NULL = the value fits */
};

static int validate(struct arena *a, const char *schema, const char *value, struct err *e)
{
    struct json *s, *v;
    struct err parse = {0};
    if (json_parse(a, str_from(schema), 0, &s, &parse) < 0)
        fail_msg("schema %s: %s", schema, parse.msg);
    if (json_parse(a, str_from(value), 0, &v, &parse) < 0)
        fail_msg("value %s: %s", value, parse.msg);
    return schema_validate(s, v, "arguments", e);
}

static void run_table(const struct schema_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct schema_case *c = &cases[i];
        struct arena a;
        struct err e = {0};
        arena_init(&a);
        int rc = validate(&a, c->schema, c->value, &e);
        if (rc != (c->reason ? -EINVAL : 0))
            fail_msg("%s against %s: %d %s", c->value, c->schema, rc, e.msg);
        if (c->reason && strcmp(e.msg, c->reason) != 0)
            fail_msg("%s against %s:\n  says     %s\n  expected %s", c->value, c->schema, e.msg,
                     c->reason);
        arena_done(&a);
    }
}

#define RUN(table) run_table(table, ARRAY_LEN(table))

TEST(types)
{
    static const struct schema_case CASES[] = {
        {"{\"type\":\"string\"}", "\"a\"", NULL},
        {"{\"type\":\"string\"}", "1", "arguments: expected string, got integer"},
        {"{\"type\":\"integer\"}", "1", NULL},
        {"{\"type\":\"integer\"}", "1.0", NULL},
        {"{\"type\":\"integer\"}", "1e3", NULL},
        {"{\"type\":\"integer\"}", "99999999999999999999", NULL},
        {"{\"type\":\"integer\"}", "1.5", "arguments: expected integer, got number"},
        {"{\"type\":\"integer\"}", "\"1\"", "arguments: expected integer, got string"},
        {"{\"type\":\"number\"}", "1", NULL},
        {"{\"type\":\"number\"}", "1.5", NULL},
        {"{\"type\":\"number\"}", "true", "arguments: expected number, got boolean"},
        {"{\"type\":\"boolean\"}", "false", NULL},
        {"{\"type\":\"boolean\"}", "0", "arguments: expected boolean, got integer"},
        {"{\"type\":\"null\"}", "null", NULL},
        {"{\"type\":\"null\"}", "\"\"", "arguments: expected null, got string"},
        {"{\"type\":\"array\"}", "[]", NULL},
        {"{\"type\":\"array\"}", "{}", "arguments: expected array, got object"},
        {"{\"type\":\"object\"}", "{}", NULL},
        {"{\"type\":\"object\"}", "null", "arguments: expected object, got null"},
        {"{\"type\":[\"string\",\"null\"]}", "null", NULL},
        {"{\"type\":[\"string\",\"null\"]}", "1",
         "arguments: expected string or null, got integer"},
        {"{\"type\":[\"string\",\"number\",\"null\"]}", "[]",
         "arguments: expected string, number or null, got array"},
        {"{\"type\":\"string\",\"nullable\":true}", "null", NULL},
        {"{\"type\":\"string\",\"nullable\":false}", "null",
         "arguments: expected string, got null"},
        {"{\"type\":\"float\"}", "\"anything\"", NULL},
        {"{\"type\":[\"float\",\"string\"]}", "1", NULL},
        {"{\"type\":7}", "1", NULL},
        {"{\"type\":[]}", "1", NULL},
        {"true", "1", NULL},
        {"false", "1", "arguments: is not allowed here"},
        {"{}", "{\"a\":[1]}", NULL},
        {"\"nonsense\"", "1", NULL},
        {"null", "1", NULL},
        {"[]", "1", NULL},
    };
    RUN(CASES);
}

TEST(enum_and_const)
{
    static const struct schema_case CASES[] = {
        {"{\"enum\":[\"a\",\"b\"]}", "\"b\"", NULL},
        {"{\"enum\":[\"a\",\"b\"]}", "\"c\"", "arguments: expected one of \"a\", \"b\""},
        {"{\"enum\":[1,null,[2]]}", "[2]", NULL},
        {"{\"enum\":[1,null,[2]]}", "[2,2]", "arguments: expected one of 1, null, [2]"},
        {"{\"enum\":[1]}", "1.0", NULL},
        {"{\"enum\":[]}", "1", "arguments: expected one of "},
        {"{\"enum\":\"a\"}", "1", NULL},
        {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", NULL},
        {"{\"const\":\"x\"}", "\"y\"", "arguments: expected \"x\""},
        {"{\"const\":null}", "null", NULL},
        {"{\"const\":false}", "0", "arguments: expected false"},
        {"{\"const\":0}", "-0", NULL},
    };
    RUN(CASES);
}

TEST(numbers)
{
    static const struct schema_case CASES[] = {
        {"{\"minimum\":1}", "1", NULL},
        {"{\"minimum\":1}", "0", "arguments: must be at least 1"},
        {"{\"minimum\":1}", "0.999", "arguments: must be at least 1"},
        {"{\"minimum\":-1.5}", "-2", "arguments: must be at least -1.5"},
        {"{\"minimum\":1}", "\"0\"", NULL},
        {"{\"minimum\":\"1\"}", "0", NULL},
        {"{\"maximum\":10}", "10", NULL},
        {"{\"maximum\":10}", "11", "arguments: must be at most 10"},
        {"{\"maximum\":9223372036854775806}", "9223372036854775807",
         "arguments: must be at most 9223372036854775806"},
        {"{\"exclusiveMinimum\":1}", "2", NULL},
        {"{\"exclusiveMinimum\":1}", "1", "arguments: must be greater than 1"},
        {"{\"exclusiveMaximum\":1}", "0", NULL},
        {"{\"exclusiveMaximum\":1}", "1", "arguments: must be less than 1"},
        {"{\"minimum\":1,\"exclusiveMinimum\":true}", "1", "arguments: must be greater than 1"},
        {"{\"minimum\":1,\"exclusiveMinimum\":false}", "1", NULL},
        {"{\"maximum\":1,\"exclusiveMaximum\":true}", "1", "arguments: must be less than 1"},
        {"{\"multipleOf\":3}", "9", NULL},
        {"{\"multipleOf\":3}", "10", "arguments: must be a multiple of 3"},
        {"{\"multipleOf\":0.1}", "0.3", NULL},
        {"{\"multipleOf\":0.01}", "4.35", NULL},
        {"{\"multipleOf\":0.5}", "0.3", "arguments: must be a multiple of 0.5"},
        {"{\"multipleOf\":0}", "5", NULL},
        {"{\"multipleOf\":-2}", "5", NULL},
        {"{\"multipleOf\":1e-300}", "1e300", NULL},
        {"{\"type\":\"integer\",\"minimum\":1}", "\"x\"",
         "arguments: expected integer, got string"},
    };
    RUN(CASES);
}

TEST(strings)
{
    static const struct schema_case CASES[] = {
        {"{\"minLength\":2}", "\"ab\"", NULL},
        {"{\"minLength\":2}", "\"a\"", "arguments: must have at least 2 characters"},
        {"{\"minLength\":2}", "\"ä\"", "arguments: must have at least 2 characters"},
        {"{\"maxLength\":2}", "\"日本\"", NULL},
        {"{\"maxLength\":2}", "\"abc\"", "arguments: must have at most 2 characters"},
        {"{\"maxLength\":2.0}", "\"abc\"", "arguments: must have at most 2 characters"},
        {"{\"maxLength\":-1}", "\"abc\"", NULL},
        {"{\"maxLength\":\"2\"}", "\"abc\"", NULL},
        {"{\"maxLength\":1}", "12345", NULL},
        {"{\"pattern\":\"^a+$\"}", "\"aaa\"", NULL},
        {"{\"pattern\":\"^a+$\"}", "\"aab\"", "arguments: must match the pattern ^a+$"},
        {"{\"pattern\":\"b\"}", "\"abc\"", NULL},
        {"{\"pattern\":\"^a$\"}", "\"a\\n\"", "arguments: must match the pattern ^a$"},
        {"{\"pattern\":\"^\\\\d+$\"}", "\"12\"", NULL},
        {"{\"pattern\":\"^\\\\d$\"}", "\"\\u0665\"", "arguments: must match the pattern ^\\d$"},
        {"{\"pattern\":\"^\\\\u0041$\"}", "\"A\"", NULL},
        {"{\"pattern\":\"^.$\"}", "\"ä\"", NULL},
        {"{\"pattern\":\"^\\\\p{L}+$\"}", "\"Äb\"", NULL},
        {"{\"pattern\":\"(unclosed\"}", "\"x\"", NULL},
        {"{\"pattern\":7}", "\"x\"", NULL},
        {"{\"pattern\":\"^a\"}", "5", NULL},
        {"{\"pattern\":\"\"}", "\"\"", NULL},
        {"{\"format\":\"email\"}", "\"not an address\"", NULL},
    };
    RUN(CASES);
}

TEST(arrays)
{
    static const struct schema_case CASES[] = {
        {"{\"items\":{\"type\":\"string\"}}", "[\"a\",\"b\"]", NULL},
        {"{\"items\":{\"type\":\"string\"}}", "[\"a\",2]",
         "arguments[1]: expected string, got integer"},
        {"{\"items\":false}", "[]", NULL},
        {"{\"items\":false}", "[1]", "arguments[0]: is not allowed here"},
        {"{\"items\":{\"type\":\"string\"}}", "{\"0\":1}", NULL},
        {"{\"prefixItems\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "[\"a\",1,true]",
         NULL},
        {"{\"prefixItems\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "[\"a\",\"b\"]",
         "arguments[1]: expected integer, got string"},
        {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1]",
         "arguments[1]: is not allowed here"},
        {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"integer\"}}",
         "[\"a\",1,2]", NULL},
        {"{\"items\":[{\"type\":\"string\"}]}", "[1]",
         "arguments[0]: expected string, got integer"},
        {"{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\",1]",
         "arguments[1]: is not allowed here"},
        {"{\"items\":{\"type\":\"string\"},\"additionalItems\":false}", "[\"a\",\"b\"]", NULL},
        {"{\"minItems\":1}", "[]", "arguments: must have at least 1 elements"},
        {"{\"minItems\":1}", "[1]", NULL},
        {"{\"maxItems\":1}", "[1,2]", "arguments: must have at most 1 elements"},
        {"{\"maxItems\":1}", "\"abc\"", NULL},
        {"{\"uniqueItems\":true}", "[1,2,{\"a\":1}]", NULL},
        {"{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},3,{\"b\":2,\"a\":1}]",
         "arguments: has the same element at [0] and [2]"},
        {"{\"uniqueItems\":true}", "[1,1.0]", "arguments: has the same element at [0] and [1]"},
        {"{\"uniqueItems\":true}", "[1,true,\"1\",0,false]", NULL},
        {"{\"uniqueItems\":false}", "[1,1]", NULL},
        {"{\"contains\":{\"const\":5}}", "[1,5]", NULL},
        {"{\"contains\":{\"const\":5}}", "[1]",
         "arguments: needs at least 1 matching elements, has 0"},
        {"{\"contains\":{\"const\":5}}", "[]",
         "arguments: needs at least 1 matching elements, has 0"},
        {"{\"contains\":{\"const\":5},\"minContains\":0}", "[1]", NULL},
        {"{\"contains\":{\"const\":5},\"minContains\":2}", "[5]",
         "arguments: needs at least 2 matching elements, has 1"},
        {"{\"contains\":{\"const\":5},\"maxContains\":1}", "[5,5]",
         "arguments: allows at most 1 matching elements, has 2"},
    };
    RUN(CASES);
}

TEST(objects)
{
    static const struct schema_case CASES[] = {
        {"{\"properties\":{\"count\":{\"type\":\"integer\"}}}", "{\"count\":1,\"more\":2}", NULL},
        {"{\"properties\":{\"count\":{\"type\":\"integer\"}}}", "{\"count\":\"1\"}",
         "arguments.count: expected integer, got string"},
        {"{\"properties\":{\"a\":{\"properties\":{\"b\":{\"items\":{\"type\":\"null\"}}}}}}",
         "{\"a\":{\"b\":[null,3]}}", "arguments.a.b[1]: expected null, got integer"},
        {"{\"properties\":{\"a b\":{\"type\":\"null\"}}}", "{\"a b\":1}",
         "arguments[\"a b\"]: expected null, got integer"},
        {"{\"properties\":{\"\":{\"type\":\"null\"}}}", "{\"\":1}",
         "arguments[\"\"]: expected null, got integer"},
        {"{\"properties\":{\"x\":false}}", "{\"x\":1}", "arguments.x: is not allowed here"},
        {"{\"required\":[\"path\"]}", "{\"path\":null}", NULL},
        {"{\"required\":[\"path\"]}", "{}", "arguments.path: is required"},
        {"{\"required\":[\"a\",\"b\"]}", "{\"a\":1}", "arguments.b: is required"},
        {"{\"required\":[\"a\"]}", "[]", NULL},
        {"{\"required\":true}", "{}", NULL},
        {"{\"additionalProperties\":false}", "{\"x\":1}", "arguments.x: is not a known property"},
        {"{\"properties\":{\"a\":{},\"b\":{}},\"additionalProperties\":false}", "{\"a\":1,\"c\":1}",
         "arguments.c: is not a known property (known: a, b)"},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
         "{\"a\":1,\"b\":\"x\"}", NULL},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
         "{\"a\":1,\"b\":2}", "arguments.b: expected string, got integer"},
        {"{\"patternProperties\":{\"^x-\":{\"type\":\"string\"}}}", "{\"x-a\":\"1\",\"y\":2}",
         NULL},
        {"{\"patternProperties\":{\"^x-\":{\"type\":\"string\"}}}", "{\"x-a\":1}",
         "arguments.x-a: expected string, got integer"},
        {"{\"patternProperties\":{\"^x-\":{}},\"additionalProperties\":false}", "{\"x-a\":1}",
         NULL},
        {"{\"patternProperties\":{\"^x-\":{}},\"additionalProperties\":false}", "{\"y\":1}",
         "arguments.y: is not a known property"},
        {"{\"patternProperties\":{\"(bad\":false}}", "{\"y\":1}", NULL},
        {"{\"patternProperties\":{\"(bad\":{}},\"additionalProperties\":false}", "{\"y\":1}", NULL},
        {"{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"ok\":1}", NULL},
        {"{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"Not\":1}",
         "arguments.Not: is not an allowed name for a property"},
        {"{\"minProperties\":1}", "{}", "arguments: must have at least 1 properties"},
        {"{\"maxProperties\":1}", "{\"a\":1,\"b\":2}", "arguments: must have at most 1 properties"},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1,\"b\":2}", NULL},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"c\":1}", NULL},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "arguments.b: is required because of another property"},
        {"{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":1}",
         "arguments.b: is required"},
        {"{\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "arguments.b: is required because of another property"},
        {"{\"dependencies\":{\"a\":{\"maxProperties\":1}}}", "{\"a\":1,\"b\":1}",
         "arguments: must have at most 1 properties"},
    };
    RUN(CASES);
}

TEST(logic)
{
    static const struct schema_case CASES[] = {
        {"{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":3}]}", "3", NULL},
        {"{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":3}]}", "2",
         "arguments: must be at least 3"},
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "\"a\"", NULL},
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "true",
         "arguments: fits none of the allowed forms (anyOf)"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"properties\":{\"a\":{\"type\":\"null\"}}}]}",
         "{\"a\":1}", "arguments.a: expected null, got integer"},
        {"{\"anyOf\":[]}", "1", NULL},
        {"{\"anyOf\":{}}", "1", NULL},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "1", NULL},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "5.5", NULL},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "6",
         "arguments: fits 2 forms where exactly one is allowed (oneOf)"},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}", "\"x\"",
         "arguments: fits none of the allowed forms (oneOf)"},
        {"{\"not\":{\"type\":\"integer\"}}", "\"x\"", NULL},
        {"{\"not\":{\"type\":\"integer\"}}", "1",
         "arguments: has a form that is not allowed (not)"},
        {"{\"not\":{}}", "1", "arguments: has a form that is not allowed (not)"},
        {"{\"not\":7}", "1", NULL},
        {"{\"not\":{\"not\":{\"type\":\"integer\"}}}", "1", NULL},
        {"{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"maximum\":5}}", "20",
         NULL},
        {"{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"maximum\":5}}", "15",
         "arguments: must be a multiple of 10"},
        {"{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"maximum\":5}}", "7",
         "arguments: must be at most 5"},
        {"{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10}}", "3", NULL},
        {"{\"then\":{\"maximum\":5}}", "7", NULL},
    };
    RUN(CASES);
}

TEST(references)
{
    static const struct schema_case CASES[] = {
        {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"integer\"}}}", "1", NULL},
        {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"integer\"}}}", "\"1\"",
         "arguments: expected integer, got string"},
        {"{\"$ref\":\"#/definitions/n\",\"definitions\":{\"n\":{\"type\":\"integer\"}}}", "null",
         "arguments: expected integer, got null"},
        {"{\"$ref\":\"#/$defs/a~1b~0c\",\"$defs\":{\"a/b~c\":{\"type\":\"integer\"}}}", "null",
         "arguments: expected integer, got null"},
        {"{\"$ref\":\"#/$defs/a%20b\",\"$defs\":{\"a b\":{\"type\":\"integer\"}}}", "null",
         "arguments: expected integer, got null"},
        {"{\"$ref\":\"#/$defs/l/1\",\"$defs\":{\"l\":[true,{\"type\":\"integer\"}]}}", "null",
         "arguments: expected integer, got null"},
        {"{\"$ref\":\"#pos\",\"$defs\":{\"p\":{\"$anchor\":\"pos\",\"minimum\":1}}}", "0",
         "arguments: must be at least 1"},
        {"{\"$ref\":\"#/$defs/a\",\"maximum\":3,\"$defs\":{\"a\":{\"minimum\":1}}}", "4",
         "arguments: must be at most 3"},
        {"{\"$ref\":\"#/$defs/none\"}", "1", NULL},
        {"{\"$ref\":\"https://example.com/schema\"}", "1", NULL},
        {"{\"$ref\":\"other.json#/x\"}", "1", NULL},
        {"{\"$ref\":5}", "1", NULL},
        {"{\"$ref\":\"#/%zz/~2\"}", "1", NULL},
        {"{\"properties\":{\"next\":{\"$ref\":\"#\"},\"v\":{\"type\":\"integer\"}}}",
         "{\"next\":{\"next\":{\"v\":\"x\"}}}",
         "arguments.next.next.v: expected integer, got string"},
        {"{\"$dynamicRef\":\"#n\",\"$defs\":{\"n\":{\"$dynamicAnchor\":\"n\",\"type\":\"null\"}}}",
         "1", "arguments: expected null, got integer"},
    };
    RUN(CASES);
}

#define TOO_COMPLEX "arguments: too complex to be checked; send less"

/* What cannot be checked is refused, and soon. */
TEST(endless_schemas_refuse)
{
    static const struct schema_case CASES[] = {
        {"{\"$ref\":\"#\"}", "1", TOO_COMPLEX},
        {"{\"not\":{\"$ref\":\"#\"}}", "1", TOO_COMPLEX},
        {"{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "1", TOO_COMPLEX},
        {"{\"anyOf\":[{\"not\":{\"$ref\":\"#\"}},{\"$ref\":\"#/anyOf/0\"}]}", "1", TOO_COMPLEX},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},"
         "\"b\":{\"$ref\":\"#/$defs/a\"}}}",
         "1", TOO_COMPLEX},
        {"{\"pattern\":\"^(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"",
         TOO_COMPLEX},
    };
    RUN(CASES);
}

/* Whoever sends the value cannot hide a member behind many others. */
TEST(order_does_not_matter)
{
    struct arena a;
    struct json *schema;
    struct err e = {0};
    arena_init(&a);
    str text = STR("{\"properties\":{\"name\":{\"pattern\":\"^[a-z]+$\"},"
                   "\"list\":{\"items\":{\"type\":\"string\"}}}}");
    assert_int_equal(json_parse(&a, text, 0, &schema, NULL), 0);
    struct json *list = json_new(&a, JSON_ARRAY), *value = json_new(&a, JSON_OBJECT);
    for (int i = 0; i < SCHEMA_STEPS_MAX + 10; i++)
        json_push(&a, list, json_of_str(STR("")));
    json_set(&a, value, STR("list"), *list);
    json_set(&a, value, STR("name"), json_of_str(STR("../../x")));
    assert_int_equal(schema_validate(schema, value, "arguments", &e), -EINVAL);
    assert_string_equal(e.msg, TOO_COMPLEX);
    arena_done(&a);
}

TEST(large_arrays_are_refused_unproven)
{
    struct arena a;
    struct json *schema;
    arena_init(&a);
    assert_int_equal(json_parse(&a, STR("{\"uniqueItems\":true}"), 0, &schema, NULL), 0);
    struct json *list = json_new(&a, JSON_ARRAY);
    for (int i = 0; i < 5000; i++)
        json_push(&a, list, json_of_int(i));
    json_push(&a, list, json_of_int(4999));
    assert_int_equal(schema_validate(schema, list, "arguments", NULL), -EINVAL);
    list->len = 100;
    list->items[99] = json_of_int(98);
    assert_int_equal(schema_validate(schema, list, "arguments", NULL), -EINVAL);
    arena_done(&a);
}

TEST(deep_paths_are_cut)
{
    struct arena a;
    struct buf value;
    struct err e = {0};
    arena_init(&a);
    buf_init(&value, 1 << 20);
    for (int i = 0; i < 60; i++)
        buf_add_lit(&value, "{\"a-rather-long-name\":");
    buf_add_lit(&value, "1");
    for (int i = 0; i < 60; i++)
        buf_add_lit(&value, "}");
    assert_int_equal(validate(&a, "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"}}",
                              buf_cstr(&value), &e),
                     -EINVAL);
    assert_non_null(strstr(e.msg, "...: expected object, got integer"));
    buf_done(&value);
    arena_done(&a);
}
