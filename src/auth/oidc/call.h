/* call.h - one HTTP request with its whole response. Loop thread. */
#pragma once

#include "net/fetch.h"

#define CALL_BODY_MAX   (1024u * 1024)
#define CALL_TIMEOUT_MS 10000 /* in all */

struct call;

/* err.code 0: there is a response, with any status. `body` lives for the call. */
typedef void (*call_done)(void *ctx, const struct err *err, int status, str body);

/* spec: its limits are set here. Never calls back before it returns. */
struct call *call_start(struct loop *l, struct fetcher *f, const struct fetch_spec *spec,
                        call_done done, void *ctx);
void call_cancel(struct call *c); /* accepts NULL */
