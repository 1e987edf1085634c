/* Two databases that take turns under one name leave each other alone. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "rig.h"
#include "store/index/index_db.h"

struct place {
    struct rig rig;
    char dir[300], path[320], aside[340];
};

static int setup(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));
    rig_init(&p->rig, NULL, NULL);
    (void)snprintf(p->dir, sizeof(p->dir), "%s/cache", p->rig.dir);
    (void)snprintf(p->path, sizeof(p->path), "%s/index.db", p->dir);
    (void)snprintf(p->aside, sizeof(p->aside), "%s/aside", p->dir);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    rig_done(&p->rig);
    free(p);
    return 0;
}

static int64_t ask(struct index_db *db, const char *sql)
{
    sqlite3_stmt *st = index_db_sql(db, sql);
    int64_t n = index_db_step(db, st) > 0 ? sqlite3_column_int64(st, 0) : -1;
    sqlite3_reset(st);
    return n;
}

static void run(struct index_db *db, const char *sql)
{
    assert_int_equal(index_db_run(db, index_db_sql(db, sql)), 0);
}

static const char COUNT[] = "SELECT n FROM tally WHERE name = '*'";
static const char FIRST[] = "INSERT INTO tally VALUES('*', 10)";
static const char SECOND[] = "INSERT INTO tally VALUES('*', 77)";

static void fill(struct index_db *db, const char *sql)
{
    assert_int_equal(index_db_begin(db, true), 0);
    run(db, sql);
    assert_int_equal(index_db_commit(db), 0);
}

/* One is put aside while it is used; another is made in its place, and is being written. */
TEST_WITH(journals_are_told_apart, setup, teardown)
{
    struct place *p = *state;
    struct index_db old, fresh;
    index_db_init(&old, p->path, p->rig.dir, &p->rig.env);
    index_db_init(&fresh, p->path, p->rig.dir, &p->rig.env);
    assert_int_equal(index_db_ready(&old), 1);
    fill(&old, FIRST);
    assert_int_equal(index_db_ready(&old), 0);
    assert_int_equal(rename(p->path, p->aside), 0);

    assert_int_equal(index_db_ready(&fresh), 1);
    assert_int_equal(index_db_begin(&fresh, true), 0);
    run(&fresh, SECOND);
    assert_int_equal(ask(&old, COUNT), 10);
    assert_int_equal(index_db_commit(&fresh), 0);

    assert_int_equal(ask(&fresh, COUNT), 77);
    assert_int_equal(ask(&old, COUNT), 10);
    index_db_close(&fresh);
    index_db_close(&old);
}

static size_t files_in(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;
    assert_non_null(d);
    for (struct dirent *it; (it = readdir(d)) != NULL;)
        n += it->d_name[0] != '.';
    closedir(d);
    return n;
}

/* What a process that is killed in the middle of a write leaves behind. */
static void leave_journal(struct place *p, int64_t *ret_file)
{
    struct index_db db;
    char kept[400];
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    assert_true(index_db_ready(&db) >= 0);
    *ret_file = db.vfs.file;
    assert_int_equal(index_db_begin(&db, true), 0);
    run(&db, "INSERT OR REPLACE INTO tally VALUES('*', 77)");
    (void)snprintf(kept, sizeof(kept), "%s.kept", db.vfs.journal);
    assert_int_equal(link(db.vfs.journal, kept), 0);
    char *journal = str_dup(str_from(db.vfs.journal));
    index_db_close(&db);
    assert_int_equal(rename(kept, journal), 0);
    free(journal);
}

TEST_WITH(goes_on_after_a_crash, setup, teardown)
{
    struct place *p = *state;
    struct index_db db;
    int64_t file;
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    assert_int_equal(index_db_ready(&db), 1);
    fill(&db, FIRST);
    index_db_close(&db);
    leave_journal(p, &file);
    assert_int_equal(files_in(p->dir), 2);
    assert_int_equal(index_db_ready(&db), 1);
    assert_int_equal(ask(&db, COUNT), 10);
    assert_int_equal(files_in(p->dir), 1);
    index_db_close(&db);
}

/* ---- killed while it writes ---- */

enum { KILLS = 40, EARLY_EVERY = 4, ROWS = 300, START_MS = 60000 };

/* One byte into the pipe when its first transaction is committed. */
static void write_for_ever(struct place *p, int pipe)
{
    static const char ROW[] = "INSERT INTO shelf VALUES('*', 0, ?1, hex(randomblob(200)))";
    struct index_db db;
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    if (index_db_ready(&db) < 0)
        _exit(1);
    for (bool is_first = true;; is_first = false) {
        if (index_db_begin(&db, true) < 0)
            _exit(2);
        for (int i = 0; i < ROWS; i++) {
            sqlite3_stmt *st = index_db_sql(&db, ROW);
            sqlite3_bind_int(st, 1, i);
            if (index_db_run(&db, st) < 0)
                _exit(3);
        }
        if (index_db_commit(&db) < 0 || (is_first && write(pipe, "", 1) != 1))
            _exit(4);
    }
}

/* Kills it some time after its first commit, or (is_early) after its start. */
static bool kill_writer(struct place *p, bool is_early, unsigned after_us)
{
    const struct timespec nap = {.tv_nsec = (long)after_us * 1000};
    int status, fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        write_for_ever(p, fds[1]);
    struct pollfd first = {.fd = fds[0], .events = POLLIN};
    if (!is_early)
        assert_int_equal(poll(&first, 1, START_MS), 1);
    (void)nanosleep(&nap, NULL);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fds[0]);
    close(fds[1]);
    return WIFSIGNALED(status);
}

TEST_WITH(killed_while_it_writes, setup, teardown)
{
    static const char MISCOUNT[] = "SELECT n - (SELECT count(*) FROM shelf) FROM tally";
    static const char DAMAGE[] = "SELECT count(*) FROM pragma_integrity_check"
                                 " WHERE integrity_check <> 'ok'";
    struct place *p = *state;
    struct index_db db;
    int64_t rows = 0, birth = 0;
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    for (unsigned i = 0; i < KILLS; i++) {
        assert_true(kill_writer(p, i % EARLY_EVERY == 0, 10000 + i * 7919 % 20000));
        assert_int_equal(index_db_ready(&db), 1);
        assert_true(i == 0 || db.birth == birth); /* the database was not created again */
        birth = db.birth;
        int64_t n = ask(&db, "SELECT count(*) FROM shelf");
        assert_true(n % ROWS == 0 && n >= rows);
        assert_true(n == 0 || ask(&db, MISCOUNT) == 0);
        assert_int_equal(ask(&db, DAMAGE), 0);
        rows = n;
        index_db_close(&db);
    }
    assert_true(rows > 0);
}

/* Its number may be given to the next file: that one is none of this journal's business. */
TEST_WITH(journal_of_a_deleted_file, setup, teardown)
{
    struct place *p = *state;
    struct index_db db;
    int64_t gone;
    char journal[400];
    leave_journal(p, &gone);
    assert_int_equal(files_in(p->dir), 2);
    assert_int_equal(unlink(p->path), 0);
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    assert_int_equal(index_db_ready(&db), 1);
    (void)snprintf(journal, sizeof(journal), "%s-journal%lld", p->path, (long long)gone);
    if (db.vfs.file == gone)
        assert_int_equal(access(journal, F_OK), -1);
    fill(&db, FIRST);
    assert_int_equal(ask(&db, COUNT), 10);
    index_db_close(&db);
}

TEST_WITH(leaves_nothing_behind, setup, teardown)
{
    struct place *p = *state;
    struct index_db db;
    struct stat st;
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    assert_int_equal(index_db_ready(&db), 1);
    fill(&db, FIRST);
    assert_int_equal(index_db_begin(&db, true), 0);
    run(&db, "UPDATE tally SET n = 11");
    assert_int_equal(files_in(p->dir), 2);
    assert_int_equal(stat(db.vfs.journal, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    index_db_rollback(&db);
    assert_int_equal(ask(&db, COUNT), 10);
    assert_int_equal(files_in(p->dir), 1);
    index_db_discard(&db);
    assert_int_equal(files_in(p->dir), 0);
}

static void copy(const char *from, const char *to)
{
    struct stat st;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(in >= 0 && out >= 0);
    assert_int_equal(fstat(in, &st), 0);
    assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
    close(in);
    close(out);
}

/* A copy may have been taken while somebody was writing. */
TEST_WITH(a_copy_is_not_used, setup, teardown)
{
    struct place *p = *state;
    struct index_db db;
    index_db_init(&db, p->path, p->rig.dir, &p->rig.env);
    assert_int_equal(index_db_ready(&db), 1);
    fill(&db, FIRST);
    index_db_close(&db);
    assert_int_equal(rename(p->path, p->aside), 0);
    copy(p->aside, p->path);
    assert_int_equal(index_db_ready(&db), 1);
    assert_int_equal(ask(&db, COUNT), -1);
    index_db_close(&db);
}
