/* bash_answer.h - what the bash server writes: one message of JSON-RPC a line. Pure.
 *
 * An answer stays below what a client takes (RPC_MESSAGE_MAX), whatever a command printed. */
#pragma once

#include "bundle/bash/bash_run.h"
#include "mcp/protocol.h"
#include "mcp/transport/jsonrpc.h"

/* Bytes in JSON. Of both outputs together: what stdout leaves is stderr's, and that is at
 * least BASH_STDERR_MIN. */
#define BASH_ENCODED_MAX (14u * 1024 * 1024)
#define BASH_STDERR_MIN  (3u * 1024 * 1024)
#define BASH_TEXT_MAX    (256u * 1024) /* of both in the copy as text */

extern const char BASH_TOOLS[]; /* what tools/list says: an array */

struct bash_answer { /* one that is being written */
    struct buf bytes;
    struct json_writer w;
};

/* {"jsonrpc": "2.0", "id": ID, "result": {, and what every result of the modern era has. Members
 * follow, then bash_answer_end; who sends the bytes frees them. */
void bash_answer_begin(struct bash_answer *a, const struct json *id, bool is_modern);
void bash_answer_end(struct bash_answer *a);

void bash_answer_error(struct bash_answer *a, const struct json *id, int code, const char *message);
void bash_answer_version(struct bash_answer *a, const struct json *id, str asked);

void bash_answer_discover(struct bash_answer *a, const struct json *id);
void bash_answer_initialize(struct bash_answer *a, const struct json *id, str version);
void bash_answer_tools(struct bash_answer *a, const struct json *id, bool is_modern);
void bash_answer_failure(struct bash_answer *a, const struct json *id, bool is_modern,
                         const char *message);
void bash_answer_output(struct bash_answer *a, const struct json *id, bool is_modern,
                        const struct bash_run *r);
void bash_answer_progress(struct bash_answer *a, const struct json *token, int64_t seconds,
                          int64_t of_seconds, size_t bytes);
