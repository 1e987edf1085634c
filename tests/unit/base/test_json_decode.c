/* Decode tables: every type, every complaint with its path. */
#include <errno.h>

#include "base/json/json_decode.h"
#include "support/unit.h"

struct limits {
    int64_t turns;
    double budget;
};

struct bundle {
    str url;
    bool sandbox;
    struct json_strs args;
    struct limits limits;
};

struct settings {
    str name;
    const char *path;
    int64_t port;
    double ratio;
    bool debug;
    struct json_strs tags;
    struct limits limits;
    struct json_structs bundles;
    const struct json *any;
    const struct json *object;
};

static const struct json_field LIMITS[] = {
    {"turns", JF_INT, offsetof(struct limits, turns), 0, NULL, 0},
    {"budget", JF_DOUBLE, offsetof(struct limits, budget), 0, NULL, 0},
    {0},
};

static const struct json_field BUNDLE[] = {
    {"url", JF_STR, offsetof(struct bundle, url), JF_REQUIRED, NULL, 0},
    {"sandbox", JF_BOOL, offsetof(struct bundle, sandbox), 0, NULL, 0},
    {"args", JF_STRS, offsetof(struct bundle, args), 0, NULL, 0},
    {"limits", JF_OBJECT, offsetof(struct bundle, limits), 0, LIMITS, 0},
    {0},
};

static const struct json_field SETTINGS[] = {
    {"name", JF_STR, offsetof(struct settings, name), JF_NULLABLE, NULL, 0},
    {"path", JF_CSTR, offsetof(struct settings, path), 0, NULL, 0},
    {"port", JF_INT, offsetof(struct settings, port), 0, NULL, 0},
    {"ratio", JF_DOUBLE, offsetof(struct settings, ratio), 0, NULL, 0},
    {"debug", JF_BOOL, offsetof(struct settings, debug), 0, NULL, 0},
    {"tags", JF_STRS, offsetof(struct settings, tags), 0, NULL, 0},
    {"limits", JF_OBJECT, offsetof(struct settings, limits), 0, LIMITS, 0},
    {"bundles", JF_OBJECTS, offsetof(struct settings, bundles), 0, BUNDLE, sizeof(struct bundle)},
    {"any", JF_JSON, offsetof(struct settings, any), 0, NULL, 0},
    {"object", JF_JSON_OBJECT, offsetof(struct settings, object), 0, NULL, 0},
    {0},
};

static int setup(void **state)
{
    struct arena *a = xcalloc(1, sizeof(*a));
    arena_init(a);
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    arena_done(*state);
    free(*state);
    return 0;
}

static struct json *parsed(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

TEST_WITH(every_type, setup, teardown)
{
    struct arena *a = *state;
    struct json *doc =
        parsed(a, "{\"name\":\"nb\",\"path\":\"/tmp\",\"port\":27247,\"ratio\":1.5,\"debug\":true,"
                  "\"tags\":[\"a\",\"b\"],\"limits\":{\"turns\":10,\"budget\":3},\"bundles\":["
                  "{\"url\":\"u1\",\"sandbox\":true,\"args\":[]},"
                  "{\"url\":\"u2\",\"limits\":{\"turns\":4}}],"
                  "\"any\":[1],\"object\":{\"k\":2}}");
    struct settings s = {0};
    struct err e;
    assert_int_equal(json_decode(a, doc, SETTINGS, &s, "", NULL, NULL, &e), 0);
    assert_true(str_eq(s.name, STR("nb")));
    assert_string_equal(s.path, "/tmp");
    assert_int_equal(s.port, 27247);
    assert_true(s.ratio == 1.5);
    assert_true(s.debug);
    assert_int_equal(s.tags.len, 2);
    assert_true(str_eq(s.tags.items[1], STR("b")));
    assert_int_equal(s.limits.turns, 10);
    assert_true(s.limits.budget == 3);
    assert_int_equal(s.bundles.len, 2);
    struct bundle *b = s.bundles.items;
    assert_true(str_eq(b[0].url, STR("u1")));
    assert_true(b[0].sandbox);
    assert_int_equal(b[0].args.len, 0);
    assert_true(str_eq(b[1].url, STR("u2")));
    assert_false(b[1].sandbox);
    assert_int_equal(b[1].limits.turns, 4);
    assert_ptr_equal(s.any, json_get(doc, "any"));
    assert_int_equal(json_get_int(s.object, "k", 0), 2);
}

TEST_WITH(absent_fields_keep_their_defaults, setup, teardown)
{
    struct arena *a = *state;
    struct settings s = {.name = STR_INIT("default"), .port = 80, .debug = true};
    assert_int_equal(json_decode(a, parsed(a, "{\"name\":null,\"limits\":{}}"), SETTINGS, &s, "",
                                 NULL, NULL, NULL),
                     0);
    assert_true(str_eq(s.name, STR("default")));
    assert_int_equal(s.port, 80);
    assert_true(s.debug);
}

TEST_WITH(strings_outlive_the_document, setup, teardown)
{
    struct arena *a = *state, source;
    char text[] = "{\"name\":\"nb\",\"tags\":[\"tag\"]}";
    struct json *doc;
    struct settings s = {0};
    arena_init(&source);
    assert_int_equal(json_parse(&source, str_from(text), 0, &doc, NULL), 0);
    assert_int_equal(json_decode(a, doc, SETTINGS, &s, "", NULL, NULL, NULL), 0);
    arena_done(&source);
    memset(text, 'x', sizeof(text) - 1);
    assert_true(str_eq(s.name, STR("nb")));
    assert_true(str_eq(s.tags.items[0], STR("tag")));
}

TEST_WITH(errors_name_the_path, setup, teardown)
{
    static const struct {
        const char *text, *message;
    } CASES[] = {
        {"[]", "expected object"},
        {"{\"name\":1}", "name: expected string"},
        {"{\"path\":null}", "path: expected string"},
        {"{\"path\":\"a\\u0000b\"}", "path: expected string without NUL characters"},
        {"{\"port\":\"80\"}", "port: expected integer"},
        {"{\"port\":80.5}", "port: expected integer"},
        {"{\"port\":9223372036854775808}", "port: expected integer"},
        {"{\"ratio\":\"x\"}", "ratio: expected number"},
        {"{\"ratio\":1e400}", "ratio: number out of range"},
        {"{\"debug\":0}", "debug: expected boolean"},
        {"{\"tags\":\"a\"}", "tags: expected array of strings"},
        {"{\"tags\":[\"a\",2]}", "tags[1]: expected string"},
        {"{\"limits\":[]}", "limits: expected object"},
        {"{\"limits\":{\"turns\":true}}", "limits.turns: expected integer"},
        {"{\"bundles\":{}}", "bundles: expected array of objects"},
        {"{\"bundles\":[1]}", "bundles[0]: expected object"},
        {"{\"bundles\":[{\"url\":\"\"},{\"url\":\"\"},{\"url\":5}]}",
         "bundles[2].url: expected string"},
        {"{\"bundles\":[{}]}", "bundles[0].url: required but missing"},
        {"{\"bundles\":[{\"url\":\"u\",\"args\":[[]]}]}", "bundles[0].args[0]: expected string"},
        {"{\"bundles\":[{\"url\":\"u\",\"limits\":{\"budget\":\"\"}}]}",
         "bundles[0].limits.budget: expected number"},
        {"{\"object\":[]}", "object: expected object"},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct settings s = {0};
        struct err e = {0};
        int r = json_decode(a, parsed(a, CASES[i].text), SETTINGS, &s, "", NULL, NULL, &e);
        assert_int_equal(r, -EINVAL);
        assert_string_equal(e.msg, CASES[i].message);
    }
}

TEST_WITH(the_path_starts_where_the_caller_says, setup, teardown)
{
    struct arena *a = *state;
    struct settings s = {0};
    struct err e;
    assert_int_equal(
        json_decode(a, parsed(a, "{\"port\":true}"), SETTINGS, &s, "http", NULL, NULL, &e),
        -EINVAL);
    assert_string_equal(e.msg, "http.port: expected integer");
    assert_int_equal(json_decode(a, NULL, SETTINGS, &s, "http", NULL, NULL, &e), -EINVAL);
    assert_string_equal(e.msg, "http: expected object");
}

TEST_WITH(nullable_but_required, setup, teardown)
{
    static const struct json_field FIELDS[] = {{"n", JF_INT, 0, JF_REQUIRED | JF_NULLABLE, NULL, 0},
                                               {0}};
    struct arena *a = *state;
    int64_t n = 0;
    struct err e;
    assert_int_equal(json_decode(a, parsed(a, "{\"n\":null}"), FIELDS, &n, "", NULL, NULL, &e),
                     -EINVAL);
    assert_string_equal(e.msg, "n: required but missing");
}

TEST_WITH(the_first_of_duplicates_counts, setup, teardown)
{
    struct arena *a = *state;
    struct settings s = {0};
    assert_int_equal(json_decode(a, parsed(a, "{\"port\":1,\"port\":\"x\"}"), SETTINGS, &s, "",
                                 NULL, NULL, NULL),
                     0);
    assert_int_equal(s.port, 1);
}

static void note_key(void *ctx, const char *path, const char *meant)
{
    (void)buf_printf(ctx, "%s>%s;", path, meant ? meant : "");
}

TEST_WITH(unknown_keys_are_reported, setup, teardown)
{
    struct arena *a = *state;
    struct settings s = {0};
    struct buf keys;
    buf_init(&keys, 4096);
    struct json *doc =
        parsed(a, "{\"nmae\":1,\"limits\":{\"trns\":1,\"turns\":2},\"any\":{\"x\":1},"
                  "\"bundles\":[{\"url\":\"u\"},{\"url\":\"u\",\"extra\":1}]}");
    assert_int_equal(json_decode(a, doc, SETTINGS, &s, "", note_key, &keys, NULL), 0);
    assert_string_equal(buf_cstr(&keys), "limits.trns>turns;bundles[1].extra>;nmae>name;");
    assert_int_equal(s.limits.turns, 2);
    buf_done(&keys);
}

TEST(a_list_of_strings_is_made_searched_and_copied)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    assert_int_equal(json_parse(&a, STR("[\"x\",1,\"yy\",null]"), 0, &v, NULL), 0);
    struct json_strs list = json_strs_of(&a, v);
    assert_int_equal(list.len, 2);
    assert_true(json_strs_has(&list, STR("yy")));
    assert_false(json_strs_has(&list, STR("y")));
    struct json_strs copy = json_strs_copy(&a, list);
    assert_int_equal(copy.len, 2);
    assert_true(copy.items != list.items && copy.items[0].p != list.items[0].p);
    assert_true(json_strs_has(&copy, STR("x")));
    arena_done(&a);
}

TEST(an_absent_list_differs_from_an_empty_one)
{
    struct arena a;
    struct json empty = {.type = JSON_ARRAY}, text = json_of_str(STR("x"));
    arena_init(&a);
    assert_null(json_strs_of(&a, NULL).items);
    assert_null(json_strs_of(&a, &text).items);
    assert_null(json_strs_copy(&a, (struct json_strs){0}).items);
    struct json_strs none = json_strs_copy(&a, json_strs_of(&a, &empty));
    assert_non_null(none.items);
    assert_int_equal(none.len, 0);
    arena_done(&a);
}
