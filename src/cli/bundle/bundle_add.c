/* nb bundle add - adds a bundle from the registry, a path, a URL or a command line. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bundle/entry/package_command.h"
#include "bundle/oauth/oauth.h"
#include "bundle/settings/plain_secrets.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "cli/term/ask.h"
#include "workspace/secrets/credentials.h"

#define ARGS_LOOKED_AT 64

static const struct arg ADD_ARGS[] = {
    {"name", 'n', ARG_STRING, "NAME", "use this name for the bundle and as prefix of its tools"},
    {"url", 0, ARG_STRING, "URL", "connect to a remote server"},
    {"auth", 0, ARG_STRING, "TYPE", "authenticate with oauth, bearer or none (with --url)",
     .choices = "oauth, bearer, none"},
    {"token-stdin", 0, ARG_FLAG, NULL,
     "read the token for --auth bearer from the keyboard or a pipe"},
    {"token-file", 0, ARG_STRING, "FILE", "read that token from a file"},
    {"token", 0, ARG_STRING, "-", "read it from standard input, as --token-stdin does"},
    {"header", 0, ARG_LIST, "K=V", "send this header with every request (may be repeated)"},
    {"header-file", 0, ARG_LIST, "K=FILE", "read a secret header from a file (- is stdin)"},
    {"sse", 0, ARG_FLAG, NULL, "use the older HTTP+SSE transport"},
    {"allow-private", 0, ARG_FLAG, NULL, "allow a URL on this machine or its network"},
    {"env", 'e', ARG_LIST, "K=V", "set a variable of the bundle (may be repeated)"},
    {"env-file", 0, ARG_LIST, "K=FILE", "read a secret variable from a file (- is stdin)"},
    {"allow-env", 0, ARG_LIST, "NAME", "pass on a variable of your environment"},
    {"set", 's', ARG_LIST, "K=V", "set a value that the bundle asks for, as nb config set does"},
    {"set-file", 0, ARG_LIST, "K=FILE", "read such a value from a file (- is stdin)"},
    {"network", 0, ARG_FLAG, NULL, "allow public addresses"},
    {"reach", 0, ARG_LIST, "HOST:PORT", "allow this address, also a private one (may be repeated)"},
    {"read", 0, ARG_LIST, "PATH", "allow reading this path (may be repeated)"},
    {"write", 0, ARG_LIST, "PATH", "allow reading and writing this path (may be repeated)"},
    {"no-sandbox", 0, ARG_FLAG, NULL, "run without a sandbox, with all your rights"},
    {"memory", 0, ARG_INT, "MB", "limit its memory (default: 1024)"},
    {"protected", 0, ARG_FLAG, NULL, "forbid the agent to remove it"},
    {"allow-dir", 0, ARG_LIST, "PATH",
     "grant a directory that its manifest proposes (may be repeated)"},
    {"dry-run", 0, ARG_FLAG, NULL, "show what it may do, and add nothing"},
    {0}};

/* ---- the entry ---- */

struct adding {
    struct cmd *x;
    struct json *entry;
    struct json *values; /* values of --set: an object */
    struct bundle_cli_files files;
    struct inspection inspection; /* for all bundles except remote ones */
    struct npm_package npm;       /* the package that the command runs */
    bool has_inspection, has_npm;
};

static void set_str(struct adding *d, const char *key, const char *value)
{
    if (value)
        json_set(&d->x->arena, d->entry, str_from(key), json_of_str(str_from(value)));
}

/* "K=V" pairs of --`option`, and "K=FILE" pairs of --`option`-file. */
static int add_pairs(struct adding *d, struct json *obj, const char *option,
                     const struct arg_list *list, bool is_file)
{
    struct arena *a = &d->x->arena;
    struct err e = {0};
    for (size_t i = 0; i < list->len; i++) {
        str pair = str_from(list->items[i]);
        ptrdiff_t eq = str_find_char(pair, '=');
        if (eq <= 0)
            return cli_usage_error("bundle add: '%s' is not of the form KEY=VALUE", list->items[i]);
        str name = str_slice(pair, 0, (size_t)eq), value = str_skip(pair, (size_t)eq + 1);
        if (is_file && secret_read_file(a, arena_cstr(a, value), &value, &e) < 0)
            return cli_fail(&e);
        if (!is_file && secret_is_name(name))
            return cli_usage_error("--%s %.*s=...: every user of this machine may read a command "
                                   "line; use --%s-file %.*s=FILE (- reads stdin)",
                                   option, STR_ARG(name), option, STR_ARG(name));
        json_set(a, obj, name, json_of_str(value));
    }
    return EXIT_DONE;
}

/* Converts pairs to an object; a usage error when one has no '='. */
static int set_pairs(struct adding *d, struct json *into, const char *key, const char *option,
                     const struct arg_list *list, const struct arg_list *files)
{
    struct arena *a = &d->x->arena;
    struct json *obj = json_new(a, JSON_OBJECT);
    int code = add_pairs(d, obj, option, list, false);
    if (code == EXIT_DONE)
        code = add_pairs(d, obj, option, files, true);
    if (code != EXIT_DONE)
        return code;
    if (obj->len > 0)
        json_set(a, into, str_from(key), *obj);
    return EXIT_DONE;
}

static void set_list(struct adding *d, struct json *into, const char *key,
                     const struct arg_list *list)
{
    struct json *arr = json_new(&d->x->arena, JSON_ARRAY);
    for (size_t i = 0; i < list->len; i++)
        json_push(&d->x->arena, arr, json_of_str(str_from(list->items[i])));
    if (arr->len > 0)
        json_set(&d->x->arena, into, str_from(key), *arr);
}

/* A package of npm is installed before the start; the other runners download it when they start. */
static bool downloads_at_start(const struct json *entry)
{
    struct package_command c;
    const struct json *args = json_get(entry, "args");
    str items[ARGS_LOOKED_AT];
    struct json_strs list = {items, 0};
    for (size_t i = 0; args && i < args->len && i < ARGS_LOOKED_AT; i++)
        items[list.len++] = json_string(json_at(args, i), STR_NONE);
    str command = json_get_string(entry, "command");
    return command_fetches(command) &&
           !(package_command_parse(command, &list, &c) && c.source == PACKAGE_NPM);
}

static void set_sandbox(struct adding *d)
{
    struct arena *a = &d->x->arena;
    struct json *s = json_new(a, JSON_OBJECT);
    if (cmd_flag(d->x, "no-sandbox")) {
        set_str(d, "sandbox", "off");
        return;
    }
    bool has_network = cmd_flag(d->x, "network");
    set_list(d, s, "network", cmd_opts(d->x, "reach"));
    if (cmd_opts(d->x, "reach")->len == 0 && !has_network)
        has_network = downloads_at_start(d->entry);
    if (has_network && cmd_opts(d->x, "reach")->len > 0)
        json_push(a, json_get(s, "network"), json_of_str(STR("public")));
    else if (has_network)
        json_set(a, s, STR("network"), json_of_bool(true));
    set_list(d, s, "read", cmd_opts(d->x, "read"));
    set_list(d, s, "write", cmd_opts(d->x, "write"));
    if (s->len > 0)
        json_set(a, d->entry, STR("sandbox"), *s);
}

/* A token is never read from the command line. */
static int read_token(struct cmd *x, str *ret)
{
    const char *token = cmd_opt_or(x, "token", "-"), *file = cmd_opt(x, "token-file");
    struct err e = {0};
    if (strcmp(token, "-") != 0)
        return cli_usage_error("--token: every user of this machine may read a command line; use "
                               "--token-stdin or --token-file FILE");
    if (cmd_flag(x, "token-stdin") || cmd_opt(x, "token"))
        return secret_read(&x->arena, "Token", ret)
                   ? EXIT_DONE
                   : cli_usage_error("--token-stdin: standard input is empty");
    if (!file)
        return cli_usage_error("--auth bearer needs --token-stdin or --token-file FILE");
    return secret_read_file(&x->arena, file, ret, &e) < 0 ? cli_fail(&e) : EXIT_DONE;
}

static int set_auth(struct adding *d, struct json *transport)
{
    struct cmd *x = d->x;
    bool has_token = cmd_opt(x, "token") || cmd_opt(x, "token-file") || cmd_flag(x, "token-stdin");
    str type = str_from(cmd_opt_or(x, "auth", has_token ? "bearer" : "none")), token;
    if (str_eq(type, STR("none")))
        return EXIT_DONE;
    struct json *auth = cmd_object(x, {STR("type"), json_of_str(type)});
    if (str_eq(type, STR("bearer"))) {
        int code = read_token(x, &token);
        if (code != EXIT_DONE)
            return code;
        json_set(&x->arena, auth, STR("token"), json_of_str(token));
    }
    json_set(&x->arena, transport, STR("auth"), *auth);
    return EXIT_DONE;
}

static int set_remote(struct adding *d, const char *url)
{
    struct arena *a = &d->x->arena;
    struct json *transport = json_new(a, JSON_OBJECT);
    set_str(d, "url", url);
    if (cmd_flag(d->x, "sse"))
        json_set(a, transport, STR("type"), json_of_str(STR("sse")));
    int code = set_auth(d, transport);
    if (code == EXIT_DONE)
        code = set_pairs(d, transport, "headers", "header", cmd_opts(d->x, "header"),
                         cmd_opts(d->x, "header-file"));
    if (transport->len > 0)
        json_set(a, d->entry, STR("transport"), *transport);
    if (cmd_flag(d->x, "allow-private"))
        json_set(a, d->entry, STR("allowPrivate"), json_of_bool(true));
    return code;
}

static bool is_package_path(const char *arg)
{
    struct stat st;
    return str_ends(str_from(arg), STR(".mcpb")) || (stat(arg, &st) == 0 && S_ISDIR(st.st_mode));
}

/* A program path is relative to the current directory, not to the settings file. */
static int set_command(struct adding *d, int argc, char **argv)
{
    struct arena *a = &d->x->arena;
    char real[PATH_MAX];
    struct json *args = json_new(a, JSON_ARRAY);
    bool is_path = strchr(argv[0], '/') != NULL;
    if (is_path && !realpath(argv[0], real))
        return cli_failed("%s does not exist", argv[0]);
    json_set(a, d->entry, STR("command"),
             json_of_str(arena_str(a, str_from(is_path ? real : argv[0]))));
    for (int i = 1; i < argc; i++)
        json_push(a, args, json_of_str(str_from(argv[i])));
    if (args->len > 0)
        json_set(a, d->entry, STR("args"), *args);
    return EXIT_DONE;
}

static int set_source(struct adding *d, int argc, char **argv)
{
    char real[PATH_MAX];
    str first = argc > 0 ? str_from(argv[0]) : STR_NONE;
    if (cmd_opt(d->x, "url"))
        return argc == 0 ? set_remote(d, cmd_opt(d->x, "url"))
                         : cli_usage_error("bundle add: pass --url or '%s', not both", argv[0]);
    if (argc == 0)
        return cli_usage_error("bundle add: name a package, a path, a URL or a command");
    if (argc == 1 && (str_starts(first, STR("https://")) || str_starts(first, STR("http://"))))
        return set_remote(d, argv[0]);
    if (argc == 1 && first.p[0] == '@') {
        set_str(d, "name", argv[0]);
    } else if (argc == 1 && is_package_path(argv[0])) {
        if (!realpath(argv[0], real))
            return cli_failed("%s does not exist", argv[0]);
        set_str(d, "path", arena_cstr(&d->x->arena, str_from(real)));
    } else {
        return set_command(d, argc, argv);
    }
    return EXIT_DONE;
}

static int make_entry(struct adding *d, int argc, char **argv)
{
    struct arena *a = &d->x->arena;
    int code = set_source(d, argc, argv);
    if (code == EXIT_DONE)
        code =
            set_pairs(d, d->entry, "env", "env", cmd_opts(d->x, "env"), cmd_opts(d->x, "env-file"));
    if (code != EXIT_DONE)
        return code;
    set_str(d, "serverName", cmd_opt(d->x, "name"));
    set_list(d, d->entry, "allowedEnv", cmd_opts(d->x, "allow-env"));
    set_sandbox(d);
    if (cmd_int(d->x, "memory") > 0)
        json_set(a, d->entry, STR("memoryMb"), json_of_int(cmd_int(d->x, "memory")));
    if (cmd_flag(d->x, "protected"))
        json_set(a, d->entry, STR("protected"), json_of_bool(true));
    return EXIT_DONE;
}

/* ---- consent ---- */

/* Collects entry, package and questions before anything is written. */
static int bundle_add_decode(struct adding *d, struct bundle_entry *ret)
{
    struct cmd *x = d->x;
    struct err e = {0};
    if (bundle_entry_decode(&x->arena, d->entry, "/", ret, &e) < 0 ||
        (ret->kind == BUNDLE_REMOTE &&
         bundle_entry_check_url(ret, x->config.allow_insecure_remotes, &e) < 0))
        return cli_fail(&e);
    return EXIT_DONE;
}

static int inspect(struct adding *d, const struct bundle_entry *b)
{
    struct err e = {0};
    struct bundle_cli_question q = {b, d->files.dir, d->values, d->has_npm ? &d->npm : NULL};
    return bundle_cli_inspect(d->x, &q, &d->inspection, &e) < 0 ? cli_fail(&e) : EXIT_DONE;
}

/* Granted directories are values of the entry, because they are not secret and apply to all
 * users. */
static int ask_proposals(struct adding *d, struct bundle_entry *b)
{
    struct arena *a = &d->x->arena;
    struct json *granted = json_new(a, JSON_OBJECT);
    bool may_ask = d->x->cli->is_tty_in && !d->x->cli->opt.is_sure && !cmd_flag(d->x, "dry-run");
    int code = bundle_cli_ask_proposals(d->x, &d->inspection, cmd_opts(d->x, "allow-dir"), may_ask,
                                        granted);
    if (code != EXIT_DONE || granted->len == 0)
        return code;
    json_set(a, d->entry, STR("userConfig"), *granted);
    code = bundle_add_decode(d, b);
    return code == EXIT_DONE ? inspect(d, b) : code;
}

/* The exact version is looked up now and written into the entry; it changes only with nb bundle
 * update. Nothing is downloaded or run before the question. */
static int pin_npm(struct adding *d, struct bundle_entry *b)
{
    struct package_command c;
    struct err e = {0};
    d->has_npm = npm_is_wanted(b, &c);
    if (!d->has_npm)
        return EXIT_DONE;
    if (bundle_cli_npm_resolve(d->x, b, &d->npm, &e) < 0)
        return cli_fail(&e);
    struct arena *a = &d->x->arena;
    json_set(a, d->entry, STR("pinned"), *bundle_cli_pinned(a, &d->npm.pin));
    return bundle_add_decode(d, b);
}

static int pin_uvx(struct adding *d, struct bundle_entry *b)
{
    bool has_changed;
    struct err e = {0};
    if (bundle_cli_uvx_pin(d->x, b, d->entry, &has_changed, &e) < 0)
        return cli_fail(&e);
    return has_changed ? bundle_add_decode(d, b) : EXIT_DONE;
}

static int bundle_add_look(struct adding *d, struct bundle_entry *b)
{
    struct cmd *x = d->x;
    struct err e = {0};
    if (bundle_cli_find_files(x, b, &d->files, &e) < 0)
        return cli_fail(&e);
    if (d->files.version.n > 0) { /* this version stays until nb bundle update */
        json_set(&x->arena, d->entry, STR("version"), json_of_str(d->files.version));
        int code = bundle_add_decode(d, b);
        if (code != EXIT_DONE)
            return code;
    }
    int code = pin_npm(d, b);
    if (code == EXIT_DONE)
        code = pin_uvx(d, b);
    if (code == EXIT_DONE)
        code = inspect(d, b);
    return code == EXIT_DONE ? ask_proposals(d, b) : code;
}

static int show_only(struct adding *d)
{
    if (!cmd_json(d->x, bundle_cli_inspection_json(d->x, &d->inspection)))
        bundle_cli_show(d->x, stdout, &d->inspection);
    return EXIT_DONE;
}

/* ---- adding ---- */

struct values { /* values of --set */
    const char *dir;
    str slug;
    const struct json *before; /* values that were stored before */
    const struct json *given;
};

static int store_values(const struct values *v)
{
    for (size_t i = 0; i < v->given->len; i++) {
        struct err e = {0};
        const struct json_member *m = &v->given->members[i];
        if (credentials_set(v->dir, v->slug, m->key, &m->value, &e) < 0)
            return cli_fail(&e);
    }
    return EXIT_DONE;
}

static void put_back(const struct values *v, str key)
{
    struct err e = {0};
    int rc = credentials_set(v->dir, v->slug, key, json_get_str(v->before, key), &e);
    if (rc < 0 && rc != -ENOENT)
        (void)cli_fail(&e);
}

/* If the bundle was not added, remove everything that was stored, secrets above all. */
static void take_values_back(const struct values *v)
{
    struct err e = {0};
    if (v->before->len == 0) {
        if (credentials_remove(v->dir, v->slug, &e) < 0)
            (void)cli_fail(&e);
        return;
    }
    for (size_t i = 0; i < v->given->len; i++)
        put_back(v, v->given->members[i].key);
    put_back(v, STR(OAUTH_CREDENTIAL));
}

static void print_added(struct adding *d, struct json *answer)
{
    if (d->has_inspection)
        json_set(&d->x->arena, answer, STR("grants"),
                 *bundle_cli_inspection_json(d->x, &d->inspection));
    cmd_print_json(answer);
}

/* The prefix of its tools: for a folder, the folder's name, not the name in its manifest. */
static void print_running(str name, str status, int64_t tools)
{
    printf("%.*s is %.*s with %lld tool%s", STR_ARG(name), STR_ARG(status), (long long)tools,
           tools == 1 ? "" : "s");
    printf(tools > 0 ? ", named %.*s__*.\n" : ".\n", STR_ARG(name));
}

static int add_running(struct adding *d)
{
    struct json *app = cmd_ask(d->x, "POST", STR("/v1/apps/install"), d->entry, NULL);
    if (!app)
        return EXIT_FAILED;
    if (d->x->cli->opt.is_json)
        print_added(d, app);
    else
        print_running(json_get_string(app, "name"), json_get_string(app, "status"),
                      json_get_int(app, "toolCount", 0));
    return EXIT_DONE;
}

static int add_entry(struct adding *d, const struct bundle_entry *b)
{
    struct cmd *x = d->x;
    struct err e = {0};
    const struct json *sealed;
    if (plain_secrets_seal(&x->arena, bundle_cli_credentials(x), d->entry, &sealed, &e) < 0 ||
        settings_add_bundle(x->config.path, sealed, &e) < 0)
        return cli_fail(&e);
    cli_record(&x->config, "bundle.install", b->server_name, true, STR_NONE);
    if (x->cli->opt.is_json)
        print_added(d, bundle_cli_masked(&x->arena, d->entry));
    else
        printf("%.*s is in %s and starts with the next nb or nb serve.\n", STR_ARG(b->server_name),
               x->config.path);
    return EXIT_DONE;
}

/* Checked before values are stored, because they could replace those of the existing bundle. */
static int check_is_new(struct cmd *x, const struct bundle_entry *b)
{
    struct bundle_entry *all;
    size_t n;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE || !bundle_cli_entry_named(all, n, b->server_name))
        return code;
    return cli_failed("a bundle '%.*s' is installed already", STR_ARG(b->server_name));
}

/* The pairs of --set, and those of --set-file with the contents of the files. */
static int read_values(struct adding *d)
{
    d->values = json_new(&d->x->arena, JSON_OBJECT);
    int code = add_pairs(d, d->values, "set", cmd_opts(d->x, "set"), false);
    return code == EXIT_DONE ? add_pairs(d, d->values, "set", cmd_opts(d->x, "set-file"), true)
                             : code;
}

/* Store the values first, because the start needs them. */
static int add_with_values(struct adding *d, const struct bundle_entry *b)
{
    struct cmd *x = d->x;
    struct json *before;
    struct err e = {0};
    struct values v = {
        .dir = bundle_cli_credentials(x),
        .slug = entry_credentials(&x->arena, b),
        .given = d->values,
    };
    if (credentials_load(&x->arena, v.dir, v.slug, &before, &e) < 0)
        return cli_fail(&e);
    v.before = before;
    int code = store_values(&v);
    if (code == EXIT_DONE && b->oauth.is_on)
        code = bundle_cli_sign_in(x, b, &(struct sign_in_how){0});
    if (code == EXIT_DONE)
        code = bundle_cli_served(x) ? add_running(d) : add_entry(d, b);
    if (code != EXIT_DONE)
        take_values_back(&v);
    return code;
}

static int bundle_add_prepare(struct adding *d, struct bundle_entry *b, int argc, char **argv)
{
    int code = make_entry(d, argc, argv);
    if (code == EXIT_DONE)
        code = read_values(d);
    if (code == EXIT_DONE)
        code = bundle_add_decode(d, b);
    if (code == EXIT_DONE)
        code = check_is_new(d->x, b);
    d->has_inspection = b->kind != BUNDLE_REMOTE && b->kind != BUNDLE_BUILT_IN;
    return code == EXIT_DONE && d->has_inspection ? bundle_add_look(d, b) : code;
}

static int bundle_add(struct cmd *x)
{
    struct adding d = {.x = x, .entry = json_new(&x->arena, JSON_OBJECT)};
    struct bundle_entry b = {0};
    struct err e = {0};
    bool is_remote = cmd_opt(x, "url") || (x->argc == 1 && strncmp(x->argv[0], "http", 4) == 0);
    if (!cmd_flag(x, "dry-run") && x->argc > 0 && !is_remote && !cmd_may_ask(x))
        return cmd_confirm(x, NULL, NULL);
    int code = bundle_add_prepare(&d, &b, x->argc, x->argv);
    if (code != EXIT_DONE)
        return code;
    if (cmd_flag(x, "dry-run"))
        return d.has_inspection ? show_only(&d) : EXIT_DONE;
    if (d.has_inspection) {
        bundle_cli_show(x, stderr, &d.inspection);
        code = cmd_confirm(x, "Run this on this machine?", "Nothing was added.");
    }
    if (code != EXIT_DONE)
        return code;
    if (d.has_npm && bundle_cli_npm_install(x, &b, &e) < 0)
        return cli_fail(&e);
    return add_with_values(&d, &b);
}

const struct command BUNDLE_ADD = {
    .name = "add",
    .operands = "[@SCOPE/PACKAGE[@VERSION]|PATH|URL|COMMAND] [ARG...]",
    .summary = "add a bundle, after showing what it may do",
    .help = "  nb bundle add @scope/package      a package of the registry\n"
            "  nb bundle add ./notes.mcpb        an archive, or a folder with manifest.json\n"
            "  nb bundle add --name files --read ~/notes -- npx -y some-server ~/notes\n"
            "  nb bundle add --url https://x.io/mcp --name x --auth bearer --token-stdin\n"
            "\n"
            "Shows the command, its variables, paths and network and asks before it installs "
            "anything; --dry-run shows them and adds nothing. Asks for each directory that a "
            "manifest proposes; --yes grants none of them, --allow-dir PATH grants one.\n"
            "\n"
            "Programs run in a sandbox: without --network, --reach, --read and --write they reach "
            "neither the network nor your files. uvx and similar commands get the network. A "
            "package of npx is installed now, in one exact version, and later started without npx. "
            "With a running server the bundle is started immediately, and removed again if it does "
            "not start.\n",
    .args = ADD_ARGS,
    .yes = "do not ask; grant no proposed directory",
    .run = bundle_add,
};
