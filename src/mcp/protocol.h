/* protocol.h - the revisions of MCP: names, numbers and differences.
 *
 * There are two eras. Legacy revisions open with a handshake ("initialize") and allow requests in
 * both directions; the modern revision is stateless, carries its metadata in every request and puts
 * the server's questions into results. Pure; any thread. */
#pragma once

#include "base/json/json.h"

#define MCP_REVISION_LEGACY "2025-11-25" /* the revision that nb offers in the handshake */
#define MCP_REVISION_MODERN "2026-07-28"
#define MCP_REVISION_BATCH  "2025-03-26" /* the only revision with arrays of messages */

enum mcp_era { MCP_ERA_UNKNOWN, MCP_ERA_LEGACY, MCP_ERA_MODERN };

/* UNKNOWN for a revision that nb does not support. */
enum mcp_era protocol_era(str revision);

/* ---- error codes ---- */

enum {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

/* Only a server of the modern era returns these codes. */
bool protocol_is_modern_error(int64_t code);

/* ---- keys of _meta ---- */

#define META_VERSION        "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES   "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT_INFO    "io.modelcontextprotocol/clientInfo"
#define META_SERVER_INFO    "io.modelcontextprotocol/serverInfo"
#define META_LOG_LEVEL      "io.modelcontextprotocol/logLevel"
#define META_SUBSCRIPTION   "io.modelcontextprotocol/subscriptionId"
#define META_RELATED_TASK   "io.modelcontextprotocol/related-task"
#define MCP_EXTENSION_TASKS "io.modelcontextprotocol/tasks"
#define MCP_PROGRESS_TOKEN  "progressToken"

/* ---- methods ---- */

/* The member of params that the Mcp-Name header repeats, or NULL. */
const char *protocol_name_member(str method);
/* True when a server of the modern era may answer the method with input_required. */
bool protocol_may_need_input(str method);
/* True when a tool, as it was listed, must run as a task (2025-11-25). */
bool protocol_needs_task(const struct json *tool);

/* 0 = debug ... 7 = emergency; -1 for anything else. */
int protocol_log_level(str name);
str protocol_log_level_name(int level); /* empty for -1 */
