/* bundle_person.c - which person signs in to a server where each person has an account. */
#include "cli/bundle/bundle.h"
#include "server/place.h"
#include "workspace/roster/roster.h"

/* ".../workspaces/ws_team/workspace.json" -> "ws_team" */
static str workspace_of(struct cmd *x)
{
    str path = str_from(x->config.path), end = STR("/workspace.json");
    if (!str_ends(path, end))
        return STR(ROSTER_SOLE_WORKSPACE);
    path = str_slice(path, 0, path.n - end.n);
    return str_skip(path, (size_t)(str_rfind_char(path, '/') + 1));
}

static const struct user *only_member(const struct workspace *w)
{
    return w->nmembers == 1 ? w->members[0].user : NULL;
}

static int bundle_person_choose(struct cmd *x, const struct roster *r, const char *typed,
                                str *ret_id)
{
    const struct workspace *w = roster_workspace(r, workspace_of(x));
    const struct user *u = typed ? roster_user(r, str_from(typed)) : NULL;
    if (r->is_sole) {
        *ret_id = STR(ROSTER_SOLE_USER);
        return EXIT_DONE;
    }
    if (typed && !u)
        u = roster_user_by_email(r, str_from(typed));
    if (!typed && w)
        u = only_member(w);
    if (!u && !typed)
        return cli_usage_error("each person signs in to this server; pass --user USER");
    if (!u || !w || workspace_role(w, u->id) == WS_NONE)
        return cli_failed("'%s' is not a member of this workspace", typed);
    *ret_id = arena_str(&x->arena, u->id);
    return EXIT_DONE;
}

int bundle_cli_person(struct cmd *x, const char *typed, str *ret_id)
{
    struct err e = {0};
    if (!x->roster && place_roster(&x->config, &x->roster, &e) < 0)
        return cli_fail(&e);
    return bundle_person_choose(x, x->roster, typed, ret_id);
}
