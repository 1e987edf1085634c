/* audited.c - the audit log and calls of built-in tools (workspace/deed.h). */
#include <assert.h>

#include "builtin/internal.h"

static struct doer doer_of(const struct builtin_call *c)
{
    const struct tool_caller *who = &c->call.who;
    return (struct doer){.actor = who->actor,
                         .via = who->run_id.n > 0 ? STR("run") : who->via,
                         .run_id = who->run_id,
                         .conversation_id = who->conversation_id};
}

const struct doer *builtin_doer(struct builtin_call *c)
{
    assert(!c->is_recorded && !c->call.is_probe); /* a probe does nothing that is recorded */
    struct doer *by = ARENA_NEW(&c->call.arena, struct doer);
    *by = doer_of(c);
    c->is_recorded = true;
    return by;
}

/* The target of a call: the argument that names it, or the conversation of the call. */
static str target_of(const struct builtin_call *c)
{
    static const char *const NAMES[] = {"conversationId", "id", "name"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (json_get_string(c->call.args, NAMES[i]).n > 0)
            return json_get_string(c->call.args, NAMES[i]);
    return c->call.who.conversation_id;
}

void builtin_record_refusal(struct builtin_call *c)
{
    struct audit *log = runtime_deps(c->builtin->deps.runtime)->audit;
    const char *action = c->action ? c->action->audited : c->tool->audited;
    assert(c->result.is_error && !c->is_recorded);
    if (!log || !action)
        return;
    struct doer by = doer_of(c);
    struct audit_entry e = doer_entry(&c->call.arena, &by);
    e.action = str_from(action);
    e.target = target_of(c);
    e.outcome = c->is_refused ? STR("denied") : STR("failed");
    audit_record(log, &e);
}
