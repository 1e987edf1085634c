/* nb token create|list|revoke. */
#include "auth/session/token.h"

#include <errno.h>

#include "auth/identity.h"
#include "auth/session/token_use.h"
#include "base/clock.h"
#include "cli/people/people.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"

#define DAY_MS          (24 * 60 * 60 * 1000LL)
#define EXPIRES_DEFAULT "90d"

/* ---- shared ---- */

static struct json strings(struct people *p, struct json_strs in)
{
    struct json *list = json_new(&p->arena, JSON_ARRAY);
    for (size_t i = 0; i < in.len; i++)
        json_push(&p->arena, list, json_of_str(in.items[i]));
    return *list;
}

static struct json *token_json(struct people *p, const struct user_token *t)
{
    struct json *o = json_new(&p->arena, JSON_OBJECT);
    people_set_str(p, o, "id", t->id);
    people_set_str(p, o, "name", t->name);
    people_set_str(p, o, "userId", t->user->id);
    json_set(&p->arena, o, STR("scopes"), strings(p, t->scopes));
    json_set(&p->arena, o, STR("tools"), strings(p, t->tools));
    people_set_str(p, o, "workspaceId", t->workspace_id);
    people_set_str(p, o, "createdAt", people_iso(p, t->created_ms));
    people_set_str(p, o, "expiresAt", people_iso(p, t->expires_ms));
    return o;
}

static const struct user_token *find_token(const struct roster *r, str id)
{
    for (size_t i = 0; i < r->nusers; i++)
        for (size_t k = 0; k < r->users[i].ntokens; k++)
            if (str_eq(r->users[i].tokens[k].id, id))
                return &r->users[i].tokens[k];
    return NULL;
}

static str token_joined(struct people *p, struct json_strs list, str otherwise)
{
    str all = list.len > 0 ? list.items[0] : otherwise;
    for (size_t i = 1; i < list.len; i++)
        all = arena_printf(&p->arena, "%.*s,%.*s", STR_ARG(all), STR_ARG(list.items[i]));
    return all;
}

/* ---- create ---- */

struct create_options {
    const char *user, *expires, *workspace;
    struct arg_list scopes, tools;
};

#define CREATE(member) offsetof(struct create_options, member)

static const struct arg CREATE_ARGS[] = {
    {"user", 'u', ARG_STRING, CREATE(user), "USER",
     "create it for this user (default: the only one)"},
    {"scope", 's', ARG_LIST, CREATE(scopes), "SCOPE",
     "allow read, write, mcp, admin or all (may be repeated; default: read, write, mcp)"},
    {"tools", 't', ARG_LIST, CREATE(tools), "GLOB",
     "allow only these tools (may be repeated; default: all)"},
    {"workspace", 'w', ARG_STRING, CREATE(workspace), "WS", "allow only this workspace"},
    {"expires", 'e', ARG_STRING, CREATE(expires), "WHEN",
     "expire after 12h or 30d, on a date (2027-01-31), or never (default: " EXPIRES_DEFAULT ")"},
    {0}};

static int parse_expiry(const char *text, int64_t *ret)
{
    str s = str_from(text);
    uint64_t n;
    int64_t now = clock_now_ms();
    if (str_eq(s, STR("never"))) {
        *ret = 0;
        return 0;
    }
    if (s.n > 1 && parse_u64(str_slice(s, 0, s.n - 1), &n) == 0 && n > 0 && n < 100000) {
        char unit = s.p[s.n - 1];
        int64_t unit_ms = unit == 'd' ? DAY_MS : unit == 'h' ? DAY_MS / 24 : 0;
        *ret = now + (int64_t)n * unit_ms;
        return unit_ms > 0 ? 0 : -EINVAL;
    }
    return clock_parse_iso(s, ret) == 0 && *ret > now ? 0 : -EINVAL;
}

static int parse_scopes(const struct arg_list *in, unsigned *ret)
{
    unsigned all = 0, one;
    for (size_t i = 0; i < in->len; i++) {
        str rest = str_from(in->items[i]), name;
        while (str_split(&rest, ',', &name)) {
            if (auth_scope_parse(str_trim(name), &one) < 0)
                return cli_usage_error(
                    "token create: '%.*s' is not a scope; scopes are read, write, "
                    "mcp, admin and all",
                    STR_ARG(name));
            all |= one;
        }
    }
    *ret = all ? all : SCOPES_DEFAULT;
    return EXIT_DONE;
}

static const struct user *token_owner(struct people *p, const char *typed)
{
    if (typed)
        return people_user(p, typed);
    if (p->roster->nusers == 1)
        return &p->roster->users[0];
    (void)cli_usage_error("token create: there are several users; pass --user USER");
    return NULL;
}

static int show_token(struct people *p, const char *id, const char *value)
{
    const struct user_token *t = find_token(p->roster, str_from(id));
    if (p->cli->opt.is_json) {
        struct json *o = token_json(p, t);
        people_set_str(p, o, "token", str_from(value));
        people_print(p, o);
        return EXIT_DONE;
    }
    printf("%s\n", value);
    fprintf(stderr, "This token is shown only now. Send it as: Authorization: Bearer nb_...\n");
    if (t->expires_ms > 0)
        fprintf(stderr, "It expires on %.10s.\n", people_iso(p, t->expires_ms).p);
    return EXIT_DONE;
}

static int do_create(struct people *p, const void *options, int argc, char **argv)
{
    const struct create_options *o = options;
    char value[TOKEN_MAX], hash[SHA256_HEX_LEN + 1], id[CHANGE_ID_MAX];
    struct change c = {.kind = CHANGE_TOKEN_ADD, .token = {.name = str_from(argv[0])}};
    unsigned scopes;
    if (parse_expiry(o->expires ? o->expires : EXPIRES_DEFAULT, &c.token.expires_ms) < 0)
        return cli_usage_error("token create: --expires takes 12h, 30d, a date in the future "
                               "(2027-01-31) or never");
    int code = parse_scopes(&o->scopes, &scopes);
    if (code != EXIT_DONE)
        return code;
    const struct user *u = token_owner(p, o->user);
    if (!u)
        return o->user ? EXIT_FAILED : EXIT_USAGE;
    c.user_id = arena_str(&p->arena, u->id);
    if (o->workspace) {
        const struct workspace *w = people_workspace(p, o->workspace);
        if (!w)
            return EXIT_FAILED;
        c.token.workspace_id = arena_str(&p->arena, w->id);
    }
    str tools[ARG_LIST_MAX];
    for (size_t i = 0; i < o->tools.len; i++)
        tools[i] = str_from(o->tools.items[i]);
    c.token.tools = (struct json_strs){tools, o->tools.len};
    c.token.scopes = auth_scope_names(&p->arena, scopes);
    token_make(value);
    sha256_hex(str_from(value), hash);
    c.token.hash = str_from(hash);
    code = people_change(p, &c, id);
    return code == EXIT_DONE ? show_token(p, id, value) : code;
}

static int run_create(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("token create: pass one name for the token");
    return people_with(cli, do_create, options, argc, argv);
}

static const struct command TOKEN_CREATE = {
    .name = "create",
    .alias = "add",
    .usage = "token create NAME [--user USER] [--scope SCOPE]... [--tools GLOB]... [--json]",
    .summary = "create a token and print it once",
    .help =
        "Prints only the token to standard output:\n"
        "  TOKEN=$(nb token create ci --user me@example.com --expires 30d)\n"
        "\n"
        "Scopes: read reads what the user may read; write chats, shares and calls tools; mcp uses "
        "the /mcp endpoint; admin manages users, workspaces and bundles as far as the user may.\n",
    .args = CREATE_ARGS,
    .options_size = sizeof(struct create_options),
    .run = run_create,
};

/* ---- list ---- */

struct list_options {
    const char *user;
};

static const struct arg LIST_ARGS[] = {{"user", 'u', ARG_STRING,
                                        offsetof(struct list_options, user), "USER",
                                        "show only tokens of this user"},
                                       {0}};

static str expiry_text(struct people *p, int64_t ms)
{
    if (ms == 0)
        return STR("never");
    if (ms <= clock_now_ms())
        return STR("expired");
    return str_slice(people_iso(p, ms), 0, 10);
}

static void list_one(struct people *p, struct table *t, const struct user_token *k,
                     const struct json *used)
{
    const struct json *at = json_get_str(used, k->id);
    int64_t used_ms = json_is(at, JSON_INT) ? at->i : 0;
    if (p->cli->opt.is_json) {
        struct json *o = token_json(p, k);
        people_set_str(p, o, "lastUsedAt", people_iso(p, used_ms));
        people_print(p, o);
        return;
    }
    table_row(t);
    table_cell(t, 0, k->id);
    table_cell(t, 1, k->name);
    table_cell(t, 2, k->user->email);
    table_cell(t, 3, token_joined(p, k->scopes, STR("none")));
    table_cell(t, 4, k->workspace_id.n > 0 ? k->workspace_id : STR("all"));
    table_cell(t, 5, expiry_text(p, k->expires_ms));
    table_cell(t, 6, people_ago(p, used_ms));
    table_cell(t, 7, token_joined(p, k->tools, STR("all")));
}

static int do_token_list(struct people *p, const void *options, int argc, char **argv)
{
    static const struct table_column COLUMNS[] = {
        {"ID", false, STYLE_CYAN, true},
        {"NAME", false, STYLE_BOLD},
        {"USER", false, 0},
        {"SCOPES", false, 0},
        {"WORKSPACE", false, 0},
        {"EXPIRES", false, 0},
        {"USED", false, 0},
        {"TOOLS", false, 0},
    };
    const struct list_options *o = options;
    const struct user *only = o->user ? people_user(p, o->user) : NULL;
    if (o->user && !only)
        return EXIT_FAILED;
    const struct json *used = token_use_read(&p->arena, p->config.work_dir);
    struct table t;
    table_init(&t, COLUMNS, ARRAY_LEN(COLUMNS));
    for (size_t i = 0; i < p->roster->nusers; i++) {
        const struct user *u = &p->roster->users[i];
        for (size_t k = 0; (!only || only == u) && k < u->ntokens; k++)
            list_one(p, &t, &u->tokens[k], used);
    }
    if (t.nrows > 0)
        table_print(&t, stdout, p->width, p->cli->has_color_out, true);
    else if (!p->cli->opt.is_json)
        fputs("There are no tokens.\n", stderr);
    table_done(&t);
    return EXIT_DONE;
}

static int run_token_list(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 0)
        return cli_usage_error("token list: it takes no arguments; --user USER shows theirs");
    return people_with(cli, do_token_list, options, argc, argv);
}

static const struct command TOKEN_LIST = {
    .name = "list",
    .usage = "token list [--user USER] [--json]",
    .summary = "list tokens, their scopes and when they were used",
    .args = LIST_ARGS,
    .options_size = sizeof(struct list_options),
    .run = run_token_list,
};

/* ---- revoke ---- */

struct revoke_options {
    const char *user;
};

static const struct arg REVOKE_ARGS[] = {{"user", 'u', ARG_STRING,
                                          offsetof(struct revoke_options, user), "USER",
                                          "revoke a token of this user"},
                                         {0}};

/* Tokens with this name; *ret_ids lists their ids. */
static const struct user_token *find_named(struct people *p, const char *name,
                                           const struct user *only, size_t *ret_n, str *ret_ids)
{
    const struct roster *r = p->roster;
    const struct user_token *found = NULL;
    *ret_n = 0;
    for (size_t i = 0; i < r->nusers; i++)
        for (size_t k = 0; (!only || only == &r->users[i]) && k < r->users[i].ntokens; k++)
            if (str_eq(r->users[i].tokens[k].name, str_from(name))) {
                found = &r->users[i].tokens[k];
                *ret_ids = arena_printf(&p->arena, "%.*s%s%.*s", STR_ARG(*ret_ids),
                                        ++*ret_n > 1 ? ", " : "", STR_ARG(found->id));
            }
    return found;
}

static int do_revoke(struct people *p, const void *options, int argc, char **argv)
{
    const struct revoke_options *o = options;
    size_t named = 0;
    str ids = STR_NONE;
    const struct user *only = o->user ? people_user(p, o->user) : NULL;
    if (o->user && !only)
        return EXIT_FAILED;
    const struct user_token *t = find_token(p->roster, str_from(argv[0]));
    if (!t)
        t = find_named(p, argv[0], only, &named, &ids);
    if (named > 1) {
        cli_complain(arena_printf(&p->arena,
                                  "%zu tokens are called '%s'; revoke one by its id: %.*s", named,
                                  argv[0], STR_ARG(ids)));
        return EXIT_FAILED;
    }
    if (!t) {
        cli_complain(arena_printf(&p->arena, "no token '%s'; nb token list shows all", argv[0]));
        return EXIT_FAILED;
    }
    str id = arena_str(&p->arena, t->id);
    struct change c = {.kind = CHANGE_TOKEN_REVOKE,
                       .user_id = arena_str(&p->arena, t->user->id),
                       .token = {.id = id}};
    int code = people_change(p, &c, NULL);
    if (code == EXIT_DONE && p->cli->opt.is_json)
        printf("{\"id\":\"%.*s\",\"revoked\":true}\n", STR_ARG(id));
    else if (code == EXIT_DONE)
        fputs("Revoked. Requests with this token are refused from now on.\n", stderr);
    return code;
}

static int run_revoke(struct cli *cli, const void *options, int argc, char **argv)
{
    if (argc != 1)
        return cli_usage_error("token revoke: pass one id or name (nb token list shows them)");
    return people_with(cli, do_revoke, options, argc, argv);
}

static const struct command TOKEN_REVOKE = {
    .name = "revoke",
    .alias = "remove",
    .usage = "token revoke ID|NAME [--user USER] [--json]",
    .summary = "revoke a token immediately",
    .args = REVOKE_ARGS,
    .options_size = sizeof(struct revoke_options),
    .run = run_revoke,
};

static const struct command *const COMMANDS[] = {&TOKEN_CREATE, &TOKEN_LIST, &TOKEN_REVOKE, NULL};

const struct command CMD_TOKEN = {
    .name = "token",
    .alias = "tokens",
    .usage = "token COMMAND [OPTIONS]",
    .summary = "manage API tokens for scripts, CI and MCP clients",
    .subs = COMMANDS,
};
