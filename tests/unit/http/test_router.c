#include "http/router.h"
#include "support/unit.h"

static void handle(void *ctx, struct http_req *r)
{
    (void)ctx;
    (void)r;
}

static const struct route TABLE[] = {
    {"GET", "/v1/health", handle, 1, 0},
    {"GET", "/v1/conversations", handle, 2, 0},
    {"POST", "/v1/conversations", handle, 3, 0},
    {"GET", "/v1/conversations/search", handle, 4, 0},
    {"GET", "/v1/conversations/:id", handle, 5, 0},
    {"DELETE", "/v1/conversations/:id", handle, 6, 0},
    {"GET", "/v1/conversations/:id/history", handle, 7, 0},
    {"GET", "/v1/apps/:name/resources/*", handle, 8, 0},
    {"GET", "/", handle, 9, 0},
};

static enum route_result find(const char *method, const char *path, struct http_req *r,
                              struct buf *allow)
{
    *r = (struct http_req){.method = str_from(method), .path = str_from(path)};
    return route_find(TABLE, ARRAY_LEN(TABLE), r, allow);
}

TEST(found)
{
    static const struct {
        const char *method, *path;
        unsigned flags;
        const char *params[2];
    } CASES[] = {
        {"GET", "/v1/health", 1, {NULL}},
        {"HEAD", "/v1/health", 1, {NULL}},
        {"POST", "/v1/conversations", 3, {NULL}},
        {"GET", "/v1/conversations/search", 4, {NULL}},
        {"GET", "/v1/conversations/conv_1", 5, {"conv_1"}},
        {"DELETE", "/v1/conversations/search", 6, {"search"}},
        {"GET", "/v1/conversations/a b/history", 7, {"a b"}},
        {"GET", "/v1/apps/x/resources/a/b.html", 8, {"x", "a/b.html"}},
        {"GET", "/v1/apps/x/resources/", 8, {"x", ""}},
        {"GET", "/", 9, {NULL}},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct http_req r;
        assert_int_equal(find(CASES[i].method, CASES[i].path, &r, NULL), ROUTE_FOUND);
        assert_int_equal(((const struct route *)r.route)->flags, CASES[i].flags);
        for (size_t k = 0; k < 2; k++)
            assert_true(str_eq(r.params[k], str_from(CASES[i].params[k])));
    }
}

TEST(not_found)
{
    static const char *const PATHS[] = {
        "/v1",
        "/v1/",
        "/v1/health/",
        "/v1/healthy",
        "/V1/health",
        "/v1/conversations/",
        "/v1/conversations//history",
        "/v1/conversations/a/b",
        "/v1/apps/x/resources",
        "//",
        "",
    };
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        struct http_req r;
        assert_int_equal(find("GET", PATHS[i], &r, NULL), ROUTE_NOT_FOUND);
        assert_null(r.route);
    }
}

TEST(wrong_method)
{
    struct http_req r;
    struct buf allow;
    buf_init(&allow, 256);
    assert_int_equal(find("PUT", "/v1/conversations", &r, &allow), ROUTE_WRONG_METHOD);
    assert_string_equal(buf_cstr(&allow), "GET, HEAD, POST");
    buf_clear(&allow);
    assert_int_equal(find("get", "/v1/conversations/search", &r, &allow), ROUTE_WRONG_METHOD);
    assert_string_equal(buf_cstr(&allow), "GET, HEAD, DELETE"); /* each once */
    assert_int_equal(find("PUT", "/v1/health", &r, NULL), ROUTE_WRONG_METHOD);
    buf_done(&allow);
}
