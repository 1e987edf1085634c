/* nb bundle - the group of commands, and functions that they share. */
#include "cli/bundle/bundle.h"

#include "bundle/settings/settings.h"
#include "cli/session/client.h"
#include "cli/session/session.h"
#include "cli/term/text.h"
#include "os/dir.h"
#include "os/file.h"
#include "server/place.h"
#include "server/server.h"
#include "workspace/roster/roster.h"

#define LINE_MAX_BYTES (64u * 1024)

static const struct command *const BUNDLE_COMMANDS[] = {
    &BUNDLE_LIST,    &BUNDLE_ADD,    &BUNDLE_REMOVE, &BUNDLE_SEARCH,   &BUNDLE_INFO,
    &BUNDLE_LOGS,    &BUNDLE_START,  &BUNDLE_STOP,   &BUNDLE_RESTART,  &BUNDLE_ENABLE,
    &BUNDLE_DISABLE, &BUNDLE_IMPORT, &BUNDLE_AUTH,   &BUNDLE_VALIDATE, &BUNDLE_APPROVE,
    &BUNDLE_UPDATE,  NULL,
};

const struct command CMD_BUNDLE = {
    .name = "bundle",
    .alias = "bundles",
    .summary = "add, remove, inspect, start and stop MCP servers",
    .help = "With a running server, these commands act on its bundles and take effect immediately. "
            "Without one, they act on the entries of nimblebrain.json.\n",
    .needs = NEEDS_PLACE,
    .subs = BUNDLE_COMMANDS,
};

/* ---- choosing the workspace ---- */

/* The only workspace, or NULL. */
static const char *sole_workspace(struct cmd *x)
{
    const char *found = NULL;
    size_t n = 0;
    DIR_EACH (d, config_path(&x->config, "workspaces")) {
        if (strncmp(d.name, "ws_", 3) != 0)
            continue;
        found = arena_cstr(&x->arena, str_from(d.name));
        n++;
    }
    return n == 1 ? found : NULL;
}

int bundle_cli_place(struct cmd *x)
{
    const char *ws = x->config.workspace;
    if (!file_exists(config_path(&x->config, "instance.json")))
        return EXIT_DONE;
    if (!ws)
        ws = sole_workspace(x);
    if (!ws && session_is_served(&x->config))
        return EXIT_DONE; /* the command prints the error itself where it matters */
    if (!ws)
        return cli_usage_error("there are several workspaces; pass --workspace");
    const char *root = config_path(&x->config, arena_printf(&x->arena, "workspaces/%s", ws).p);
    if (strchr(ws, '/') || !file_exists(root))
        return cli_failed("no workspace '%s'", ws);
    x->config.path = arena_printf(&x->arena, "%s/workspace.json", root).p;
    return EXIT_DONE;
}

const char *bundle_cli_below(struct cmd *x, const char *name)
{
    str path = str_from(x->config.path);
    if (!str_ends(path, STR("/workspace.json")))
        return config_path(&x->config, name);
    path.n -= strlen("workspace.json");
    return arena_printf(&x->arena, "%.*s%s", STR_ARG(path), name).p;
}

const char *bundle_cli_credentials(struct cmd *x)
{
    return bundle_cli_below(x, "credentials");
}

/* ---- the running server, or the settings file ---- */

bool bundle_cli_served(struct cmd *x)
{
    if (!x->client && session_is_served(&x->config))
        x->client = client_open_socket(x->loop, server_socket_path(&x->config, &x->arena),
                                       x->config.workspace);
    return x->client != NULL;
}

str bundle_cli_path(struct cmd *x, const char *name, const char *rest)
{
    return arena_printf(&x->arena, "/v1/apps/%.*s%s",
                        STR_ARG(client_encode(&x->arena, str_from(name))), rest);
}

int bundle_cli_entries(struct cmd *x, struct bundle_entry **ret, size_t *ret_n)
{
    struct err e = {0};
    if (settings_load_bundles(&x->arena, x->config.path, ret, ret_n, &e) < 0)
        return cli_fail(&e);
    return EXIT_DONE;
}

const struct bundle_entry *bundle_cli_find(struct cmd *x, const char *name)
{
    struct bundle_entry *all;
    size_t n;
    if (bundle_cli_entries(x, &all, &n) != EXIT_DONE)
        return NULL;
    const struct bundle_entry *b = bundle_cli_entry_named(all, n, str_from(name));
    if (!b)
        (void)cli_failed("no bundle '%s' in %s", name, x->config.path);
    return b;
}

const struct bundle_entry *bundle_cli_entry_named(const struct bundle_entry *all, size_t n,
                                                  str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].server_name, name) || str_eq(all[i].name, name))
            return &all[i];
    return NULL;
}

static bool needs_quotes(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr(" \t\n\"'$`\\;&|<>*?(){}[]#~!", s.p[i]))
            return true;
    return s.n == 0;
}

str bundle_cli_quoted(struct arena *a, const char *const *argv)
{
    struct buf out;
    buf_init(&out, LINE_MAX_BYTES);
    for (size_t i = 0; argv[i]; i++) {
        str word = str_from(argv[i]);
        buf_printf(&out, needs_quotes(word) ? "%s'%.*s'" : "%s%.*s", i > 0 ? " " : "",
                   STR_ARG(word));
    }
    return buf_keep(&out, a);
}

static str command_text(struct arena *a, const struct bundle_entry *b)
{
    const char **argv = arena_array(a, b->args.len + 2, sizeof(*argv));
    argv[0] = arena_cstr(a, b->command);
    for (size_t i = 0; i < b->args.len; i++)
        argv[i + 1] = arena_cstr(a, b->args.items[i]);
    return bundle_cli_quoted(a, argv);
}

str bundle_cli_source(struct arena *a, const struct bundle_entry *b)
{
    switch (b->kind) {
    case BUNDLE_NAMED:
        return b->version.n > 0
                   ? arena_printf(a, "%.*s@%.*s", STR_ARG(b->name), STR_ARG(b->version))
                   : b->name;
    case BUNDLE_LOCAL:
        return b->path;
    case BUNDLE_REMOTE:
        return b->url;
    case BUNDLE_COMMAND:
        return command_text(a, b);
    default:
        return STR("comes with nb");
    }
}

#define MASK "********"

static void mask(struct arena *a, struct json *in, const char *key)
{
    const struct json *v = json_get(in, key);
    struct json *masked = json_new(a, JSON_OBJECT);
    for (size_t i = 0; v && v->type == JSON_OBJECT && i < v->len; i++) {
        bool is_type = str_eq(v->members[i].key, STR("type")); /* members of transport.auth */
        json_set(a, masked, v->members[i].key,
                 is_type ? v->members[i].value : json_of_str(STR(MASK)));
    }
    if (v)
        json_set(a, in, str_from(key), *masked);
}

struct json *bundle_cli_masked(struct arena *a, const struct json *entry)
{
    struct json *ret = json_clone(a, entry);
    mask(a, ret, "env");
    mask(a, ret, "userConfig");
    if (json_get(ret, "transport")) {
        struct json *transport = json_clone(a, json_get(ret, "transport"));
        mask(a, transport, "headers");
        mask(a, transport, "auth");
        json_set(a, ret, STR("transport"), *transport);
    }
    return ret;
}

void bundle_cli_print_line(FILE *out, const char *label, str text)
{
    text_print(out, label, 12, text);
}

/* ".../workspaces/ws_team/workspace.json" -> "ws_team" */
static str workspace_of(struct cmd *x)
{
    str path = str_from(x->config.path), end = STR("/workspace.json");
    if (!str_ends(path, end))
        return STR(ROSTER_SOLE_WORKSPACE);
    path = str_slice(path, 0, path.n - end.n);
    return str_skip(path, (size_t)(str_rfind_char(path, '/') + 1));
}

static const struct user *only_member(const struct workspace *w)
{
    return w->nmembers == 1 ? w->members[0].user : NULL;
}

static int bundle_person_choose(struct cmd *x, const struct roster *r, const char *typed,
                                str *ret_id)
{
    const struct workspace *w = roster_workspace(r, workspace_of(x));
    const struct user *u = typed ? roster_user(r, str_from(typed)) : NULL;
    if (r->is_sole) {
        *ret_id = STR(ROSTER_SOLE_USER);
        return EXIT_DONE;
    }
    if (typed && !u)
        u = roster_user_by_email(r, str_from(typed));
    if (!typed && w)
        u = only_member(w);
    if (!u && !typed)
        return cli_usage_error("each person signs in to this server; pass --user USER");
    if (!u || !w || workspace_role(w, u->id) == WS_NONE)
        return cli_failed("'%s' is not a member of this workspace", typed);
    *ret_id = arena_str(&x->arena, u->id);
    return EXIT_DONE;
}

int bundle_cli_person(struct cmd *x, const char *typed, str *ret_id)
{
    struct err e = {0};
    if (!x->roster && place_roster(&x->config, &x->roster, &e) < 0)
        return cli_fail(&e);
    return bundle_person_choose(x, x->roster, typed, ret_id);
}
