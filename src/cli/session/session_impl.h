/* session_impl.h - the two kinds of session behind session.h. */
#pragma once

#include "cli/session/session.h"
#include "workspace/dir_grant.h"

/* events at the end of the log that are searched for messages */
#define SESSION_HISTORY_EVENTS 200

struct session_message {
    bool is_user;
    str text;
};

struct session_past { /* the last events of the log; in the arena of the call */
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

struct session { /* first member of both implementations */
    const struct session_ops *ops;
    struct loop *loop;
    struct config *config;
    struct arena arena; /* as long as the session */
    str model, conversation_id;
    struct dir_grant directory; /* the current directory, unless commands cannot run there */
    str no_directory;           /* why they cannot */
    struct json_strs allow;     /* globs; borrowed */
    bool is_unattended;
    const struct session_events *ev; /* of the message in progress */
    void *ctx;
};

/* Checks whether commands can run in the current directory; for session_open_*. */
void session_use_directory(struct session *s);
/* The conversation continues with its own model, unless the command names one. */
void session_use_model(struct session *s, str model);

int session_open_local(struct loop *l, struct config *c, bool is_interactive, struct session **ret,
                       struct err *e);
/* -ECONNREFUSED or -ENOENT when no server listens. */
int session_open_remote(struct loop *l, struct config *c, const char *socket_path,
                        struct session **ret, struct err *e);

/* Passes an SSE event of a chat stream to the listener; true when it was the last one. */
bool session_dispatch(struct session *s, str event, str data);
