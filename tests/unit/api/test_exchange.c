/* What all handlers share: decoding a request, and errors as replies. */
#include "api/exchange.h"
#include "support/bare_request.h"

struct person {
    str name;
    int64_t age;
    struct json_strs tags;
};

static const struct json_field PERSON_FIELDS[] = {
    {"name", JF_STR, offsetof(struct person, name), JF_REQUIRED, NULL, 0},
    {"age", JF_INT, offsetof(struct person, age), JF_NULLABLE, NULL, 0},
    {"tags", JF_STRS, offsetof(struct person, tags), 0, NULL, 0},
    {0}};

static int set_up(void **state)
{
    *state = loop_new(NULL);
    bare_begin(*state);
    return 0;
}

static int tear_down(void **state)
{
    bare_end(*state);
    loop_free(*state);
    return 0;
}

/* ---- bodies ---- */

TEST_WITH(a_body_is_decoded, set_up, tear_down)
{
    struct person p = {.age = 7};
    struct http_req *r = bare_request("POST", "/", "{\"name\":\"Ana\",\"tags\":[\"a\",\"b\"]}");
    assert_true(api_decode_body(r, PERSON_FIELDS, &p));
    assert_true(str_eq(p.name, STR("Ana")));
    assert_int_equal(p.age, 7); /* what the body does not have stays */
    assert_int_equal(p.tags.len, 2);
    assert_string_equal(bare_reply(), "");
}

TEST_WITH(a_bad_body_is_refused_with_the_reason, set_up, tear_down)
{
    static const struct {
        const char *body, *words;
    } CASES[] = {
        {"", "The body is not valid JSON"},
        {"{\"name\":\"Ana\"", "The body is not valid JSON"},
        {"{\"name\":\"Ana\"} x", "The body is not valid JSON"},
        {"{\"name\":\"a\",\"name\":\"b\"}", "The body is not valid JSON"}, /* which one counts? */
        {"[]", "The body must be a JSON object."},
        {"\"name\"", "The body must be a JSON object."},
        {"null", "The body must be a JSON object."},
        {"{}", "name: "},
        {"{\"name\":null}", "name: "},
        {"{\"name\":5}", "name: "},
        {"{\"name\":\"Ana\",\"age\":\"old\"}", "age: "},
        {"{\"name\":\"Ana\",\"age\":1.5}", "age: "},
        {"{\"name\":\"Ana\",\"tags\":\"a\"}", "tags: "},
        {"{\"name\":\"Ana\",\"tags\":[1]}", "tags[0]: "},
        {"{\"name\":\"Ana\",\"nmae\":\"Ana\"}", "nmae: unknown key"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct person p = {0};
        assert_false(api_decode_body(bare_request("POST", "/", CASES[i].body), PERSON_FIELDS, &p));
        assert_string_equal(bare_reply(), "400 bad_request");
        if (!strstr(bare.body, CASES[i].words))
            fail_msg("%s: %s", CASES[i].body, bare.body);
    }
}

TEST_WITH(a_misspelt_key_is_named_with_the_one_that_was_meant, set_up, tear_down)
{
    struct person p = {0};
    const char *body = "{\"name\":\"Ana\",\"tag\":[],\"zzz\":1}";
    assert_false(api_decode_body(bare_request("POST", "/", body), PERSON_FIELDS, &p));
    assert_non_null(strstr(bare.body, "tag: unknown key"));
    assert_non_null(strstr(bare.body, "tags"));
    assert_null(strstr(bare.body, "zzz")); /* the first one is enough */
}

TEST_WITH(an_open_body_may_have_keys_for_other_code, set_up, tear_down)
{
    struct person p = {0};
    struct http_req *r = bare_request("POST", "/", "{\"name\":\"Ana\",\"other\":1}");
    assert_true(api_decode_open_body(r, PERSON_FIELDS, &p));
    bare_end_request();
    r = bare_request("POST", "/", "{\"other\":1}"); /* its own keys are checked as always */
    assert_false(api_decode_open_body(r, PERSON_FIELDS, &p));
    assert_string_equal(bare_reply(), "400 bad_request");
}

/* ---- numbers of the query ---- */

TEST_WITH(a_number_of_the_query_has_a_range, set_up, tear_down)
{
    static const struct {
        const char *target;
        int64_t value; /* 0 = refused */
    } CASES[] = {
        {"/?limit=1", 1},   {"/?limit=50", 50}, {"/", 20},
        {"/?limit=", 20},   {"/?other=3", 20},  {"/?limit=51", 0},
        {"/?limit=0", 0},   {"/?limit=-1", 0},  {"/?limit=5x", 0},
        {"/?limit=%20", 0}, {"/?limit=1.5", 0}, {"/?limit=99999999999999999999", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int64_t got = -7;
        struct http_req *r = bare_request("GET", CASES[i].target, "");
        bool is_ok = api_query_int(r, "limit", 20, 50, &got);
        if (is_ok != (CASES[i].value > 0) || got != (is_ok ? CASES[i].value : -7))
            fail_msg("%s: %lld", CASES[i].target, (long long)got);
        if (!is_ok)
            assert_non_null(strstr(bare.body, "limit: expected a whole number from 1 to 50"));
        bare_end_request();
    }
}

/* ---- responses ---- */

TEST_WITH(a_response_that_is_too_large_becomes_an_error, set_up, tear_down)
{
    struct api_json j;
    static char text[1024 * 1024];
    memset(text, 'a', sizeof text);
    api_json_value(&j);
    jw_array(&j.w);
    for (size_t i = 0; i <= API_JSON_MAX / sizeof text; i++)
        jw_str(&j.w, str_make(text, sizeof text));
    jw_end(&j.w);
    api_json_send(&j, bare_request("GET", "/", ""));
    assert_string_equal(bare_reply(), "500 too_large");
}

TEST_WITH(lists_and_times_are_written_as_clients_expect_them, set_up, tear_down)
{
    str two[] = {STR("a"), STR("b\"")};
    struct api_json j;
    api_json_begin(&j);
    api_write_strs(&j.w, "two", (struct json_strs){two, 2});
    api_write_strs(&j.w, "none", (struct json_strs){0});
    jw_key(&j.w, "at");
    api_write_time(&j.w, 1774431000123);
    jw_key(&j.w, "never");
    api_write_time(&j.w, 0);
    api_json_send(&j, bare_request("GET", "/", ""));
    assert_string_equal(bare.body, "{\"two\":[\"a\",\"b\\\"\"],\"none\":[],"
                                   "\"at\":\"2026-03-25T09:30:00.123Z\",\"never\":null}");
}
