/* session_impl.h - the two kinds of session behind session.h. */
#pragma once

#include "cli/session.h"

#define SESSION_HISTORY_EVENTS 200 /* at the end of the log, searched for messages */

struct session_message {
    bool is_user;
    str text;
};

struct session_ops {
    int (*resume)(struct session *s, str id, struct err *e);
    /* All messages in the last events of the log; they live in the arena. */
    int (*history)(struct session *s, struct arena *a, struct session_message **ret, size_t *ret_n,
                   struct err *e);
    void (*send)(struct session *s, str text);
    void (*cancel)(struct session *s);
    void (*close)(struct session *s);
};

struct session { /* first member of the backends' own structs */
    const struct session_ops *ops;
    struct loop *loop;
    struct config *config;
    struct arena arena; /* as long as the session */
    str model, conversation_id;
    const struct session_events *ev; /* of the message under way */
    void *ctx;
};

int session_open_local(struct loop *l, struct config *c, struct session **ret, struct err *e);
/* -ECONNREFUSED or -ENOENT when nobody listens. */
int session_open_remote(struct loop *l, struct config *c, const char *socket_path,
                        struct session **ret, struct err *e);

/* Hands an SSE event of a chat stream to the listener; true when it was the last one. */
bool session_dispatch(struct session *s, str event, str data);
