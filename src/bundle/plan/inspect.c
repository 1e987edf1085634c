#include "bundle/plan/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/confine/program_files.h"
#include "bundle/package/package_prepare.h"

/* ---- packages ---- */

static struct json_strs texts_of(struct arena *a, const struct json *v)
{
    bool is_list = json_is(v, JSON_ARRAY);
    size_t n = is_list ? v->len : 1;
    struct json_strs ret = {arena_array(a, n, sizeof(str)), 0};
    for (size_t i = 0; i < n; i++) {
        str text = json_string(is_list ? json_at(v, i) : v, STR_NONE);
        if (text.n > 0)
            ret.items[ret.len++] = text;
    }
    return ret;
}

static void find_proposals(struct arena *a, const struct package_ready *p, const char *home_dir,
                           struct inspection *ret)
{
    size_t n = p->manifest.noptions;
    ret->proposals = arena_array(a, n, sizeof(*ret->proposals));
    ret->missing = (struct json_strs){arena_array(a, n, sizeof(str)), 0};
    for (size_t i = 0; i < n; i++) {
        const struct manifest_option *o = &p->manifest.options[i];
        if (p->values[i].values.len > 0)
            continue;
        if (o->is_required)
            ret->missing.items[ret->missing.len++] = o->key;
        if (!option_is_path(o) || !o->fallback)
            continue;
        struct json_strs paths = texts_of(a, user_config_proposal(a, o, home_dir));
        if (paths.len > 0)
            ret->proposals[ret->nproposals++] = (struct bundle_proposal){o, paths};
    }
}

/* Some packages have a command that never uses the entry point; a missing one still means that the
 * package was packed wrongly. */
static int check_entry_point(struct arena *a, const char *dir, const struct manifest *m,
                             struct err *e)
{
    const char *path = arena_printf(a, "%s/%.*s", dir, STR_ARG(m->entry_point)).p;
    if (access(path, F_OK) == 0)
        return 0;
    return err_set(e, -EINVAL, "%s/manifest.json: server.entry_point: there is no %s", dir, path);
}

static int inspect_package(struct arena *a, const struct inspect_want *want, struct sandbox_want *w,
                           struct inspection *ret, struct err *e)
{
    struct package_ready *p = ARENA_NEW(a, struct package_ready);
    struct package_use use = {
        .entry = want->entry,
        .dir = want->package_files,
        .home_dir = w->home_dir,
        .data_dir = w->data_dir,
        .credentials_dir = want->credentials_dir,
        .given = want->values,
        .may_lack_values = true,
    };
    int rc = package_prepare(a, &use, p, e);
    if (rc == 0)
        rc = check_entry_point(a, use.dir, &p->manifest, e);
    if (rc < 0)
        return rc;
    find_proposals(a, p, w->home_dir, ret);
    bundle_want_package(a, w, &p->resolved);
    ret->manifest = &p->manifest;
    return 0;
}

int bundle_inspect(struct arena *a, const struct inspect_want *want, struct inspection *ret,
                   struct err *e)
{
    struct sandbox_want w = bundle_want(a, want->entry, want->place);
    int rc = 0;
    *ret = (struct inspection){.entry = want->entry, .data_dir = w.data_dir};
    if (want->package_files)
        rc = inspect_package(a, want, &w, ret, e);
    else if (want->npm)
        bundle_want_npm(a, &w, want->entry, want->npm);
    else
        bundle_want_command(a, &w, want->entry);
    if (rc < 0)
        return rc;
    ret->npm = want->npm ? &want->npm->pin : NULL;
    ret->cwd = w.cwd ? w.cwd : w.data_dir;
    bundle_want_offer(a, &w, want->entry, want->offer);
    return sandbox_plan(a, &w, &ret->plan, e);
}

/* ---- paths ---- */

const char *path_right_name(enum path_right r)
{
    static const char *const NAMES[] = {
        [PATH_HIDDEN] = "hidden", [PATH_READ] = "read", [PATH_WRITE] = "write"};
    return NAMES[r];
}

struct grants {
    struct path_grant *at;
    size_t n;
};

/* The last line for a path takes effect, as in the sandbox. */
static void grant(struct grants *g, const char *path, enum path_right right, const char *why)
{
    size_t i = 0;
    while (i < g->n && strcmp(g->at[i].path, path) != 0)
        i++;
    g->at[i] = (struct path_grant){path, right, why};
    g->n += i == g->n;
}

static void grant_all(struct grants *g, const struct path_list *l, enum path_right right,
                      const char *why)
{
    for (size_t i = 0; i < l->n; i++)
        grant(g, l->at[i], right, why);
}

static void grant_system(struct grants *g, const char *const *list)
{
    for (; *list; list++)
        if (access(*list, F_OK) == 0)
            grant(g, *list, PATH_READ, "system");
}

static int by_path(const void *x, const void *y)
{
    const struct path_grant *a = x, *b = y;
    return strcmp(a->path, b->path);
}

static size_t count_strings(const char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

struct path_grant *inspection_paths(struct arena *a, const struct inspection *in, size_t *ret_n)
{
    const struct sandbox_rules *r = in->plan.rules;
    *ret_n = 0;
    if (!r)
        return NULL;
    size_t max = count_strings(SANDBOX_SYSTEM_DIRS) + count_strings(SANDBOX_SYSTEM_FILES) +
                 r->program_files.n + r->read.n + r->write.n + r->hide.n + r->own_read.n +
                 r->own_write.n + 2;
    struct grants g = {arena_array(a, max, sizeof(*g.at)), 0};
    grant_system(&g, SANDBOX_SYSTEM_DIRS);
    grant_system(&g, SANDBOX_SYSTEM_FILES);
    if (in->plan.wrap) /* with Landlock /tmp is in the data directory */
        grant(&g, "/tmp", PATH_WRITE, "private");
    grant_all(&g, &r->program_files, PATH_READ, "program");
    grant_all(&g, &r->read, PATH_READ, "declared");
    grant_all(&g, &r->write, PATH_WRITE, "declared");
    grant_all(&g, &r->hide, PATH_HIDDEN, "secret");
    grant_all(&g, &r->own_read, PATH_READ, in->manifest || in->npm ? "package" : "declared");
    grant_all(&g, &r->own_write, PATH_WRITE, "declared");
    grant(&g, in->data_dir, PATH_WRITE, "data");
    qsort(g.at, g.n, sizeof(*g.at), by_path);
    *ret_n = g.n;
    return g.at;
}

/* ---- variables ---- */

static int order_by_name(const void *x, const void *y)
{
    const str *a = x, *b = y;
    return str_cmp(*a, *b);
}

struct json_strs inspection_variables(struct arena *a, const struct inspection *in)
{
    const char *const *env = in->plan.env;
    size_t n = env ? count_strings(env) : 0;
    struct json_strs ret = {arena_array(a, n, sizeof(str)), 0};
    for (size_t i = 0; i < n; i++) {
        str pair = str_from(env[i]);
        ptrdiff_t eq = str_find_char(pair, '=');
        ret.items[ret.len++] = eq > 0 ? str_slice(pair, 0, (size_t)eq) : pair;
    }
    if (n > 0)
        qsort(ret.items, ret.len, sizeof(str), order_by_name);
    return ret;
}
