/* queue.h - messages that wait because the agent is answering (whenBusy: queue or steer).
 *
 * A message that waits is a turn whose run has not begun. Who sent it may change or withdraw it
 * until it is taken; then it is a user.message of the log, which carries its queuedId. Each is
 * kept as a file of the workspace as well, so that a restart of the server does not lose it.
 * Watchers hear queue.added, queue.changed and queue.removed on the conversation's topic; these
 * are not in the log. Loop thread only. */
#pragma once

#include "runtime/queue_files.h"
#include "runtime/runtime.h"

/* [{queuedId, userId, displayName, mode, message, queuedAt}], the next one first. */
struct json *queue_json(const struct runtime *rt, str conversation_id, struct arena *a);

struct queue_ref {
    str conversation_id, queued_id;
    str sender;             /* user id of the person who sent it; empty = anybody */
    const struct actor *by; /* who changes it; for queue_edit */
};

/* Both return -ENOENT when no such message waits, and -EALREADY when it was taken. On success fn is
 * called when a restart would not undo it any more; *ret_op is for queue_files_forget until then.
 */

/* -EINVAL: such a message cannot be sent. -EPERM: the message would run with more rights than
 * the editor's token has. */
int queue_edit(struct runtime *rt, const struct queue_ref *which, str message, queue_files_fn fn,
               void *ctx, struct queue_file_op **ret_op, struct err *e);
/* by: whom the others are told of. */
int queue_withdraw(struct runtime *rt, const struct queue_ref *which, str by, queue_files_fn fn,
                   void *ctx, struct queue_file_op **ret_op, struct err *e);

/* What waited when the server ended waits again; reads the files. */
void queue_restore(struct runtime *rt);
/* What was restored is sent: the tools are there, or will not come. */
void queue_release(struct runtime *rt);
