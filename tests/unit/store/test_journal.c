/* The journal as a file: what counts as a batch, and what never does. */
#include <sys/file.h>

#include "journal_rig.h"

#define LOG "conv_a.jsonl"

static int setup(void **state)
{
    *state = journal_rig_new();
    return 0;
}

static int teardown(void **state)
{
    journal_rig_free(*state);
    return 0;
}

struct seen {
    char text[4096]; /* "<name>@<offset>=<bytes> " of each record */
    uint64_t inode;
};

static void see(void *ctx, const struct journal_record *r)
{
    struct seen *s = ctx;
    size_t n = strlen(s->text);
    (void)snprintf(s->text + n, sizeof(s->text) - n, "%.*s@%llu=%.*s ", STR_ARG(r->name),
                   (unsigned long long)r->offset, STR_ARG(r->bytes));
    s->inode = r->inode;
}

static void expect(struct journal_rig *t, int half, const char *text)
{
    struct seen s = {0};
    journal_parse(journal_rig_half(t, half), see, &s);
    assert_string_equal(s.text, text);
}

TEST_WITH(file, setup, teardown)
{
    struct journal_rig *t = *state;
    struct stat st;
    assert_int_equal(stat(t->journal.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, 2 * HALF);
    int fd = open(t->journal.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    close(fd);
    journal_rig_load(t);
    assert_int_equal(journal_generation(journal_rig_half(t, 0)), 0);
    expect(t, 0, "");
    char own_dir[128];
    (void)snprintf(own_dir, sizeof(own_dir), "%s/" JOURNAL_DIR, t->dir);
    struct journal other;
    assert_int_equal(journal_open(&other, &store_io_system, t->dir, HALF, NULL), 0);
    assert_int_equal(journal_remove(&other), 0);
    assert_int_equal(access(t->journal.path, F_OK), 0);
    assert_int_equal(journal_remove(&t->journal), 0);
    assert_int_equal(access(own_dir, F_OK), -1);
}

TEST_WITH(batches_come_back, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_begin(&t->journal);
    journal_add(&t->journal, STR(LOG), 7, 100, 4);
    journal_add_bytes(&t->journal, STR("a\n"));
    journal_add_bytes(&t->journal, STR("b\n"));
    journal_add(&t->journal, STR("conv_b.jsonl"), 8, 0, 2);
    journal_add_bytes(&t->journal, STR("c\n"));
    assert_int_equal(journal_commit(&t->journal), 0);
    assert_int_equal(journal_rig_write(t, LOG, 7, 104, STR("d\n")), 0);
    journal_rig_load(t);
    expect(t, 0, LOG "@100=a\nb\n conv_b.jsonl@0=c\n " LOG "@104=d\n ");
    expect(t, 1, "");
}

TEST_WITH(an_old_generation_does_not_count, setup, teardown)
{
    struct journal_rig *t = *state;
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(journal_rig_write(t, LOG, 7, i, STR("x")), 0);
    journal_switch(&t->journal);
    assert_int_equal(journal_rig_write(t, LOG, 7, 3, STR("x")), 0);
    journal_rig_load(t);
    expect(t, 0, LOG "@0=x " LOG "@1=x " LOG "@2=x ");
    assert_true(journal_generation(journal_rig_half(t, 0)) <
                journal_generation(journal_rig_half(t, 1)));
    journal_switch(&t->journal);
    assert_int_equal(journal_rig_write(t, LOG, 7, 4, STR("y")), 0);
    journal_rig_load(t);
    expect(t, 0, LOG "@4=y ");
    expect(t, 1, LOG "@3=x ");
    assert_true(journal_generation(journal_rig_half(t, 0)) >
                journal_generation(journal_rig_half(t, 1)));
}

/* Any bit of a batch that is not as it was written makes it not count, nor what is behind it. */
TEST_WITH(a_damaged_batch_ends_it, setup, teardown)
{
    struct journal_rig *t = *state;
    assert_int_equal(journal_rig_write(t, LOG, 7, 0, STR("one")), 0);
    size_t at = t->journal.used,
           n = sizeof(struct journal_head) + sizeof(struct journal_record_head) + strlen(LOG) + 3;
    assert_int_equal(journal_rig_write(t, LOG, 7, 3, STR("two")), 0);
    assert_int_equal(journal_rig_write(t, LOG, 7, 6, STR("three")), 0);
    journal_rig_load(t);
    expect(t, 0, LOG "@0=one " LOG "@3=two " LOG "@6=three ");
    for (size_t i = 0; i < n; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            t->file[at + i] = (char)(t->file[at + i] ^ 1 << bit);
            expect(t, 0, LOG "@0=one ");
            t->file[at + i] = (char)(t->file[at + i] ^ 1 << bit);
        }
    }
    for (size_t i = 1; i < n; i++) { /* the rest of it never reached the disk */
        memset(t->file + at + n - i, 0, i);
        expect(t, 0, LOG "@0=one ");
    }
}

TEST_WITH(what_does_not_fit_is_not_written, setup, teardown)
{
    struct journal_rig *t = *state;
    char *big = xcalloc(1, HALF);
    memset(big, 'x', HALF);
    assert_int_equal(journal_rig_write(t, LOG, 7, 0, str_make(big, HALF)), -ENOBUFS);
    for (uint64_t i = 0; i < HALF / JOURNAL_BLOCK; i++)
        assert_int_equal(journal_rig_write(t, LOG, 7, i, STR("x")), 0);
    assert_int_equal(journal_room(&t->journal), 0);
    assert_int_equal(journal_rig_write(t, LOG, 7, 9, STR("x")), -ENOBUFS);
    journal_switch(&t->journal);
    size_t most = HALF - 200;
    assert_int_equal(journal_rig_write(t, LOG, 7, 4, str_make(big, most)), 0);
    journal_rig_load(t);
    expect(t, 0, LOG "@0=x " LOG "@1=x " LOG "@2=x " LOG "@3=x ");
    assert_true(journal_generation(journal_rig_half(t, 1)) > 0);
    free(big);
}

TEST_WITH(strange_records_end_it, setup, teardown)
{
    static const char *const names[] = {"",
                                        ".jsonl",
                                        "conv_a",
                                        "conv_a.jsonl.torn",
                                        "../conv_a.jsonl",
                                        "conv_a/conv_b.jsonl",
                                        "/conv_a.jsonl",
                                        "CONV_a.jsonl"};
    struct journal_rig *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        journal_switch(&t->journal);
        assert_int_equal(journal_rig_write(t, names[i], 7, 0, STR("x")), 0);
        journal_rig_load(t);
        expect(t, t->journal.half, "");
    }
    static const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        journal_switch(&t->journal);
        assert_int_equal(journal_rig_write(t, LOG, 7, offsets[i], STR("x")), 0);
        journal_rig_load(t);
        expect(t, t->journal.half, "");
    }
    journal_switch(&t->journal); /* a length beyond the batch */
    journal_begin(&t->journal);
    journal_add(&t->journal, STR(LOG), 7, 0, 4);
    journal_add_bytes(&t->journal, STR("abc"));
    assert_int_equal(journal_commit(&t->journal), 0);
    journal_rig_load(t);
    expect(t, t->journal.half, "");
}

static int fail_sync(const struct store_io *io, int fd)
{
    return -EIO;
}

TEST_WITH(failures_are_told, setup, teardown)
{
    struct journal_rig *t = *state;
    struct store_io io = store_io_system;
    io.sync = fail_sync;
    struct journal j;
    struct err e = {0};
    assert_int_equal(journal_open(&j, &io, t->dir, HALF, &e), -EIO);
    assert_non_null(strstr(e.msg, JOURNAL_DIR));
    assert_true(journal_open(&j, &store_io_system, "/proc/nothing", HALF, &e) < 0);
    t->journal.io = &io;
    assert_int_equal(journal_rig_write(t, LOG, 7, 0, STR("x")), -EIO);
    t->journal.io = &store_io_system;
}
