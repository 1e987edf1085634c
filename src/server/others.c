#include "server/others.h"

#include "api/live/hub.h"
#include "runtime/others/question_remote.h"
#include "runtime/queue/queue.h"
#include "store/postgres/database.h"

static struct runtime *runtime_of(struct others *o, str workspace_id, bool may_open)
{
    struct err e = {0};
    struct open_workspace *sp = open_workspaces_find(o->workspaces, workspace_id);
    if (!sp && may_open && roster_workspace(directory_roster(o->directory), workspace_id))
        sp = open_workspaces_open(o->workspaces, workspace_id, &e);
    return sp ? sp->api.runtime : NULL;
}

static void on_abandoned(void *ctx, str workspace_id, str conversation_id)
{
    struct runtime *rt = runtime_of(ctx, workspace_id, true);
    if (rt)
        runtime_take_over(rt, conversation_id);
}

static void on_orphans(void *ctx, str workspace_id)
{
    struct runtime *rt = runtime_of(ctx, workspace_id, true);
    if (rt)
        runtime_adopt_queue(rt);
}

static void on_order(void *ctx, str workspace_id, str conversation_id, str order)
{
    struct others *o = ctx;
    struct runtime *rt = runtime_of(o, workspace_id, false);
    if (!rt)
        return;
    if (str_eq(order, STR("progress"))) {
        hub_forward_presence(o->api, workspace_id, conversation_id);
        queue_forward(rt, conversation_id);
        runtime_forward_progress(rt, conversation_id);
    } else if (str_eq(order, STR("removed"))) {
        runtime_drop_conversation(rt, conversation_id);
    } else if (str_eq(order, STR("cancel")) && runtime_active_run(rt, conversation_id).n > 0) {
        (void)runtime_cancel(rt, conversation_id);
    }
}

static void on_person(void *ctx, str workspace_id, str user_id, str type, str data)
{
    struct others *o = ctx;
    struct open_workspace *sp = open_workspaces_find(o->workspaces, workspace_id);
    if (sp)
        hub_tell_user(hub_of(o->api, &sp->api), user_id, type, data);
}

static void on_ask(void *ctx, str workspace_id, str conversation_id, str ask_id,
                   const struct json *question)
{
    struct runtime *rt = runtime_of(ctx, workspace_id, false);
    if (!rt)
        return;
    queue_asked(rt, conversation_id, ask_id, question); /* each knows its own questions */
    tool_question_asked(rt, conversation_id, ask_id, question);
}

void others_know(struct others *o, struct database *db, const char *address)
{
    static const struct replica_events EVENTS = {.on_abandoned = on_abandoned,
                                                 .on_orphans = on_orphans,
                                                 .on_order = on_order,
                                                 .on_ask = on_ask,
                                                 .on_person = on_person};
    database_on_others(db, &EVENTS, o, address);
}

void others_forget(struct database *db)
{
    database_on_others(db, &(struct replica_events){0}, NULL, "");
}
