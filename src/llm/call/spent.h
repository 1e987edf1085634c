/* spent.h - the usage of a model call that is still in progress, or has failed. */
#pragma once

#include "llm/llm.h"

/* During a call, or in its on_fail: the tokens that the provider has used so far and will bill.
 * Counts that the provider has not reported are estimated (about 4 bytes per token). False: none.
 */
bool llm_usage_so_far(const struct llm_call *c, struct conv_usage *ret, bool *ret_is_estimated);
