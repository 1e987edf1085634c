/* usage.h - the tokens of one or several model calls, and their members in events. */
#pragma once

#include "base/json/json.h"

struct conv_usage { /* input_tokens is all input; the cache figures are parts of it */
    int64_t input_tokens, output_tokens;
    int64_t cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens;
};

void conv_usage_add(struct conv_usage *sum, const struct conv_usage *u);
void conv_usage_write(struct json_writer *w, const struct conv_usage *u); /* five members */
