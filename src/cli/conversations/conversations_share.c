/* nb conversations share, unshare, participants. */
#include "cli/conversations/conversations.h"

struct conv_sharing {
    struct json *conv, *all; /* the conversation, and the members of its workspace */
    str id;
};

static bool sharing_load(struct cmd *x, struct conv_sharing *ret)
{
    ret->conv = conv_ask(x, x->argv[0], "GET", "", NULL);
    ret->id = json_get_string(ret->conv, "id");
    str ws = json_get_string(ret->conv, "workspaceId");
    str path = arena_printf(&x->arena, "/v1/workspaces/%.*s/members",
                            STR_ARG(client_encode(&x->arena, ws)));
    ret->all = ret->conv ? cmd_ask(x, "GET", path, NULL, NULL) : NULL;
    return ret->all != NULL;
}

/* Changes it; false after printing an error. */
static bool sharing_change(struct cmd *x, struct conv_sharing *s, const char *method,
                           const char *rest, const struct json *body, const char *subject)
{
    s->conv = cmd_ask(x, method, conv_path(x, s->id, rest), body, subject);
    return s->conv != NULL;
}

/* By id, e-mail address, or a name that only one member has, as in the API (member_find.h). NULL
 * when no member matches; *ret_named is the number of members with that name. */
static const struct json *find_member(const struct json *all, str typed, size_t *ret_named)
{
    const struct json *list = json_get(all, "members"), *named = NULL;
    *ret_named = 0;
    for (size_t i = 0; list && i < list->len; i++) {
        const struct json *m = json_at(list, i);
        if (str_eq(json_get_string(m, "userId"), typed) ||
            str_eq_nocase(json_get_string(m, "email"), typed))
            return m;
        if (str_eq_nocase(json_get_string(m, "displayName"), typed)) {
            named = m;
            ++*ret_named;
        }
    }
    return *ret_named == 1 ? named : NULL;
}

/* The typed text when no member matches: the person may have left. */
static str user_id(const struct json *all, str typed)
{
    size_t named;
    const struct json *m = find_member(all, typed, &named);
    return m ? json_get_string(m, "userId") : typed;
}

static str conv_share_name_of(const struct json *all, str id)
{
    size_t named;
    return json_get_string(find_member(all, id, &named), "displayName");
}

static int print_sharing(struct cmd *x, const struct conv_sharing *s)
{
    const struct json *who = json_get(s->conv, "participants");
    (void)cmd_say(x, s->conv, "%.*s is %.*s", STR_ARG(json_get_string(s->conv, "id")),
                  STR_ARG(json_get_string(s->conv, "visibility")));
    for (size_t i = 0; !x->cli->opt.is_json && who && i < who->len; i++) {
        str id = json_string(json_at(who, i), STR_NONE);
        str name = cmd_line(x, conv_share_name_of(s->all, id));
        bool is_owner = str_eq(id, json_get_string(s->conv, "ownerId"));
        bool is_reader = json_has_string(json_get(s->conv, "readers"), id);
        printf("  %.*s%s%.*s%s\n", STR_ARG(name), name.n > 0 ? "  " : "", STR_ARG(id),
               is_owner    ? "  (owner)"
               : is_reader ? "  (reads)"
                           : "");
    }
    return EXIT_DONE;
}

/* ---- participants ---- */

static int conv_participants(struct cmd *x)
{
    struct conv_sharing s;
    return sharing_load(x, &s) ? print_sharing(x, &s) : EXIT_FAILED;
}

const struct command CONV_PARTICIPANTS = {
    .name = "participants",
    .operands = "ID",
    .summary = "list the participants of a conversation",
    .run = conv_participants,
};

/* ---- share, unshare ---- */

/* Before any change. */
static bool are_members(const struct cmd *x, const struct json *all)
{
    for (int i = 1; i < x->argc; i++) {
        size_t named;
        if (find_member(all, str_from(x->argv[i]), &named))
            continue;
        if (named > 1)
            (void)cli_failed("%zu members are called '%s'; use the e-mail address", named,
                             x->argv[i]);
        else
            (void)cli_failed("'%s' is not a member of this workspace", x->argv[i]);
        return false;
    }
    return true;
}

static const struct arg SHARE_ARGS[] = {{"role", 0, ARG_STRING, "ROLE",
                                         "allow to write (the default) or only to read",
                                         .choices = "write, read"},
                                        {0}};

static struct json *person_body(struct cmd *x, str user)
{
    struct json *body = cmd_object(x, {STR("userId"), json_of_str(user)});
    if (cmd_opt(x, "role"))
        json_set(&x->arena, body, STR("role"), json_of_str(str_from(cmd_opt(x, "role"))));
    return body;
}

static int conv_share(struct cmd *x)
{
    struct conv_sharing s;
    const char *role = cmd_opt(x, "role");
    if (role && strcmp(role, "read") != 0 && strcmp(role, "write") != 0)
        return cli_usage_error("--role: expected write or read, not '%s'", role);
    bool is_done =
        sharing_load(x, &s) && are_members(x, s.all) &&
        sharing_change(x, &s, "POST", "/share", json_new(&x->arena, JSON_OBJECT), x->argv[0]);
    for (int i = 1; is_done && i < x->argc; i++) {
        str user = user_id(s.all, str_from(x->argv[i]));
        is_done = sharing_change(x, &s, "POST", "/participants", person_body(x, user), x->argv[i]);
    }
    return is_done ? print_sharing(x, &s) : EXIT_FAILED;
}

const struct command CONV_SHARE_WITH = {
    .name = "share",
    .operands = "ID [USER...]",
    .summary = "share a conversation with members of the workspace",
    .help =
        "A USER is an e-mail address, a name or an id. Participants see the whole conversation "
        "and may write, or only read with --role read. Existing participants stay; with --role, "
        "those that are named get that role.\n",
    .args = SHARE_ARGS,
    .run = conv_share,
};

/* Without users, makes it private; with users, removes them from the participants. */
static int conv_unshare(struct cmd *x)
{
    struct conv_sharing s;
    bool is_done = sharing_load(x, &s);
    if (is_done && x->argc == 1)
        is_done =
            sharing_change(x, &s, "POST", "/unshare", json_new(&x->arena, JSON_OBJECT), x->argv[0]);
    for (int i = 1; is_done && i < x->argc; i++) {
        str user = client_encode(&x->arena, user_id(s.all, str_from(x->argv[i])));
        str rest = arena_printf(&x->arena, "/participants/%.*s", STR_ARG(user));
        is_done = sharing_change(x, &s, "DELETE", rest.p, NULL, x->argv[i]);
    }
    return is_done ? print_sharing(x, &s) : EXIT_FAILED;
}

const struct command CONV_UNSHARE = {
    .name = "unshare",
    .operands = "ID [USER...]",
    .summary = "stop sharing, or remove participants",
    .help = "Without a USER, the conversation becomes private. People who are removed lose access "
            "immediately.\n",
    .run = conv_unshare,
};
