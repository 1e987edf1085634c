/* chat.h - nb__chat (GATEWAY_CHAT_TOOL): a tool that sends a message to the agent of the workspace.
 *
 * It is not one of the built-in tools, because the agent itself must not have it. */
#pragma once

#include "gateway/request.h"

const struct json *gw_chat_tool(struct arena *a);
bool gw_chat_is_offered(const struct gw_request *q);
void gw_chat_call(struct gw_request *q);
