/* session_impl.h - the two kinds of session behind session.h: they differ in how a message is sent.
 * Everything that is asked and answered goes through the client. */
#pragma once

#include "cli/session/client.h"
#include "cli/session/session.h"
#include "workspace/dir_grant.h"

struct session_input { /* a message, or the answer to a question */
    str text, ask_id;
    const struct json *decisions;
};

struct session_ops {
    void (*send)(struct chat_session *s, const struct session_input *in);
    void (*answer_input)(struct chat_session *s, str input_id, const char *action,
                         const struct json *content);
    void (*cancel)(struct chat_session *s);
    void (*close)(struct chat_session *s); /* what it has beyond the base */
};

struct chat_session { /* first member of both implementations */
    const struct session_ops *ops;
    struct loop *loop;
    struct config *config;
    struct client *client; /* of the running server, or of the one in this process */
    struct arena arena;    /* as long as the session */
    str model, conversation_id;
    struct dir_grant directory; /* the current directory, unless commands cannot run there */
    str no_directory;           /* why they cannot */
    struct json_strs allow;     /* globs; borrowed */
    bool is_unattended;
    const struct session_events *ev; /* of the message in progress */
    void *ctx;
};

/* Zeroed, except for ops; session_open fills the base. */
struct chat_session *session_new_local(void);
struct chat_session *session_new_remote(void);

/* Passes an event of a chat stream to the listener; true when it was the last one. */
bool session_dispatch(struct chat_session *s, str event, str data);
/* The same for an error that is not an event of the stream. */
void session_error(struct chat_session *s, str code, str message);
