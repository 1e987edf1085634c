#include "bundle/plan/npm_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "bundle/confine/path_list.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/event/io.h"

#define MARKER       "nb-installed.json"
#define NEW          "new-"
#define FILE_MAX     (8u * 1024 * 1024) /* package-lock.json of a large tree */
#define SUM_SHOWN    12
#define REMOVE_DEPTH (NPM_TREE_DEPTH + 8)
#define FIRST_LINE   128

/* ---- places ---- */

/* "@scope/name" -> "scope+name": no name of npm has a '+'. */
static const char *home_of(struct arena *a, const char *package_dir, str name)
{
    return arena_printf(a, "%s/_npm/%s", package_dir, package_slug(a, name, '+')).p;
}

static str sum_of(struct arena *a, str text)
{
    char sum[SHA256_HEX_LEN + 1];
    sha256_hex(text, sum);
    return arena_str(a, str_make(sum, SUM_SHOWN));
}

static const char *version_dir(struct arena *a, const char *package_dir, const struct npm_pin *p)
{
    return arena_printf(a, "%s/%.*s-%.*s", home_of(a, package_dir, p->name), STR_ARG(p->version),
                        STR_ARG(sum_of(a, p->integrity)))
        .p;
}

static const char *wanted_path(struct arena *a, const char *package_dir,
                               const struct package_command *c)
{
    return arena_printf(a, "%s/wanted-%.*s.json", home_of(a, package_dir, c->name),
                        STR_ARG(sum_of(a, c->spec)))
        .p;
}

/* ---- its program ---- */

/* The requested program, the only one, or the one with the name of the package. */
static str choose_bin(const struct json *bin, str name, str program)
{
    str own = str_skip(name, (size_t)(str_rfind_char(name, '/') + 1));
    if (json_is(bin, JSON_STRING))
        return program.n == 0 || str_eq(program, own) ? bin->s : STR_NONE;
    if (!json_is(bin, JSON_OBJECT))
        return STR_NONE;
    if (program.n == 0 && bin->len == 1)
        return json_string(&bin->members[0].value, STR_NONE);
    return json_string(json_get_str(bin, program.n > 0 ? program : own), STR_NONE);
}

int npm_store_place(struct arena *a, const char *package_dir, const struct npm_pin *pin,
                    const struct json *bin, str program, struct npm_package *ret, struct err *e)
{
    str file = choose_bin(bin, pin->name, program);
    if (!path_is_inside(file))
        return err_set(e, -EINVAL, "%.*s@%.*s has no program%s%.*s that npx could run",
                       STR_ARG(pin->name), STR_ARG(pin->version), program.n > 0 ? " " : "",
                       STR_ARG(program));
    if (str_starts(file, STR("./")))
        file = str_skip(file, 2);
    const char *dir = version_dir(a, package_dir, pin);
    *ret = (struct npm_package){
        .pin = *pin,
        .dir = dir,
        .script =
            arena_printf(a, "%s/node_modules/%.*s/%.*s", dir, STR_ARG(pin->name), STR_ARG(file)).p,
    };
    return 0;
}

/* Scripts without "#!" line and those that name node are run by node. */
static bool is_direct(const char *path)
{
    char head[FIRST_LINE];
    str text = file_head(path, head, sizeof head), line = STR_NONE;
    (void)str_split(&text, '\n', &line);
    if (str_starts(line, STR("\x7f"
                             "ELF")))
        return true;
    return str_starts(line, STR("#!")) && str_find(line, STR("node"), 0) < 0 &&
           str_find(line, STR("bun"), 0) < 0 && str_find(line, STR("tsx"), 0) < 0;
}

/* ---- finding an installed version ---- */

static int read_json(struct arena *a, const char *path, struct json **ret, struct err *e)
{
    str text;
    int rc = file_read(a, path, FILE_MAX, &text, e);
    if (rc == 0)
        rc = json_parse(a, text, JSON_COPY, ret, e);
    return rc;
}

static int report_broken(const struct npm_pin *p, const char *what, struct err *e)
{
    return err_set(e, -EBADMSG, "the installed files of %.*s@%.*s are damaged: %s",
                   STR_ARG(p->name), STR_ARG(p->version), what);
}

static int check_tree(struct arena *a, const char *dir, const struct npm_pin *p, struct err *e)
{
    struct json *marker;
    struct npm_tree tree;
    if (read_json(a, arena_printf(a, "%s/" MARKER, dir).p, &marker, e) < 0)
        return report_broken(p, MARKER " is missing", e);
    if (npm_tree_sum(arena_printf(a, "%s/node_modules", dir).p, &tree, e) < 0)
        return report_broken(p, "node_modules cannot be read", e);
    bool is_whole = json_get_int(marker, "files", -1) == (int64_t)tree.files &&
                    json_get_int(marker, "bytes", -1) == (int64_t)tree.bytes &&
                    str_eq(json_get_string(marker, "digest"), str_from(tree.digest));
    return is_whole ? 0 : report_broken(p, "files are missing or have another size", e);
}

int npm_store_find(struct arena *a, const char *package_dir, const struct npm_pin *pin, str program,
                   struct npm_package *ret, struct err *e)
{
    const char *dir = version_dir(a, package_dir, pin);
    struct json *package;
    if (access(dir, F_OK) < 0)
        return err_set(e, -ENOENT, "%.*s@%.*s is not installed", STR_ARG(pin->name),
                       STR_ARG(pin->version));
    int rc = check_tree(a, dir, pin, e);
    const char *path =
        arena_printf(a, "%s/node_modules/%.*s/package.json", dir, STR_ARG(pin->name)).p;
    if (rc == 0 && read_json(a, path, &package, e) < 0)
        rc = report_broken(pin, "its package.json cannot be read", e);
    if (rc == 0)
        rc = npm_store_place(a, package_dir, pin, json_get(package, "bin"), program, ret, e);
    if (rc == 0)
        ret->is_direct = is_direct(ret->script);
    return rc;
}

/* ---- entries without a pin ---- */

int npm_store_wanted(struct arena *a, const char *package_dir, const struct package_command *c,
                     struct npm_pin *ret, struct err *e)
{
    struct json *v;
    if (read_json(a, wanted_path(a, package_dir, c), &v, e) < 0 ||
        !str_eq(json_get_string(v, "name"), c->name) || json_get_string(v, "version").n == 0 ||
        json_get_string(v, "integrity").n == 0)
        return err_set(e, -ENOENT, "%.*s is not installed", STR_ARG(c->spec));
    *ret =
        (struct npm_pin){c->name, json_get_string(v, "version"), json_get_string(v, "integrity")};
    return 0;
}

static void write_pin(struct json_writer *w, const struct npm_pin *pin)
{
    jw_kstr(w, "name", pin->name);
    jw_kstr(w, "version", pin->version);
    jw_kstr(w, "integrity", pin->integrity);
}

int npm_store_keep_wanted(struct arena *a, const char *package_dir, const struct package_command *c,
                          const struct npm_pin *pin, struct err *e)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, FILE_MAX);
    jw_object(&w);
    write_pin(&w, pin);
    jw_end(&w);
    int rc = file_write_atomic(wanted_path(a, package_dir, c), buf_str(&b), 0600, e);
    buf_done(&b);
    return rc;
}

/* ---- installing ---- */

int npm_store_lock(struct arena *a, const char *package_dir, str name, int *ret_fd, struct err *e)
{
    const char *home = home_of(a, package_dir, name);
    const char *path = arena_printf(a, "%s/lock", home).p;
    int rc = file_make_dirs(home, e);
    if (rc < 0)
        return rc;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, -errno, "cannot open", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        rc = -errno;
        close(fd);
        return err_errno(e, rc, "cannot lock", path);
    }
    *ret_fd = fd;
    return 0;
}

static void drop_left_over(struct arena *a, const char *home)
{
    DIR_EACH (d, home)
        if (strncmp(d.name, NEW, strlen(NEW)) == 0)
            npm_store_drop(arena_printf(a, "%s/%s", home, d.name).p);
}

void npm_store_drop(const char *dir)
{
    (void)io_remove_tree(&store_io_system, dir, REMOVE_DEPTH);
}

int npm_store_begin(struct arena *a, const char *package_dir, str name, const char **ret_dir,
                    struct err *e)
{
    char tag[RANDOM_ID_MAX];
    const char *home = home_of(a, package_dir, name);
    drop_left_over(a, home);
    random_id("x", tag);
    const char *dir = arena_printf(a, "%s/" NEW "%s", home, tag).p;
    int rc = file_make_dirs(arena_printf(a, "%s/package", dir).p, e);
    if (rc == 0)
        rc = file_make_dirs(arena_printf(a, "%s/tmp", dir).p, e);
    *ret_dir = dir;
    return rc;
}

int npm_store_want(struct arena *a, const char *dir, const struct npm_pin *pin, struct err *e)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, FILE_MAX);
    jw_object(&w);
    jw_kstr(&w, "name", STR("nb-installed"));
    jw_kbool(&w, "private", true);
    jw_kobject(&w, "dependencies");
    jw_key_str(&w, pin->name);
    jw_str(&w, pin->version);
    jw_close(&w);
    int rc =
        file_write_atomic(arena_printf(a, "%s/package/package.json", dir).p, buf_str(&b), 0600, e);
    buf_done(&b);
    return rc;
}

/* npm compares a download with the registry's checksum; this compares it with the pin. */
static int check_lock_file(struct arena *a, const char *package, const struct npm_pin *pin,
                           struct err *e)
{
    struct json *lock;
    int rc = read_json(a, arena_printf(a, "%s/package-lock.json", package).p, &lock, e);
    if (rc < 0)
        return rc;
    const struct json *it = json_get_str(json_get(lock, "packages"),
                                         arena_printf(a, "node_modules/%.*s", STR_ARG(pin->name)));
    str version = json_get_string(it, "version"), integrity = json_get_string(it, "integrity");
    if (str_eq(version, pin->version) && str_eq(integrity, pin->integrity))
        return 0;
    return err_set(e, -EINVAL,
                   "the registry returned %.*s@%.*s with other content than the pinned version "
                   "(%.*s, not %.*s); the download was deleted",
                   STR_ARG(pin->name), STR_ARG(version), STR_ARG(integrity),
                   STR_ARG(pin->integrity));
}

static int write_marker(struct arena *a, const char *package, const struct npm_pin *pin,
                        struct err *e)
{
    struct npm_tree tree;
    struct buf b;
    struct json_writer w;
    int rc = npm_tree_sum(arena_printf(a, "%s/node_modules", package).p, &tree, e);
    if (rc < 0)
        return rc;
    jw_start(&w, &b, FILE_MAX);
    jw_object(&w);
    write_pin(&w, pin);
    jw_kint(&w, "files", (int64_t)tree.files);
    jw_kint(&w, "bytes", (int64_t)tree.bytes);
    jw_kstr(&w, "digest", str_from(tree.digest));
    jw_end(&w);
    rc = file_write_atomic(arena_printf(a, "%s/" MARKER, package).p, buf_str(&b), 0600, e);
    buf_done(&b);
    return rc;
}

/* A damaged version is first moved into the directory that will be removed. */
static int put_in_place(struct arena *a, const char *dir, const char *package, const char *to,
                        struct err *e)
{
    if (access(to, F_OK) == 0 && rename(to, arena_printf(a, "%s/damaged", dir).p) < 0)
        return err_errno(e, -errno, "cannot move away", to);
    return rename(package, to) < 0 ? err_errno(e, -errno, "cannot rename", package) : 0;
}

int npm_store_finish(struct arena *a, const char *package_dir, const char *dir,
                     const struct npm_pin *pin, struct err *e)
{
    const char *package = arena_printf(a, "%s/package", dir).p;
    int rc = check_lock_file(a, package, pin, e);
    if (rc == 0)
        rc = write_marker(a, package, pin, e);
    if (rc == 0)
        rc = put_in_place(a, dir, package, version_dir(a, package_dir, pin), e);
    return rc;
}
