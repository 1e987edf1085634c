#include <math.h>

#include "llm/provider/models.h"
#include "unit/llm/history_rig.h"

static void assert_usd(str model, const struct json *overrides, struct conv_usage u, double usd)
{
    struct model_caps c;
    double got = -1;
    model_lookup(STR("anthropic"), model, overrides, &c);
    assert_true(model_price(&c, &u, &got));
    if (fabs(got - usd) > 1e-9)
        fail_msg("%.*s costs %.9f, not %.9f", STR_ARG(model), got, usd);
}

/* A price belongs to a model and its dated versions, not to whatever begins like it. */
TEST(unknown_stays_unknown)
{
    static const struct {
        const char *provider, *model;
        double price_in; /* -1 = unknown */
    } CASES[] = {
        {"openai", "gpt-5", 1.25},
        {"openai", "gpt-5-2025-08-07", 1.25},
        {"openai", "gpt-5-mini", 0.25},
        {"openai", "gpt-5.9", -1},
        {"openai", "gpt-5-huge", -1},
        {"openai", "o3-deep-research", -1},
        {"anthropic", "claude-sonnet-4-5-20250929", 3},
        {"anthropic", "claude-sonnet-5-9", -1},
        {"google", "gemini-2.5-flash", 0.30},
        {"google", "gemini-2.5-flash-lite", 0.10},
        {"google", "gemini-9-pro", -1},
        {"groq", "openai/gpt-oss-120b", 0.15},
        {"openrouter", "openai/gpt-oss-120b", -1},
        {"mistral", "mistral-large-latest", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct model_caps c;
        model_lookup(str_from(CASES[i].provider), str_from(CASES[i].model), NULL, &c);
        bool is_right = c.has_price == (CASES[i].price_in >= 0) &&
                        (!c.has_price || c.price_in == CASES[i].price_in);
        if (!is_right)
            fail_msg("%s: %d, %f", CASES[i].model, c.has_price, c.price_in);
        assert_true(!c.has_price || c.priced_on.n > 0);
    }
}

TEST(long_prompts_cost_more)
{
    struct model_caps c;
    double usd = 0;
    model_lookup(STR("google"), STR("gemini-2.5-pro"), NULL, &c);
    struct conv_usage u = {.input_tokens = 300000, .output_tokens = 1000};
    assert_true(model_price(&c, &u, &usd));
    assert_true(usd > 0.764999 && usd < 0.765001); /* 0.3 * 2.50 + 0.001 * 15 */
}

TEST(five_prices)
{
    (void)state;
    struct conv_usage u = {.input_tokens = 1000000, /* 100k fresh, the rest cached */
                           .output_tokens = 100000,
                           .cache_read_tokens = 500000,
                           .cache_write_5m_tokens = 300000,
                           .cache_write_1h_tokens = 100000};
    assert_usd(STR("claude-sonnet-4-5-20250929"), NULL, u,
               0.3 + 0.5 * 0.30 + 0.3 * 3.75 + 0.1 * 6 + 0.1 * 15);
    assert_usd(STR("claude-sonnet-5-5"), NULL, u,
               0.2 + 0.5 * 0.10 + 0.3 * 2.5 + 0.1 * 4 + 0.1 * 10);
    assert_usd(STR("claude-fable-5-1"), NULL, u,
               1.0 + 0.5 * 0.25 + 0.3 * 12.5 + 0.1 * 20 + 0.1 * 50);
    assert_usd(STR("demo"), NULL, u, 0);
}

TEST(the_longest_prefix_wins)
{
    (void)state;
    struct model_caps c;
    model_lookup(STR("anthropic"), STR("claude-sonnet-5"), NULL, &c);
    assert_true(c.price_cache_read == 0.20);
    model_lookup(STR("anthropic"), STR("claude-sonnet-5-5-20270101"), NULL, &c);
    assert_true(c.price_cache_read == 0.10);
    model_lookup(STR("openrouter"), STR("anthropic/claude-opus-5"), NULL, &c);
    assert_true(c.price_in == 5);
}

TEST(long_prompts_may_cost_more)
{
    (void)state;
    assert_usd(STR("claude-haiku-5-5"), NULL, (struct conv_usage){.input_tokens = 100000}, 0.01);
    assert_usd(STR("claude-haiku-5-5"), NULL, (struct conv_usage){.input_tokens = 200000}, 0.1);
}

TEST(unknown_is_not_free)
{
    (void)state;
    struct model_caps c;
    double usd;
    struct conv_usage u = {.input_tokens = 1};
    model_lookup(STR("x"), STR("novel-1"), NULL, &c);
    assert_false(model_price(&c, &u, &usd));
    assert_true(c.can_tools);
    assert_int_equal(c.prefix.n, 0);
}

TEST(the_configuration_corrects)
{
    (void)state;
    struct arena a;
    struct model_caps c;
    arena_init(&a);
    const struct json *o =
        rig_json(&a, "{\"novel\":{\"contextTokens\":1000,\"maxOutputTokens\":10,\"tools\":false,"
                     "\"images\":true,\"thinking\":\"both\",\"price\":{\"input\":2,\"output\":4}},"
                     "\"x:novel-2\":{\"price\":{\"input\":8,\"output\":1,\"cacheRead\":0.5}},"
                     "\"claude-sonnet-5\":{\"maxOutputTokens\":7}}");
    model_lookup(STR("x"), STR("novel-1"), o, &c);
    assert_int_equal(c.context_tokens, 1000);
    assert_int_equal(c.max_output_tokens, 10);
    assert_true(c.can_images && !c.can_tools && c.thinks_enabled && c.thinks_adaptive);
    assert_true(c.has_price && c.price_in == 2 && c.price_write_5m == 2.5 &&
                c.price_cache_read == 2);
    model_lookup(STR("x"), STR("novel-2"), o, &c);
    assert_true(c.price_in == 8 && c.price_cache_read == 0.5);
    model_lookup(STR("y"), STR("novel-2"), o, &c); /* another provider's model of that name */
    assert_true(c.price_in == 2);
    model_lookup(STR("anthropic"), STR("claude-sonnet-5"), o, &c);
    assert_int_equal(c.max_output_tokens, 7);
    assert_true(c.price_in == 2); /* what is not corrected stays */
    arena_done(&a);
}

TEST(knows_what_retires)
{
    (void)state;
    struct model_caps c;
    model_lookup(STR("anthropic"), STR("claude-sonnet-4-5-20250929"), NULL, &c);
    assert_true(str_eq(c.retires_on, STR("2026-11-30")));
    assert_true(str_eq(c.successor, STR("claude-sonnet-5-5")));
}

TEST(abilities_of_single_models)
{
    static const struct {
        const char *model;
        bool can_images, can_pdf, is_reasoning, takes_effort, thinks_enabled;
    } CASES[] = {
        {"gemini-3.8-flash", true, true, false, true, false},
        {"gemini-2.5-flash-lite", true, true, false, false, true},
        {"gemini-9-novel", true, true, false, true, false},
        {"gpt-5", true, true, true, false, false},
        {"gpt-5-chat-latest", true, true, false, false, false},
        {"gpt-6-sol", true, true, true, false, false},
        {"o3-mini", false, false, true, false, false},
        {"llama-3.3-70b-versatile", false, false, false, false, false},
        {"somebody/else", false, false, false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct model_caps c;
        model_lookup(STR("p"), str_from(CASES[i].model), NULL, &c);
        if (c.can_images != CASES[i].can_images || c.can_pdf != CASES[i].can_pdf ||
            c.is_reasoning != CASES[i].is_reasoning || c.takes_effort != CASES[i].takes_effort ||
            c.thinks_enabled != CASES[i].thinks_enabled || !c.can_tools)
            fail_msg("%s", CASES[i].model);
    }
}
