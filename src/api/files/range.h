/* range.h - the Range header of a request (RFC 9110), for one range of bytes. Pure. */
#pragma once

#include "base/str.h"

enum range_result {
    RANGE_WHOLE, /* no range, several, or malformed: the whole is sent */
    RANGE_PART,
    RANGE_BEYOND, /* 416 */
};

/* *ret_from is the first byte, *ret_to the one behind the last. */
enum range_result range_parse(str header, uint64_t size, uint64_t *ret_from, uint64_t *ret_to);
