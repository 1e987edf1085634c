#include "workspace/roster/directory.h"

struct teller {
    const struct roster *before, *after;
    roster_diff_fn fn;
    void *ctx;
};

static void tell_item(const struct teller *t, enum directory_news news, str user_id,
                      str workspace_id, str token_id)
{
    struct directory_item item = {news, user_id, workspace_id, token_id};
    t->fn(t->ctx, &item);
}

static void tell_user(const struct teller *t, enum directory_news news, const struct user *u)
{
    tell_item(t, news, u->id, STR_NONE, STR_NONE);
}

static void tell_workspace(const struct teller *t, enum directory_news news,
                           const struct workspace *w)
{
    tell_item(t, news, STR_NONE, w->id, STR_NONE);
}

/* ---- losses ---- */

static void tell_lost_members(const struct teller *t, const struct workspace *old)
{
    const struct workspace *now = roster_workspace(t->after, old->id);
    for (size_t i = 0; i < old->nmembers; i++) {
        const struct member *m = &old->members[i];
        enum ws_role role = now ? workspace_role(now, m->user->id) : WS_NONE;
        if (role == WS_NONE)
            tell_item(t, NEWS_MEMBER_LEFT, m->user->id, old->id, STR_NONE);
        else if (role != m->role)
            tell_item(t, NEWS_MEMBER_ROLE, m->user->id, old->id, STR_NONE);
    }
}

static void tell_lost_tokens(const struct teller *t, const struct user *old)
{
    for (size_t i = 0; i < old->ntokens; i++)
        if (!roster_token(t->after, old->tokens[i].hash))
            tell_item(t, NEWS_TOKEN_REVOKED, old->id, STR_NONE, old->tokens[i].id);
}

static void tell_lost_user(const struct teller *t, const struct user *old)
{
    const struct user *now = roster_user(t->after, old->id);
    tell_lost_tokens(t, old);
    if (!now || now->sessions_from_ms > old->sessions_from_ms)
        tell_user(t, NEWS_USER_SIGNED_OUT, old);
    if (!now)
        tell_user(t, NEWS_USER_REMOVED, old);
}

/* ---- changes and gains ---- */

static void tell_user_now(const struct teller *t, const struct user *now)
{
    const struct user *old = roster_user(t->before, now->id);
    if (!old) {
        tell_user(t, NEWS_USER_ADDED, now);
        return;
    }
    if (old->role != now->role)
        tell_user(t, NEWS_USER_ROLE, now);
    if (!json_equal(old->profile, now->profile))
        tell_user(t, NEWS_USER_CHANGED, now);
}

static bool differs(const struct json *a, const struct json *b)
{
    return a && b ? !json_equal(a, b) : a != b;
}

static bool has_changed(const struct workspace *a, const struct workspace *b)
{
    return !str_eq(a->name, b->name) || differs(a->bundles, b->bundles) ||
           differs(a->skill_dirs, b->skill_dirs) || differs(a->agents, b->agents) ||
           differs(a->models, b->models) || differs(a->identity, b->identity) ||
           differs(a->permissions, b->permissions);
}

static void tell_workspace_now(const struct teller *t, const struct workspace *now)
{
    const struct workspace *old = roster_workspace(t->before, now->id);
    if (!old)
        tell_workspace(t, NEWS_WORKSPACE_ADDED, now);
    else if (has_changed(old, now))
        tell_workspace(t, NEWS_WORKSPACE_CHANGED, now);
    for (size_t i = 0; i < now->nmembers; i++) {
        str id = now->members[i].user->id;
        if (!old || workspace_role(old, id) == WS_NONE)
            tell_item(t, NEWS_MEMBER_JOINED, id, now->id, STR_NONE);
    }
}

void roster_diff(const struct roster *before, const struct roster *after, roster_diff_fn fn,
                 void *ctx)
{
    const struct teller t = {before, after, fn, ctx};
    for (size_t i = 0; i < before->nworkspaces; i++)
        tell_lost_members(&t, &before->workspaces[i]);
    for (size_t i = 0; i < before->nusers; i++)
        tell_lost_user(&t, &before->users[i]);
    for (size_t i = 0; i < before->nworkspaces; i++)
        if (!roster_workspace(after, before->workspaces[i].id))
            tell_workspace(&t, NEWS_WORKSPACE_REMOVED, &before->workspaces[i]);
    for (size_t i = 0; i < after->nusers; i++)
        tell_user_now(&t, &after->users[i]);
    for (size_t i = 0; i < after->nworkspaces; i++)
        tell_workspace_now(&t, &after->workspaces[i]);
}
