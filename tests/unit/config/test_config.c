#include <errno.h>
#include <unistd.h>

#include "config/config.h"
#include "os/file.h"
#include "support/unit.h"

/* A throw-away directory with an optional nimblebrain.json, and an environment of our own. */
struct world {
    char dir[64];
    const char *const *env; /* name, value, ..., NULL */
};

static const char *from_world(void *ctx, const char *name)
{
    const struct world *w = ctx;
    if (strcmp(name, "NB_WORK_DIR") == 0)
        return w->dir;
    for (size_t i = 0; w->env && w->env[i]; i += 2)
        if (strcmp(w->env[i], name) == 0)
            return w->env[i + 1];
    return NULL;
}

static void world_make(struct world *w, const char *json)
{
    snprintf(w->dir, sizeof w->dir, "/tmp/nb-config-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    if (!json)
        return;
    char path[128];
    snprintf(path, sizeof path, "%s/nimblebrain.json", w->dir);
    assert_int_equal(file_write_atomic(path, str_from(json), 0600, NULL), 0);
}

static void world_drop(struct world *w)
{
    char path[128];
    snprintf(path, sizeof path, "%s/nimblebrain.json", w->dir);
    (void)unlink(path);
    assert_int_equal(rmdir(w->dir), 0);
}

static int load(struct world *w, const struct config_flags *f, struct config *c, struct err *e)
{
    return config_load(c, f ? f : &CONFIG_FLAGS_NONE, from_world, w, e);
}

TEST(defaults)
{
    struct world w = {0};
    struct config c;
    struct err e = {0};
    world_make(&w, NULL);
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_false(c.is_file_present);
    assert_string_equal(c.work_dir, w.dir);
    assert_int_equal(c.http.port, 27247);
    assert_string_equal(c.http.host, "127.0.0.1");
    assert_string_equal(c.store.type, "jsonl");
    assert_int_equal(c.limits.max_iterations, 10);
    assert_int_equal(c.limits.max_input_tokens, 500000);
    assert_int_equal(c.limits.max_output_tokens, 16384);
    assert_int_equal(c.limits.max_direct_tools, 30);
    config_done(&c);
    world_drop(&w);
}

TEST(precedence)
{
    static const char *const ENV[] = {"PORT", "2222", NULL};
    struct world w = {.env = ENV};
    struct config c;
    struct err e = {0};
    struct config_flags f = CONFIG_FLAGS_NONE;
    world_make(&w, "{\"http\":{\"port\":1111},\"defaultModel\":\"file-model\"}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_int_equal(c.http.port, 2222); /* environment beats file */
    assert_true(str_eq(c.models.default_model, STR("file-model")));
    config_done(&c);
    f.port = 3333;
    f.model = "flag-model";
    assert_int_equal(load(&w, &f, &c, &e), 0);
    assert_int_equal(c.http.port, 3333); /* flag beats both */
    assert_true(str_eq(c.models.default_model, STR("flag-model")));
    config_done(&c);
    world_drop(&w);
}

/* A key in the file beats the environment. */
TEST(provider_key)
{
    static const char *const ENV[] = {"ANTHROPIC_API_KEY", "from-env", "OPENAI_API_KEY", "env-o",
                                      NULL};
    struct world w = {.env = ENV};
    struct config c;
    struct err e = {0};
    world_make(&w, "{\"providers\":{\"anthropic\":{\"apiKey\":\"from-file\"}}}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_true(str_eq(c.secrets.anthropic_api_key, STR("from-file")));
    assert_true(str_eq(c.secrets.openai_api_key, STR("env-o")));
    config_done(&c);
    world_drop(&w);
}

TEST(relative_paths)
{
    struct world w = {0};
    struct config c;
    struct err e = {0};
    char expected[128];
    world_make(&w, "{\"store\":{\"dir\":\"logs\"},\"skillDirs\":[\"skills\",\"/abs\"]}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    snprintf(expected, sizeof expected, "%s/logs", w.dir);
    assert_string_equal(c.store.dir, expected);
    snprintf(expected, sizeof expected, "%s/skills", w.dir);
    assert_true(str_eq(c.skill_dirs.items[0], str_from(expected)));
    assert_true(str_eq(c.skill_dirs.items[1], STR("/abs")));
    config_done(&c);
    world_drop(&w);
}

TEST(errors_name_the_path)
{
    static const struct {
        const char *json, *message;
    } CASES[] = {
        {"{\"http\":{\"port\":\"x\"}}", "http.port: expected integer"},
        {"{\"http\":[]}", "http: expected object"},
        {"{\"http\":{\"port\":70000}}", "http.port: 70000 is outside"},
        {"{\"http\":{\"basePath\":\"/nb/\"}}", "http.basePath: expected a path"},
        {"{\"http\":{\"basePath\":\"/n\\u0000b\"}}", "http.basePath: expected a path"},
        {"{\"mcp\":{\"maxSessions\":0}}", "mcp.maxSessions: 0 is outside 1 to 100000"},
        {"{\"mcp\":{\"sessionIdleMs\":1}}", "mcp.sessionIdleMs: 1 is outside 60000 to"},
        {"{\"mcp\":{\"answerWaitMs\":1}}", "mcp.answerWaitMs: 1 is outside 1000 to"},
        {"{\"mcp\":{\"maxConnections\":257}}", "mcp.maxConnections: 257 is outside 1 to 256"},
        {"{\"maxIterations\":0}", "maxIterations: 0 is outside 1 to 25"},
        {"{\"maxIterations\":26}", "maxIterations: 26 is outside 1 to 25"},
        {"{\"store\":{\"type\":\"cloud\"}}",
         "store.type: 'cloud' is not one of jsonl, folder, memory"},
        {"{\"store\":{\"durability\":\"maybe\"}}", "store.durability"},
        {"{\"thinking\":\"deep\"}", "thinking: 'deep' is not one of off, adaptive, enabled"},
        {"{\"skillDirs\":[1]}", "skillDirs[0]: expected string"},
        {"{\"noDefaultBundles\":1}", "noDefaultBundles: expected boolean"},
        {"{\"a\":1,\"a\":2}", "line 1"},
        {"[]", "expected an object"},
        {"{", "line 1, column"},
        {"", "line 1, column"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world w = {0};
        struct config c;
        struct err e = {0};
        world_make(&w, CASES[i].json);
        assert_true(load(&w, NULL, &c, &e) < 0);
        if (!strstr(e.msg, CASES[i].message) || !strstr(e.msg, w.dir))
            fail_msg("%s gives: %s", CASES[i].json, e.msg);
        world_drop(&w);
    }
}

TEST(a_file_of_another_version_is_refused)
{
    static const char *const FINE[] = {"\"1\"", "1", "1.5", "\"1.4\"", "null"};
    static const char *const OTHER[] = {"\"2\"", "2", "\"10\"", "0", "\"\"", "true", "{}"};
    struct config c;
    char text[128];
    for (size_t i = 0; i < ARRAY_LEN(FINE) + ARRAY_LEN(OTHER); i++) {
        bool is_fine = i < ARRAY_LEN(FINE);
        const char *version = is_fine ? FINE[i] : OTHER[i - ARRAY_LEN(FINE)];
        struct world w = {0};
        struct err e = {0};
        /* its other keys are not looked at: they may mean something else there */
        (void)snprintf(text, sizeof(text), "{%s\"version\":%s}", is_fine ? "" : "\"http\":7,",
                       version);
        world_make(&w, text);
        int r = load(&w, NULL, &c, &e);
        if ((r == 0) != is_fine || (!is_fine && !strstr(e.msg, "this nb reads version 1")))
            fail_msg("version %s: %d %s", version, r, e.msg);
        if (r == 0)
            config_done(&c);
        world_drop(&w);
    }
}

TEST(unknown_keys_warn)
{
    struct world w = {0};
    struct config c;
    struct err e = {0};
    world_make(&w, "{\"colour\":1,\"http\":{\"prot\":2}}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_int_equal(c.warnings.len, 2);
    str both = arena_concat(&c.arena, c.warnings.items[0], c.warnings.items[1]);
    assert_true(str_find(both, STR("'colour'"), 0) > 0);
    assert_true(str_find(both, STR("'http.prot'"), 0) > 0);
    config_done(&c);
    world_drop(&w);
}

TEST(settings_without_effect_warn)
{
    struct world w = {0};
    struct config c;
    struct err e = {0};
    world_make(&w, "{\"models\":{\"reasoning\":\"x\"},\"features\":{\"delegation\":false}}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_int_equal(c.warnings.len, 1);
    assert_true(str_find(c.warnings.items[0], STR("'models.reasoning' has no effect"), 0) > 0);
    assert_false(c.features.delegation);
    assert_true(c.features.mcp_server);
    config_done(&c);
    world_drop(&w);
}

TEST(named_file_must_exist)
{
    struct world w = {0};
    struct config c;
    struct err e = {0};
    struct config_flags f = CONFIG_FLAGS_NONE;
    world_make(&w, NULL);
    f.config_path = "/nonexistent/nb.json";
    assert_int_equal(load(&w, &f, &c, &e), -ENOENT);
    assert_non_null(strstr(e.msg, "/nonexistent/nb.json"));
    world_drop(&w);
}

/* providers.NAME.apiKey, then the older "model", then the variables in their order. */
TEST(keys_of_providers_come_from_the_first_place_that_has_one)
{
    static const char *const ENV[] = {
        "GEMINI_API_KEY", "gemini", "GOOGLE_API_KEY", "google", "OPENAI_API_KEY", "env-o", NULL};
    struct world w = {.env = ENV};
    struct config c;
    struct err e = {0};
    world_make(&w, "{\"model\":{\"apiKey\":\"older-a\"},"
                   "\"providers\":{\"openai\":{\"apiKey\":\"\"}}}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_true(str_eq(c.secrets.google_api_key, STR("gemini")));
    assert_true(str_eq(c.secrets.anthropic_api_key, STR("older-a"))); /* without a provider */
    assert_true(str_eq(c.secrets.openai_api_key, STR("env-o")));      /* an empty key is none */
    config_done(&c);
    world_drop(&w);
    world_make(&w, "{\"model\":{\"provider\":\"openai\",\"apiKey\":\"older-o\"}}");
    assert_int_equal(load(&w, NULL, &c, &e), 0);
    assert_true(str_eq(c.secrets.openai_api_key, STR("older-o")));
    assert_int_equal(c.secrets.anthropic_api_key.n, 0);
    config_done(&c);
    world_drop(&w);
}

TEST(a_variable_that_is_not_a_number_is_named)
{
    static const struct {
        const char *env[3], *message;
    } CASES[] = {
        {{"PORT", "x", NULL}, "PORT: 'x' is not a whole number from 0 to 65535"},
        {{"NB_DEMO_DELAY_MS", "10001", NULL}, "NB_DEMO_DELAY_MS: '10001' is not a whole number"},
        {{"NB_MCP_RATE_LIMIT", "-1", NULL}, "NB_MCP_RATE_LIMIT: '-1' is not a whole number"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world w = {.env = CASES[i].env};
        struct config c;
        struct err e = {0};
        world_make(&w, NULL);
        assert_int_equal(load(&w, NULL, &c, &e), -EINVAL);
        assert_non_null(strstr(e.msg, CASES[i].message));
        world_drop(&w);
    }
}

TEST(a_store_of_the_command_line_has_no_directory_of_the_file)
{
    struct world w = {0};
    struct config c;
    struct err e = {0};
    struct config_flags f = CONFIG_FLAGS_NONE;
    f.store_type = "memory";
    f.is_debug = true;
    world_make(&w, "{\"store\":{\"type\":\"folder\",\"dir\":\"x\"},"
                   "\"logging\":{\"level\":\"error\"}}");
    assert_int_equal(load(&w, &f, &c, &e), 0);
    assert_string_equal(c.store.type, "memory");
    assert_null(c.store.dir);
    assert_string_equal(c.logging.level, "debug");
    config_done(&c);
    world_drop(&w);
}
