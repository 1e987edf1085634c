#include "cli/people/people.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/session/password.h"
#include "base/clock.h"
#include "cli/session/record.h"
#include "cli/term/ago.h"
#include "cli/term/ask.h"
#include "cli/term/table.h"

static int open_all(struct people *p)
{
    struct err e = {0};
    str secret = str_from(getenv("NB_OIDC_CLIENT_SECRET"));
    if (instance_load(&p->instance, p->config.work_dir, p->config.secrets.nb_api_key, secret, &e) <
        0)
        return cli_fail(&e);
    if (instance_check_people(&p->instance, p->config.work_dir, &e) < 0)
        return cli_fail(&e);
    if (roster_load(p->config.work_dir, instance_is_sole(&p->instance), &p->roster, &e) < 0)
        return cli_fail(&e);
    for (size_t i = 0; i < p->roster->problems.len; i++)
        cli_complain(p->roster->problems.items[i]);
    return EXIT_DONE;
}

int people_with(struct cli *cli, people_fn fn, const void *options, int argc, char **argv)
{
    struct people p = {.cli = cli, .width = table_terminal_width(STDOUT_FILENO)};
    int code = cli_load_config(cli, NULL, &p.config);
    if (code != EXIT_DONE)
        return code;
    arena_init(&p.arena);
    code = open_all(&p);
    if (code == EXIT_DONE)
        code = fn(&p, options, argc, argv);
    roster_free(p.roster);
    instance_done(&p.instance);
    arena_done(&p.arena);
    config_done(&p.config);
    return code;
}

const struct user *people_user(struct people *p, const char *typed)
{
    const struct user *u = NULL;
    struct err e = {0};
    if (roster_find_user(p->roster, str_from(typed), &u, &e) < 0)
        cli_complain(str_from(e.msg));
    return u;
}

const struct workspace *people_workspace(struct people *p, const char *typed)
{
    const struct workspace *w = NULL;
    struct err e = {0};
    if (roster_find_workspace(p->roster, str_from(typed), &w, &e) < 0)
        cli_complain(str_from(e.msg));
    return w;
}

/* ---- the audit log ---- */

static str email_of(struct people *p, str user_id)
{
    const struct user *u = roster_user(p->roster, user_id);
    return u ? u->email : STR_NONE;
}

static str people_joined(struct people *p, struct json_strs list)
{
    str all = STR_NONE;
    for (size_t i = 0; i < list.len; i++)
        all = arena_printf(&p->arena, "%.*s%s%.*s", STR_ARG(all), i > 0 ? "," : "",
                           STR_ARG(list.items[i]));
    return all;
}

static str token_detail(struct people *p, const struct change *c)
{
    const struct user *u = roster_user(p->roster, c->user_id);
    const struct user_token *t = &c->token;
    for (size_t i = 0; u && c->kind == CHANGE_TOKEN_REVOKE && i < u->ntokens; i++)
        if (str_eq(u->tokens[i].id, c->token.id))
            t = &u->tokens[i];
    str text = arena_printf(&p->arena, "name=%.*s of=%.*s scopes=%.*s", STR_ARG(t->name),
                            STR_ARG(email_of(p, c->user_id)), STR_ARG(people_joined(p, t->scopes)));
    if (t->tools.len > 0)
        text = arena_printf(&p->arena, "%.*s tools=%.*s", STR_ARG(text),
                            STR_ARG(people_joined(p, t->tools)));
    if (t->workspace_id.n > 0)
        text = arena_printf(&p->arena, "%.*s in=%.*s", STR_ARG(text), STR_ARG(t->workspace_id));
    return text;
}

/* Uses the names that people know, so that the record of a removed user or workspace is
 * readable. */
static str detail_of(struct people *p, const struct change *c)
{
    const struct workspace *w = roster_workspace(p->roster, c->workspace_id);
    switch (c->kind) {
    case CHANGE_TOKEN_ADD:
    case CHANGE_TOKEN_REVOKE:
        return token_detail(p, c);
    case CHANGE_MEMBER_SET:
        return arena_printf(&p->arena, "in=%.*s role=%.*s %.*s", STR_ARG(c->workspace_id),
                            STR_ARG(ws_role_name(c->ws_role)), STR_ARG(email_of(p, c->user_id)));
    case CHANGE_MEMBER_REMOVE:
        return arena_printf(&p->arena, "in=%.*s %.*s", STR_ARG(c->workspace_id),
                            STR_ARG(email_of(p, c->user_id)));
    case CHANGE_USER_ADD:
        return arena_printf(&p->arena, "%.*s orgRole=%.*s", STR_ARG(c->email),
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
    str email = email_of(p, c->user_id);
    return c->has_role ? arena_printf(&p->arena, "%.*s orgRole=%.*s", STR_ARG(email),
                                      STR_ARG(org_role_name(c->role)))
                       : email;
}

static void people_record(struct people *p, const struct change *c, const char *id, bool is_done)
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
    cli_record(&p->config, ACTIONS[c->kind], target, is_done, detail_of(p, c));
}

int people_change(struct people *p, const struct change *c, char *ret_id)
{
    struct change_result res = {0};
    struct err e = {0};
    int r = change_apply(p->config.work_dir, instance_is_sole(&p->instance), c, &res, &e);
    people_record(p, c, r < 0 ? "" : res.id, r == 0);
    if (r < 0)
        return cli_fail(&e);
    roster_free(p->roster);
    p->roster = res.roster;
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
    if (again.p)
        explicit_bzero(again.p, again.cap);
    buf_done(&again);
    return r;
}

int people_password(struct people *p, bool from_stdin, str *ret_hash)
{
    char hash[PASSWORD_HASH_MAX];
    struct buf typed;
    struct err e = {0};
    if (!from_stdin && !p->cli->is_tty_in)
        return cli_usage_error(
            "stdin is not a terminal; pass --password-stdin to read the password "
            "from a pipe, or --no-password where it is allowed");
    buf_init(&typed, ASK_LINE_MAX);
    int r = from_stdin ? ask_stdin(&typed, &e) : ask_twice(&typed, &e);
    if (r == 0)
        r = password_hash(buf_str(&typed), hash, &e);
    if (typed.p)
        explicit_bzero(typed.p, typed.cap);
    buf_done(&typed);
    if (r < 0)
        return cli_fail(&e);
    *ret_hash = arena_str(&p->arena, str_from(hash));
    return EXIT_DONE;
}

bool people_confirm(struct people *p, bool is_sure, const char *question)
{
    if (is_sure)
        return true;
    if (!p->cli->is_tty_in) {
        (void)cli_usage_error("stdin is not a terminal; pass --yes to confirm");
        return false;
    }
    bool is_yes = ask_yes(question);
    if (!is_yes)
        fputs("Nothing was changed.\n", stderr);
    return is_yes;
}

/* ---- output ---- */

void people_print(struct people *p, const struct json *v)
{
    str line = json_to_str(&p->arena, v);
    printf("%.*s\n", STR_ARG(line));
}

str people_iso(struct people *p, int64_t ms)
{
    char iso[CLOCK_ISO_LEN + 1];
    if (ms <= 0)
        return STR_NONE;
    clock_iso(ms, iso);
    return arena_str(&p->arena, str_from(iso));
}

str people_ago(struct people *p, int64_t ms)
{
    struct buf b;
    if (ms <= 0)
        return STR("never");
    buf_init(&b, 64);
    ago_add(&b, ms, clock_now_ms());
    return buf_keep(&b, &p->arena);
}

void people_set_str(struct people *p, struct json *obj, const char *key, str value)
{
    json_set(&p->arena, obj, str_from(key), value.n > 0 ? json_of_str(value) : json_of_null());
}
