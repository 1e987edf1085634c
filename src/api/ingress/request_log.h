/* request_log.h - each answered request: its time in the histograms, and a line of the log (level
 * debug) with its id and the id of the caller's trace. */
#pragma once

#include "http/server.h"

struct logger;
struct tracer;

struct request_answer {
    const char *method, *pattern; /* of the route; NULL: there is none */
    int status;
};

void request_log_answered(struct logger *log, struct tracer *tracer, const struct http_req *r,
                          const struct request_answer *answer);
