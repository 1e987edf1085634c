/* session_impl.h - the parts of session.h: session_send.c sends, session.c does the rest. */
#pragma once

#include "cli/session/client.h"
#include "cli/session/session.h"
#include "net/sse_parse.h"

struct session_input { /* a message, or the answer to a question */
    str text, ask_id;
    const struct json *decisions;
    bool is_for_all; /* what is allowed stays allowed in the workspace */
};

struct chat_session {
    struct loop *loop;
    struct config *config;
    struct client *client; /* of the running server, or of the one in this process */
    bool is_beside;        /* the client belongs to another session */
    struct arena arena;    /* as long as the session */
    str model, conversation_id;
    str named_model;            /* of this session, or that of the command line */
    const char *channel;        /* NULL = the terminal */
    str page_url;               /* of the running server; empty = no page */
    struct dir_grant directory; /* the current directory, unless commands cannot run there */
    str no_directory;           /* why they cannot */
    bool lends_always;          /* the directory is not that of this process */
    struct json_strs allow;     /* globs; borrowed */
    struct json *files;         /* ids for the next message, or NULL */
    bool is_unattended;
    bool wants_summary;              /* with the next message */
    const struct session_events *ev; /* of the message in progress: */
    void *ctx;
    struct client_call *chat;
    struct sse_parser sse;
    struct buf error_body;
    int status;
    bool is_finished;        /* the last event of the stream was received */
    bool is_cancelling;      /* its cancellation was requested */
    bool was_cut;            /* the answer before may still be in progress, or wait for its end */
    struct list_node posted; /* requests beside the chat */
};

struct chat_session *session_new(void);    /* session_open fills in the rest */
void session_drop(struct chat_session *s); /* all requests in progress */

void session_post(struct chat_session *s, const struct session_input *in);
/* The body of that request. */
str session_body(struct chat_session *s, struct buf *b, const struct session_input *in);

/* Passes an event of a chat stream to the listener; true when it was the last one. */
bool session_dispatch(struct chat_session *s, str event, str data);
/* The same for an error that is not an event of the stream. */
void session_error(struct chat_session *s, str code, str message);
