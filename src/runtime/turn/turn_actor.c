/* turn_actor.c - the authors of a turn's messages, and the rights that they have in common.
 *
 * The model reads all messages of a conversation and may follow any of them. A run therefore has
 * the intersection of the rights of everybody who wrote one: a member cannot leave a sentence in
 * a shared conversation that later runs with an admin's rights. */
#include <assert.h>

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

static void join_author(struct turn *t, const struct replay_message *m)
{
    bool is_other = m->user_id.n > 0 && !turn_is_sole(t);
    if (is_other)
        turn_narrow(t, actor_join_author(t->actor, m->user_id, m->tool_limit));
    else if (m->tool_limit.items)
        turn_narrow(t, actor_narrow(t->actor, FILTER_TOKEN, m->tool_limit));
}

void turn_join_authors(struct turn *t)
{
    const struct replay *h = transcript_replay(t->transcript);
    for (size_t i = 0; i < h->n; i++)
        if (h->messages[i].role == REPLAY_USER)
            join_author(t, &h->messages[i]);
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
