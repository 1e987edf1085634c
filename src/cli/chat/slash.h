/* slash.h - the commands of the chat: /help, /new, /resume ...
 *
 * One table (slash.c) has their names, arguments, help and functions; completion and /help are made
 * from it. A function runs outside of callbacks and may run the loop; its text is printed with the
 * view's next drawing. */
#pragma once

#include "cli/chat/chat.h"
#include "cli/panel/picker.h"
#include "cli/panel/rows.h"
#include "cli/session/client.h"

struct slash {
    struct chat *chat;
    struct view *view;
    struct arena arena; /* of the command in progress, and of: */
    str message;        /* to be sent as if it had been typed; empty = none */
    str draft;          /* to be edited; empty = none */
    bool is_quitting;   /* /quit was given */
    /* Lets the person choose; false: nothing. */
    bool (*choose)(void *ctx, struct picker *p);
    void *choose_ctx;
};

extern const char *const SLASH_WORDS[]; /* the names of the commands, followed by NULL */

/* Runs the message if it is a command; false if it is not. May run the loop. */
bool slash_run(struct slash *s, str message);

/* ---- for the commands ---- */

/* A request to the API; NULL after saying why not. body NULL = none. */
struct json *slash_ask(struct slash *s, const char *method, str path, const struct json *body);
/* "/v1/conversations/ID" and the rest; empty after saying that there is no conversation yet. */
str slash_path(struct slash *s, const char *rest);
void slash_show(struct slash *s, struct rows *r, const char *empty); /* prints and frees them */
void slash_fail(struct slash *s, const struct err *e);
/* Continues this conversation, which a command has made or chosen. */
bool slash_go_to(struct slash *s, str id);

typedef void slash_fn(struct slash *s, str arg);

slash_fn slash_new, slash_resume, slash_fork, slash_rename, slash_delete, slash_share, slash_notes,
    slash_export, slash_compact;                                        /* slash_conv.c */
slash_fn slash_branch, slash_undo, slash_retry, slash_edit, slash_copy; /* slash_past.c */
slash_fn slash_model, slash_tools, slash_skills, slash_prompt, slash_context, slash_cost,
    slash_usage, slash_files, slash_bundles, slash_permissions; /* slash_show.c */
