#include "api/ingress/request_log.h"

#include "base/clock.h"
#include "telemetry/tracer.h"

/* Methods of requests without a route are the client's own words. */
#define UNKNOWN_METHOD "_OTHER"

void request_log_answered(struct logger *log, struct tracer *tracer, const struct http_req *r,
                          const struct request_answer *answer)
{
    uint64_t took_us = clock_mono_us() - r->started_us;
    char code[12], id[TRACE_ID_LEN + 1];
    snprintf(code, sizeof code, "%d", answer->status);
    const str labels[INSTRUMENT_LABELS_MAX] = {
        str_from(answer->method ? answer->method : UNKNOWN_METHOD),
        str_from(answer->pattern),
        str_from(code),
    };
    instruments_add(tracer_instruments(tracer), INSTRUMENT_REQUESTS, labels, (double)took_us / 1e6);
    if (!log_enabled(log, LOG_DEBUG))
        return;
    struct trace_context trace = trace_context_parse(http_get_header(r, "traceparent"));
    const struct log_ids ids = {str_from(r->id), trace_context_id(&trace, id)};
    log_msg_for(log, LOG_DEBUG, "http", &ids, "%.*s %.*s: %d after %llu us", STR_ARG(r->method),
                STR_ARG(r->path), answer->status, (unsigned long long)took_us);
}
