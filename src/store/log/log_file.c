#include "store/log/log_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "os/lock.h"
#include "store/log/recover.h"

void new_entries_init(struct new_entries *n)
{
    *n = (struct new_entries){0};
    (void)pthread_mutex_init(&n->syncing, NULL);
}

void new_entries_done(struct new_entries *n)
{
    (void)pthread_mutex_destroy(&n->syncing);
}

/* Entries that are made while the directory is being synced may be missed: only those counted
 * before are safe. */
static int sync_entry(struct log_file *f)
{
    struct new_entries *n = f->entries;
    int r = 0;
    (void)pthread_mutex_lock(&n->syncing);
    uint64_t made = atomic_load(&n->made);
    if (atomic_load(&n->synced) < f->entry)
        r = io_sync_parent(f->io, f->path);
    if (r == 0 && made > atomic_load(&n->synced) && f->entry <= made)
        atomic_store(&n->synced, made);
    (void)pthread_mutex_unlock(&n->syncing);
    return r;
}

void log_file_init(struct log_file *f, const struct store_io *io, const char *path, bool syncs)
{
    *f = (struct log_file){.io = io, .path = str_dup(str_from(path)), .fd = -1, .syncs = syncs};
}

void log_file_done(struct log_file *f)
{
    assert(f->fd < 0);
    free(f->path);
    f->path = NULL;
}

void log_file_report(struct log_file *f, struct logger *log)
{
    if (f->notice.code)
        log_warn(log, "store", "%s", f->notice.msg);
    err_clear(&f->notice);
}

/* The process that holds the lock, from /proc/locks; 0 when it is not listed. */
static int lock_holder(dev_t dev, ino_t ino)
{
    FILE *locks = fopen("/proc/locks", "re");
    if (!locks)
        return 0;
    char line[256];
    int found = 0;
    while (!found && fgets(line, sizeof(line), locks)) {
        char kind[16];
        int pid;
        unsigned maj, min;
        unsigned long node;
        if (sscanf(line, "%*d: %15s %*s %*s %d %x:%x:%lu", kind, &pid, &maj, &min, &node) == 5 &&
            strcmp(kind, "FLOCK") == 0 && node == ino && maj == major(dev) && min == minor(dev))
            found = pid;
    }
    (void)fclose(locks);
    return found;
}

int log_file_writer(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? lock_holder(st.st_dev, st.st_ino) : 0;
}

static int lock(int fd, const char *path, struct err *e)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return err_errno(e, -errno, "cannot lock", path);
    int pid = log_file_writer(fd);
    if (pid > 0)
        return err_set(e, -EBUSY,
                       "%s is locked by another process (pid %d) that writes it; use that process, "
                       "or stop it",
                       path, pid);
    return err_set(e, -EBUSY,
                   "%s is locked by another process that writes it; use that process, or stop it",
                   path);
}

static int adopt(struct log_file *f, int fd, off_t length)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    f->fd = fd;
    f->openings++;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->length = length;
    f->unsynced = 0;
    f->entry = 0;
    f->is_anchored = f->is_dirty = f->is_lost = false;
    return 0;
}

static void note_recovery(struct log_file *f, const struct recovery *r)
{
    if (r->torn_bytes)
        err_set(&f->notice, -EIO,
                "%s ended in an unfinished line of %lld bytes (crash or full disk?); the line was "
                "moved to %s.torn",
                f->path, (long long)r->torn_bytes, f->path);
    else if (r->was_terminated)
        err_set(&f->notice, -EIO, "added the missing line feed to the last line of %s", f->path);
}

static int check_kind(int fd, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, -errno, "cannot read the attributes of", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, -EISDIR, "%s is not a regular file", path);
    return 0;
}

static int open_fresh(struct log_file *f, struct err *e)
{
    int fd = f->io->open(f->io, f->path, O_RDWR | O_APPEND | O_NONBLOCK | O_NOFOLLOW, 0);
    if (fd == -ENOENT)
        return err_set(e, -ENOENT, "no such conversation: %s does not exist", f->path);
    if (fd < 0)
        return err_errno(e, fd, "cannot open", f->path);
    struct recovery r = {0};
    int code = check_kind(fd, f->path, e);
    if (code == 0)
        code = lock(fd, f->path, e);
    if (code == 0)
        code = recover_tail(f->io, fd, f->path, &r, e);
    if (code == 0 && adopt(f, fd, r.length) < 0)
        code = err_errno(e, -EIO, "cannot read the attributes of", f->path);
    if (code < 0) {
        lock_close(fd);
        return code;
    }
    note_recovery(f, &r);
    return 0;
}

/* The open file is not the one at the path any more, or another program wrote to it. */
static bool has_changed(const struct log_file *f)
{
    struct stat st;
    return stat(f->path, &st) < 0 || st.st_ino != f->ino || st.st_dev != f->dev ||
           st.st_size != f->length;
}

int log_file_open(struct log_file *f, struct err *e)
{
    if (log_file_failed(f)) {
        *e = f->failure;
        return e->code;
    }
    if (f->fd >= 0 && !has_changed(f))
        return 0;
    if (f->fd >= 0) {
        err_set(&f->notice, -EIO, "%s was changed by another program while nb had it open",
                f->path);
        log_file_close(f);
        if (log_file_failed(f)) {
            *e = f->failure;
            return e->code;
        }
    }
    return open_fresh(f, e);
}

static int fail_permanently(struct log_file *f, int code, const char *what, struct err *e)
{
    err_errno(&f->failure, code, what, f->path);
    f->notice = f->failure;
    err_prefix(&f->notice, "conversation closed for writing until nb is restarted");
    if (e)
        *e = f->failure;
    return code;
}

int log_file_write(struct log_file *f, struct iovec *iov, size_t n, struct err *e)
{
    assert(f->fd >= 0 && f->unsynced == 0);
    off_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += (off_t)iov[i].iov_len;
    int r = io_writev(f->io, f->fd, iov, n);
    if (r < 0) {
        int cut = f->io->truncate(f->io, f->fd, f->length);
        if (cut < 0)
            return fail_permanently(f, cut, "cannot undo an incomplete write to", e);
        f->is_anchored = false; /* after a power loss the truncated bytes may be back */
        return err_errno(e, r, "cannot write", f->path);
    }
    f->unsynced = total;
    return 0;
}

static int sync_now(struct log_file *f, struct err *e)
{
    assert(f->fd >= 0);
    int r = f->io->sync(f->io, f->fd);
    if (r == 0 && f->entry > 0)
        r = sync_entry(f);
    if (r < 0) {
        f->is_lost = true;
        return fail_permanently(f, r, "cannot sync", e);
    }
    f->entry = 0;
    f->is_anchored = true;
    f->is_dirty = false;
    return 0;
}

int log_file_sync(struct log_file *f, struct err *e)
{
    off_t bytes = f->unsynced;
    f->unsynced = 0;
    if (bytes > 0 && f->syncs && sync_now(f, e) < 0)
        return e->code;
    if (bytes > 0 && f->syncs_later)
        f->is_dirty = true;
    f->length += bytes;
    return 0;
}

void log_file_mark_journaled(struct log_file *f)
{
    assert(f->unsynced > 0 && (f->is_anchored || f->length == 0));
    f->length += f->unsynced;
    f->unsynced = 0;
    f->is_dirty = f->is_anchored = true; /* a new log is in the journal from its first byte */
}

void log_file_flush(struct log_file *f)
{
    if (f->fd >= 0 && f->is_dirty && !f->is_lost)
        (void)sync_now(f, NULL);
}

void log_file_close(struct log_file *f)
{
    if (f->fd < 0)
        return;
    log_file_flush(f);
    lock_close(f->fd);
    f->fd = -1;
}

/* Creating is rare, so it is synced immediately even if appends are synced later. */
static bool syncs_creation(const struct log_file *f)
{
    return f->syncs || f->syncs_later;
}

static int write_lines(struct log_file *f, int fd, const str *lines, size_t n, bool syncs,
                       off_t *ret_length)
{
    struct iovec *iov = xcalloc(n, sizeof(*iov));
    off_t length = 0;
    for (size_t i = 0; i < n; i++) {
        iov[i] = (struct iovec){(void *)lines[i].p, lines[i].n};
        length += (off_t)lines[i].n;
    }
    int r = io_writev(f->io, fd, iov, n);
    free(iov);
    *ret_length = length;
    return r < 0 || !syncs ? r : f->io->sync(f->io, fd);
}

static int build_log(struct log_file *f, const char *temp, int fd, const str *lines, size_t n,
                     bool syncs, struct err *e)
{
    off_t length;
    int r = lock(fd, temp, e);
    if (r < 0)
        return r;
    r = write_lines(f, fd, lines, n, syncs, &length);
    if (r < 0)
        return err_errno(e, r, "cannot write", f->path);
    r = f->io->link(f->io, temp, f->path);
    if (r == -EEXIST)
        return err_set(e, r, "this conversation already exists: %s", f->path);
    if (r == 0 && syncs && (r = io_sync_parent(f->io, f->path)) < 0)
        (void)f->io->unlink(f->io, f->path);
    if (r == 0)
        r = adopt(f, fd, length);
    f->is_anchored = r == 0 && syncs;
    return r < 0 ? err_errno(e, r, "cannot create", f->path) : 0;
}

static int create(struct log_file *f, const str *lines, size_t n, bool syncs, struct err *e)
{
    if (f->fd >= 0 && !has_changed(f))
        return err_set(e, -EEXIST, "this conversation already exists: %s", f->path);
    log_file_close(f);
    char temp[PATH_MAX], unique[RANDOM_ID_MAX];
    random_id("new", unique);
    if (snprintf(temp, sizeof(temp), "%s.%s", f->path, unique) >= (int)sizeof(temp))
        return err_errno(e, -ENAMETOOLONG, "cannot create", f->path);
    int fd = f->io->open(f->io, temp, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0600);
    if (fd == -ENOENT)
        return err_set(e, -EIO, "cannot create %s: its directory is missing", f->path);
    if (fd < 0)
        return err_errno(e, fd, "cannot create", f->path);
    int r = build_log(f, temp, fd, lines, n, syncs, e);
    (void)f->io->unlink(f->io, temp);
    if (r < 0)
        close(fd);
    else
        err_clear(&f->failure); /* this is a new file: the failure was of the file before */
    return r;
}

int log_file_create(struct log_file *f, const str *lines, size_t n, struct err *e)
{
    return create(f, lines, n, syncs_creation(f), e);
}

int log_file_create_unsynced(struct log_file *f, const str *lines, size_t n, struct err *e)
{
    assert(f->entries && f->syncs);
    int r = create(f, lines, n, false, e);
    if (r < 0)
        return r;
    f->entry = atomic_fetch_add(&f->entries->made, 1) + 1;
    f->unsynced = f->length;
    f->length = 0;
    return 0;
}

void log_file_undo_creation(struct log_file *f)
{
    (void)f->io->unlink(f->io, f->path);
    f->is_dirty = false;
    f->unsynced = 0;
    log_file_close(f);
    err_clear(&f->failure); /* there is no such log */
    err_clear(&f->notice);
}
