/* nb workspace list|create|rename|delete|members|add-member|remove-member|role. */
#include "cli/people/people.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

static struct json *members_json(struct people *p, const struct workspace *w)
{
    struct json *list = json_new(&p->arena, JSON_ARRAY);
    for (size_t i = 0; i < w->nmembers; i++) {
        struct json *m = json_new(&p->arena, JSON_OBJECT);
        people_set_str(p, m, "userId", w->members[i].user->id);
        people_set_str(p, m, "email", w->members[i].user->email);
        people_set_str(p, m, "displayName", w->members[i].user->display_name);
        people_set_str(p, m, "role", ws_role_name(w->members[i].role));
        json_push(&p->arena, list, *m);
    }
    return list;
}

static struct json *workspace_json(struct people *p, const struct workspace *w)
{
    struct json *o = json_new(&p->arena, JSON_OBJECT);
    people_set_str(p, o, "id", w->id);
    people_set_str(p, o, "name", w->name);
    json_set(&p->arena, o, STR("members"), *members_json(p, w));
    people_set_str(p, o, "path", str_from(w->root));
    people_set_str(p, o, "createdAt", people_iso(p, w->created_ms));
    return o;
}

static int workspace_report(struct people *p, str id, const char *what)
{
    const struct workspace *w = roster_workspace(p->roster, id);
    if (p->cli->opt.is_json && w)
        people_print(p, workspace_json(p, w));
    else if (!p->cli->opt.is_json)
        fprintf(stderr, "%s\n", what);
    return EXIT_DONE;
}

/* ---- list ---- */

static int do_workspace_list(struct people *p, const void *options, int argc, char **argv)
{
    static const struct table_column COLUMNS[] = {
        {"ID", false, STYLE_CYAN, true}, {"NAME", false, STYLE_BOLD}, {"MEMBERS", true, 0},
        {"CREATED", false, 0},           {"PATH", false, 0},
    };
    struct table t;
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < p->roster->nworkspaces; i++) {
        const struct workspace *w = &p->roster->workspaces[i];
        if (p->cli->opt.is_json) {
            people_print(p, workspace_json(p, w));
            continue;
        }
        table_row(&t);
        table_cell(&t, 0, w->id);
        table_cell(&t, 1, w->name);
        table_cellf(&t, 2, "%zu", w->nmembers);
        table_cell(&t, 3, w->created_ms > 0 ? people_ago(p, w->created_ms) : STR("-"));
        table_cell(&t, 4, str_from(w->root));
    }
    if (t.nrows > 0)
        table_print(&t, stdout, p->width, p->cli->has_color_out, true);
    else if (!p->cli->opt.is_json)
        fputs("There are no workspaces; nb workspace create NAME makes one.\n", stderr);
    table_done(&t);
    return EXIT_DONE;
}

static int run_workspace_list(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 0)
        return cli_usage_error("workspace list: it takes no arguments");
    return people_with(cli, do_workspace_list, options, argc, argv);
}

static const struct command WORKSPACE_LIST = {
    .name = "list",
    .usage = "workspace list [--json]",
    .summary = "list workspaces",
    .run = run_workspace_list,
};

/* ---- create ---- */

struct create_options {
    const char *admin, *id;
};

static const struct arg CREATE_ARGS[] = {
    {"admin", 'a', ARG_STRING, offsetof(struct create_options, admin), "USER",
     "make this user its first admin (default: the only owner)"},
    {"id", 0, ARG_STRING, offsetof(struct create_options, id), "ID",
     "use this id, ws_... (default: from the name)"},
    {0}};

static const struct user *first_admin(struct people *p, const char *typed)
{
    if (typed)
        return people_user(p, typed);
    const struct user *owner = NULL;
    for (size_t i = 0; i < p->roster->nusers; i++)
        if (p->roster->users[i].role == ORG_OWNER)
            owner = &p->roster->users[i];
    if (roster_owners(p->roster) == 1)
        return owner;
    (void)cli_usage_error(
        "workspace create: there are several owners; name its admin with --admin USER");
    return NULL;
}

/* Names need not be unique; commands then need ids. */
static void note_namesakes(struct people *p, str id, str name)
{
    for (size_t i = 0; i < p->roster->nworkspaces; i++) {
        const struct workspace *w = &p->roster->workspaces[i];
        if (!str_eq(w->id, id) && str_eq_nocase(w->name, str_trim(name)))
            fprintf(stderr, "nb: note: %.*s is called '%.*s' too; commands need the ids now\n",
                    STR_ARG(w->id), STR_ARG(w->name));
    }
}

static int do_create(struct people *p, const void *options, int argc, char **argv)
{
    const struct create_options *o = options;
    char id[CHANGE_ID_MAX];
    const struct user *u = first_admin(p, o->admin);
    if (!u)
        return o->admin ? EXIT_FAILED : EXIT_USAGE;
    struct change c = {.kind = CHANGE_WORKSPACE_ADD,
                       .name = str_from(argv[0]),
                       .workspace_id = str_from(o->id),
                       .user_id = arena_str(&p->arena, u->id)};
    int code = people_change(p, &c, id);
    if (code != EXIT_DONE)
        return code;
    note_namesakes(p, str_from(id), c.name);
    return workspace_report(p, str_from(id), arena_printf(&p->arena, "Created %s.", id).p);
}

static int run_create(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("workspace create: pass one name, in quotes if it has spaces");
    return people_with(cli, do_create, options, argc, argv);
}

static const struct command WORKSPACE_CREATE = {
    .name = "create",
    .alias = "add",
    .usage = "workspace create NAME [--admin USER] [--id ID] [--json]",
    .summary = "create a workspace",
    .args = CREATE_ARGS,
    .options_size = sizeof(struct create_options),
    .run = run_create,
};

/* ---- rename ---- */

static int do_rename(struct people *p, const void *options, int argc, char **argv)
{
    const struct workspace *w = people_workspace(p, argv[0]);
    if (!w)
        return EXIT_FAILED;
    struct change c = {.kind = CHANGE_WORKSPACE_SET,
                       .workspace_id = arena_str(&p->arena, w->id),
                       .name = str_from(argv[1])};
    int code = people_change(p, &c, NULL);
    if (code != EXIT_DONE)
        return code;
    note_namesakes(p, c.workspace_id, c.name);
    return workspace_report(p, c.workspace_id, "Renamed. The id does not change.");
}

static int run_rename(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 2)
        return cli_usage_error("workspace rename: pass a workspace and its new name");
    return people_with(cli, do_rename, options, argc, argv);
}

static const struct command WORKSPACE_RENAME = {
    .name = "rename",
    .usage = "workspace rename WS NAME [--json]",
    .summary = "rename a workspace; its id stays the same",
    .run = run_rename,
};

/* ---- delete ---- */

struct delete_options {
    bool is_sure;
};

static const struct arg DELETE_ARGS[] = {
    {"yes", 'y', ARG_FLAG, offsetof(struct delete_options, is_sure), NULL, "do not ask"}, {0}};

static int do_delete(struct people *p, const void *options, int argc, char **argv)
{
    const struct delete_options *o = options;
    const struct workspace *w = people_workspace(p, argv[0]);
    if (!w)
        return EXIT_FAILED;
    str id = arena_str(&p->arena, w->id);
    str question = arena_printf(&p->arena, "Delete %.*s with all its conversations and files?",
                                STR_ARG(w->name));
    if (!people_confirm(p, o->is_sure, question.p))
        return p->cli->is_tty_in ? EXIT_FAILED : EXIT_USAGE;
    struct change c = {.kind = CHANGE_WORKSPACE_REMOVE, .workspace_id = id};
    int code = people_change(p, &c, NULL);
    if (code == EXIT_DONE && p->cli->opt.is_json)
        printf("{\"id\":\"%.*s\",\"deleted\":true}\n", STR_ARG(id));
    else if (code == EXIT_DONE)
        fprintf(stderr, "Deleted. Its directory is in %s/trash until you remove it there.\n",
                p->config.work_dir);
    return code;
}

static int run_delete(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("workspace delete: name one workspace");
    return people_with(cli, do_delete, options, argc, argv);
}

static const struct command WORKSPACE_DELETE = {
    .name = "delete",
    .alias = "remove",
    .usage = "workspace delete WS [--yes] [--json]",
    .summary = "delete a workspace and everything in it",
    .args = DELETE_ARGS,
    .options_size = sizeof(struct delete_options),
    .run = run_delete,
};

/* ---- members ---- */

static int do_members(struct people *p, const void *options, int argc, char **argv)
{
    static const struct table_column COLUMNS[] = {{"EMAIL", false, STYLE_BOLD},
                                                  {"NAME", false, 0},
                                                  {"ROLE", false, 0},
                                                  {"ID", false, STYLE_CYAN, true}};
    const struct workspace *w = people_workspace(p, argv[0]);
    if (!w)
        return EXIT_FAILED;
    struct json *list = members_json(p, w);
    struct table t;
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < list->len; i++) {
        const struct json *m = json_at(list, i);
        if (p->cli->opt.is_json) {
            people_print(p, m);
            continue;
        }
        table_row(&t);
        table_cell(&t, 0, json_get_string(m, "email"));
        table_cell(&t, 1, json_get_string(m, "displayName"));
        table_cell(&t, 2, json_get_string(m, "role"));
        table_cell(&t, 3, json_get_string(m, "userId"));
    }
    if (t.nrows > 0)
        table_print(&t, stdout, p->width, p->cli->has_color_out, true);
    table_done(&t);
    return EXIT_DONE;
}

static int run_members(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("workspace members: name one workspace");
    return people_with(cli, do_members, options, argc, argv);
}

static const struct command WORKSPACE_MEMBERS = {
    .name = "members",
    .usage = "workspace members WS [--json]",
    .summary = "list the members of a workspace and their roles",
    .run = run_members,
};

/* The three commands that change a membership. */
static int change_member(struct people *p, const char *ws, const char *user, enum ws_role role,
                         const char *what)
{
    const struct workspace *w = people_workspace(p, ws);
    const struct user *u = w ? people_user(p, user) : NULL;
    if (!u)
        return EXIT_FAILED;
    struct change c = {.kind = role == WS_NONE ? CHANGE_MEMBER_REMOVE : CHANGE_MEMBER_SET,
                       .workspace_id = arena_str(&p->arena, w->id),
                       .user_id = arena_str(&p->arena, u->id),
                       .ws_role = role};
    int code = people_change(p, &c, NULL);
    return code == EXIT_DONE ? workspace_report(p, c.workspace_id, what) : code;
}

struct add_options {
    const char *role;
};

static const struct arg ADD_ARGS[] = {{"role", 0, ARG_STRING, offsetof(struct add_options, role),
                                       "ROLE", "set the role: admin or member (default)"},
                                      {0}};

static int do_add_member(struct people *p, const void *options, int argc, char **argv)
{
    const struct add_options *o = options;
    enum ws_role role = WS_MEMBER;
    if (o->role && ws_role_parse(str_from(o->role), &role) < 0)
        return cli_usage_error("workspace add-member: --role is admin or member");
    const struct workspace *w = people_workspace(p, argv[0]);
    const struct user *u = w ? people_user(p, argv[1]) : NULL;
    if (!u)
        return EXIT_FAILED;
    if (workspace_role(w, u->id) != WS_NONE) {
        cli_complain(arena_printf(
            &p->arena, "%s is a member already; nb workspace role changes the role", argv[1]));
        return EXIT_FAILED;
    }
    return change_member(p, argv[0], argv[1], role, "Added.");
}

static int run_add_member(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 2)
        return cli_usage_error("workspace add-member: pass a workspace and a user");
    return people_with(cli, do_add_member, options, argc, argv);
}

static const struct command WORKSPACE_ADD_MEMBER = {
    .name = "add-member",
    .usage = "workspace add-member WS USER [--role admin|member] [--json]",
    .summary = "add a member",
    .args = ADD_ARGS,
    .options_size = sizeof(struct add_options),
    .run = run_add_member,
};

static int do_remove_member(struct people *p, const void *options, int argc, char **argv)
{
    return change_member(p, argv[0], argv[1], WS_NONE, "Removed. Their open streams have ended.");
}

static int run_remove_member(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 2)
        return cli_usage_error("workspace remove-member: pass a workspace and a user");
    return people_with(cli, do_remove_member, options, argc, argv);
}

static const struct command WORKSPACE_REMOVE_MEMBER = {
    .name = "remove-member",
    .usage = "workspace remove-member WS USER [--json]",
    .summary = "remove a member immediately",
    .run = run_remove_member,
};

static int do_role(struct people *p, const void *options, int argc, char **argv)
{
    enum ws_role role;
    if (ws_role_parse(str_from(argv[2]), &role) < 0)
        return cli_usage_error("workspace role: a role is admin or member");
    const struct workspace *w = people_workspace(p, argv[0]);
    const struct user *u = w ? people_user(p, argv[1]) : NULL;
    if (!u)
        return EXIT_FAILED;
    if (workspace_role(w, u->id) == WS_NONE) {
        cli_complain(arena_printf(&p->arena,
                                  "%s is not a member of %.*s; nb workspace add-member adds them",
                                  argv[1], STR_ARG(w->id)));
        return EXIT_FAILED;
    }
    return change_member(p, argv[0], argv[1], role, "The role is changed.");
}

static int run_role(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 3)
        return cli_usage_error("workspace role: pass a workspace, a user and a role");
    return people_with(cli, do_role, options, argc, argv);
}

static const struct command WORKSPACE_ROLE = {
    .name = "role",
    .usage = "workspace role WS USER admin|member [--json]",
    .summary = "set the role of a member",
    .run = run_role,
};

static const struct command *const COMMANDS[] = {
    &WORKSPACE_LIST,          &WORKSPACE_CREATE,  &WORKSPACE_RENAME,
    &WORKSPACE_DELETE,        &WORKSPACE_MEMBERS, &WORKSPACE_ADD_MEMBER,
    &WORKSPACE_REMOVE_MEMBER, &WORKSPACE_ROLE,    NULL};

const struct command CMD_WORKSPACE = {
    .name = "workspace",
    .alias = "ws",
    .usage = "workspace COMMAND [OPTIONS]",
    .summary = "manage workspaces and their members",
    .help =
        "A WS is an id (with or without ws_) or a name, a USER an e-mail address, a name or an id. "
        "Changes take effect immediately, also in a running server.\n",
    .subs = COMMANDS,
};
