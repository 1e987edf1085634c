/* Power loss: at a random call everything stops, and the disk keeps only what was synced,
 * plus any part of the rest. A killed process cannot show this (its pages survive it), so
 * the calls are recorded and what was not synced is undone. */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "rig.h"

#define ID "conv_0123456789abcdef"

enum { FILES_MAX = 256, MOVES_MAX = 256, ROUNDS = 300 };

struct tracked { /* one file: how much of it is safe */
    ino_t ino;
    off_t safe;
};

struct move { /* a directory entry that is not safe yet */
    char made[300];
    char was[300]; /* empty: it did not exist */
    ino_t dir;
};

struct disk {
    struct store_io io;
    pthread_mutex_t lock;
    int calls, dies_at;
    bool is_dead;
    struct tracked files[FILES_MAX];
    size_t nfiles;
    struct move moves[MOVES_MAX];
    size_t nmoves;
};

/* Counts the call; false once the power is gone. Returns with the lock held. */
static bool has_power(const struct store_io *io)
{
    struct disk *d = io->ctx;
    pthread_mutex_lock(&d->lock);
    if (d->calls++ == d->dies_at)
        d->is_dead = true;
    return !d->is_dead;
}

static int unlock(const struct store_io *io, int r)
{
    struct disk *d = io->ctx;
    pthread_mutex_unlock(&d->lock);
    return r;
}

static struct tracked *track(struct disk *d, int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    for (size_t i = 0; i < d->nfiles; i++) {
        if (d->files[i].ino == st.st_ino)
            return &d->files[i];
    }
    assert_true(d->nfiles < FILES_MAX);
    d->files[d->nfiles] = (struct tracked){.ino = st.st_ino};
    return &d->files[d->nfiles++];
}

static ino_t dir_of(const char *path)
{
    char dir[300];
    struct stat st;
    (void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
    return stat(dir, &st) == 0 ? st.st_ino : 0;
}

static void add_move(struct disk *d, const char *made, const char *was)
{
    assert_true(d->nmoves < MOVES_MAX);
    struct move *m = &d->moves[d->nmoves++];
    (void)snprintf(m->made, sizeof(m->made), "%s", made);
    (void)snprintf(m->was, sizeof(m->was), "%s", was);
    m->dir = dir_of(made);
}

static int disk_open(const struct store_io *io, const char *path, int flags, mode_t mode)
{
    return unlock(io, has_power(io) ? store_io_system.open(io, path, flags, mode) : -EIO);
}

static ssize_t disk_writev(const struct store_io *io, int fd, const struct iovec *iov, int n)
{
    ssize_t r = -EIO;
    if (has_power(io)) {
        track(io->ctx, fd);
        r = store_io_system.writev(io, fd, iov, n);
    } else { /* the last thing it did was half a write */
        (void)store_io_system.writev(io, fd, iov, 1);
    }
    unlock(io, 0);
    return r;
}

static int disk_sync(const struct store_io *io, int fd)
{
    struct stat st;
    int r = -EIO;
    if (has_power(io) && fstat(fd, &st) == 0) {
        track(io->ctx, fd)->safe = st.st_size;
        r = 0;
    }
    return unlock(io, r);
}

static int disk_sync_dir(const struct store_io *io, int fd)
{
    struct disk *d = io->ctx;
    struct stat st;
    if (!has_power(io) || fstat(fd, &st) < 0)
        return unlock(io, -EIO);
    size_t kept = 0;
    for (size_t i = 0; i < d->nmoves; i++) {
        if (d->moves[i].dir != st.st_ino)
            d->moves[kept++] = d->moves[i];
    }
    d->nmoves = kept;
    return unlock(io, 0);
}

static int disk_truncate(const struct store_io *io, int fd, off_t size)
{
    int r = -EIO;
    if (has_power(io)) {
        struct tracked *t = track(io->ctx, fd);
        t->safe = t->safe < size ? t->safe : size;
        r = store_io_system.truncate(io, fd, size);
    }
    return unlock(io, r);
}

static int disk_rename(const struct store_io *io, const char *from, const char *to)
{
    int r = has_power(io) ? store_io_system.rename(io, from, to) : -EIO;
    if (r == 0)
        add_move(io->ctx, to, from);
    return unlock(io, r);
}

static int disk_link(const struct store_io *io, const char *from, const char *to)
{
    int r = has_power(io) ? store_io_system.link(io, from, to) : -EIO;
    if (r == 0)
        add_move(io->ctx, to, "");
    return unlock(io, r);
}

static int disk_unlink(const struct store_io *io, const char *path)
{
    return unlock(io, has_power(io) ? store_io_system.unlink(io, path) : -EIO);
}

static int disk_mkdir(const struct store_io *io, const char *path, mode_t mode)
{
    return unlock(io, has_power(io) ? store_io_system.mkdir(io, path, mode) : -EIO);
}

static const struct store_io DISK = {
    .open = disk_open,
    .writev = disk_writev,
    .sync = disk_sync,
    .sync_dir = disk_sync_dir,
    .truncate = disk_truncate,
    .rename = disk_rename,
    .link = disk_link,
    .unlink = disk_unlink,
    .mkdir = disk_mkdir,
};

static struct disk *lost_disk; /* for nftw, which passes no context */

static int lose_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    for (size_t i = 0; type == FTW_F && i < lost_disk->nfiles; i++) {
        const struct tracked *t = &lost_disk->files[i];
        if (t->ino == st->st_ino && st->st_size > t->safe)
            assert_int_equal(truncate(path, t->safe + random() % (st->st_size - t->safe + 1)), 0);
    }
    return 0;
}

/* What was not safe is gone, wholly or in part. */
static void lose_power(struct rig *r, struct disk *d)
{
    lost_disk = d;
    (void)nftw(r->dir, lose_file, 16, FTW_PHYS);
    for (size_t i = d->nmoves; i-- > 0;) {
        if (random() % 2)
            continue;
        if (d->moves[i].was[0])
            (void)rename(d->moves[i].made, d->moves[i].was);
        else
            (void)unlink(d->moves[i].made);
    }
}

struct told {
    bool is_created, is_deleted;
    int acked; /* events 0 .. acked-1 */
    int sent;
};

static void play(struct rig *r, struct told *t)
{
    t->is_created = rig_create(r, ID, "usr_a") == 0;
    for (int i = 0; i < 6 && t->acked == t->sent; i++) {
        struct buf b;
        buf_init(&b, 1u << 20);
        buf_printf(&b, "{\"type\":\"tool.done\",\"n\":%d,\"x\":\"", t->sent);
        for (unsigned k = 0; k < (i % 3 == 2 ? STORE_SPILL_BYTES : 20); k++)
            buf_add_char(&b, 'x');
        buf_add_lit(&b, "\"}");
        t->sent++;
        t->acked += rig_append(r, ID, buf_cstr(&b)) == 0;
        buf_done(&b);
    }
    if (rig_delete(r, ID, false) == 0)
        t->is_deleted = rig_restore(r, ID) < 0;
}

static void check(struct rig *r, const struct told *t, int round)
{
    if (rig_get(r, ID) == -ENOENT)
        (void)rig_restore(r, ID);
    if (rig_get(r, ID) < 0) {
        if (t->is_created)
            fail_msg("round %d: the conversation is lost", round);
        return;
    }
    if (t->is_created && !str_eq(r->conv->acl.owner_id, STR("usr_a")))
        fail_msg("round %d: line 1 is lost", round);
    assert_int_equal(rig_read(r, ID, &(struct store_range){.with_blobs = true}), 0);
    if ((int)r->page.n < t->acked)
        fail_msg("round %d: %d acknowledged, %zu found", round, t->acked, r->page.n);
    for (size_t i = 0; i < r->page.n; i++) {
        struct json *v;
        assert_int_equal(json_parse(&r->arena, r->page.events[i].line, 0, &v, NULL), 0);
        assert_int_equal(json_get_int(v, "n", -1), i);
        if ((int)i < t->acked && !json_is(json_get(v, "x"), JSON_STRING))
            fail_msg("round %d: the result of event %zu is lost", round, i);
    }
    assert_int_equal(rig_append(r, ID, "{\"type\":\"after\"}"), 0);
}

static int run_round(int dies_at, int round)
{
    struct disk *d = xcalloc(1, sizeof(*d));
    struct rig *r = xcalloc(1, sizeof(*r));
    struct told t = {0};
    d->io = DISK;
    d->io.ctx = d;
    d->dies_at = -1;
    pthread_mutex_init(&d->lock, NULL);
    rig_init(r, "jsonl", &d->io);
    d->calls = 0;
    d->dies_at = dies_at;
    play(r, &t);
    int calls = d->calls;
    d->is_dead = true;
    rig_close_store(r);
    appender_free(r->appender);
    lose_power(r, d);
    r->appender = r->env.appender = appender_new(r->loop, 2);
    rig_open_store(r, "jsonl");
    check(r, &t, round);
    rig_done(r);
    pthread_mutex_destroy(&d->lock);
    free(r);
    free(d);
    return calls;
}

static void test_power_loss(void **state)
{
    unsigned seed = (unsigned)clock_now_ms();
    srandom(seed);
    int calls = run_round(-1, -1);
    print_message("%d calls, %d power losses, seed %u\n", calls, ROUNDS, seed);
    for (int i = 0; i < ROUNDS; i++)
        run_round(i % calls, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_power_loss)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
