/* signals.h - SIGINT and SIGTERM as callbacks on the loop. */
#pragma once

#include "loop/loop.h"

struct signals;

typedef void (*signal_fn)(void *ctx, int signum);

struct signals *signals_new(struct loop *l, signal_fn fn, void *ctx);
void signals_free(struct signals *s); /* the memory is freed in later turns of the loop */
