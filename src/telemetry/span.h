/* span.h - what the loop thread keeps of a run, a model call or a tool call until it is sent:
 * numbers, ids and short texts. The JSON is made later, on a thread of a pool (span_exporter.h).
 *
 * A span that span_new returned is not changed any more, so that another thread may read it until
 * its owner frees it. */
#pragma once

#include "base/json/json.h"
#include "base/list.h"

enum span_type { SPAN_RUN, SPAN_MODEL, SPAN_TOOL };

enum span_text {
    SPAN_CONVERSATION, /* id */
    SPAN_WORKSPACE,    /* id */
    SPAN_MODEL_ASKED,  /* "provider:model" */
    SPAN_MODEL_USED,   /* the same, as the answer says */
    SPAN_REASON,       /* why a run or an answer ended */
    SPAN_ERROR,        /* its kind; empty = none */
    SPAN_TOOL_NAME,
    SPAN_CALL_ID,
    SPAN_TEXTS,
};

struct trace_span {
    struct list_node node; /* the owner's */
    enum span_type type;
    bool has_parent, has_cost;
    uint8_t trace[16], id[8], parent[8];
    int64_t start_ms, end_ms;
    int64_t input_tokens, output_tokens, cache_read_tokens;
    double cost_usd;
    str texts[SPAN_TEXTS]; /* of a span that is not copied yet: borrowed, may be empty */
};

/* A copy with texts of its own; those longer than OTLP_TEXT_MAX are cut. free() ends it. */
struct trace_span *span_new(const struct trace_span *s);
size_t span_size(const struct trace_span *s);                       /* bytes of such a copy */
size_t span_json_max(const struct trace_span *s);                   /* bytes of its JSON at most */
void span_write(struct json_writer *w, const struct trace_span *s); /* one object; any thread */
