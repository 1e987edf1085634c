#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/upload.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000 };

static struct tempdir dir;
static struct arena arena;
static struct loop *loop;
static struct pool *pool;
static struct attach *files;

static struct {
    bool is_done, has_room;
    struct err err;
    struct attached file;
    size_t n;
    int fd;
} got;

static int begin(void **state)
{
    arena_init(&arena);
    loop = loop_new(NULL);
    pool = pool_new(loop, "test", 1);
    return tempdir_make(&dir);
}

static void pass(struct job *j) {}

static bool is_swept;

static void on_passed(struct job *j)
{
    is_swept = true;
}

/* Returns after the first sweep, which would otherwise take what a case leaves without a name. The
 * pool has one thread: a job behind the sweep is done after it. */
static void open_files(uint64_t max_bytes, uint64_t quota)
{
    struct attach_conf conf = {arena_printf(&arena, "%s/files", dir.path).p, max_bytes, quota};
    struct job behind = {0};
    files = attach_new(loop, pool, &conf);
    (void)loop_run_until(loop, &(bool){false}, 1); /* the timer of the sweep */
    is_swept = false;
    pool_run(pool, &behind, pass, on_passed);
    assert_true(loop_run_until(loop, &is_swept, 60000));
}

static int end(void **state)
{
    attach_close(files);
    pool_free(pool);
    loop_free(loop);
    arena_done(&arena);
    return tempdir_drop(&dir);
}

static void keep(const struct err *err, const struct attached *file)
{
    got.err = err ? *err : (struct err){0};
    got.is_done = true;
    if (file)
        got.file = (struct attached){.id = arena_str(&arena, file->id),
                                     .name = arena_str(&arena, file->name),
                                     .mime = arena_str(&arena, file->mime),
                                     .bytes = file->bytes};
}

static void on_room(void *ctx)
{
    got.has_room = true;
}

static void on_done(void *ctx, const struct err *err, const struct attached *file)
{
    keep(err, file);
}

static const struct upload_events EVENTS = {on_room, on_done};

static struct upload *start(str user_id)
{
    memset(&got, 0, sizeof got);
    return upload_new(files, user_id, &EVENTS, NULL);
}

static void await(bool *flag)
{
    assert_true(loop_run_until(loop, flag, PATIENCE_MS));
}

static void give(str user_id, str name, str bytes)
{
    struct upload *u = start(user_id);
    upload_name(u, name);
    assert_true(upload_write(u, bytes));
    upload_finish(u);
    await(&got.is_done);
    assert_int_equal(got.err.code, 0);
}

static void on_list(void *ctx, const struct err *err, const struct attached *list, size_t n)
{
    keep(err, n > 0 && !err ? list : NULL);
    got.n = n;
}

static void on_open(void *ctx, const struct err *err, const struct attached *file, int fd)
{
    keep(err, NULL);
    got.fd = fd;
}

static void on_removed(void *ctx, const struct err *err)
{
    keep(err, NULL);
}

static size_t count_files(void)
{
    size_t n = 0;
    const char *path = arena_printf(&arena, "%s/files", dir.path).p;
    DIR_EACH (d, path) {
        if (strlen(d.name) != 2)
            n++;
        else
            DIR_EACH (e, arena_printf(&arena, "%s/%s", path, d.name).p)
                n++;
    }
    return n;
}

static void list(str user_id)
{
    got.is_done = false;
    attach_list(files, user_id, on_list, NULL);
    await(&got.is_done);
    assert_int_equal(got.err.code, 0);
}

static int remove_file(str user_id, str id)
{
    got.is_done = false;
    attach_remove(files, user_id, id, on_removed, NULL);
    await(&got.is_done);
    return got.err.code;
}

static int open_file(str user_id, str id)
{
    got.is_done = false;
    attach_open(files, user_id, id, on_open, NULL);
    await(&got.is_done);
    return got.err.code;
}

TEST_WITH(a_file_is_stored_once_and_belongs_to_those_who_gave_it, begin, end)
{
    char sha256[SHA256_HEX_LEN + 1], bytes[8] = {0};
    open_files(1 << 20, 1 << 20);
    give(STR("usr_a"), STR("../a.txt"), STR("hello\n"));
    sha256_hex(STR("hello\n"), sha256);
    assert_true(str_eq(str_skip(got.file.id, 5), str_from(sha256)));
    assert_true(str_eq(got.file.name, STR("a.txt")) && str_eq(got.file.mime, STR("text/plain")));
    str id = got.file.id;
    give(STR("usr_b"), STR("b.txt"), STR("hello\n"));
    assert_true(str_eq(got.file.id, id));
    assert_int_equal(count_files(), 3); /* the bytes, and two who gave them */
    assert_int_equal(open_file(STR("usr_c"), id), -ENOENT);
    assert_int_equal(open_file(STR("usr_b"), STR("file_../../x")), -ENOENT);
    assert_int_equal(open_file(STR("usr_b"), id), 0);
    assert_int_equal(read(got.fd, bytes, 8), 6);
    close(got.fd);
    list(STR("usr_b"));
    assert_true(got.n == 1 && str_eq(got.file.name, STR("b.txt")));
    assert_int_equal(remove_file(STR("usr_b"), id), 0);
    assert_int_equal(remove_file(STR("usr_b"), id), -ENOENT);
    assert_int_equal(open_file(STR("usr_a"), id), 0);
    close(got.fd);
    assert_int_equal(remove_file(STR("usr_a"), id), 0);
    assert_int_equal(count_files(), 0);
}

TEST_WITH(bytes_that_a_conversation_names_outlive_their_giver, begin, end)
{
    open_files(1 << 20, 1 << 20);
    give(STR("usr_a"), STR("a"), STR("kept"));
    const char *path = library_path(&arena, attach_conf(files)->dir, str_skip(got.file.id, 5));
    const char *blob = arena_printf(&arena, "%s/blob", dir.path).p;
    assert_int_equal(link(path, blob), 0);
    assert_int_equal(remove_file(STR("usr_a"), got.file.id), 0);
    assert_true(file_exists(path));
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(library_sweep(attach_conf(files)->dir, 1e15).bytes, 4);
    assert_int_equal(unlink(blob), 0);
    assert_int_equal(library_sweep(attach_conf(files)->dir, 1e15).bytes, 0);
    assert_int_equal(count_files(), 0);
}

TEST_WITH(bytes_that_a_message_named_go_with_its_conversation, begin, end)
{
    open_files(1 << 20, 1 << 20);
    give(STR("usr_a"), STR("a"), STR("named"));
    int64_t now = clock_now_ms();
    str id = got.file.id;
    const char *path = library_path(&arena, attach_conf(files)->dir, str_skip(id, 5));
    const char *blob = arena_printf(&arena, "%s/blob", dir.path).p;
    assert_int_equal(link(path, blob), 0);
    library_mark_named(&arena, attach_conf(files)->dir, str_skip(id, 5), STR("usr_a"));
    assert_int_equal(library_sweep(attach_conf(files)->dir, now).bytes, 5);
    assert_int_equal(unlink(blob), 0);
    assert_int_equal(open_file(STR("usr_a"), id), 0); /* somebody is about to use it */
    close(got.fd);
    assert_int_equal(library_sweep(attach_conf(files)->dir, now).bytes, 5);
    library_mark_named(&arena, attach_conf(files)->dir, str_skip(id, 5), STR("usr_a"));
    attach_sweep(files);
    while (file_exists(path))
        (void)loop_run_until(loop, &(bool){false}, 1);
    assert_int_equal(open_file(STR("usr_a"), id), -ENOENT);
}

TEST_WITH(a_sweep_spares_what_is_new, begin, end)
{
    open_files(1 << 20, 1 << 20);
    give(STR("usr_a"), STR("a"), STR("new"));
    assert_int_equal(library_sweep(attach_conf(files)->dir, 0).bytes, 3);
    assert_int_equal(count_files(), 2);
    assert_int_equal(library_sweep(attach_conf(files)->dir, 1e15).bytes, 0);
    assert_int_equal(count_files(), 0); /* the description as well */
}

TEST_WITH(the_writer_waits_for_the_disk, begin, end)
{
    static char piece[64 * 1024];
    open_files(64 << 20, 64 << 20);
    struct upload *u = start(STR("usr_a"));
    size_t held = 0;
    for (size_t sent = 0; sent < (32u << 20); sent += sizeof piece) {
        held += sizeof piece;
        if (upload_write(u, str_make(piece, sizeof piece)))
            continue;
        assert_true(held <= 4 * UPLOAD_BUFFER);
        got.has_room = false;
        await(&got.has_room);
        held = 0;
    }
    upload_finish(u);
    await(&got.is_done);
    assert_int_equal(got.err.code, 0);
    assert_int_equal(got.file.bytes, 32u << 20);
}

TEST_WITH(an_upload_that_is_cancelled_leaves_nothing, begin, end)
{
    static char piece[UPLOAD_BUFFER];
    open_files(1 << 20, 1 << 20);
    struct upload *u = start(STR("usr_a"));
    (void)upload_write(u, str_make(piece, sizeof piece));
    upload_cancel(u);
    u = start(STR("usr_a"));
    upload_cancel(u);
    pool_free(pool); /* waits for its jobs */
    assert_int_equal(count_files(), 0);
    pool = pool_new(loop, "test", 1);
    struct err e = {0};
    assert_int_equal(upload_check(files, 1 << 20, &e), 0); /* nothing is counted any more */
}

TEST_WITH(a_file_and_a_workspace_have_ceilings, begin, end)
{
    struct err e = {0};
    open_files(10, 15);
    assert_int_equal(upload_check(files, 11, &e), -EFBIG);
    struct upload *u = start(STR("usr_a"));
    assert_false(upload_write(u, STR("12345678901")));
    await(&got.is_done);
    assert_int_equal(got.err.code, -EFBIG);
    give(STR("usr_a"), STR("a"), STR("1234567890"));
    give(STR("usr_a"), STR("a"), STR("12345"));
    assert_int_equal(upload_check(files, 1, &e), -EDQUOT);
    u = start(STR("usr_a"));
    assert_false(upload_write(u, STR("x")));
    upload_finish(u); /* a caller with all bytes in one piece need not know that it was refused */
    await(&got.is_done);
    assert_int_equal(got.err.code, -EDQUOT);
    assert_int_equal(count_files(), 4);
    assert_int_equal(remove_file(STR("usr_a"), STR("file_x")), -ENOENT);
    list(STR("usr_a"));
    assert_int_equal(remove_file(STR("usr_a"), got.file.id), 0);
    assert_int_equal(upload_check(files, 1, &e), 0);
}

TEST_WITH(a_disk_that_refuses_is_an_error, begin, end)
{
    open_files(1 << 20, 1 << 20);
    assert_int_equal(
        file_write_atomic(arena_printf(&arena, "%s/files", dir.path).p, STR("x"), 0600, NULL), 0);
    struct upload *u = start(STR("usr_a"));
    assert_true(upload_write(u, STR("x")));
    upload_finish(u);
    await(&got.is_done);
    assert_true(got.err.code < 0);
}

static int take(str bytes, uint64_t announced)
{
    char name[] = "/tmp/nb-take-XXXXXX";
    struct stat given, later;
    int fd = mkstemp(name);
    unlink(name);
    assert_int_equal(file_write_all(fd, bytes), 0);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(fstat(fd, &given), 0);
    struct upload *u = start(STR("usr_a"));
    upload_name(u, STR("taken.txt"));
    upload_take(u, fd, announced);
    await(&got.is_done);
    /* Closed, whatever happened; another thread may have the number for another file already. */
    assert_true(fstat(fd, &later) < 0 || later.st_ino != given.st_ino);
    return got.err.code;
}

TEST_WITH(a_file_is_taken_from_a_descriptor_within_the_same_limits, begin, end)
{
    char *large = xcalloc(1, 600000);
    memset(large, 'x', 600000);
    open_files(700000, 1000000);
    assert_int_equal(take(str_make(large, 600000), 600000), 0);
    assert_true(got.file.bytes == 600000 && str_eq(got.file.name, STR("taken.txt")));
    assert_int_equal(take(STR("short"), 6), -EINVAL); /* it became shorter */
    assert_int_equal(take(STR("longer"), 4), 0);      /* it became longer: what was announced */
    assert_int_equal(got.file.bytes, 4);
    large[0] = 'y';
    assert_int_equal(take(str_make(large, 600000), 600000), -EDQUOT);
    assert_int_equal(take(str_make(large, 600000), 700001), -EFBIG);
    list(STR("usr_a"));
    assert_int_equal(got.n, 2);
    assert_int_equal(count_files(), 4); /* two files, who gave them, and nothing half-kept */
    free(large);
}
