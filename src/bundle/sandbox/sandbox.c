/* sandbox.c - rules as arguments for bubblewrap, or for the launcher. */
#include "bundle/sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json/json.h"
#include "bundle/confine/confine.h"
#include "bundle/confine/program_files.h"
#include "bundle/sandbox/launch.h"
#include "bundle/sandbox/network_reach.h"
#include "bundle/sandbox/sandbox_rules.h"

/* ---- a list of arguments ---- */

struct args {
    struct arena *arena;
    const char **at;
    size_t n, cap;
};

static void arg(struct args *l, const char *text)
{
    if (l->n + 1 >= l->cap) {
        l->cap = l->cap ? 2 * l->cap : 128;
        l->at = arena_copy(l->arena, l->at, l->n, l->cap, sizeof(*l->at));
    }
    l->at[l->n++] = text;
    l->at[l->n] = NULL;
}

static void arg2(struct args *l, const char *option, const char *value)
{
    arg(l, option);
    arg(l, value);
}

static void bind_path(struct args *l, const char *option, const char *path)
{
    arg2(l, option, path);
    arg(l, path);
}

/* ---- bubblewrap ---- */

/* The filter refuses user namespaces as well; this makes the kernel refuse them too, if bubblewrap
 * can: not before 0.8, and not where it is setuid. */
const char *const *sandbox_bwrap_user(bool no_userns)
{
    static const char *const FORBID[] = {"--unshare-user", "--disable-userns", NULL};
    static const char *const TRY[] = {"--unshare-user-try", NULL};
    return no_userns ? FORBID : TRY;
}

const char *const SANDBOX_BWRAP_ALWAYS[] = {
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--size",
    "16777216",
    "--tmpfs",
    "/var/tmp",
    "--size",
    "1048576",
    "--tmpfs",
    "/run",
    NULL,
};

static void bind_system(struct args *l)
{
    for (const char *const *d = SANDBOX_SYSTEM_DIRS; *d; d++) {
        struct stat st;
        char target[PATH_MAX];
        if (lstat(*d, &st) < 0)
            continue;
        ssize_t n = S_ISLNK(st.st_mode) ? readlink(*d, target, sizeof(target) - 1) : -1;
        if (n < 0) {
            bind_path(l, "--ro-bind", *d);
            continue;
        }
        arg2(l, "--symlink", arena_cstr(l->arena, (str){target, (size_t)n}));
        arg(l, *d);
    }
    for (const char *const *f = SANDBOX_SYSTEM_FILES; *f; f++) {
        if (access(*f, F_OK) == 0)
            bind_path(l, "--ro-bind-try", *f);
    }
}

struct declared {
    const char *path;
    bool is_written;
};

static int shorter_first(const void *x, const void *y)
{
    const struct declared *a = x, *b = y;
    int order = strcmp(a->path, b->path); /* a directory sorts before its content */
    return order != 0 ? order : (int)a->is_written - (int)b->is_written;
}

/* A mount hides earlier mounts below it, so mount outer directories first. */
static void bind_declared(struct args *l, const struct path_list *read,
                          const struct path_list *write)
{
    size_t n = read->n + write->n;
    struct declared *all = arena_array(l->arena, n, sizeof(*all));
    for (size_t i = 0; i < read->n; i++)
        all[i] = (struct declared){read->at[i], false};
    for (size_t i = 0; i < write->n; i++)
        all[read->n + i] = (struct declared){write->at[i], true};
    qsort(all, n, sizeof(*all), shorter_first);
    for (size_t i = 0; i < n; i++)
        bind_path(l, all[i].is_written ? "--bind" : "--ro-bind", all[i].path);
}

static void bind_nothing(struct args *l, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        arg2(l, "--size", "4096"); /* nothing should be stored there */
        arg2(l, "--tmpfs", path);
    } else {
        arg2(l, "--ro-bind", "/dev/null");
        arg(l, path);
    }
}

static bool is_in_own(const struct sandbox_rules *r, str path)
{
    for (size_t i = 0; i < r->own_read.n; i++) {
        if (path_is_below(path, str_from(r->own_read.at[i])))
            return true;
    }
    return false;
}

/* Files in a tmpfs use memory: without a limit each could use half of the machine's. */
static void add_tmpfs(struct args *l, const char *path, int64_t bytes)
{
    arg2(l, "--size", arena_printf(l->arena, "%lld", (long long)bytes).p);
    arg2(l, "--tmpfs", path);
}

#define TMP_SHARE      4 /* of its memory limit */
#define SHM_SHARE      8
#define MEMORY_DEFAULT (1024LL * 1024 * 1024)

static void add_tmp(struct args *l, const struct sandbox_want *w)
{
    int64_t memory = w->memory_bytes > 0 ? w->memory_bytes : MEMORY_DEFAULT;
    add_tmpfs(l, "/tmp", memory / TMP_SHARE);
    add_tmpfs(l, "/dev/shm", memory / SHM_SHARE);
    arg2(l, "--remount-ro", "/dev");
}

static void bwrap_args(struct args *l, const struct sandbox_want *w, const struct sandbox_rules *r)
{
    static const struct path_list NOTHING;
    arg(l, w->offer->bwrap);
    for (const char *const *p = sandbox_bwrap_user(w->offer->no_userns); *p; p++)
        arg(l, *p);
    for (const char *const *p = SANDBOX_BWRAP_ALWAYS; *p; p++)
        arg(l, *p);
    add_tmp(l, w);
    if (!r->network)
        arg(l, "--unshare-net");
    bind_system(l);
    bind_declared(l, &r->program_files, &NOTHING);
    bind_declared(l, &r->read, &r->write);
    for (size_t i = 0; i < r->hide.n; i++)
        bind_nothing(l, r->hide.at[i]);
    bind_declared(l, &r->own_read, &r->own_write);
    for (size_t i = 0; i < r->hide.n; i++) {
        if (is_in_own(r, str_from(r->hide.at[i])))
            bind_nothing(l, r->hide.at[i]);
    }
    if (geteuid() == 0) /* root owns /proc/sys and needs no capability to write it */
        arg2(l, "--remount-ro", "/proc");
    arg2(l, "--remount-ro", "/");
    arg2(l, "--chdir", r->cwd);
}

/* ---- the launcher ---- */

static void json_paths(struct json_writer *j, const char *key, const struct path_list *l)
{
    jw_karray(j, key);
    for (size_t i = 0; i < l->n; i++)
        jw_cstr(j, l->at[i]);
    jw_end(j);
}

static void json_rules(struct json_writer *j, const struct sandbox_rules *r)
{
    jw_kbool(j, "confine", true);
    jw_kbool(j, "network", r->network);
    json_paths(j, "read", &r->read);
    json_paths(j, "programFiles", &r->program_files);
    json_paths(j, "write", &r->write);
    json_paths(j, "hide", &r->hide);
    json_paths(j, "ownRead", &r->own_read);
    json_paths(j, "ownWrite", &r->own_write);
}

static void json_args(struct json_writer *j, const char *key, const char *const *list)
{
    jw_karray(j, key);
    for (; *list; list++)
        jw_cstr(j, *list);
    jw_end(j);
}

/* The message for the launcher (launch.h). rules: NULL when the launcher must not confine the
 * server. */
static int add_message(struct arena *a, const struct sandbox_want *w,
                       const struct sandbox_rules *rules, struct sandbox_plan *p, struct err *e)
{
    struct buf out;
    struct json_writer j;
    jw_start(&j, &out, LAUNCH_SPEC_MAX);
    jw_object(&j);
    if (w->cgroup)
        jw_kstr(&j, "cgroup", str_from(w->cgroup));
    if (w->memory_bytes > 0)
        jw_kint(&j, "memoryBytes", w->memory_bytes);
    if (w->cpu_seconds > 0)
        jw_kint(&j, "cpuSeconds", w->cpu_seconds);
    json_args(&j, "argv", p->program);
    if (p->wrap)
        json_args(&j, "wrap", p->wrap);
    if (p->wrap && w->offer->has_pid_space)
        jw_kbool(&j, "pidSpace", true);
    if (rules)
        json_rules(&j, rules);
    if (w->reach.len > 0)
        jw_kstrs(&j, "reach", w->reach.items, w->reach.len);
    jw_end(&j);
    for (const char *const *v = w->env; v && *v; v++) {
        buf_add_char(&out, 0);
        buf_add_str(&out, str_from(*v));
    }
    int rc = buf_failed(&out)
                 ? err_set(e, -EINVAL, "the paths and variables of the bundle are too long")
                 : 0;
    p->message = rc < 0 ? STR_NONE : arena_str(a, buf_str(&out));
    buf_done(&out);
    return rc;
}

/* ---- in words ---- */

static void describe_paths(struct buf *out, const char *verb, const struct path_list *l,
                           const char *home)
{
    for (size_t i = 0; i < l->n; i++) {
        str p = str_from(l->at[i]), h = str_from(home);
        bool is_in_home = path_is_at_or_below(p, h);
        buf_printf(out, "%s%s%.*s", i == 0 ? verb : ", ", is_in_home ? "~" : "",
                   STR_ARG(is_in_home ? str_skip(p, h.n) : p));
    }
}

#define DESCRIPTION_MAX (16u * 1024)

static str describe_sandbox(struct arena *a, const struct sandbox_want *w,
                            const struct sandbox_rules *r)
{
    struct buf out;
    buf_init(&out, DESCRIPTION_MAX);
    bool is_bwrap = w->offer->kind == SANDBOX_BUBBLEWRAP;
    buf_add_lit(&out, is_bwrap ? "bubblewrap: " : "Landlock and seccomp: ");
    network_describe(&out, &w->reach);
    describe_paths(&out, "; runs from ", &r->program_files, w->home_dir);
    describe_paths(&out, "; reads ", &r->read, w->home_dir);
    if (r->hide.n > 0)
        buf_add_lit(&out, " without keys and tokens");
    describe_paths(&out, "; writes ", &r->write, w->home_dir);
    if (r->write.n == 0)
        buf_add_lit(&out, "; writes only its own data directory");
    if (is_bwrap && !confine_has_seccomp())
        buf_add_lit(&out, "; system calls are not limited");
    if (!is_bwrap)
        buf_printf(&out, "; not hidden: names of files%s (%s)",
                   w->offer->landlock_abi < 6 ? ", other processes of yours (it may end them)" : "",
                   w->offer->why_not);
    return buf_keep(&out, a);
}

/* ---- the plan ---- */

/* The launcher's own command line contains nothing of the bundle except the program's name. */
static void add_commands(struct arena *a, const struct sandbox_want *w, const char *program,
                         struct sandbox_plan *p)
{
    struct args outer = {.arena = a}, inner = {.arena = a};
    arg2(&outer, w->own_program, "launch");
    arg(&outer, program);
    arg(&inner, program);
    for (const char *const *v = w->argv + 1; *v; v++)
        arg(&inner, *v);
    p->argv = outer.at;
    p->program = inner.at;
}

static int plan_off(struct arena *a, const struct sandbox_want *w, struct sandbox_plan *ret,
                    struct err *e)
{
    const char *cwd = w->cwd ? w->cwd : w->data_dir;
    struct path_list unused = {0};
    struct program_query q = {.argv = w->argv,
                              .env = w->env,
                              .cwd = cwd,
                              .home_dir = w->home_dir,
                              .work_dir = w->work_dir,
                              .writes = &unused};
    const char *program;
    int rc = program_files_find(a, &q, &unused, &program, e);
    if (rc < 0)
        return rc;
    *ret = (struct sandbox_plan){
        .cwd = cwd,
        .env = w->env,
        .description = STR("off: it may do everything that nb may do"),
    };
    add_commands(a, w, program, ret);
    return add_message(a, w, NULL, ret, e);
}

int sandbox_plan(struct arena *a, const struct sandbox_want *want, struct sandbox_plan *ret,
                 struct err *e)
{
    struct sandbox_want with_network = *want, *w = &with_network;
    struct sandbox_rules *r = ARENA_NEW(a, struct sandbox_rules);
    struct args options = {.arena = a};
    if (w->declared->is_off)
        return plan_off(a, w, ret, e);
    if (w->offer->kind == SANDBOX_NONE)
        return err_set(
            e, -ENOSYS,
            "no sandbox is available: %s, and this kernel does not support Landlock. Install "
            "bubblewrap, or run it unprotected with \"sandbox\": \"off\" in its entry",
            w->offer->why_not);
    int rc = network_prepare(a, w, e);
    if (rc == 0)
        rc = sandbox_rules_make(a, w, r, e);
    if (rc < 0)
        return rc;
    bool is_wrapped = w->offer->kind == SANDBOX_BUBBLEWRAP;
    *ret = (struct sandbox_plan){
        .cwd = is_wrapped ? "/" : r->cwd,
        .rules = r,
        .reach = w->reach,
        .env = w->env,
        .description = describe_sandbox(a, w, r),
    };
    add_commands(a, w, r->program, ret);
    if (is_wrapped) {
        bwrap_args(&options, w, r);
        ret->wrap = options.at;
    }
    return add_message(a, w, is_wrapped ? NULL : r, ret, e);
}
