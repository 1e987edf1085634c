#include <errno.h>

#include "base/nearest.h"
#include "bundle/entry/entry_impl.h"
#include "bundle/entry/package_command.h"
#include "net/url.h"

#define PATH_TEXT_MAX 256 /* for a position in the settings: "bundles[12].transport.auth" */
#define MEMORY_MB_MAX (1024 * 1024)
#define DISK_MB_MAX   (1024 * 1024 * 1024)

const char *bundle_kind_name(enum bundle_kind k)
{
    static const char *const NAMES[] = {[BUNDLE_NAMED] = "named",
                                        [BUNDLE_LOCAL] = "local",
                                        [BUNDLE_REMOTE] = "remote",
                                        [BUNDLE_COMMAND] = "command",
                                        [BUNDLE_BUILT_IN] = "built-in"};
    return NAMES[k];
}

/* ---- the entry's shape ---- */

#define AT(member) offsetof(struct entry_document, member)

static const struct json_field RECONNECT_FIELDS[] = {
    {"initialReconnectionDelay", JF_INT, AT(out.reconnect_initial_ms), 0, NULL, 0,
     "The first pause in milliseconds."},
    {"maxReconnectionDelay", JF_INT, AT(out.reconnect_max_ms), 0, NULL, 0,
     "The longest pause in milliseconds."},
    {"maxRetries", JF_INT, AT(out.reconnect_tries), 0, NULL, 0, "How often it is tried."},
    {0}};

static const struct json_field TRANSPORT_FIELDS[] = {
    {"type", JF_STR, AT(transport_type), 0, NULL, 0, "The kind of connection."},
    {"auth", JF_JSON_OBJECT, AT(auth), JF_NULLABLE, NULL, 0, "How nb authenticates at the server."},
    {"headers", JF_JSON_OBJECT, AT(headers), JF_NULLABLE, NULL, 0, "Headers of each request."},
    {"sessionId", JF_STR, AT(session_id), JF_NULLABLE, NULL, 0, "A session to continue."},
    {"reconnection", JF_OBJECT, 0, JF_NULLABLE, RECONNECT_FIELDS, 0,
     "How a lost connection is made again."},
    {0}};

static const struct json_field PINNED_FIELDS[] = {
    {"package", JF_STR, AT(pinned_package), 0, NULL, 0, "The exact package."},
    {"integrity", JF_STR, AT(out.pinned.integrity), 0, NULL, 0, "Its checksum."},
    {0}};

const struct json_field BUNDLE_ENTRY_FIELDS[] = {
    {"name", JF_STR, AT(out.name), 0, NULL, 0, "A package of the registry,"},
    {"version", JF_STR, AT(out.version), 0, NULL, 0, "and its version; absent: the newest."},
    {"path", JF_STR, AT(out.path), 0, NULL, 0,
     "Instead: a directory or archive on the server's machine; only for its owner."},
    {"url", JF_STR, AT(out.url), 0, NULL, 0, "Instead: the address of a remote server."},
    {"command", JF_STR, AT(out.command), 0, NULL, 0,
     "Instead: a program to start; only for the owner of the server's machine."},
    {"args", JF_STRS, AT(out.args), 0, NULL, 0, "Its arguments."},
    {"cwd", JF_STR, AT(out.cwd), 0, NULL, 0, "Its directory."},
    {"pinned", JF_OBJECT, 0, JF_NULLABLE, PINNED_FIELDS, 0,
     "The exact package that was installed."},
    {"serverName", JF_STR, AT(out.server_name), 0, NULL, 0,
     "The name in this workspace; absent: made from the package."},
    {"transport", JF_OBJECT, 0, JF_NULLABLE, TRANSPORT_FIELDS, 0,
     "How a remote server is reached."},
    {"env", JF_JSON_OBJECT, AT(env), JF_NULLABLE, NULL, 0, "Variables of its environment."},
    {"allowedEnv", JF_STRS, AT(out.allowed_env), JF_NULLABLE, NULL, 0,
     "Variables of nb's own environment that it gets."},
    {"protected", JF_BOOL, AT(out.is_protected), 0, NULL, 0, "It cannot be removed."},
    {"disabled", JF_BOOL, AT(out.is_disabled), 0, NULL, 0, "It is not started."},
    {"trustScore", JF_INT, AT(out.trust_score), JF_NULLABLE, NULL, 0, "The registry's score."},
    {"ui", JF_JSON_OBJECT, AT(out.ui), JF_NULLABLE, NULL, 0, "What the app shows on the page."},
    {"userConfig", JF_JSON_OBJECT, AT(out.user_config), JF_NULLABLE, NULL, 0,
     "Values for the questions of its manifest."},
    {"sandbox", JF_JSON, AT(sandbox), JF_NULLABLE, NULL, 0,
     "What it may reach; docs/bundles.md has the members."},
    {"tools", JF_STR, AT(tools), 0, NULL, 0, "When its tools are offered."},
    {"memoryMb", JF_INT, AT(out.memory_mb), 0, NULL, 0, "The limit of its memory."},
    {"diskMb", JF_INT, AT(out.disk_mb), 0, NULL, 0, "The limit of its directory."},
    {"allowPrivate", JF_BOOL, AT(out.allow_private), 0, NULL, 0,
     "A remote server may be in a private network."},
    {0}};

static const struct json_field SANDBOX_FIELDS[] = {
    {"network", JF_JSON, AT(network), 0, NULL, 0},
    {"read", JF_STRS, AT(out.sandbox.read), 0, NULL, 0},
    {"write", JF_STRS, AT(out.sandbox.write), 0, NULL, 0},
    {0}};

int entry_refuse(struct entry_decoder *d, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    const char *dot = *d->at && *field ? "." : "";
    const char *colon = *d->at || *field ? ": " : "";
    return err_set(d->e, -EINVAL, "%s%s%s%s%.*s", d->at, dot, field, colon, STR_ARG(text));
}

static const char *below(struct entry_decoder *d, const char *field)
{
    return arena_printf(d->arena, "%s%s%s", d->at, *d->at ? "." : "", field).p;
}

static void note_unknown_key(void *ctx, const char *path, const char *meant)
{
    struct entry_decoder *d = ctx;
    if (d->unknown.code < 0)
        return;
    err_set(&d->unknown, -EINVAL, "%s: a bundle has no such setting", path);
    nearest_hint(&d->unknown, meant);
}

bool entry_has_control(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return true;
    return false;
}

static bool has_nul(str s)
{
    return str_find_char(s, 0) >= 0;
}

int entry_decode_pairs(struct entry_decoder *d, const char *field, const struct json *obj,
                       struct bundle_pair **ret, size_t *ret_n)
{
    size_t n = obj ? obj->len : 0;
    struct bundle_pair *pairs = arena_array(d->arena, n, sizeof *pairs);
    for (size_t i = 0; i < n; i++) {
        const struct json_member *m = &obj->members[i];
        if (m->value.type != JSON_STRING)
            return entry_refuse(d, field, "the value of '%.*s' must be a string", STR_ARG(m->key));
        if (has_nul(m->value.s))
            return entry_refuse(d, field, "the value of '%.*s' contains a NUL byte",
                                STR_ARG(m->key));
        pairs[i] = (struct bundle_pair){m->key, m->value.s};
    }
    *ret = pairs;
    *ret_n = n;
    return 0;
}

/* ---- environment ---- */

static bool is_env_name(str s)
{
    return s.n > 0 && str_is_made_of(s, "_") && !(s.p[0] >= '0' && s.p[0] <= '9');
}

bool bundle_env_is_own(str name)
{
    static const char *const OWN[] = {"NB_API_KEY", "NB_INTERNAL_TOKEN", NULL};
    return str_in_cstrs(name, OWN);
}

static int decode_env(struct entry_decoder *d)
{
    struct bundle_entry *out = d->out;
    int r = entry_decode_pairs(d, "env", d->doc.env, &out->env, &out->nenv);
    for (size_t i = 0; r == 0 && i < out->nenv; i++)
        if (!is_env_name(out->env[i].key))
            r = entry_refuse(d, "env", "'%.*s' is not a valid variable name",
                             STR_ARG(out->env[i].key));
    for (size_t i = 0; r == 0 && i < out->allowed_env.len; i++) {
        str name = out->allowed_env.items[i];
        if (!is_env_name(name))
            r = entry_refuse(d, "allowedEnv", "'%.*s' is not a valid variable name", STR_ARG(name));
        else if (bundle_env_is_own(name))
            r = entry_refuse(d, "allowedEnv",
                             "%.*s is a key of nb itself, which nb never passes to a bundle",
                             STR_ARG(name));
    }
    return r;
}

/* ---- the sandbox ---- */

static int check_sandbox_paths(struct entry_decoder *d, const char *field, struct json_strs paths)
{
    for (size_t i = 0; i < paths.len; i++) {
        str p = paths.items[i];
        bool is_home = str_eq(p, STR("~")) || str_starts(p, STR("~/"));
        if ((!is_home && !str_starts(p, STR("/"))) || has_nul(p))
            return entry_refuse(d, field, "'%.*s' must start with / or ~/", STR_ARG(p));
    }
    return 0;
}

static int decode_sandbox(struct entry_decoder *d)
{
    const struct json *v = d->doc.sandbox;
    struct bundle_sandbox *s = &d->out->sandbox;
    if (!v)
        return 0;
    if (v->type == JSON_STRING && str_eq(v->s, STR("off"))) {
        s->is_off = true;
        return 0;
    }
    if (v->type != JSON_OBJECT)
        return entry_refuse(d, "sandbox", "expected \"off\" or an object {network, read, write}");
    int r = json_decode(d->arena, v, SANDBOX_FIELDS, &d->doc, below(d, "sandbox"), note_unknown_key,
                        d, d->e);
    if (r == 0)
        r = entry_decode_network(d, d->doc.network);
    if (r == 0)
        r = check_sandbox_paths(d, "sandbox.read", s->read);
    return r < 0 ? r : check_sandbox_paths(d, "sandbox.write", s->write);
}

/* ---- which of the four kinds ---- */

static int decode_kind(struct entry_decoder *d)
{
    const struct bundle_entry *out = d->out;
    const struct {
        const char *key;
        str value;
        enum bundle_kind kind;
    } SOURCES[] = {
        {"name", out->name, BUNDLE_NAMED},
        {"path", out->path, BUNDLE_LOCAL},
        {"url", out->url, BUNDLE_REMOTE},
        {"command", out->command, BUNDLE_COMMAND},
    };
    const char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++) {
        if (!json_get(out->raw, SOURCES[i].key))
            continue;
        if (found)
            return entry_refuse(
                d, "",
                "has both '%s' and '%s': keep the one that says where the bundle "
                "comes from ('name' is a package of the registry; the prefix of its "
                "tools is 'serverName')",
                found, SOURCES[i].key);
        if (SOURCES[i].value.n == 0 || entry_has_control(SOURCES[i].value))
            return entry_refuse(d, SOURCES[i].key, "is empty or contains control characters");
        found = SOURCES[i].key;
        d->out->kind = SOURCES[i].kind;
    }
    return found ? 0 : entry_refuse(d, "", "needs one of name, path, url or command");
}

/* Keys that are valid for one kind only. */
static int check_applicable(struct entry_decoder *d)
{
    static const struct {
        const char *key;
        enum bundle_kind kind;
        const char *with;
    } ONLY[] = {
        {"version", BUNDLE_NAMED, "name"},      {"args", BUNDLE_COMMAND, "command"},
        {"cwd", BUNDLE_COMMAND, "command"},     {"transport", BUNDLE_REMOTE, "url"},
        {"allowPrivate", BUNDLE_REMOTE, "url"}, {"pinned", BUNDLE_COMMAND, "command"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ONLY); i++)
        if (json_get(d->out->raw, ONLY[i].key) && d->out->kind != ONLY[i].kind)
            return entry_refuse(d, ONLY[i].key, "is only valid together with '%s'", ONLY[i].with);
    return 0;
}

static bool is_package_part(str s)
{
    return s.n > 0 && str_is_made_of(s, "-_.") && s.p[0] != '.';
}

/* "@scope/package" or "@scope/package@1.2.3". */
static int decode_package(struct entry_decoder *d)
{
    str name = d->out->name, version = d->out->version;
    ptrdiff_t at = str_rfind_char(name, '@'), slash = str_find_char(name, '/');
    if (at > 0) {
        if (version.n > 0)
            return entry_refuse(d, "version", "is also part of the name");
        version = str_skip(name, (size_t)at + 1);
        name = str_slice(name, 0, (size_t)at);
        if (!is_package_part(version))
            return entry_refuse(d, "name", "'%.*s' is not a version", STR_ARG(version));
    }
    bool is_fine = name.p[0] == '@' && slash > 1 &&
                   is_package_part(str_slice(name, 1, (size_t)slash)) &&
                   is_package_part(str_skip(name, (size_t)slash + 1));
    if (!is_fine)
        return entry_refuse(d, "name", "'%.*s' is not of the form @scope/package", STR_ARG(name));
    if (version.n > 0 && !is_package_part(version))
        return entry_refuse(d, "version", "'%.*s' is not a version", STR_ARG(version));
    d->out->name = name;
    d->out->version = str_eq(version, STR("latest")) ? STR_NONE : version;
    return 0;
}

static str absolute_path(struct entry_decoder *d, str path)
{
    if (path.n > 0 && path.p[0] == '/')
        return path;
    if (str_starts(path, STR("./")))
        path = str_skip(path, 2);
    return arena_printf(d->arena, "%s/%.*s", d->base_dir, STR_ARG(path));
}

/* The pin must be for the package that the command names. */
static int decode_pinned(struct entry_decoder *d)
{
    struct npm_pin *p = &d->out->pinned;
    struct package_command c;
    str package = d->doc.pinned_package;
    if (package.n == 0 && p->integrity.n == 0)
        return 0;
    if (!package_spec_split(package, &p->name, &p->version) || p->version.n == 0 ||
        str_find_char(p->version, ' ') >= 0)
        return entry_refuse(d, "pinned.package", "'%.*s' is not of the form NAME@VERSION",
                            STR_ARG(package));
    if (!package_command_parse(d->out->command, &d->out->args, &c) || !str_eq(c.name, p->name))
        return entry_refuse(d, "pinned.package", "%.*s is not the package of the command",
                            STR_ARG(p->name));
    return p->integrity.n > 0 ? 0 : entry_refuse(d, "pinned.integrity", "is missing");
}

static int decode_command(struct entry_decoder *d)
{
    struct bundle_entry *out = d->out;
    /* A name without a slash is looked up in PATH; a name with a slash is a file relative to the
     * settings. */
    if (str_find_char(out->command, '/') >= 0)
        out->command = absolute_path(d, out->command);
    for (size_t i = 0; i < out->args.len; i++)
        if (has_nul(out->args.items[i]))
            return entry_refuse(d, "args", "argument %zu contains a NUL byte", i + 1);
    if (out->cwd.n > 0)
        out->cwd = absolute_path(d, out->cwd);
    return decode_pinned(d);
}

static int decode_source(struct entry_decoder *d)
{
    switch (d->out->kind) {
    case BUNDLE_NAMED:
        return decode_package(d);
    case BUNDLE_LOCAL:
        d->out->path = absolute_path(d, d->out->path);
        return 0;
    case BUNDLE_REMOTE:
        return entry_decode_remote(d);
    default:
        return decode_command(d);
    }
}

/* ---- its name ---- */

static str default_name(const struct entry_decoder *d)
{
    const struct bundle_entry *out = d->out;
    struct url u;
    str s = STR_NONE;
    if (out->kind == BUNDLE_NAMED)
        s = out->name;
    else if (out->kind == BUNDLE_LOCAL)
        s = bundle_last_segment(out->path);
    else if (out->kind == BUNDLE_COMMAND)
        s = bundle_last_segment(out->command);
    else if (url_parse(out->url, &u, NULL) == 0)
        s = u.host;
    if (out->kind == BUNDLE_LOCAL && str_ends(s, STR(".mcpb")))
        s.n -= strlen(".mcpb");
    return s;
}

/* Programs that run other programs would all give the same name. */
static bool is_runner(str command)
{
    static const char *const RUNNERS[] = {"node",    "npx",    "bunx",   "bun",  "deno", "python",
                                          "python3", "uv",     "uvx",    "pipx", "env",  "sh",
                                          "bash",    "docker", "podman", "java", "ruby", NULL};
    return str_in_cstrs(bundle_last_segment(command), RUNNERS);
}

/* The prefix for a derived name that is reserved: the scope of a package, or the kind. */
static str name_prefix(const struct bundle_entry *b)
{
    ptrdiff_t slash = str_find_char(b->name, '/');
    if (b->kind == BUNDLE_NAMED && slash > 1)
        return str_slice(b->name, 1, (size_t)slash);
    return str_from(bundle_kind_name(b->kind));
}

bool bundle_entry_is_bash(const struct bundle_entry *b)
{
    return b->kind == BUNDLE_NAMED && str_eq(b->name, STR(BUNDLE_BASH_PACKAGE));
}

static int decode_name(struct entry_decoder *d)
{
    struct err e = {0};
    str given = d->out->server_name;
    if (json_get(d->out->raw, "serverName") && given.n == 0)
        return entry_refuse(d, "serverName", "is empty");
    if (given.n == 0 && d->out->kind == BUNDLE_COMMAND && is_runner(d->out->command))
        return entry_refuse(d, "serverName",
                            "is required: the command '%.*s' does not identify the server",
                            STR_ARG(d->out->command));
    if (bundle_entry_is_bash(d->out) && (given.n == 0 || str_eq(given, STR(BUNDLE_BASH_SERVER)))) {
        d->out->server_name = STR(BUNDLE_BASH_SERVER);
        return 0;
    }
    /* A name that was free before nb had tools of that name gives way like a derived one: an
     * installation with such a bundle must start. */
    bool gives_way = given.n == 0 || str_eq_nocase(given, STR("files"));
    int r = gives_way ? bundle_derived_name(d->arena, given.n > 0 ? given : default_name(d),
                                            name_prefix(d->out), &d->out->server_name, &e)
                      : bundle_server_name(d->arena, given, &d->out->server_name, &e);
    return r < 0 ? entry_refuse(d, "serverName", "%s", e.msg) : 0;
}

/* ---- all of it ---- */

static int check_numbers(struct entry_decoder *d)
{
    const struct bundle_entry *out = d->out;
    if (out->trust_score < -1 || out->trust_score > 100 ||
        (out->trust_score == -1 && json_is(json_get(out->raw, "trustScore"), JSON_INT)))
        return entry_refuse(d, "trustScore", "must be 0 to 100, or null");
    if (out->memory_mb < 0 || out->memory_mb > MEMORY_MB_MAX)
        return entry_refuse(d, "memoryMb", "must be 1 to %d", MEMORY_MB_MAX);
    if (out->disk_mb < 0 || out->disk_mb > DISK_MB_MAX)
        return entry_refuse(d, "diskMb", "must be 1 to %d", DISK_MB_MAX);
    return 0;
}

static int decode_trust(struct entry_decoder *d)
{
    str given = d->doc.tools;
    if (given.n > 0 && !str_eq(given, STR("pinned")) && !str_eq(given, STR("trusted")))
        return entry_refuse(d, "tools", "'%.*s' is not one of pinned, trusted", STR_ARG(given));
    d->out->is_trusted = str_eq(given, STR("trusted"));
    return 0;
}

static int check_unknown(struct entry_decoder *d)
{
    return d->unknown.code < 0 ? err_set(d->e, d->unknown.code, "%s", d->unknown.msg) : 0;
}

static int decode_entry(struct entry_decoder *d, const struct json *v)
{
    static int (*const STEPS[])(struct entry_decoder *) = {
        check_unknown, decode_kind,    check_applicable, decode_source, decode_name,
        decode_env,    decode_sandbox, check_unknown,    check_numbers, decode_trust,
    };
    if (!v || v->type != JSON_OBJECT)
        return entry_refuse(d, "", "expected an object with one of name, path, url or command");
    d->out->raw = json_clone(d->arena, v);
    int r = json_decode(d->arena, d->out->raw, BUNDLE_ENTRY_FIELDS, &d->doc, d->at,
                        note_unknown_key, d, d->e);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(STEPS); i++)
        r = STEPS[i](d);
    return r;
}

static int decode_at(struct arena *a, const struct json *v, const char *base_dir, const char *at,
                     struct bundle_entry *ret, struct err *e)
{
    struct entry_decoder d = {
        .arena = a, .base_dir = base_dir, .at = at, .doc.out.trust_score = -1, .e = e};
    d.out = &d.doc.out;
    int r = decode_entry(&d, v);
    if (r == 0)
        *ret = d.doc.out;
    return r;
}

int bundle_entry_decode(struct arena *a, const struct json *v, const char *base_dir,
                        struct bundle_entry *ret, struct err *e)
{
    return decode_at(a, v, base_dir, "", ret, e);
}

int bundle_entries_decode(struct arena *a, const struct json *list, const char *base_dir,
                          struct bundle_entry **ret, size_t *ret_n, struct err *e)
{
    size_t n = list ? list->len : 0;
    if (list && list->type != JSON_ARRAY)
        return err_set(e, -EINVAL, "bundles: expected an array");
    if (n > BUNDLES_MAX)
        return err_set(e, -EINVAL, "bundles: there are %zu bundles, the limit is %d", n,
                       BUNDLES_MAX);
    struct bundle_entry *all = arena_array(a, n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        char at[PATH_TEXT_MAX];
        snprintf(at, sizeof at, "bundles[%zu]", i);
        int r = decode_at(a, json_at(list, i), base_dir, at, &all[i], e);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (str_eq(all[k].server_name, all[i].server_name))
                return err_set(e, -EINVAL,
                               "%s: the name '%.*s' is taken by bundles[%zu]; give one of them a "
                               "serverName",
                               at, STR_ARG(all[i].server_name), k);
    }
    *ret = all;
    *ret_n = n;
    return 0;
}
