/* queue.h - messages that are queued because the agent is answering (whenBusy: queue or steer).
 *
 * A queued message is a message without a turn. Its sender may edit or withdraw it until the
 * agent takes it; then the log has it as a user.message with its queuedId. Each queued message is
 * also a file of the workspace, so that a restart of the server does not lose it. Watchers receive
 * queue.added, queue.changed and queue.removed on the conversation's topic; these events are not
 * in the log. turn.h has the states. Loop thread only. */
#pragma once

#include "runtime/others/ask.h"
#include "runtime/queue_files.h"
#include "runtime/runtime.h"

/* [{queuedId, userId, displayName, mode, message, queuedAt}], the next one first. */
struct json *queue_json(const struct runtime *rt, str conversation_id, struct arena *a);

/* With those that other servers have (store_read_queue), in the order of their times. */
struct json *queue_json_with(const struct runtime *rt, str conversation_id,
                             const struct json_strs *documents, struct arena *a);

struct queue_ref {
    str conversation_id, queued_id;
    str sender;             /* user id of the person who sent it; empty = anybody */
    const struct actor *by; /* the editor; for queue_edit */
};

/* Both return -ENOENT when no such message is queued, and -EALREADY when the agent has taken it. On
 * success fn is called when the change is durable; *ret_op is for queue_files_forget until then. */

/* -EINVAL: such a message cannot be sent. -EPERM: the message would run with more rights than
 * the editor's token has. */
int queue_edit(struct runtime *rt, const struct queue_ref *which, str message, queue_files_fn fn,
               void *ctx, struct queue_file_op **ret_op, struct err *e);
/* by: user id for the queue.removed event. */
int queue_withdraw(struct runtime *rt, const struct queue_ref *which, str by, queue_files_fn fn,
                   void *ctx, struct queue_file_op **ret_op, struct err *e);

/* The same for a message that another server has. -ENOENT and -EALREADY as above, -ETIMEDOUT: no
 * server has it. */
struct others_ask *queue_edit_elsewhere(struct runtime *rt, const struct queue_ref *which,
                                        str message, others_fn fn, void *ctx);
struct others_ask *queue_withdraw_elsewhere(struct runtime *rt, const struct queue_ref *which,
                                            str by, others_fn fn, void *ctx);
/* A question of another server; answered if this server has what it is about. */
void queue_asked(struct runtime *rt, str conversation_id, str ask_id, const struct json *question);
/* Tells streams of other servers which messages are queued here. */
void queue_forward(const struct runtime *rt, str conversation_id);

/* Reads the files: messages that were queued when the server ended are queued again. */
void queue_restore(struct runtime *rt);
/* Sends the restored messages: the tools are available, or will not become so. */
void queue_release(struct runtime *rt);
