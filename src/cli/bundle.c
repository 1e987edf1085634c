/* nb bundle - the group, and what its commands share. */
#include "cli/bundle.h"

#include "bundle/change.h"
#include "bundle/settings.h"
#include "cli/session.h"
#include "cli/text.h"
#include "server/server.h"

#define LINE_MAX_BYTES (64u * 1024)
#define ASK_MS         (BUNDLE_CHANGE_MS + 15000)

static const struct command *const COMMANDS[] = {
    &BUNDLE_LIST,  &BUNDLE_ADD,  &BUNDLE_REMOVE,  &BUNDLE_SEARCH, &BUNDLE_INFO,     &BUNDLE_LOGS,
    &BUNDLE_START, &BUNDLE_STOP, &BUNDLE_RESTART, &BUNDLE_IMPORT, &BUNDLE_VALIDATE, NULL,
};

const struct command CMD_BUNDLE = {
    .name = "bundle",
    .alias = "bundles",
    .usage = "bundle COMMAND [OPTIONS]",
    .summary = "MCP servers: add, remove, look into, start and stop them",
    .help =
        "With a server running, its bundles are meant and changes take effect at once; without\n"
        "one, those of nimblebrain.json. `nb bundle COMMAND --help` says more about each.\n",
    .subs = COMMANDS,
};

bool bundle_cli_served(struct conv_cli *x)
{
    if (!x->client && session_is_served(&x->config))
        x->client = client_open_remote(x->loop, server_socket_path(&x->config, &x->arena));
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

static str command_text(struct arena *a, const struct bundle_entry *b)
{
    struct buf out;
    buf_init(&out, LINE_MAX_BYTES);
    buf_add_str(&out, b->command);
    for (size_t i = 0; i < b->args.len; i++)
        buf_printf(&out, needs_quotes(b->args.items[i]) ? " '%.*s'" : " %.*s",
                   STR_ARG(b->args.items[i]));
    str text = arena_str(a, buf_str(&out));
    buf_done(&out);
    return text;
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

const char *bundle_cli_kind_name(enum bundle_kind k)
{
    static const char *const NAMES[] = {[BUNDLE_NAMED] = "named",
                                        [BUNDLE_LOCAL] = "local",
                                        [BUNDLE_REMOTE] = "remote",
                                        [BUNDLE_COMMAND] = "command",
                                        [BUNDLE_BUILT_IN] = "built-in"};
    return NAMES[k];
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
    struct buf b;
    if (text.n == 0)
        return;
    buf_init(&b, LINE_MAX_BYTES);
    text_add_line(&b, text);
    fprintf(out, "%-12s %s\n", label, buf_cstr(&b));
    buf_done(&b);
}
