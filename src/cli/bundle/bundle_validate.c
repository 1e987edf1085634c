/* nb bundle validate - checks folders, archives, manifests, and the entries of the settings. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bundle/package/archive.h"
#include "cli/bundle/bundle.h"
#include "os/file.h"
#include "store/event/io.h"

#define REMOVE_DEPTH ((int)ARCHIVE_DEPTH_MAX + 3)

/* Checks a manifest alone, without the files that it names. */
static int check_manifest_file(struct cmd *x, const char *path, struct manifest *m, struct err *e)
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

struct checked {
    bool has_inspection;
    struct inspection inspection;
    struct manifest manifest;
    struct json *entry;
};

/* The same checks as nb bundle add. `named` is the path that the user gave, `dir` has the files. */
static int check_package(struct cmd *x, const char *named, const char *dir, struct checked *ret,
                         struct err *e)
{
    struct arena *a = &x->arena;
    char real[PATH_MAX];
    struct bundle_entry *b = ARENA_NEW(a, struct bundle_entry);
    if (!realpath(named, real))
        return err_errno(e, -errno, "cannot find", named);
    ret->entry = json_new(a, JSON_OBJECT);
    json_set(a, ret->entry, STR("path"), json_of_str(arena_str(a, str_from(real))));
    int r = bundle_entry_decode(a, ret->entry, "/", b, e);
    struct bundle_cli_question q = {.entry = b, .files = dir ? dir : arena_cstr(a, str_from(real))};
    if (r == 0)
        r = bundle_cli_inspect(x, &q, &ret->inspection, e);
    if (r < 0)
        return r;
    ret->has_inspection = true;
    ret->manifest = *ret->inspection.manifest;
    return 0;
}

static int check_archive(struct cmd *x, const char *path, struct checked *ret, struct err *e)
{
    char tmp[] = "/tmp/nb-validate-XXXXXX";
    if (!mkdtemp(tmp))
        return err_set(e, -EIO, "cannot make a temporary directory");
    const char *dir = arena_printf(&x->arena, "%s/bundle", tmp).p;
    int r = archive_unpack(path, dir, e);
    if (r == 0)
        r = check_package(x, path, dir, ret, e);
    (void)io_remove_tree(&store_io_system, tmp, REMOVE_DEPTH);
    return r;
}

static int validate_path(struct cmd *x, const char *path, struct checked *ret, struct err *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return check_package(x, path, NULL, ret, e);
    return str_ends(str_from(path), STR(".json")) ? check_manifest_file(x, path, &ret->manifest, e)
                                                  : check_archive(x, path, ret, e);
}

static struct json *validate_json(struct cmd *x, const char *path, const struct checked *c,
                                  const struct err *e)
{
    const struct manifest *m = &c->manifest;
    struct json *v = cmd_object(x, {STR("path"), json_of_str(str_from(path))},
                                {STR("valid"), json_of_bool(e->code == 0)});
    if (e->code < 0) {
        json_set(&x->arena, v, STR("error"), json_of_str(str_from(e->msg)));
        return v;
    }
    json_set(&x->arena, v, STR("name"), json_of_str(m->name));
    json_set(&x->arena, v, STR("version"), json_of_str(m->version));
    json_set(&x->arena, v, STR("type"), json_of_str(str_from(manifest_server_name(m->type))));
    if (c->has_inspection)
        json_set(&x->arena, v, STR("grants"), *bundle_cli_inspection_json(x, &c->inspection));
    return v;
}

static bool validate(struct cmd *x, const char *path)
{
    struct checked c = {0};
    struct err e = {0};
    const struct manifest *m = &c.manifest;
    int r = validate_path(x, path, &c, &e);
    if (x->cli->opt.is_json)
        cmd_print_json(validate_json(x, path, &c, &e));
    else if (r < 0)
        cli_fail(&e);
    else
        printf("%s: valid (%.*s %.*s, %s)\n", path, STR_ARG(m->name), STR_ARG(m->version),
               manifest_server_name(m->type));
    return r == 0;
}

/* A package of the registry that is not installed is checked when it is downloaded. */
static int validate_entry(struct cmd *x, const struct bundle_entry *b, struct err *e)
{
    struct bundle_cli_files files = {0};
    struct inspection in;
    if (b->kind == BUNDLE_REMOTE)
        return bundle_entry_check_url(b, x->config.allow_insecure_remotes, e);
    if (b->kind == BUNDLE_BUILT_IN || b->kind == BUNDLE_NAMED || b->is_disabled)
        return 0;
    int r = bundle_cli_find_files(x, b, &files, e);
    struct bundle_cli_question q = {.entry = b, .files = files.dir};
    return r < 0 ? r : bundle_cli_inspect(x, &q, &in, e);
}

static int validate_settings(struct cmd *x)
{
    struct bundle_entry *all;
    size_t n, bad = 0;
    int code = bundle_cli_entries(x, &all, &n);
    if (code != EXIT_DONE)
        return code;
    for (size_t i = 0; i < n; i++) {
        struct err e = {0};
        if (validate_entry(x, &all[i], &e) == 0)
            continue;
        err_prefix(&e, "%.*s", STR_ARG(all[i].server_name));
        cli_fail(&e);
        bad++;
    }
    if (bad == 0)
        printf("%s: valid (%zu bundles)\n", x->config.path, n);
    return bad == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int bundle_validate(struct cmd *x)
{
    int code = EXIT_DONE;
    if (x->argc == 0)
        return validate_settings(x);
    for (int i = 0; i < x->argc; i++)
        if (!validate(x, x->argv[i]))
            code = EXIT_FAILED;
    return code;
}

const struct command BUNDLE_VALIDATE = {
    .name = "validate",
    .operands = "[PATH...]",
    .summary = "check bundle folders, .mcpb archives, manifests or the settings",
    .help =
        "Checks what nb bundle add checks, and names the field that is wrong. --json also prints "
        "what the bundle would run and could reach. Archives are unpacked into a temporary "
        "directory, with the limits of an installation. Exits with 1 when something is wrong.\n",
    .run = bundle_validate,
};
