/* nb config set, get, clear - values that bundles need. */
#include "bundle/package/package.h"
#include "bundle/package/user_config.h"
#include "bundle/settings/plain_secrets.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "cli/session/client.h"
#include "cli/term/ask.h"
#include "workspace/secrets/credentials.h"

struct config_target {
    const struct bundle_entry *entry;
    const char *dir;
    str slug;
};

static bool config_find(struct cmd *x, struct config_target *ret)
{
    ret->entry = bundle_cli_find(x, x->argv[0]);
    if (!ret->entry)
        return false;
    ret->dir = bundle_cli_credentials(x);
    ret->slug = entry_credentials(&x->arena, ret->entry);
    return true;
}

/* The manifest, if it is installed: then names and types can be checked. */
static bool find_manifest(struct cmd *x, const struct bundle_entry *b, struct manifest *ret)
{
    const char *packages = config_path(&x->config, "apps"), *dir;
    struct err e = {0};
    return package_dir_of(&x->arena, packages, b, &dir, &e) == 0 && dir &&
           package_manifest(&x->arena, dir, ret, &e) == 0;
}

/* A running bundle read its values when it was started, so restart it. */
static void restart(struct cmd *x, const struct bundle_entry *b)
{
    struct json *answer;
    struct err e = {0};
    if (!bundle_cli_served(x))
        return;
    str path = bundle_cli_path(x, arena_cstr(&x->arena, b->server_name), "/restart");
    struct client_ask q = {.method = "POST", .path = path};
    if (client_ask(x->client, &q, &x->arena, &answer, &e) == 0)
        fprintf(stderr, "%.*s is restarted.\n", STR_ARG(b->server_name));
}

static int config_done_with(struct cmd *x, const struct config_target *t, const char *verb, str key)
{
    str name = t->entry->server_name;
    cli_record(&x->config, arena_printf(&x->arena, "bundle.credential_%s", verb).p, name, true,
               key);
    if (!x->cli->opt.is_json)
        printf("%.*s of %.*s is %s.\n", STR_ARG(key), STR_ARG(name),
               strcmp(verb, "set") == 0 ? "set" : "deleted");
    return EXIT_DONE;
}

/* ---- set ---- */

static int read_pair(struct cmd *x, const char *arg, str *ret_key, str *ret_value)
{
    str pair = str_from(arg);
    ptrdiff_t eq = str_find_char(pair, '=');
    if (eq == 0 || pair.n == 0)
        return cli_usage_error("config set: '%s' is not of the form KEY=VALUE", arg);
    if (eq > 0) {
        *ret_key = str_slice(pair, 0, (size_t)eq);
        *ret_value = str_skip(pair, (size_t)eq + 1);
        return EXIT_DONE;
    }
    *ret_key = pair;
    return secret_read(&x->arena, arg, ret_value) ? EXIT_DONE
                                                  : cli_failed("no value for '%s'", arg);
}

static int check_pair(const struct manifest *m, str key, str value)
{
    struct err e = {0};
    const struct manifest_option *o = manifest_option(m, key);
    if (!o) {
        fprintf(stderr, "nb: %.*s has no setting '%.*s'; its settings are:", STR_ARG(m->name),
                STR_ARG(key));
        for (size_t i = 0; i < m->noptions; i++)
            fprintf(stderr, " %.*s", STR_ARG(m->options[i].key));
        fputc('\n', stderr);
        return EXIT_FAILED;
    }
    return user_config_check(o, value, &e) < 0 ? cli_fail(&e) : EXIT_DONE;
}

static bool is_on_command_line(const struct manifest *m, const char *arg, str key)
{
    const struct manifest_option *o = m ? manifest_option(m, key) : NULL;
    bool is_secret = o ? o->is_sensitive || secret_is_name(key) : !m && secret_is_name(key);
    return is_secret && strchr(arg, '=') != NULL;
}

/* env.NAME, header.NAME, auth.token ...: a secret of the entry itself. */
static bool is_place(str key)
{
    return str_starts(key, STR("env.")) || str_starts(key, STR("header.")) ||
           str_starts(key, STR("auth."));
}

static int set_place(struct cmd *x, struct config_target *t, const char *arg)
{
    str place = str_from(arg), value;
    struct err e = {0};
    const struct json *entry;
    if (strchr(arg, '='))
        return cli_usage_error("config set: every user of this machine can read a command line; "
                               "pass only the name, and type the value or pipe it in");
    if (!secret_read(&x->arena, arg, &value))
        return cli_failed("no value for '%s'", arg);
    if (plain_secrets_set(&x->arena, t->dir, t->entry->raw, place, value, &entry, &e) < 0 ||
        settings_replace_bundle(x->config.path, t->entry->server_name, entry, &e) < 0)
        return cli_fail(&e);
    return config_done_with(x, t, "set", place);
}

static int set_one(struct cmd *x, const struct config_target *t, const struct manifest *m,
                   const char *arg)
{
    str key, value;
    struct err e = {0};
    int code = read_pair(x, arg, &key, &value);
    if (code == EXIT_DONE && is_on_command_line(m, arg, key))
        return cli_usage_error(
            "config set: '%.*s' is a secret, and every user of this machine can read a command "
            "line; pass only the key and type the value, or pipe it in",
            STR_ARG(key));
    if (code == EXIT_DONE && m)
        code = check_pair(m, key, value);
    if (code != EXIT_DONE)
        return code;
    struct json v = json_of_str(value);
    if (credentials_set(t->dir, t->slug, key, &v, &e) < 0)
        return cli_fail(&e);
    return config_done_with(x, t, "set", key);
}

static int config_set(struct cmd *x)
{
    struct config_target t;
    struct manifest m;
    int code = EXIT_DONE;
    if (!config_find(x, &t))
        return EXIT_FAILED;
    bool has_manifest = find_manifest(x, t.entry, &m);
    for (int i = 1; code == EXIT_DONE && i < x->argc; i++) {
        code = is_place(str_from(x->argv[i]))
                   ? set_place(x, &t, x->argv[i])
                   : set_one(x, &t, has_manifest ? &m : NULL, x->argv[i]);
        if (code == EXIT_DONE && !config_find(x, &t)) /* the entry may have changed */
            code = EXIT_FAILED;
    }
    if (code == EXIT_DONE)
        restart(x, t.entry);
    return code;
}

static const struct command CONFIG_SET = {
    .name = "set",
    .operands = "BUNDLE KEY[=VALUE]...",
    .summary = "store values that a bundle asks for",
    .help =
        "With KEY alone, reads the value from the terminal without showing it, or from a pipe. It "
        "then appears neither in the list of processes nor in the history of your shell.\n"
        "\n"
        "env.NAME, header.NAME, auth.token, auth.value and auth.clientSecret are secrets of the "
        "entry itself: the value is encrypted, and the settings contain ${sealed} instead.\n",
    .run = config_set,
};

/* ---- get ---- */

static str masked(struct cmd *x, const struct json *v)
{
    str text = v->type == JSON_STRING ? v->s : json_to_str(&x->arena, v);
    return credentials_mask(&x->arena, text);
}

static int config_get(struct cmd *x)
{
    struct config_target t;
    struct json *all;
    struct err e = {0};
    const char *key = x->argc > 1 ? x->argv[1] : NULL;
    if (!config_find(x, &t))
        return EXIT_FAILED;
    if (credentials_load(&x->arena, t.dir, t.slug, &all, &e) < 0)
        return cli_fail(&e);
    if (key && !json_get(all, key))
        return cli_failed("no value is stored for '%s'", key);
    struct json *shown = json_new(&x->arena, JSON_OBJECT);
    for (size_t i = 0; i < all->len; i++)
        if (!key || str_eq(all->members[i].key, str_from(key)))
            json_set(&x->arena, shown, all->members[i].key,
                     json_of_str(masked(x, &all->members[i].value)));
    if (shown->len == 0 || x->cli->opt.is_json)
        return cmd_tell(x, shown, "No value is stored for %s.", x->argv[0]);
    for (size_t i = 0; i < shown->len; i++)
        bundle_cli_print_line(stdout, arena_cstr(&x->arena, shown->members[i].key),
                              shown->members[i].value.s);
    return EXIT_DONE;
}

static const struct command CONFIG_GET = {
    .name = "get",
    .operands = "BUNDLE [KEY]",
    .summary = "list stored values by name, without the values",
    .run = config_get,
};

/* ---- clear ---- */

static int config_clear(struct cmd *x)
{
    struct config_target t;
    struct err e = {0};
    str key = str_from(x->argv[1]);
    if (!config_find(x, &t))
        return EXIT_FAILED;
    if (credentials_set(t.dir, t.slug, key, NULL, &e) < 0)
        return cli_fail(&e);
    int code = config_done_with(x, &t, "clear", key);
    restart(x, t.entry);
    return code;
}

static const struct command CONFIG_CLEAR = {
    .name = "clear",
    .operands = "BUNDLE KEY",
    .summary = "delete a stored value",
    .run = config_clear,
};

static const struct command *const CONFIG_COMMANDS[] = {&CONFIG_SET, &CONFIG_GET, &CONFIG_CLEAR,
                                                        NULL};

const struct command CMD_CONFIG = {
    .name = "config",
    .summary = "set values that bundles ask for: keys, folders",
    .help = "Values are stored in credentials/ of the work directory, where only you can read "
            "them, and passed to the bundle as variables when it starts.\n",
    .needs = NEEDS_PLACE,
    .subs = CONFIG_COMMANDS,
};
