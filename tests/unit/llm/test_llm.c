#include <errno.h>

#include "llm/llm.h"
#include "loop/loop.h"
#include "unit/llm/history_rig.h"

struct world {
    struct loop *loop;
    struct llm *llm;
    struct err err;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    llm_free(w->llm);
    loop_free(w->loop);
    free(w);
    return 0;
}

static struct llm *make(struct world *w, const struct llm_conf *conf)
{
    llm_free(w->llm);
    w->llm = llm_new(w->loop, NULL, conf, NULL, &w->err);
    return w->llm;
}

static struct llm *with(struct world *w, const struct llm_provider_conf *p, size_t n)
{
    assert_non_null(make(w, &(struct llm_conf){.providers = p, .nproviders = n}));
    return w->llm;
}

static void assert_resolves(struct llm *m, const char *name, const char *provider,
                            const char *model)
{
    str p, q;
    struct err e = {0};
    if (llm_resolve(m, str_from(name), &p, &q, &e) < 0)
        fail_msg("%s: %s", name, e.msg);
    if (!str_eq(p, str_from(provider)) || !str_eq(q, str_from(model)))
        fail_msg("%s is %.*s:%.*s", name, STR_ARG(p), STR_ARG(q));
}

static void assert_unresolved(struct llm *m, const char *name, const char *says)
{
    str p, q;
    struct err e = {0};
    assert_int_equal(llm_resolve(m, str_from(name), &p, &q, &e), -ENOENT);
    if (!strstr(e.msg, says))
        fail_msg("%s: '%s' is not in: %s", name, says, e.msg);
}

static const struct llm_provider_conf BOTH[] = {
    {.name = STR_INIT("openai"), .api_key = STR_INIT("k")},
    {.name = STR_INIT("anthropic"), .api_key = STR_INIT("k")},
};

TEST_WITH(names_find_their_provider, setup, teardown)
{
    struct llm *m = with(*state, BOTH, 2);
    assert_resolves(m, "anthropic:claude-x", "anthropic", "claude-x");
    assert_resolves(m, "claude-x", "anthropic", "claude-x");
    assert_resolves(m, "gpt-5", "openai", "gpt-5");
    assert_resolves(m, "o3-mini", "openai", "o3-mini");
    assert_resolves(m, "openai:ft:gpt-4o:me", "openai", "ft:gpt-4o:me");
    assert_resolves(m, "demo", "demo", "demo");
    assert_resolves(m, "demo:demo", "demo", "demo");
    assert_resolves(m, "", "anthropic", "claude-sonnet-4-5-20250929");
    assert_resolves(m, "alias:fast", "anthropic", "claude-sonnet-4-5-20250929");
}

TEST_WITH(what_is_missing_is_said, setup, teardown)
{
    struct world *w = *state;
    struct llm *m = make(w, &(struct llm_conf){0});
    assert_unresolved(m, "claude-x", "ANTHROPIC_API_KEY");
    assert_unresolved(m, "openai:gpt-5", "providers.openai.apiKey");
    assert_unresolved(m, "ollama:qwen3:8b", "providers.ollama");
    assert_unresolved(m, "mystery", "write provider:model. Configured: demo");
    assert_unresolved(m, "mystery:x", "needs the provider mystery, which is not configured. ");
}

TEST_WITH(models_may_have_colons, setup, teardown)
{
    static const struct llm_provider_conf P[] = {{.name = STR_INIT("ollama")}};
    struct llm *m = with(*state, P, 1);
    assert_resolves(m, "ollama:qwen3:8b", "ollama", "qwen3:8b");
    assert_resolves(m, "qwen3:8b", "ollama", "qwen3:8b");
    m = with(*state, BOTH, 1);
    assert_resolves(m, "ft:gpt-4o:me", "openai", "ft:gpt-4o:me");
}

TEST_WITH(a_message_for_a_provider_that_is_missing_goes_to_no_other_one, setup, teardown)
{
    struct llm *m = with(*state, &BOTH[1], 1);
    assert_resolves(m, "mystery", "anthropic", "mystery");
    assert_unresolved(m, "mystery:claude-x", "Configured: anthropic, demo");
    assert_unresolved(m, "mistral:large", "MISTRAL_API_KEY");
}

static const struct llm_provider_conf ENTERED[] = {
    {.name = STR_INIT("openai"), .api_key = STR_INIT("k")},
    {.name = STR_INIT("anthropic"), .api_key = STR_INIT("k"), .is_key_entered = true},
};

TEST_WITH(only_a_key_that_was_entered_can_be_removed, setup, teardown)
{
    struct llm *m = with(*state, ENTERED, 2);
    assert_int_equal(llm_may_remove_key(m, STR("openai"), NULL), -EPERM);
    assert_int_equal(llm_may_remove_key(m, STR("groq"), NULL), -ENOENT);
    assert_int_equal(llm_may_remove_key(m, STR("anthropic"), NULL), 0);
    llm_remove_key(m, STR("openai"));
    llm_remove_key(m, STR("anthropic"));
    assert_int_equal(llm_may_remove_key(m, STR("anthropic"), NULL), -ENOENT);
    assert_true(str_eq(llm_default_model(m, NULL), STR("openai:gpt-5")));
}

TEST_WITH(a_server_with_an_own_address_takes_a_key_unless_the_settings_have_one, setup, teardown)
{
#define AT_HOME .type = STR_INIT("openai"), .base_url = STR_INIT("http://127.0.0.1:1/v1")
    struct json_member key = {.key = STR("x-key"), .value = json_of_str(STR("k"))};
    const struct json headers = {.type = JSON_OBJECT, .len = 1, .members = &key};
    const struct llm_provider_conf own[] = {
        {.name = STR_INIT("open"), AT_HOME},
        {.name = STR_INIT("entered"), AT_HOME, .api_key = STR_INIT("k"), .is_key_entered = true},
        {.name = STR_INIT("fixed"), AT_HOME, .api_key = STR_INIT("k")},
        {.name = STR_INIT("headed"), AT_HOME, .headers = &headers},
        {.name = STR_INIT("vllm"), AT_HOME},
    };
#undef AT_HOME
    struct llm *m = with(*state, own, ARRAY_LEN(own));
    assert_int_equal(llm_may_set_key(m, STR("open"), NULL), 0);
    assert_int_equal(llm_may_set_key(m, STR("entered"), NULL), 0);
    llm_remove_key(m, STR("entered"));
    assert_int_equal(llm_may_set_key(m, STR("entered"), NULL), 0);
    assert_int_equal(llm_may_set_key(m, STR("fixed"), NULL), -EPERM);
    assert_int_equal(llm_may_set_key(m, STR("headed"), NULL), -ENOENT);
    assert_int_equal(llm_may_set_key(m, STR("vllm"), NULL), -ENOENT);
    assert_int_equal(llm_may_set_key(m, STR("unheard-of"), NULL), -ENOENT);
}

TEST_WITH(a_default_model_that_needs_a_removed_key_is_not_configured_any_more, setup, teardown)
{
    struct llm_conf conf = {
        .providers = ENTERED, .nproviders = 2, .default_model = STR("anthropic:claude-x")};
    struct llm *m = make(*state, &conf);
    assert_true(llm_needs_key(m, STR("anthropic")));
    assert_false(llm_needs_key(m, STR("groq")));
    llm_remove_key(m, STR("anthropic"));
    assert_false(llm_has_default(m));
    conf.default_model = STR("openai:gpt-4o");
    m = make(*state, &conf);
    llm_remove_key(m, STR("anthropic"));
    assert_true(str_eq(llm_default_model(m, NULL), STR("openai:gpt-4o")));
}

TEST_WITH(the_default_follows_what_is_there, setup, teardown)
{
    struct world *w = *state;
    str why;
    struct llm *m = make(w, &(struct llm_conf){0});
    assert_true(str_eq(llm_default_model(m, &why), STR("demo:demo")));
    assert_true(str_find(why, STR("ANTHROPIC_API_KEY"), 0) > 0);
    m = with(w, BOTH, 1);
    assert_true(str_eq(llm_default_model(m, &why), STR("openai:gpt-5")));
    m = with(w, BOTH, 2);
    assert_true(str_starts(llm_default_model(m, &why), STR("anthropic:claude-sonnet-4-5")));
    static const struct llm_provider_conf KEYLESS[] = {{.name = STR_INIT("anthropic")}};
    m = with(w, KEYLESS, 1);
    assert_true(str_eq(llm_default_model(m, NULL), STR("demo:demo")));
}

TEST_WITH(a_named_model_stays, setup, teardown)
{
    struct world *w = *state;
    str why;
    struct llm *m = make(w, &(struct llm_conf){.providers = BOTH,
                                               .nproviders = 2,
                                               .default_model = STR("gpt-4o"),
                                               .fast_model = STR("claude-haiku-4-5")});
    assert_true(str_eq(llm_default_model(m, &why), STR("openai:gpt-4o")));
    assert_true(str_eq(why, STR("it is configured")));
    assert_resolves(m, "alias:fast", "anthropic", "claude-haiku-4-5");
    m = make(w, &(struct llm_conf){.default_model = STR("claude-x")});
    assert_true(str_eq(llm_default_model(m, NULL), STR("claude-x"))); /* no silent fall-back */
}

TEST_WITH(bad_configurations_are_refused, setup, teardown)
{
    static const struct {
        struct llm_provider_conf p[2];
        size_t n;
        const char *says;
    } CASES[] = {
        {{{.name = STR_INIT("mine")}}, 1, "needs a type"},
        {{{.name = STR_INIT("mine"), .type = STR_INIT("openai")}}, 1, "baseURL"},
        {{{.name = STR_INIT("mine"), .type = STR_INIT("soap")}}, 1, "providers.mine.type"},
        {{{.name = STR_INIT("a:b")}}, 1, "colon"},
        {{{.name = STR_INIT("openai")}, {.name = STR_INIT("openai")}}, 2, "twice"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct llm_conf conf = {.providers = CASES[i].p, .nproviders = CASES[i].n};
        assert_null(make(w, &conf));
        if (!strstr(w->err.msg, CASES[i].says))
            fail_msg("'%s' is not in: %s", CASES[i].says, w->err.msg);
    }
}

TEST_WITH(headers_must_be_strings, setup, teardown)
{
    struct world *w = *state;
    struct arena a;
    arena_init(&a);
    struct llm_provider_conf p = {.name = STR("openai"), .headers = rig_json(&a, "{\"x\":5}")};
    assert_null(make(w, &(struct llm_conf){.providers = &p, .nproviders = 1}));
    assert_non_null(strstr(w->err.msg, "providers.openai.headers.x"));
    arena_done(&a);
}

TEST_WITH(prices_need_no_configured_provider, setup, teardown)
{
    struct world *w = *state;
    struct llm *m = make(w, &(struct llm_conf){0});
    struct conv_usage u = {.input_tokens = 1000000};
    double usd = -1;
    assert_true(llm_price(m, STR("anthropic:claude-opus-5"), &u, &usd) && usd == 5);
    assert_true(llm_price(m, STR("claude-opus-5"), &u, &usd) && usd == 5);
    assert_true(llm_price(m, STR("demo:demo"), &u, &usd) && usd == 0);
    assert_false(llm_price(m, STR("openai:novel"), &u, &usd));
    static const struct llm_provider_conf LOCAL[] = {{.name = STR_INIT("ollama")}};
    m = with(w, LOCAL, 1);
    assert_true(llm_price(m, STR("ollama:qwen3:8b"), &u, &usd) && usd == 0);
}

TEST_WITH(tells_about_models, setup, teardown)
{
    struct llm *m = with(*state, BOTH, 2);
    struct llm_model_info info;
    assert_true(llm_model_info(m, STR("claude-sonnet-4-5-20250929"), &info));
    assert_int_equal(info.context_tokens, 200000);
    assert_true(str_eq(info.successor, STR("claude-sonnet-5-5")));
    assert_true(info.can_thinking && info.has_price);
    assert_false(llm_model_info(m, STR("groq:x"), &info));
}

TEST_WITH(lists_the_providers, setup, teardown)
{
    static const struct llm_provider_conf P[] = {{.name = STR_INIT("openai")},
                                                 {.name = STR_INIT("ollama")}};
    struct llm *m = with(*state, P, 2);
    struct llm_provider_info info[3];
    assert_int_equal(llm_providers(m, info, 3), 3);
    assert_false(info[0].is_usable);
    assert_true(str_find(info[0].problem, STR("OPENAI_API_KEY"), 0) > 0);
    assert_true(info[1].is_usable && str_eq(info[1].type, STR("openai")));
    assert_true(str_eq(info[2].name, STR("demo")));
    assert_int_equal(llm_providers(m, info, 0), 3);
}

static void assert_type(struct world *w, struct llm_provider_conf p, const char *type)
{
    struct llm_provider_info info;
    struct llm *m = with(w, &p, 1);
    (void)llm_providers(m, &info, 1);
    assert_true(str_eq(info.type, str_from(type)));
}

TEST_WITH(the_address_tells_the_api, setup, teardown)
{
    struct world *w = *state;
    assert_type(w, (struct llm_provider_conf){.name = STR("openai")}, "openai-responses");
    assert_type(w,
                (struct llm_provider_conf){.name = STR("openai"),
                                           .base_url = STR("https://api.openai.com/v1/")},
                "openai-responses");
    assert_type(w,
                (struct llm_provider_conf){.name = STR("openai"), .base_url = STR("http://h/v1")},
                "openai");
    assert_type(w, (struct llm_provider_conf){.name = STR("google")}, "google");
    assert_type(w, (struct llm_provider_conf){.name = STR("google"), .base_url = STR("http://h")},
                "google");
    assert_type(w,
                (struct llm_provider_conf){
                    .name = STR("google"),
                    .base_url = STR("https://generativelanguage.googleapis.com/v1beta/openai")},
                "openai");
}

TEST_WITH(a_token_is_as_good_as_a_key, setup, teardown)
{
    static const struct llm_provider_conf P[] = {
        {.name = STR_INIT("anthropic"), .auth_token = STR_INIT(" t ")}};
    struct llm_provider_info info;
    struct llm *m = with(*state, P, 1);
    (void)llm_providers(m, &info, 1);
    assert_true(info.is_usable);
    assert_true(str_starts(llm_default_model(m, NULL), STR("anthropic:")));
}

/* Replay: the request of a log is built for the API that it was sent to. */
TEST_WITH(an_old_request_keeps_its_api, setup, teardown)
{
    static const struct llm_provider_conf P[] = {
        {.name = STR_INIT("openai"), .api_key = STR_INIT("k")},
        {.name = STR_INIT("google"), .api_key = STR_INIT("k")},
        {.name = STR_INIT("anthropic"), .api_key = STR_INIT("k")}};
    static const struct {
        const char *model, *sent, *has;
    } CASES[] = {
        {"openai:gpt-4o", NULL, "\"input\":["},
        {"openai:gpt-4o", "{\"input\":{}}", "\"input\":["},
        {"openai:gpt-4o", "{\"messages\":{}}", "\"messages\":[{\"role\":\"user\""},
        {"google:gemini-2.5-pro", NULL, "\"contents\":["},
        {"google:gemini-2.5-pro", "{\"messages\":{}}", "\"stream_options\""},
        {"anthropic:claude-opus-5", "{\"messages\":{}}", "\"content\":[{\"type\":\"text\""},
    };
    struct llm *m = with(*state, P, 3);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct llm_request req = {.max_tokens = 50};
        struct err e = {0};
        struct arena a;
        str body;
        arena_init(&a);
        const struct json *sent = CASES[i].sent ? rig_json(&a, CASES[i].sent) : NULL;
        req.messages = rig_history(&a, "[[\"u\",{\"text\":\"x\"}]]", &req.nmessages);
        assert_int_equal(llm_build_request(m, str_from(CASES[i].model), &req, sent, &a, &body, &e),
                         0);
        if (str_find(body, str_from(CASES[i].has), 0) < 0)
            fail_msg("%s: %.*s", CASES[i].model, STR_ARG(body));
        arena_done(&a);
    }
}

TEST_WITH(builds_the_same_body_as_a_call, setup, teardown)
{
    struct llm *m = with(*state, BOTH, 2);
    struct arena a;
    struct err e = {0};
    str body;
    arena_init(&a);
    struct llm_request req = {.max_tokens = 5};
    req.messages = rig_history(&a, "[[\"u\",{\"text\":\"x\"}]]", &req.nmessages);
    assert_int_equal(llm_build_request(m, STR("claude-x"), &req, NULL, &a, &body, &e), 0);
    assert_true(str_starts(body, STR("{\"model\":\"claude-x\",\"max_tokens\":5,")));
    req.nmessages = 0;
    assert_int_equal(llm_build_request(m, STR("claude-x"), &req, NULL, &a, &body, &e), -EINVAL);
    arena_done(&a);
}
