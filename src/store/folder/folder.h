/* folder.h - state files and process logs of the folder store, beside its conversations.
 *
 * Under the storage root:
 *   conversations/conversation-<utc>-<thread>/{chat.jsonl,notes.jsonl}, blobs/ when needed
 *   state/<name>.json         small structured state, replaced as a whole
 *   sessions/<utc>/system.log one log per process
 *   trash/                    deleted conversations, for TRASH_DAYS
 * Blocking; any thread. */
#pragma once

#include "base/json/json.h"

#define FOLDER_STATE_MAX (1024u * 1024)

/* Opens sessions/<utc-timestamp>/system.log for appending; the caller writes to the fd and
 * closes it. Two processes that start in the same millisecond get two directories. */
int folder_session_open(const char *root, int64_t now_ms, int *ret_fd, struct err *e);

/* state/<name>.json; a name is 1 to 64 of [a-z0-9_-]. Written to a temporary file, synced, renamed.
 */
int folder_state_write(const char *root, const char *name, const struct json *v, struct err *e);
