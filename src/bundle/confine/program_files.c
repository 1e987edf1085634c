#include "bundle/confine/program_files.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/confine/path_list.h"
#include "os/file.h"

#define SHEBANG_MAX     256
#define PACKAGE_UPWARDS 6 /* levels above a script that are searched for its package */
#define DEFAULT_PATH    "/usr/local/bin:/usr/bin:/bin"

const char *const SANDBOX_SYSTEM_DIRS[] = {
    "/usr",   "/bin",    "/sbin",      "/lib",       "/lib32",
    "/lib64", "/libx32", "/nix/store", "/gnu/store", "/run/current-system",
    NULL,
};

/* Files that libraries and interpreters read. No secrets of accounts, no keys, no machine id. */
const char *const SANDBOX_SYSTEM_FILES[] = {
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    NULL,
};

/* ---- small questions ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool exists(struct arena *a, str dir, const char *name)
{
    return access(arena_printf(a, "%.*s/%s", STR_ARG(dir), name).p, F_OK) == 0;
}

static str parent_of(str path)
{
    ptrdiff_t slash = str_rfind_char(path, '/');
    return slash > 0 ? str_slice(path, 0, (size_t)slash) : STR("/");
}

static str base_of(str path)
{
    return str_skip(path, (size_t)(str_rfind_char(path, '/') + 1));
}

bool path_is_of_system(str path)
{
    for (const char *const *d = SANDBOX_SYSTEM_DIRS; *d; d++) {
        if (path_is_at_or_below(path, str_from(*d)))
            return true;
    }
    return false;
}

/* True for a directory with more than programs: a home, its ancestors, nb's own data, places where
 * programs lie beside keys. */
static bool is_too_much_of(struct arena *a, str home, str work, str dir)
{
    static const char *const MIXED[] = {".local", ".cargo", ".config", ".cache", "bin", "go"};
    if (str_eq(dir, STR("/")) || path_is_at_or_below(home, dir) || path_is_at_or_below(work, dir) ||
        path_is_at_or_below(dir, work))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(MIXED); i++) {
        if (str_eq(dir, arena_printf(a, "%.*s/%s", STR_ARG(home), MIXED[i])))
            return true;
    }
    return false;
}

/* Home directories are often links (/home -> /var/home): both names are checked. */
static bool is_too_much(struct arena *a, const struct program_query *q, str dir)
{
    char home[PATH_MAX], work[PATH_MAX];
    if (is_too_much_of(a, str_from(q->home_dir), str_from(q->work_dir), dir))
        return true;
    if (realpath(q->home_dir, home) && realpath(q->work_dir, work) &&
        is_too_much_of(a, str_from(home), str_from(work), dir))
        return true;
    static const char *const TOP[] = {"/home", "/root", "/tmp", "/var", "/etc",
                                      "/opt",  "/run",  "/mnt", "/srv", "/media"};
    return STR_INDEX(dir, TOP) >= 0;
}

static void add_program_path(struct arena *a, const struct program_query *q, struct path_list *ret,
                             str dir, str file)
{
    if (path_is_of_system(file))
        return;
    path_list_add(a, ret, is_too_much(a, q, dir) ? file : dir);
}

/* ---- programs ---- */

static str path_variable(const char *const *env)
{
    for (; env && *env; env++) {
        if (str_starts(str_from(*env), STR("PATH=")))
            return str_skip(str_from(*env), sizeof("PATH=") - 1);
    }
    return STR(DEFAULT_PATH);
}

static const char *find_program(struct arena *a, const struct program_query *q, str name)
{
    if (str_find_char(name, '/') >= 0) {
        str path = path_clean(a, name, str_from(q->cwd), str_from(q->home_dir));
        return is_program(path.p) ? path.p : NULL;
    }
    str rest = path_variable(q->env), dir;
    while (str_split(&rest, ':', &dir)) {
        if (dir.n == 0 || dir.p[0] != '/')
            continue;
        str path = arena_printf(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(name));
        if (is_program(path.p))
            return path.p;
    }
    return NULL;
}

/* "<prefix>/bin/node" belongs to an installation if there is something beside bin. */
static void add_installation(struct arena *a, const struct program_query *q, struct path_list *ret,
                             str file)
{
    static const char *const BINS[] = {"bin", "sbin", "shims", "Scripts"};
    static const char *const BESIDE[] = {"lib", "lib64", "libexec", "pyvenv.cfg", "include"};
    str dir = parent_of(file), prefix = parent_of(dir);
    bool is_bin = STR_INDEX(base_of(dir), BINS) >= 0, is_installation = false;
    for (size_t i = 0; is_bin && i < ARRAY_LEN(BESIDE); i++)
        is_installation = is_installation || exists(a, prefix, BESIDE[i]);
    add_program_path(a, q, ret, is_installation ? prefix : file, file);
}

/* ---- scripts ---- */

/* All modules that a script below node_modules may load lie below the outermost one. */
static bool add_node_modules(struct arena *a, struct path_list *ret, str file)
{
    ptrdiff_t at = str_find(file, STR("/node_modules/"), 0);
    if (at < 0)
        return false;
    path_list_add(a, ret, str_slice(file, 0, (size_t)at + sizeof("/node_modules") - 1));
    return true;
}

static void add_script(struct arena *a, const struct program_query *q, struct path_list *ret,
                       str file)
{
    static const char *const MARKS[] = {"package.json", "pyproject.toml", "setup.py",
                                        "manifest.json", "node_modules"};
    str dir = parent_of(file), up = dir;
    if (path_is_of_system(file) || add_node_modules(a, ret, file))
        return;
    for (int level = 0; level < PACKAGE_UPWARDS && !is_too_much(a, q, up); level++) {
        for (size_t i = 0; i < ARRAY_LEN(MARKS); i++) {
            if (exists(a, up, MARKS[i])) {
                path_list_add(a, ret, up);
                return;
            }
        }
        up = parent_of(up);
    }
    add_program_path(a, q, ret, dir, file);
}

static bool is_written(struct arena *a, const struct program_query *q, str file)
{
    return path_is_really_in(a, path_real(a, file), q->writes) ||
           path_meets_link_in(a, file, q->writes);
}

/* Adds a link and its target: a virtual environment is found through the link. */
static void add_with_target(struct arena *a, const struct program_query *q, struct path_list *ret,
                            str file,
                            void (*fn)(struct arena *, const struct program_query *,
                                       struct path_list *, str))
{
    if (is_written(a, q, file))
        return;
    fn(a, q, ret, file);
    str real = path_real(a, file);
    if (!str_eq(real, file))
        fn(a, q, ret, real);
}

static str read_shebang(struct arena *a, const char *path)
{
    char head[SHEBANG_MAX];
    str line = file_head(path, head, sizeof(head));
    if (!str_starts(line, STR("#!")))
        return STR_NONE;
    ptrdiff_t lf = str_find_char(line, '\n');
    return arena_str(a, str_trim(str_slice(line, 2, lf < 0 ? line.n : (size_t)lf)));
}

/* "#!/usr/bin/env -S node --x" names node, which may be anywhere in PATH. */
static void add_interpreter(struct arena *a, const struct program_query *q, struct path_list *ret,
                            const char *program)
{
    str rest = read_shebang(a, program), word;
    while (str_split(&rest, ' ', &word)) {
        if (word.n == 0 || word.p[0] == '-' || str_eq(base_of(word), STR("env")))
            continue;
        const char *found = find_program(a, q, word);
        if (found)
            add_with_target(a, q, ret, str_from(found), add_installation);
        return;
    }
}

/* The first operand that is a file is the script; later operands are the script's arguments. */
static void add_first_operand(struct arena *a, const struct program_query *q, struct path_list *ret)
{
    for (const char *const *arg = q->argv + 1; *arg; arg++) {
        struct stat st;
        if ((*arg)[0] == '-')
            continue;
        str path = path_clean(a, str_from(*arg), str_from(q->cwd), str_from(q->home_dir));
        if (stat(path.p, &st) == 0 && S_ISREG(st.st_mode))
            add_with_target(a, q, ret, path, add_script);
        return;
    }
}

/* ---- packages ---- */

/* Programs that run packages. Their whole installation is shown; for any other program in PATH only
 * the one file, because what lies beside it is not known. */
static bool is_interpreter(str name)
{
    static const char *const NAMES[] = {"node", "npx",  "bun",  "bunx", "deno", "uv",
                                        "uvx",  "java", "ruby", "perl", "php",  "dotnet"};
    return STR_INDEX(name, NAMES) >= 0 || str_starts(name, STR("python"));
}

static bool is_of_package(struct arena *a, const struct program_query *q, str file)
{
    str real = path_real(a, file);
    return path_is_at_or_below(real, path_real(a, str_from(q->package_dir))) ||
           (q->data_dir && path_is_at_or_below(real, path_real(a, str_from(q->data_dir))));
}

static void add_program_file(struct arena *a, const struct program_query *q, struct path_list *ret,
                             str file)
{
    add_program_path(a, q, ret, file, file);
}

/* Uses nb's own PATH: env contains no variable that the manifest sets. */
static int reach_named(struct arena *a, const struct program_query *q, str name,
                       struct path_list *ret, const char **ret_program)
{
    const char *program = find_program(a, q, name);
    if (!program)
        return -ENOENT;
    add_with_target(a, q, ret, str_from(program),
                    is_interpreter(name) ? add_installation : add_program_file);
    *ret_program = program;
    return 0;
}

/* "#!/usr/bin/env NAME" in a file of the package. */
static void reach_package_interpreter(struct arena *a, const struct program_query *q,
                                      const char *program, struct path_list *ret)
{
    str rest = read_shebang(a, program), word;
    const char *found;
    while (str_split(&rest, ' ', &word)) {
        if (word.n == 0 || word.p[0] == '-' || str_eq(base_of(word), STR("env")))
            continue;
        if (str_find_char(word, '/') < 0 && is_interpreter(word))
            (void)reach_named(a, q, word, ret, &found);
        return;
    }
}

/* A hint what to install, for programs that are part of another product. */
static const char *advice(const char *program)
{
    static const char *const KNOWN[][2] = {
        {"uvx", "; install uv (docs.astral.sh/uv)"}, {"uv", "; install uv (docs.astral.sh/uv)"},
        {"npx", "; install Node.js (nodejs.org)"},   {"npm", "; install Node.js (nodejs.org)"},
        {"node", "; install Node.js (nodejs.org)"},  {"bunx", "; install Bun (bun.sh)"},
        {"pipx", "; install pipx (pipx.pypa.io)"},   {"docker", "; install Docker"},
    };
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++)
        if (strcmp(program, KNOWN[i][0]) == 0)
            return KNOWN[i][1];
    return "";
}

static int not_in_path(const struct program_query *q, struct err *e)
{
    return err_set(e, -ENOENT, "cannot start %s: no such program in PATH (%.*s)%s", q->argv[0],
                   STR_ARG(path_variable(q->env)), advice(q->argv[0]));
}

static int reach_of_package(struct arena *a, const struct program_query *q, struct path_list *ret,
                            const char **ret_program, struct err *e)
{
    str name = str_from(q->argv[0]);
    if (str_find_char(name, '/') < 0)
        return reach_named(a, q, name, ret, ret_program) == 0 ? 0 : not_in_path(q, e);
    const char *program = find_program(a, q, name);
    if (!program)
        return err_set(e, -ENOENT, "cannot start %s: no such program", q->argv[0]);
    if (!is_of_package(a, q, str_from(program)) &&
        !path_is_of_system(path_real(a, str_from(program))))
        return err_set(e, -EINVAL,
                       "its manifest starts %s, which is not a file of the package; a package "
                       "starts its own files, or programs that are in PATH",
                       program);
    reach_package_interpreter(a, q, program, ret);
    *ret_program = program;
    return 0;
}

int program_files_find(struct arena *a, const struct program_query *q, struct path_list *ret,
                       const char **ret_program, struct err *e)
{
    str name = str_from(q->argv[0]);
    if (q->package_dir)
        return reach_of_package(a, q, ret, ret_program, e);
    const char *program = find_program(a, q, name);
    if (!program && str_find_char(name, '/') >= 0)
        return err_set(e, -ENOENT, "cannot start %s: no such program", q->argv[0]);
    if (!program)
        return not_in_path(q, e);
    *ret_program = program;
    add_with_target(a, q, ret, str_from(program), add_installation);
    add_interpreter(a, q, ret, program);
    if (read_shebang(a, program).n > 0)
        add_with_target(a, q, ret, str_from(program), add_script);
    add_first_operand(a, q, ret);
    return 0;
}
