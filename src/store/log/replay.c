#include "store/log/replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "os/lock.h"
#include "store/log/journal.h"

struct found { /* a record and its number, so that records of one log stay in order when sorted */
    struct journal_record record;
    size_t place;
};

struct journal_replay {
    const struct store_io *io;
    const char *dir;
    struct arena arena;
    struct found *records;
    size_t n, cap;
    bool is_needed; /* a log is locked or not writable: the journal must be kept */
    bool is_new;    /* the journal has the current log from its first byte */
    bool has_new;   /* such logs: their entries in the directory must be synced */
    struct replay_report *report;
    struct err *err;
};

/* ---- one log ---- */

enum verdict { IS_THERE, IS_MISSING, IS_OTHER };

/* A block that was never written reads as zeros. No line contains a zero byte, so zeros in the log
 * are missing bytes and may be overwritten. */
static enum verdict compare_bytes(str log, str bytes)
{
    bool is_same = log.n == bytes.n;
    for (size_t i = 0; i < log.n; i++) {
        if (log.p[i] == bytes.p[i])
            continue;
        if (log.p[i] != 0)
            return IS_OTHER;
        is_same = false;
    }
    return is_same ? IS_THERE : IS_MISSING;
}

static int examine(struct journal_replay *r, int fd, const struct journal_record *record,
                   enum verdict *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (record->offset > (uint64_t)st.st_size) {
        *ret = IS_OTHER;
        return 0;
    }
    uint64_t behind = (uint64_t)st.st_size - record->offset;
    size_t n = behind < record->bytes.n ? (size_t)behind : record->bytes.n;
    char *bytes = arena_alloc(&r->arena, n + 1);
    for (size_t got = 0; got < n;) {
        ssize_t more = pread(fd, bytes + got, n - got, (off_t)(record->offset + got));
        if (more <= 0)
            return more < 0 ? -errno : -EIO;
        got += (size_t)more;
    }
    *ret = compare_bytes(str_make(bytes, n), record->bytes);
    /* A different file has this name now: it may lack the bytes on purpose. But a log that the
     * journal has from its first byte may have been created by an earlier replay. */
    if (*ret == IS_MISSING && st.st_ino != record->inode && !r->is_new)
        *ret = IS_OTHER;
    return 0;
}

static void name_example(struct replay_report *report, const char *path)
{
    (void)snprintf(report->example, sizeof(report->example), "%s", path);
}

static int set_aside(struct journal_replay *r, const char *path,
                     const struct journal_record *record)
{
    const char *torn = arena_printf(&r->arena, "%s.torn", path).p;
    int fd = r->io->open(r->io, torn, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fd;
    int code = io_write(r->io, fd, record->bytes);
    if (code == 0)
        code = r->io->sync(r->io, fd);
    close(fd);
    r->report->set_aside++;
    name_example(r->report, path);
    return code < 0 ? code : io_sync_parent(r->io, torn);
}

static int restore_record(struct journal_replay *r, int fd, const char *path,
                          const struct journal_record *record, uint64_t *restored)
{
    enum verdict verdict = IS_OTHER;
    int code = examine(r, fd, record, &verdict);
    if (code < 0)
        return code;
    if (verdict == IS_OTHER)
        return set_aside(r, path, record);
    if (verdict == IS_MISSING)
        *restored += record->bytes.n;
    return io_pwrite(r->io, fd, record->bytes, (off_t)record->offset);
}

/* nb cannot append to this log either, so the other logs need not wait for it. */
static int leave_unwritable(struct journal_replay *r, const char *path)
{
    r->is_needed = true;
    r->report->unwritable++;
    name_example(r->report, path);
    return -ENOENT;
}

/* The fd of a log that may be written; -ENOENT when the log must be skipped. A log whose creation
 * is in the journal was not deleted since (commit.h): if it is missing, its entry was lost. */
static int open_log(struct journal_replay *r, const char *path)
{
    struct stat st;
    int create = r->is_new ? O_CREAT : 0;
    int fd = r->io->open(r->io, path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | create, 0600);
    if (fd == -ELOOP || fd == -EISDIR || fd == -ENXIO)
        return -ENOENT; /* not a log */
    if (fd == -EACCES || fd == -EPERM || fd == -EROFS)
        return leave_unwritable(r, path);
    if (fd < 0)
        return fd;
    int code = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -ENOENT;
    if (code == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        code = errno == EWOULDBLOCK ? -ENOENT : -errno; /* another process writes the log */
        r->is_needed = true;
    }
    if (code < 0)
        close(fd);
    return code < 0 ? code : fd;
}

static int restore_log(struct journal_replay *r, const struct found *records, size_t n)
{
    const char *path =
        arena_printf(&r->arena, "%s/%.*s", r->dir, STR_ARG(records[0].record.name)).p;
    uint64_t restored = 0;
    r->is_new = records[0].record.offset == 0;
    r->has_new |= r->is_new;
    int fd = open_log(r, path);
    int code = fd < 0 ? fd : 0;
    for (size_t i = 0; code == 0 && i < n; i++)
        code = restore_record(r, fd, path, &records[i].record, &restored);
    if (code == 0)
        code = r->io->sync(r->io, fd);
    if (fd >= 0)
        lock_close(fd);
    r->report->bytes += restored;
    r->report->logs += restored > 0;
    if (code == -ENOENT) /* deleted, locked or not writable */
        return 0;
    return code < 0 ? err_errno(r->err, code, "cannot restore from the journal", path) : 0;
}

/* ---- one journal ---- */

static void collect_record(void *ctx, const struct journal_record *record)
{
    struct journal_replay *r = ctx;
    GROW(r->records, r->n, r->cap);
    r->records[r->n] = (struct found){*record, r->n};
    r->n++;
}

static int by_log(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = str_cmp(x->record.name, y->record.name);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int restore_all(struct journal_replay *r)
{
    int code = 0;
    if (r->n)
        qsort(r->records, r->n, sizeof(*r->records), by_log);
    for (size_t i = 0, next; code == 0 && i < r->n; i = next) {
        for (next = i + 1; next < r->n; next++) {
            if (!str_eq(r->records[i].record.name, r->records[next].record.name))
                break;
        }
        code = restore_log(r, r->records + i, next - i);
    }
    return code;
}

/* The half with the lower generation is older and comes first. */
static int restore_from(struct journal_replay *r, str journal)
{
    str half[2] = {str_slice(journal, 0, journal.n / 2), str_skip(journal, journal.n / 2)};
    bool is_swapped = journal_generation(half[0]) > journal_generation(half[1]);
    journal_parse(half[is_swapped], collect_record, r);
    journal_parse(half[!is_swapped], collect_record, r);
    return restore_all(r);
}

static int read_whole(int fd, str *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    char *bytes = xcalloc(1, (size_t)st.st_size + 1);
    size_t n = 0;
    ssize_t got = 0;
    while (n < (size_t)st.st_size &&
           (got = pread(fd, bytes + n, (size_t)st.st_size - n, (off_t)n)) > 0)
        n += (size_t)got;
    *ret = str_make(bytes, n);
    return got < 0 ? -errno : 0;
}

static int replay_file(struct journal_replay *r, int fd)
{
    str journal = STR_NONE;
    int code = read_whole(fd, &journal);
    if (code == 0)
        code = restore_from(r, journal);
    if (code == 0 && r->has_new)
        code = io_sync_dir(r->io, r->dir);
    free((void *)journal.p);
    free(r->records);
    r->records = NULL;
    r->n = r->cap = 0;
    arena_reset(&r->arena);
    return code;
}

/* ---- all journals ---- */

static int remove_journal(struct journal_replay *r, const char *path)
{
    int code = r->io->unlink(r->io, path);
    return code < 0 ? code : io_sync_parent(r->io, path);
}

static bool may_be_journal(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= 2 * (off_t)JOURNAL_HALF_MAX;
}

/* nb never creates such a file: the user must decide what to do with it. */
static int refuse_journal(struct journal_replay *r, const char *path)
{
    return err_set(r->err, -EBADMSG, "%s is not an nb journal; move the file elsewhere", path);
}

static int replay_one(struct journal_replay *r, const char *path)
{
    int fd = r->io->open(r->io, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    if (fd == -ELOOP)
        return refuse_journal(r, path);
    if (fd < 0)
        return fd == -ENOENT ? 0 : err_errno(r->err, fd, "cannot open the journal", path);
    int code = may_be_journal(fd) ? 0 : refuse_journal(r, path);
    r->is_needed = r->has_new = false;
    /* A locked journal belongs to a live process, which will sync its logs and remove it. */
    if (code == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        code = replay_file(r, fd);
        if (code == 0 && !r->is_needed)
            code = remove_journal(r, path);
    }
    close(fd);
    if (code < 0 && !r->err->code)
        err_errno(r->err, code, "cannot replay the journal", path);
    return code;
}

static int replay_dir(struct journal_replay *r, DIR *d, const char *own_dir)
{
    struct dirent *entry;
    int code = 0;
    while (code == 0 && (entry = readdir(d)) != NULL) {
        char path[PATH_MAX];
        if (!str_starts(str_from(entry->d_name), STR(JOURNAL_PREFIX)))
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", own_dir, entry->d_name) >= (int)sizeof(path))
            return err_errno(r->err, -ENAMETOOLONG, "cannot open the journal in", own_dir);
        code = replay_one(r, path);
    }
    return code;
}

int replay_journals(const struct store_io *io, const char *dir, struct replay_report *ret,
                    struct err *e)
{
    char own_dir[PATH_MAX];
    struct err own_err = {0};
    struct journal_replay r = {.io = io, .dir = dir, .report = ret, .err = e ? e : &own_err};
    *ret = (struct replay_report){0};
    if (snprintf(own_dir, sizeof(own_dir), "%s/" JOURNAL_DIR, dir) >= (int)sizeof(own_dir))
        return err_errno(e, -ENAMETOOLONG, "cannot open", dir);
    int fd = io->open(io, own_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd == -ENOENT)
        return 0;
    /* One replay at a time; no process creates a journal meanwhile (journal.c takes this lock). */
    DIR *d = fd < 0 || flock(fd, LOCK_EX) < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int code = fd < 0 ? fd : -errno;
        if (fd >= 0)
            close(fd);
        return err_errno(e, code, "cannot open", own_dir);
    }
    arena_init(&r.arena);
    int code = replay_dir(&r, d, own_dir);
    if (code == 0)
        (void)io->unlink(io, own_dir); /* fails while a journal is left */
    arena_done(&r.arena);
    closedir(d);
    return code;
}

void replay_tell(const struct replay_report *r, const char *dir, replay_say say, void *ctx)
{
    struct err e;
    if (r->logs > 0) {
        err_set(&e, -EIO,
                "%zu conversations in %s were incomplete (power loss?); %llu bytes were restored "
                "from the journal",
                r->logs, dir, (unsigned long long)r->bytes);
        say(ctx, e.msg);
    }
    if (r->set_aside > 0) {
        err_set(&e, -EIO,
                "%zu journal records do not match their conversation, for example a record of %s; "
                "they were saved in a .torn file beside the conversation",
                r->set_aside, r->example);
        say(ctx, e.msg);
    }
    if (r->unwritable > 0) {
        err_set(&e, -EACCES,
                "%zu conversations may be incomplete, for example %s: the journal holds their last "
                "events, but nb has no permission to write the files; make the files writable "
                "and restart nb",
                r->unwritable, r->example);
        say(ctx, e.msg);
    }
}
