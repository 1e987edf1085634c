/* nb bundle validate - folders, archives, manifests, and the settings' own entries. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bundle/archive.h"
#include "bundle/package.h"
#include "cli/bundle.h"
#include "config/file.h"
#include "store/io.h"

#define REMOVE_DEPTH ((int)ARCHIVE_DEPTH_MAX + 3)

static int check_manifest_file(struct conv_cli *x, const char *path, struct manifest *m,
                               struct err *e)
{
    str text;
    int r = file_read(&x->arena, path, MANIFEST_BYTES_MAX, &text, e);
    if (r < 0)
        return r;
    r = manifest_parse(&x->arena, text, m, e);
    if (r < 0)
        err_prefix(e, "%s", path);
    return r;
}

/* An entry point that is not there is found out by nobody else before the start. */
static int check_folder(struct conv_cli *x, const char *dir, struct manifest *m, struct err *e)
{
    int r = package_manifest(&x->arena, dir, m, e);
    if (r < 0)
        return r;
    const char *entry = arena_printf(&x->arena, "%s/%.*s", dir, STR_ARG(m->entry_point)).p;
    return file_exists(entry) ? 0
                              : err_set(e, -ENOENT, "server.entry_point: there is no %s", entry);
}

static int check_archive(struct conv_cli *x, const char *path, struct manifest *m, struct err *e)
{
    char tmp[] = "/tmp/nb-validate-XXXXXX";
    if (!mkdtemp(tmp))
        return err_set(e, -EIO, "cannot make a temporary directory");
    const char *dir = arena_printf(&x->arena, "%s/bundle", tmp).p;
    int r = archive_unpack(path, dir, e);
    if (r == 0)
        r = check_folder(x, dir, m, e);
    (void)io_remove_tree(&store_io_system, tmp, REMOVE_DEPTH);
    return r;
}

static int check(struct conv_cli *x, const char *path, struct manifest *m, struct err *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return check_folder(x, path, m, e);
    return str_ends(str_from(path), STR(".json")) ? check_manifest_file(x, path, m, e)
                                                  : check_archive(x, path, m, e);
}

static void print_json(const char *path, const struct manifest *m, const struct err *e)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, 1u << 20);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "path", str_from(path));
    jw_kbool(&w, "valid", e->code == 0);
    if (e->code < 0) {
        jw_kstr(&w, "error", str_from(e->msg));
    } else {
        jw_kstr(&w, "name", m->name);
        jw_kstr(&w, "version", m->version);
        jw_kstr(&w, "type", str_from(manifest_server_name(m->type)));
    }
    jw_end(&w);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

static bool validate(struct conv_cli *x, const char *path)
{
    struct manifest m = {0};
    struct err e = {0};
    int r = check(x, path, &m, &e);
    if (x->cli->opt.is_json)
        print_json(path, &m, &e);
    else if (r < 0)
        cli_fail(&e);
    else
        printf("%s: fine (%.*s %.*s, %s)\n", path, STR_ARG(m.name), STR_ARG(m.version),
               manifest_server_name(m.type));
    return r == 0;
}

static int validate_settings(struct conv_cli *x)
{
    struct bundle_entry *all;
    size_t n, bad = 0;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    for (size_t i = 0; i < n; i++) {
        struct err e = {0};
        bool is_remote = all[i].kind == BUNDLE_REMOTE;
        if (!is_remote ||
            bundle_entry_check_url(&all[i], x->config.allow_insecure_remotes, &e) == 0)
            continue;
        err_prefix(&e, "%.*s", STR_ARG(all[i].server_name));
        cli_fail(&e);
        bad++;
    }
    if (bad == 0)
        printf("%s: fine (%zu bundles)\n", x->config.path, n);
    return bad == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int do_validate(struct conv_cli *x, const void *options, int argc, char **argv)
{
    int code = EXIT_DONE;
    if (argc == 0)
        return validate_settings(x);
    for (int i = 0; i < argc; i++)
        if (!validate(x, argv[i]))
            code = EXIT_FAILED;
    return code;
}

static int run_validate(struct cli *cli, const void *options, int argc, char **argv)
{
    return bundle_cli_with(cli, do_validate, options, argc, argv);
}

const struct command BUNDLE_VALIDATE = {
    .name = "validate",
    .usage = "bundle validate [PATH...] [--json]",
    .summary = "check folders, .mcpb archives and manifests, or the entries of the settings",
    .help =
        "Says which field is wrong. Archives are unpacked into a temporary directory, within the\n"
        "limits that hold for installing them. Exits with 1 when something is wrong.\n",
    .run = run_validate,
};
