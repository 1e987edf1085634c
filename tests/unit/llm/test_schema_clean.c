#include "llm/provider/schema_clean.h"
#include "unit/llm/history_rig.h"

static const struct {
    const char *name, *in, *out;
    unsigned flags;
} CASES[] = {
    {"good schemas stay as they are",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1,\"enum\":["
     "\"x\"]},\"b\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"number\",\"minimum\":0.10}]}},"
     "\"required\":[\"a\"],\"additionalProperties\":false}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1,\"enum\":["
     "\"x\"]},\"b\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"number\",\"minimum\":0.10}]}},"
     "\"required\":[\"a\"],\"additionalProperties\":false}",
     0},
    {"nothing", "{}", "{\"type\":\"object\",\"properties\":{}}", 0},
    {"no object at all", "[1]", "{\"type\":\"object\",\"properties\":{}}", 0},
    {"another root type", "{\"type\":[\"object\",\"null\"],\"properties\":{\"a\":{}}}",
     "{\"type\":\"object\",\"properties\":{\"a\":{}}}", 0},
    {"a union at the root",
     "{\"oneOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]},{"
     "\"properties\":{\"b\":{\"type\":\"string\"},\"a\":{\"type\":\"number\"}}}]}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}"
     "}",
     0},
    {"a reference at the root",
     "{\"$ref\":\"#/definitions/A\",\"definitions\":{\"A\":{\"type\":\"object\",\"properties\":{"
     "\"a\":{}}}}}",
     "{\"type\":\"object\",\"definitions\":{\"A\":{\"type\":\"object\",\"properties\":{\"a\":{}}}},"
     "\"properties\":{\"a\":{}}}",
     0},
    {"tuples of draft 7",
     "{\"properties\":{\"a\":{\"type\":\"array\",\"items\":[{\"type\":\"string\"}],"
     "\"additionalItems\":false}}}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"prefixItems\":[{\"type\":"
     "\"string\"}]}}}",
     0},
    {"bounds of draft 4",
     "{\"properties\":{\"a\":{\"minimum\":1,\"exclusiveMinimum\":true},\"b\":{\"maximum\":2,"
     "\"exclusiveMaximum\":false}}}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"exclusiveMinimum\":1},\"b\":{\"maximum\":2}}}",
     0},
    {"required of draft 3", "{\"properties\":{\"a\":{\"type\":\"string\",\"required\":true}}}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}", 0},
    {"values of the wrong kind",
     "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"id\":\"x\",\"description\":5,"
     "\"properties\":{\"a\":{\"type\":\"any\",\"enum\":[],\"minLength\":-1,\"pattern\":7,\"anyOf\":"
     "[],\"properties\":[],\"multipleOf\":0},\"b\":7},\"required\":[\"a\",\"a\",5]}",
     "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\"]}", 0},
    {"keys that are not allowed",
     "{\"properties\":{\"a b\":{},\"ok\":{}},\"required\":[\"a b\",\"ok\",\"gone\"]}",
     "{\"type\":\"object\",\"properties\":{\"ok\":{}},\"required\":[\"ok\"]}", 0},
    {"a property may be called like a keyword",
     "{\"properties\":{\"id\":{\"type\":\"string\"},\"required\":{\"type\":\"boolean\"}}}",
     "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"required\":{\"type\":"
     "\"boolean\"}}}",
     0},
    {"arrays say what they hold", "{\"properties\":{\"a\":{\"type\":\"array\"}}}",
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{}}}}", 0},
    {"plain",
     "{\"properties\":{\"a\":{\"$ref\":\"#/x\"},\"b\":true},\"additionalProperties\":false}",
     "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}}}", SCHEMA_PLAIN},
    {"extensions stay", "{\"x-order\":[1],\"properties\":{}}",
     "{\"type\":\"object\",\"x-order\":[1],\"properties\":{}}", 0},
};

TEST(cleans)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        arena_init(&a);
        struct json *clean = schema_clean(&a, rig_json(&a, CASES[i].in), CASES[i].flags);
        const char *got = arena_cstr(&a, json_to_str(&a, clean));
        if (strcmp(got, CASES[i].out) != 0)
            fail_msg("%s\n  got    %s\n  wanted %s", CASES[i].name, got, CASES[i].out);
        /* cleaning what is clean changes nothing */
        assert_true(json_equal(clean, schema_clean(&a, clean, CASES[i].flags)));
        arena_done(&a);
    }
}

TEST(depth_has_an_end)
{
    (void)state;
    struct arena a;
    struct buf b;
    arena_init(&a);
    buf_init(&b, 1 << 16);
    for (int i = 0; i < 100; i++)
        buf_add_lit(&b, "{\"not\":");
    buf_add_lit(&b, "{}");
    for (int i = 0; i < 100; i++)
        buf_add_lit(&b, "}");
    str out = json_to_str(&a, schema_clean(&a, rig_json(&a, buf_cstr(&b)), 0));
    assert_true(out.n < 50 * 8);
    assert_true(json_is(schema_clean(&a, NULL, 0), JSON_OBJECT));
    buf_done(&b);
    arena_done(&a);
}
