#include "http/static.h"
#include "probe.h"

static const struct asset ASSETS[] = {
    {STR_INIT("/app-1a2b.js"), STR_INIT("text/javascript; charset=utf-8"), STR_INIT("\"js\""),
     STR_INIT("console.log(1)"), STR_INIT("GZIPPED"), true},
    {STR_INIT("/icon.svg"), STR_INIT("image/svg+xml"), STR_INIT("\"svg\""), STR_INIT("<svg/>"),
     STR_INIT(""), false},
    {STR_INIT("/index.html"), STR_INIT("text/html; charset=utf-8"), STR_INIT("\"html\""),
     STR_INIT("<!doctype html>"), STR_INIT("GZ"), false},
    {STR_INIT("/sw.js"), STR_INIT("text/javascript; charset=utf-8"), STR_INIT("\"sw\""),
     STR_INIT("fetch(1)"), STR_INIT(""), false},
};

static const struct asset *find(str path)
{
    static const struct asset_table TABLE = {ASSETS, ARRAY_LEN(ASSETS)};
    return asset_table_find(&TABLE, path);
}

static const char *const APART[] = {"/v1/", "/mcp", NULL};
static const struct static_site SITE = {find, STR_INIT("default-src 'self'"), APART};

static void serve(struct http_req *r)
{
    if (!static_serve(r, &SITE))
        http_reply_error(r, 404, "not_found", "No such file.", NULL);
}

static void get(const char *path, const char *headers, struct reply *ret)
{
    char request[1024];
    int n =
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, headers);
    probe(serve, str_make(request, (size_t)n), ret);
}

TEST(files)
{
    struct reply r;
    get("/icon.svg", "", &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), "<svg/>");
    assert_string_equal(reply_header(&r, "Content-Type"), "image/svg+xml");
    assert_string_equal(reply_header(&r, "ETag"), "\"svg\"");
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-cache");
    assert_null(reply_header(&r, "Vary"));
    assert_non_null(strstr(r.head, "default-src 'none'")); /* only pages get the page's policy */
    reply_done(&r);
    get("/app-1a2b.js", "", &r);
    assert_string_equal(buf_cstr(&r.body), "console.log(1)");
    assert_string_equal(reply_header(&r, "Cache-Control"), "public, max-age=31536000, immutable");
    assert_string_equal(reply_header(&r, "Vary"), "Accept-Encoding");
    reply_done(&r);
}

TEST(page)
{
    static const char HTML[] = "Accept: text/html,*/*;q=0.8\r\n";
    static const struct {
        const char *path, *headers;
        int status;
    } CASES[] = {
        {"/", "", 200},
        {"/", HTML, 200},
        {"/index.html", "", 200},
        {"/c/conv_1", HTML, 200},
        {"/c/conv_1", "Accept: application/json\r\n", 404},
        {"/c/conv_1", "", 404},
        {"/v1/nothing", HTML, 404},
        {"/v1", HTML, 404},
        {"/mcp", HTML, 404},
        {"/v1x", HTML, 200},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct reply r;
        get(CASES[i].path, CASES[i].headers, &r);
        if (r.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].path, r.status);
        if (r.status == 200) {
            assert_string_equal(buf_cstr(&r.body), "<!doctype html>");
            assert_string_equal(reply_header(&r, "Content-Security-Policy"), "default-src 'self'");
        }
        reply_done(&r);
    }
}

TEST(gzip)
{
    struct reply r;
    get("/app-1a2b.js", "Accept-Encoding: br, gzip\r\n", &r);
    assert_string_equal(buf_cstr(&r.body), "GZIPPED");
    assert_string_equal(reply_header(&r, "Content-Encoding"), "gzip");
    assert_string_equal(reply_header(&r, "ETag"), "\"js-gz\"");
    reply_done(&r);
    get("/app-1a2b.js", "Accept-Encoding: gzip;q=0, *\r\n", &r);
    assert_string_equal(buf_cstr(&r.body), "console.log(1)");
    assert_null(reply_header(&r, "Content-Encoding"));
    reply_done(&r);
}

TEST(accepts_coding)
{
    static const struct {
        const char *value;
        bool is_accepted;
    } CASES[] = {
        {"gzip", true},
        {"GZIP", true},
        {"deflate, gzip;q=1.0", true},
        {"gzip; q=0.001", true},
        {"*", true},
        {"br;q=1, *;q=0.1", true},
        {"", false},
        {"gzip;q=0", false},
        {"gzip ; q=0.000", false},
        {"*;q=0", false},
        {"identity", false},
        {"xgzip", false},
        {"gzip;q=bad", false},
        {"*, gzip;q=0", false},
        {"gzip;q=0, *", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        if (static_accepts_coding(str_from(CASES[i].value), STR("gzip")) != CASES[i].is_accepted)
            fail_msg("%s", CASES[i].value);
}

TEST(not_modified)
{
    static const struct {
        const char *headers;
        int status;
    } CASES[] = {
        {"If-None-Match: \"svg\"\r\n", 304},        {"If-None-Match: W/\"svg\"\r\n", 304},
        {"If-None-Match: \"x\", \"svg\"\r\n", 304}, {"If-None-Match: *\r\n", 304},
        {"If-None-Match: \"svg2\"\r\n", 200},       {"If-None-Match: svg\r\n", 200},
    };
    struct reply r;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        get("/icon.svg", CASES[i].headers, &r);
        if (r.status != CASES[i].status)
            fail_msg("%s: %d", CASES[i].headers, r.status);
        if (r.status == 304) {
            assert_string_equal(reply_header(&r, "ETag"), "\"svg\"");
            assert_null(reply_header(&r, "Content-Length"));
        }
        reply_done(&r);
    }
    /* The compressed copy is another thing under the same name. */
    get("/app-1a2b.js", "Accept-Encoding: gzip\r\nIf-None-Match: \"js\"\r\n", &r);
    assert_int_equal(r.status, 200);
    reply_done(&r);
}

TEST(methods)
{
    struct reply r;
    probe(serve, STR("HEAD /icon.svg HTTP/1.1\r\nHost: a\r\n\r\n"), &r);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "Content-Length"), "6");
    reply_done(&r);
    probe(serve, STR("POST /icon.svg HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), &r);
    assert_int_equal(r.status, 404);
    reply_done(&r);
}

TEST(a_worker_has_the_policy_of_the_page_and_other_scripts_have_none_of_their_own)
{
    struct reply r;
    get("/sw.js", "", &r);
    assert_string_equal(reply_header(&r, "Content-Security-Policy"), "default-src 'self'");
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-cache");
    reply_done(&r);
    get("/app-1a2b.js", "", &r);
    assert_non_null(strstr(r.head, "default-src 'none'"));
    reply_done(&r);
}
