/* Power loss: at a random call everything stops, and the disk keeps only what was synced,
 * plus any part of the rest. A killed process cannot show this (its pages survive it), so
 * the calls are recorded and what was not synced is undone. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/bytes/hash.h"
#include "rig.h"
#include "store/log/journal.h"

#define ID "conv_0123456789abcdef"

enum {
    FILES_MAX = 256,
    MOVES_MAX = 256,
    UNDOS_MAX = 256,
    ROUNDS = 200,
    SECTOR = 512,
    SLOW_SYNC_US = 5000,
    HALF_BYTES = 8 * JOURNAL_BLOCK, /* small, so that the halves take turns */
};

struct tracked { /* one file: how much of it is safe */
    ino_t ino;
    off_t safe;
};

struct move { /* a directory entry that is not safe yet */
    char made[300];
    char was[300]; /* empty: it did not exist */
    ino_t dir;
};

struct undo { /* what was at a place before it was overwritten */
    char path[300];
    ino_t ino;
    off_t at;
    size_t n;
    char *bytes;
};

struct disk {
    struct store_io io;
    pthread_mutex_t lock;
    int calls, dies_at;
    bool is_dead;
    bool leaves_zeros; /* a log may be longer than what was written of it */
    bool is_slow;      /* some syncs of logs take a while */
    struct undo undos[UNDOS_MAX];
    size_t nundos;
    int ghosts; /* files whose deletion is not safe yet, ever */
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

static bool is_journal(const char *path)
{
    return strstr(path, JOURNAL_DIR "/" JOURNAL_PREFIX) != NULL;
}

static int disk_open(const struct store_io *io, const char *path, int flags, mode_t mode)
{
    int fd = has_power(io) ? store_io_system.open(io, path, flags, mode) : -EIO;
    if (fd >= 0 && is_journal(path) && flags & O_CREAT)
        add_move(io->ctx, path, "");
    return unlock(io, fd);
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

static void add_undo(struct disk *d, int fd, str bytes, off_t at)
{
    char link[64];
    struct stat st;
    assert_true(d->nundos < UNDOS_MAX);
    struct undo *u = &d->undos[d->nundos++];
    *u = (struct undo){.at = at, .n = bytes.n, .bytes = xcalloc(1, bytes.n)};
    assert_int_equal(fstat(fd, &st), 0);
    u->ino = st.st_ino;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    assert_true(readlink(link, u->path, sizeof(u->path) - 1) > 0);
    (void)!pread(fd, u->bytes, u->n, at);
}

static ssize_t disk_pwrite(const struct store_io *io, int fd, str bytes, off_t at)
{
    struct disk *d = io->ctx;
    ssize_t r = -EIO;
    bool lives = has_power(io);
    if (lives || d->calls - 1 == d->dies_at) { /* the last one may have reached the disk */
        add_undo(d, fd, bytes, at);
        r = store_io_system.pwrite(io, fd, bytes, at);
    }
    unlock(io, 0);
    return lives ? r : -EIO;
}

static void forget_undos(struct disk *d, ino_t ino)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->nundos; i++) {
        if (d->undos[i].ino == ino)
            free(d->undos[i].bytes);
        else
            d->undos[kept++] = d->undos[i];
    }
    d->nundos = kept;
}

static int disk_sync(const struct store_io *io, int fd)
{
    const struct disk *d = io->ctx;
    struct stat st;
    int r = -EIO;
    if (d->is_slow && fstat(fd, &st) == 0 && st.st_size != (off_t)(2 * HALF_BYTES))
        usleep((useconds_t)(random() % 4 ? 0 : random() % SLOW_SYNC_US));
    if (has_power(io) && fstat(fd, &st) == 0) {
        track(io->ctx, fd)->safe = st.st_size;
        forget_undos(io->ctx, st.st_ino);
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

/* A journal may be there again, as long as its directory was not synced. */
static int disk_unlink(const struct store_io *io, const char *path)
{
    struct disk *d = io->ctx;
    bool lives = has_power(io);
    if (lives && is_journal(path)) {
        char ghost[300];
        (void)snprintf(ghost, sizeof(ghost), "%.*s-ghost-%d",
                       (int)(strstr(path, "/" JOURNAL_DIR) - path), path, d->ghosts++);
        assert_int_equal(link(path, ghost), 0);
        add_move(d, path, ghost);
        (void)snprintf(d->moves[d->nmoves - 1].made, sizeof(ghost), "%s", ghost);
        (void)snprintf(d->moves[d->nmoves - 1].was, sizeof(ghost), "%s", path);
    }
    return unlock(io, lives ? store_io_system.unlink(io, path) : -EIO);
}

static int disk_mkdir(const struct store_io *io, const char *path, mode_t mode)
{
    return unlock(io, has_power(io) ? store_io_system.mkdir(io, path, mode) : -EIO);
}

static const struct store_io DISK = {
    .open = disk_open,
    .writev = disk_writev,
    .pwrite = disk_pwrite,
    .sync = disk_sync,
    .sync_dir = disk_sync_dir,
    .truncate = disk_truncate,
    .rename = disk_rename,
    .link = disk_link,
    .unlink = disk_unlink,
    .mkdir = disk_mkdir,
};

static struct disk *lost_disk; /* for nftw, which passes no context */

static off_t random_below(off_t n)
{
    return n > 0 ? random() % n : 0;
}

static void lose_tail(const char *path, off_t safe, off_t size)
{
    off_t left = safe + random_below(size - safe + 1);
    assert_int_equal(truncate(path, left), 0);
    if (!lost_disk->leaves_zeros || random() % 3)
        return;
    off_t hole = safe + random_below(left - safe);
    assert_int_equal(truncate(path, hole), 0);
    assert_int_equal(truncate(path, left), 0);
}

static int lose_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    for (size_t i = 0; type == FTW_F && i < lost_disk->nfiles && !is_journal(path); i++) {
        const struct tracked *t = &lost_disk->files[i];
        if (t->ino == st->st_ino && st->st_size > t->safe)
            lose_tail(path, t->safe, st->st_size);
    }
    return 0;
}

/* Any of the sectors may be as they were before. */
static void lose_overwritten(const struct undo *u)
{
    int fd = open(u->path, O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < u->n; i += SECTOR) {
        size_t n = u->n - i < SECTOR ? u->n - i : SECTOR;
        if (random() % 2)
            assert_int_equal(pwrite(fd, u->bytes + i, n, u->at + (off_t)i), n);
    }
    if (fd >= 0)
        close(fd);
}

/* What was not safe is gone, wholly or in part. */
static void lose_power(struct rig *r, struct disk *d)
{
    lost_disk = d;
    (void)nftw(r->dir, lose_file, 16, FTW_PHYS);
    for (size_t i = d->nundos; i-- > 0;)
        lose_overwritten(&d->undos[i]);
    for (size_t i = d->nmoves; i-- > 0;) {
        if (random() % 2)
            continue;
        if (d->moves[i].was[0])
            (void)rename(d->moves[i].made, d->moves[i].was);
        else
            (void)unlink(d->moves[i].made);
    }
    for (size_t i = 0; i < d->nundos; i++)
        free(d->undos[i].bytes);
    d->nundos = 0;
}

struct told {
    bool is_created, is_deleted;
    int acked; /* events 0 .. acked-1 */
    int sent;
};

#define PROMPT STR("a prompt")

/* Event 0 names a shared blob. */
static void share(struct rig *r, struct told *t)
{
    char hex[SHA256_HEX_LEN + 1], line[160];
    sha256_hex(PROMPT, hex);
    if (RIG_CALL(r, store_put_shared(r->store, STR(ID), PROMPT, str_from(hex), rig_on_blob, r)) < 0)
        return;
    (void)snprintf(line, sizeof(line),
                   "{\"type\":\"llm.request\",\"n\":0,\"x\":\"\",\"system\":\"%s\"}", hex);
    t->sent++;
    t->acked += rig_append(r, ID, line) == 0;
    store_release_shared(r->store, str_from(hex));
}

static void play(struct rig *r, struct told *t)
{
    t->is_created = rig_create(r, ID, "usr_a") == 0;
    share(r, t);
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
    bool has_prompt = r->page.n > 0 && str_find(r->page.events[0].line, STR("llm.request"), 0) > 0;
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(PROMPT, hex);
    if (has_prompt &&
        RIG_CALL(r, store_get_shared(r->store, STR(ID), str_from(hex), rig_on_blob, r)) < 0)
        fail_msg("round %d: the prompt is lost", round);
    assert_int_equal(rig_append(r, ID, "{\"type\":\"after\"}"), 0);
}

static struct disk *disk_new(int dies_at)
{
    struct disk *d = xcalloc(1, sizeof(*d));
    d->io = DISK;
    d->io.ctx = d;
    d->dies_at = dies_at;
    pthread_mutex_init(&d->lock, NULL);
    return d;
}

static void disk_free(struct disk *d)
{
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static const struct appender_conf CONF[] = {
    {.threads = 4},
    {.threads = 4, .journal_after = 1, .journal_bytes = HALF_BYTES},
};

static struct rig *begin(struct disk *d, bool is_journalled)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    struct appender_conf conf = CONF[is_journalled];
    int dies_at = d->dies_at;
    conf.io = &d->io;
    d->dies_at = -1;
    rig_init_with(r, "jsonl", &conf);
    d->calls = 0;
    d->dies_at = dies_at;
    return r;
}

/* Everything stops, and a new process looks at what is left. Returns the calls so far. */
static int lose_and_reopen(struct rig *r, struct disk *d)
{
    pthread_mutex_lock(&d->lock);
    int calls = d->calls;
    d->is_dead = true;
    pthread_mutex_unlock(&d->lock);
    rig_close_store(r);
    appender_free(r->appender);
    lose_power(r, d);
    r->appender = r->env.appender = appender_new(r->loop, 2);
    rig_open_store(r, "jsonl");
    return calls;
}

static int run_round(bool is_journalled, int dies_at, int round)
{
    struct disk *d = disk_new(dies_at);
    struct rig *r = begin(d, is_journalled);
    struct told t = {0};
    play(r, &t);
    int calls = lose_and_reopen(r, d);
    check(r, &t, round);
    rig_done(r);
    free(r);
    disk_free(d);
    return calls;
}

static void lose_power_often(bool is_journalled)
{
    int calls = run_round(is_journalled, -1, -1);
    for (int i = 0; i < ROUNDS; i++)
        run_round(is_journalled, i % calls, i);
}

TEST(power_loss)
{
    lose_power_often(false);
}

TEST(power_loss_with_a_journal)
{
    lose_power_often(true);
}

/* ---- many logs that share a journal ---- */

enum { LOGS = 6, IN_FLIGHT = 2, EVENTS = 200, SHARED_ROUNDS = 80 };

struct writer {
    struct rig *rig;
    struct disk *disk;
    char id[32];
    int events, sent, acked, in_flight;
    int *open;     /* writers that are not at their end */
    bool *is_over; /* none is */
    bool has_failed, is_created;
};

static void send_next(struct writer *w);

static void on_sent(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct writer *w = ctx;
    w->in_flight--;
    w->has_failed |= err != NULL;
    if (!w->has_failed)
        w->acked++;
    if (!w->has_failed && w->sent < w->events)
        send_next(w);
    else if (w->in_flight == 0)
        *w->is_over = --*w->open == 0;
}

static void send_next(struct writer *w)
{
    char line[2300], filler[2000];
    memset(filler, 'f', sizeof(filler));
    int n = (int)random_below(random() % 8 ? 100 : (off_t)sizeof(filler));
    (void)snprintf(line, sizeof(line), "{\"type\":\"t\",\"n\":%d,\"x\":\"%.*s\"}", w->sent, n,
                   filler);
    str event = str_from(line);
    w->sent++;
    w->in_flight++;
    store_append(w->rig->store, str_from(w->id), &event, 1, on_sent, w);
}

static void write_all(struct rig *r, struct writer *writers)
{
    int open = 0;
    bool is_over = false;
    for (int i = 0; i < LOGS; i++) {
        struct writer *w = &writers[i];
        /* some end early, and stay as they are */
        *w = (struct writer){.rig = r, .events = EVENTS >> i, .open = &open, .is_over = &is_over};
        (void)snprintf(w->id, sizeof(w->id), "conv_%d", i);
        w->has_failed = rig_create(r, w->id, "usr_a") < 0;
        w->is_created = !w->has_failed;
        open += !w->has_failed;
    }
    for (int i = 0; i < LOGS * IN_FLIGHT; i++) {
        if (!writers[i % LOGS].has_failed)
            send_next(&writers[i % LOGS]);
    }
    assert_true(open == 0 || loop_run_until(r->loop, &is_over, RIG_WAIT_MS));
}

static void check_writer(struct rig *r, const struct writer *w, int round)
{
    int last = -1, found = 0;
    if (rig_read(r, w->id, &(struct store_range){.max_events = 4096}) < 0) {
        if (w->is_created)
            fail_msg("round %d: %s is lost", round, w->id);
        return;
    }
    for (size_t i = 0; i < r->page.n; i++) {
        struct json *v;
        assert_int_equal(json_parse(&r->arena, r->page.events[i].line, 0, &v, NULL), 0);
        int n = (int)json_get_int(v, "n", -1);
        if (n <= last)
            fail_msg("round %d, %s: %d after %d", round, w->id, n, last);
        last = n;
        found += n < w->acked;
    }
    if (found < w->acked)
        fail_msg("round %d, %s: %d acknowledged, %d found", round, w->id, w->acked, found);
    assert_int_equal(rig_append(r, w->id, "{\"type\":\"after\"}"), 0);
}

static int run_shared_round(int dies_at, int round, int *restored)
{
    struct disk *d = disk_new(dies_at);
    struct rig *r = begin(d, true);
    struct writer writers[LOGS];
    d->leaves_zeros = d->is_slow = true;
    write_all(r, writers);
    int calls = lose_and_reopen(r, d);
    *restored += strstr(r->logged, "from the journal") != NULL;
    assert_null(strstr(r->logged, "do not match"));
    for (int i = 0; i < LOGS; i++)
        check_writer(r, &writers[i], round);
    char own_dir[400];
    (void)snprintf(own_dir, sizeof(own_dir), "%s/" JOURNAL_DIR, r->conv_dir);
    assert_int_equal(access(own_dir, F_OK), -1);
    rig_done(r);
    free(r);
    disk_free(d);
    return calls;
}

TEST(many_logs_and_one_journal)
{
    int restored = 0;
    int calls = run_shared_round(-1, -1, &restored);
    for (int i = 0; i < SHARED_ROUNDS; i++)
        run_shared_round((int)random_below(calls), i, &restored);
    print_message("%d calls, %d power losses, %d needed the journal\n", calls, SHARED_ROUNDS,
                  restored);
    assert_true(restored > SHARED_ROUNDS / 10);
}

/* A log that the journal has created, and that was purged. */
static int run_purged_round(int dies_at, int round, int *purged)
{
    struct disk *d = disk_new(dies_at);
    struct rig *r = begin(d, true);
    bool is_there = rig_create(r, ID, "usr_a") == 0;
    for (int i = 0; i < 20 && is_there; i++)
        is_there = rig_append(r, ID, "{\"type\":\"t\"}") == 0; /* there is a journal then */
    bool is_created = is_there && rig_create(r, "conv_new", "usr_a") == 0;
    if (is_created)
        (void)rig_append(r, "conv_new", "{\"type\":\"t\"}");
    bool is_purged = is_created && rig_delete(r, "conv_new", true) == 0;
    int calls = lose_and_reopen(r, d);
    bool is_found = rig_get(r, "conv_new") == 0;
    if (is_purged && is_found)
        fail_msg("round %d: a purged conversation is back", round);
    *purged += is_purged;
    rig_done(r);
    free(r);
    disk_free(d);
    return calls;
}

TEST(what_was_purged_stays_away)
{
    int purged = 0;
    int calls = run_purged_round(-1, -1, &purged);
    assert_int_equal(purged, 1);
    for (int i = 0; i < SHARED_ROUNDS; i++)
        run_purged_round((int)random_below(calls), i, &purged);
    for (int i = 0; i < 20; i++) /* the last calls are those of the purge */
        run_purged_round(calls - i, i, &purged);
}

int main(void)
{
    unsigned seed = (unsigned)clock_now_ms();
    print_message("seed %u\n", seed);
    srandom(seed);
    return run_unit_tests("tests", NULL);
}
