/* openai.h - the chat completions API of OpenAI, local servers and many clouds. Internal
 * to llm/; the table PROVIDER_OPENAI (provider.h) is how others reach it. */
#pragma once

#include "llm/provider/provider.h"

int openai_build(const struct provider *p, const struct model_caps *caps,
                 const struct llm_request *req, struct buf *ret_body, struct err *e);
void openai_event(struct answer *an, const struct sse_event *ev);
void openai_eof(struct answer *an);
