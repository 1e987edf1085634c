/* nb restore - restores a backup into a work directory.
 *
 * The archive is read twice: the first pass writes nothing, so that a damaged or foreign archive,
 * or one that would replace files, changes nothing. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "cli/cli.h"
#include "cli/conversations/stores.h"
#include "cli/serve/tar.h"
#include "cli/session/session.h"
#include "cli/term/progress.h"
#include "os/file.h"
#include "server/presence.h"

enum { COPY_BYTES = TAR_COPY_BYTES };

static const struct arg ARGS[] = {{"force", 'f', ARG_FLAG, NULL, "replace files that exist"},
                                  {"store-dir", 0, ARG_STRING, "DIR",
                                   "write conversations from outside of the work directory here"},
                                  {0}};

struct restore {
    const char *root, *store_dir; /* store_dir: absolute, or NULL = unknown */
    bool is_forced;
    FILE *in;
    uint64_t files, bytes, size;
    struct progress progress;
    struct err err;
};

typedef int (*entry_fn)(struct restore *r, struct tar_reader *tar, const struct tar_entry *t);

static int each_entry(struct restore *r, entry_fn fn)
{
    struct tar_reader tar = {.in = r->in};
    struct tar_entry t;
    int code;
    assert(r->in);
    rewind(r->in);
    while ((code = tar_next(&tar, &t, &r->err)) > 0) {
        if (!t.is_dir && (code = fn(r, &tar, &t)) < 0)
            break;
        long at = ftell(r->in);
        if (at > 0 && r->size > 0)
            progress_update(&r->progress, (double)at / (double)r->size, str_from(t.name));
    }
    return code;
}

static int full_path(struct restore *r, const char *name, char ret[PATH_MAX])
{
    const char *root = r->root, *below = name;
    if (str_starts(str_from(below), STR(TAR_STORE_DIR "/"))) {
        if (!r->store_dir)
            return err_set(&r->err, -EINVAL,
                           "this backup has conversations from a directory outside of its work "
                           "directory; --store-dir DIR says where to put them (the setting "
                           "store.dir must name the same directory)");
        root = r->store_dir;
        below += strlen(TAR_STORE_DIR "/");
    }
    if (snprintf(ret, PATH_MAX, "%s/%s", root, below) < PATH_MAX)
        return 0;
    return err_set(&r->err, -ENAMETOOLONG, "%s: this path is too long", name);
}

/* Only bytes that are named by their hash have several names: a link to anything else could give a
 * key the name of a file that people read. */
static bool is_blob_link(const struct tar_entry *t)
{
    str name = str_from(t->name), link = str_from(t->link);
    str base = str_skip(name, (size_t)(str_rfind_char(name, '/') + 1));
    return sha256_is_hex(base) &&
           str_eq(base, str_skip(link, (size_t)(str_rfind_char(link, '/') + 1)));
}

static int restore_check(struct restore *r, struct tar_reader *tar, const struct tar_entry *t)
{
    char path[PATH_MAX];
    struct stat st;
    int code = full_path(r, t->name, path);
    if (code < 0)
        return code;
    if (t->link[0] && !is_blob_link(t))
        return err_set(&r->err, -EBADMSG, "%s: links to %s cannot be restored", t->name, t->link);
    bool is_there = lstat(path, &st) == 0;
    if (is_there && !S_ISREG(st.st_mode))
        return err_set(&r->err, -EEXIST, "%s exists and is not a file; move it away first", path);
    if (is_there && !r->is_forced)
        return err_set(&r->err, -EEXIST,
                       "%s exists already; --force replaces it, --workdir DIR restores elsewhere",
                       path);
    r->files++;
    return 0;
}

static int copy_out(struct restore *r, struct tar_reader *tar, int fd, const char *path)
{
    char block[COPY_BYTES];
    ssize_t n;
    while ((n = tar_read(tar, block, sizeof block, &r->err)) > 0) {
        bool is_hole = tar_is_hole(block, (size_t)n) && lseek(fd, n, SEEK_CUR) >= 0;
        for (ssize_t done = is_hole ? n : 0; done < n;) {
            ssize_t w = write(fd, block + done, (size_t)(n - done));
            if (w < 0 && errno != EINTR)
                return err_errno(&r->err, -errno, "cannot write", path);
            done += w > 0 ? w : 0;
        }
        r->bytes += (uint64_t)n;
    }
    if (n == 0 && ftruncate(fd, lseek(fd, 0, SEEK_CUR)) < 0) /* the file may end in a hole */
        return err_errno(&r->err, -errno, "cannot write", path);
    return n < 0 ? (int)n : 0;
}

static int make_parents(struct restore *r, const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    return file_make_dirs(dir, &r->err);
}

static int copy_linked(struct restore *r, const char *from, const char *temp)
{
    char block[COPY_BYTES];
    ssize_t n = -1;
    int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), code = 0;
    int out = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (in >= 0 && out >= 0 && code == 0 && (n = read(in, block, sizeof block)) > 0)
        code = file_write_all(out, str_make(block, (size_t)n));
    if (in < 0 || out < 0 || n < 0 || (code == 0 && fsync(out) < 0))
        code = -errno;
    file_close(in);
    file_close(out);
    return code < 0 ? err_errno(&r->err, code, "cannot write", temp) : 0;
}

/* One more name for bytes that were restored before; a copy where there are no links. */
static int extract_link(struct restore *r, const struct tar_entry *t, const char *path,
                        const char *temp)
{
    char from[PATH_MAX];
    struct stat st;
    int code = full_path(r, t->link, from);
    if (code < 0)
        return code;
    if (lstat(from, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(&r->err, -EBADMSG, "%s: %s is not in this archive", t->name, t->link);
    if (link(from, temp) < 0)
        code = copy_linked(r, from, temp);
    if (code == 0 && rename(temp, path) < 0)
        code = err_errno(&r->err, -errno, "cannot create", path);
    (void)unlink(temp); /* two names of one file: rename leaves both */
    return code;
}

/* Writes a temporary file, then renames it: an existing file is replaced completely or not at
 * all. */
static int extract(struct restore *r, struct tar_reader *tar, const struct tar_entry *t)
{
    char path[PATH_MAX], temp[PATH_MAX + 32];
    int code = full_path(r, t->name, path);
    if (code == 0)
        code = make_parents(r, path);
    if (code < 0)
        return code;
    (void)snprintf(temp, sizeof temp, "%s.%d.tmp", path, (int)getpid());
    if (t->link[0])
        return extract_link(r, t, path, temp);
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, t->mode & 0700);
    if (fd < 0)
        return err_errno(&r->err, -errno, "cannot create", temp);
    code = copy_out(r, tar, fd, temp);
    struct timespec times[2] = {{.tv_sec = t->mtime}, {.tv_sec = t->mtime}};
    if (code == 0 && (futimens(fd, times) < 0 || fsync(fd) < 0))
        code = err_errno(&r->err, -errno, "cannot sync", temp);
    close(fd);
    if (code == 0 && rename(temp, path) < 0)
        code = err_errno(&r->err, -errno, "cannot create", path);
    if (code < 0)
        (void)unlink(temp);
    return code;
}

static int restore_from(struct cmd *x, const char *store_dir, bool is_forced)
{
    struct config *c = &x->config;
    const char *path = x->argv[0];
    struct restore r = {.root = c->work_dir, .store_dir = store_dir, .is_forced = is_forced};
    struct stat st;
    int claim = -1; /* so that no server starts meanwhile */
    if (session_is_served(c) || presence_claim(c->work_dir, &claim, &r.err) == -EBUSY)
        return cli_failed("a server is using this work directory; stop it first");
    err_clear(&r.err); /* creates the directory if it does not exist */
    r.in = fopen(path, "re");
    if (!r.in) {
        err_errno(&r.err, -errno, "cannot read", path);
        if (claim >= 0)
            close(claim);
        return cli_fail(&r.err);
    }
    if (fstat(fileno(r.in), &st) == 0)
        r.size = (uint64_t)st.st_size;
    progress_begin(&r.progress, "checking");
    int code = each_entry(&r, restore_check);
    bool is_good = code == 0;
    progress_end(&r.progress);
    progress_begin(&r.progress, "restoring");
    if (code == 0)
        code = each_entry(&r, extract);
    progress_end(&r.progress);
    (void)fclose(r.in);
    if (claim >= 0)
        close(claim);
    if (is_good) /* a refused archive changes nothing, not even the audit log */
        cli_record(c, "restore", str_from(path), code == 0, STR_NONE);
    if (code < 0)
        return cli_fail(&r.err);
    return cmd_say(x,
                   cmd_object(x, {STR("files"), json_of_int((int64_t)r.files)},
                              {STR("bytes"), json_of_int((int64_t)r.bytes)}),
                   "%s: %llu files, %.1f MB restored", c->work_dir, (unsigned long long)r.files,
                   (double)r.bytes / 1e6);
}

static int run_restore(struct cmd *x)
{
    const char *store_dir = cmd_opt(x, "store-dir");
    struct config c;
    char given[PATH_MAX], dir[PATH_MAX] = "";
    if (store_dir && (file_make_dirs(store_dir, NULL) < 0 || !realpath(store_dir, given)))
        return cmd_usage(x, "cannot make the directory %s", store_dir);
    int code = restore_from(x, store_dir ? given : x->config.store.dir, cmd_flag(x, "force"));
    if (code == EXIT_DONE && cli_load_config(x->cli, NULL, &c) == EXIT_DONE) {
        if (store_dir && (!c.store.dir || !realpath(c.store.dir, dir) || strcmp(dir, given) != 0))
            fprintf(stderr, "nb: set store.dir to \"%s\" in %s, where the conversations are now\n",
                    given, c.path);
        stores_drop_indexes(&c); /* they describe the data from before */
        config_done(&c);
    }
    return code;
}

const struct command CMD_RESTORE = {
    .name = "restore",
    .operands = "FILE",
    .summary = "restore a backup into the work directory",
    .help =
        "Replaces no file unless --force is given. Files that are not in the backup stay. Stop the "
        "server of this work directory first. Conversations from a store.dir outside of the work "
        "directory are written to the store.dir of the current settings, or to --store-dir.\n",
    .args = ARGS,
    .needs = NEEDS_SETTINGS,
    .run = run_restore,
};
