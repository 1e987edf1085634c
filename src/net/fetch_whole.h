/* fetch_whole.h - one HTTP request with its whole response. Loop thread. */
#pragma once

#include "net/fetch.h"

#define FETCH_WHOLE_MAX        (1024u * 1024)
#define FETCH_WHOLE_TIMEOUT_MS 10000 /* in all */

struct fetch_whole;

/* err.code 0: there is a response, with any status. `body` lives for the call. */
typedef void (*fetch_whole_done)(void *ctx, const struct err *err, int status, str body);

/* spec: its limits are set here. Never calls back before it returns. */
struct fetch_whole *fetch_whole_start(struct loop *l, struct fetcher *f,
                                      const struct fetch_spec *spec, fetch_whole_done done,
                                      void *ctx);
void fetch_whole_cancel(struct fetch_whole *c); /* accepts NULL */
