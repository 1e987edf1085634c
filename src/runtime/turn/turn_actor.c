/* turn_actor.c - the authors of a turn's messages, and the rights that they have in common.
 *
 * The model reads all messages of a conversation and may follow any of them. A run therefore has
 * the intersection of the rights of everybody who wrote one: a member cannot leave a sentence in
 * a shared conversation that later runs with an admin's rights. */
#include <assert.h>

#include "engine/events.h"
#include "runtime/turn/turn.h"
#include "workspace/roster/directory.h"

void turn_narrow(struct turn *t, struct actor *narrower)
{
    struct actor *old = t->actor;
    assert(narrower && narrower->npeople > 0);
    t->actor = narrower;
    actor_unref(old);
}

/* With a sole user there are no other authors; imported logs name people who have no account. */
bool turn_is_sole(const struct turn *t)
{
    const struct directory *d = t->rt->deps.directory;
    return !d || directory_roster(d)->is_sole;
}

void turn_join_authors(struct turn *t)
{
    const struct past *p = &transcript_replay(t->transcript)->past;
    for (size_t i = 0; i < p->people.len && !turn_is_sole(t); i++)
        turn_narrow(t, actor_join_author(t->actor, p->people.items[i], (struct json_strs){0}));
    for (size_t i = 0; i < p->others.len && !turn_is_sole(t); i++)
        turn_narrow(t, actor_join_author(t->actor, p->others.items[i], (struct json_strs){0}));
    for (size_t i = 0; i < p->nlimits; i++)
        turn_narrow(t, actor_narrow(t->actor, FILTER_TOKEN, p->limits[i]));
}

void turn_add_author(struct turn *t, str user_id, struct json_strs tool_limit)
{
    struct event_author by = {str_from(t->run_id), user_id, tool_limit, {0}};
    struct actor *both = turn_is_sole(t) ? actor_narrow(t->actor, FILTER_TOKEN, tool_limit)
                                         : actor_join_author(t->actor, user_id, tool_limit);
    bool is_known = both == t->actor;
    turn_narrow(t, both);
    if (!is_known)
        turn_record(t, event_run_author(&t->arena, &by));
}

bool turn_project(const struct turn *t, struct conv_project *ret)
{
    struct projects *all = t->rt->deps.projects;
    str wanted = t->msg->req.project_id;
    str listed = t->branch_of.n > 0 ? t->branch_of : t->conversation_id;
    bool is_there =
        projects_of(all, listed, ret) || (wanted.n > 0 && projects_find(all, wanted, ret));
    return is_there && project_is_seen_by(ret, t->actor);
}

/* What admins say is in every run anyway, as the instructions of the workspace. Words of
 * somebody who is not a member any more are left out (project_author_counts). Text that the
 * model reads stays in the log, in results and answers, when the file or the conversation leaves
 * the project: so its author stays there too, with the message (past.h). */
static void join_member(struct turn *t, const struct workspace *ws, str author)
{
    if (!ws || workspace_role(ws, author) != WS_MEMBER || actor_has_user(t->actor, author))
        return;
    turn_narrow(t, actor_join_author(t->actor, author, (struct json_strs){0}));
    ARENA_GROW(&t->arena, t->words_of.items, t->words_of.len, t->words_cap);
    t->words_of.items[t->words_of.len++] = arena_str(&t->arena, author);
}

/* Those whose instructions and files the model gets, or can read. */
void turn_join_project(struct turn *t)
{
    struct conv_project p;
    const struct directory *d = t->rt->deps.directory;
    if (turn_is_sole(t) || !turn_project(t, &p))
        return;
    const struct workspace *ws = roster_workspace(directory_roster(d), t->rt->deps.workspace_id);
    if (p.instructions.n > 0)
        join_member(t, ws, p.instructions_by);
    for (size_t i = 0; i < project_file_count(&p); i++)
        join_member(t, ws, project_file_at(&p, i).by);
}

bool turn_has_others(const struct turn *t)
{
    for (size_t i = 1; i < t->actor->npeople; i++)
        if (!str_eq(t->actor->people[i].user_id, actor_user(t->actor)))
            return true;
    return false;
}

struct actor *turn_actor(void *tool_host)
{
    const struct turn *t = tool_host;
    return t->actor;
}
