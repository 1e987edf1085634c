#include "base/json/yaml.h"
#include "support/unit.h"

TEST(core_schema)
{
    /* A scalar and the JSON it becomes. */
    static const struct {
        const char *plain, *json;
    } rows[] = {
        {"", "null"},
        {"~", "null"},
        {"Null", "null"},
        {"nULL", "\"nULL\""},
        {"true", "true"},
        {"FALSE", "false"},
        {"yes", "\"yes\""},
        {"on", "\"on\""},
        {"12", "12"},
        {"+12", "12"},
        {"-12", "-12"},
        {"007", "7"},
        {"-0", "-0"},
        {"0x1F", "31"},
        {"0o17", "15"},
        {"0o18", "\"0o18\""},
        {"0x", "\"0x\""},
        {"-0x1", "\"-0x1\""},
        {"0x7fffffffffffffff", "9223372036854775807"},
        {"0x8000000000000000", "\"0x8000000000000000\""},
        {"9223372036854775808", "9223372036854775808"},
        {"1.50", "1.50"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"1.", "1.0"},
        {"1.e3", "1.0e3"},
        {"00.5", "0.5"},
        {"1e3", "1e3"},
        {"1E-3", "1e-3"},
        {".", "\".\""},
        {"-", "\"-\""},
        {"1e", "\"1e\""},
        {".inf", "\".inf\""},
        {"1.2.3", "\"1.2.3\""},
        {"1_000", "\"1_000\""},
        {"12:30", "\"12:30\""},
        {"2026-03-25", "\"2026-03-25\""},
        {"hello", "\"hello\""},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json v = yaml_plain(&a, str_from(rows[i].plain));
        assert_string_equal(json_to_str(&a, &v).p, rows[i].json);
    }
    arena_done(&a);
}

TEST(types)
{
    struct arena a;
    arena_init(&a);
    assert_int_equal(yaml_plain(&a, STR("50")).type, JSON_INT);
    assert_int_equal(yaml_plain(&a, STR("0.1")).type, JSON_NUMBER);
    arena_done(&a);
}
