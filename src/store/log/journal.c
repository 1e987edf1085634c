#include "store/log/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "store/store.h"

enum { FILL_BYTES = 256 * 1024 };

static size_t round_up(size_t n)
{
    return (n + JOURNAL_BLOCK - 1) / JOURNAL_BLOCK * JOURNAL_BLOCK;
}

/* Each step is invertible, so two batches that differ in one word never have the same sum. The
 * checksum detects incomplete writes; it does not protect against deliberate changes. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
    return sum ^ sum >> 32;
}

uint64_t journal_checksum(const char *batch, size_t n)
{
    struct journal_head head;
    assert(n >= sizeof(head));
    memcpy(&head, batch, sizeof(head));
    uint64_t sum = mix(mix(JOURNAL_MAGIC, head.generation), head.bytes);
    sum = mix(sum, (uint64_t)head.sequence << 32 | head.records);
    /* The magic starts the sum; the field `checksum` itself is left out. */
    for (size_t i = sizeof(head); i < n; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, batch + i, n - i < sizeof(word) ? n - i : sizeof(word));
        sum = mix(sum, word);
    }
    return sum;
}

/* ---- creating ---- */

/* Holds the lock of the directory, so that a replay in another process does not treat the new,
 * not yet locked file as abandoned. */
static int create_locked(const char *path, const struct store_io *io, int dir_fd)
{
    if (flock(dir_fd, LOCK_EX) < 0)
        return -errno;
    int fd = io->open(io, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

static int create_file(const char *dir, const char *path, const struct store_io *io)
{
    int r = io_mkdir_all(io, dir);
    int dir_fd = r < 0 ? r : io->open(io, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir_fd < 0)
        return dir_fd;
    int fd = create_locked(path, io, dir_fd);
    close(dir_fd); /* also unlocks the directory */
    return fd;
}

/* Writes zeros instead of only allocating: the first write to an allocated block changes metadata,
 * which every later sync would have to commit. */
static int fill_with_zeros(const struct store_io *io, int fd, size_t bytes)
{
    char *zeros = xcalloc(1, FILL_BYTES);
    int r = 0;
    for (size_t at = 0; r == 0 && at < bytes; at += FILL_BYTES)
        r = io_pwrite(io, fd, str_make(zeros, bytes - at < FILL_BYTES ? bytes - at : FILL_BYTES),
                      (off_t)at);
    free(zeros);
    return r < 0 ? r : io->sync(io, fd);
}

static int make(struct journal *j, const char *dir)
{
    j->fd = create_file(dir, j->path, j->io);
    if (j->fd < 0)
        return j->fd;
    int r = fill_with_zeros(j->io, j->fd, 2 * j->half_bytes);
    if (r == 0)
        r = io_sync_dir(j->io, dir);
    if (r == 0)
        r = io_sync_parent(j->io, dir); /* another process may just have created .journal/ */
    if (r < 0)
        (void)journal_remove(j);
    return r;
}

int journal_open(struct journal *j, const struct store_io *io, const char *dir, size_t half_bytes,
                 struct err *e)
{
    assert(half_bytes % JOURNAL_BLOCK == 0 && half_bytes <= JOURNAL_HALF_MAX);
    char own_dir[PATH_MAX], path[PATH_MAX], unique[RANDOM_ID_MAX];
    random_id("journal", unique);
    *j = (struct journal){.io = io, .fd = -1, .half_bytes = half_bytes, .generation = 1};
    if (snprintf(own_dir, sizeof(own_dir), "%s/" JOURNAL_DIR, dir) >= (int)sizeof(own_dir) ||
        snprintf(path, sizeof(path), "%s/%s", own_dir, unique) >= (int)sizeof(path))
        return err_errno(e, -ENAMETOOLONG, "cannot create a journal in", dir);
    j->path = str_dup(str_from(path));
    buf_init(&j->batch, half_bytes);
    int r = make(j, own_dir);
    if (r < 0) {
        journal_close(j);
        return err_errno(e, r, "cannot create a journal in", own_dir);
    }
    return 0;
}

/* ---- writing ---- */

void journal_begin(struct journal *j)
{
    struct journal_head none = {0}; /* seal fills it in */
    assert(j->fd >= 0);
    buf_clear(&j->batch);
    buf_add(&j->batch, &none, sizeof(none));
    j->records = 0;
}

void journal_add(struct journal *j, str name, uint64_t inode, uint64_t offset, uint32_t length)
{
    assert(j->batch.n >= sizeof(struct journal_head) || buf_failed(&j->batch));
    struct journal_record_head head = {inode, offset, length, (uint32_t)name.n};
    buf_add(&j->batch, &head, sizeof(head));
    buf_add_str(&j->batch, name);
    j->records++;
}

void journal_add_bytes(struct journal *j, str bytes)
{
    buf_add_str(&j->batch, bytes);
}

size_t journal_room(const struct journal *j)
{
    return j->half_bytes - j->used;
}

/* Writes the head, and adds zeros up to the end of the block. */
static size_t seal(struct journal *j)
{
    static const char ZEROS[JOURNAL_BLOCK];
    size_t bytes = j->batch.n, whole = round_up(bytes);
    struct journal_head head = {.magic = JOURNAL_MAGIC,
                                .generation = j->generation,
                                .sequence = j->sequence,
                                .records = j->records,
                                .bytes = bytes};
    memcpy(j->batch.p, &head, sizeof(head));
    head.checksum = journal_checksum(j->batch.p, bytes);
    memcpy(j->batch.p, &head, sizeof(head));
    buf_add(&j->batch, ZEROS, whole - bytes);
    return whole;
}

int journal_commit(struct journal *j)
{
    /* Checked before sealing: the caller then syncs the logs and may try the next batch. */
    if (buf_failed(&j->batch) || round_up(j->batch.n) > journal_room(j))
        return -ENOBUFS;
    size_t whole = seal(j);
    off_t at = (off_t)((size_t)j->half * j->half_bytes + j->used);
    int r = io_pwrite(j->io, j->fd, buf_str(&j->batch), at);
    if (r == 0)
        r = j->io->sync(j->io, j->fd);
    if (r < 0)
        return r;
    assert(whole % JOURNAL_BLOCK == 0);
    j->used += whole;
    j->sequence++;
    return 0;
}

/* Old batches behind the new ones need no erasing: their generation is lower. */
void journal_switch(struct journal *j)
{
    j->half = !j->half;
    j->used = 0;
    j->sequence = 0;
    j->generation++;
}

/* ---- the end ---- */

int journal_remove(struct journal *j)
{
    str path = str_from(j->path);
    char *dir = str_dup(str_slice(path, 0, (size_t)str_rfind_char(path, '/')));
    int r = j->io->unlink(j->io, j->path);
    if (r == 0)
        r = io_sync_dir(j->io, dir);
    if (r == 0)
        (void)j->io->unlink(j->io, dir); /* fails while another process has a journal there */
    free(dir);
    journal_close(j);
    return r;
}

void journal_close(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
    free(j->path);
    j->path = NULL;
    buf_done(&j->batch);
}

/* ---- reading ---- */

/* A name with a slash or any other form could lead replay out of the directory. */
static bool is_log_name(str name)
{
    return str_ends(name, STR(".jsonl")) && store_id_valid(str_slice(name, 0, name.n - 6));
}

/* Removes the next record from *rest. False when *rest does not begin with a valid record. */
static bool take_record(str *rest, struct journal_record *ret)
{
    struct journal_record_head head;
    if (rest->n < sizeof(head))
        return false;
    memcpy(&head, rest->p, sizeof(head));
    str data = str_skip(*rest, sizeof(head));
    /* The sizes are untrusted: each is compared with the remaining bytes before it is used. */
    if (head.name_bytes > data.n || head.length > data.n - head.name_bytes || head.length == 0)
        return false;
    uint64_t end;
    if (__builtin_add_overflow(head.offset, head.length, &end) || end > INT64_MAX)
        return false;
    ret->name = str_slice(data, 0, head.name_bytes);
    ret->inode = head.inode;
    ret->offset = head.offset;
    ret->bytes = str_make(data.p + head.name_bytes, head.length);
    *rest = str_skip(data, (size_t)head.name_bytes + head.length);
    return is_log_name(ret->name);
}

/* Does the body consist of exactly n valid records? */
static bool are_records(str body, uint32_t n)
{
    struct journal_record r;
    while (n > 0 && take_record(&body, &r))
        n--;
    return n == 0 && body.n == 0;
}

/* The valid batch at the start of `at`; false when there is none. */
static bool read_batch(str at, struct journal_head *ret, str *ret_body)
{
    if (at.n < sizeof(*ret))
        return false;
    memcpy(ret, at.p, sizeof(*ret));
    if (ret->magic != JOURNAL_MAGIC || ret->generation == 0 || ret->bytes < sizeof(*ret) ||
        ret->bytes > at.n || journal_checksum(at.p, ret->bytes) != ret->checksum)
        return false;
    *ret_body = str_slice(at, sizeof(*ret), ret->bytes);
    return are_records(*ret_body, ret->records);
}

uint64_t journal_generation(str half)
{
    struct journal_head head;
    str body;
    return read_batch(half, &head, &body) && head.sequence == 0 ? head.generation : 0;
}

void journal_parse(str half, journal_record_fn fn, void *ctx)
{
    uint64_t generation = journal_generation(half);
    struct journal_head head;
    struct journal_record r;
    str body;
    for (uint32_t next = 0; generation && read_batch(half, &head, &body); next++) {
        if (head.generation != generation || head.sequence != next)
            return; /* a batch of an earlier use of this half */
        while (take_record(&body, &r))
            fn(ctx, &r);
        half = str_skip(half, round_up(head.bytes));
    }
}
