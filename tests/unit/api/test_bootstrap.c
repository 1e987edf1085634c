/* What the page and the command line ask for first: /v1/bootstrap, /v1/auth/link, /v1/health,
 * /v1/workspace, /metrics. */
#include "support/api_rig.h"
#include "telemetry/tracer.h"

/* ---- /v1/bootstrap ---- */

TEST_WITH(the_page_gets_the_person_and_their_workspaces, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/bootstrap");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "user.id"), "usr_ben");
    assert_string_equal(api_text(t, a.json, "activeWorkspace"), "ws_a");
    assert_string_equal(api_text(t, a.json, "authMode"), "local");
    assert_string_equal(api_text(t, a.json, "orgName"), "Rig");
    assert_string_equal(api_text(t, a.json, "config.models.default"), "demo:demo");
    assert_string_equal(api_text(t, a.json, "shell.chatEndpoint"), "/v1/chat/stream");
    assert_int_equal(json_get(a.json, "workspaces")->len, 1);
}

TEST_WITH(the_preferred_workspace_is_used_only_by_its_members, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *preferred, *active;
    } CASES[] = {{"ws_b", "ws_b"}, {"ws_a", "ws_a"}, {"ws_c", "ws_a"}, {"ws_none", "ws_a"}};
    api_change(t, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = STR("ws_b"),
                                  .name = STR("B"),
                                  .user_id = STR("usr_ben")});
    api_change(t, (struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = STR("ws_c"),
                                  .name = STR("C"),
                                  .user_id = STR("usr_cyd")});
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct api_answer a = api_call_with(
            t, "ben", "GET", "/v1/bootstrap",
            api_path(t, "X-Preferred-Workspace: %s\r\n", CASES[i].preferred), STR_NONE);
        assert_string_equal(api_text(t, a.json, "activeWorkspace"), CASES[i].active);
    }
    api_add_token(t, "bound",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .workspace_id = STR("ws_b")});
    struct api_answer a = api_call_with(t, "bound", "GET", "/v1/bootstrap",
                                        "X-Preferred-Workspace: ws_a\r\n", STR_NONE);
    assert_string_equal(api_text(t, a.json, "activeWorkspace"), "ws_b");
    assert_int_equal(json_get(a.json, "workspaces")->len, 1);
}

/* ---- /v1/auth/link ---- */

TEST_WITH(a_link_names_an_address_that_a_browser_can_open, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *host, *base, *url;
    } CASES[] = {
        {"127.0.0.1", "", "http://127.0.0.1:8080/"},
        {"0.0.0.0", "", "http://127.0.0.1:8080/"},
        {"::", "/nb", "http://127.0.0.1:8080/nb/"},
        {"::1", "", "http://[::1]:8080/"},
        {"nb.example.org", "", "http://nb.example.org:8080/"},
    };
    api_listens(t->api, 8080);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        t->rig->config.http.host = CASES[i].host;
        t->rig->config.http.base_path = str_from(CASES[i].base);
        struct api_answer a = api_get(t, "operator", "/v1/auth/link");
        assert_status(a, 200);
        assert_string_equal(api_text(t, a.json, "url"), CASES[i].url);
        assert_string_equal(api_text(t, a.json, "link"), CASES[i].url); /* no key in this mode */
        assert_string_equal(api_text(t, a.json, "mode"), "local");
    }
    api_listens(t->api, 0);
    struct api_answer a = api_get(t, "operator", "/v1/auth/link");
    assert_string_equal(api_text(t, a.json, "url"), "");
}

TEST_WITH(the_key_of_the_link_is_replaced_only_in_dev_mode, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "operator", "POST", "/v1/auth/link/rotate", NULL);
    assert_status(a, 400);
    assert_string_equal(api_text(t, a.json, "error"), "not_configured");
    assert_status(api_call(t, "ana", "POST", "/v1/auth/link/rotate", NULL), 404);
}

/* ---- /v1/health and /v1/workspace ---- */

TEST_WITH(health_has_no_details_for_strangers, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "", "/v1/health");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "status"), "ok");
    assert_string_equal(api_text(t, a.json, "version"), NB_VERSION);
    assert_null(json_get(a.json, "bundles"));
    assert_string_equal(api_part(t, api_get(t, "cyd", "/v1/health").json, "bundles"), "[]");
    assert_int_equal(t->space.users, 0); /* it opens no workspace */
}

TEST_WITH(health_says_when_conversations_cannot_be_stored, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = api_path(t, "/v1/conversations/%s", api_conversation(t, "ben", "hello"));
    store_fault(RIG_GET, NULL, -EIO);
    assert_status(api_get(t, "ben", path), 500);
    struct api_answer a = api_get(t, "", "/v1/health");
    assert_status(a, 200); /* it is alive */
    assert_string_equal(api_text(t, a.json, "status"), "degraded");
    assert_string_equal(api_text(t, a.json, "reason"), "Conversations cannot be read or written.");
    store_fault(RIG_GET, NULL, 0);
    assert_status(api_get(t, "ben", path), 200);
    assert_string_equal(api_text(t, api_get(t, "", "/v1/health").json, "status"), "ok");
}

TEST_WITH(a_server_is_ready_while_it_listens_and_its_store_works, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    api_listens(t->api, 0);
    struct api_answer a = api_get(t, "", "/readyz");
    assert_status(a, 503);
    assert_string_equal(api_text(t, a.json, "error"), "starting");
    assert_status(api_get(t, "", "/healthz"), 200);
    api_listens(t->api, 8080);
    assert_status(api_get(t, "", "/readyz"), 200);

    const char *path = api_path(t, "/v1/conversations/%s", api_conversation(t, "ben", "hello"));
    store_fault(RIG_GET, NULL, -EIO);
    assert_status(api_get(t, "ben", path), 500);
    a = api_get(t, "", "/readyz");
    assert_status(a, 503);
    assert_string_equal(api_text(t, a.json, "error"), "store_failing");
    assert_status(api_get(t, "", "/healthz"), 200); /* a restart would not help */
    store_fault(RIG_GET, NULL, 0);
    assert_status(api_get(t, "ben", path), 200);
    assert_status(api_get(t, "", "/readyz"), 200);
    assert_int_equal(t->space.users, 0);
}

TEST_WITH(the_start_screen_shows_a_path_only_to_admins_of_the_server, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/workspace");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "model.name"), "demo:demo");
    assert_string_equal(api_part(t, a.json, "model.isDemo"), "true");
    assert_string_equal(api_text(t, a.json, "user.id"), "usr_ben");
    assert_string_equal(api_part(t, a.json, "status.totalTools"), "6");
    assert_null(json_get(a.json, "dataDir"));
    a = api_get(t, "ana", "/v1/workspace");
    assert_string_equal(api_text(t, a.json, "dataDir"), t->rig->dir.path);
}

/* ---- /metrics ---- */

static void add_metrics(void *ctx, struct buf *out)
{
    buf_add_lit(out, "nb_mcp_sessions 3\n");
}

static uint64_t metric(const struct api_answer *a, const char *name)
{
    str rest = a->body, line;
    uint64_t v = UINT64_MAX;
    while (str_split(&rest, '\n', &line))
        if (str_starts(line, str_from(name)) && line.p[strlen(name)] == ' ')
            assert_int_equal(parse_u64(str_skip(line, strlen(name) + 1), &v), 0);
    return v;
}

TEST_WITH(metrics_count_requests_and_include_those_of_mcp, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ana", "/metrics");
    assert_status(a, 200);
    uint64_t before = metric(&a, "nb_http_requests_total");
    t->api->deps.mcp.metrics = add_metrics;
    a = api_get(t, "ana", "/metrics");
    assert_int_equal(metric(&a, "nb_http_requests_total"), before + 1);
    assert_int_equal(metric(&a, "nb_http_connections"), 1);
    assert_int_equal(metric(&a, "nb_http_streams"), 0);
    assert_int_equal(metric(&a, "nb_mcp_sessions"), 3);
    assert_string_equal(api_header(t, &a, "Content-Type"),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_status(api_get(t, "ben", "/metrics"), 403);
    assert_status(api_get(t, "", "/metrics"), 401);
}

/* What a client writes into a request must not become a name in the metrics: routes and methods
 * come from nb's own table, and everything else is one series. */
TEST_WITH(requests_are_timed_by_route_and_not_by_what_clients_write, api_set_up, api_tear_down)
{
#define COUNT_OF(labels) "nb_http_request_duration_seconds_count{" labels "}"
    static const struct {
        const char *series;
        uint64_t count;
    } WANT[] = {
        {COUNT_OF("method=\"GET\",route=\"/v1/conversations/:id\",status=\"404\""), 2},
        {COUNT_OF("method=\"GET\",route=\"/v1/health\",status=\"200\""), 1},
        {COUNT_OF("method=\"GET\",route=\"/metrics\",status=\"403\""), 1},
        {COUNT_OF("method=\"_OTHER\",status=\"404\""), 2},
    };
    struct api_rig *t = *state;
    struct tracer *tracer = tracer_new(&(struct tracer_conf){0});
    t->api->deps.tracer = tracer;
    assert_status(api_get(t, "ben", "/v1/conversations/conv_00000000000000aa"), 404);
    assert_status(api_get(t, "ben", "/v1/conversations/conv_00000000000000bb?secret=1"), 404);
    assert_status(api_get(t, "", "/v1/health"), 200);
    assert_status(api_get(t, "ben", "/metrics"), 403);
    assert_status(api_get(t, "ben", "/v1/secret"), 404);
    assert_status(api_call(t, "ben", "SECRET", "/v1/secret", NULL), 404);

    struct api_answer a = api_get(t, "ana", "/metrics");
    assert_status(a, 200);
    for (size_t i = 0; i < ARRAY_LEN(WANT); i++)
        if (metric(&a, WANT[i].series) != WANT[i].count)
            fail_msg("%s is %llu in:\n%.*s", WANT[i].series,
                     (unsigned long long)metric(&a, WANT[i].series), STR_ARG(a.body));
    assert_true(str_find(a.body, STR("ecret"), 0) < 0);
    assert_true(str_find(a.body, STR("conv_0"), 0) < 0);
    t->api->deps.tracer = NULL;
    tracer_free(tracer);
#undef COUNT_OF
}
