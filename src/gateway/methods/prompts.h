/* prompts.h - prompts/get and completion/complete. */
#pragma once

#include "gateway/request.h"

void gw_prompts_get(struct gw_request *q);
void gw_completion_complete(struct gw_request *q);
