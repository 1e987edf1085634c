#include "llm/provider/models.h"

/* in, 5 min write, 1 h write, cache read, out */
#define CLAUDE_DATE STR_INIT("2026-11")
#define PRICE(in, w5, w1h, read, out)                                                              \
    .has_price = true, .price_in = (in), .price_write_5m = (w5), .price_write_1h = (w1h),          \
    .price_cache_read = (read), .price_out = (out)
#define LIMITS(context, output) .context_tokens = (context), .max_output_tokens = (output)
#define EYES_AND_HANDS          .can_tools = true, .can_images = true
#define OLD_THINKING            .thinks_enabled = true
#define BOTH_THINKING           .thinks_enabled = true, .thinks_adaptive = true, .takes_effort = true
#define NEW_THINKING            .thinks_adaptive = true, .takes_effort = true
#define READS_PDF               .can_pdf = true
#define CLAUDE(name)            .prefix = STR_INIT(name), EYES_AND_HANDS, READS_PDF, .priced_on = CLAUDE_DATE
#define CHAT(name)              .prefix = STR_INIT(name), EYES_AND_HANDS
#define GPT(name)               .prefix = STR_INIT(name), EYES_AND_HANDS, READS_PDF
/* Chat completions do not bill cache writes separately: they cost as much as input. */
#define CHAT_PRICE(in, read, out, date) PRICE(in, in, in, read, out), .priced_on = STR_INIT(date)
#define GEMINI(name)                    GPT(name), LIMITS(1000000, 65536) /* takes the same */
#define BUDGET_THINKING                 .thinks_enabled = true, .thinks_adaptive = true /* no effort */
#define GEMINI_LONG                     .long_prompt_tokens = 200000, .long_prompt_factor = 2, .long_output_factor = 1.5

static const struct model_caps MODELS[] = {
    {CLAUDE("claude-sonnet-4-5"), LIMITS(200000, 64000), PRICE(3, 3.75, 6, 0.30, 15), OLD_THINKING,
     .retires_on = STR_INIT("2026-11-30"), .successor = STR_INIT("claude-sonnet-5-5")},
    {CLAUDE("claude-sonnet-4-6"), LIMITS(1000000, 128000), PRICE(3, 3.75, 6, 0.30, 15),
     BOTH_THINKING},
    {CLAUDE("claude-sonnet-5"), LIMITS(1000000, 128000), PRICE(2, 2.50, 4, 0.20, 10), NEW_THINKING},
    {CLAUDE("claude-sonnet-5-5"), LIMITS(1000000, 128000), PRICE(2, 2.50, 4, 0.10, 10),
     NEW_THINKING},
    {CLAUDE("claude-haiku-4-5"), LIMITS(200000, 64000), PRICE(1, 1.25, 2, 0.10, 5), OLD_THINKING},
    {CLAUDE("claude-haiku-5-5"), LIMITS(1000000, 128000), PRICE(0.10, 0.125, 0.20, 0.01, 0.50),
     NEW_THINKING, .long_prompt_tokens = 100000, .long_prompt_factor = 5},
    {CLAUDE("claude-opus-4-5"), LIMITS(200000, 64000), PRICE(5, 6.25, 10, 0.50, 25), OLD_THINKING,
     .takes_effort = true},
    {CLAUDE("claude-opus-4-6"), LIMITS(1000000, 128000), PRICE(5, 6.25, 10, 0.50, 25),
     BOTH_THINKING},
    {CLAUDE("claude-opus-4-7"), LIMITS(1000000, 128000), PRICE(5, 6.25, 10, 0.50, 25),
     NEW_THINKING},
    {CLAUDE("claude-opus-4-8"), LIMITS(1000000, 128000), PRICE(5, 6.25, 10, 0.50, 25),
     NEW_THINKING},
    {CLAUDE("claude-opus-5"), LIMITS(1000000, 128000), PRICE(5, 6.25, 10, 0.50, 25), NEW_THINKING},
    {CLAUDE("claude-opus-5-5"), LIMITS(1000000, 128000), PRICE(4, 5, 8, 0.20, 20), NEW_THINKING},
    {CLAUDE("claude-fable-5"), LIMITS(1000000, 128000), PRICE(10, 12.50, 20, 1.00, 50),
     NEW_THINKING},
    {CLAUDE("claude-fable-5-1"), LIMITS(1000000, 128000), PRICE(10, 12.50, 20, 0.25, 50),
     NEW_THINKING},
    {CLAUDE("claude-fable-5-2"), LIMITS(1000000, 128000), PRICE(8, 10, 16, 0.20, 40), NEW_THINKING},
    /* Chat completions: limits that are safe to assume, and public list prices of the date beside
     * them. A name that is not here has no price. */
    {GPT("gpt-4o"), LIMITS(128000, 16384), CHAT_PRICE(2.50, 1.25, 10, "2026-03")},
    {GPT("gpt-4o-mini"), LIMITS(128000, 16384), CHAT_PRICE(0.15, 0.075, 0.60, "2026-03")},
    {GPT("gpt-4.1"), LIMITS(1000000, 32768), CHAT_PRICE(2, 0.50, 8, "2026-03")},
    {GPT("gpt-4.1-mini"), LIMITS(1000000, 32768), CHAT_PRICE(0.40, 0.10, 1.60, "2026-03")},
    {GPT("gpt-4.1-nano"), LIMITS(1000000, 32768), CHAT_PRICE(0.10, 0.025, 0.40, "2026-03")},
    {GPT("gpt-5"), LIMITS(400000, 128000), CHAT_PRICE(1.25, 0.125, 10, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5-chat"), LIMITS(128000, 16384), CHAT_PRICE(1.25, 0.125, 10, "2026-03")},
    {GPT("gpt-5-mini"), LIMITS(400000, 128000), CHAT_PRICE(0.25, 0.025, 2, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5-nano"), LIMITS(400000, 128000), CHAT_PRICE(0.05, 0.005, 0.40, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5-codex"), LIMITS(400000, 128000), CHAT_PRICE(1.25, 0.125, 10, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5-pro"), LIMITS(400000, 128000), CHAT_PRICE(15, 15, 120, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5.1"), LIMITS(400000, 128000), CHAT_PRICE(1.25, 0.125, 10, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5.2"), LIMITS(400000, 128000), CHAT_PRICE(1.75, 0.175, 14, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-5.4"), LIMITS(400000, 128000), CHAT_PRICE(2.50, 0.25, 15, "2026-03"),
     .is_reasoning = true},
    {GPT("gpt-6-"), LIMITS(400000, 128000), .is_reasoning = true},
    {GPT("o1"), LIMITS(200000, 100000), CHAT_PRICE(15, 7.50, 60, "2026-03"), .is_reasoning = true},
    {GPT("o3"), LIMITS(200000, 100000), CHAT_PRICE(2, 0.50, 8, "2026-03"), .is_reasoning = true},
    {.prefix = STR_INIT("o3-mini"),
     .can_tools = true,
     LIMITS(200000, 100000),
     CHAT_PRICE(1.10, 0.55, 4.40, "2026-03"),
     .is_reasoning = true},
    {GPT("o4-"), LIMITS(200000, 100000), .is_reasoning = true},
    {GPT("o4-mini"), LIMITS(200000, 100000), CHAT_PRICE(1.10, 0.275, 4.40, "2026-03"),
     .is_reasoning = true},
    {GEMINI("gemini-"), NEW_THINKING},
    {GEMINI("gemini-2"), BUDGET_THINKING},
    {GEMINI("gemini-2.5-pro"), BUDGET_THINKING, CHAT_PRICE(1.25, 0.125, 10, "2026-03"), GEMINI_LONG,
     .successor = STR_INIT("gemini-3.8-flash")},
    {GEMINI("gemini-2.5-flash"), BUDGET_THINKING, CHAT_PRICE(0.30, 0.03, 2.50, "2026-03"),
     .successor = STR_INIT("gemini-3.8-flash")},
    {GEMINI("gemini-2.5-flash-lite"), BUDGET_THINKING, CHAT_PRICE(0.10, 0.01, 0.40, "2026-03")},
    {GEMINI("gemini-3-pro-preview"), NEW_THINKING, CHAT_PRICE(2, 0.20, 12, "2026-03"), GEMINI_LONG},
    {GEMINI("gemini-3.1-pro-preview"), NEW_THINKING, CHAT_PRICE(2, 0.20, 12, "2026-03"),
     GEMINI_LONG},
    {GEMINI("gemini-3-flash-preview"), NEW_THINKING, CHAT_PRICE(0.50, 0.05, 3, "2026-03")},
    {GEMINI("gemini-3.8-flash"), NEW_THINKING, CHAT_PRICE(0.75, 0.075, 3.75, "2026-11")},
    {GEMINI("gemini-4-argon"), NEW_THINKING, CHAT_PRICE(2, 0.10, 10, "2026-11")},
    {.prefix = STR_INIT("llama-3.3-70b-versatile"),
     LIMITS(131072, 32768),
     .can_tools = true,
     CHAT_PRICE(0.59, 0.59, 0.79, "2026-03"),
     .only_at = STR_INIT("groq")},
    {.prefix = STR_INIT("llama-3.1-8b-instant"),
     LIMITS(131072, 32768),
     .can_tools = true,
     CHAT_PRICE(0.05, 0.05, 0.08, "2026-03"),
     .only_at = STR_INIT("groq")},
    {.prefix = STR_INIT("gpt-oss-120b"),
     LIMITS(131072, 32768),
     .can_tools = true,
     CHAT_PRICE(0.15, 0.15, 0.60, "2026-03"),
     .only_at = STR_INIT("groq")},
    {.prefix = STR_INIT("gpt-oss-20b"),
     LIMITS(131072, 32768),
     .can_tools = true,
     CHAT_PRICE(0.075, 0.075, 0.30, "2026-03"),
     .only_at = STR_INIT("groq")},
    {.prefix = STR_INIT("deepseek-"), LIMITS(128000, 8192), .can_tools = true},
    {.prefix = STR_INIT("demo"), LIMITS(200000, 16384), PRICE(0, 0, 0, 0, 0), EYES_AND_HANDS},
};

/* Servers behind a router prefix the maker's name: "anthropic/claude-opus-5". On Bedrock it is
 * "us.anthropic.claude-opus-5". */
static str without_maker(str model)
{
    static const str MAKER = STR_INIT("anthropic.");
    ptrdiff_t slash = str_rfind_char(model, '/'), dot = str_find(model, MAKER, 0);
    if (dot >= 0)
        return str_skip(model, (size_t)dot + MAKER.n);
    return slash < 0 ? model : str_skip(model, (size_t)slash + 1);
}

static const struct model_caps *find_row(str model)
{
    const struct model_caps *best = NULL;
    str bare = without_maker(model);
    for (size_t i = 0; i < ARRAY_LEN(MODELS) && bare.n > 0; i++) {
        const struct model_caps *row = &MODELS[i];
        /* The first letter alone excludes most rows, and no prefix is empty. */
        if (row->prefix.p[0] == bare.p[0] && str_starts(bare, row->prefix) && (!best || row->prefix.n > best->prefix.n))
            best = row;
    }
    return best;
}

static const struct json *find_override(str provider, str model, const struct json *overrides)
{
    const struct json *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; json_is(overrides, JSON_OBJECT) && i < overrides->len; i++) {
        const struct json_member *m = &overrides->members[i];
        str key = m->key;
        if (str_starts(key, provider) && key.n > provider.n && key.p[provider.n] == ':')
            key = str_skip(key, provider.n + 1);
        if (str_starts(model, key) && key.n >= best_len) {
            best = &m->value;
            best_len = key.n;
        }
    }
    return best;
}

static void apply_price(const struct json *price, struct model_caps *c)
{
    if (!json_is(price, JSON_OBJECT))
        return;
    c->has_price = true;
    c->long_prompt_factor = 0;
    c->priced_on = STR_NONE; /* by the configuration */
    c->price_in = json_double(json_get(price, "input"), c->price_in);
    c->price_out = json_double(json_get(price, "output"), c->price_out);
    c->price_cache_read = json_double(json_get(price, "cacheRead"), c->price_in);
    c->price_write_5m = json_double(json_get(price, "cacheWrite5m"), c->price_in * 1.25);
    c->price_write_1h = json_double(json_get(price, "cacheWrite1h"), c->price_in * 2);
}

static void apply_thinking(str kind, struct model_caps *c)
{
    if (kind.n == 0)
        return;
    c->thinks_enabled = str_eq(kind, STR("enabled")) || str_eq(kind, STR("both"));
    c->thinks_adaptive = str_eq(kind, STR("adaptive")) || str_eq(kind, STR("both"));
}

static void apply_override(const struct json *o, struct model_caps *c)
{
    c->context_tokens = json_get_int(o, "contextTokens", c->context_tokens);
    c->max_output_tokens = json_get_int(o, "maxOutputTokens", c->max_output_tokens);
    c->can_tools = json_get_bool(o, "tools", c->can_tools);
    c->can_images = json_get_bool(o, "images", c->can_images);
    c->can_pdf = json_get_bool(o, "pdf", c->can_pdf);
    c->takes_effort = json_get_bool(o, "effort", c->takes_effort);
    c->successor = json_string(json_get(o, "successor"), c->successor);
    c->retires_on = json_string(json_get(o, "retiresOn"), c->retires_on);
    apply_thinking(json_get_string(o, "thinking"), c);
    apply_price(json_get(o, "price"), c);
}

/* Suffixes of a priced model that do not change its price: "-20250929", "-2025-08-07", "@20250929",
 * "-001", "-latest". Anything else ("-mini", "-5") names another model, whose price is unknown.
 */
static bool is_version(str rest)
{
    size_t digits = 0;
    if (rest.n == 0 || str_eq(rest, STR("-latest")))
        return true;
    if (rest.p[0] != '-' && rest.p[0] != '@')
        return false;
    for (size_t i = 1; i < rest.n; i++) {
        bool is_digit = rest.p[i] >= '0' && rest.p[i] <= '9';
        if (!is_digit && rest.p[i] != '-')
            return false;
        digits += is_digit;
    }
    return digits >= 3;
}

static bool has_this_price(const struct model_caps *row, str provider, str model)
{
    bool is_sold_here = row->only_at.n == 0 || str_eq(row->only_at, provider);
    return is_sold_here && is_version(str_skip(without_maker(model), row->prefix.n));
}

void model_lookup(str provider, str model, const struct json *overrides, struct model_caps *ret)
{
    const struct model_caps *row = find_row(model);
    /* Unknown models: try tools, but no pictures. */
    *ret = row ? *row : (struct model_caps){.can_tools = true};
    if (row && !has_this_price(row, provider, model))
        ret->has_price = false;
    const struct json *o = find_override(provider, model, overrides);
    if (json_is(o, JSON_OBJECT))
        apply_override(o, ret);
}

const struct model_caps *model_row(size_t i)
{
    return i < ARRAY_LEN(MODELS) ? &MODELS[i] : NULL;
}

bool model_price(const struct model_caps *c, const struct conv_usage *u, double *ret_usd)
{
    if (!c->has_price)
        return false;
    int64_t cached = u->cache_read_tokens + u->cache_write_5m_tokens + u->cache_write_1h_tokens;
    int64_t fresh = u->input_tokens > cached ? u->input_tokens - cached : 0;
    double in = (double)fresh * c->price_in + (double)u->cache_read_tokens * c->price_cache_read +
                (double)u->cache_write_5m_tokens * c->price_write_5m +
                (double)u->cache_write_1h_tokens * c->price_write_1h;
    double out = (double)u->output_tokens * c->price_out;
    if (c->long_prompt_factor > 0 && u->input_tokens > c->long_prompt_tokens) {
        in *= c->long_prompt_factor;
        out *= c->long_output_factor > 0 ? c->long_output_factor : c->long_prompt_factor;
    }
    *ret_usd = (in + out) / 1e6;
    return true;
}
