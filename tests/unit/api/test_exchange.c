/* What all handlers share: decoding a request, and errors as replies. */
#include "api/exchange.h"
#include "api/routes.h"
#include "support/bare_request.h"
#include "support/rig.h"

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

TEST_WITH(flags_of_the_query_are_true_or_false, set_up, tear_down)
{
    static const struct {
        const char *target;
        int value; /* -1 = refused, 2 = the default */
    } CASES[] = {{"/", 2},           {"/?all=", 2},   {"/?all=true", 1}, {"/?all=false", 0},
                 {"/?all=TRUE", -1}, {"/?all=1", -1}, {"/?all=yes", -1}, {"/?all=%20true", -1}};
    for (size_t i = 0; i < 2 * ARRAY_LEN(CASES); i++) {
        bool otherwise = i % 2, got;
        int expected = CASES[i / 2].value == 2 ? otherwise : CASES[i / 2].value;
        struct http_req *r = bare_request("GET", CASES[i / 2].target, "");
        bool is_ok = api_query_flag(r, "all", otherwise, &got);
        if (is_ok != (expected >= 0) || (is_ok && got != expected))
            fail_msg("%s: %d", CASES[i / 2].target, got);
        if (!is_ok)
            assert_non_null(strstr(bare.body, "all: expected true or false"));
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

/* ---- rights that were lost while the request was in progress ---- */

static int set_up_people(void **state)
{
    rig_set_up(state);
    bare_begin(((struct rig *)*state)->loop);
    return 0;
}

static int tear_down_people(void **state)
{
    bare_end(((struct rig *)*state)->loop);
    return rig_tear_down(state);
}

/* A request of Ben, an admin of the workspace, whose handler was called. */
static struct http_req *dispatched(struct rig *rig, const char *method, const char *path)
{
    static struct api_space space;
    size_t n;
    const struct route *routes = api_routes(&n);
    struct http_req *r = bare_request(method, path, "");
    struct api_identity *id = ARENA_NEW(&r->arena, struct api_identity);
    struct buf allow;
    buf_init(&allow, 256);
    assert_int_equal(route_find(routes, n, r, &allow), ROUTE_FOUND);
    buf_done(&allow);
    id->actor = rig->ben;
    id->space = &space;
    id->is_dispatched = true;
    id->dispatched.generation = actor_generation(rig->ben);
    id->dispatched.role = actor_role(rig->ben);
    id->dispatched.server = actor_org_role(rig->ben);
    r->caller = id;
    return r;
}

static void set_role(struct rig *rig, enum ws_role role)
{
    bool is_done = false;
    struct change c = {.kind = role == WS_NONE ? CHANGE_MEMBER_REMOVE : CHANGE_MEMBER_SET,
                       .workspace_id = STR(RIG_WORKSPACE),
                       .user_id = STR("usr_ben"),
                       .ws_role = role};
    directory_change(rig->directory, &c, on_rig_changed, &is_done);
    rig_until(rig, is_done);
}

static void reply_something(struct http_req *r)
{
    struct api_json j;
    api_json_begin(&j);
    jw_kbool(&j.w, "secret", true);
    api_json_send(&j, r);
}

TEST_WITH(an_answer_needs_the_rights_that_its_handler_had, set_up_people, tear_down_people)
{
    static const struct {
        const char *method, *path;
        enum ws_role now;
        const char *reply;
    } CASES[] = {
        {"GET", "/v1/apps/mail/logs", WS_ADMIN, "200"},
        {"GET", "/v1/apps/mail/logs", WS_MEMBER, "403 forbidden"},
        {"POST", "/v1/prompt", WS_MEMBER, "403 forbidden"}, /* reads, whatever the method */
        /* what was done is reported to a person who has become a member meanwhile, */
        {"PUT", "/v1/permissions", WS_MEMBER, "200"},
        /* but not to a person who has left */
        {"PUT", "/v1/permissions", WS_NONE, "403 forbidden"},
    };
    struct rig *rig = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        set_role(rig, WS_ADMIN);
        struct http_req *r = dispatched(rig, CASES[i].method, CASES[i].path);
        set_role(rig, CASES[i].now);
        reply_something(r);
        assert_string_equal(bare_reply(), CASES[i].reply);
        assert_true((strstr(bare.body, "secret") != NULL) == (bare.status == 200));
    }
}

TEST_WITH(a_right_that_was_gained_does_not_matter, set_up_people, tear_down_people)
{
    struct rig *rig = *state;
    struct http_req *r = dispatched(rig, "GET", "/v1/tools");
    set_role(rig, WS_ADMIN);
    reply_something(r);
    assert_string_equal(bare_reply(), "200");
}
