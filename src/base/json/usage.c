#include "base/json/usage.h"

void conv_usage_add(struct conv_usage *sum, const struct conv_usage *u)
{
    sum->input_tokens += u->input_tokens;
    sum->output_tokens += u->output_tokens;
    sum->cache_read_tokens += u->cache_read_tokens;
    sum->cache_write_5m_tokens += u->cache_write_5m_tokens;
    sum->cache_write_1h_tokens += u->cache_write_1h_tokens;
}

void conv_usage_write(struct json_writer *w, const struct conv_usage *u)
{
    jw_kint(w, "inputTokens", u->input_tokens);
    jw_kint(w, "outputTokens", u->output_tokens);
    jw_kint(w, "cacheReadTokens", u->cache_read_tokens);
    jw_kint(w, "cacheWrite5mTokens", u->cache_write_5m_tokens);
    jw_kint(w, "cacheWrite1hTokens", u->cache_write_1h_tokens);
}
