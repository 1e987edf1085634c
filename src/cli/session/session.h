/* session.h - a chat from the terminal: through a server, or with one in this process.
 *
 * The server of --server does the work; else one that accepts connections on {workDir}/nb.sock, so
 * that terminal and page show the same conversations; otherwise the same struct server runs in this
 * process, without a listener. The caller cannot tell the difference. Loop thread only. */
#pragma once

#include "base/json/json_decode.h"
#include "cli/cli.h"
#include "workspace/dir_grant.h"

struct chat_session;

/* An event of the answer; d is its data, as in a stream of the API (docs/api.md). */
typedef void (*session_event_fn)(void *ctx, const struct json *d);

struct session_events {                    /* NULL = ignored */
    session_event_fn on_started;           /* {conversationId, runId, isNew} */
    session_event_fn on_text, on_thinking; /* {text} */
    session_event_fn on_model_done;        /* one answer of the model: {inputTokens, ...} */
    session_event_fn on_tool_preparing;    /* {id, name}: the model is writing the call */
    session_event_fn on_tool_start;        /* {id, name, input, directory?} */
    session_event_fn on_tool_progress;     /* {id, progress, total?, message?} */
    session_event_fn on_tool_done;         /* {id, name, ok, ms, output, resourceUri?} */
    session_event_fn on_retry;             /* {message} */
    /* Each of these under its name in the stream, before the function for it. */
    void (*on_event)(void *ctx, str name, const struct json *d);
    session_event_fn on_input;      /* a tool asks a question (form.h) */
    session_event_fn on_input_gone; /* {inputId}: answered or withdrawn */
    session_event_fn on_done;       /* the report; the last event, or: */
    session_event_fn on_error;      /* {error, message}; the last event */
};

/* Whether a server does the work: that of --server, or one that accepts connections on
 * {workDir}/nb.sock. */
bool session_is_served(struct config *c);

/* Probes the socket, blocking for a moment, unless is_here; then opens a local or a remote session.
 * A local one waits for bundles that start (own_server.h). */
int session_open(struct loop *l, struct config *c, bool is_here, bool is_interactive,
                 struct chat_session **ret, struct err *e);
/* The same without waiting for bundles. */
int session_open_now(struct loop *l, struct config *c, bool is_here, struct chat_session **ret,
                     struct err *e);
/* A further conversation through the same connection; closed before the first one. */
struct chat_session *session_beside(struct chat_session *first);
/* Cancels a local run and closes everything; runs the loop until that is done. */
void session_close(struct chat_session *s);

bool session_is_remote(const struct chat_session *s);        /* not in this process */
struct client *session_client(const struct chat_session *s); /* for other requests */
/* The current directory, if commands can run there; otherwise the message says why not. */
int session_find_directory(struct arena *a, const struct config *c, struct dir_grant *ret,
                           struct err *e);
/* Adds the directory to the body of a request as `workingDirectory`, for a running server that
 * accepts it. */
void session_add_directory(struct arena *a, struct config *c, struct json *body);
/* Lends this directory instead of the current one, also to a server in this process. When commands
 * cannot run there, session_directory says why; -EINVAL and others when there is no such
 * directory. */
int session_use_directory(struct chat_session *s, const char *path, struct err *e);
/* Where commands run: the current directory, which is sent with every message to a running server.
 * Empty: in a directory of nb, and *ret_why is the reason (a sentence). */
str session_directory(const struct chat_session *s, str *ret_why);
/* Where messages come from (`channel` of the API); NULL = the terminal. */
void session_set_channel(struct chat_session *s, const char *channel);
/* The model of the next messages, by its name; empty = that of the command line. */
void session_set_model(struct chat_session *s, str name);
str session_model(const struct chat_session *s);        /* the model that would answer */
str session_conversation(const struct chat_session *s); /* empty before the first message */
/* The address of the conversation on the page; empty = no server runs, or no conversation yet. */
str session_page_link(const struct chat_session *s, struct arena *a);

/* Continues a conversation. -ENOENT when there is none; "" means the latest one. Runs the loop
 * until the result is known. */
int session_resume(struct chat_session *s, str id, struct err *e);

/* The latest messages of the conversation that have text, oldest first. Runs the loop. */
typedef void (*session_message_fn)(void *ctx, bool is_user, str text);
int session_history(struct chat_session *s, size_t max, session_message_fn fn, void *ctx,
                    struct err *e);

/* The next message begins a new conversation. */
void session_forget(struct chat_session *s);
/* The older messages are summarised before the next one is answered. */
void session_compact(struct chat_session *s);

/* Tools that need no permission in this session (globs, borrowed), and whether no user can be
 * asked: then calls that need permission are refused. */
void session_set_permissions(struct chat_session *s, struct json_strs allow, bool is_unattended);

/* The open permission question of the conversation, as in a report: {askId, calls}; NULL = none. In
 * the arena. Runs the loop. */
const struct json *session_question(struct chat_session *s, struct arena *a);

/* One message at a time. */
/* Gives a file to the server, for the next message. Runs the loop until it has arrived. */
int session_attach(struct chat_session *s, const char *path, struct err *e);
int session_attach_bytes(struct chat_session *s, str name, str bytes, struct err *e);
void session_detach(struct chat_session *s); /* forgets the files for the next message */
/* The bytes of a part of a result; `address` as the part has it. Runs the loop. */
int session_fetch(struct chat_session *s, str address, size_t max, struct arena *a, str *ret,
                  struct err *e);
void session_send(struct chat_session *s, str text, const struct session_events *ev, void *ctx);
/* Instead of a message: the decisions on a permission question, {callId: true, false or
 * "always"}. */
void session_answer(struct chat_session *s, str ask_id, const struct json *decisions,
                    const struct session_events *ev, void *ctx);
/* The same, and what is allowed by it stays allowed for everybody in the workspace. */
void session_answer_for_all(struct chat_session *s, str ask_id, const struct json *decisions,
                            const struct session_events *ev, void *ctx);
/* Answers a tool's question while the message is in progress. content may be NULL. */
void session_answer_input(struct chat_session *s, str input_id, const char *action,
                          const struct json *content);
void session_cancel(struct chat_session *s); /* the end is still reported through the events */
