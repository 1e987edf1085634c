/* zone.h - offsets of time zones, read from the system's zone files.
 *
 * Names are IANA ("Europe/Berlin"), "UTC", or fixed offsets ("+02:00"). Reading a file is
 * quick and small; nothing is cached, and the process's own TZ is ignored. */
#pragma once

#include "base/err.h"

#define ZONE_ABBR_MAX 8

/* Offset east of UTC at the given moment, and its abbreviation. -ENOENT: no such zone. */
int zone_offset(str name, int64_t epoch_s, int32_t *ret_offset_s, char abbr[ZONE_ABBR_MAX],
                struct err *e);
