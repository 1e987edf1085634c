/* spent.h - what a call without an end has cost so far. */
#pragma once

#include "llm/llm.h"

/* Of a call under way, or in its on_fail: what the provider has done for it so far and will bill.
 * Counts that it has not reported are estimated (about 4 bytes a token). False: nothing. */
bool llm_usage_so_far(const struct llm_call *c, struct conv_usage *ret, bool *ret_is_estimated);
