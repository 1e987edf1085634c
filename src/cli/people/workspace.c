/* nb workspace list|create|rename|delete|members|add-member|remove-member|role. */
#include "cli/people/people.h"
#include "cli/term/styled.h"

static struct json *members_json(struct cmd *x, const struct workspace *w)
{
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < w->nmembers; i++) {
        const struct user *u = w->members[i].user;
        json_push(&x->arena, list,
                  *cmd_object(x, {STR("userId"), cmd_str_or_null(u->id)},
                              {STR("email"), cmd_str_or_null(u->email)},
                              {STR("displayName"), cmd_str_or_null(u->display_name)},
                              {STR("role"), cmd_str_or_null(ws_role_name(w->members[i].role))}));
    }
    return list;
}

static struct json *workspace_json(struct cmd *x, const struct workspace *w)
{
    return cmd_object(
        x, {STR("id"), cmd_str_or_null(w->id)}, {STR("name"), cmd_str_or_null(w->name)},
        {STR("members"), *members_json(x, w)}, {STR("path"), cmd_str_or_null(str_from(w->root))},
        {STR("createdAt"), people_iso(x, w->created_ms)});
}

static int workspace_report(struct cmd *x, str id, const char *what)
{
    const struct workspace *w = roster_workspace(x->roster, id);
    return w ? cmd_tell(x, workspace_json(x, w), "%s", what) : EXIT_DONE;
}

/* ---- list ---- */

static int workspace_list(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"ID", "id", .style = STYLE_CYAN, .is_whole = true},
        {"NAME", "name", .style = STYLE_BOLD},
        {"MEMBERS", "members", CELL_SIZE, .is_right = true},
        {"CREATED", "createdAt", CELL_AGO, "-"},
        {"PATH", "path"},
    };
    struct json *rows = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < x->roster->nworkspaces; i++)
        json_push(&x->arena, rows, *workspace_json(x, &x->roster->workspaces[i]));
    return cmd_list(x, rows, COLUMNS, ARRAY_LEN(COLUMNS),
                    "There are no workspaces; nb workspace create NAME makes one.");
}

static const struct command WORKSPACE_LIST = {
    .name = "list",
    .summary = "list workspaces",
    .run = workspace_list,
};

/* ---- create ---- */

static const struct arg CREATE_ARGS[] = {
    {"admin", 'a', ARG_STRING, "USER", "make this user its first admin (default: the only owner)"},
    {"id", 0, ARG_STRING, "ID", "use this id, ws_... (default: from the name)"},
    {0}};

static const struct user *first_admin(struct cmd *x, const char *typed)
{
    if (typed)
        return people_user(x, typed);
    const struct user *owner = NULL;
    for (size_t i = 0; i < x->roster->nusers; i++)
        if (x->roster->users[i].role == ORG_OWNER)
            owner = &x->roster->users[i];
    if (roster_owners(x->roster) == 1)
        return owner;
    (void)cmd_usage(x, "there are several owners; name its admin with --admin USER");
    return NULL;
}

/* Names need not be unique; commands then need ids. */
static void note_namesakes(struct cmd *x, str id, str name)
{
    for (size_t i = 0; i < x->roster->nworkspaces; i++) {
        const struct workspace *w = &x->roster->workspaces[i];
        if (!str_eq(w->id, id) && str_eq_nocase(w->name, str_trim(name)))
            fprintf(stderr, "nb: note: %.*s is called '%.*s' too; commands need the ids now\n",
                    STR_ARG(w->id), STR_ARG(w->name));
    }
}

static int workspace_create(struct cmd *x)
{
    char id[CHANGE_ID_MAX];
    const struct user *u = first_admin(x, cmd_opt(x, "admin"));
    if (!u)
        return cmd_opt(x, "admin") ? EXIT_FAILED : EXIT_USAGE;
    struct change c = {.kind = CHANGE_WORKSPACE_ADD,
                       .name = str_from(x->argv[0]),
                       .workspace_id = str_from(cmd_opt(x, "id")),
                       .user_id = arena_str(&x->arena, u->id)};
    int code = people_change(x, &c, id);
    if (code != EXIT_DONE)
        return code;
    note_namesakes(x, str_from(id), c.name);
    return workspace_report(x, str_from(id), arena_printf(&x->arena, "Created %s.", id).p);
}

static const struct command WORKSPACE_CREATE = {
    .name = "create",
    .alias = "add",
    .operands = "NAME",
    .summary = "create a workspace",
    .args = CREATE_ARGS,
    .run = workspace_create,
};

/* ---- rename ---- */

static int workspace_rename(struct cmd *x)
{
    const struct workspace *w = people_workspace(x, x->argv[0]);
    if (!w)
        return EXIT_FAILED;
    struct change c = {.kind = CHANGE_WORKSPACE_SET,
                       .workspace_id = arena_str(&x->arena, w->id),
                       .name = str_from(x->argv[1])};
    int code = people_change(x, &c, NULL);
    if (code != EXIT_DONE)
        return code;
    note_namesakes(x, c.workspace_id, c.name);
    return workspace_report(x, c.workspace_id, "Renamed. The id does not change.");
}

static const struct command WORKSPACE_RENAME = {
    .name = "rename",
    .operands = "WS NAME",
    .summary = "rename a workspace; its id stays the same",
    .run = workspace_rename,
};

/* ---- delete ---- */

static int workspace_delete(struct cmd *x)
{
    const struct workspace *w = people_workspace(x, x->argv[0]);
    if (!w)
        return EXIT_FAILED;
    str id = arena_str(&x->arena, w->id);
    str question = arena_printf(&x->arena, "Delete %.*s with all its conversations and files?",
                                STR_ARG(w->name));
    struct change c = {.kind = CHANGE_WORKSPACE_REMOVE, .workspace_id = id};
    int code = cmd_confirm(x, question.p, "Nothing was changed.");
    if (code == EXIT_DONE)
        code = people_change(x, &c, NULL);
    if (code != EXIT_DONE)
        return code;
    return cmd_tell(
        x, cmd_object(x, {STR("id"), json_of_str(id)}, {STR("deleted"), json_of_bool(true)}),
        "Deleted. Its directory is in %s/trash until you remove it there.", x->config.work_dir);
}

static const struct command WORKSPACE_DELETE = {
    .name = "delete",
    .alias = "remove",
    .operands = "WS",
    .summary = "delete a workspace and everything in it",
    .yes = "do not ask",
    .run = workspace_delete,
};

/* ---- members ---- */

static int workspace_members(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"EMAIL", "email", .style = STYLE_BOLD},
        {"NAME", "displayName"},
        {"ROLE", "role"},
        {"ID", "userId", .style = STYLE_CYAN, .is_whole = true},
    };
    const struct workspace *w = people_workspace(x, x->argv[0]);
    return w ? cmd_list(x, members_json(x, w), COLUMNS, ARRAY_LEN(COLUMNS), NULL) : EXIT_FAILED;
}

static const struct command WORKSPACE_MEMBERS = {
    .name = "members",
    .operands = "WS",
    .summary = "list the members of a workspace and their roles",
    .run = workspace_members,
};

/* ---- the three commands that change a membership ---- */

enum membership { MUST_BE_NEW, MUST_BE_MEMBER, MAY_BE_EITHER };

static int change_member(struct cmd *x, enum ws_role role, enum membership before, const char *what)
{
    const char *user = x->argv[1];
    const struct workspace *w = people_workspace(x, x->argv[0]);
    const struct user *u = w ? people_user(x, user) : NULL;
    if (!u)
        return EXIT_FAILED;
    bool is_member = workspace_role(w, u->id) != WS_NONE;
    if (is_member && before == MUST_BE_NEW)
        return cli_failed("%s is a member already; nb workspace role changes the role", user);
    if (!is_member && before == MUST_BE_MEMBER)
        return cli_failed("%s is not a member of %.*s; nb workspace add-member adds them", user,
                          STR_ARG(w->id));
    struct change c = {.kind = role == WS_NONE ? CHANGE_MEMBER_REMOVE : CHANGE_MEMBER_SET,
                       .workspace_id = arena_str(&x->arena, w->id),
                       .user_id = arena_str(&x->arena, u->id),
                       .ws_role = role};
    int code = people_change(x, &c, NULL);
    return code == EXIT_DONE ? workspace_report(x, c.workspace_id, what) : code;
}

static const struct arg MEMBER_ARGS[] = {{"role", 0, ARG_STRING, "ROLE",
                                          "set the role: admin or member (default)",
                                          .choices = "admin, member"},
                                         {0}};

static int workspace_add_member(struct cmd *x)
{
    enum ws_role role;
    (void)ws_role_parse(str_from(cmd_opt_or(x, "role", "member")), &role); /* a choice */
    return change_member(x, role, MUST_BE_NEW, "Added.");
}

static const struct command WORKSPACE_ADD_MEMBER = {
    .name = "add-member",
    .operands = "WS USER",
    .summary = "add a member",
    .args = MEMBER_ARGS,
    .run = workspace_add_member,
};

static int workspace_remove_member(struct cmd *x)
{
    return change_member(x, WS_NONE, MAY_BE_EITHER, "Removed. Their open streams have ended.");
}

static const struct command WORKSPACE_REMOVE_MEMBER = {
    .name = "remove-member",
    .operands = "WS USER",
    .summary = "remove a member immediately",
    .run = workspace_remove_member,
};

static int workspace_set_role(struct cmd *x)
{
    enum ws_role role;
    if (ws_role_parse(str_from(x->argv[2]), &role) < 0)
        return cmd_usage(x, "a role is admin or member");
    return change_member(x, role, MUST_BE_MEMBER, "The role is changed.");
}

static const struct command WORKSPACE_ROLE = {
    .name = "role",
    .operands = "WS USER admin|member",
    .summary = "set the role of a member",
    .run = workspace_set_role,
};

static const struct command *const WORKSPACE_COMMANDS[] = {
    &WORKSPACE_LIST,          &WORKSPACE_CREATE,  &WORKSPACE_RENAME,
    &WORKSPACE_DELETE,        &WORKSPACE_MEMBERS, &WORKSPACE_ADD_MEMBER,
    &WORKSPACE_REMOVE_MEMBER, &WORKSPACE_ROLE,    NULL};

const struct command CMD_WORKSPACE = {
    .name = "workspace",
    .alias = "ws",
    .summary = "manage workspaces and their members",
    .help =
        "A WS is an id (with or without ws_) or a name, a USER an e-mail address, a name or an id. "
        "Changes take effect immediately, also in a running server.\n",
    .needs = NEEDS_PEOPLE,
    .subs = WORKSPACE_COMMANDS,
};
