/* nb backup - the whole work directory in one file, also while a server writes to it.
 *
 * Logs only grow, and a blob is on disk before the line that names it. So logs are copied
 * first, each up to the end of a whole line, and blobs after them: every line in the archive
 * has its blob there. Other files are replaced as a whole by those who write them; an open
 * file stays what it was. The archive appears under its name only when it is complete. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/sealed.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/put_back.h"
#include "cli/record.h"
#include "cli/tar.h"

enum { DEPTH_MAX = 16, TAIL_BYTES = 64 * 1024 };

struct backup_options {
    bool is_forced;
};

static const struct arg ARGS[] = {{"force", 'f', ARG_FLAG,
                                   offsetof(struct backup_options, is_forced), NULL,
                                   "replace FILE if it exists"},
                                  {0}};

enum pass { PASS_FILES, PASS_BLOBS };

struct backup {
    const char *root;
    dev_t own_dev; /* of the archive itself, which may lie inside */
    ino_t own_ino;
    struct tar_writer tar;
    struct progress progress;
    enum pass pass;
    uint64_t skipped; /* neither files nor directories */
    struct err err;
};

/* "workspaces/<id>/cache": the same cache, of a workspace. */
static bool is_workspace_cache(str below)
{
    str rest = below, part;
    return str_split(&rest, '/', &part) && str_eq(part, STR("workspaces")) &&
           str_split(&rest, '/', &part) && str_eq(rest, STR("cache"));
}

/* What can be made again, or is of the moment. */
static bool is_left_out(str below)
{
    return str_eq(below, STR("cache")) || is_workspace_cache(below) ||
           str_starts(below, STR(SEALED_KEY_NAME)) || str_eq(below, STR("auth/dev.key")) ||
           str_eq(below, STR("auth/open.html")) || str_eq(below, STR("nb.sock")) ||
           str_ends(below, STR("/.journal")) || str_find(below, STR(".jsonl.new_"), 0) >= 0;
}

static bool is_blob_dir(str name)
{
    return str_eq(name, STR("blobs")) || str_ends(name, STR(".blobs"));
}

/* How much of a log ends in a line feed: the last line may be half written right now. */
static int whole_lines(int fd, uint64_t size, uint64_t *ret, struct err *e)
{
    char block[TAIL_BYTES];
    while (size > 0) {
        size_t n = size < sizeof block ? (size_t)size : sizeof block;
        ssize_t got = pread(fd, block, n, (off_t)(size - n));
        if (got != (ssize_t)n)
            return err_errno(e, got < 0 ? -errno : -EIO, "cannot read", "a log");
        const char *end = memrchr(block, '\n', n);
        if (end) {
            *ret = size - n + (uint64_t)(end - block) + 1;
            return 0;
        }
        size -= n;
    }
    *ret = 0;
    return 0;
}

static int add_file(struct backup *b, const char *below, int dir, const char *name)
{
    struct stat st;
    int r = 0;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(&b->err, -errno, "cannot read", below);
    if (fstat(fd, &st) < 0)
        r = err_errno(&b->err, -errno, "cannot examine", below);
    else if (st.st_dev == b->own_dev && st.st_ino == b->own_ino)
        goto out;
    else {
        struct tar_file f = {below, st.st_mode & 0777, st.st_mtime, (uint64_t)st.st_size};
        if (str_ends(str_from(name), STR(".jsonl")))
            r = whole_lines(fd, f.size, &f.size, &b->err);
        if (r == 0)
            r = tar_add(&b->tar, &f, fd, &b->err);
        progress_update(&b->progress, -1, str_from(below));
    }
out:
    close(fd);
    return r;
}

static int walk(struct backup *b, int dir, const char *below, bool in_blobs, int depth);

static int visit(struct backup *b, int dir, const char *name, const char *below, bool in_blobs,
                 int depth)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", name);
    if (n >= (int)sizeof path)
        return err_set(&b->err, -ENAMETOOLONG, "%s/%s: this path is too long", below, name);
    if (is_left_out(str_from(path)) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISREG(st.st_mode))
        return in_blobs == (b->pass == PASS_BLOBS) ? add_file(b, path, dir, name) : 0;
    if (!S_ISDIR(st.st_mode)) {
        b->skipped += b->pass == PASS_FILES;
        return 0;
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(&b->err, -errno, "cannot read", path);
    return walk(b, fd, path, in_blobs || is_blob_dir(str_from(name)), depth + 1);
}

/* Takes `dir`. What is deleted meanwhile is not in the archive. */
static int walk(struct backup *b, int dir, const char *below, bool in_blobs, int depth)
{
    int r = depth > DEPTH_MAX
                ? err_set(&b->err, -ELOOP, "%s: directories are nested too deeply", below)
                : 0;
    DIR *d = r == 0 ? fdopendir(dir) : NULL;
    if (!d) {
        close(dir);
        return r < 0 ? r : err_errno(&b->err, -errno, "cannot read", below);
    }
    struct dirent *entry;
    while (r == 0 && (entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = visit(b, dirfd(d), entry->d_name, below, in_blobs, depth);
    }
    closedir(d);
    return r;
}

static int walk_all(struct backup *b)
{
    int r = 0;
    for (b->pass = PASS_FILES; r == 0 && b->pass <= PASS_BLOBS; b->pass++) {
        int fd = open(b->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = fd < 0 ? err_errno(&b->err, -errno, "cannot read", b->root) : walk(b, fd, "", false, 0);
    }
    return r < 0 ? r : tar_end(&b->tar, &b->err);
}

static int write_archive(struct backup *b, const char *temp)
{
    struct stat st;
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || !(b->tar.out = fdopen(fd, "w")) || fstat(fd, &st) < 0)
        return err_errno(&b->err, -errno, "cannot create", temp);
    b->own_dev = st.st_dev;
    b->own_ino = st.st_ino;
    int r = walk_all(b);
    if (r == 0 && fsync(fd) < 0)
        r = err_errno(&b->err, -errno, "cannot sync", temp);
    if (fclose(b->tar.out) != 0 && r == 0)
        r = err_errno(&b->err, -errno, "cannot write", temp);
    return r;
}

static int publish(struct backup *b, const char *temp, const char *path, bool is_forced)
{
    /* link, unlike rename, does not replace what somebody put there meanwhile. */
    int r = is_forced ? rename(temp, path) : link(temp, path);
    if (r < 0)
        return err_errno(&b->err, -errno, "cannot create", path);
    if (!is_forced)
        (void)unlink(temp);
    return 0;
}

static void report(const struct cli *cli, const struct backup *b, const char *path)
{
    if (cli->opt.is_json)
        printf("{\"files\":%llu,\"bytes\":%llu,\"skipped\":%llu}\n",
               (unsigned long long)b->tar.files, (unsigned long long)b->tar.bytes,
               (unsigned long long)b->skipped);
    else
        printf("%s: %llu files, %.1f MB\n", path, (unsigned long long)b->tar.files,
               (double)b->tar.bytes / 1e6);
    if (!cli->opt.is_json) {
        struct arena a;
        arena_init(&a);
        fprintf(stderr,
                "It holds conversations, settings, users and audit log in plain text, password and "
                "token hashes, and secrets of bundles and providers, encrypted.\nThe key of these "
                "secrets is not in it: keep %s apart.\n",
                sealed_key_place(&a, b->root));
        arena_done(&a);
    }
    if (b->skipped > 0)
        fprintf(stderr, "nb: %llu links and other things that are not files were left out\n",
                (unsigned long long)b->skipped);
}

static void warn_of_outside(const struct config *c)
{
    size_t n = strlen(c->work_dir);
    if (c->store.dir && (strncmp(c->store.dir, c->work_dir, n) != 0 || c->store.dir[n] != '/'))
        fprintf(stderr,
                "nb: warning: the conversations are in %s, which is not part of this "
                "backup\n",
                c->store.dir);
}

static int backup_to(const struct cli *cli, struct config *c, const char *path, bool is_forced)
{
    char temp[PATH_MAX];
    struct backup b = {.root = c->work_dir};
    if (!is_forced && access(path, F_OK) == 0) {
        fprintf(stderr, "nb: %s exists already; --force replaces it\n", path);
        return EXIT_FAILED;
    }
    if (snprintf(temp, sizeof temp, "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof temp)
        return cli_usage_error("backup: the name of the file is too long");
    warn_of_outside(c);
    put_back_all(c);
    progress_begin(&b.progress, "backing up");
    int r = write_archive(&b, temp);
    progress_end(&b.progress);
    if (r == 0)
        r = publish(&b, temp, path, is_forced);
    cli_record(c, "backup", str_from(path), r == 0, STR_NONE);
    if (r < 0) {
        (void)unlink(temp);
        return cli_fail(&b.err);
    }
    report(cli, &b, path);
    return EXIT_DONE;
}

static int run(struct cli *cli, const void *options, int argc, char **argv)
{
    const struct backup_options *o = options;
    struct config c;
    if (argc != 1)
        return cli_usage_error("backup: name the file to write");
    int code = cli_load_config(cli, NULL, &c);
    if (code != EXIT_DONE)
        return code;
    code = backup_to(cli, &c, argv[0], o->is_forced);
    config_done(&c);
    return code;
}

const struct command CMD_BACKUP = {
    .name = "backup",
    .usage = "backup [--force] FILE",
    .summary = "everything in the work directory as one tar file",
    .help = "Conversations, notes, skills, settings and credentials; not the cache, which is made\n"
            "again. May be done while a server runs. Keep the file safe. Stored secrets are "
            "encrypted in\n"
            "it; their key is not part of it (docs/security.md).\n",
    .args = ARGS,
    .options_size = sizeof(struct backup_options),
    .run = run,
};
