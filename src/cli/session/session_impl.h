/* session_impl.h - the two kinds of session behind session.h. */
#pragma once

#include "cli/session/session.h"
#include "workspace/dir_grant.h"

#define SESSION_HISTORY_EVENTS 200 /* at the end of the log, searched for messages */

struct session_message {
    bool is_user;
    str text;
};

struct session_past { /* the last events of the log; lives in the arena it was asked with */
    struct session_message *messages;
    size_t n;
    const struct json *ask; /* {askId, calls}, or NULL */
};

struct session_input { /* a message, or the answer to a question */
    str text, ask_id;
    const struct json *decisions;
};

struct session_ops {
    int (*resume)(struct session *s, str id, struct err *e);
    int (*past)(struct session *s, struct arena *a, struct session_past *ret, struct err *e);
    void (*send)(struct session *s, const struct session_input *in);
    void (*answer_input)(struct session *s, str input_id, const char *action,
                         const struct json *content);
    void (*cancel)(struct session *s);
    void (*close)(struct session *s);
};

struct session { /* first member of the backends' own structs */
    const struct session_ops *ops;
    struct loop *loop;
    struct config *config;
    struct arena arena; /* as long as the session */
    str model, conversation_id;
    struct dir_grant directory; /* the current one, unless commands cannot run there */
    str no_directory;           /* why they cannot */
    struct json_strs allow;     /* globs; borrowed */
    bool is_unattended;
    const struct session_events *ev; /* of the message under way */
    void *ctx;
};

/* Finds out whether commands can run in the current directory; for session_open_*. */
void session_use_directory(struct session *s);
/* The conversation goes on with its own model, unless the command names one. */
void session_use_model(struct session *s, str model);

int session_open_local(struct loop *l, struct config *c, bool is_interactive, struct session **ret,
                       struct err *e);
/* -ECONNREFUSED or -ENOENT when nobody listens. */
int session_open_remote(struct loop *l, struct config *c, const char *socket_path,
                        struct session **ret, struct err *e);

/* Hands an SSE event of a chat stream to the listener; true when it was the last one. */
bool session_dispatch(struct session *s, str event, str data);
