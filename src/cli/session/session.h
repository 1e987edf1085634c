/* session.h - a chat from the terminal: through a running server, or with one of our own.
 *
 * When a server answers on {workDir}/nb.sock it does the work, so that terminal and page
 * show the same conversations; otherwise the same struct server is built in this process,
 * without a listener. The caller cannot tell the difference. Loop thread only. */
#pragma once

#include "base/json/json_decode.h"
#include "cli/cli.h"
#include "workspace/dir_grant.h"

struct session;

struct session_events {
    void (*on_started)(void *ctx, str conversation_id);
    void (*on_text)(void *ctx, str delta);
    void (*on_thinking)(void *ctx, str delta);
    /* directory: of a terminal, where its commands run; or empty */
    void (*on_tool_start)(void *ctx, str id, str name, const struct json *input, str directory);
    void (*on_tool_done)(void *ctx, str id, str name, bool ok, int64_t ms, str output);
    void (*on_retry)(void *ctx, str message);
    void (*on_input)(void *ctx, const struct json *question); /* a tool asks (form.h); or NULL */
    void (*on_input_gone)(void *ctx, str input_id);           /* answered or withdrawn; or NULL */
    void (*on_done)(void *ctx, const struct json *report);    /* last call, or: */
    void (*on_error)(void *ctx, str code, str message);       /* last call */
};

/* Whether a server accepts connections on {workDir}/nb.sock. */
bool session_is_served(struct config *c);

/* Probes the socket, blocking for a moment; then local or remote. A local one waits for bundles
 * that start (await_bundles.h). */
int session_open(struct loop *l, struct config *c, bool is_interactive, struct session **ret,
                 struct err *e);
/* Cancels a local run, closes everything; runs the loop until that is done. */
void session_close(struct session *s);

bool session_is_remote(const struct session *s);
/* The current directory, if commands can run there. Otherwise the message says why not. */
int session_find_directory(struct arena *a, const struct config *c, struct dir_grant *ret,
                           struct err *e);
/* Adds it to the body of a request as `workingDirectory`, when a server runs that takes it. */
void session_add_directory(struct arena *a, struct config *c, struct json *body);
/* Where commands run: the current directory, which is sent with every message to a running server.
 * Empty: in a directory of nb's own, and *ret_why is the reason (a sentence). */
str session_directory(const struct session *s, str *ret_why);
str session_model(const struct session *s);        /* what would answer */
str session_conversation(const struct session *s); /* empty before the first message */

/* Go on with a conversation. -ENOENT when there is none; "" means the latest one. Runs the
 * loop until it is known. ret_title may be empty. */
int session_resume(struct session *s, str id, struct err *e);

/* The latest messages of the conversation that have text, oldest first. Runs the loop. */
typedef void (*session_message_fn)(void *ctx, bool is_user, str text);
int session_history(struct session *s, size_t max, session_message_fn fn, void *ctx, struct err *e);

/* The next message begins a new conversation. */
void session_forget(struct session *s);

/* Tools that need no permission in this session (globs, borrowed), and whether there is
 * nobody to ask: then calls that would ask are refused. */
void session_set_permissions(struct session *s, struct json_strs allow, bool is_unattended);

/* The question that the conversation waits with, as in a report: {askId, calls}; NULL = none.
 * It lives in the arena. Runs the loop. */
const struct json *session_question(struct session *s, struct arena *a);

/* One message at a time. */
void session_send(struct session *s, str text, const struct session_events *ev, void *ctx);
/* Instead of a message: the decisions on a question, {callId: true, false or "always"}. */
void session_answer(struct session *s, str ask_id, const struct json *decisions,
                    const struct session_events *ev, void *ctx);
/* The answer to a tool's question while the message is under way. content may be NULL. */
void session_answer_input(struct session *s, str input_id, const char *action,
                          const struct json *content);
void session_cancel(struct session *s); /* the end still comes through the events */
