/* bundle_inspect.c - shows what a bundle would run and could access, before the user consents. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/confine/path_list.h"
#include "bundle/entry/package_command.h"
#include "bundle/package/package.h"
#include "cli/bundle/bundle.h"
#include "cli/term/ask.h"
#include "os/file.h"

#define PRINTED_MAX (256u * 1024)

/* ---- finding its files ---- */

struct fetching {
    bool is_done;
    struct err err;
};

static void on_resolved(void *ctx, const struct resolved *r, const struct err *err)
{
    struct fetching *f = ctx;
    f->is_done = true;
    if (err)
        f->err = *err;
}

/* Downloads the package unless it is installed. Missing values are reported later. */
static int fetch_named(struct cmd *x, const struct bundle_entry *b, const char *package_dir,
                       struct err *e)
{
    struct fetching f = {0};
    struct resolver_conf conf = {
        .loop = x->loop,
        .log = x->log,
        .fetcher = fetcher_new(x->loop),
        .pool = pool_new(x->loop, "nb-package", 1),
        .package_dir = package_dir,
        .credentials_dir = bundle_cli_credentials(x),
        .registry_url = x->config.registry_url,
    };
    struct resolver *s = resolver_new(&conf);
    (void)bundle_resolve(s, b, "/nonexistent", on_resolved, &f);
    cmd_wait(x, &f.is_done);
    resolver_free(s);
    pool_free(conf.pool);
    fetcher_free(conf.fetcher);
    *e = f.err;
    return f.err.code == -ENOKEY ? 0 : f.err.code;
}

int bundle_cli_fetch(struct cmd *x, const struct bundle_entry *b, const char *package_dir,
                     struct bundle_cli_files *ret, struct err *e)
{
    struct package p = {0};
    int rc = fetch_named(x, b, package_dir, e);
    if (rc == 0)
        rc = package_find(&x->arena, package_dir, b->name, &p, e);
    if (rc == 0 && !p.dir)
        rc = err_set(e, -ENOENT, "%.*s: the downloaded package is missing", STR_ARG(b->name));
    if (rc < 0)
        return rc;
    *ret = (struct bundle_cli_files){p.dir, p.version};
    return 0;
}

int bundle_cli_find_files(struct cmd *x, const struct bundle_entry *b, struct bundle_cli_files *ret,
                          struct err *e)
{
    struct stat st;
    *ret = (struct bundle_cli_files){0};
    if (b->kind == BUNDLE_NAMED)
        return bundle_cli_fetch(x, b, config_path(&x->config, "apps"), ret, e);
    if (b->kind != BUNDLE_LOCAL)
        return 0;
    const char *path = arena_cstr(&x->arena, b->path);
    if (stat(path, &st) < 0)
        return err_errno(e, -errno, "cannot find", path);
    if (!S_ISDIR(st.st_mode))
        return package_of_archive(&x->arena, config_path(&x->config, "apps"), path, &ret->dir, e);
    ret->dir = path;
    return 0;
}

/* ---- inspecting ---- */

struct bundle_place bundle_cli_bundle_place(struct cmd *x)
{
    return (struct bundle_place){
        .data_dir = bundle_cli_below(x, "data"),
        .package_dir = config_path(&x->config, "apps"),
        .work_dir = x->config.work_dir,
        .own_program = file_own_program(&x->arena),
    };
}

int bundle_cli_inspect(struct cmd *x, const struct bundle_cli_question *q, struct inspection *ret,
                       struct err *e)
{
    struct sandbox_offer *offer = ARENA_NEW(&x->arena, struct sandbox_offer);
    struct bundle_place place = bundle_cli_bundle_place(x);
    struct inspect_want want = {
        .entry = q->entry,
        .package_files = q->files,
        .values = q->values,
        .npm = q->npm,
        .place = &place,
        .credentials_dir = bundle_cli_credentials(x),
        .offer = offer,
    };
    sandbox_look(offer);
    return bundle_inspect(&x->arena, &want, ret, e);
}

struct json *bundle_cli_inspection_json(struct cmd *x, const struct inspection *in)
{
    struct buf b;
    struct json_writer w;
    struct json *ret = NULL;
    jw_start(&w, &b, PRINTED_MAX);
    inspection_write(&w, &x->arena, in);
    if (json_parse(&x->arena, buf_str(&b), JSON_COPY, &ret, NULL) < 0)
        ret = json_new(&x->arena, JSON_OBJECT);
    buf_done(&b);
    return ret;
}

/* ---- printing ---- */

struct printer {
    struct cmd *x;
    FILE *out;
};

/* One line for each value, with the label before the first. */
static void print_list(struct printer *p, const char *label, const struct json_strs *l)
{
    for (size_t i = 0; i < l->len; i++)
        bundle_cli_print_line(p->out, i == 0 ? label : "", l->items[i]);
}

static void print_joined(struct printer *p, const char *label, const struct json_strs *l)
{
    bundle_cli_print_line(p->out, label, cmd_joined(p->x, *l, ", "));
}

static str short_path(struct arena *a, const char *path)
{
    str home = str_from(getenv("HOME")), p = str_from(path);
    bool is_in_home = home.n > 1 && path_is_below(p, home);
    return is_in_home ? arena_printf(a, "~%.*s", STR_ARG(str_skip(p, home.n))) : p;
}

static bool is_person_s(const struct path_grant *g)
{
    return strcmp(g->why, "declared") == 0 || strcmp(g->why, "secret") == 0;
}

/* Paths that the user declared come first; system paths are summarised. Returns their number. */
static size_t print_paths(struct printer *p, const char *label, const struct inspection *in,
                          enum path_right right)
{
    size_t n, shown = 0;
    struct arena *a = &p->x->arena;
    const struct path_grant *all = inspection_paths(a, in, &n);
    for (size_t i = 0; i < 2 * n; i++) {
        const struct path_grant *g = &all[i % n];
        if (g->right != right || strcmp(g->why, "system") == 0 || is_person_s(g) != (i < n))
            continue;
        str path = short_path(a, g->path);
        str text = i < n ? path : arena_printf(a, "%.*s (%s)", STR_ARG(path), g->why);
        bundle_cli_print_line(p->out, shown++ == 0 ? label : "", text);
    }
    return shown;
}

static void print_unseen(struct printer *p, const struct inspection *in)
{
    struct json_strs unseen = command_unseen_paths(&p->x->arena, in->entry);
    print_list(p, "cannot see", &unseen);
    if (unseen.len > 0)
        fputs("             (--read PATH or --write PATH shows it)\n", p->out);
}

static void print_rights(struct printer *p, const struct inspection *in)
{
    const struct bundle_entry *b = in->entry;
    if (b->sandbox.is_off) {
        bundle_cli_print_line(p->out, "sandbox", STR("none: it may do everything that you may do"));
        return;
    }
    bundle_cli_print_line(p->out, "network", network_words(&p->x->arena, &b->sandbox));
    if (b->sandbox.network && command_fetches(b->command) && !in->npm)
        bundle_cli_print_line(p->out, "", STR("and the registry, since it downloads what it runs"));
    size_t nread = print_paths(p, "reads", in, PATH_READ);
    bundle_cli_print_line(p->out, nread > 0 ? "" : "reads",
                          STR("programs and libraries of the system"));
    (void)print_paths(p, "writes", in, PATH_WRITE);
    (void)print_paths(p, "hidden", in, PATH_HIDDEN);
    print_unseen(p, in);
}

static void print_proposals(struct printer *p, const struct inspection *in)
{
    for (size_t i = 0; i < in->nproposals; i++)
        for (size_t k = 0; k < in->proposals[i].paths.len; k++)
            bundle_cli_print_line(p->out, "proposes",
                                  arena_printf(&p->x->arena,
                                               "%.*s for %.*s (not granted; --allow-dir grants it)",
                                               STR_ARG(in->proposals[i].paths.items[k]),
                                               STR_ARG(in->proposals[i].option->key)));
    if (in->missing.len > 0)
        print_joined(p, "needs", &in->missing);
}

void bundle_cli_show(struct cmd *x, FILE *out, const struct inspection *in)
{
    struct printer p = {x, out};
    struct json_strs variables = inspection_variables(&x->arena, in);
    const struct manifest *m = in->manifest;
    if (m)
        bundle_cli_print_line(
            out, "package",
            arena_printf(&x->arena, "%.*s %.*s", STR_ARG(m->name), STR_ARG(m->version)));
    if (m)
        bundle_cli_print_line(out, "from", bundle_cli_source(&x->arena, in->entry));
    if (in->npm)
        bundle_cli_print_line(out, "package",
                              arena_printf(&x->arena, "%.*s@%.*s of npm", STR_ARG(in->npm->name),
                                           STR_ARG(in->npm->version)));
    if (in->npm)
        bundle_cli_print_line(out, "integrity", in->npm->integrity);
    bundle_cli_print_line(out, "command", bundle_cli_quoted(&x->arena, in->plan.program));
    bundle_cli_print_line(out, "runs in", str_from(in->cwd));
    print_joined(&p, "variables", &variables);
    print_rights(&p, in);
    if (m)
        print_joined(&p, "tools", &m->tools);
    print_proposals(&p, in);
}

/* ---- proposals ---- */

static bool is_dir_allowed(const struct bundle_proposal *p, const struct arg_list *allowed,
                           bool *used)
{
    bool is_found = false;
    for (size_t i = 0; i < allowed->len; i++) {
        str given = str_from(allowed->items[i]);
        bool is_it = str_eq(given, p->option->key);
        for (size_t k = 0; k < p->paths.len; k++)
            is_it |= str_eq(given, p->paths.items[k]);
        used[i] |= is_it;
        is_found |= is_it;
    }
    return is_found;
}

static bool is_granted(struct cmd *x, const struct bundle_proposal *p, bool may_ask)
{
    if (!may_ask)
        return false;
    bundle_cli_print_line(stderr, "proposes", cmd_joined(x, p->paths, ", "));
    return ask_yes(
        arena_printf(&x->arena, "Allow it to read this directory (%.*s)?", STR_ARG(p->option->key))
            .p);
}

static struct json value_of(struct cmd *x, const struct bundle_proposal *p)
{
    return p->option->is_multiple ? cmd_strings(x, p->paths.items, p->paths.len)
                                  : json_of_str(p->paths.items[0]);
}

int bundle_cli_ask_proposals(struct cmd *x, const struct inspection *in,
                             const struct arg_list *allowed, bool may_ask, struct json *granted)
{
    bool used[ARG_LIST_MAX] = {0};
    for (size_t i = 0; i < in->nproposals; i++) {
        const struct bundle_proposal *p = &in->proposals[i];
        if (is_dir_allowed(p, allowed, used) || is_granted(x, p, may_ask))
            json_set(&x->arena, granted, p->option->key, value_of(x, p));
    }
    for (size_t i = 0; i < allowed->len; i++)
        if (!used[i])
            return cli_usage_error("--allow-dir: the manifest does not propose '%s'",
                                   allowed->items[i]);
    return EXIT_DONE;
}
