/* /v1/apps: the bundles of a workspace, their resources, quarantined tools and sign-ins. */
#include "api/apps/app_trust.h"
#include "support/app_rig.h"

static const char *status_of(struct api_rig *t, const char *who, const char *name)
{
    return api_text(t, api_get(t, who, api_path(t, "/v1/apps/%s", name)).json, "status");
}

/* ---- listing ---- */

TEST_WITH(bundles_are_listed_with_their_state, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/apps");
    const struct json *list = json_get(a.json, "apps");
    assert_int_equal(list->len, 3);
    const struct json *mail = &list->items[1];
    assert_string_equal(api_text(t, mail, "name"), "mail");
    assert_string_equal(api_text(t, mail, "status"), "running");
    assert_string_equal(api_text(t, mail, "kind"), "remote");
    assert_string_equal(api_part(t, mail, "toolCount"), "2");
    assert_null(json_get(mail, "auth"));
    assert_string_equal(api_part(t, &list->items[0], "auth"),
                        "{\"type\":\"oauth\",\"per\":\"workspace\",\"needsSignIn\":true}");
    assert_string_equal(api_text(t, &list->items[2], "auth.per"), "person");
    a = api_get(t, "ben", "/v1/bundles/health");
    assert_int_equal(a.json->len, 3);
    assert_string_equal(api_text(t, &a.json->items[1], "state"), "running");
    assert_string_equal(api_part(t, &a.json->items[1], "restartCount"), "0");
}

TEST_WITH(details_of_the_machine_are_for_admins, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer member = api_get(t, "ben", "/v1/apps/mail");
    struct api_answer admin = api_get(t, "ana", "/v1/apps/mail");
    assert_null(json_get(member.json, "quarantined"));
    assert_non_null(json_get(admin.json, "quarantined"));
    const struct json *tools = json_get(member.json, "tools");
    assert_int_equal(tools->len, 2);
    assert_string_equal(api_text(t, &tools->items[0], "effect"), "changes");
    assert_string_equal(api_text(t, &tools->items[1], "effect"), "reads");
    assert_refused(api_get(t, "ben", "/v1/apps/none"), 404, "not_found", "No such bundle.");
    assert_refused(api_get(t, "ben", "/v1/apps/mail/logs"), 403, "forbidden",
                   "Only admins of the workspace may do this.");
    assert_status(api_get(t, "ana", "/v1/apps/mail/logs"), 200);
}

TEST_WITH(a_bundle_is_hidden_from_a_token_for_other_tools, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    str globs[] = {STR("desk__*")};
    api_add_token(t, "narrow",
                  (struct auth_new_token){
                      .user_id = STR("usr_ana"), .scopes = SCOPE_ALL, .tools = {globs, 1}});
    struct api_answer a = api_get(t, "narrow", "/v1/apps");
    assert_int_equal(json_get(a.json, "apps")->len, 1);
    assert_refused(api_get(t, "narrow", "/v1/apps/mail"), 404, "not_found", "No such bundle.");
    assert_int_equal(api_get(t, "narrow", "/v1/bundles/health").json->len, 1);
}

TEST(the_effect_of_a_tool_is_what_its_annotations_declare)
{
    static const struct {
        const char *annotations, *effect;
    } CASES[] = {
        {"{\"readOnlyHint\":true}", "reads"},
        {"{\"readOnlyHint\":true,\"destructiveHint\":true}", "reads"},
        {"{\"destructiveHint\":false}", "changes"},
        {"{\"readOnlyHint\":false,\"destructiveHint\":true}", "destroys"},
        {"{\"readOnlyHint\":false}", "undeclared"},
        {"{\"destructiveHint\":\"no\"}", "undeclared"},
        {"{}", "undeclared"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json *v;
        assert_int_equal(json_parse(&a, str_from(CASES[i].annotations), 0, &v, NULL), 0);
        assert_string_equal(api_tool_effect(v), CASES[i].effect);
    }
    assert_string_equal(api_tool_effect(NULL), "undeclared");
    arena_done(&a);
}

/* ---- starting and stopping ---- */

TEST_WITH(an_admin_stops_and_starts_a_bundle, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_call(t, "ben", "POST", "/v1/apps/mail/stop", NULL), 403);
    struct api_answer a = api_call(t, "ana", "POST", "/v1/apps/mail/stop", NULL);
    assert_string_equal(api_part(t, a.json, ""), "{\"name\":\"mail\",\"status\":\"stopped\"}");
    assert_string_equal(status_of(t, "ben", "mail"), "stopped");
    assert_status(api_call(t, "ana", "POST", "/v1/apps/mail/start", NULL), 200);
    rig_until(t->rig, bundle_info(app_bundle("mail"))->state == BUNDLE_RUNNING);
    assert_status(api_call(t, "ana", "POST", "/v1/apps/mail/restart", NULL), 200);
    rig_until(t->rig, bundle_info(app_bundle("mail"))->state == BUNDLE_RUNNING);
    assert_status(api_call(t, "ana", "POST", "/v1/apps/none/stop", NULL), 404);
}

TEST_WITH(bundles_that_are_managed_elsewhere_cannot_be_changed, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    static const char *const PATHS[] = {"/v1/apps/mail/stop", "/v1/apps/install",
                                        "/v1/apps/mail/approve", "/v1/apps/desk/auth"};
    t->rig->config.features.bundle_management = false;
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++)
        assert_refused(
            api_call(t, "ana", "POST", PATHS[i], "{}"), 403, "feature_disabled",
            "Bundles cannot be changed: features.bundleManagement is off in the settings.");
    assert_status(api_get(t, "ana", "/v1/apps/mail"), 200);
}

/* ---- adding and removing ---- */

TEST_WITH(a_bundle_is_added_to_the_settings_and_removed, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    const char *body =
        api_path(t, "{\"serverName\":\"far\",\"url\":\"http://127.0.0.1:%u/far\"}", app_rig.port);
    struct api_answer a = api_call(t, "ana", "POST", "/v1/apps/install", body);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "name"), "far");
    assert_refused(api_call(t, "ana", "POST", "/v1/apps/install", "[]"), 400, "bad_request",
                   "The body must be a JSON object.");
    a = api_call(t, "ana", "POST", "/v1/apps/install", body);
    assert_status(a, 409);
    assert_string_equal(api_text(t, a.json, "error"), "already_installed");
    a = api_call(t, "ana", "DELETE", "/v1/apps/far", NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "dataPreserved"), "true");
    assert_status(api_call(t, "ana", "DELETE", "/v1/apps/far", NULL), 404);
}

/* A program on the server is more than an admin of a workspace may install. */
TEST_WITH(programs_are_installed_by_owners_only, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"serverName\":\"x\",\"command\":\"/bin/true\"}";
    api_set_role(t, "usr_ben", WS_ADMIN);
    struct api_answer a = api_call(t, "ben", "POST", "/v1/apps/install", body);
    assert_status(a, 403);
    assert_string_equal(api_text(t, a.json, "error"), "forbidden");
    assert_int_equal(bundles_count(app_rig.bundles), 3);
}

TEST_WITH(settings_of_other_programs_are_shown_before_anything_is_added, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"text\":\"{\\\"mcpServers\\\":{\\\"far\\\":{\\\"url\\\":"
                       "\\\"https://mcp.example.org/mcp\\\"},\\\"tool\\\":{\\\"command\\\":"
                       "\\\"/bin/tool\\\",\\\"args\\\":[\\\"-v\\\"]}}}\"}";
    struct api_answer a = api_call(t, "ana", "POST", "/v1/apps/import", body);
    assert_status(a, 200);
    const struct json *servers = json_get(a.json, "servers");
    assert_int_equal(servers->len, 2);
    assert_string_equal(api_part(t, &servers->items[0], "isForOwner"), "false");
    assert_string_equal(api_text(t, &servers->items[0], "source"), "https://mcp.example.org/mcp");
    assert_string_equal(api_part(t, &servers->items[1], "isForOwner"), "true");
    assert_string_equal(api_part(t, &servers->items[1], "entry"), "null");
    assert_string_equal(api_text(t, &servers->items[1], "source"), "/bin/tool -v");
    api_set_role(t, "usr_ben", WS_ADMIN); /* allowInstall lists nothing */
    a = api_call(t, "ben", "POST", "/v1/apps/import", body);
    servers = json_get(a.json, "servers");
    assert_string_equal(api_part(t, &servers->items[0], "isForOwner"), "true");
    assert_int_equal(bundles_count(app_rig.bundles), 3);
    assert_status(api_call(t, "ben", "POST", "/v1/apps/import", "{\"text\":\"nonsense\"}"), 400);
}

/* ---- resources ---- */

TEST_WITH(a_resource_is_found_with_or_without_the_name_of_its_bundle, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/apps/mail/resources/mail/inbox");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, ""),
                        "{\"contents\":[{\"uri\":\"ui://mail/inbox\",\"text\":\"<p>\"}]}");
    assert_string_equal(api_header(t, &a, "Content-Type"), "application/json"); /* not a page */
    assert_status(api_get(t, "ben", "/v1/apps/mail/resources/inbox"), 200);
    assert_int_equal(app_rig.reads, 3); /* ui://inbox does not exist, ui://mail/inbox does */
    assert_refused(api_get(t, "ben", "/v1/apps/mail/resources/none"), 404, "resource_not_found",
                   "No such resource.");
    assert_status(api_call(t, "ben", "POST", "/v1/resources/read",
                           "{\"server\":\"mail\",\"uri\":\"ui://mail/inbox\"}"),
                  200);
    assert_refused(api_call(t, "ben", "POST", "/v1/resources/read",
                            "{\"server\":\"none\",\"uri\":\"ui://mail/inbox\"}"),
                   404, "not_found", "No such bundle.");
}

TEST_WITH(resources_need_a_token_for_the_whole_bundle, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    str globs[] = {STR("mail__read")};
    api_add_token(t, "narrow",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .tools = {globs, 1}});
    assert_refused(api_get(t, "narrow", "/v1/apps/mail/resources/inbox"), 403, "forbidden",
                   "This token does not allow that bundle.");
    assert_int_equal(app_rig.reads, 0);
}

TEST_WITH(resources_of_a_stopped_bundle_are_unavailable, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_call(t, "ana", "POST", "/v1/apps/mail/stop", NULL), 200);
    struct api_answer a = api_get(t, "ben", "/v1/apps/mail/resources/inbox");
    assert_status(a, 503);
    assert_string_equal(api_text(t, a.json, "error"), "bundle_unavailable");
}

/* ---- quarantine ---- */

TEST_WITH(a_tool_that_has_changed_waits_for_the_approval_of_what_was_shown, app_set_up,
          app_tear_down)
{
    struct api_rig *t = *state;
    app_rig.tools = "\"tools\":[{\"name\":\"send\",\"description\":\"Sends all your mail.\","
                    "\"inputSchema\":{\"type\":\"object\"}}]";
    assert_status(api_call(t, "ana", "POST", "/v1/apps/mail/restart", NULL), 200);
    rig_until(t->rig, bundle_info(app_bundle("mail"))->nheld == 1);
    struct api_answer a = api_get(t, "ana", "/v1/apps/mail");
    const struct json *held = &json_get(a.json, "quarantined")->items[0];
    assert_string_equal(api_text(t, held, "name"), "send");
    assert_string_equal(api_text(t, held, "why"), "changed");
    assert_string_equal(api_part(t, a.json, "toolCount"), "0");

    assert_status(api_call(t, "ana", "POST", "/v1/apps/mail/approve", "{}"), 400);
    a = api_call(t, "ana", "POST", "/v1/apps/mail/approve", "{\"tools\":{\"send\":\"0123\"}}");
    assert_status(a, 409);
    assert_string_equal(api_text(t, a.json, "error"), "changed_meanwhile");
    assert_status(
        api_call(t, "ana", "POST", "/v1/apps/mail/approve", "{\"tools\":{\"other\":\"0123\"}}"),
        404);
    a = api_call(t, "ana", "POST", "/v1/apps/mail/approve",
                 api_path(t, "{\"tools\":{\"send\":\"%s\"}}", api_text(t, held, "digest")));
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "toolCount"), "1");
    assert_string_equal(api_part(t, a.json, "quarantined"), "[]");
    assert_status(api_call(t, "ben", "POST", "/v1/apps/mail/approve", "{}"), 403);
}

/* ---- signing in ---- */

TEST_WITH(only_the_right_kind_of_sign_in_is_started, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *who, *path;
        int status;
        const char *error, *words;
    } CASES[] = {
        {"ana", "/v1/apps/mail/auth", 409, "no_sign_in",
         "This bundle does not support sign-in: its entry has no transport.auth of the type "
         "oauth."},
        {"ana", "/v1/apps/own/auth", 409, "no_sign_in",
         "Each person signs in to this bundle: use account, not auth."},
        {"ben", "/v1/apps/desk/account", 409, "no_sign_in",
         "An admin signs in to this bundle for the whole workspace."},
        {"ben", "/v1/apps/desk/auth", 403, "forbidden",
         "Only admins of the workspace may do this."},
        {"ben", "/v1/apps/none/account", 404, "not_found", "No such bundle."},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_refused(api_call(t, CASES[i].who, "POST", CASES[i].path, NULL), CASES[i].status,
                       CASES[i].error, CASES[i].words);
        assert_refused(api_call(t, CASES[i].who, "DELETE", CASES[i].path, NULL), CASES[i].status,
                       CASES[i].error, CASES[i].words);
    }
    assert_true(list_empty(&t->api->sign_ins));
}

/* The server behind the bundles has no authorization server. */
TEST_WITH(a_sign_in_that_cannot_begin_says_so_and_leaves_nothing, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "ben", "POST", "/v1/apps/own/account", NULL);
    assert_status(a, 502);
    assert_string_equal(api_text(t, a.json, "error"), "sign_in_failed");
    assert_string_equal(api_header(t, &a, "Set-Cookie"), "");
    rig_until(t->rig, list_empty(&t->api->sign_ins));
}

/* A job that keeps a thread of the pool busy until the pipe is closed. */
struct busy {
    struct job job;
    int fd;
    bool is_over;
};

static void busy_work(struct job *j)
{
    char c;
    (void)!read(CONTAINER_OF(j, struct busy, job)->fd, &c, 1);
}

static void busy_done(struct job *j)
{
    CONTAINER_OF(j, struct busy, job)->is_over = true;
}

static size_t count_sign_ins(struct api_rig *t)
{
    size_t n = 0;
    LIST_FOREACH (node, &t->api->sign_ins)
        n++;
    return n;
}

/* While a thread still reads the file of a sign-in, the sign-in is not dropped for a newer one. */
TEST_WITH(sign_ins_that_were_left_end_after_their_job, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct busy busy[2];
    struct http_stats http;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < ARRAY_LEN(busy); i++) {
        busy[i] = (struct busy){.fd = ends[0]};
        pool_run(t->rig->pool, &busy[i].job, busy_work, busy_done);
    }
    for (size_t i = 0; i < 6; i++) { /* more than one person may have */
        struct api_client *c = api_begin(t, "ben", "POST", "/v1/apps/own/account", "", STR_NONE);
        rig_until(t->rig, count_sign_ins(t) == i + 1);
        api_client_close(c);
        rig_until(t->rig, (http_server_stats(t->http, &http), http.conns == 0));
    }
    close(ends[1]);
    rig_until(t->rig, busy[0].is_over && busy[1].is_over && count_sign_ins(t) == 0);
    close(ends[0]);
}

TEST_WITH(a_callback_that_nobody_started_leads_back_without_a_sign_in, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/apps/oauth/callback?code=c&state=s");
    assert_status(a, 302);
    assert_string_equal(api_header(t, &a, "Location"), "/?signIn=expired#/apps");
    assert_non_null(strstr(api_header(t, &a, "Set-Cookie"), "nb_bundle_auth=; "));
    assert_string_equal(api_header(t, &a, "Referrer-Policy"), "no-referrer");
}

TEST_WITH(signing_out_deletes_the_token_even_if_there_is_none, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_call(t, "ben", "DELETE", "/v1/apps/own/account", NULL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, ""), "{\"signedIn\":false}");
    assert_status(api_call(t, "ana", "DELETE", "/v1/apps/desk/auth", NULL), 200);
    assert_true(list_empty(&t->api->sign_ins));
}

TEST_WITH(authorization_servers_read_who_the_client_is, app_set_up, app_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_get(t, "", "/v1/apps/oauth/client.json"), 404, "not_found",
                   "No such client metadata document (http.publicUrl is not set).");
    t->rig->config.http.public_url = STR("https://nb.example.org/a");
    struct api_answer a = api_get(t, "", "/v1/apps/oauth/client.json");
    assert_string_equal(api_text(t, a.json, "client_id"),
                        "https://nb.example.org/a/v1/apps/oauth/client.json");
    assert_string_equal(api_part(t, a.json, "redirect_uris"),
                        "[\"https://nb.example.org/a/v1/apps/oauth/callback\"]");
    assert_string_equal(api_text(t, a.json, "token_endpoint_auth_method"), "none");
}
