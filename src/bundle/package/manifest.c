#include "bundle/package/manifest.h"

#include <errno.h>
#include <math.h>

#include "bundle/confine/loader_env.h"
#include "bundle/confine/path_list.h"

#define PLATFORM "linux"

/* ---- the file's shape ---- */

struct mcp_config {
    str command;
    struct json_strs args;
    const struct json *env, *platform_overrides;
};

struct document {
    struct manifest m; /* members that are used as they are written */
    str manifest_version, dxt_version, server_type;
    struct mcp_config mcp_config;
    struct json_strs platforms;
    const struct json *author, *user_config, *meta, *tools;
};

#define AT(member) offsetof(struct document, member)

static const struct json_field MCP_CONFIG_FIELDS[] = {
    {"command", JF_STR, offsetof(struct mcp_config, command), 0, NULL, 0},
    {"args", JF_STRS, offsetof(struct mcp_config, args), 0, NULL, 0},
    {"env", JF_JSON_OBJECT, offsetof(struct mcp_config, env), 0, NULL, 0},
    {"platform_overrides", JF_JSON_OBJECT, offsetof(struct mcp_config, platform_overrides), 0, NULL,
     0},
    {0}};

static const struct json_field SERVER_FIELDS[] = {
    {"type", JF_STR, AT(server_type), JF_REQUIRED, NULL, 0},
    {"entry_point", JF_STR, AT(m.entry_point), JF_REQUIRED, NULL, 0},
    {"mcp_config", JF_OBJECT, AT(mcp_config), 0, MCP_CONFIG_FIELDS, 0},
    {0}};

static const struct json_field COMPATIBILITY_FIELDS[] = {
    {"platforms", JF_STRS, AT(platforms), 0, NULL, 0}, {0}};

static const struct json_field FIELDS[] = {
    {"manifest_version", JF_STR, AT(manifest_version), 0, NULL, 0},
    {"dxt_version", JF_STR, AT(dxt_version), 0, NULL, 0},
    {"name", JF_STR, AT(m.name), JF_REQUIRED, NULL, 0},
    {"version", JF_STR, AT(m.version), JF_REQUIRED, NULL, 0},
    {"display_name", JF_STR, AT(m.title), JF_NULLABLE, NULL, 0},
    {"description", JF_STR, AT(m.description), 0, NULL, 0},
    {"author", JF_JSON, AT(author), 0, NULL, 0},
    {"server", JF_OBJECT, 0, JF_REQUIRED, SERVER_FIELDS, 0},
    {"compatibility", JF_OBJECT, 0, JF_NULLABLE, COMPATIBILITY_FIELDS, 0},
    {"user_config", JF_JSON_OBJECT, AT(user_config), JF_NULLABLE, NULL, 0},
    {"tools", JF_JSON, AT(tools), JF_NULLABLE, NULL, 0},
    {"_meta", JF_JSON_OBJECT, AT(meta), JF_NULLABLE, NULL, 0},
    {0}};

/* ---- versions and platforms ---- */

static int check_version(struct arena *a, struct document *d, struct err *e)
{
    str v = d->manifest_version.n > 0 ? d->manifest_version : d->dxt_version;
    if (v.n == 0)
        return err_set(e, -EINVAL, "manifest_version: is missing");
    if (!str_starts(v, STR("0.")))
        return err_set(e, -EINVAL,
                       "manifest_version: %.*s is not supported; nb supports 0.1 to 0.4",
                       STR_ARG(v));
    return 0;
}

static int check_platform(struct arena *a, struct document *d, struct err *e)
{
    struct json_strs all = d->platforms;
    if (all.len == 0 || json_strs_has(&all, STR(PLATFORM)))
        return 0;
    return err_set(e, -EINVAL, "compatibility.platforms: it is made for %.*s%s, not for " PLATFORM,
                   STR_ARG(all.items[0]), all.len > 1 ? " and others" : "");
}

static int check_texts(struct arena *a, struct document *d, struct err *e)
{
    if (d->m.name.n == 0)
        return err_set(e, -EINVAL, "name: is empty");
    if (d->m.version.n == 0)
        return err_set(e, -EINVAL, "version: is empty");
    return 0;
}

/* ---- the server ---- */

static const char *const SERVER_NAMES[] = {[SERVER_NODE] = "node",
                                           [SERVER_PYTHON] = "python",
                                           [SERVER_BINARY] = "binary",
                                           [SERVER_UV] = "uv"};

const char *manifest_server_name(enum manifest_server t)
{
    return SERVER_NAMES[t];
}

static int take_type(struct arena *a, struct document *d, struct err *e)
{
    ptrdiff_t i = STR_INDEX(d->server_type, SERVER_NAMES);
    if (i < 0)
        return err_set(e, -EINVAL, "server.type: '%.*s' is not one of node, python, binary, uv",
                       STR_ARG(d->server_type));
    d->m.type = (enum manifest_server)i;
    return 0;
}

static bool has_nul(struct json_strs list)
{
    for (size_t i = 0; i < list.len; i++)
        if (str_find_char(list.items[i], 0) >= 0)
            return true;
    return false;
}

/* Adds the variables of an object; replaces those of the same name. */
static int add_env(struct manifest *m, const struct json *obj, const char *path, struct err *e)
{
    for (size_t i = 0; obj && i < obj->len; i++) {
        const struct json_member *v = &obj->members[i];
        if (v->value.type != JSON_STRING || str_find_char(v->value.s, 0) >= 0)
            return err_set(e, -EINVAL, "%s.%.*s: expected string", path, STR_ARG(v->key));
        if (v->key.n == 0 || str_find_char(v->key, '=') >= 0 || str_find_char(v->key, 0) >= 0)
            return err_set(e, -EINVAL, "%s: '%.*s' is not a valid variable name", path,
                           STR_ARG(v->key));
        if (env_loads_code(v->key))
            return err_set(e, -EINVAL,
                           "%s: a package must not set %.*s, which makes a program load other "
                           "code; name the code in mcp_config.command and args",
                           path, STR_ARG(v->key));
        size_t at = 0;
        while (at < m->nenv && !str_eq(m->env[at].key, v->key))
            at++;
        m->env[at] = (struct bundle_pair){v->key, v->value.s};
        m->nenv += at == m->nenv;
    }
    return 0;
}

#define OVERRIDES "server.mcp_config.platform_overrides"

static int take_server(struct arena *a, struct document *d, struct err *e)
{
    struct manifest *m = &d->m;
    struct mcp_config c = d->mcp_config, over = {0};
    const struct json *for_us = json_get(c.platform_overrides, PLATFORM);
    if (!path_is_inside(m->entry_point) || str_find_char(m->entry_point, '\\') >= 0)
        return err_set(e, -EINVAL, "server.entry_point: '%.*s' is not a path inside the bundle",
                       STR_ARG(m->entry_point));
    if (for_us && for_us->type != JSON_OBJECT)
        return err_set(e, -EINVAL, OVERRIDES "." PLATFORM ": expected object");
    int r = for_us ? json_decode(a, for_us, MCP_CONFIG_FIELDS, &over, OVERRIDES "." PLATFORM, NULL,
                                 NULL, e)
                   : 0;
    if (r < 0)
        return r;
    m->command = over.command.n > 0 ? over.command : c.command;
    m->args = json_get(for_us, "args") ? over.args : c.args;
    if (str_find_char(m->command, 0) >= 0 || has_nul(m->args))
        return err_set(e, -EINVAL, "server.mcp_config: the command line contains a NUL byte");
    size_t n = (c.env ? c.env->len : 0) + (over.env ? over.env->len : 0);
    m->env = arena_array(a, n, sizeof *m->env);
    r = add_env(m, c.env, "server.mcp_config.env", e);
    return r < 0 ? r : add_env(m, over.env, OVERRIDES "." PLATFORM ".env", e);
}

/* ---- values that a person sets ---- */

static const char *const OPTION_TYPES[] = {[OPTION_STRING] = "string",
                                           [OPTION_NUMBER] = "number",
                                           [OPTION_BOOLEAN] = "boolean",
                                           [OPTION_DIRECTORY] = "directory",
                                           [OPTION_FILE] = "file"};

const char *option_type_name(enum option_type t)
{
    return OPTION_TYPES[t];
}

struct option_document {
    struct manifest_option o;
    str type;
};

#define OPTION_AT(member) offsetof(struct option_document, member)

static const struct json_field OPTION_FIELDS[] = {
    {"type", JF_STR, OPTION_AT(type), JF_REQUIRED, NULL, 0},
    {"title", JF_STR, OPTION_AT(o.title), 0, NULL, 0},
    {"description", JF_STR, OPTION_AT(o.description), 0, NULL, 0},
    {"required", JF_BOOL, OPTION_AT(o.is_required), JF_NULLABLE, NULL, 0},
    {"default", JF_JSON, OPTION_AT(o.fallback), JF_NULLABLE, NULL, 0},
    {"multiple", JF_BOOL, OPTION_AT(o.is_multiple), JF_NULLABLE, NULL, 0},
    {"sensitive", JF_BOOL, OPTION_AT(o.is_sensitive), JF_NULLABLE, NULL, 0},
    {"min", JF_DOUBLE, OPTION_AT(o.min), JF_NULLABLE, NULL, 0},
    {"max", JF_DOUBLE, OPTION_AT(o.max), JF_NULLABLE, NULL, 0},
    {0}};

static bool is_option_key(str key)
{
    for (size_t i = 0; i < key.n; i++) {
        unsigned char c = (unsigned char)key.p[i];
        if (c <= 0x20 || c == 0x7f || c == '}' || c == '{' || c == '=')
            return false;
    }
    return key.n > 0;
}

static bool is_scalar(const struct json *v)
{
    return v->type != JSON_ARRAY && v->type != JSON_OBJECT && v->type != JSON_NULL;
}

static bool is_fallback_fine(const struct json *v, bool is_multiple)
{
    if (!v || is_scalar(v))
        return true;
    if (v->type != JSON_ARRAY || !is_multiple)
        return false;
    for (size_t i = 0; i < v->len; i++)
        if (!is_scalar(&v->items[i]))
            return false;
    return true;
}

static int take_option(struct arena *a, const struct json_member *member, struct manifest_option *o,
                       struct err *e)
{
    struct option_document d = {.o = {.key = member->key, .min = -INFINITY, .max = INFINITY}};
    const char *path = arena_printf(a, "user_config.%.*s", STR_ARG(member->key)).p;
    if (!is_option_key(member->key))
        return err_set(e, -EINVAL, "user_config: '%.*s' is not a valid key", STR_ARG(member->key));
    if (member->value.type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%s: expected object", path);
    int r = json_decode(a, &member->value, OPTION_FIELDS, &d, path, NULL, NULL, e);
    if (r < 0)
        return r;
    ptrdiff_t type = STR_INDEX(d.type, OPTION_TYPES);
    if (type < 0)
        return err_set(e, -EINVAL,
                       "%s.type: '%.*s' is not one of string, number, boolean, directory, file",
                       path, STR_ARG(d.type));
    if (!is_fallback_fine(d.o.fallback, d.o.is_multiple))
        return err_set(e, -EINVAL, "%s.default: not of the type %.*s", path, STR_ARG(d.type));
    *o = d.o;
    o->type = (enum option_type)type;
    return 0;
}

static int take_options(struct arena *a, struct document *d, struct err *e)
{
    struct manifest *m = &d->m;
    size_t n = d->user_config ? d->user_config->len : 0;
    if (n > MANIFEST_OPTIONS_MAX)
        return err_set(e, -EINVAL, "user_config: %zu values, the limit is %d", n,
                       MANIFEST_OPTIONS_MAX);
    m->options = arena_array(a, n, sizeof *m->options);
    m->noptions = n;
    for (size_t i = 0; i < n; i++) {
        int r = take_option(a, &d->user_config->members[i], &m->options[i], e);
        if (r < 0)
            return r;
    }
    return 0;
}

const struct manifest_option *manifest_option(const struct manifest *m, str key)
{
    for (size_t i = 0; i < m->noptions; i++)
        if (str_eq(m->options[i].key, key))
            return &m->options[i];
    return NULL;
}

/* ---- all of it ---- */

static const struct json *find_ui(const struct document *d)
{
    const struct json *ui = json_get(d->meta, "ai.nimblebrain/host");
    if (!ui)
        ui = json_get(d->meta, "ai.nimblebrain/synapse");
    return json_is(ui, JSON_OBJECT) ? ui : NULL;
}

static struct json_strs tool_names(struct arena *a, const struct json *tools)
{
    size_t n = json_is(tools, JSON_ARRAY) ? tools->len : 0;
    struct json_strs ret = {arena_array(a, n, sizeof(str)), 0};
    for (size_t i = 0; i < n; i++) {
        str name = json_get_string(json_at(tools, i), "name");
        if (name.n > 0)
            ret.items[ret.len++] = name;
    }
    return ret;
}

int manifest_parse(struct arena *a, str text, struct manifest *ret, struct err *e)
{
    static int (*const STEPS[])(struct arena *, struct document *, struct err *) = {
        check_version, check_texts, check_platform, take_type, take_server, take_options};
    struct json *root;
    struct document d = {0};
    int r = json_parse(a, text, JSON_COPY | JSON_UNIQUE, &root, e);
    if (r < 0)
        return r;
    if (root->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "expected an object");
    r = json_decode(a, root, FIELDS, &d, "", NULL, NULL, e);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(STEPS); i++)
        r = STEPS[i](a, &d, e);
    if (r < 0)
        return r;
    *ret = d.m;
    ret->author = json_string(d.author, json_get_string(d.author, "name"));
    ret->tools = tool_names(a, d.tools);
    ret->ui = find_ui(&d);
    ret->is_upjack = json_is(json_get(d.meta, "ai.nimblebrain/upjack"), JSON_OBJECT);
    return 0;
}
