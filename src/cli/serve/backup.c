/* nb backup - writes everything of an installation into one file, also while a server runs.
 *
 * That is the work directory, and what the settings place outside of it: conversations (store.dir)
 * below TAR_STORE_DIR, and the settings file itself (--config).
 *
 * Logs only grow, and a blob is on disk before the line that names it. So logs are copied first,
 * each up to the end of a complete line, and blobs after them: every line in the archive has its
 * blob there. Other files are replaced atomically by their writers; an open file does not change.
 * The archive appears under its name only when it is complete. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/map.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/serve/tar.h"
#include "cli/session/journal_recover.h"
#include "cli/session/logins.h"
#include "cli/term/progress.h"
#include "os/dir.h"
#include "store/store.h"
#include "workspace/secrets/sealed.h"

enum { DEPTH_MAX = 16, TAIL_BYTES = 64 * 1024 };

static const struct arg ARGS[] = {{"force", 'f', ARG_FLAG, NULL, "replace FILE if it exists"}, {0}};

enum backup_pass { PASS_FILES, PASS_BLOBS };

#define NAMES_SHOWN_MAX 10

struct backup {
    const char *root;
    const char *store_dir, *settings; /* outside of the root, else NULL */
    dev_t own_dev; /* the archive itself, which may be inside the work directory */
    ino_t own_ino;
    struct tar_writer tar;
    struct progress progress;
    enum backup_pass pass;
    uint64_t skipped; /* neither files nor directories */
    struct arena arena;
    struct map linked; /* device and number of a blob with several names -> the first of them */
    struct err err;
};

/* "workspaces/<id>/cache": the cache of a workspace. */
static bool is_workspace_cache(str below)
{
    str rest = below, part;
    return str_split(&rest, '/', &part) && str_eq(part, STR("workspaces")) &&
           str_split(&rest, '/', &part) && str_eq(rest, STR("cache"));
}

/* "apps/_npm/<name>/<version>": a package of npm, which is installed again in the same version. The
 * files beside it contain the version. */
static bool is_npm_package(str below)
{
    str rest = below, part, name;
    if (str_split(&rest, '/', &part) && str_eq(part, STR("workspaces")))
        (void)(str_split(&rest, '/', &part) && str_split(&rest, '/', &part));
    return str_eq(part, STR("apps")) && str_split(&rest, '/', &part) && str_eq(part, STR("_npm")) &&
           str_split(&rest, '/', &name) && str_split(&rest, '/', &part) && part.n > 0 &&
           !str_ends(part, STR(".json"));
}

/* Keys, logins with the refresh tokens of a provider, and tokens for other servers: a stolen
 * archive gives no access. */
static bool is_key(str below)
{
    return str_starts(below, STR(SEALED_KEY_NAME)) || str_eq(below, STR("auth/dev.key")) ||
           str_eq(below, STR("auth/sessions.json")) || str_eq(below, STR(LOGINS_FILE)) ||
           str_eq(below, STR("runs.key")) || str_ends(below, STR("/runs.key"));
}

/* An upload that is coming in. */
static bool is_unfinished(str below)
{
    ptrdiff_t slash = str_rfind_char(below, '/');
    str name = str_skip(below, (size_t)(slash + 1));
    str dir = str_slice(below, 0, slash < 0 ? 0 : (size_t)slash);
    return (str_starts(name, STR("new_")) || str_starts(name, STR("part_"))) &&
           (str_eq(dir, STR("files")) || str_ends(dir, STR("/files")));
}

/* Data that can be rebuilt, is temporary, or is a key. */
static bool is_left_out(str below)
{
    return is_key(below) || str_eq(below, STR("cache")) || is_workspace_cache(below) ||
           is_npm_package(below) || str_eq(below, STR("auth/open.html")) ||
           str_eq(below, STR("nb.sock")) || str_eq(below, STR("nb.lock")) ||
           str_ends(below, STR(".settings.lock")) || str_ends(below, STR("/.journal")) ||
           str_find(below, STR(".jsonl.new_"), 0) >= 0 || is_unfinished(below) ||
           str_eq(below, STR("data/.inbox")) || str_ends(below, STR("/data/.inbox"));
}

/* Names of nb that an administrator may have moved elsewhere and linked. Other links are not
 * followed: bundles can create links, and they may point to any file. */
static bool is_own_place(str below)
{
    static const char *const NAMES[] = {
        "conversations", "storage", "users", "workspaces",       "skills",        "audit",
        "credentials",   "data",    "files", "nimblebrain.json", "instance.json", "workspace.json"};
    str name = below, ws, rest = below;
    if (str_starts(below, STR("workspaces/")) && str_split(&rest, '/', &ws))
        name = str_split(&rest, '/', &ws) && rest.n > 0 ? rest : STR("workspaces");
    return STR_INDEX(name, NAMES) >= 0;
}

static bool is_blob_dir(str name)
{
    return str_eq(name, STR("blobs")) || str_ends(name, STR(".blobs"));
}

/* How much of a log ends in a line feed: the last line may be incomplete at this moment. */
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

/* A file that people gave has a name in files/ and one in each conversation that has it, and forks
 * share their blobs: such bytes are in the archive once. Returns the name that they have there, or
 * NULL: this is the first. */
static const char *earlier_name(struct backup *b, const char *below, const char *name,
                                const struct stat *st)
{
    const uint64_t key[2] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino};
    str id = str_make((const char *)key, sizeof key);
    if (st->st_nlink < 2 || !sha256_is_hex(str_from(name)))
        return NULL;
    const char *earlier = map_get(&b->linked, id);
    if (earlier && !str_ends(str_from(earlier), str_from(name)))
        earlier = NULL; /* it was deleted meanwhile, and its number is in use again */
    if (!earlier)
        map_put(&b->linked, id, arena_cstr(&b->arena, str_from(below)));
    return earlier;
}

static int add_opened(struct backup *b, const char *below, const char *name, int fd,
                      const struct stat *st)
{
    struct tar_file f = {below, st->st_mode & 0777, st->st_mtime, (uint64_t)st->st_size};
    const char *earlier = earlier_name(b, below, name, st);
    int r = 0;
    if (earlier) {
        f.size = 0;
        return tar_add_link(&b->tar, &f, earlier, &b->err);
    }
    if (str_ends(str_from(name), STR(".jsonl")))
        r = whole_lines(fd, f.size, &f.size, &b->err);
    return r < 0 ? r : tar_add(&b->tar, &f, fd, &b->err);
}

static int add_backup_file(struct backup *b, const char *below, int dir, const char *name,
                           bool follows)
{
    struct stat st;
    int r = 0;
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follows ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(&b->err, -errno, "cannot read", below);
    if (fstat(fd, &st) < 0)
        r = err_errno(&b->err, -errno, "cannot examine", below);
    else if (st.st_dev == b->own_dev && st.st_ino == b->own_ino)
        goto out;
    else {
        r = add_opened(b, below, name, fd, &st);
        progress_update(&b->progress, -1, str_from(below));
    }
out:
    close(fd);
    return r;
}

static int backup_walk(struct backup *b, int dir, const char *below, bool in_blobs, int depth);

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
    bool is_link = S_ISLNK(st.st_mode) && is_own_place(str_from(path));
    if (is_link && fstatat(dir, name, &st, 0) < 0)
        return err_errno(&b->err, -errno, "cannot follow the link", path);
    if (S_ISREG(st.st_mode))
        return in_blobs == (b->pass == PASS_BLOBS) ? add_backup_file(b, path, dir, name, is_link)
                                                   : 0;
    if (!S_ISDIR(st.st_mode)) {
        if (b->pass == PASS_FILES && b->skipped++ < NAMES_SHOWN_MAX)
            fprintf(stderr, "nb: left out, because it is not a file or directory: %s\n", path);
        return 0;
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(&b->err, -errno, "cannot read", path);
    return backup_walk(b, fd, path, in_blobs || is_blob_dir(str_from(name)), depth + 1);
}

/* Takes ownership of `dir`. Files that are deleted meanwhile are not in the archive. */
static int backup_walk(struct backup *b, int dir, const char *below, bool in_blobs, int depth)
{
    assert(dir >= 0 && b->pass <= PASS_BLOBS);
    int r = depth > DEPTH_MAX
                ? err_set(&b->err, -ELOOP, "%s: directories are nested too deeply", below)
                : 0;
    struct dir d = dir_open_fd(dir);
    if (r == 0 && d.error < 0)
        r = err_errno(&b->err, d.error, "cannot read", below);
    while (r == 0 && dir_next(&d))
        r = visit(b, dir_fd(&d), d.name, below, in_blobs, depth);
    dir_close(&d);
    return r;
}

static int walk_root(struct backup *b, const char *root, const char *below)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_errno(&b->err, -errno, "cannot read", root)
                  : backup_walk(b, fd, below, false, 0);
}

static int walk_all(struct backup *b)
{
    int r =
        b->settings ? add_backup_file(b, "outside/settings.json", AT_FDCWD, b->settings, true) : 0;
    for (b->pass = PASS_FILES; r == 0 && b->pass <= PASS_BLOBS; b->pass++) {
        r = walk_root(b, b->root, "");
        if (r == 0 && b->store_dir)
            r = walk_root(b, b->store_dir, TAR_STORE_DIR);
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
    /* link, unlike rename, does not replace a file that was created meanwhile. */
    int r = is_forced ? rename(temp, path) : link(temp, path);
    if (r < 0)
        return err_errno(&b->err, -errno, "cannot create", path);
    if (!is_forced)
        (void)unlink(temp);
    return 0;
}

static int backup_report(struct cmd *x, const struct backup *b, const char *path)
{
    (void)cmd_say(x,
                  cmd_object(x, {STR("files"), json_of_int((int64_t)b->tar.files)},
                             {STR("bytes"), json_of_int((int64_t)b->tar.bytes)},
                             {STR("skipped"), json_of_int((int64_t)b->skipped)}),
                  "%s: %llu files, %.1f MB", path, (unsigned long long)b->tar.files,
                  (double)b->tar.bytes / 1e6);
    if (!x->cli->opt.is_json)
        fprintf(stderr,
                "In it, in plain text: %sskills, settings, users, workspaces, files, data of "
                "bundles, audit log. As hashes: passwords and tokens. Encrypted: secrets of "
                "bundles and providers.\n"
                "Not in it: the key of these secrets (keep %s apart), the key of this installation "
                "(auth/dev.key), logins (auth/sessions.json), the keys that sign open questions "
                "(runs.key), packages of npm (they are installed again), and the cache.\n",
                store_type_has_files(x->config.store.type)
                    ? "conversations with their files, notes and trash, "
                    : "",
                sealed_key_place(&x->arena, b->root));
    if (b->store_dir)
        fprintf(stderr,
                "The conversations of %s are in it; nb restore --store-dir DIR restores "
                "them.\n",
                b->store_dir);
    if (b->skipped > 0)
        fprintf(stderr, "nb: %llu links, sockets or devices were left out\n",
                (unsigned long long)b->skipped);
    return EXIT_DONE;
}

static const char *if_outside(const struct config *c, const char *path)
{
    size_t n = strlen(c->work_dir);
    bool is_inside = path && strncmp(path, c->work_dir, n) == 0 && (path[n] == '/' || !path[n]);
    return is_inside ? NULL : path;
}

/* Directories that settings refer to and that may be shared with other installations. */
static void tell_of_outside(const struct config *c)
{
    if (!store_type_has_files(c->store.type) && strcmp(c->store.type, "memory") != 0)
        fprintf(stderr, "nb: not in this backup: the conversations, which are in the database "
                        "(store.url); back it up with pg_dump\n");
    for (size_t i = 0; i < c->skill_dirs.len; i++) {
        const char *dir = c->skill_dirs.items[i].p;
        if (dir[0] == '/' && if_outside(c, dir))
            fprintf(stderr, "nb: not in this backup: the skills in %s (skillDirs)\n", dir);
    }
}

static int run_backup(struct cmd *x)
{
    struct config *c = &x->config;
    const char *path = x->argv[0];
    char temp[PATH_MAX];
    struct backup b = {.root = c->work_dir};
    if (store_type_has_files(c->store.type))
        b.store_dir = if_outside(c, c->store.dir);
    if (c->is_file_present)
        b.settings = if_outside(c, c->path);
    if (!cmd_flag(x, "force") && access(path, F_OK) == 0)
        return cli_failed("%s exists already; --force replaces it", path);
    if (snprintf(temp, sizeof temp, "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof temp)
        return cmd_usage(x, "the name of the file is too long");
    tell_of_outside(c);
    journal_recover_all(c);
    progress_begin(&b.progress, "backing up");
    arena_init(&b.arena);
    map_init(&b.linked);
    int r = write_archive(&b, temp);
    map_done(&b.linked);
    arena_done(&b.arena);
    progress_end(&b.progress);
    if (r == 0)
        r = publish(&b, temp, path, cmd_flag(x, "force"));
    cli_record(c, "backup", str_from(path), r == 0, STR_NONE);
    if (r < 0) {
        (void)unlink(temp);
        return cli_fail(&b.err);
    }
    return backup_report(x, &b, path);
}

const struct command CMD_BACKUP = {
    .name = "backup",
    .operands = "FILE",
    .summary = "write the whole installation into one tar file",
    .help = "Contains conversations (also those in a store.dir outside of the work directory), "
            "notes, skills, settings, people, data of bundles and the audit log. Stored secrets "
            "are encrypted. Keys, logins and the cache are left out (docs/security.md). A server "
            "may be running. The backup fails when it cannot read a file of the installation. Keep "
            "the backup in a safe place.\n",
    .args = ARGS,
    .needs = NEEDS_SETTINGS,
    .run = run_backup,
};
