/* Replay: whatever became of a log and of its journal, what was acknowledged is there
 * afterwards, and nothing else is touched. */
#include <pthread.h>
#include <sys/file.h>

#include "journal_rig.h"
#include "store/log/replay.h"

#define LOG  "conv_a.jsonl"
#define TEXT "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"

enum { START = 8 }; /* where the journal begins: after the first line */

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

static const char *path_of(struct journal_rig *t, const char *name)
{
    static char path[400];
    (void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
    return path;
}

/* Returns its inode. */
static ino_t make_log(struct journal_rig *t, const char *name, str content)
{
    int fd = open(path_of(t, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.p, content.n), content.n);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    return st.st_ino;
}

static void expect_log(struct journal_rig *t, const char *name, const char *content)
{
    char got[4096] = {0};
    int fd = open(path_of(t, name), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, got, sizeof(got) - 1) >= 0);
    close(fd);
    assert_string_equal(got, content);
}

/* What the journal holds of a log with this inode: its second and third line. */
static void journal_text(struct journal_rig *t, ino_t ino)
{
    assert_int_equal(journal_rig_write(t, LOG, ino, START, STR("{\"n\":2}\n")), 0);
    assert_int_equal(journal_rig_write(t, LOG, ino, 2 * START, STR("{\"n\":3}\n")), 0);
}

static struct replay_report replay(struct journal_rig *t)
{
    struct replay_report report;
    struct err e = {0};
    if (replay_journals(&store_io_system, t->dir, &report, &e) < 0)
        fail_msg("%s", e.msg);
    return report;
}

/* As its owner dies. */
static struct replay_report die_and_replay(struct journal_rig *t)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s", t->journal.path);
    journal_close(&t->journal);
    struct replay_report report = replay(t);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(path_of(t, JOURNAL_DIR), F_OK), -1);
    return report;
}

TEST_WITH(without_a_journal, setup, teardown)
{
    struct journal_rig *t = *state;
    assert_int_equal(journal_remove(&t->journal), 0);
    assert_int_equal(replay(t).logs, 0);
    assert_int_equal(access(path_of(t, JOURNAL_DIR), F_OK), -1);
    struct replay_report report;
    assert_int_equal(replay_journals(&store_io_system, "/proc/nothing", &report, NULL), 0);
}

TEST_WITH(any_end_is_completed, setup, teardown)
{
    for (size_t length = START; length <= strlen(TEXT); length++) {
        struct journal_rig *t = journal_rig_new();
        journal_text(t, make_log(t, LOG, str_make(TEXT, length)));
        struct replay_report report = die_and_replay(t);
        assert_int_equal(report.logs, length < strlen(TEXT));
        assert_int_equal(report.set_aside, 0);
        expect_log(t, LOG, TEXT);
        journal_rig_free(t);
    }
}

TEST_WITH(what_came_later_stays, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, make_log(t, LOG, STR(TEXT "{\"n\":4}\n")));
    assert_int_equal(die_and_replay(t).logs, 0);
    expect_log(t, LOG, TEXT "{\"n\":4}\n");
}

TEST_WITH(blocks_that_were_not_written, setup, teardown)
{
    struct journal_rig *t = *state;
    char text[sizeof(TEXT)] = TEXT;
    memset(text + START + 3, 0, 9);
    journal_text(t, make_log(t, LOG, str_make(text, strlen(TEXT))));
    assert_int_equal(die_and_replay(t).logs, 1);
    expect_log(t, LOG, TEXT);
}

TEST_WITH(other_bytes_stay, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n{\"m\":2}\n{\"n\":3}\n")));
    struct replay_report report = die_and_replay(t);
    assert_int_equal(report.set_aside, 1);
    assert_non_null(strstr(report.example, LOG));
    expect_log(t, LOG, "{\"n\":1}\n{\"m\":2}\n{\"n\":3}\n");
    expect_log(t, LOG ".torn", "{\"n\":2}\n");
}

TEST_WITH(a_gap_is_not_bridged, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, make_log(t, LOG, STR("{\"n\"")));
    assert_int_equal(die_and_replay(t).set_aside, 2);
    expect_log(t, LOG, "{\"n\"");
    expect_log(t, LOG ".torn", "{\"n\":2}\n{\"n\":3}\n");
}

TEST_WITH(another_file_of_that_name, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, make_log(t, LOG, STR(TEXT)) + 1); /* copied from elsewhere, and whole */
    assert_int_equal(die_and_replay(t).set_aside, 0);
    expect_log(t, LOG, TEXT);
    journal_rig_free(t);
    *state = t = journal_rig_new();
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n")) + 1); /* lacks what the other had */
    assert_int_equal(die_and_replay(t).set_aside, 2);
    expect_log(t, LOG, "{\"n\":1}\n");
    expect_log(t, LOG ".torn", "{\"n\":2}\n{\"n\":3}\n");
}

TEST_WITH(a_deleted_conversation, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, 7);
    struct replay_report report = die_and_replay(t);
    assert_int_equal(report.logs + report.set_aside, 0);
    assert_int_equal(access(path_of(t, LOG), F_OK), -1);
}

/* The entry of a new log was lost with the power, or an earlier replay was interrupted. */
TEST_WITH(a_created_log_is_created_again, setup, teardown)
{
    for (int length = -1; length <= (int)strlen(TEXT); length++) {
        struct journal_rig *t = journal_rig_new();
        if (length >= 0) /* with another inode than the one in the journal */
            (void)make_log(t, LOG, str_make(TEXT, (size_t)length));
        assert_int_equal(journal_rig_write(t, LOG, 7, 0, STR("{\"n\":1}\n")), 0);
        journal_text(t, 7);
        struct replay_report report = die_and_replay(t);
        assert_int_equal(report.set_aside, 0);
        expect_log(t, LOG, TEXT);
        journal_rig_free(t);
    }
    struct journal_rig *t = *state;
    (void)make_log(t, LOG, STR("{\"m\":1}\n")); /* another conversation */
    assert_int_equal(journal_rig_write(t, LOG, 7, 0, STR("{\"n\":1}\n")), 0);
    assert_int_equal(die_and_replay(t).set_aside, 1);
    expect_log(t, LOG, "{\"m\":1}\n");
}

TEST_WITH(links_are_not_followed, setup, teardown)
{
    struct journal_rig *t = *state;
    ino_t ino = make_log(t, "elsewhere", STR("{\"n\":1}\n"));
    char target[400];
    (void)snprintf(target, sizeof(target), "%s", path_of(t, "elsewhere"));
    assert_int_equal(symlink(target, path_of(t, LOG)), 0);
    journal_text(t, ino);
    assert_int_equal(die_and_replay(t).logs, 0);
    expect_log(t, "elsewhere", "{\"n\":1}\n");
    journal_rig_free(t);
    *state = t = journal_rig_new();
    assert_int_equal(mkdir(path_of(t, LOG), 0700), 0);
    journal_text(t, 7);
    assert_int_equal(die_and_replay(t).logs, 0);
}

TEST_WITH(the_older_half_comes_first, setup, teardown)
{
    struct journal_rig *t = *state;
    ino_t ino = make_log(t, LOG, STR("{\"n\":1}\n"));
    assert_int_equal(journal_rig_write(t, LOG, 1, 0, STR("old")), 0);
    journal_switch(&t->journal);
    assert_int_equal(journal_rig_write(t, LOG, ino, START, STR("{\"n\":2}\n")), 0);
    journal_switch(&t->journal); /* over "old" */
    assert_int_equal(journal_rig_write(t, LOG, ino, 2 * START, STR("{\"n\":3}\n")), 0);
    struct replay_report report = die_and_replay(t);
    assert_int_equal(report.set_aside, 0);
    expect_log(t, LOG, TEXT);
}

TEST_WITH(a_live_owner_is_left_alone, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n")));
    assert_int_equal(replay(t).logs, 0);
    assert_int_equal(access(t->journal.path, F_OK), 0);
    expect_log(t, LOG, "{\"n\":1}\n");
}

TEST_WITH(a_log_in_use_keeps_the_journal, setup, teardown)
{
    struct journal_rig *t = *state;
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n")));
    journal_close(&t->journal);
    int fd = open(path_of(t, LOG), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(replay(t).logs, 0);
    expect_log(t, LOG, "{\"n\":1}\n");
    close(fd);
    assert_int_equal(replay(t).logs, 1);
    expect_log(t, LOG, TEXT);
}

static void *replay_in_thread(void *arg)
{
    struct replay_report report;
    int r = replay_journals(&store_io_system, arg, &report, NULL);
    return (void *)(intptr_t)(r < 0 ? r : (int)report.logs);
}

TEST_WITH(two_start_at_once, setup, teardown)
{
    enum { N = 4 };
    struct journal_rig *t = *state;
    pthread_t threads[N];
    intptr_t restored = 0;
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n")));
    journal_close(&t->journal);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, replay_in_thread, t->dir), 0);
    for (int i = 0; i < N; i++) {
        void *logs;
        pthread_join(threads[i], &logs);
        assert_true((intptr_t)logs >= 0);
        restored += (intptr_t)logs;
    }
    assert_int_equal(restored, 1);
    expect_log(t, LOG, TEXT);
}

static int full_disk(const struct store_io *io, int fd)
{
    return -ENOSPC;
}

TEST_WITH(a_failure_keeps_the_journal, setup, teardown)
{
    struct journal_rig *t = *state;
    struct store_io io = store_io_system;
    struct replay_report report;
    struct err e = {0};
    io.sync = full_disk;
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n")));
    journal_close(&t->journal);
    assert_int_equal(replay_journals(&io, t->dir, &report, &e), -ENOSPC);
    assert_non_null(strstr(e.msg, LOG));
    assert_int_equal(access(path_of(t, JOURNAL_DIR), F_OK), 0);
    assert_int_equal(replay(t).set_aside, 0);
    expect_log(t, LOG, TEXT);
}

static int refuse_log(const struct store_io *io, const char *path, int flags, mode_t mode)
{
    bool is_it = str_ends(str_from(path), STR("/" LOG));
    return is_it ? -EACCES : store_io_system.open(&store_io_system, path, flags, mode);
}

/* One log that may not be written keeps its journal, and nobody else from anything. */
TEST_WITH(an_unwritable_log_waits, setup, teardown)
{
    struct journal_rig *t = *state;
    struct store_io io = store_io_system;
    struct replay_report report;
    char path[400];
    io.open = refuse_log;
    journal_text(t, make_log(t, LOG, STR("{\"n\":1}\n")));
    ino_t other = make_log(t, "conv_b.jsonl", STR(""));
    assert_int_equal(journal_rig_write(t, "conv_b.jsonl", other, 0, STR("{\"n\":7}\n")), 0);
    (void)snprintf(path, sizeof(path), "%s", t->journal.path);
    journal_close(&t->journal);
    assert_int_equal(replay_journals(&io, t->dir, &report, NULL), 0);
    assert_int_equal(report.unwritable, 1);
    assert_non_null(strstr(report.example, LOG));
    expect_log(t, "conv_b.jsonl", "{\"n\":7}\n");
    expect_log(t, LOG, "{\"n\":1}\n");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(replay(t).logs, 1); /* now it may */
    expect_log(t, LOG, TEXT);
    assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(what_is_no_journal_is_named, setup, teardown)
{
    struct journal_rig *t = *state;
    const char *path = path_of(t, JOURNAL_DIR "/" JOURNAL_PREFIX "link");
    struct replay_report report;
    struct err e = {0};
    journal_close(&t->journal);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(replay_journals(&store_io_system, t->dir, &report, &e), -EBADMSG);
    assert_non_null(strstr(e.msg, JOURNAL_PREFIX "link is not an nb journal"));
    path = path_of(t, JOURNAL_DIR "/" JOURNAL_PREFIX "link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(replay_journals(&store_io_system, t->dir, &report, &e), -EBADMSG);
    assert_int_equal(rmdir(path), 0);
}
