/* bash_answer.h - the messages of the bash server: one JSON-RPC message per line. Pure.
 *
 * An answer stays below the limit of a client (RPC_MESSAGE_MAX), whatever a command printed. */
#pragma once

#include "bundle/bash/bash_run.h"
#include "mcp/protocol.h"
#include "mcp/transport/jsonrpc.h"

/* Limit in JSON bytes of both outputs together: stderr gets what stdout leaves, and at least
 * BASH_STDERR_MIN. */
#define BASH_ENCODED_MAX (14u * 1024 * 1024)
#define BASH_STDERR_MIN  (3u * 1024 * 1024)
#define BASH_TEXT_MAX    (256u * 1024) /* for both outputs in the copy as text */

extern const char BASH_TOOLS[]; /* the result of tools/list: an array */

struct bash_answer { /* an answer that is being written */
    struct buf bytes;
    struct json_writer w;
};

/* Writes {"jsonrpc": "2.0", "id": ID, "result": {, and the members of every modern result. More
 * members follow, then bash_answer_end; the sender frees the bytes. */
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
