/* signals.h - signals as callbacks on the loop. */
#pragma once

#include "loop/loop.h"

struct signals;

typedef void (*signal_fn)(void *ctx, int signum);

/* SIGINT, SIGTERM and SIGHUP; or those of the list, which ends with 0. */
struct signals *signals_new(struct loop *l, signal_fn fn, void *ctx);
struct signals *signals_watch(struct loop *l, const int *list, signal_fn fn, void *ctx);
void signals_free(struct signals *s); /* the memory is freed in later turns of the loop */
