/* Values: lookups that forgive, building, changing, copying and comparing. */
#include "base/json/json.h"
#include "support/unit.h"

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

static void assert_text(struct arena *a, const struct json *v, const char *text)
{
    assert_string_equal(json_to_str(a, v).p, text);
}

TEST_WITH(lookups, setup, teardown)
{
    struct arena *a = *state;
    struct json *v =
        parsed(a, "{\"s\":\"x\",\"i\":5,\"f\":1.5,\"t\":true,\"l\":[1,2],\"s\":\"y\"}");
    assert_true(str_eq(json_get_string(v, "s"), STR("x"))); /* the first of two */
    assert_int_equal(json_get_int(v, "i", 0), 5);
    assert_true(json_get_bool(v, "t", false));
    assert_int_equal(json_at(json_get(v, "l"), 1)->i, 2);
    assert_true(json_is(json_get_str(v, STR("f")), JSON_NUMBER));
    assert_true(str_eq(json_string(json_get(v, "s"), STR("-")), STR("x")));
}

TEST_WITH(lookups_that_find_nothing, setup, teardown)
{
    struct arena *a = *state;
    struct json *v = parsed(a, "{\"s\":\"x\",\"i\":5,\"l\":[1],\"n\":null}");
    assert_null(json_get(NULL, "s"));
    assert_null(json_get(v, "absent"));
    assert_null(json_get(json_get(v, "s"), "s"));
    assert_null(json_at(v, 0));
    assert_null(json_at(json_get(v, "l"), 1));
    assert_null(json_at(NULL, 0));
    assert_null(json_get_string(v, "i").p);
    assert_int_equal(json_get_int(v, "s", -7), -7);
    assert_true(json_get_bool(v, "n", true));
    assert_true(str_eq(json_string(NULL, STR("-")), STR("-")));
    assert_false(json_is(NULL, JSON_NULL));
}

TEST_WITH(building, setup, teardown)
{
    struct arena *a = *state;
    struct json *obj = json_new(a, JSON_OBJECT), *arr = json_new(a, JSON_ARRAY);
    (void)json_push(a, arr, json_of_int(1));
    (void)json_push(a, arr, json_of_bool(false));
    (void)json_push(a, arr, json_of_null());
    (void)json_push(a, arr, json_of_double(a, 0.25));
    (void)json_set(a, obj, STR("list"), *arr);
    struct json *inner = json_set(a, obj, STR("inner"), *json_new(a, JSON_OBJECT));
    (void)json_set(a, inner, STR("k"), json_of_str(STR("v")));
    assert_text(a, obj, "{\"list\":[1,false,null,0.25],\"inner\":{\"k\":\"v\"}}");
}

TEST_WITH(growing_keeps_everything, setup, teardown)
{
    enum { N = 1000 };
    struct arena *a = *state;
    struct json *arr = json_new(a, JSON_ARRAY), *obj = json_new(a, JSON_OBJECT);
    for (int i = 0; i < N; i++) {
        assert_int_equal(json_push(a, arr, json_of_int(i))->i, i);
        (void)json_set(a, obj, arena_printf(a, "k%d", i), json_of_int(i));
    }
    assert_int_equal(arr->len, N);
    assert_int_equal(obj->len, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(json_at(arr, (size_t)i)->i, i);
        assert_int_equal(json_get_int(obj, arena_printf(a, "k%d", i).p, -1), i);
    }
}

/* A parsed container has no spare room of its own: growing must not touch its neighbours. */
TEST_WITH(growing_what_was_read, setup, teardown)
{
    struct arena *a = *state;
    struct json *v = parsed(a, "{\"a\":[1,2,3],\"b\":[4],\"c\":{\"x\":1}}");
    (void)json_push(a, json_get(v, "a"), json_of_int(9));
    (void)json_push(a, json_get(v, "b"), json_of_int(8));
    (void)json_set(a, json_get(v, "c"), STR("y"), json_of_int(2));
    (void)json_set(a, v, STR("d"), json_of_null());
    assert_text(a, v, "{\"a\":[1,2,3,9],\"b\":[4,8],\"c\":{\"x\":1,\"y\":2},\"d\":null}");
}

TEST_WITH(set_replaces_in_place, setup, teardown)
{
    struct arena *a = *state;
    struct json *v = parsed(a, "{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}");
    (void)json_set(a, v, STR("a"), json_of_str(STR("new")));
    assert_text(a, v, "{\"a\":\"new\",\"b\":2,\"c\":4}");
}

TEST_WITH(unset, setup, teardown)
{
    struct arena *a = *state;
    struct json *v = parsed(a, "{\"a\":1,\"b\":2,\"a\":3}");
    json_unset(v, "absent");
    assert_int_equal(v->len, 3);
    json_unset(v, "a");
    assert_text(a, v, "{\"b\":2}");
    json_unset(v, "b");
    assert_text(a, v, "{}");
    json_unset(NULL, "b");
}

TEST_WITH(clone_owns_everything, setup, teardown)
{
    struct arena *a = *state, source;
    char text[] = "{\"k\":[\"s\",1.50,1,{\"deep\":[true,null]}],\"e\":{},\"l\":[]}";
    arena_init(&source);
    struct json *v;
    assert_int_equal(json_parse(&source, str_from(text), 0, &v, NULL), 0);
    struct json *copy = json_clone(a, v);
    arena_done(&source);
    memset(text, 'x', sizeof(text) - 1);
    assert_text(a, copy, "{\"k\":[\"s\",1.50,1,{\"deep\":[true,null]}],\"e\":{},\"l\":[]}");
    assert_null(json_clone(a, NULL));
}

TEST_WITH(equality, setup, teardown)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } CASES[] = {
        {"null", "null", true},
        {"true", "true", true},
        {"true", "false", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"A\"", false},
        {"[1,2]", "[1,2]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"[]", "{}", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"c\":2}", "{\"b\":2,\"a\":1}", false},
        {"{\"a\":{\"x\":1,\"y\":[1.0]}}", "{\"a\":{\"y\":[1],\"x\":1}}", true},
        {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}", true},
        {"{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}", false},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *x = parsed(a, CASES[i].a), *y = parsed(a, CASES[i].b);
        if (json_equal(x, y) != CASES[i].equal || json_equal(y, x) != CASES[i].equal)
            fail_msg("%s and %s", CASES[i].a, CASES[i].b);
    }
    assert_true(json_equal(NULL, NULL));
    assert_false(json_equal(parsed(a, "null"), NULL));
}

/* Lookups for each key of a large object would be quadratic. */
TEST_WITH(equality_of_large_objects, setup, teardown)
{
    enum { N = 50000 };
    struct arena *a = *state;
    struct buf up, down;
    buf_init(&up, 1 << 22);
    buf_init(&down, 1 << 22);
    for (int i = 0; i < N; i++) {
        (void)buf_printf(&up, "%c\"key%d\":%d", i ? ',' : '{', i, i);
        (void)buf_printf(&down, "%c\"key%d\":%d", i ? ',' : '{', N - 1 - i, N - 1 - i);
    }
    (void)buf_add_char(&up, '}');
    (void)buf_add_char(&down, '}');
    assert_true(json_equal(parsed(a, buf_cstr(&up)), parsed(a, buf_cstr(&down))));
    buf_done(&up);
    buf_done(&down);
}

TEST(strings_of_an_array)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    assert_int_equal(json_parse(&a, STR("[1,\"x\",null]"), 0, &v, NULL), 0);
    assert_true(json_has_string(v, STR("x")));
    assert_false(json_has_string(v, STR_NONE)); /* neither 1 nor null is an empty string */
    assert_false(json_has_string(json_at(v, 1), STR("x")));
    assert_false(json_has_string(NULL, STR("x")));
    arena_done(&a);
}
