/* anthropic.h - the Anthropic Messages API: request bodies and answer streams. Internal to
 * llm/; the table PROVIDER_ANTHROPIC (provider.h) is how others reach it. */
#pragma once

#include "llm/provider/provider.h"

int anthropic_build(const struct provider *p, const struct model_caps *caps,
                    const struct llm_request *req, struct buf *ret_body, struct err *e);
void anthropic_event(struct answer *an, const struct sse_event *ev);
void anthropic_eof(struct answer *an);
