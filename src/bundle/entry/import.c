#include "bundle/entry/import.h"

#include <errno.h>

#include "bundle/entry/package_command.h"
#include "config/relaxed.h"
#include "net/url.h"

#define NOTES_MAX 32
#define TEXT_MAX  (256u * 1024)

struct entry_importer {
    struct arena *arena;
    const char *base_dir, *home_dir;
    const struct json *inputs; /* from VS Code, or NULL */
    struct import_server *out;
    struct json *entry;
    struct json *allowed_env;
};

static void import_note(struct entry_importer *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void import_note(struct entry_importer *im, const char *fmt, ...)
{
    struct json_strs *notes = &im->out->notes;
    va_list ap;
    if (notes->len == NOTES_MAX)
        return;
    va_start(ap, fmt);
    notes->items[notes->len++] = arena_vprintf(im->arena, fmt, ap);
    va_end(ap);
}

/* ---- variables of other programs ---- */

/* The project folder of the file: for .vscode/mcp.json it is the one above. */
static str project_dir(const struct entry_importer *im)
{
    str dir = str_from(im->base_dir);
    return str_ends(dir, STR("/.vscode")) || str_ends(dir, STR("/.cursor"))
               ? str_slice(dir, 0, (size_t)str_rfind_char(dir, '/'))
               : dir;
}

static str input_label(const struct entry_importer *im, str id)
{
    for (size_t i = 0; im->inputs && i < im->inputs->len; i++) {
        const struct json *in = json_at(im->inputs, i);
        if (str_eq(json_get_string(in, "id"), id))
            return json_get_string(in, "description");
    }
    return STR_NONE;
}

/* Expands known places, and the default of ${NAME:-default}. Returns false when only the user knows
 * the value. */
static bool expand_one(const struct entry_importer *im, struct buf *out, str name)
{
    ptrdiff_t fallback = str_find(name, STR(":-"), 0);
    if (str_eq(name, STR("workspaceFolder")))
        return buf_add_str(out, project_dir(im)) == 0;
    if (str_eq(name, STR("userHome")) && im->home_dir)
        return buf_add_lit(out, im->home_dir) == 0;
    if (str_eq(name, STR("/")) || str_eq(name, STR("pathSeparator")))
        return buf_add_char(out, '/') == 0;
    return fallback > 0 && buf_add_str(out, str_skip(name, (size_t)fallback + 2)) == 0;
}

/* Returns 0 with the text, or -ENOKEY with the name of the variable that nb cannot expand. */
static int expand(const struct entry_importer *im, str text, str *ret, str *ret_unknown)
{
    struct buf out;
    size_t done = 0;
    int r = 0;
    buf_init(&out, TEXT_MAX);
    for (ptrdiff_t at; r == 0 && (at = str_find(text, STR("${"), done)) >= 0;) {
        ptrdiff_t end = str_find(text, STR("}"), (size_t)at);
        if (end < 0)
            break;
        str name = str_slice(text, (size_t)at + 2, (size_t)end);
        buf_add_str(&out, str_slice(text, done, (size_t)at));
        if (!expand_one(im, &out, name)) {
            *ret_unknown = name;
            r = -ENOKEY;
        }
        done = (size_t)end + 1;
    }
    buf_add_str(&out, str_skip(text, done));
    if (r == 0)
        *ret = arena_str(im->arena, buf_str(&out));
    buf_done(&out);
    return r;
}

static void import_note_unknown(struct entry_importer *im, const char *where, str variable)
{
    if (!str_starts(variable, STR("input:"))) {
        import_note(im, "%s uses ${%.*s}, which nb does not support", where, STR_ARG(variable));
        return;
    }
    str id = str_skip(variable, strlen("input:")), label = input_label(im, id);
    import_note(im, "%s asks for \"%.*s\": set the value in the entry", where,
                STR_ARG(label.n > 0 ? label : id));
}

/* False: a note says which variable nb cannot expand. */
static bool expand_or_note(struct entry_importer *im, const char *where, str text, str *ret)
{
    str unknown;
    bool is_known = expand(im, text, ret, &unknown) == 0;
    if (!is_known)
        import_note_unknown(im, where, unknown);
    return is_known;
}

static str import_scalar_text(struct entry_importer *im, const struct json *v)
{
    return v->type == JSON_STRING ? v->s : json_to_str(im->arena, v);
}

/* "${NAME}" or "${env:NAME}" and nothing else. */
static str whole_variable(str text)
{
    if (!str_starts(text, STR("${")) || str_find_char(text, '}') != (ptrdiff_t)text.n - 1)
        return STR_NONE;
    str name = str_slice(text, 2, text.n - 1);
    return str_starts(name, STR("env:")) ? str_skip(name, 4) : name;
}

/* ---- programs ---- */

static void take_env(struct entry_importer *im, const struct json *env)
{
    struct json *taken = json_new(im->arena, JSON_OBJECT);
    for (size_t i = 0; env && i < env->len; i++) {
        const struct json_member *m = &env->members[i];
        str text, given = import_scalar_text(im, &m->value);
        const char *where = arena_printf(im->arena, "env.%.*s", STR_ARG(m->key)).p;
        if (str_eq(whole_variable(given), m->key))
            json_push(im->arena, im->allowed_env, json_of_str(m->key));
        else if (expand_or_note(im, where, given, &text))
            json_set(im->arena, taken, m->key, json_of_str(text));
    }
    if (taken->len > 0)
        json_set(im->arena, im->entry, STR("env"), *taken);
}

static int take_args(struct entry_importer *im, const struct json *args)
{
    struct json *taken = json_new(im->arena, JSON_ARRAY);
    for (size_t i = 0; args && i < args->len; i++) {
        str text;
        if (!expand_or_note(im, "args", import_scalar_text(im, &args->items[i]), &text))
            return -EINVAL;
        json_push(im->arena, taken, json_of_str(text));
    }
    if (taken->len > 0)
        json_set(im->arena, im->entry, STR("args"), *taken);
    return 0;
}

static int take_program(struct entry_importer *im, const struct json *server)
{
    struct arena *a = im->arena;
    str command, unknown, cwd;
    if (!expand_or_note(im, "command", json_get_string(server, "command"), &command))
        return -EINVAL;
    json_set(a, im->entry, STR("command"), json_of_str(command));
    int r = take_args(im, json_get(server, "args"));
    if (r < 0)
        return r;
    take_env(im, json_get(server, "env"));
    if (json_get(server, "envFile"))
        import_note(im, "envFile is not read: put its variables into env");
    if (json_get_string(server, "cwd").n > 0 &&
        expand(im, json_get_string(server, "cwd"), &cwd, &unknown) == 0)
        json_set(a, im->entry, STR("cwd"), json_of_str(cwd));
    if (command_fetches(command)) {
        struct json *sandbox = json_new(a, JSON_OBJECT);
        json_set(a, sandbox, STR("network"), json_of_bool(true));
        json_set(a, im->entry, STR("sandbox"), *sandbox);
        import_note(im,
                    "it may use the network; remove sandbox.network from its entry to forbid it");
    }
    return 0;
}

static void note_unseen(struct entry_importer *im, const struct bundle_entry *b)
{
    struct json_strs unseen = command_unseen_paths(im->arena, b);
    for (size_t i = 0; i < unseen.len; i++)
        import_note(im,
                    "it cannot see %.*s until \"sandbox\" of its entry names it in read or write",
                    STR_ARG(unseen.items[i]));
}

/* ---- remote servers ---- */

static void take_headers(struct entry_importer *im, const struct json *headers,
                         struct json *transport)
{
    struct json *taken = json_new(im->arena, JSON_OBJECT);
    for (size_t i = 0; headers && i < headers->len; i++) {
        const struct json_member *m = &headers->members[i];
        str text;
        const char *where = arena_printf(im->arena, "headers.%.*s", STR_ARG(m->key)).p;
        if (expand_or_note(im, where, import_scalar_text(im, &m->value), &text))
            json_set(im->arena, taken, m->key, json_of_str(text));
    }
    if (taken->len > 0)
        json_set(im->arena, transport, STR("headers"), *taken);
}

static int take_url(struct entry_importer *im, const struct json *server, str given)
{
    struct arena *a = im->arena;
    struct json *transport = json_new(a, JSON_OBJECT);
    struct url u;
    str url;
    if (!expand_or_note(im, "url", given, &url))
        return -EINVAL;
    json_set(a, im->entry, STR("url"), json_of_str(url));
    if (str_eq(json_get_string(server, "type"), STR("sse")) ||
        str_eq(json_get_string(server, "transport"), STR("sse")))
        json_set(a, transport, STR("type"), json_of_str(STR("sse")));
    take_headers(im, json_get(server, "headers"), transport);
    if (transport->len > 0)
        json_set(a, im->entry, STR("transport"), *transport);
    if (url_parse(url, &u, NULL) == 0 && url_is_local(&u)) {
        json_set(a, im->entry, STR("allowPrivate"), json_of_bool(true));
        import_note(im, "it runs on this machine, so allowPrivate is set");
    }
    return 0;
}

/* ---- one server ---- */

static void note_ignored(struct entry_importer *im, const struct json *server)
{
    static const char *const KNOWN[] = {"command", "args",    "env",       "envFile",   "cwd",
                                        "url",     "headers", "type",      "transport", "disabled",
                                        "name",    "httpUrl", "serverUrl", NULL};
    for (size_t i = 0; i < server->len; i++) {
        str key = server->members[i].key;
        if (!str_in_cstrs(key, KNOWN))
            import_note(im, "'%.*s' is not supported by nb", STR_ARG(key));
    }
}

static str url_of(const struct json *server)
{
    static const char *const KEYS[] = {"url", "serverUrl", "httpUrl"};
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++)
        if (json_get_string(server, KEYS[i]).n > 0)
            return json_get_string(server, KEYS[i]);
    return STR_NONE;
}

static int take_server(struct entry_importer *im, const struct json *server)
{
    struct arena *a = im->arena;
    struct err e = {0};
    str name, url = url_of(server);
    if (server->type != JSON_OBJECT) {
        import_note(im, "it is not an object");
        return -EINVAL;
    }
    if (bundle_derived_name(a, im->out->name, STR("imported"), &name, &e) < 0) {
        import_note(im, "%s", e.msg);
        return -EINVAL;
    }
    if (!str_eq(name, im->out->name))
        import_note(im, "it is named '%.*s' in nb", STR_ARG(name));
    json_set(a, im->entry, STR("serverName"), json_of_str(name));
    int r = json_get_string(server, "command").n > 0 ? take_program(im, server)
            : url.n > 0                              ? take_url(im, server, url)
                                                     : -ENOENT;
    if (r == -ENOENT)
        import_note(im, "it has neither a command nor a url");
    if (r < 0)
        return r;
    if (im->allowed_env->len > 0)
        json_set(a, im->entry, STR("allowedEnv"), *im->allowed_env);
    if (json_get_bool(server, "disabled", false))
        json_set(a, im->entry, STR("disabled"), json_of_bool(true));
    note_ignored(im, server);
    r = bundle_entry_decode(a, im->entry, im->base_dir, &im->out->bundle, &e);
    if (r < 0) {
        import_note(im, "%s", e.msg);
        return r;
    }
    note_unseen(im, &im->out->bundle);
    return 0;
}

/* ---- the file ---- */

static const struct json *find_servers(const struct json *root)
{
    const struct json *found = json_get(root, "mcpServers");
    if (!found)
        found = json_get(root, "servers");
    if (!found)
        found = json_get(json_get(root, "mcp"), "servers");
    return json_is(found, JSON_OBJECT) ? found : NULL;
}

int import_parse(struct arena *a, str text, const char *base_dir, const char *home_dir,
                 struct import_list *ret, struct err *e)
{
    struct json *root;
    int r = json_parse(a, relaxed_json(a, text, NULL), JSON_COPY, &root, e);
    if (r < 0)
        return r;
    const struct json *servers = find_servers(root);
    if (!servers)
        return err_set(e, -EINVAL, "it contains neither \"mcpServers\" nor \"servers\"");
    if (servers->len > IMPORT_SERVERS_MAX)
        return err_set(e, -EINVAL, "it contains %u servers, the limit is %d", servers->len,
                       IMPORT_SERVERS_MAX);
    const struct json *inputs = json_get(root, "inputs");
    if (!inputs)
        inputs = json_get(json_get(root, "mcp"), "inputs");
    *ret = (struct import_list){arena_array(a, servers->len, sizeof *ret->items), servers->len};
    for (size_t i = 0; i < ret->len; i++) {
        struct import_server *out = &ret->items[i];
        out->name = servers->members[i].key;
        out->notes.items = arena_array(a, NOTES_MAX, sizeof(str));
        struct entry_importer im = {
            .arena = a,
            .base_dir = base_dir,
            .home_dir = home_dir,
            .inputs = inputs,
            .out = out,
            .entry = json_new(a, JSON_OBJECT),
            .allowed_env = json_new(a, JSON_ARRAY),
        };
        if (take_server(&im, &servers->members[i].value) == 0)
            out->entry = im.entry;
    }
    return 0;
}
