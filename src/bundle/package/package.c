#include "bundle/package/package.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/clock.h"
#include "bundle/package/archive.h"
#include "bundle/package/mpak.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/event/io.h"

#define META_NAME    ".mpak-meta.json"
#define META_MAX     (64u * 1024)
#define SHA_SHOWN    12 /* hex digits in names of directories */
#define REMOVE_DEPTH ((int)ARCHIVE_DEPTH_MAX + 2)

/* ---- places ---- */

/* "@scope/name" -> "scope-name"; the meta file holds the full name, because two names may become
 * equal. */
static const char *home_of(struct arena *a, const char *package_dir, str name)
{
    return arena_printf(a, "%s/%s", package_dir, package_slug(a, name, '-')).p;
}

static const char *meta_path(struct arena *a, const char *package_dir, str name)
{
    return arena_printf(a, "%s/" META_NAME, home_of(a, package_dir, name)).p;
}

static const char *version_dir(struct arena *a, const char *package_dir, const struct package *p)
{
    return arena_printf(a, "%s/%.*s-%.*s", home_of(a, package_dir, p->name), STR_ARG(p->version),
                        SHA_SHOWN, p->sha256.p)
        .p;
}

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- the meta file ---- */

static int64_t meta_time(const struct json *v, const char *key)
{
    int64_t ms;
    return clock_parse_iso(json_get_string(v, key), &ms) == 0 ? ms : 0;
}

int package_find(struct arena *a, const char *package_dir, str name, struct package *ret,
                 struct err *e)
{
    str text;
    struct json *v;
    struct package p = {.name = name, .trust_score = -1};
    int r = file_read(a, meta_path(a, package_dir, name), META_MAX, &text, e);
    if (r < 0 && r != -ENOENT)
        return r;
    err_clear(e);
    *ret = p;
    /* An unreadable meta file means an empty cache. */
    if (r < 0 || json_parse(a, text, JSON_COPY, &v, NULL) < 0 ||
        !str_eq(json_get_string(v, "name"), name))
        return 0;
    p.version = json_get_string(v, "version");
    p.sha256 = json_get_string(v, "sha256");
    p.pulled_ms = meta_time(v, "pulledAt");
    p.checked_ms = meta_time(v, "lastCheckedAt");
    p.trust_score = json_get_int(v, "trustScore", -1);
    if (p.sha256.n < SHA_SHOWN || str_find_char(p.version, '/') >= 0)
        return 0;
    p.dir = version_dir(a, package_dir, &p);
    if (is_dir(p.dir))
        *ret = p;
    return 0;
}

static int save_meta(const char *package_dir, const struct package *p, struct err *e)
{
    char pulled[CLOCK_ISO_LEN + 1], checked[CLOCK_ISO_LEN + 1];
    struct arena a;
    struct buf b;
    struct json_writer w;
    arena_init(&a);
    jw_start(&w, &b, META_MAX);
    clock_iso(p->pulled_ms, pulled);
    clock_iso(p->checked_ms, checked);
    jw_object(&w);
    jw_kstr(&w, "name", p->name);
    jw_kstr(&w, "version", p->version);
    jw_kstr(&w, "pulledAt", str_from(pulled));
    jw_kstr(&w, "lastCheckedAt", str_from(checked));
    jw_kobject(&w, "platform");
    jw_kstr(&w, "os", STR("linux"));
    jw_kstr(&w, "arch", str_from(mpak_arch()));
    jw_end(&w);
    jw_kstr(&w, "sha256", p->sha256);
    jw_kint(&w, "trustScore", p->trust_score);
    jw_end(&w);
    int r = file_write_atomic(meta_path(&a, package_dir, p->name), buf_str(&b), 0600, e);
    buf_done(&b);
    arena_done(&a);
    return r;
}

/* ---- sums ---- */

/* Hashing maps the file, without a copy of it. */
static int hash_file(const char *path, char ret[SHA256_HEX_LEN + 1], struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        r = err_errno(e, -errno, "cannot read", path);
    else if (!S_ISREG(st.st_mode) || st.st_size == 0 || (uint64_t)st.st_size > ARCHIVE_BYTES_MAX)
        r = err_set(e, -EINVAL, "%s is not an archive of at most %llu MiB", path,
                    ARCHIVE_BYTES_MAX >> 20);
    if (r == 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            r = err_errno(e, -errno, "cannot read", path);
        } else {
            sha256_hex(str_make(p, (size_t)st.st_size), ret);
            munmap(p, (size_t)st.st_size);
        }
    }
    file_close(fd);
    return r;
}

/* ---- manifests ---- */

int package_dir_of(struct arena *a, const char *package_dir, const struct bundle_entry *entry,
                   const char **ret, struct err *e)
{
    struct package p = {0};
    int r = 0;
    *ret = NULL;
    if (entry->kind == BUNDLE_NAMED) {
        r = package_find(a, package_dir, entry->name, &p, e);
        *ret = p.dir;
    } else if (entry->kind == BUNDLE_LOCAL && str_ends(entry->path, STR(".mcpb"))) {
        r = package_of_archive(a, package_dir, arena_cstr(a, entry->path), ret, e);
    } else if (entry->kind == BUNDLE_LOCAL) {
        *ret = arena_cstr(a, entry->path);
    }
    return r;
}

int package_manifest(struct arena *a, const char *dir, struct manifest *ret, struct err *e)
{
    const char *path = arena_printf(a, "%s/manifest.json", dir).p;
    str text;
    int r = file_read(a, path, MANIFEST_BYTES_MAX, &text, e);
    if (r < 0)
        return r == -ENOENT ? err_set(e, -EINVAL, "%s is not a bundle: no manifest.json", dir) : r;
    r = manifest_parse(a, text, ret, e);
    if (r < 0)
        err_prefix(e, "%s", path);
    return r;
}

/* Packers on other systems do not set the executable bit. */
static int make_executable(struct arena *a, const char *dir, const struct manifest *m,
                           struct err *e)
{
    const char *path = arena_printf(a, "%s/%.*s", dir, STR_ARG(m->entry_point)).p;
    if (m->type == SERVER_BINARY && chmod(path, 0755) < 0 && errno != ENOENT)
        return err_errno(e, -errno, "cannot make executable", path);
    return 0;
}

/* An archive that is not a bundle leaves nothing behind. Another process may unpack the same
 * archive at the same time: the second one finds the directory. */
static int unpack(struct arena *a, const char *archive, const char *dir, struct err *e)
{
    struct manifest m;
    int r = archive_unpack(archive, dir, e);
    if (r == -EEXIST && is_dir(dir)) {
        err_clear(e);
        return 0;
    }
    if (r < 0)
        return r;
    r = package_manifest(a, dir, &m, e);
    if (r == 0)
        r = make_executable(a, dir, &m, e);
    if (r < 0)
        (void)io_remove_tree(&store_io_system, dir, REMOVE_DEPTH);
    return r;
}

/* ---- installing ---- */

int package_download_path(struct arena *a, const char *package_dir, str name, const char **ret,
                          struct err *e)
{
    char tag[RANDOM_ID_MAX];
    const char *home = home_of(a, package_dir, name);
    random_id("download", tag);
    int r = file_make_dirs(home, e);
    if (r == 0)
        *ret = arena_printf(a, "%s/%s", home, tag).p;
    return r;
}

/* Removes outdated versions; the previous one is kept, because its server may still run. */
static void remove_old(struct arena *a, const char *home, const char *now, const char *before)
{
    DIR_EACH (d, home) {
        const char *path = arena_printf(a, "%s/%s", home, d.name).p;
        if (d.name[0] == '.' || !is_dir(path) || strcmp(path, now) == 0 ||
            (before && strcmp(path, before) == 0))
            continue;
        (void)io_remove_tree(&store_io_system, path, REMOVE_DEPTH);
    }
}

static int install(struct arena *a, const char *package_dir, const char *archive, struct package *p,
                   struct err *e)
{
    char sum[SHA256_HEX_LEN + 1];
    struct package before;
    int r = hash_file(archive, sum, e);
    if (r == 0 && !str_eq_nocase(p->sha256, str_from(sum)))
        r = err_set(e, -EINVAL,
                    "%.*s %.*s: the download does not have the checksum of the registry; it "
                    "was deleted",
                    STR_ARG(p->name), STR_ARG(p->version));
    if (r == 0)
        r = package_find(a, package_dir, p->name, &before, e);
    if (r < 0)
        return r;
    p->sha256 = arena_str(a, str_from(sum));
    p->dir = version_dir(a, package_dir, p);
    p->pulled_ms = p->checked_ms = clock_now_ms();
    r = unpack(a, archive, p->dir, e);
    if (r == 0)
        r = save_meta(package_dir, p, e);
    if (r == 0)
        remove_old(a, home_of(a, package_dir, p->name), p->dir, before.dir);
    return r;
}

int package_install(struct arena *a, const char *package_dir, const char *archive,
                    struct package *p, struct err *e)
{
    int r = install(a, package_dir, archive, p, e);
    (void)unlink(archive);
    return r;
}

int package_of_archive(struct arena *a, const char *package_dir, const char *archive,
                       const char **ret_dir, struct err *e)
{
    char sum[SHA256_HEX_LEN + 1];
    const char *local = arena_printf(a, "%s/_local", package_dir).p;
    int r = hash_file(archive, sum, e);
    if (r == 0)
        r = file_make_dirs(local, e);
    if (r < 0)
        return r;
    const char *dir = arena_printf(a, "%s/%.32s", local, sum).p;
    r = is_dir(dir) ? 0 : unpack(a, archive, dir, e);
    if (r == 0)
        *ret_dir = dir;
    return r;
}
