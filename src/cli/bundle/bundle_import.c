/* nb bundle import - adds servers from the settings of other programs. */
#include <limits.h>
#include <stdlib.h>

#include "bundle/entry/import.h"
#include "bundle/settings/plain_secrets.h"
#include "bundle/settings/settings.h"
#include "cli/bundle/bundle.h"
#include "cli/session/record.h"
#include "cli/term/text.h"
#include "os/file.h"

struct import_options {
    bool is_sure, is_dry;
};

static const struct arg IMPORT_ARGS[] = {
    {"dry-run", 0, ARG_FLAG, offsetof(struct import_options, is_dry), NULL,
     "show what would be imported, and change nothing"},
    {"yes", 'y', ARG_FLAG, offsetof(struct import_options, is_sure), NULL, "do not ask"},
    {0}};

struct import {
    struct conv_cli *x;
    struct import_list list;
    size_t taken, failed;
};

static void print_notes(FILE *out, const struct import_server *s)
{
    for (size_t i = 0; i < s->notes.len; i++) {
        struct buf b;
        buf_init(&b, 64u * 1024);
        text_add_line(&b, s->notes.items[i]);
        fprintf(out, "    %s\n", buf_cstr(&b));
        buf_done(&b);
    }
}

static void bundle_import_show(struct import *im, FILE *out)
{
    for (size_t i = 0; i < im->list.len; i++) {
        const struct import_server *s = &im->list.items[i];
        struct buf b;
        buf_init(&b, 64u * 1024);
        text_add_line(&b, s->name);
        if (s->entry) {
            buf_add_lit(&b, ": ");
            text_add_line(&b, bundle_cli_source(&im->x->arena, &s->bundle));
        } else {
            buf_add_lit(&b, " cannot be imported");
        }
        fprintf(out, "%s\n", buf_cstr(&b));
        buf_done(&b);
        print_notes(out, s);
    }
}

static int read_list(struct import *im, const char *file)
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
static int add_one(struct conv_cli *x, const struct import_server *s, struct err *e)
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
static void take_all(struct import *im)
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

static void print_bundle_import_json(struct import *im)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, CLIENT_BODY_MAX);
    jw_array(&w);
    for (size_t i = 0; i < im->list.len; i++) {
        const struct import_server *s = &im->list.items[i];
        jw_object(&w);
        jw_kstr(&w, "name", s->name);
        jw_kbool(&w, "taken", s->entry != NULL);
        jw_kval(&w, "entry", s->entry);
        jw_kstrs(&w, "notes", s->notes.items, s->notes.len);
        jw_end(&w);
    }
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static size_t usable(const struct import *im)
{
    size_t n = 0;
    for (size_t i = 0; i < im->list.len; i++)
        n += im->list.items[i].entry != NULL;
    return n;
}

static int do_import(struct conv_cli *x, const void *options, int argc, char **argv)
{
    const struct import_options *o = options;
    struct import im = {.x = x};
    bool is_json = x->cli->opt.is_json;
    int code = read_list(&im, argv[0]);
    if (code != EXIT_DONE)
        return code;
    if (!is_json)
        bundle_import_show(&im, o->is_dry ? stdout : stderr);
    if (!o->is_dry && usable(&im) > 0 &&
        !bundle_cli_confirm("Add the servers that can be imported, and run them?", o->is_sure)) {
        fputs("Nothing was added.\n", stderr);
        return EXIT_FAILED;
    }
    if (!o->is_dry)
        take_all(&im);
    if (is_json)
        print_bundle_import_json(&im);
    else if (!o->is_dry)
        printf("%zu added to %s, %zu not added.\n", im.taken, x->config.path, im.failed);
    return !o->is_dry && im.taken == 0 && im.failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_import(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct import_options *o = options;
    if (argc != 1)
        return cli_usage_error("bundle import: name one file");
    if (!o->is_sure && !o->is_dry && !cli->is_tty_in)
        return cli_usage_error("bundle import: stdin is not a terminal; pass --yes or --dry-run");
    return bundle_cli_with(cli, do_import, options, argc, argv);
}

const struct command BUNDLE_IMPORT = {
    .name = "import",
    .usage = "bundle import FILE [--dry-run] [--yes] [--json]",
    .summary = "add the servers of Claude Desktop, Cursor, VS Code or .mcp.json",
    .help =
        "Reads \"mcpServers\" and \"servers\", also in files with comments, and prints for each "
        "server which settings were imported. A running server loads the change automatically.\n",
    .args = IMPORT_ARGS,
    .options_size = sizeof(struct import_options),
    .run = run_import,
};
