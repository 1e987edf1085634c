/* nb user list|add|passwd|role|sign-out|remove. */
#include "cli/people/people.h"
#include "cli/term/styled.h"

static struct json *user_json(struct cmd *x, const struct user *u)
{
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < x->roster->nworkspaces; i++)
        if (workspace_role(&x->roster->workspaces[i], u->id) != WS_NONE)
            json_push(&x->arena, list, json_of_str(x->roster->workspaces[i].id));
    return cmd_object(x, {STR("id"), cmd_str_or_null(u->id)},
                      {STR("email"), cmd_str_or_null(u->email)},
                      {STR("displayName"), cmd_str_or_null(u->display_name)},
                      {STR("orgRole"), cmd_str_or_null(org_role_name(u->role))},
                      {STR("hasPassword"), json_of_bool(u->password.n > 0)},
                      {STR("tokens"), json_of_int((int64_t)u->ntokens)},
                      {STR("createdAt"), people_iso(x, u->created_ms)}, {STR("workspaces"), *list});
}

/* Prints the result as text, or the user's new state as JSON. */
static int user_report(struct cmd *x, str id, const char *what)
{
    const struct user *u = roster_user(x->roster, id);
    return u ? cmd_tell(x, user_json(x, u), "%s", what) : EXIT_DONE;
}

/* One change of the user who was named, and the text to print. */
static int user_change(struct cmd *x, struct change *c, const char *what)
{
    const struct user *u = people_user(x, x->argv[0]);
    if (!u)
        return EXIT_FAILED;
    c->user_id = arena_str(&x->arena, u->id); /* copied: the roster will be read again */
    int code = people_change(x, c, NULL);
    return code == EXIT_DONE ? user_report(x, c->user_id, what) : code;
}

/* ---- list ---- */

static int by_email(const void *a, const void *b)
{
    const struct user *const *x = a, *const *y = b;
    return str_cmp((*x)->email, (*y)->email);
}

static int user_list(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"EMAIL", "email", .style = STYLE_BOLD},
        {"NAME", "displayName"},
        {"ROLE", "orgRole"},
        {"WORKSPACES", "workspaces", CELL_SIZE, .is_right = true},
        {"TOKENS", "tokens", .is_right = true},
        {"CREATED", "createdAt", CELL_AGO, "-"},
        {"ID", "id", .style = STYLE_CYAN, .is_whole = true},
    };
    size_t n = x->roster->nusers;
    struct json *rows = json_new(&x->arena, JSON_ARRAY);
    const struct user **all = arena_array(&x->arena, n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = &x->roster->users[i];
    qsort((void *)all, n, sizeof *all, by_email);
    for (size_t i = 0; i < n; i++)
        json_push(&x->arena, rows, *user_json(x, all[i]));
    int code = cmd_list(x, rows, COLUMNS, ARRAY_LEN(COLUMNS), NULL);
    if (x->roster->is_sole && !x->cli->opt.is_json)
        fputs("One person, without a login; nb init sets up users.\n", stderr);
    return code;
}

static const struct command USER_LIST = {
    .name = "list",
    .summary = "list accounts",
    .run = user_list,
};

/* ---- add ---- */

static const struct arg ADD_ARGS[] = {
    {"name", 0, ARG_STRING, "NAME", "set the display name (default: from the address)"},
    {"role", 0, ARG_STRING, "ROLE", "set the role: owner, admin or member (default)",
     .choices = "owner, admin, member"},
    {"workspace", 'w', ARG_LIST, "WS", "add the user to this workspace (may be repeated)"},
    {"password-stdin", 0, ARG_FLAG, NULL, "read the password from standard input"},
    {"no-password", 0, ARG_FLAG, NULL, "allow only API tokens, no login with a password"},
    {0}};

static int user_join(struct cmd *x, const char *user_id, const struct arg_list *workspaces)
{
    for (size_t i = 0; i < workspaces->len; i++) {
        const struct workspace *w = people_workspace(x, workspaces->items[i]);
        if (!w)
            return EXIT_FAILED;
        struct change c = {.kind = CHANGE_MEMBER_SET,
                           .workspace_id = arena_str(&x->arena, w->id),
                           .user_id = str_from(user_id),
                           .ws_role = WS_MEMBER};
        int code = people_change(x, &c, NULL);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

static int user_add(struct cmd *x)
{
    char id[CHANGE_ID_MAX];
    struct change c = {.kind = CHANGE_USER_ADD,
                       .email = str_from(x->argv[0]),
                       .display_name = str_from(cmd_opt(x, "name"))};
    const struct arg_list *workspaces = cmd_opts(x, "workspace");
    (void)org_role_parse(str_from(cmd_opt_or(x, "role", "member")), &c.role); /* a choice */
    for (size_t i = 0; i < workspaces->len; i++) /* before any change */
        if (!people_workspace(x, workspaces->items[i]))
            return EXIT_FAILED;
    bool is_local = x->instance.mode == AUTH_LOCAL && !cmd_flag(x, "no-password");
    if (is_local && !roster_user_by_email(x->roster, c.email)) {
        int code = people_password(x, cmd_flag(x, "password-stdin"), &c.password);
        if (code != EXIT_DONE)
            return code;
    }
    int code = people_change(x, &c, id);
    if (code == EXIT_DONE)
        code = user_join(x, id, workspaces);
    if (code != EXIT_DONE)
        return code;
    return user_report(x, str_from(id),
                       arena_printf(&x->arena, "Added %s (%s).", x->argv[0], id).p);
}

static const struct command USER_ADD = {
    .name = "add",
    .operands = "EMAIL",
    .summary = "add an account",
    .help = "With local users, asks for a password. With OpenID Connect, the first login with this "
            "address uses the account.\n",
    .args = ADD_ARGS,
    .run = user_add,
};

/* ---- passwd ---- */

static const struct arg PASSWD_ARGS[] = {
    {"password-stdin", 0, ARG_FLAG, NULL, "read the password from standard input"}, {0}};

static int user_passwd(struct cmd *x)
{
    struct change c = {.kind = CHANGE_USER_PASSWORD};
    if (x->instance.mode != AUTH_LOCAL)
        return cli_failed("passwords are for local users; see nb init");
    if (!people_user(x, x->argv[0])) /* before the questions */
        return EXIT_FAILED;
    int code = people_password(x, cmd_flag(x, "password-stdin"), &c.password);
    return code == EXIT_DONE
               ? user_change(x, &c, "The password is changed; all sessions have ended.")
               : code;
}

static const struct command USER_PASSWD = {
    .name = "passwd",
    .operands = "USER",
    .summary = "set a password, and end all sessions of the user",
    .args = PASSWD_ARGS,
    .run = user_passwd,
};

/* ---- role ---- */

static int user_set_role(struct cmd *x)
{
    struct change c = {.kind = CHANGE_USER_SET, .has_role = true};
    if (org_role_parse(str_from(x->argv[1]), &c.role) < 0)
        return cmd_usage(x, "a role is owner, admin or member");
    return user_change(
        x, &c, arena_printf(&x->arena, "%s has the role %s now.", x->argv[0], x->argv[1]).p);
}

static const struct command USER_ROLE = {
    .name = "role",
    .operands = "USER owner|admin|member",
    .summary = "set the role of a user on this server",
    .help = "Owners and admins manage users and workspaces. `nb workspace role` sets the role in a "
            "workspace, which is independent of this one. The last owner remains an owner.\n",
    .run = user_set_role,
};

/* ---- sign-out ---- */

static int user_sign_out(struct cmd *x)
{
    struct change c = {.kind = CHANGE_USER_SIGN_OUT};
    return user_change(x, &c, "All sessions have ended. API tokens still work.");
}

static const struct command USER_SIGN_OUT = {
    .name = "sign-out",
    .operands = "USER",
    .summary = "end all sessions of a user",
    .run = user_sign_out,
};

/* ---- remove ---- */

static const struct arg REMOVE_ARGS[] = {
    {"delete-workspaces", 0, ARG_FLAG, NULL, "delete workspaces that have no other member too"},
    {0}};

static int user_remove(struct cmd *x)
{
    const struct user *u = people_user(x, x->argv[0]);
    if (!u)
        return EXIT_FAILED;
    str id = arena_str(&x->arena, u->id);
    str question = arena_printf(&x->arena, "Remove %.*s?", STR_ARG(u->email));
    struct change c = {
        .kind = CHANGE_USER_REMOVE, .user_id = id, .is_cascade = cmd_flag(x, "delete-workspaces")};
    int code = cmd_confirm(x, question.p, "Nothing was changed.");
    if (code == EXIT_DONE)
        code = people_change(x, &c, NULL);
    if (code != EXIT_DONE)
        return code;
    return cmd_tell(
        x, cmd_object(x, {STR("id"), json_of_str(id)}, {STR("removed"), json_of_bool(true)}),
        "Removed. Their conversations stay in their workspaces.");
}

static const struct command USER_REMOVE = {
    .name = "remove",
    .alias = "delete",
    .operands = "USER",
    .summary = "remove an account, its sessions, tokens and memberships",
    .args = REMOVE_ARGS,
    .yes = "do not ask",
    .run = user_remove,
};

static const struct command *const USER_COMMANDS[] = {
    &USER_LIST, &USER_ADD, &USER_PASSWD, &USER_ROLE, &USER_SIGN_OUT, &USER_REMOVE, NULL};

const struct command CMD_USER = {
    .name = "user",
    .alias = "users",
    .summary = "manage the accounts of this server",
    .help =
        "A USER is an e-mail address, a name or an id. Changes take effect immediately, also in a "
        "running server.\n",
    .needs = NEEDS_PEOPLE,
    .subs = USER_COMMANDS,
};
