#include "runtime/report.h"

static void write_tool(struct json_writer *w, const struct run_tool_record *t)
{
    jw_object(w);
    jw_kstr(w, "id", t->id);
    jw_kstr(w, "name", t->name);
    jw_kraw(w, "input", t->input);
    jw_kstr(w, "output", t->output);
    jw_kbool(w, "ok", t->ok);
    jw_kint(w, "ms", (int64_t)t->ms);
    jw_end(w);
}

static void write_usage(struct json_writer *w, const struct turn_result *t)
{
    const struct conv_usage *u = &t->run->usage;
    jw_object(w);
    jw_kint(w, "inputTokens", u->input_tokens);
    jw_kint(w, "outputTokens", u->output_tokens);
    jw_kint(w, "cacheReadTokens", u->cache_read_tokens);
    jw_kint(w, "cacheCreationTokens", u->cache_write_5m_tokens + u->cache_write_1h_tokens);
    jw_key(w, "costUsd");
    if (t->is_cost_known)
        jw_double(w, t->cost_usd);
    else
        jw_null(w);
    jw_kstr(w, "model", t->run->model);
    jw_kint(w, "llmMs", (int64_t)t->run->llm_ms);
    jw_kint(w, "totalMs", (int64_t)t->run->total_ms);
    jw_kint(w, "iterations", t->run->iterations);
    jw_end(w);
}

void report_write(struct json_writer *w, const struct turn_result *t)
{
    const struct run_result *r = t->run;
    jw_object(w);
    jw_kstr(w, "response", r->response);
    jw_kstr(w, "conversationId", t->conversation_id);
    jw_kstr(w, "runId", t->run_id);
    jw_kstr_or_null(w, "skillName", t->skill);
    jw_karray(w, "toolCalls");
    for (size_t i = 0; i < r->ntools; i++)
        write_tool(w, &r->tools[i]);
    jw_end(w);
    jw_kint(w, "inputTokens", r->usage.input_tokens);
    jw_kint(w, "outputTokens", r->usage.output_tokens);
    jw_kstr(w, "stopReason", str_from(run_stop_name(r->stop)));
    if (r->ask)
        jw_kval(w, "ask", r->ask);
    jw_key(w, "usage");
    write_usage(w, t);
    jw_end(w);
}
