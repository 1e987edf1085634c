#include "cli/people/people.h"

#include <assert.h>
#include <errno.h>

#include "auth/session/password.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/term/ask.h"
#include "server/shared.h"

int people_load(struct cmd *x)
{
    struct err e = {0};
    const struct config *c = &x->config;
    assert(!x->roster);
    if (instance_load(&x->instance, c->work_dir, c->secrets.nb_api_key,
                      c->secrets.oidc_client_secret, &e) < 0 ||
        instance_check_people(&x->instance, c->work_dir, &e) < 0 ||
        shared_roster(c, instance_is_sole(&x->instance), &x->roster, &e) < 0)
        return cli_fail(&e);
    for (size_t i = 0; i < x->roster->problems.len; i++)
        cli_complain(x->roster->problems.items[i]);
    return EXIT_DONE;
}

const struct user *people_user(struct cmd *x, const char *typed)
{
    const struct user *u = NULL;
    struct err e = {0};
    if (roster_find_user(x->roster, str_from(typed), &u, &e) < 0)
        cli_complain(str_from(e.msg));
    return u;
}

const struct workspace *people_workspace(struct cmd *x, const char *typed)
{
    const struct workspace *w = NULL;
    struct err e = {0};
    if (roster_find_workspace(x->roster, str_from(typed), &w, &e) < 0)
        cli_complain(str_from(e.msg));
    return w;
}

/* ---- the audit log ---- */

static str email_of(struct cmd *x, str user_id)
{
    const struct user *u = roster_user(x->roster, user_id);
    return u ? u->email : STR_NONE;
}

static str token_detail(struct cmd *x, const struct change *c)
{
    const struct user *u = roster_user(x->roster, c->user_id);
    const struct user_token *t = &c->token;
    for (size_t i = 0; u && c->kind == CHANGE_TOKEN_REVOKE && i < u->ntokens; i++)
        if (str_eq(u->tokens[i].id, c->token.id))
            t = &u->tokens[i];
    str text =
        arena_printf(&x->arena, "name=%.*s of=%.*s scopes=%.*s", STR_ARG(t->name),
                     STR_ARG(email_of(x, c->user_id)), STR_ARG(cmd_joined(x, t->scopes, ",")));
    if (t->tools.len > 0)
        text = arena_printf(&x->arena, "%.*s tools=%.*s", STR_ARG(text),
                            STR_ARG(cmd_joined(x, t->tools, ",")));
    if (t->workspace_id.n > 0)
        text = arena_printf(&x->arena, "%.*s in=%.*s", STR_ARG(text), STR_ARG(t->workspace_id));
    return text;
}

/* Uses the names that people know, so that the record of a removed user or workspace is
 * readable. */
static str detail_of(struct cmd *x, const struct change *c)
{
    const struct workspace *w = roster_workspace(x->roster, c->workspace_id);
    switch (c->kind) {
    case CHANGE_TOKEN_ADD:
    case CHANGE_TOKEN_REVOKE:
        return token_detail(x, c);
    case CHANGE_MEMBER_SET:
        return arena_printf(&x->arena, "in=%.*s role=%.*s %.*s", STR_ARG(c->workspace_id),
                            STR_ARG(ws_role_name(c->ws_role)), STR_ARG(email_of(x, c->user_id)));
    case CHANGE_MEMBER_REMOVE:
        return arena_printf(&x->arena, "in=%.*s %.*s", STR_ARG(c->workspace_id),
                            STR_ARG(email_of(x, c->user_id)));
    case CHANGE_USER_ADD:
        return arena_printf(&x->arena, "%.*s orgRole=%.*s", STR_ARG(c->email),
                            STR_ARG(org_role_name(c->role)));
    case CHANGE_WORKSPACE_REMOVE:
        return w ? w->name : STR_NONE;
    case CHANGE_WORKSPACE_ADD:
    case CHANGE_WORKSPACE_SET:
        return c->name;
    case CHANGE_USER_SET:
    case CHANGE_USER_BIND:
    case CHANGE_USER_PASSWORD:
    case CHANGE_USER_SIGN_OUT:
    case CHANGE_USER_REMOVE:
        break;
    }
    str email = email_of(x, c->user_id);
    return c->has_role ? arena_printf(&x->arena, "%.*s orgRole=%.*s", STR_ARG(email),
                                      STR_ARG(org_role_name(c->role)))
                       : email;
}

static void people_record(struct cmd *x, const struct change *c, const char *id, bool is_done)
{
    static const char *const ACTIONS[] = {
        [CHANGE_USER_ADD] = "user.add",
        [CHANGE_USER_SET] = "user.change",
        [CHANGE_USER_BIND] = "user.bind",
        [CHANGE_USER_PASSWORD] = "user.password",
        [CHANGE_USER_SIGN_OUT] = "user.sign_out",
        [CHANGE_USER_REMOVE] = "user.remove",
        [CHANGE_TOKEN_ADD] = "token.add",
        [CHANGE_TOKEN_REVOKE] = "token.revoke",
        [CHANGE_WORKSPACE_ADD] = "workspace.add",
        [CHANGE_WORKSPACE_SET] = "workspace.change",
        [CHANGE_WORKSPACE_REMOVE] = "workspace.remove",
        [CHANGE_MEMBER_SET] = "member.change",
        [CHANGE_MEMBER_REMOVE] = "member.remove",
    };
    bool is_member = c->kind == CHANGE_MEMBER_SET || c->kind == CHANGE_MEMBER_REMOVE;
    str target = is_member           ? c->user_id
                 : c->token.id.n > 0 ? c->token.id
                 : *id               ? str_from(id)
                 : c->user_id.n > 0  ? c->user_id
                                     : c->workspace_id;
    cli_record(&x->config, ACTIONS[c->kind], target, is_done, detail_of(x, c));
}

int people_change(struct cmd *x, const struct change *c, char *ret_id)
{
    struct change_result res = {0};
    struct err e = {0};
    assert(x->roster); /* NEEDS_PEOPLE */
    int r = shared_change(&x->config, instance_is_sole(&x->instance), c, &res, &e);
    people_record(x, c, r < 0 ? "" : res.id, r == 0);
    if (r < 0)
        return cli_fail(&e);
    roster_free(x->roster);
    x->roster = res.roster;
    if (ret_id)
        memcpy(ret_id, res.id, CHANGE_ID_MAX);
    return EXIT_DONE;
}

/* ---- passwords ---- */

static int ask_twice(struct buf *ret, struct err *e)
{
    struct buf again;
    buf_init(&again, ASK_LINE_MAX);
    int r = ask_secret(ret, "Password");
    if (r == 0)
        r = password_check(buf_str(ret), e);
    if (r == 0)
        r = ask_secret(&again, "Repeat the password");
    if (r == 0 && !str_eq(buf_str(ret), buf_str(&again)))
        r = err_set(e, -EINVAL, "the two passwords are different");
    if (r == -ECANCELED)
        err_set(e, r, "nothing was changed");
    ask_forget(&again);
    return r;
}

int people_password(struct cmd *x, bool from_stdin, str *ret_hash)
{
    char hash[PASSWORD_HASH_MAX];
    struct buf typed;
    struct err e = {0};
    if (!from_stdin && !x->cli->is_tty_in)
        return cli_usage_error(
            "stdin is not a terminal; pass --password-stdin to read the password "
            "from a pipe, or --no-password where it is allowed");
    buf_init(&typed, ASK_LINE_MAX);
    int r = from_stdin ? ask_stdin(&typed, &e) : ask_twice(&typed, &e);
    if (r == 0)
        r = password_hash(buf_str(&typed), hash, &e);
    ask_forget(&typed);
    if (r < 0)
        return cli_fail(&e);
    *ret_hash = arena_str(&x->arena, str_from(hash));
    return EXIT_DONE;
}

/* ---- output ---- */

struct json people_iso(struct cmd *x, int64_t ms)
{
    char iso[CLOCK_ISO_LEN + 1];
    if (ms <= 0)
        return json_of_null();
    clock_iso(ms, iso);
    return json_of_str(arena_str(&x->arena, str_from(iso)));
}
