/* mcp.h - connects the gateway with the server's workspaces. */
#pragma once

#include "api/api.h"
#include "gateway/gateway.h"

/* For api_deps.mcp. */
struct api_mcp mcp_endpoint(struct gateway *g);
/* Describes a caller for the gateway; borrows. */
struct gateway_caller mcp_caller(const struct api_caller *who);
