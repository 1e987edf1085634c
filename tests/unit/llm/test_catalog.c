#include "llm/llm.h"
#include "loop/loop.h"
#include "unit/llm/history_rig.h"

struct world {
    struct loop *loop;
    struct llm *llm;
    struct arena arena;
    str *names;
    size_t n;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    arena_init(&w->arena);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    llm_free(w->llm);
    loop_free(w->loop);
    arena_done(&w->arena);
    free(w);
    return 0;
}

static void list(struct world *w, const struct llm_conf *conf)
{
    struct err e = {0};
    w->llm = llm_new(w->loop, NULL, conf, NULL, &e);
    assert_non_null(w->llm);
    w->names = llm_known_models(w->llm, &w->arena, &w->n);
}

static size_t count(const struct world *w, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += str_eq(w->names[i], str_from(name));
    return n;
}

TEST_WITH(the_demo_alone, setup, teardown)
{
    struct world *w = *state;
    list(w, &(struct llm_conf){0});
    assert_int_equal(w->n, 1);
    assert_int_equal(count(w, "demo:demo"), 1);
}

TEST_WITH(the_default_comes_first_and_once, setup, teardown)
{
    struct world *w = *state;
    struct llm_provider_conf p[] = {{.name = STR("anthropic"), .api_key = STR("k")}};
    list(w, &(struct llm_conf){
                .providers = p, .nproviders = 1, .default_model = STR("claude-opus-5")});
    assert_true(str_eq(w->names[0], STR("anthropic:claude-opus-5")));
    assert_int_equal(count(w, "anthropic:claude-opus-5"), 1);
    assert_int_equal(count(w, "anthropic:claude-haiku-4-5"), 1);
    assert_int_equal(count(w, "demo:demo"), 1);
    assert_int_equal(count(w, "anthropic:gpt-5"), 0);
}

TEST_WITH(models_belong_to_their_maker, setup, teardown)
{
    struct world *w = *state;
    struct llm_provider_conf p[] = {
        {.name = STR("openai"), .api_key = STR("k")},
        {.name = STR("own"), .type = STR("openai"), .base_url = STR("http://127.0.0.1:1/v1")},
        {.name = STR("google"), .api_key = STR("k")},
    };
    list(w, &(struct llm_conf){.providers = p, .nproviders = 3});
    assert_int_equal(count(w, "google:gemini-3.8-flash"), 1);
    assert_int_equal(count(w, "google:gemini-4-argon"), 1);
    assert_int_equal(count(w, "google:gpt-5"), 0);
    assert_int_equal(count(w, "openai:gpt-5"), 1);
    assert_int_equal(count(w, "openai:o3"), 1);
    assert_int_equal(count(w, "own:gpt-5"), 0); /* who knows what it serves */
    for (size_t i = 0; i < w->n; i++)
        assert_false(str_ends(w->names[i], STR("-"))); /* families are no models */
}

TEST_WITH(the_configuration_names_models, setup, teardown)
{
    struct world *w = *state;
    struct llm_provider_conf p[] = {
        {.name = STR("own"), .type = STR("openai"), .base_url = STR("http://127.0.0.1:1/v1")}};
    struct json *o;
    str text = STR("{\"own:qwen\":{\"contextTokens\":5},\"other:x\":{},\"bare\":{}}");
    assert_int_equal(json_parse(&w->arena, text, 0, &o, NULL), 0);
    list(w, &(struct llm_conf){.providers = p, .nproviders = 1, .model_overrides = o});
    assert_int_equal(count(w, "own:qwen"), 1);
    assert_int_equal(count(w, "other:x"), 0);
    struct llm_model_info info;
    assert_true(llm_model_info(w->llm, STR("own:qwen"), &info));
    assert_int_equal(info.context_tokens, 5);
}

TEST_WITH(what_is_missing_says_what_it_needs, setup, teardown)
{
    struct world *w = *state;
    struct llm_provider_conf p[] = {{.name = STR("anthropic"), .api_key = STR("k")}};
    list(w, &(struct llm_conf){.providers = p, .nproviders = 1});
    size_t n;
    const struct llm_provider_info *all = llm_missing_providers(w->llm, &w->arena, &n);
    bool has_groq = false;
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        assert_false(all[i].is_usable);
        assert_true(all[i].problem.n > 0);
        assert_false(str_eq(all[i].name, STR("anthropic")));
        if (str_eq(all[i].name, STR("groq")))
            has_groq = str_find(all[i].problem, STR("GROQ_API_KEY"), 0) >= 0;
    }
    assert_true(has_groq);
}
