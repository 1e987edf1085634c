/* span.h - what the loop thread keeps of a run, a model call or a tool call until it is sent:
 * numbers, ids and short texts. The JSON is made later, on another thread (span_exporter.h).
 *
 * Spans wait packed behind each other in one buffer: about 170 bytes each, written once by the loop
 * thread and read once by the other. */
#pragma once

#include "base/buf.h"
#include "base/json/json.h"

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
    enum span_type type;
    bool has_parent, has_cost;
    uint8_t trace[16], id[8], parent[8];
    int64_t start_ms, end_ms;
    int64_t input_tokens, output_tokens, cache_read_tokens;
    double cost_usd;
    str texts[SPAN_TEXTS]; /* borrowed; may be empty */
};

/* Appends a span; texts longer than OTLP_TEXT_MAX are cut. */
void span_pack(struct buf *out, const struct trace_span *s);
/* Removes the first span of `rest`; its texts are borrowed from there. False: there are no more. */
bool span_unpack(str *rest, struct trace_span *ret);
size_t span_size(const struct trace_span *s);                       /* packed bytes, at most */
size_t span_json_max(const struct trace_span *s);                   /* bytes of its JSON at most */
void span_write(struct json_writer *w, const struct trace_span *s); /* one object; any thread */
