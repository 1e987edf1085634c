/* nb conversations share, unshare, participants. */
#include "cli/conversations/conversations.h"
#include "cli/term/text.h"

enum { BODY_MAX = 1 << 20 };

/* The members of the conversation's workspace. */
static int members(struct conv_cli *x, const struct json *conv, struct json **ret)
{
    str ws = json_get_string(conv, "workspaceId");
    str path = arena_printf(&x->arena, "/v1/workspaces/%.*s/members",
                            STR_ARG(client_encode(&x->arena, ws)));
    return conv_ask(x, "GET", path, STR_NONE, NULL, ret);
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

static str printable(struct conv_cli *x, str s)
{
    struct buf b;
    buf_init(&b, BODY_MAX);
    text_add_line(&b, s);
    return buf_keep(&b, &x->arena);
}

static void print_sharing(struct conv_cli *x, const struct json *conv, const struct json *all)
{
    const struct json *who = json_get(conv, "participants");
    if (x->cli->opt.is_json) {
        conv_print_json(conv);
        return;
    }
    printf("%.*s is %.*s\n", STR_ARG(json_get_string(conv, "id")),
           STR_ARG(json_get_string(conv, "visibility")));
    for (size_t i = 0; who && i < who->len; i++) {
        str id = json_string(json_at(who, i), STR_NONE);
        str name = printable(x, conv_share_name_of(all, id));
        bool is_owner = str_eq(id, json_get_string(conv, "ownerId"));
        printf("  %.*s%s%.*s%s\n", STR_ARG(name), name.n > 0 ? "  " : "", STR_ARG(id),
               is_owner ? "  (owner)" : "");
    }
}

/* ---- participants ---- */

static int do_participants(struct conv_cli *x, const void *options, int argc, char **argv)
{
    str id;
    struct json *conv, *all;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE)
        code = conv_ask(x, "GET", conv_path(x, id, ""), STR_NONE, argv[0], &conv);
    if (code == EXIT_DONE)
        code = members(x, conv, &all);
    if (code == EXIT_DONE)
        print_sharing(x, conv, all);
    return code;
}

static int run_participants(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("participants: name one conversation");
    return conv_with(cli, true, do_participants, options, argc, argv);
}

const struct command CONV_PARTICIPANTS = {
    .name = "participants",
    .usage = "conversations participants ID",
    .summary = "list the participants of a conversation",
    .run = run_participants,
};

/* ---- share, unshare ---- */

static str user_body(struct conv_cli *x, str user)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, BODY_MAX);
    jw_object(&w);
    jw_kstr(&w, "userId", user);
    jw_end(&w);
    return buf_keep(&b, &x->arena);
}

/* Before any change. */
static int check_members(const struct json *all, int n, char **typed)
{
    for (int i = 0; i < n; i++) {
        size_t named;
        if (find_member(all, str_from(typed[i]), &named))
            continue;
        if (named > 1)
            fprintf(stderr, "nb: %zu members are called '%s'; use the e-mail address\n", named,
                    typed[i]);
        else
            fprintf(stderr, "nb: '%s' is not a member of this workspace\n", typed[i]);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int do_share(struct conv_cli *x, const void *options, int argc, char **argv)
{
    str id;
    struct json *conv, *all = NULL;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE)
        code = conv_ask(x, "GET", conv_path(x, id, ""), STR_NONE, argv[0], &conv);
    if (code == EXIT_DONE)
        code = members(x, conv, &all);
    if (code == EXIT_DONE)
        code = check_members(all, argc - 1, argv + 1);
    if (code == EXIT_DONE)
        code = conv_ask(x, "POST", conv_path(x, id, "/share"), STR("{}"), argv[0], &conv);
    for (int i = 1; code == EXIT_DONE && i < argc; i++) {
        str body = user_body(x, user_id(all, str_from(argv[i])));
        code = conv_ask(x, "POST", conv_path(x, id, "/participants"), body, argv[i], &conv);
    }
    if (code == EXIT_DONE)
        print_sharing(x, conv, all);
    return code;
}

static int run_share(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc < 1)
        return cli_usage_error("share: pass a conversation and the users to share it with");
    return conv_with(cli, true, do_share, options, argc, argv);
}

const struct command CONV_SHARE_WITH = {
    .name = "share",
    .usage = "conversations share ID [USER...]",
    .summary = "share a conversation with members of the workspace",
    .help = "A USER is an e-mail address, a name or an id. Participants see the whole conversation "
            "and may "
            "write. Existing participants stay.\n",
    .run = run_share,
};

/* Without users, makes it private; with users, removes them from the participants. */
static int do_unshare(struct conv_cli *x, const void *options, int argc, char **argv)
{
    str id;
    struct json *conv, *all = NULL;
    int code = conv_id(x, argv[0], &id);
    if (code == EXIT_DONE)
        code = conv_ask(x, "GET", conv_path(x, id, ""), STR_NONE, argv[0], &conv);
    if (code == EXIT_DONE)
        code = members(x, conv, &all);
    if (code == EXIT_DONE && argc == 1)
        code = conv_ask(x, "POST", conv_path(x, id, "/unshare"), STR("{}"), argv[0], &conv);
    for (int i = 1; code == EXIT_DONE && i < argc; i++) {
        str user = client_encode(&x->arena, user_id(all, str_from(argv[i])));
        str rest = arena_printf(&x->arena, "/participants/%.*s", STR_ARG(user));
        code = conv_ask(x, "DELETE", conv_path(x, id, rest.p), STR_NONE, argv[i], &conv);
    }
    if (code == EXIT_DONE)
        print_sharing(x, conv, all);
    return code;
}

static int run_unshare(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc < 1)
        return cli_usage_error("unshare: name a conversation");
    return conv_with(cli, true, do_unshare, options, argc, argv);
}

const struct command CONV_UNSHARE = {
    .name = "unshare",
    .usage = "conversations unshare ID [USER...]",
    .summary = "stop sharing, or remove participants",
    .help = "Without a USER, the conversation becomes private. People who are removed lose access "
            "immediately.\n",
    .run = run_unshare,
};
