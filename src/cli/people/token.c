/* nb token create|list|revoke. */
#include "auth/session/token.h"

#include <assert.h>
#include <errno.h>

#include "auth/identity.h"
#include "auth/session/use_store.h"
#include "base/clock.h"
#include "base/map.h"
#include "cli/people/people.h"
#include "cli/term/styled.h"
#include "store/postgres/database.h"
#include "store/store.h"

#define DAY_MS          (24 * 60 * 60 * 1000LL)
#define EXPIRES_DEFAULT "90d"

/* ---- shared ---- */

static struct json *token_json(struct cmd *x, const struct user_token *t)
{
    return cmd_object(x, {STR("id"), cmd_str_or_null(t->id)},
                      {STR("name"), cmd_str_or_null(t->name)},
                      {STR("userId"), cmd_str_or_null(t->user->id)},
                      {STR("scopes"), cmd_strings(x, t->scopes.items, t->scopes.len)},
                      {STR("tools"), cmd_strings(x, t->tools.items, t->tools.len)},
                      {STR("workspaceId"), cmd_str_or_null(t->workspace_id)},
                      {STR("createdAt"), people_iso(x, t->created_ms)},
                      {STR("expiresAt"), people_iso(x, t->expires_ms)});
}

static const struct user_token *find_token(const struct roster *r, str id)
{
    for (size_t i = 0; i < r->nusers; i++)
        for (size_t k = 0; k < r->users[i].ntokens; k++)
            if (str_eq(r->users[i].tokens[k].id, id))
                return &r->users[i].tokens[k];
    return NULL;
}

/* ---- create ---- */

static const struct arg CREATE_ARGS[] = {
    {"user", 'u', ARG_STRING, "USER", "create it for this user (default: the only one)"},
    {"scope", 's', ARG_LIST, "SCOPE",
     "allow read, write, mcp, admin or all (may be repeated; default: read, write, mcp)"},
    {"tools", 't', ARG_LIST, "GLOB", "allow only these tools (may be repeated; default: all)"},
    {"workspace", 'w', ARG_STRING, "WS", "allow only this workspace"},
    {"expires", 'e', ARG_STRING, "WHEN",
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

static const struct user *token_owner(struct cmd *x, const char *typed)
{
    if (typed)
        return people_user(x, typed);
    if (x->roster->nusers == 1)
        return &x->roster->users[0];
    (void)cmd_usage(x, "there are several users; pass --user USER");
    return NULL;
}

static int show_token(struct cmd *x, const char *id, const char *value)
{
    const struct user_token *t = find_token(x->roster, str_from(id));
    assert(t);
    struct json *o = token_json(x, t);
    json_set(&x->arena, o, STR("token"), json_of_str(str_from(value)));
    (void)cmd_say(x, o, "%s", value);
    if (x->cli->opt.is_json)
        return EXIT_DONE;
    fprintf(stderr, "This token is shown only now. Send it as: Authorization: Bearer nb_...\n");
    if (t->expires_ms > 0)
        fprintf(stderr, "It expires on %.10s.\n", json_get_string(o, "expiresAt").p);
    return EXIT_DONE;
}

static int token_create(struct cmd *x)
{
    const char *user = cmd_opt(x, "user"), *workspace = cmd_opt(x, "workspace");
    const struct arg_list *globs = cmd_opts(x, "tools");
    char value[TOKEN_MAX], hash[SHA256_HEX_LEN + 1], id[CHANGE_ID_MAX];
    struct change c = {.kind = CHANGE_TOKEN_ADD, .token = {.name = str_from(x->argv[0])}};
    unsigned scopes = 0;
    if (parse_expiry(cmd_opt_or(x, "expires", EXPIRES_DEFAULT), &c.token.expires_ms) < 0)
        return cmd_usage(x, "--expires takes 12h, 30d, a date in the future "
                            "(2027-01-31) or never");
    int code = parse_scopes(cmd_opts(x, "scope"), &scopes);
    if (code != EXIT_DONE)
        return code;
    const struct user *u = token_owner(x, user);
    if (!u)
        return user ? EXIT_FAILED : EXIT_USAGE;
    c.user_id = arena_str(&x->arena, u->id);
    if (workspace) {
        const struct workspace *w = people_workspace(x, workspace);
        if (!w)
            return EXIT_FAILED;
        c.token.workspace_id = arena_str(&x->arena, w->id);
    }
    str tools[ARG_LIST_MAX];
    for (size_t i = 0; i < globs->len; i++)
        tools[i] = str_from(globs->items[i]);
    c.token.tools = (struct json_strs){tools, globs->len};
    c.token.scopes = auth_scope_names(&x->arena, scopes);
    token_make(value);
    sha256_hex(str_from(value), hash);
    c.token.hash = str_from(hash);
    code = people_change(x, &c, id);
    return code == EXIT_DONE ? show_token(x, id, value) : code;
}

static const struct command TOKEN_CREATE = {
    .name = "create",
    .alias = "add",
    .operands = "NAME",
    .summary = "create a token and print it once",
    .help =
        "Prints only the token to standard output:\n"
        "  TOKEN=$(nb token create ci --user me@example.com --expires 30d)\n"
        "\n"
        "Scopes: read reads what the user may read; write chats, shares and calls tools; mcp uses "
        "the /mcp endpoint; admin manages users, workspaces and bundles as far as the user may.\n",
    .args = CREATE_ARGS,
    .run = token_create,
};

/* ---- list ---- */

static const struct arg LIST_ARGS[] = {
    {"user", 'u', ARG_STRING, "USER", "show only tokens of this user"}, {0}};

static str show_owner(struct cmd *x, const struct json *row)
{
    return roster_user(x->roster, json_get_string(row, "userId"))->email;
}

static str show_expiry(struct cmd *x, const struct json *row)
{
    str iso = json_get_string(row, "expiresAt");
    int64_t ms;
    if (clock_parse_iso(iso, &ms) < 0)
        return STR("never");
    return ms <= clock_now_ms() ? STR("expired") : str_slice(iso, 0, 10);
}

/* The user of --user; *ret is NULL when it was not given. */
static bool find_owner(struct cmd *x, const struct user **ret)
{
    const char *typed = cmd_opt(x, "user");
    *ret = typed ? people_user(x, typed) : NULL;
    return !typed || *ret;
}

/* ret: token id -> struct token_time, in the arena. */
static int read_uses_from(struct cmd *x, struct database *shared, struct map *ret, struct err *e)
{
    struct use_store *uses = use_store_new(x->config.work_dir, shared);
    struct token_times all;
    int r = uses->read(uses, &x->arena, &all, e);
    for (size_t i = 0; r == 0 && i < all.n; i++)
        map_put(ret, all.items[i].token_id, &all.items[i]);
    uses->free(uses);
    return r;
}

static int read_uses(struct cmd *x, struct map *ret, struct err *e)
{
    if (!store_type_is_shared(x->config.store.type))
        return read_uses_from(x, NULL, ret, e);
    struct loop *l = loop_new(NULL);
    struct database *db = database_new(l, x->log, x->config.store.url);
    int r = database_open(db, false, e);
    if (r == 0)
        r = read_uses_from(x, db, ret, e);
    database_free(db);
    loop_free(l);
    return r;
}

static int token_list(struct cmd *x)
{
    static const struct cmd_column COLUMNS[] = {
        {"ID", "id", .style = STYLE_CYAN, .is_whole = true},
        {"NAME", "name", .style = STYLE_BOLD},
        {"USER", .show = show_owner},
        {"SCOPES", "scopes", CELL_WORDS, "none"},
        {"WORKSPACE", "workspaceId", .otherwise = "all"},
        {"EXPIRES", .show = show_expiry},
        {"USED", "lastUsedAt", CELL_AGO, "never"},
        {"TOOLS", "tools", CELL_WORDS, "all"},
    };
    const struct user *only;
    if (!find_owner(x, &only))
        return EXIT_FAILED;
    struct map uses;
    struct err e = {0};
    map_init(&uses);
    if (read_uses(x, &uses, &e) < 0) {
        map_done(&uses);
        return cli_fail(&e);
    }
    struct json *rows = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < x->roster->nusers; i++) {
        const struct user *u = &x->roster->users[i];
        for (size_t k = 0; (!only || only == u) && k < u->ntokens; k++) {
            struct json *row = token_json(x, &u->tokens[k]);
            const struct token_time *use = map_get(&uses, u->tokens[k].id);
            json_set(&x->arena, row, STR("lastUsedAt"), people_iso(x, use ? use->ms : 0));
            json_push(&x->arena, rows, *row);
        }
    }
    map_done(&uses);
    return cmd_list(x, rows, COLUMNS, ARRAY_LEN(COLUMNS), "There are no tokens.");
}

static const struct command TOKEN_LIST = {
    .name = "list",
    .summary = "list tokens, their scopes and when they were used",
    .args = LIST_ARGS,
    .run = token_list,
};

/* ---- revoke ---- */

static const struct arg REVOKE_ARGS[] = {
    {"user", 'u', ARG_STRING, "USER", "revoke a token of this user"}, {0}};

/* Tokens with this name; *ret_ids lists their ids. */
static const struct user_token *find_named(struct cmd *x, const char *name, const struct user *only,
                                           size_t *ret_n, str *ret_ids)
{
    const struct roster *r = x->roster;
    const struct user_token *found = NULL;
    *ret_n = 0;
    for (size_t i = 0; i < r->nusers; i++)
        for (size_t k = 0; (!only || only == &r->users[i]) && k < r->users[i].ntokens; k++)
            if (str_eq(r->users[i].tokens[k].name, str_from(name))) {
                found = &r->users[i].tokens[k];
                *ret_ids = arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(*ret_ids),
                                        ++*ret_n > 1 ? ", " : "", STR_ARG(found->id));
            }
    return found;
}

static int token_revoke(struct cmd *x)
{
    const char *typed = x->argv[0];
    const struct user *only;
    size_t named = 0;
    str ids = STR_NONE;
    if (!find_owner(x, &only))
        return EXIT_FAILED;
    const struct user_token *t = find_token(x->roster, str_from(typed));
    if (!t)
        t = find_named(x, typed, only, &named, &ids);
    if (named > 1)
        return cli_failed("%zu tokens are called '%s'; revoke one by its id: %.*s", named, typed,
                          STR_ARG(ids));
    if (!t)
        return cli_failed("no token '%s'; nb token list shows all", typed);
    str id = arena_str(&x->arena, t->id);
    struct change c = {.kind = CHANGE_TOKEN_REVOKE,
                       .user_id = arena_str(&x->arena, t->user->id),
                       .token = {.id = id}};
    int code = people_change(x, &c, NULL);
    if (code != EXIT_DONE)
        return code;
    return cmd_tell(
        x, cmd_object(x, {STR("id"), json_of_str(id)}, {STR("revoked"), json_of_bool(true)}),
        "Revoked. Requests with this token are refused from now on.");
}

static const struct command TOKEN_REVOKE = {
    .name = "revoke",
    .alias = "remove",
    .operands = "ID|NAME",
    .summary = "revoke a token immediately",
    .args = REVOKE_ARGS,
    .run = token_revoke,
};

static const struct command *const TOKEN_COMMANDS[] = {&TOKEN_CREATE, &TOKEN_LIST, &TOKEN_REVOKE,
                                                       NULL};

const struct command CMD_TOKEN = {
    .name = "token",
    .alias = "tokens",
    .summary = "manage API tokens for scripts, CI and MCP clients",
    .needs = NEEDS_PEOPLE,
    .subs = TOKEN_COMMANDS,
};
