/* nb bundle import - adds servers from the settings of other programs. */
#include <limits.h>
#include <stdlib.h>

#include "bundle/entry/import.h"
#include "bundle/settings/plain_secrets.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "os/file.h"

static const struct arg IMPORT_ARGS[] = {
    {"dry-run", 0, ARG_FLAG, NULL, "show what would be imported, and change nothing"}, {0}};

struct bundle_importing {
    struct cmd *x;
    struct import_list list;
    size_t taken, failed;
};

static void bundle_import_show(struct bundle_importing *im, FILE *out)
{
    struct cmd *x = im->x;
    for (size_t i = 0; i < im->list.len; i++) {
        const struct import_server *s = &im->list.items[i];
        str source = s->entry ? bundle_cli_source(&x->arena, &s->bundle) : STR_NONE;
        fprintf(out, "%.*s%s%.*s\n", STR_ARG(cmd_line(x, s->name)),
                s->entry ? ": " : " cannot be imported", STR_ARG(cmd_line(x, source)));
        for (size_t k = 0; k < s->notes.len; k++)
            fprintf(out, "    %.*s\n", STR_ARG(cmd_line(x, s->notes.items[k])));
    }
}

static int read_list(struct bundle_importing *im, const char *file)
{
    char real[PATH_MAX];
    struct err e = {0};
    str text;
    struct arena *a = &im->x->arena;
    if (file_read(a, file, IMPORT_BYTES_MAX, &text, &e) < 0)
        return cli_fail(&e);
    const char *path = realpath(file, real) ? real : file;
    const char *slash = strrchr(path, '/');
    const char *dir = slash ? arena_cstr(a, str_make(path, (size_t)(slash - path))) : ".";
    if (import_parse(a, text, dir, getenv("HOME"), &im->list, &e) < 0) {
        err_prefix(&e, "%s", file);
        return cli_fail(&e);
    }
    return EXIT_DONE;
}

/* Encrypt secrets first, unless the name is taken: they would replace the secrets of the other
 * bundle. */
static int add_one(struct cmd *x, const struct import_server *s, struct err *e)
{
    struct bundle_entry *all;
    const struct json *entry = s->entry;
    size_t n;
    int r = settings_load_bundles(&x->arena, x->config.path, &all, &n, e);
    if (r == 0 && !bundle_cli_entry_named(all, n, s->bundle.server_name))
        r = plain_secrets_seal(&x->arena, bundle_cli_credentials(x), s->entry, &entry, e);
    return r < 0 ? r : settings_add_bundle(x->config.path, entry, e);
}

/* Writes to the file even when a server runs: the server detects the change and starts them in
 * parallel. */
static void take_all(struct bundle_importing *im)
{
    for (size_t i = 0; i < im->list.len; i++) {
        struct import_server *s = &im->list.items[i];
        struct err e = {0};
        if (!s->entry) {
            im->failed++;
        } else if (add_one(im->x, s, &e) < 0) {
            im->failed++;
            s->entry = NULL;
            s->notes.items = arena_array(&im->x->arena, 1, sizeof(str));
            s->notes.items[0] = arena_str(&im->x->arena, str_from(e.msg));
            s->notes.len = 1;
        } else {
            im->taken++;
            cli_record(&im->x->config, "bundle.install", json_get_string(s->entry, "name"), true,
                       STR("imported"));
        }
    }
}

static struct json *import_json(struct bundle_importing *im)
{
    struct cmd *x = im->x;
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < im->list.len; i++) {
        const struct import_server *s = &im->list.items[i];
        json_push(&x->arena, list,
                  *cmd_object(x, {STR("name"), json_of_str(s->name)},
                              {STR("taken"), json_of_bool(s->entry != NULL)},
                              {STR("entry"), s->entry ? *s->entry : json_of_null()},
                              {STR("notes"), cmd_strings(x, s->notes.items, s->notes.len)}));
    }
    return list;
}

static size_t usable(const struct bundle_importing *im)
{
    size_t n = 0;
    for (size_t i = 0; i < im->list.len; i++)
        n += im->list.items[i].entry != NULL;
    return n;
}

static int bundle_import(struct cmd *x)
{
    struct bundle_importing im = {.x = x};
    if (!cmd_flag(x, "dry-run") && !cmd_may_ask(x))
        return cmd_usage(x, "stdin is not a terminal; pass --yes or --dry-run");
    int code = read_list(&im, x->argv[0]);
    if (code != EXIT_DONE)
        return code;
    if (!x->cli->opt.is_json)
        bundle_import_show(&im, cmd_flag(x, "dry-run") ? stdout : stderr);
    if (!cmd_flag(x, "dry-run") && usable(&im) > 0)
        code = cmd_confirm(x, "Add the servers that can be imported, and run them?",
                           "Nothing was added.");
    if (code != EXIT_DONE)
        return code;
    if (!cmd_flag(x, "dry-run"))
        take_all(&im);
    if (!cmd_json(x, import_json(&im)) && !cmd_flag(x, "dry-run"))
        printf("%zu added to %s, %zu not added.\n", im.taken, x->config.path, im.failed);
    return !cmd_flag(x, "dry-run") && im.taken == 0 && im.failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command BUNDLE_IMPORT = {
    .name = "import",
    .operands = "FILE",
    .summary = "add the servers of Claude Desktop, Cursor, VS Code or .mcp.json",
    .help =
        "Reads \"mcpServers\" and \"servers\", also in files with comments, and prints for each "
        "server which settings were imported. A running server loads the change automatically.\n",
    .args = IMPORT_ARGS,
    .yes = "do not ask",
    .run = bundle_import,
};
