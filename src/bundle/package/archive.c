#include "bundle/package/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/map.h"
#include "base/utf8.h"
#include "bundle/package/zip_api.h"
#include "os/file.h"
#include "store/event/io.h"

#define CHUNK_BYTES  (64u * 1024)
#define REMOVE_DEPTH ((int)ARCHIVE_DEPTH_MAX + 2)
#define FILE_MODE    0644u
#define MODE_KEPT    0755u

struct unpack {
    struct zip_api zip;
    zip_t *archive;
    const char *name; /* of the archive, for messages */
    uint64_t size;    /* of the archive */
    uint64_t written;
    int root; /* the directory that is filled */
    struct err *e;
};

struct archive_entry {
    zip_uint64_t index;
    str path; /* without the slash of a directory */
    bool is_dir;
    unsigned mode;
};

static int refuse_entry(struct unpack *u, str entry, const char *why)
{
    return err_set(u->e, -EINVAL, "%s: '%.*s' %s", u->name, STR_ARG(utf8_truncate(entry, 200)),
                   why);
}

/* ---- before anything is written ---- */

static bool is_plain_name(str part)
{
    for (size_t i = 0; i < part.n; i++) {
        unsigned char c = (unsigned char)part.p[i];
        if (c < 0x20 || c == 0x7f || c == '\\')
            return false;
    }
    return part.n > 0 && part.n <= NAME_MAX && !str_eq(part, STR(".")) && !str_eq(part, STR(".."));
}

static int check_name(struct unpack *u, str path)
{
    str rest = path, part;
    size_t depth = 0;
    if (path.n == 0 || path.n > ARCHIVE_NAME_MAX || !utf8_valid(path))
        return refuse_entry(u, utf8_valid(path) ? path : STR("?"), "is not a usable name");
    if (path.p[0] == '/')
        return refuse_entry(u, path, "is an absolute path");
    while (str_split(&rest, '/', &part)) {
        if (!is_plain_name(part))
            return refuse_entry(u, path,
                                "would be written outside the bundle, or has unusual characters");
        if (++depth > ARCHIVE_DEPTH_MAX)
            return refuse_entry(u, path, "is nested too deeply");
    }
    return 0;
}

/* Permissions that a Unix packer stored; archives of other systems have none. */
static int take_mode(struct unpack *u, struct archive_entry *en)
{
    zip_uint8_t system;
    zip_uint32_t attributes;
    en->mode = en->is_dir ? MODE_KEPT : FILE_MODE;
    if (u->zip.file_get_external_attributes(u->archive, en->index, 0, &system, &attributes) != 0 ||
        system != ZIP_OPSYS_UNIX)
        return 0;
    unsigned mode = attributes >> 16;
    unsigned type = mode & S_IFMT;
    if (type == S_IFLNK)
        return refuse_entry(u, en->path, "is a symbolic link");
    if (type != 0 && type != S_IFREG && type != S_IFDIR)
        return refuse_entry(u, en->path, "is neither a file nor a directory");
    if ((type == S_IFDIR) != en->is_dir && type != 0)
        return refuse_entry(u, en->path,
                            "is a file by name and a directory by kind, or the reverse");
    if (!en->is_dir && (mode & 0777) != 0)
        en->mode = (mode & MODE_KEPT) | 0600;
    return 0;
}

static int check_stat(struct unpack *u, const zip_stat_t *st, str path)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((st->valid & needed) != needed)
        return refuse_entry(u, path, "has no size");
    if (st->encryption_method != ZIP_EM_NONE)
        return refuse_entry(u, path, "is encrypted");
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
        return refuse_entry(u, path, "uses an unsupported compression method");
    return 0;
}

static int check_total(struct unpack *u, uint64_t total)
{
    bool is_bomb = total > ARCHIVE_RATIO_FREE && total / ARCHIVE_RATIO_MAX > u->size;
    if (total > ARCHIVE_BYTES_MAX || is_bomb)
        return err_set(
            u->e, -EINVAL, "%s would unpack to %llu MiB from %llu KiB, which is more than allowed",
            u->name, (unsigned long long)(total >> 20), (unsigned long long)(u->size >> 10));
    return 0;
}

/* Name, kind and permissions of one entry. */
static int read_entry(struct unpack *u, zip_uint64_t index, struct archive_entry *ret,
                      uint64_t *ret_size)
{
    zip_stat_t st;
    if (u->zip.stat_index(u->archive, index, ZIP_FL_ENC_RAW, &st) != 0 ||
        !(st.valid & ZIP_STAT_NAME))
        return err_set(u->e, -EINVAL, "%s: entry %llu cannot be read", u->name,
                       (unsigned long long)index);
    *ret = (struct archive_entry){.index = index, .path = str_from(st.name)};
    if (str_ends(ret->path, STR("/"))) {
        ret->is_dir = true;
        ret->path.n--;
    }
    int r = check_name(u, ret->path);
    if (r == 0)
        r = check_stat(u, &st, ret->path);
    if (r == 0)
        r = take_mode(u, ret);
    *ret_size = r == 0 ? st.size : 0;
    return r;
}

static int check_all(struct unpack *u, zip_uint64_t n)
{
    struct map seen;
    uint64_t total = 0, size;
    int r = 0;
    if (n > ARCHIVE_ENTRIES_MAX)
        return err_set(u->e, -EINVAL, "%s: %llu entries, the limit is %u", u->name,
                       (unsigned long long)n, ARCHIVE_ENTRIES_MAX);
    map_init(&seen);
    for (zip_uint64_t i = 0; r == 0 && i < n; i++) {
        struct archive_entry en;
        r = read_entry(u, i, &en, &size);
        if (r == 0 && map_put(&seen, en.path, u) != NULL)
            r = refuse_entry(u, en.path, "occurs twice");
        if (r == 0 && __builtin_add_overflow(total, size, &total))
            r = refuse_entry(u, en.path, "is too large");
        if (r == 0)
            r = check_total(u, total);
    }
    map_done(&seen);
    return r;
}

/* ---- writing ---- */

static int make_parents(struct unpack *u, str path)
{
    char part[ARCHIVE_NAME_MAX + 1];
    for (size_t i = 1; i < path.n; i++) {
        if (path.p[i] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path.p);
        if (mkdirat(u->root, part, MODE_KEPT) < 0 && errno != EEXIST)
            return err_errno(u->e, -errno, "cannot create", part);
    }
    return 0;
}

/* Counts the unpacked bytes, because the sizes in the archive are only claims. */
static int copy_content(struct unpack *u, zip_file_t *from, const struct archive_entry *en, int to)
{
    char *chunk = xcalloc(1, CHUNK_BYTES);
    int r = 0;
    while (r == 0) {
        zip_int64_t n = u->zip.fread(from, chunk, CHUNK_BYTES);
        if (n < 0)
            r = refuse_entry(u, en->path, "is damaged");
        if (n <= 0)
            break;
        u->written += (uint64_t)n;
        r = check_total(u, u->written);
        if (r == 0) {
            r = file_write_all(to, str_make(chunk, (size_t)n));
            if (r < 0)
                err_set(u->e, r, "cannot unpack %s: %s", u->name, err_reason(r));
        }
    }
    free(chunk);
    return r;
}

static int unpack_file(struct unpack *u, const struct archive_entry *en, const char *path)
{
    int fd = openat(u->root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, en->mode);
    if (fd < 0)
        return errno == EEXIST || errno == EISDIR || errno == ENOTDIR
                   ? refuse_entry(u, en->path, "is both a file and a directory")
                   : err_errno(u->e, -errno, "cannot create", path);
    zip_file_t *from = u->zip.fopen_index(u->archive, en->index, 0);
    int r = from ? copy_content(u, from, en, fd) : refuse_entry(u, en->path, "cannot be read");
    if (from && u->zip.fclose(from) != 0 && r == 0)
        r = refuse_entry(u, en->path, "is damaged");
    /* Regardless of the umask: a bundle may run as another user. */
    if (r == 0 && fchmod(fd, en->mode) < 0)
        r = err_errno(u->e, -errno, "cannot set the permissions of", path);
    if (close(fd) < 0 && r == 0)
        r = err_errno(u->e, -errno, "cannot write", path);
    return r;
}

static int write_entry(struct unpack *u, const struct archive_entry *en)
{
    char path[ARCHIVE_NAME_MAX + 1];
    snprintf(path, sizeof path, "%.*s", STR_ARG(en->path));
    int r = make_parents(u, en->path);
    if (r < 0 || !en->is_dir)
        return r < 0 ? r : unpack_file(u, en, path);
    if (mkdirat(u->root, path, MODE_KEPT) == 0)
        return 0;
    struct stat st;
    bool is_there = errno == EEXIST && fstatat(u->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISDIR(st.st_mode);
    return is_there ? 0 : refuse_entry(u, en->path, "is both a file and a directory");
}

static int write_all_entries(struct unpack *u, zip_uint64_t n)
{
    int r = 0;
    for (zip_uint64_t i = 0; r == 0 && i < n; i++) {
        struct archive_entry en;
        uint64_t size;
        r = read_entry(u, i, &en, &size);
        if (r == 0)
            r = write_entry(u, &en);
    }
    /* The directory is renamed after its content is on disk. */
    if (r == 0 && syncfs(u->root) < 0)
        r = err_errno(u->e, -errno, "cannot unpack", u->name);
    return r;
}

/* ---- all of it ---- */

static int open_archive(struct unpack *u, int fd)
{
    int code, own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    struct stat st;
    if (own < 0 || fstat(own, &st) < 0 || lseek(own, 0, SEEK_SET) < 0) {
        code = -errno;
        file_close(own);
        return err_errno(u->e, code, "cannot read", u->name);
    }
    u->size = (uint64_t)st.st_size;
    if (!S_ISREG(st.st_mode) || u->size > ARCHIVE_BYTES_MAX) {
        close(own);
        return err_set(u->e, -EINVAL, "%s is not a file of at most %llu MiB", u->name,
                       ARCHIVE_BYTES_MAX >> 20);
    }
    u->archive = u->zip.fdopen(own, 0, &code);
    if (u->archive)
        return 0;
    zip_error_t error;
    close(own);
    u->zip.error_init_with_code(&error, code);
    err_set(u->e, -EINVAL, "%s is not a usable ZIP archive (%s)", u->name,
            u->zip.error_strerror(&error));
    u->zip.error_fini(&error);
    return -EINVAL;
}

static int unpack_fill(struct unpack *u, const char *dir)
{
    zip_int64_t n = u->zip.get_num_entries(u->archive, 0);
    int r = n > 0 ? check_all(u, (zip_uint64_t)n)
                  : err_set(u->e, -EINVAL, "%s is an empty archive", u->name);
    if (r < 0)
        return r;
    if (mkdir(dir, 0755) < 0)
        return err_errno(u->e, -errno, "cannot create", dir);
    u->root = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (u->root < 0)
        return err_errno(u->e, -errno, "cannot open", dir);
    r = write_all_entries(u, (zip_uint64_t)n);
    close(u->root);
    return r;
}

int archive_unpack_fd(int fd, const char *name, const char *dest, struct err *e)
{
    char tmp[PATH_MAX], tag[RANDOM_ID_MAX];
    struct unpack u = {.name = name, .e = e};
    struct err mine = {0};
    if (!e)
        u.e = &mine;
    random_id("tmp", tag);
    if (snprintf(tmp, sizeof tmp, "%s.%s", dest, tag) >= (int)sizeof tmp)
        return err_set(e, -ENAMETOOLONG, "%s: the path is too long", dest);
    int r = zip_api_load(&u.zip, u.e);
    if (r == 0)
        r = open_archive(&u, fd);
    if (r < 0)
        return r;
    r = unpack_fill(&u, tmp);
    u.zip.discard(u.archive);
    if (r == 0 && renameat2(AT_FDCWD, tmp, AT_FDCWD, dest, RENAME_NOREPLACE) < 0)
        r = err_errno(u.e, -errno, "cannot create", dest);
    if (r < 0)
        (void)io_remove_tree(&store_io_system, tmp, REMOVE_DEPTH);
    return r;
}

int archive_unpack(const char *archive, const char *dest, struct err *e)
{
    int fd = open(archive, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, -errno, "cannot read", archive);
    int r = archive_unpack_fd(fd, archive, dest, e);
    close(fd);
    return r;
}
