/* POST /v1/providers: who may add a server, and which ones are not even asked. tests/e2e has
 * servers that answer. */
#include "support/api_rig.h"

static int set_up(void **state)
{
    api_set_up(state);
    struct api_rig *t = *state;
    const char *path = api_path(t, "%s/nimblebrain.json", t->rig->dir.path);
    assert_int_equal(file_write_atomic(path, STR("{\"version\":\"1\"}"), 0600, NULL), 0);
    t->rig->config.path = path;
    t->rig->config.work_dir = t->rig->dir.path;
    return 0;
}

static struct api_answer add(struct api_rig *t, const char *who, const char *name, const char *url,
                             const char *key, const char *model)
{
    const char *body =
        api_path(t, "{\"name\":\"%s\",\"baseURL\":\"%s\",\"apiKey\":\"%s\",\"model\":\"%s\"}", name,
                 url, key, model);
    return api_call(t, who, "POST", "/v1/providers", body);
}

#define URL "https://llm.example.com/v1"
#define KEY "sk-0123456789abcdef"

/* Nothing of a refused request is in the settings or among the providers. */
static void assert_nothing_stored(struct api_rig *t)
{
    str text;
    assert_int_equal(file_read(&t->rig->arena, t->rig->config.path, 4096, &text, NULL), 0);
    assert_true(str_find(text, STR("providers"), 0) < 0);
    struct api_answer list = api_get(t, "ana", "/v1/models");
    assert_true(str_find(list.body, STR("mine"), 0) < 0);
}

TEST_WITH(only_admins_of_the_server_add_a_provider, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(add(t, "ben", "mine", URL, KEY, "m"), 403);
    assert_status(add(t, "cyd", "mine", URL, KEY, "m"), 403);
    assert_status(add(t, "", "mine", URL, KEY, "m"), 401);
    assert_nothing_stored(t);
}

TEST_WITH(names_of_providers_are_short_and_not_those_that_nb_knows, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const WRONG[] = {
        "",    "openai", "anthropic", "ollama",    "demo",  "Mine",
        "a:b", "a/b",    "-a",        "my server", "mine.", "0123456789abcdef0123456789abcdefX"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        struct api_answer a = add(t, "ana", WRONG[i], URL, KEY, "m");
        assert_status(a, 400);
        assert_true(str_starts(json_get_string(a.json, "message"), STR("name: ")));
    }
    assert_nothing_stored(t);
}

TEST_WITH(addresses_are_public_and_encrypted, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const WRONG[] = {
        "",
        "llm.example.com",
        "ftp://llm.example.com/v1",
        "http://llm.example.com/v1",
        "https://user:secret@llm.example.com/v1",
        "https://llm.example.com/v1?key=1",
        "https://127.0.0.1/v1",
        "http://127.0.0.1:8000/v1",
        "https://localhost/v1",
        "https://[::1]/v1",
        "https://10.1.2.3/v1",
        "https://192.168.0.1/v1",
        "https://169.254.169.254/v1",
        "https://[fe80::1]/v1",
    };
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        struct api_answer a = add(t, "ana", "mine", WRONG[i], KEY, "m");
        assert_status(a, 400);
        assert_true(str_starts(json_get_string(a.json, "message"), STR("baseURL: ")));
    }
    assert_nothing_stored(t);
}

TEST_WITH(models_are_named_and_keys_have_the_form_of_keys, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(add(t, "ana", "mine", URL, KEY, ""), 400);
    assert_status(add(t, "ana", "mine", URL, KEY, "  "), 400);
    assert_status(add(t, "ana", "mine", URL, "short", "m"), 400);
    assert_status(add(t, "ana", "mine", URL, "with space inside", "m"), 400);
    assert_status(api_call(t, "ana", "POST", "/v1/providers", "{\"name\":\"mine\"}"), 400);
    assert_status(api_call(t, "ana", "POST", "/v1/providers", "{\"headers\":{}}"), 400);
    assert_nothing_stored(t);
}

/* Whether the stored settings have this text. */
static bool has_stored(struct api_rig *t, const char *text)
{
    str all;
    assert_int_equal(file_read(&t->rig->arena, t->rig->config.path, 4096, &all, NULL), 0);
    return str_find(all, str_from(text), 0) >= 0;
}

TEST_WITH(a_server_that_answers_is_stored_and_used, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_says("Hi");
    struct api_answer a = add(t, "ana", "mine", URL "/", KEY, "some/model");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "defaultModel"), "mine:some/model");
    assert_true(has_stored(t, "publicOnly"));
    assert_true(has_stored(t, "mine:some/model"));
    assert_false(has_stored(t, KEY));
    assert_status(add(t, "ana", "mine", URL, KEY, "m"), 409);
}

TEST_WITH(servers_of_this_machine_need_the_setting, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(add(t, "ana", "mine", "http://127.0.0.1:8000/v1", "", "m"), 400);
    t->rig->config.allow_insecure_remotes = true;
    assert_status(add(t, "ana", "mine", "https://10.1.2.3/v1", "", "m"), 400);
    model_says("Hi");
    assert_status(add(t, "ana", "mine", "http://127.0.0.1:8000/v1", "", "m"), 200);
    assert_false(has_stored(t, "publicOnly"));
}

TEST_WITH(a_server_that_refuses_the_key_is_not_stored, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_AUTH, "wrong key");
    assert_refused(add(t, "ana", "mine", URL, KEY, "m"), 422, "key_refused", "wrong key");
    assert_nothing_stored(t);
}

TEST_WITH(a_server_that_does_not_answer_is_not_stored, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_NETWORK, "nobody is there");
    assert_refused(add(t, "ana", "mine", URL, KEY, "m"), 422, "endpoint_failed", "nobody is there");
    assert_nothing_stored(t);
}
