/* app_rig.h - an API rig (api_rig.h) whose workspace has bundles, and the server behind them.
 *
 *   mail    runs; has the tools send and read, and the resource ui://mail/inbox
 *   desk    wants a sign-in of an admin, and has nobody signed in
 *   own     wants a sign-in of each person
 *
 * All are remote servers: one HTTP server on loopback in the same process, which speaks the
 * stateless revision of MCP. With TEST_WITH(name, app_set_up, app_tear_down), *state is the
 * api_rig, as in tests of other routes. */
#pragma once

#include "bundle/bundle.h"
#include "bundle/change.h"
#include "bundle/settings/settings.h"
#include "support/api_rig.h"

static struct app_rig {
    struct http_server *server;
    uint16_t port;
    struct bundles *bundles;
    struct bundle_changer changer;
    const char *tools;  /* result of tools/list, as members */
    unsigned reads;     /* of resources */
    char last_uri[256]; /* the last resource that was asked for */
} app_rig;

#define APP_TOOLS                                                                                  \
    "\"tools\":[{\"name\":\"send\",\"description\":\"Sends a mail.\",\"inputSchema\":{\"type\":"   \
    "\"object\"},\"annotations\":{\"destructiveHint\":false}},{\"name\":\"read\",\"description\":" \
    "\"Reads mail.\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":"     \
    "true}}]"

static inline const char *app_read(struct http_req *r, const struct json *params)
{
    str uri = json_get_string(params, "uri");
    app_rig.reads++;
    RIG_KEEP(app_rig.last_uri, uri);
    bool is_there = str_eq(uri, STR("ui://mail/inbox"));
    return is_there ? "\"contents\":[{\"uri\":\"ui://mail/inbox\",\"text\":\"<p>\"}]"
                    : "\"contents\":[]";
}

static inline const char *app_result(struct http_req *r, const struct json *m)
{
    str method = json_get_string(m, "method");
    if (str_eq(method, STR("server/discover")))
        return "\"supportedVersions\":[\"2026-07-28\"],\"ttlMs\":0,\"cacheScope\":\"public\","
               "\"capabilities\":{\"tools\":{},\"resources\":{}}";
    if (str_eq(method, STR("tools/list")))
        return app_rig.tools;
    if (str_eq(method, STR("resources/read")))
        return app_read(r, json_get(m, "params"));
    return NULL;
}

static inline void on_app_request(void *ctx, struct http_req *r)
{
    struct json *m;
    if (!str_eq(r->method, STR("POST")) ||
        json_parse(&r->arena, r->body, JSON_COPY, &m, NULL) < 0) {
        http_reply_error(r, 405, NULL, "only POST", NULL);
        return;
    }
    const struct json *id = json_get(m, "id");
    const char *result = app_result(r, m);
    if (!id)
        http_reply(r, 202, NULL, STR_NONE);
    else if (result)
        http_reply(r, 200, "application/json",
                   arena_printf(&r->arena,
                                "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":"
                                "\"complete\",%s}}",
                                STR_ARG(json_to_str(&r->arena, id)), result));
    else
        http_reply(r, 200, "application/json",
                   arena_printf(&r->arena,
                                "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32601,"
                                "\"message\":\"no such method\"}}",
                                STR_ARG(json_to_str(&r->arena, id))));
}

/* What settings_watch.c does when the file has changed. */
static inline void app_look(void *ctx)
{
    struct api_rig *t = ctx;
    struct bundle_entry *entries;
    size_t n;
    struct err e = {0};
    if (settings_load_bundles(&t->rig->arena, app_rig.changer.settings_path, &entries, &n, &e) < 0)
        fail_msg("%s", e.msg);
    bundles_apply(app_rig.bundles, entries, n);
}

static inline void app_write_settings(struct api_rig *t)
{
    const char *text = api_path(
        t,
        "{\"bundles\":[{\"serverName\":\"mail\",\"url\":\"http://127.0.0.1:%u/mcp\"},"
        "{\"serverName\":\"desk\",\"url\":\"http://127.0.0.1:%u/desk\",\"transport\":{\"auth\":{"
        "\"type\":\"oauth\"}}},"
        "{\"serverName\":\"own\",\"url\":\"http://127.0.0.1:%u/own\",\"transport\":{\"auth\":{"
        "\"type\":\"oauth\",\"per\":\"person\"}}}]}",
        app_rig.port, app_rig.port, app_rig.port);
    const char *path = app_rig.changer.settings_path;
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static inline struct bundle *app_bundle(const char *name)
{
    struct bundle *b = bundles_find(app_rig.bundles, str_from(name));
    assert_non_null(b);
    return b;
}

static inline void app_start_bundles(struct api_rig *t)
{
    struct bundles_conf conf = {
        .loop = t->rig->loop,
        .fetcher = t->fetcher,
        .pool = t->rig->pool,
        .data_dir = api_path(t, "%s/data", t->rig->root),
        .credentials_dir = api_path(t, "%s/credentials", t->rig->root),
        .pins_dir = api_path(t, "%s/pins", t->rig->root),
        .package_dir = api_path(t, "%s/apps", t->rig->dir.path),
        .work_dir = t->rig->dir.path,
        .own_program = "/proc/self/exe",
        .allow_insecure_remotes = true,
        .no_default_bundles = true,
    };
    app_rig.bundles = t->space.bundles = bundles_new(&conf);
    app_rig.changer = (struct bundle_changer){
        .allow_insecure_remotes = true,
        .loop = t->rig->loop,
        .pool = t->rig->pool,
        .bundles = app_rig.bundles,
        .settings_path = api_path(t, "%s/bundles.json", t->rig->dir.path),
        .credentials_dir = conf.credentials_dir,
        .look = app_look,
        .ctx = t,
        .audit = t->audit,
    };
    list_init(&app_rig.changer.ops);
    t->space.changer = &app_rig.changer;
    t->rig->config.allow_insecure_remotes = true;
    app_write_settings(t);
    app_look(t);
    rig_until(t->rig, bundle_info(app_bundle("mail"))->state == BUNDLE_RUNNING);
}

static inline int app_set_up(void **state)
{
    api_set_up(state);
    struct api_rig *t = *state;
    struct http_handlers h = {.on_request = on_app_request};
    struct err e = {0};
    app_rig = (struct app_rig){.tools = APP_TOOLS};
    app_rig.server = http_server_new(t->rig->loop, &HTTP_LIMITS_DEFAULT, &h);
    if (http_listen_tcp(app_rig.server, "127.0.0.1", 0, &app_rig.port, &e) < 0)
        fail_msg("%s", e.msg);
    app_start_bundles(t);
    return 0;
}

static inline int app_tear_down(void **state)
{
    struct api_rig *t = *state;
    bool is_stopped = false, is_closed = false;
    struct http_stats http;
    api_close_clients(t); /* of a test that failed: requests end before the bundles */
    rig_until(t->rig, (http_server_stats(t->http, &http), http.conns == 0));
    bundle_changer_done(&app_rig.changer);
    bundles_stop(app_rig.bundles, rig_set_true, &is_stopped);
    rig_until(t->rig, is_stopped);
    bundles_free(app_rig.bundles);
    t->space.bundles = NULL;
    t->space.changer = NULL;
    http_server_stop(app_rig.server, 0, rig_set_true, &is_closed);
    rig_until(t->rig, is_closed);
    http_server_free(app_rig.server);
    return api_tear_down(state);
}
