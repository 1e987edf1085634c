/* nb user list|add|passwd|role|sign-out|remove. */
#include "cli/people/people.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

static struct json *user_json(struct people *p, const struct user *u)
{
    struct json *o = json_new(&p->arena, JSON_OBJECT), *list = json_new(&p->arena, JSON_ARRAY);
    people_set_str(p, o, "id", u->id);
    people_set_str(p, o, "email", u->email);
    people_set_str(p, o, "displayName", u->display_name);
    people_set_str(p, o, "orgRole", org_role_name(u->role));
    json_set(&p->arena, o, STR("hasPassword"), json_of_bool(u->password.n > 0));
    json_set(&p->arena, o, STR("tokens"), json_of_int((int64_t)u->ntokens));
    people_set_str(p, o, "createdAt", people_iso(p, u->created_ms));
    for (size_t i = 0; i < p->roster->nworkspaces; i++)
        if (workspace_role(&p->roster->workspaces[i], u->id) != WS_NONE)
            json_push(&p->arena, list, json_of_str(p->roster->workspaces[i].id));
    json_set(&p->arena, o, STR("workspaces"), *list);
    return o;
}

/* Prints the result as text, or the user's new state as JSON. */
static int user_report(struct people *p, str id, const char *what)
{
    const struct user *u = roster_user(p->roster, id);
    if (p->cli->opt.is_json && u)
        people_print(p, user_json(p, u));
    else if (!p->cli->opt.is_json)
        fprintf(stderr, "%s\n", what);
    return EXIT_DONE;
}

/* One change of one user, and the text to print. */
static int change_user(struct people *p, struct change *c, const struct user *u, const char *what)
{
    c->user_id = arena_str(&p->arena, u->id); /* copied: the roster will be read again */
    int code = people_change(p, c, NULL);
    return code == EXIT_DONE ? user_report(p, c->user_id, what) : code;
}

/* ---- list ---- */

static int by_email(const void *a, const void *b)
{
    const struct user *const *x = a, *const *y = b;
    return str_cmp((*x)->email, (*y)->email);
}

static int do_user_list(struct people *p, const void *options, int argc, char **argv)
{
    static const struct table_column COLUMNS[] = {
        {"EMAIL", false, STYLE_BOLD},    {"NAME", false, 0},  {"ROLE", false, 0},
        {"WORKSPACES", true, 0},         {"TOKENS", true, 0}, {"CREATED", false, 0},
        {"ID", false, STYLE_CYAN, true},
    };
    size_t n = p->roster->nusers;
    const struct user **all = arena_array(&p->arena, n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = &p->roster->users[i];
    qsort((void *)all, n, sizeof *all, by_email);
    struct table t;
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < n; i++) {
        const struct user *u = all[i];
        if (p->cli->opt.is_json) {
            people_print(p, user_json(p, u));
            continue;
        }
        table_row(&t);
        table_cell(&t, 0, u->email);
        table_cell(&t, 1, u->display_name);
        table_cell(&t, 2, org_role_name(u->role));
        table_cellf(&t, 3, "%zu", roster_memberships(p->roster, u->id, NULL));
        table_cellf(&t, 4, "%zu", u->ntokens);
        table_cell(&t, 5, u->created_ms > 0 ? people_ago(p, u->created_ms) : STR("-"));
        table_cell(&t, 6, u->id);
    }
    if (t.nrows > 0)
        table_print(&t, stdout, p->width, p->cli->has_color_out, true);
    table_done(&t);
    if (p->roster->is_sole && !p->cli->opt.is_json)
        fputs("One person, without a login; nb init sets up users.\n", stderr);
    return EXIT_DONE;
}

static int run_user_list(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 0)
        return cli_usage_error("user list: it takes no arguments");
    return people_with(cli, do_user_list, options, argc, argv);
}

static const struct command USER_LIST = {
    .name = "list",
    .usage = "user list [--json]",
    .summary = "list accounts",
    .run = run_user_list,
};

/* ---- add ---- */

struct add_options {
    const char *name, *role;
    struct arg_list workspaces;
    bool is_password_stdin, has_no_password;
};

#define ADD(member) offsetof(struct add_options, member)

static const struct arg ADD_ARGS[] = {
    {"name", 0, ARG_STRING, ADD(name), "NAME", "set the display name (default: from the address)"},
    {"role", 0, ARG_STRING, ADD(role), "ROLE", "set the role: owner, admin or member (default)"},
    {"workspace", 'w', ARG_LIST, ADD(workspaces), "WS",
     "add the user to this workspace (may be repeated)"},
    {"password-stdin", 0, ARG_FLAG, ADD(is_password_stdin), NULL,
     "read the password from standard input"},
    {"no-password", 0, ARG_FLAG, ADD(has_no_password), NULL,
     "allow only API tokens, no login with a password"},
    {0}};

static int user_join(struct people *p, const char *user_id, const struct arg_list *workspaces)
{
    for (size_t i = 0; i < workspaces->len; i++) {
        const struct workspace *w = people_workspace(p, workspaces->items[i]);
        if (!w)
            return EXIT_FAILED;
        struct change c = {.kind = CHANGE_MEMBER_SET,
                           .workspace_id = arena_str(&p->arena, w->id),
                           .user_id = str_from(user_id),
                           .ws_role = WS_MEMBER};
        int code = people_change(p, &c, NULL);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

static int do_add(struct people *p, const void *options, int argc, char **argv)
{
    const struct add_options *o = options;
    char id[CHANGE_ID_MAX];
    struct change c = {.kind = CHANGE_USER_ADD,
                       .email = str_from(argv[0]),
                       .display_name = str_from(o->name),
                       .role = ORG_MEMBER};
    if (o->role && org_role_parse(str_from(o->role), &c.role) < 0)
        return cli_usage_error("user add: --role is owner, admin or member");
    for (size_t i = 0; i < o->workspaces.len; i++) /* before any change */
        if (!people_workspace(p, o->workspaces.items[i]))
            return EXIT_FAILED;
    bool is_local = p->instance.mode == AUTH_LOCAL && !o->has_no_password;
    if (is_local && !roster_user_by_email(p->roster, c.email)) {
        int code = people_password(p, o->is_password_stdin, &c.password);
        if (code != EXIT_DONE)
            return code;
    }
    int code = people_change(p, &c, id);
    if (code == EXIT_DONE)
        code = user_join(p, id, &o->workspaces);
    if (code != EXIT_DONE)
        return code;
    return user_report(p, str_from(id), arena_printf(&p->arena, "Added %s (%s).", argv[0], id).p);
}

static int run_add(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("user add: pass one e-mail address");
    return people_with(cli, do_add, options, argc, argv);
}

static const struct command USER_ADD = {
    .name = "add",
    .usage = "user add EMAIL [--name NAME] [--role ROLE] [--workspace WS]... [--json]",
    .summary = "add an account",
    .help = "With local users, asks for a password. With OpenID Connect, the first login with this "
            "address uses the account.\n",
    .args = ADD_ARGS,
    .options_size = sizeof(struct add_options),
    .run = run_add,
};

/* ---- passwd ---- */

struct passwd_options {
    bool is_password_stdin;
};

static const struct arg PASSWD_ARGS[] = {{"password-stdin", 0, ARG_FLAG,
                                          offsetof(struct passwd_options, is_password_stdin), NULL,
                                          "read the password from standard input"},
                                         {0}};

static int do_passwd(struct people *p, const void *options, int argc, char **argv)
{
    const struct passwd_options *o = options;
    struct change c = {.kind = CHANGE_USER_PASSWORD};
    if (p->instance.mode != AUTH_LOCAL) {
        cli_complain(STR("passwords are for local users; see nb init"));
        return EXIT_FAILED;
    }
    const struct user *u = people_user(p, argv[0]);
    if (!u)
        return EXIT_FAILED;
    int code = people_password(p, o->is_password_stdin, &c.password);
    if (code != EXIT_DONE)
        return code;
    return change_user(p, &c, u, "The password is changed; all sessions have ended.");
}

static int run_passwd(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("user passwd: name one user");
    return people_with(cli, do_passwd, options, argc, argv);
}

static const struct command USER_PASSWD = {
    .name = "passwd",
    .usage = "user passwd USER [--password-stdin] [--json]",
    .summary = "set a password, and end all sessions of the user",
    .args = PASSWD_ARGS,
    .options_size = sizeof(struct passwd_options),
    .run = run_passwd,
};

/* ---- role ---- */

static int do_role(struct people *p, const void *options, int argc, char **argv)
{
    struct change c = {.kind = CHANGE_USER_SET, .has_role = true};
    if (org_role_parse(str_from(argv[1]), &c.role) < 0)
        return cli_usage_error("user role: a role is owner, admin or member");
    const struct user *u = people_user(p, argv[0]);
    if (!u)
        return EXIT_FAILED;
    return change_user(p, &c, u,
                       arena_printf(&p->arena, "%s has the role %s now.", argv[0], argv[1]).p);
}

static int run_role(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 2)
        return cli_usage_error("user role: pass a user and a role");
    return people_with(cli, do_role, options, argc, argv);
}

static const struct command USER_ROLE = {
    .name = "role",
    .usage = "user role USER owner|admin|member [--json]",
    .summary = "set the role of a user on this server",
    .help = "Owners and admins manage users and workspaces. `nb workspace role` sets the role in a "
            "workspace, which is independent of this one. The last owner remains an owner.\n",
    .run = run_role,
};

/* ---- sign-out ---- */

static int do_sign_out(struct people *p, const void *options, int argc, char **argv)
{
    struct change c = {.kind = CHANGE_USER_SIGN_OUT};
    const struct user *u = people_user(p, argv[0]);
    if (!u)
        return EXIT_FAILED;
    return change_user(p, &c, u, "All sessions have ended. API tokens still work.");
}

static int run_sign_out(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("user sign-out: name one user");
    return people_with(cli, do_sign_out, options, argc, argv);
}

static const struct command USER_SIGN_OUT = {
    .name = "sign-out",
    .usage = "user sign-out USER [--json]",
    .summary = "end all sessions of a user",
    .run = run_sign_out,
};

/* ---- remove ---- */

struct remove_options {
    bool is_cascade, is_sure;
};

static const struct arg REMOVE_ARGS[] = {
    {"delete-workspaces", 0, ARG_FLAG, offsetof(struct remove_options, is_cascade), NULL,
     "delete workspaces that have no other member too"},
    {"yes", 'y', ARG_FLAG, offsetof(struct remove_options, is_sure), NULL, "do not ask"},
    {0}};

static int do_remove(struct people *p, const void *options, int argc, char **argv)
{
    const struct remove_options *o = options;
    const struct user *u = people_user(p, argv[0]);
    if (!u)
        return EXIT_FAILED;
    str id = arena_str(&p->arena, u->id);
    if (!people_confirm(p, o->is_sure,
                        arena_printf(&p->arena, "Remove %.*s?", STR_ARG(u->email)).p))
        return p->cli->is_tty_in ? EXIT_FAILED : EXIT_USAGE;
    struct change c = {.kind = CHANGE_USER_REMOVE, .user_id = id, .is_cascade = o->is_cascade};
    int code = people_change(p, &c, NULL);
    if (code != EXIT_DONE)
        return code;
    if (p->cli->opt.is_json)
        printf("{\"id\":\"%.*s\",\"removed\":true}\n", STR_ARG(id));
    else
        fprintf(stderr, "Removed. Their conversations stay in their workspaces.\n");
    return EXIT_DONE;
}

static int run_user_remove(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("user remove: name one user");
    return people_with(cli, do_remove, options, argc, argv);
}

static const struct command USER_REMOVE = {
    .name = "remove",
    .alias = "delete",
    .usage = "user remove USER [--delete-workspaces] [--yes] [--json]",
    .summary = "remove an account, its sessions, tokens and memberships",
    .args = REMOVE_ARGS,
    .options_size = sizeof(struct remove_options),
    .run = run_user_remove,
};

static const struct command *const COMMANDS[] = {
    &USER_LIST, &USER_ADD, &USER_PASSWD, &USER_ROLE, &USER_SIGN_OUT, &USER_REMOVE, NULL};

const struct command CMD_USER = {
    .name = "user",
    .alias = "users",
    .usage = "user COMMAND [OPTIONS]",
    .summary = "manage the accounts of this server",
    .help =
        "A USER is an e-mail address, a name or an id. Changes take effect immediately, also in a "
        "running server.\n",
    .subs = COMMANDS,
};
