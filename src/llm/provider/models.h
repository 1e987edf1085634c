/* models.h - known properties of single models: limits, prices, accepted input.
 *
 * A constant table, matched by the longest prefix of the model's name, corrected by the
 * configuration. A price holds for the exact name and its dated versions. A model that is not in
 * the table works with cautious defaults and has no price: unknown is not free. Pure; any thread.
 */
#pragma once

#include "base/json/usage.h"

#define MODEL_MAX_OUTPUT_DEFAULT 16384

struct model_caps {
    str prefix;                                /* of the row that matched; empty = none did */
    int64_t context_tokens, max_output_tokens; /* 0 = unknown */
    bool has_price;
    double price_in, price_write_5m, price_write_1h, price_cache_read, price_out; /* USD/Mtok */
    int64_t long_prompt_tokens; /* above so many input tokens ... */
    double long_prompt_factor;  /* ... all prices are multiplied; 0 = never */
    double long_output_factor;  /* ... that of output by this instead; 0 = by the same */
    str priced_on;              /* month of the public list price; empty = of the configuration */
    str only_at;                /* the only provider with this price; empty = all providers */
    bool can_tools, can_images;
    bool can_pdf;         /* takes PDFs as they are */
    bool thinks_enabled;  /* takes thinking {type: "enabled", budget_tokens} */
    bool thinks_adaptive; /* takes thinking {type: "adaptive"} */
    bool takes_effort;    /* takes an effort */
    bool is_reasoning;    /* chat completions: max_completion_tokens, reasoning_effort */
    str retires_on;       /* ISO date; empty = no date known */
    str successor;
};

/* `overrides` is the configuration's object "model name" -> {contextTokens, maxOutputTokens,
 * price{input,output,cacheRead,cacheWrite5m,cacheWrite1h}, tools, images, pdf, thinking, effort,
 * successor}, or NULL. Names there may be "provider:model" or bare, and are prefixes too. */
void model_lookup(str provider, str model, const struct json *overrides, struct model_caps *ret);

/* Row i of the table, NULL behind the last. A prefix that ends in '-' names a family. */
const struct model_caps *model_row(size_t i);

/* Cost of one call; false when the price is unknown. */
bool model_price(const struct model_caps *caps, const struct conv_usage *u, double *ret_usd);
