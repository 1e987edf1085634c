/* mcp.h - where a client of the MCP endpoint gets its token. */
#pragma once

#include "api/api.h"

/* The address of the metadata that tells a client where to get a token after a 401; empty = none.
 */
str api_mcp_metadata_url(const struct api *api, struct http_req *r);
