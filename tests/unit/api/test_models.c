/* /v1/models and setting up a provider. Only admins of the server may do that. */
#include "support/api_rig.h"

/* The settings are a file in the work directory, so that the default model can be saved. */
static int set_up(void **state)
{
    api_set_up(state);
    struct api_rig *t = *state;
    const char *path = api_path(t, "%s/nimblebrain.json", t->rig->dir.path);
    assert_int_equal(file_write_atomic(path, STR("{\"version\":\"1\"}"), 0600, NULL), 0);
    t->rig->config.path = path;
    return 0;
}

static const struct json *provider(struct api_rig *t, const struct api_answer *a, const char *name)
{
    const struct json *list = json_get(a->json, "providers");
    for (size_t i = 0; i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "name"), str_from(name)))
            return &list->items[i];
    fail_msg("no provider %s", name);
    return NULL;
}

TEST_WITH(clients_of_model_services_find_their_list, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/models");
    const struct json *data = json_get(a.json, "data");
    assert_string_equal(api_text(t, a.json, "object"), "list");
    assert_string_equal(api_text(t, json_at(data, 0), "id"), "default");
    assert_string_equal(api_text(t, json_at(data, 1), "id"), "demo:demo");
    assert_string_equal(api_text(t, json_at(data, 1), "owned_by"), "demo");
    a = api_get(t, "ben", "/v1/models/demo:demo");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "object"), "model");
    assert_string_equal(api_text(t, a.json, "type"), "model");
    assert_status(api_get(t, "ben", "/v1/models/default"), 200);
    a = api_get(t, "ben", "/v1/models/agent:nobody");
    assert_status(a, 404);
    assert_string_equal(api_text(t, a.json, "error.code"), "model_not_found");
    assert_status(api_get(t, "cyd", "/v1/models/default"), 403);
    assert_status(api_get(t, "", "/v1/models/default"), 401);
}

TEST_WITH(models_are_listed_and_one_is_the_default, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/models");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "default.model"), "demo:demo");
    assert_string_equal(api_part(t, a.json, "mayChange"), "false");
    const struct json *models = json_get(a.json, "models");
    assert_true(models->len > 0);
    assert_string_equal(api_text(t, &models->items[0], "name"), "demo:demo");
    assert_string_equal(api_part(t, &models->items[0], "isDefault"), "true");
    assert_string_equal(api_part(t, &models->items[0], "canUseTools"), "true");
    for (size_t i = 1; i < models->len; i++) /* the default is only one of them */
        assert_string_equal(api_part(t, &models->items[i], "isDefault"), "false");
}

TEST_WITH(only_an_admin_sees_that_a_key_can_be_set, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = api_get(t, "ben", "/v1/models");
    assert_string_equal(api_part(t, provider(t, &a, "anthropic"), "takesKey"), "false");
    a = api_get(t, "ana", "/v1/models");
    assert_string_equal(api_part(t, provider(t, &a, "anthropic"), "takesKey"), "true");
    assert_string_equal(api_part(t, provider(t, &a, "anthropic"), "isConfigured"), "false");
    assert_string_equal(api_part(t, a.json, "mayChange"), "true");
}

TEST_WITH(a_key_is_stored_and_used_but_never_shown, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = "/v1/providers/anthropic/key";
    struct api_answer a = api_call(t, "ana", "PUT", path, "{\"apiKey\":\" sk-ant-geheim \"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "provider"), "anthropic");
    assert_true(str_find(a.body, STR("geheim"), 0) < 0);
    a = api_get(t, "ana", "/v1/models");
    assert_string_equal(api_part(t, provider(t, &a, "anthropic"), "isUsable"), "true");
    assert_true(str_find(a.body, STR("geheim"), 0) < 0);
    assert_true(file_exists(api_path(t, "%s/credentials", t->rig->dir.path)));
}

TEST_WITH(a_bad_key_is_refused_with_the_reason, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(
        api_call(t, "ana", "PUT", "/v1/providers/anthropic/key", "{\"apiKey\":\"a b\"}"), 400,
        "bad_request",
        "This is not an API key: expected 8 to 512 visible ASCII characters without spaces.");
    assert_status(api_call(t, "ana", "PUT", "/v1/providers/anthropic/key", "{\"key\":\"x\"}"), 400);
    struct api_answer a =
        api_call(t, "ana", "PUT", "/v1/providers/nobody/key", "{\"apiKey\":\"sk-x\"}");
    assert_status(a, 404);
    assert_string_equal(api_text(t, a.json, "error"), "not_found");
    assert_refused(api_call(t, "ben", "PUT", "/v1/providers/anthropic/key", "{\"apiKey\":\"x\"}"),
                   403, "forbidden", "Only administrators of the server may do this.");
}

TEST_WITH(the_default_model_is_saved_and_used, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(
        api_call(t, "ana", "PUT", "/v1/providers/anthropic/key", "{\"apiKey\":\"sk-ant-x\"}"), 200);
    struct api_answer a = api_get(t, "ana", "/v1/models");
    const char *name = api_text(t, provider(t, &a, "anthropic"), "defaultModel");
    a = api_call(t, "ana", "PUT", "/v1/models/default", api_path(t, "{\"model\":\" %s \"}", name));
    assert_status(a, 200);
    assert_string_equal(api_text(t, api_get(t, "ben", "/v1/models").json, "default.model"),
                        api_text(t, a.json, "defaultModel"));
    str text;
    assert_int_equal(file_read(&t->rig->arena, t->rig->config.path, 65536, &text, NULL), 0);
    assert_true(str_find(text, str_from(api_text(t, a.json, "defaultModel")), 0) >= 0);
    assert_true(str_find(text, STR("sk-ant-x"), 0) < 0); /* keys are not settings */
}

TEST_WITH(an_unknown_model_does_not_become_the_default, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const BODIES[] = {"{}", "{\"model\":\"\"}", "{\"model\":\"nobody:x\"}",
                                         "{\"model\":\"demo:nothing\"}", "{\"model\":\"xyz\"}"};
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        struct api_answer a = api_call(t, "ana", "PUT", "/v1/models/default", BODIES[i]);
        if (a.status != 400)
            fail_msg("%s: %d %.*s", BODIES[i], a.status, STR_ARG(a.body));
    }
    assert_string_equal(api_text(t, api_get(t, "ana", "/v1/models").json, "default.model"),
                        "demo:demo");
    assert_status(api_call(t, "ben", "PUT", "/v1/models/default", "{\"model\":\"demo:demo\"}"),
                  403);
}

TEST_WITH(settings_that_cannot_be_written_are_an_error, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    t->rig->config.path = api_path(t, "%s/nimblebrain.json/file.json", t->rig->dir.path);
    struct api_answer a =
        api_call(t, "ana", "PUT", "/v1/models/default", "{\"model\":\"demo:demo\"}");
    assert_status(a, 500);
    assert_string_equal(api_text(t, a.json, "error"), "not_saved");
}
