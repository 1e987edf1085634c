/* schema_regex.h - third-party regular expressions, with limits on time and memory.
 *
 * The dialect is PCRE2 told to behave like ECMA-262 where the two differ and the option
 * exists. The last few compiled patterns are kept for the length of one validation. */
#pragma once

#include "base/str.h"

#define REGEX_PATTERN_MAX 4096
#define REGEX_CACHE_LEN   8

struct regex_slot {
    str pattern; /* borrowed */
    void *code;  /* pcre2_code; NULL = does not compile */
};

struct regex_cache { /* a zeroed one is empty */
    struct regex_slot slots[REGEX_CACHE_LEN];
    unsigned n, next;
};

enum regex_answer { REGEX_NO, REGEX_YES, REGEX_UNKNOWN };

/* Searches s for the pattern. REGEX_UNKNOWN when it does not compile or reaches one of its limits;
 * the latter sets *ret_exhausted. */
enum regex_answer regex_search(struct regex_cache *c, str pattern, str s, bool *ret_exhausted);
void regex_cache_done(struct regex_cache *c);
