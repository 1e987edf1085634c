/* stopped_clock.h - a wall clock that a test stops, so that no minute ends and nothing expires
 * while a slow machine works. One test program includes it; tests/meson.build links it with
 * --wrap=clock_now_ms. */
#pragma once

#include "base/clock.h"

static int64_t stopped_clock_ms; /* 0: the clock is the real one */

int64_t __real_clock_now_ms(void);
int64_t __wrap_clock_now_ms(void);

int64_t __wrap_clock_now_ms(void)
{
    return stopped_clock_ms ? stopped_clock_ms : __real_clock_now_ms();
}

static inline void clock_stop(void)
{
    stopped_clock_ms = __real_clock_now_ms();
}

/* For the next test. */
static inline void clock_continue(void)
{
    stopped_clock_ms = 0;
}
