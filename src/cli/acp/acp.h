/* acp.h - `nb acp`: the Agent Client Protocol, version 1, over stdin and stdout, for editors.
 *
 * The editor is the client: it starts nb, opens sessions and sends prompts; nb reports what happens
 * as session/update and asks for permission. A session is a conversation of nb through the same
 * door as the terminal chat (session/session.h): a running server, or one in this process.
 *
 *   acp.c             the command: input, order of work, the end
 *   acp_wire.c        messages to the editor, and its answers to requests of nb
 *   acp_methods.c     the table of methods; initialize, cancellation
 *   acp_sessions.c    session/new, load, resume, close
 *   acp_list.c        session/list, delete
 *   acp_options.c     modes and models of a session
 *   acp_prompt.c      session/prompt: from its blocks to its stop reason
 *   acp_commands.c    prompts that nb answers itself: /tools, /usage, /id
 *   acp_permission.c  questions about tool calls, and questions of tools
 *   acp_updates.c     events of a turn as session/update
 *   acp_replay.c      a log as session/update
 *   acp_blocks.h, acp_call.h, acp_catalog.h    parts without a connection
 *
 * Order of work: lines of the editor and events of turns arrive in callbacks of the loop. Callbacks
 * only write updates or remember what came, and set `wake`; acp_work() does the rest outside of
 * callbacks, because requests to the API run the loop (client.h). So handlers run one after the
 * other.
 *
 *   session   IDLE --session/prompt--> HELD --bundles run--> RUNNING --done--> IDLE, the prompt is
 *                                                            |  ^               answered
 *                                                stopReason  v  | every call is decided
 *                                                 waiting   ASKING --cancel--> IDLE
 */
#pragma once

#include "base/json/json.h"
#include "base/list.h"
#include "base/map.h"
#include "cli/acp/acp_call.h"
#include "cli/session/client.h"
#include "cli/session/session.h"
#include "cli/view/permit.h"
#include "loop/timer.h"
#include "mcp/protocol.h"
#include "mcp/transport/jsonrpc.h"

#define ACP_VERSION      1
#define ACP_SESSIONS_MAX 256
#define ACP_QUEUE_MAX    (2u * RPC_MESSAGE_MAX) /* bytes of lines that wait */
#define ACP_MESSAGE_MAX  (64u * 1024 * 1024)    /* of a message to the editor */

enum {
    ACP_NOT_FOUND = -32002, /* codes of the protocol beside those of JSON-RPC */
};

enum acp_mode { ACP_MODE_ASK, ACP_MODE_ALLOW, ACP_MODE_REFUSE, ACP_MODES };
enum acp_phase { ACP_IDLE, ACP_HELD, ACP_RUNNING, ACP_ASKING };

struct acp {
    struct config *config;
    struct loop *loop;
    struct chat_session *door; /* owns the connection; has no conversation */
    int (*send)(str line);     /* to the editor; negative: it is gone */

    bool is_initialized;
    bool can_notice, can_forms, can_urls; /* what the editor can do */
    struct map sessions;                  /* id -> struct acp_session */
    struct list_node asked;               /* requests of nb without an answer */
    int64_t last_id;                      /* of those requests */
    bool wake;
    bool is_over;   /* the editor sends no more messages; it may still read answers */
    bool is_unread; /* nor that */

    bool is_ready;        /* the bundles of a server in this process have started, or failed */
    uint64_t ready_by_ms; /* or will not */
    struct timer look;    /* while a prompt waits for them */
};

struct acp_session {
    struct acp *acp;
    struct arena arena; /* as long as the session */
    str id, cwd;
    struct chat_session *chat;
    enum acp_mode mode;
    str title;          /* as the editor knows it */
    bool is_catalogued; /* its conversation is in the catalogue */

    enum acp_phase phase;
    struct arena turn;           /* as long as a prompt: */
    const struct json *reply_to; /* id of the prompt */
    str text;                    /* of a prompt that is held */
    struct map calls;            /* id -> struct acp_call; those that the editor knows */
    struct json *inputs;         /* questions of tools that were not asked yet, or NULL */
    struct json *end;            /* the last event of the stream, until it is handled */
    bool is_error;               /* of `end` */
    struct permit permit;        /* while ASKING */
    bool is_for_all;             /* the permission is for everybody in the workspace */
    bool is_cancelled;
    int64_t used_tokens;           /* in the context, by the last answer of the model */
    const struct json *close_with; /* id of session/close, to answer when the prompt has ended */
};

/* ---- acp.c ---- */

void acp_line(struct acp *a, str line); /* one message of the editor */
void acp_work(struct acp *a);           /* all that has become due */
void acp_wake(struct acp *a);
/* The tools are there, or waiting for them is over; false: acp_work() is called again soon. */
bool acp_is_ready(struct acp *a);

/* ---- acp_wire.c ---- */

void acp_reply_empty(struct acp *a, const struct json *id);
/* id NULL: of a message that could not be read. */
void acp_error(struct acp *a, const struct json *id, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The code for an error of the API. */
void acp_api_error(struct acp *a, const struct json *id, const struct err *e);

/* A message that is being written: begin, members, send. */
struct acp_out {
    struct buf buf;
    struct json_writer w;
    struct arena arena; /* for its parts */
};
/* A result; members follow. */
struct json_writer *acp_result_begin(struct acp_out *o, const struct json *id);
/* session/update; members of the update follow. */
struct json_writer *acp_update_begin(struct acp_out *o, const struct acp_session *s,
                                     const char *kind);
void acp_send(struct acp *a, struct acp_out *o);
/* A piece of text: user_message_chunk and its kin. */
void acp_send_chunk(struct acp_session *s, const char *kind, str text, str message_id);
/* Tells the person something beside the answer, if the editor can show it. */
void acp_notice(struct acp_session *s, const char *severity, str title, str description);

/* A request to the editor. `result` is NULL when it failed; `what` is the caller's. */
typedef void (*acp_answer_fn)(struct acp_session *s, str what, const struct json *result);
struct json_writer *acp_ask_begin(struct acp_out *o, struct acp_session *s, const char *method,
                                  acp_answer_fn fn, str what);
void acp_take_answer(struct acp *a, const struct rpc_message *m);
/* Answers to requests of this session, or to the one about `what` (if not empty), are ignored. */
void acp_forget_asked(struct acp_session *s, str what);

/* ---- methods ---- */

typedef void (*acp_method_fn)(struct acp *a, const struct json *id, const struct json *params);

void acp_dispatch(struct acp *a, const struct rpc_message *m);
void acp_session_new(struct acp *a, const struct json *id, const struct json *params);
void acp_session_load(struct acp *a, const struct json *id, const struct json *params);
void acp_session_resume(struct acp *a, const struct json *id, const struct json *params);
void acp_session_close(struct acp *a, const struct json *id, const struct json *params);
void acp_session_list(struct acp *a, const struct json *id, const struct json *params);
void acp_session_delete(struct acp *a, const struct json *id, const struct json *params);
void acp_set_mode(struct acp *a, const struct json *id, const struct json *params);
void acp_set_option(struct acp *a, const struct json *id, const struct json *params);
void acp_prompt(struct acp *a, const struct json *id, const struct json *params);

/* The session that params name; NULL after an error was sent. */
struct acp_session *acp_session_of(struct acp *a, const struct json *id, const struct json *params);
void acp_session_free(struct acp_session *s);
/* The conversation of a session, of one that an editor opened before, or by its own id; empty:
 * none. In the arena. */
str acp_conversation_of(struct acp *a, struct arena *arena, str session);

/* ---- parts of a session ---- */

/* Members `modes` and `configOptions`. */
void acp_write_options(struct json_writer *w, struct acp_session *s);
void acp_use_mode(struct acp_session *s, enum acp_mode mode);
int64_t acp_context_tokens(struct acp_session *s); /* of its model; 0 = unknown */

void acp_send_commands(struct acp_session *s);
/* True: the text was a command, and was answered. */
bool acp_run_command(struct acp_session *s, str text);

int acp_replay(struct acp_session *s, struct err *e);

extern const struct session_events ACP_EVENTS; /* of a turn; ctx is the session */
/* Announces the call to the editor, or updates it. status: a ToolCallStatus. */
void acp_show_call(struct acp_session *s, const struct acp_call *c, const char *status);

void acp_cancel(struct acp_session *s);
/* Continues a prompt whose stream has ended, and asks questions that wait. */
void acp_advance(struct acp_session *s);
/* Begins with the questions of a run that waits; then one after the other. */
void acp_ask_permission(struct acp_session *s, const struct json *ask);
void acp_ask_inputs(struct acp_session *s);
/* After the last decision. */
void acp_permission_complete(struct acp_session *s);
