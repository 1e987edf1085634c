/* failure.h - turns errors of model servers into a kind, a message, and a decision on retrying.
 *
 * Servers report errors in many formats; here they become one of a few kinds and one sentence that
 * says what to do. Keys and other secrets never appear in the text. Pure. */
#pragma once

#include "llm/provider/provider.h"

#define RETRY_WAIT_CAP_MS  30000u  /* longest wait of the back-off */
#define RETRY_AFTER_MAX_MS 120000u /* a longer Retry-After ends the call */

/* Reads an error body, JSON of any known shape or none at all. Only type, message and param of
 * *ret are set (and request_id and the wait, if the body names them); they live in the arena. */
void wire_error_parse(struct arena *a, str body, struct wire_error *ret);

/* Reads request id and retry advice from a response header. */
void wire_error_header(struct arena *a, str name, str value, struct wire_error *ret);

struct verdict {
    bool is_retryable;
    int64_t wait_ms; /* -1 = back off as usual */
};

/* Fills ret (kind, status, request_id, err) and decides on a retry. `successor` may be empty. */
struct verdict failure_judge(const struct provider *p, str model, str successor,
                             const struct wire_error *w, struct llm_failure *ret);

/* Doubling from `base_ms`, at most RETRY_WAIT_CAP_MS, minus up to a quarter. */
uint64_t failure_backoff_ms(unsigned attempt, uint64_t base_ms, uint64_t random);
