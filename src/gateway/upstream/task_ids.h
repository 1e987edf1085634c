/* task_ids.h - ids and owners of tasks: calls that continue after their response.
 *
 * A task is stored by the server that runs it. Clients get an id of the gateway, which names the
 * server and is signed for the caller: "<mac>.<source>/<id>". So a user cannot access the task of
 * another user, and the gateway needs no table to find the task again. It keeps the owners of the
 * last GW_TASKS_MAX tasks for tasks/list only, because a server lists the tasks of all users. */
#pragma once

#include "gateway/request.h"

#define GW_TASKS_MAX 1000 /* per workspace: tasks whose owner is known */

/* Splits an id of the gateway into the server and the id that the server uses. False: the id was
 * not made for this user. */
bool gw_task_id_split(struct gw_space *s, struct arena *a, str user_id, str public, str *ret_source,
                      str *ret_id);
/* Replaces the taskId of one object, in place. */
void gw_task_id_replace(struct gw_space *s, struct arena *a, str user_id, str source,
                        struct json *task);
/* Replaces the task ids in a bundle's message to this user, in every place where the eras put them:
 * flat, in `task`, in related-task. Returns the message itself, or a copy in the arena. */
const struct json *gw_task_ids_rename(struct gw_space *s, struct arena *a, str user_id,
                                      struct bundle *b, const struct json *message);
/* The opposite direction, in place: restores the server's task id in related-task, or removes the
 * member when the task does not belong to this user. */
void gw_task_ids_restore(struct gw_space *s, struct arena *a, str user_id, struct json *message);

void gw_task_remember(struct gw_request *q, str source, str id);
bool gw_task_is_own(const struct gw_request *q, str source, str id);
void gw_tasks_done(struct gw_space *s);
