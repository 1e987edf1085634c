/* actor_rights.c - what an actor may do now: roles, scopes, conversations. Every question is asked
 * of the people and workspaces as they are at that moment. */
#include "workspace/actor.h"
#include "workspace/roster/directory.h"

struct json_strs actor_token_limit(const struct actor *a)
{
    for (size_t i = 0; i < a->nfilters; i++)
        if (a->filters[i].kind == FILTER_TOKEN)
            return a->filters[i].globs;
    return (struct json_strs){0};
}

/* The author of a stored message may have left since: the message stays, its author has no role. */
static enum ws_role role_now(const struct actor *a, const struct principal *p)
{
    if (p->is_operator)
        return WS_ADMIN;
    if (!a->directory || a->workspace_id.n == 0)
        return WS_MEMBER;
    enum ws_role role = directory_role(a->directory, a->workspace_id, p->user_id);
    return role == WS_NONE && p->how == AUTH_BY_LOG ? WS_MEMBER : role;
}

static enum org_role org_role_now(const struct actor *a, const struct principal *p)
{
    const struct roster *r = a->directory ? directory_roster(a->directory) : NULL;
    const struct user *u = r && !p->is_operator ? roster_user(r, p->user_id) : NULL;
    return p->is_operator ? ORG_OWNER : u ? u->role : ORG_MEMBER;
}

/* Does the person still exist, and is the token still valid? */
static bool is_known_now(const struct actor *a, const struct principal *p)
{
    if (p->is_operator || p->how == AUTH_BY_LOG || !a->directory)
        return true;
    const struct user *u = roster_user(directory_roster(a->directory), p->user_id);
    if (p->token_id.n == 0)
        return u != NULL;
    for (size_t i = 0; u && i < u->ntokens; i++)
        if (str_eq(u->tokens[i].id, p->token_id))
            return true;
    return false;
}

static bool is_here_now(const struct actor *a, const struct principal *p)
{
    return role_now(a, p) != WS_NONE && is_known_now(a, p);
}

bool actor_is_current(const struct actor *a, int64_t now_ms)
{
    for (size_t i = 0; i < a->npeople; i++) {
        const struct principal *p = &a->people[i];
        bool has_ended = p->how == AUTH_BY_TOKEN && p->expires_ms > 0 && now_ms >= p->expires_ms;
        if (has_ended || !is_here_now(a, p))
            return false;
    }
    return true;
}

enum ws_role actor_role(const struct actor *a)
{
    enum ws_role least = a->is_overfull ? WS_NONE : WS_ADMIN;
    for (size_t i = 0; i < a->npeople; i++) {
        enum ws_role role = role_now(a, &a->people[i]);
        least = role < least ? role : least;
    }
    return least;
}

enum org_role actor_org_role(const struct actor *a)
{
    enum org_role least = a->is_overfull ? ORG_MEMBER : ORG_OWNER;
    for (size_t i = 0; i < a->npeople; i++) {
        enum org_role role = org_role_now(a, &a->people[i]);
        least = role < least ? role : least;
    }
    return least;
}

bool actor_is_admin(const struct actor *a)
{
    return actor_role(a) == WS_ADMIN;
}

bool actor_is_owner(const struct actor *a)
{
    return actor_org_role(a) == ORG_OWNER;
}

bool actor_is_operator(const struct actor *a)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (!a->people[i].is_operator)
            return false;
    return !a->is_overfull;
}

uint64_t actor_generation(const struct actor *a)
{
    return a->directory ? directory_generation(a->directory) : 0;
}

bool actor_has_scope(const struct actor *a, enum auth_scope scope)
{
    for (size_t i = 0; i < a->npeople; i++)
        if ((a->people[i].scopes & (unsigned)scope) != (unsigned)scope)
            return false;
    return true;
}

bool actor_is_narrowed(const struct actor *a)
{
    return a->nfilters > 0 || a->is_overfull;
}

bool actor_has_user(const struct actor *a, str user_id)
{
    for (size_t i = 0; i < a->npeople; i++)
        if (str_eq(a->people[i].user_id, user_id))
            return true;
    return false;
}

bool actor_has_token(const struct actor *a, str token_id)
{
    for (size_t i = 0; token_id.n > 0 && i < a->npeople; i++)
        if (str_eq(a->people[i].token_id, token_id))
            return true;
    return false;
}

bool actor_has_session(const struct actor *a, str session_id)
{
    for (size_t i = 0; session_id.n > 0 && i < a->npeople; i++)
        if (str_eq(a->people[i].session_id, session_id))
            return true;
    return false;
}

static struct viewer viewer_now(const struct actor *a, const struct principal *p)
{
    enum ws_role role = role_now(a, p);
    return (struct viewer){
        .user_id = p->user_id,
        .is_workspace_admin = role == WS_ADMIN,
        .is_gone = a->is_overfull || role == WS_NONE || !is_known_now(a, p),
    };
}

const struct viewer *actor_viewer(const struct actor *a, struct arena *arena)
{
    struct viewer *v = arena_array(arena, a->npeople, sizeof *v);
    for (size_t i = 0; i < a->npeople; i++) {
        v[i] = viewer_now(a, &a->people[i]);
        v[i].also = i + 1 < a->npeople ? &v[i + 1] : NULL;
    }
    return v;
}

const struct viewer *actor_query_viewer(const struct actor *a, struct arena *arena)
{
    return actor_is_operator(a) ? NULL : actor_viewer(a, arena);
}

bool actor_allows(const struct actor *a, const struct conv_acl *acl, enum conv_right right)
{
    for (size_t i = 0; i < a->npeople; i++) {
        struct viewer v = viewer_now(a, &a->people[i]);
        if (!access_allows(&v, acl, right))
            return false;
    }
    return !a->is_overfull;
}

bool actor_first_allows(const struct actor *a, const struct conv_acl *acl, enum conv_right right)
{
    struct viewer v = viewer_now(a, &a->people[0]);
    return !a->is_overfull && access_allows(&v, acl, right);
}

bool actor_covers_grant(const struct actor *a, const struct actor *b)
{
    return b->grant.path.n == 0 || actor_is_operator(a);
}

str actor_sole_user(const struct actor *a)
{
    for (size_t i = 1; i < a->npeople; i++)
        if (!str_eq(a->people[i].user_id, a->people[0].user_id))
            return STR_NONE;
    return a->is_overfull ? STR_NONE : a->people[0].user_id;
}
