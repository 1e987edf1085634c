/* write.h - writes messages to clients, in the form of their era. */
#pragma once

#include "gateway/request.h"

#define GW_INSTRUCTIONS_MAX (256u * 1024)

struct gw_result { /* how a result is translated between the eras */
    enum mcp_era to, from;
    str method;
};
void gw_write_result(struct json_writer *w, const struct gw_result *how, const struct json *result);
void gw_write_envelope(struct json_writer *w, const struct json *id); /* {"jsonrpc","id" - open */
void gw_write_server_info(struct json_writer *w);
/* Writes the members of an object into the one that is open, except one key (or NULL). Writes
 * nothing for other values. */
void gw_write_members(struct json_writer *w, const struct json *object, const char *except);
/* {"jsonrpc","id","result":{ - open, in the scratch buffer; for gw_request_send. */
void gw_write_begin(struct json_writer *w, struct gw_request *q);
/* writes "_meta" of a result of the gateway itself */
void gw_write_own_meta(struct json_writer *w);
/* Writes "instructions" of the one source, or of all sources that the caller may use. */
void gw_write_instructions(struct json_writer *w, const struct gw_request *q);
void gw_write_capabilities(struct json_writer *w, const struct gw_request *q);
/* Writes the members that a list result has besides its items, and ends the message. */
void gw_write_list_end(struct json_writer *w, const struct gw_request *q, uint64_t ttl_ms);
void gw_write_tool(struct json_writer *w, const struct gw_request *q, const struct json *raw,
                   str name);
