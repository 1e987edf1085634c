#include "bundle/sandbox/sandbox_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/confine/path_list.h"
#include "bundle/confine/program_files.h"

/* ---- declared ---- */

static str real_path(struct arena *a, const char *path)
{
    return path_real(a, str_from(path));
}

static int check_path(struct arena *a, const struct sandbox_want *w, str path, const char *what,
                      struct err *e)
{
    str work = real_path(a, w->work_dir), real = real_path(a, path.p);
    if (str_eq(path, STR("/")))
        return err_set(e, -EINVAL, "%s: the whole file system cannot be shown to a bundle", what);
    if (path_is_at_or_below(real, work) && !path_is_at_or_below(real, real_path(a, w->data_dir)))
        return err_set(e, -EINVAL, "%s: %.*s is in nb's own work directory, which no bundle sees",
                       what, STR_ARG(path));
    if (access(path.p, F_OK) < 0)
        return err_set(e, -ENOENT,
                       "%s: %.*s does not exist; create it, or remove it from the entry", what,
                       STR_ARG(path));
    return 0;
}

static int declare(struct arena *a, const struct sandbox_want *w, const struct json_strs *paths,
                   const char *what, struct path_list *ret, struct err *e)
{
    for (size_t i = 0; i < paths->len; i++) {
        str path = path_clean(a, paths->items[i], str_from(w->data_dir), str_from(w->home_dir));
        int rc = check_path(a, w, path, what, e);
        if (rc < 0)
            return rc;
        path_list_add(a, ret, path);
    }
    return 0;
}

static struct path_list writable(struct arena *a, const struct sandbox_want *w,
                                 const struct sandbox_rules *r)
{
    struct path_list ret = {0};
    path_list_add(a, &ret, str_from(w->data_dir));
    for (size_t i = 0; i < r->write.n; i++)
        path_list_add(a, &ret, str_from(r->write.at[i]));
    return ret;
}

/* A server could replace a path that it may write by a link, before its next start. */
static int check_links(struct arena *a, const struct path_list *l, const struct path_list *writes,
                       struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        str path = str_from(l->at[i]);
        if (path_meets_link_in(a, path, writes))
            return err_set(
                e, -EINVAL,
                "sandbox: the path %s leads through a link in a directory that the server may "
                "write; declare the target of the link: %.*s",
                l->at[i], STR_ARG(path_real(a, path)));
    }
    return 0;
}

/* True when the path is a secret or lies in one; checks both names of the home directory. */
static bool is_secret(struct arena *a, const struct sandbox_want *w, str path)
{
    str real = path_real(a, path);
    for (const char *const *s = SANDBOX_SECRETS; *s; s++) {
        str secret = arena_printf(a, "%s/%s", w->home_dir, *s);
        if (path_is_at_or_below(path, secret) || path_is_at_or_below(real, secret) ||
            path_is_at_or_below(real, path_real(a, secret)))
            return true;
    }
    return false;
}

/* The value of an option names a directory to work with, and does not mean to show secrets: those
 * have to be declared in the entry. */
static int choose_path(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *r,
                       struct err *e)
{
    for (size_t i = 0; i < w->chosen.len; i++) {
        str path = path_clean(a, w->chosen.items[i], str_from(w->data_dir), str_from(w->home_dir));
        int rc = check_path(a, w, path, "user_config", e);
        if (rc < 0)
            return rc;
        if (path_is_at_or_below(real_path(a, w->home_dir), path_real(a, path)) ||
            is_secret(a, w, path))
            return err_set(e, -EINVAL,
                           "user_config: %.*s holds keys or the whole home directory; choose a "
                           "directory in it, or declare it with sandbox.read in the entry",
                           STR_ARG(path));
        path_list_add(a, &r->read, path);
    }
    return 0;
}

static int declare_all(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *r,
                       struct err *e)
{
    int rc = declare(a, w, &w->declared->read, "sandbox.read", &r->read, e);
    if (rc == 0)
        rc = declare(a, w, &w->declared->write, "sandbox.write", &r->write, e);
    if (rc == 0)
        rc = choose_path(a, w, r, e);
    struct path_list writes = writable(a, w, r);
    if (rc == 0)
        rc = check_links(a, &r->read, &writes, e);
    if (rc == 0)
        rc = check_links(a, &r->write, &writes, e);
    return rc;
}

/* Declares the directory where nb was started, unless that is more than a project. */
static void declare_project(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *r)
{
    str dir = str_from(w->project_dir), home = str_from(w->home_dir), work = str_from(w->work_dir);
    if (dir.n == 0 || path_is_at_or_below(home, dir) || path_is_at_or_below(work, dir) ||
        path_is_at_or_below(dir, work))
        return;
    for (const char *const *s = SANDBOX_SECRETS; *s; s++) {
        if (path_is_at_or_below(dir, arena_printf(a, "%.*s/%s", STR_ARG(home), *s)))
            return;
    }
    path_list_add(a, &r->write, dir);
}

/* ---- hidden ---- */

static bool shows(const struct sandbox_rules *r, str path)
{
    return path_list_covers(&r->read, path) || path_list_covers(&r->write, path);
}

/* A secret may be a link to another visible directory, and a visible path may be declared through a
 * link: so compare the paths without links. */
static void hide_below(struct arena *a, struct sandbox_rules *r, str secret, const char *shown)
{
    str root = real_path(a, shown);
    if (path_is_below(secret, root))
        path_list_add(a, &r->hide,
                      arena_printf(a, "%s%.*s", shown, STR_ARG(str_skip(secret, root.n))));
}

static void hide(struct arena *a, struct sandbox_rules *r, const char *path)
{
    if (access(path, F_OK) < 0)
        return;
    str secret = real_path(a, path);
    const struct path_list *lists[] = {&r->read, &r->write, &r->program_files, &r->own_read};
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        for (size_t i = 0; i < lists[k]->n; i++)
            hide_below(a, r, secret, lists[k]->at[i]);
    }
}

static void hide_secrets(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *r)
{
    for (const char *const *s = SANDBOX_SECRETS; *s; s++)
        hide(a, r, arena_printf(a, "%s/%s", w->home_dir, *s).p);
    hide(a, r, w->work_dir);
}

/* A secret that was declared itself stays visible. */
static void keep_declared(struct arena *a, struct sandbox_rules *r, const struct path_list *from,
                          struct path_list *to)
{
    for (size_t i = 0; i < from->n; i++)
        if (path_list_covers(&r->hide, str_from(from->at[i])))
            path_list_add(a, to, str_from(from->at[i]));
}

/* ---- its own ---- */

static int add_package(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *r,
                       struct err *e)
{
    str dir = str_from(w->package_dir), work = str_from(w->work_dir), home = str_from(w->home_dir);
    if (dir.n == 0)
        return 0;
    if (path_is_at_or_below(work, dir) || path_is_at_or_below(home, dir))
        return err_set(e, -EINVAL,
                       "%s holds more than a bundle: it contains the home or the work directory; "
                       "move the bundle to a directory of its own",
                       w->package_dir);
    str real = path_real(a, dir);
    if (path_is_at_or_below(real, real_path(a, w->work_dir)) &&
        !(w->packages_dir && path_is_below(real, real_path(a, w->packages_dir))))
        return err_set(e, -EINVAL,
                       "%s is in nb's own work directory; move the bundle to another place",
                       w->package_dir);
    path_list_add(a, &r->own_read, dir);
    return 0;
}

static int add_cwd(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *r,
                   struct err *e)
{
    str dir = str_from(r->cwd), home = str_from(w->home_dir);
    if (path_is_at_or_below(dir, str_from(w->data_dir)) ||
        (w->package_dir && path_is_at_or_below(dir, str_from(w->package_dir))) || shows(r, dir))
        return 0;
    if (w->reads_home) { /* nb was started in a directory that its shell must not use */
        r->cwd = w->data_dir;
        return 0;
    }
    if (path_is_at_or_below(home, dir))
        return err_set(e, -EINVAL,
                       "cwd: %s shows the home directory; name a directory in it, or declare it "
                       "with sandbox.read",
                       r->cwd);
    int rc = check_path(a, w, dir, "cwd", e);
    if (rc == 0)
        path_list_add(a, &r->read, dir);
    return rc;
}

/* ---- its program ---- */

static bool is_shown(const struct sandbox_rules *r, str path)
{
    return path_is_of_system(path) || path_list_covers(&r->program_files, path) ||
           path_list_covers(&r->own_read, path) || shows(r, path);
}

static struct program_query query_of(struct arena *a, const struct sandbox_want *w,
                                     const struct sandbox_rules *r, const struct path_list *writes)
{
    /* A package must not choose the PATH for its interpreter. */
    const char *path = getenv("PATH");
    const char **own = arena_array(a, 2, sizeof(*own));
    own[0] = path ? arena_printf(a, "PATH=%s", path).p : NULL;
    return (struct program_query){
        .argv = w->argv,
        .env = w->package_dir ? own : w->env,
        .cwd = r->cwd,
        .home_dir = w->home_dir,
        .work_dir = w->work_dir,
        .package_dir = w->package_dir,
        .data_dir = w->data_dir,
        .writes = writes,
    };
}

/* A command line names programs to run; a person cannot see from it that it would also show keys or
 * nb's own data. */
static int check_program_files(struct arena *a, const struct sandbox_want *w,
                               struct sandbox_rules *r, struct err *e)
{
    struct path_list found = r->program_files;
    str work = real_path(a, w->work_dir), own = real_path(a, w->own_program);
    r->program_files = (struct path_list){0};
    for (size_t i = 0; i < found.n; i++) {
        str path = str_from(found.at[i]), real = path_real(a, path);
        if (str_eq(real, own)) { /* nb itself may be installed in its work directory */
            path_list_add(a, &r->own_read, path);
            continue;
        }
        if (path_is_at_or_below(real, work) &&
            !path_is_at_or_below(real, real_path(a, w->data_dir)))
            return err_set(e, -EINVAL,
                           "the command needs %s, which is in nb's own work directory; no bundle "
                           "sees it",
                           found.at[i]);
        if (is_secret(a, w, path) && !shows(r, path))
            return err_set(e, -EINVAL,
                           "the command needs %s, which contains keys or tokens; declare it with "
                           "sandbox.read if the bundle is meant to see it",
                           found.at[i]);
        path_list_add(a, &r->program_files, path);
    }
    return 0;
}

/* A virtual environment in a writable directory links to the interpreter outside of it. */
static int check_program(struct arena *a, const struct sandbox_want *w,
                         const struct sandbox_rules *r, struct err *e)
{
    str program = str_from(r->program), real = path_real(a, program);
    struct path_list writes = writable(a, w, r);
    if (!path_meets_link_in(a, program, &writes) || is_shown(r, real) ||
        path_is_at_or_below(real, real_path(a, w->data_dir)))
        return 0;
    return err_set(e, -EINVAL,
                   "%s is a link in a directory that the server may write, and leads to "
                   "%.*s: declare its installation with sandbox.read",
                   r->program, STR_ARG(real));
}

/* ---- links ---- */

static bool is_behind_link(struct arena *a, const struct sandbox_rules *r, str path)
{
    const struct path_list *lists[] = {&r->read, &r->write, &r->program_files, &r->own_read,
                                       &r->own_write};
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        for (size_t i = 0; i < lists[k]->n; i++) {
            str dir = str_from(lists[k]->at[i]);
            if (path_is_below(path, dir) && path_leaves_by_link(a, path, dir))
                return true;
        }
    }
    return false;
}

/* A link inside a visible directory stays a link: nothing can be mounted at its name, only at its
 * target. */
static void straighten(struct arena *a, struct sandbox_rules *r)
{
    struct sandbox_rules before = *r;
    struct path_list *lists[] = {&r->read, &r->write, &r->program_files, &r->own_read};
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        struct path_list straight = {0};
        for (size_t i = 0; i < lists[k]->n; i++) {
            str path = str_from(lists[k]->at[i]);
            bool is_behind = is_behind_link(a, &before, path);
            path_list_add(a, &straight, is_behind ? path_real(a, path) : path);
        }
        *lists[k] = straight;
    }
}

int sandbox_rules_make(struct arena *a, const struct sandbox_want *w, struct sandbox_rules *ret,
                       struct err *e)
{
    struct sandbox_rules r = {.network = w->declared->network};
    r.cwd = w->cwd ? w->cwd : w->data_dir;
    int rc = declare_all(a, w, &r, e);
    if (rc < 0)
        return rc;
    declare_project(a, w, &r);
    struct path_list writes = writable(a, w, &r);
    struct program_query q = query_of(a, w, &r, &writes);
    rc = program_files_find(a, &q, &r.program_files, &r.program, e);
    if (rc == 0)
        rc = check_program_files(a, w, &r, e);
    if (rc < 0)
        return rc;
    if (w->reads_home)
        path_list_add(a, &r.read, str_from(w->home_dir));
    rc = add_cwd(a, w, &r, e);
    if (rc == 0)
        rc = add_package(a, w, &r, e);
    if (rc == 0)
        rc = check_program(a, w, &r, e);
    if (rc < 0)
        return rc;
    straighten(a, &r);
    hide_secrets(a, w, &r);
    keep_declared(a, &r, &r.read, &r.own_read);
    keep_declared(a, &r, &r.write, &r.own_write);
    if (w->inbox_dir)
        path_list_add(a, &r.own_read, str_from(w->inbox_dir));
    path_list_add(a, &r.own_write, str_from(w->data_dir));
    *ret = r;
    return 0;
}
