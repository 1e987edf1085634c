/* clock.h - wall time for logs, monotonic time for durations. Thread-safe. */
#pragma once

#include "base/str.h"

#define CLOCK_ISO_LEN 24 /* 2026-03-25T10:30:00.000Z */

int64_t clock_now_ms(void);   /* Unix epoch, milliseconds */
uint64_t clock_mono_us(void); /* monotonic, microseconds */
uint64_t clock_mono_ms(void);

/* Writes ISO-8601 UTC with milliseconds and a NUL. Years 0 to 9999; others are clamped. */
void clock_iso(int64_t epoch_ms, char out[CLOCK_ISO_LEN + 1]);

/* Accepts YYYY-MM-DD[Thh:mm[:ss[.fraction]]][Z|±hh:mm]. Returns 0 or -EINVAL. */
int clock_parse_iso(str s, int64_t *ret_epoch_ms);
