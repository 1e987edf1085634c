/* GET /v1/openapi.json, and answers of real requests beside it. */
#include "support/api_rig.h"

TEST_WITH(everybody_gets_the_document, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const WHO[] = {"", "ana", "cyd", "operator"};
    str first = STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(WHO); i++) {
        struct api_answer a = api_get(t, WHO[i], "/v1/openapi.json");
        assert_status(a, 200);
        assert_string_equal(api_header(t, &a, "content-type"), "application/json");
        assert_true(str_starts(json_get_string(a.json, "openapi"), STR("3.1")));
        if (i > 0)
            assert_true(str_eq(a.body, first));
        first = a.body;
    }
}

TEST_WITH(the_document_says_nothing_about_this_server, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ana", "/v1/openapi.json");
    static const char *const OURS[] = {"usr_ben", "ws_a", "\"Rig\"", "ben@"};
    for (size_t i = 0; i < ARRAY_LEN(OURS); i++)
        assert_true(str_find(a.body, str_from(OURS[i]), 0) < 0);
    assert_true(str_find(a.body, str_from(t->rig->dir.path), 0) < 0);
}

TEST_WITH(a_client_that_has_the_document_gets_304, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "", "/v1/openapi.json");
    const char *etag = api_header(t, &a, "etag");
    assert_int_equal(strlen(etag), 66);
    struct api_answer again = api_call_with(t, "", "GET", "/v1/openapi.json",
                                            api_path(t, "If-None-Match: %s\r\n", etag), STR_NONE);
    assert_status(again, 304);
    assert_int_equal(again.body.n, 0);
    struct api_answer other =
        api_call_with(t, "", "GET", "/v1/openapi.json", "If-None-Match: \"x\"\r\n", STR_NONE);
    assert_status(other, 200);
}

/* The document that is kept does not depend on who asked first, and HEAD sends no body. */
TEST_WITH(the_document_is_written_once, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_null(t->api->document);
    struct api_answer a = api_call(t, "", "HEAD", "/v1/openapi.json", NULL);
    const struct api_document *kept = t->api->document;
    assert_status(a, 200);
    assert_int_equal(a.body.n, 0);
    assert_non_null(kept);
    api_get(t, "ben", "/v1/openapi.json");
    assert_ptr_equal(t->api->document, kept);
}

TEST_WITH(a_foreign_host_gets_no_document, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    int fd = api_connect(t, "");
    static const char REQUEST[] =
        "GET /v1/openapi.json HTTP/1.0\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    char text[4096] = "";
    size_t n = 0;
    assert_int_equal(send(fd, REQUEST, sizeof REQUEST - 1, 0), sizeof REQUEST - 1);
    for (ssize_t got = -1; got != 0 && n < sizeof text - 1;) {
        rig_spin(t->rig);
        got = recv(fd, text + n, sizeof text - 1 - n, MSG_DONTWAIT);
        n += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    assert_true(str_starts(str_make(text, n), STR("HTTP/1.1 403")) ||
                str_starts(str_make(text, n), STR("HTTP/1.0 403")));
}

/* Reading: the answers themselves are compared with the document by api_call. */
TEST_WITH(answers_about_a_conversation_fit_the_document, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const PATHS[] = {"", "/history", "/notes", "/inputs", "/queue", "/export"};
    const char *id = api_conversation(t, "ben", "hello");
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        const char *path = api_path(t, "/v1/conversations/%s%s", id, PATHS[i]);
        assert_status(api_get(t, "ben", path), 200);
        assert_status(api_get(t, "dan", path), 404);
        assert_status(api_get(t, "", path), 401);
    }
}

TEST_WITH(lists_fit_the_document, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const PATHS[] = {
        "/v1/bootstrap",      "/v1/conversations",  "/v1/conversations/stats",
        "/v1/models",         "/v1/permissions",    "/v1/preferences",
        "/v1/search?q=hello", "/v1/skills",         "/v1/tokens",
        "/v1/tools",          "/v1/usage",          "/v1/users/me",
        "/v1/workspace",      "/v1/workspaces",     "/v1/workspaces/ws_a",
        "/v1/apps",           "/v1/shell",          "/v1/health",
        "/v1/auth/session",   "/v1/bundles/health", "/v1/workspaces/ws_a/members"};
    api_conversation(t, "ben", "hello");
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
        assert_status(api_get(t, "ben", PATHS[i]), 200);
    assert_status(api_get(t, "ana", "/v1/users"), 200);
    assert_status(api_get(t, "ana", "/v1/audit"), 200);
}
