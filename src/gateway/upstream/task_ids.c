#include "gateway/upstream/task_ids.h"

#include <assert.h>

#include "gateway/sign.h"

static str task_context(const struct gw_space *s, struct arena *a, str user_id)
{
    return arena_printf(a, "task\n%s\n%.*s", s->id, STR_ARG(user_id));
}

static str public_id(struct gw_space *s, struct arena *a, str user_id, str source, str id)
{
    str body = arena_printf(a, "%.*s/%.*s", STR_ARG(source), STR_ARG(id));
    return gw_sign_text(s->g, a, body, task_context(s, a, user_id));
}

bool gw_task_id_split(struct gw_space *s, struct arena *a, str user_id, str public, str *ret_source,
                      str *ret_id)
{
    return gw_sign_check(s->g, public, task_context(s, a, user_id), ret_id) &&
           str_split(ret_id, '/', ret_source);
}

/* ---- owners of tasks ---- */

/* needed because servers do not know our users: their lists contain the tasks of all users */
struct gw_task {
    struct list_node node;
    char *user_id, *source, *id;
};

static void task_free(struct gw_task *t)
{
    list_del(&t->node);
    free(t->user_id);
    free(t->source);
    free(t->id);
    free(t);
}

void gw_tasks_done(struct gw_space *s)
{
    LIST_FOREACH (n, &s->tasks)
        task_free(LIST_ENTRY(n, struct gw_task, node));
}

void gw_task_remember(struct gw_request *q, str source, str id)
{
    struct gw_space *s = q->space;
    struct gw_task *t = xcalloc(1, sizeof *t);
    t->user_id = str_dup(actor_user(q->actor));
    t->source = str_dup(source);
    t->id = str_dup(id);
    list_push(&s->tasks, &t->node);
    if (++s->ntasks <= GW_TASKS_MAX)
        return;
    s->ntasks--;
    assert(s->ntasks == GW_TASKS_MAX);
    task_free(LIST_ENTRY(s->tasks.next, struct gw_task, node));
}

bool gw_task_is_own(const struct gw_request *q, str source, str id)
{
    LIST_EACH (t, &q->space->tasks, const struct gw_task, node)
        if (str_eq(str_from(t->id), id) && str_eq(str_from(t->source), source))
            return str_eq(str_from(t->user_id), actor_user(q->actor));
    return false;
}

/* ---- ids in messages ---- */

void gw_task_id_replace(struct gw_space *s, struct arena *a, str user_id, str source,
                        struct json *task)
{
    str id = json_get_string(task, "taskId");
    if (id.n > 0)
        json_set(a, task, STR("taskId"), json_of_str(public_id(s, a, user_id, source, id)));
}

const struct json *gw_task_ids_rename(struct gw_space *s, struct arena *a, str user_id,
                                      struct bundle *b, const struct json *message)
{
    const struct json *related = json_get(json_get(message, "_meta"), META_RELATED_TASK);
    if (!json_get(message, "taskId") && !json_get(message, "task") && !related)
        return message;
    str source = bundle_entry(b)->server_name;
    struct json *copy = json_clone(a, message);
    gw_task_id_replace(s, a, user_id, source, copy);
    gw_task_id_replace(s, a, user_id, source, json_get(copy, "task"));
    gw_task_id_replace(s, a, user_id, source, json_get(json_get(copy, "_meta"), META_RELATED_TASK));
    return copy;
}

void gw_task_ids_restore(struct gw_space *s, struct arena *a, str user_id, struct json *message)
{
    struct json *meta = json_get(message, "_meta");
    struct json *related = json_get(meta, META_RELATED_TASK);
    str source, id;
    if (!related)
        return;
    if (gw_task_id_split(s, a, user_id, json_get_string(related, "taskId"), &source, &id))
        json_set(a, related, STR("taskId"), json_of_str(arena_str(a, id)));
    else
        json_unset(meta, META_RELATED_TASK); /* a task of another user */
}
