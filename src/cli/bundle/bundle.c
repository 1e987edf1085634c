/* nb bundle - the group of commands, and functions that they share. */
#include "cli/bundle/bundle.h"

#include "bundle/change.h"
#include "bundle/settings/settings.h"
#include "cli/session/session.h"
#include "cli/term/text.h"
#include "os/dir.h"
#include "os/file.h"
#include "server/server.h"

#define LINE_MAX_BYTES (64u * 1024)
#define ASK_MS         (BUNDLE_CHANGE_MS + 15000)

static const struct command *const COMMANDS[] = {
    &BUNDLE_LIST,    &BUNDLE_ADD,    &BUNDLE_REMOVE, &BUNDLE_SEARCH,   &BUNDLE_INFO,
    &BUNDLE_LOGS,    &BUNDLE_START,  &BUNDLE_STOP,   &BUNDLE_RESTART,  &BUNDLE_ENABLE,
    &BUNDLE_DISABLE, &BUNDLE_IMPORT, &BUNDLE_AUTH,   &BUNDLE_VALIDATE, &BUNDLE_APPROVE,
    &BUNDLE_UPDATE,  NULL,
};

const struct command CMD_BUNDLE = {
    .name = "bundle",
    .alias = "bundles",
    .usage = "bundle COMMAND [OPTIONS]",
    .summary = "add, remove, inspect, start and stop MCP servers",
    .help = "With a running server, these commands act on its bundles and take effect immediately. "
            "Without one, they act on the entries of nimblebrain.json.\n",
    .subs = COMMANDS,
};

/* ---- choosing the workspace ---- */

/* The only workspace, or NULL. */
static const char *sole_workspace(struct conv_cli *x)
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

int bundle_cli_place(struct conv_cli *x)
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
    if (strchr(ws, '/') || !file_exists(root)) {
        fprintf(stderr, "nb: no workspace '%s'\n", ws);
        return EXIT_FAILED;
    }
    x->config.path = arena_printf(&x->arena, "%s/workspace.json", root).p;
    return EXIT_DONE;
}

const char *bundle_cli_below(struct conv_cli *x, const char *name)
{
    str path = str_from(x->config.path);
    if (!str_ends(path, STR("/workspace.json")))
        return config_path(&x->config, name);
    path.n -= strlen("workspace.json");
    return arena_printf(&x->arena, "%.*s%s", STR_ARG(path), name).p;
}

const char *bundle_cli_credentials(struct conv_cli *x)
{
    return bundle_cli_below(x, "credentials");
}

struct call {
    conv_fn fn;
    const void *options;
};

static int call_there(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct call *c = options;
    int code = bundle_cli_place(x);
    return code == EXIT_DONE ? c->fn(x, c->options, argc, argv) : code;
}

int bundle_cli_with(struct cli *cli, conv_fn fn, const void *options, int argc, char **argv)
{
    struct call c = {fn, options};
    return conv_with(cli, false, call_there, &c, argc, argv);
}

/* ---- the running server, or the settings file ---- */

bool bundle_cli_served(struct conv_cli *x)
{
    if (!x->client && session_is_served(&x->config))
        x->client = client_open_remote(x->loop, server_socket_path(&x->config, &x->arena),
                                       x->config.workspace);
    return x->client != NULL;
}

int bundle_cli_ask(struct conv_cli *x, const char *method, str path, const struct json *body,
                   const char *subject, struct json **ret)
{
    struct client_ask q = {.method = method, .path = path, .timeout_ms = ASK_MS};
    struct err e = {0};
    if (body)
        q.body = json_to_str(&x->arena, body);
    if (client_ask(x->client, &q, &x->arena, ret, &e) == 0)
        return EXIT_DONE;
    if (subject)
        err_prefix(&e, "%s", subject);
    return cli_fail(&e);
}

str bundle_cli_path(struct conv_cli *x, const char *name, const char *rest)
{
    return arena_printf(&x->arena, "/v1/apps/%.*s%s",
                        STR_ARG(client_encode(&x->arena, str_from(name))), rest);
}

int bundle_cli_entries(struct conv_cli *x, struct bundle_entry **ret, size_t *ret_n)
{
    struct err e = {0};
    if (settings_load_bundles(&x->arena, x->config.path, ret, ret_n, &e) < 0)
        return cli_fail(&e);
    return EXIT_DONE;
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

bool bundle_cli_confirm(const char *question, bool is_sure)
{
    char answer[16];
    if (is_sure)
        return true;
    fprintf(stderr, "%s [y/N] ", question);
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

void bundle_cli_print_line(FILE *out, const char *label, str text)
{
    text_print(out, label, 12, text);
}
