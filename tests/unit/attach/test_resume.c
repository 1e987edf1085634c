#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/resume.h"
#include "attach/upload.h"
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/lock.h"
#include "support/tempdir.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000, MIB = 1 << 20 };

static struct tempdir dir;
static struct arena arena;
static struct loop *loop;
static struct pool *pool;
static struct attach *files;

static struct {
    bool is_done, has_file;
    struct err err;
    struct partial part;
    str file_id, mime;
} got;

static int begin(void **state)
{
    arena_init(&arena);
    loop = loop_new(NULL);
    pool = pool_new(loop, "test", 2);
    int r = tempdir_make(&dir);
    struct attach_conf conf = {arena_printf(&arena, "%s/files", dir.path).p, 32 * MIB, 40 * MIB};
    files = attach_new(loop, pool, &conf);
    return r;
}

static int end(void **state)
{
    attach_close(files);
    pool_free(pool);
    loop_free(loop);
    arena_done(&arena);
    return tempdir_drop(&dir);
}

static void on_partial(void *ctx, const struct err *err, const struct partial *p)
{
    got.err = err ? *err : (struct err){0};
    got.is_done = true;
    if (p)
        got.part = (struct partial){arena_str(&arena, p->id), arena_str(&arena, p->name), p->bytes,
                                    p->offset, p->expires_ms};
}

static void on_room(void *ctx) {}

static void on_done(void *ctx, const struct err *err, const struct attached *file)
{
    got.err = err ? *err : (struct err){0};
    got.is_done = true;
    got.has_file = file != NULL;
    if (file) {
        got.file_id = arena_str(&arena, file->id);
        got.mime = arena_str(&arena, file->mime);
    }
}

static const struct upload_events EVENTS = {on_room, on_done};

static int wait_for_it(void)
{
    assert_true(loop_run_until(loop, &got.is_done, PATIENCE_MS));
    return got.err.code;
}

static int start(str user_id, uint64_t bytes)
{
    memset(&got, 0, sizeof got);
    resume_begin(files, user_id, STR("../big.txt"), bytes, on_partial, NULL);
    return wait_for_it();
}

static int look(str user_id, str id)
{
    memset(&got, 0, sizeof got);
    resume_look(files, user_id, id, on_partial, NULL);
    return wait_for_it();
}

static int drop(str user_id, str id)
{
    memset(&got, 0, sizeof got);
    resume_drop(files, user_id, id, on_partial, NULL);
    return wait_for_it();
}

static int send(str user_id, str id, uint64_t offset, str bytes)
{
    memset(&got, 0, sizeof got);
    struct upload *u = upload_resume(files, user_id, id, offset, &EVENTS, NULL);
    if (bytes.n == 0 || upload_write(u, bytes) || !got.is_done)
        upload_finish(u);
    return wait_for_it();
}

static size_t count_parts(void)
{
    size_t n = 0;
    DIR_EACH (d, attach_conf(files)->dir)
        n += strncmp(d.name, "part_", 5) == 0;
    return n;
}

static void set_age(str id, int64_t seconds)
{
    struct timespec t[2] = {{clock_now_ms() / 1000 - seconds, 0},
                            {clock_now_ms() / 1000 - seconds, 0}};
    const char *path = partial_path(&arena, attach_conf(files)->dir, id);
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
    (void)utimensat(AT_FDCWD, arena_printf(&arena, "%s.json", path).p, t, 0);
}

TEST_WITH(a_file_that_comes_in_pieces_is_the_same_file, begin, end)
{
    char sha256[SHA256_HEX_LEN + 1];
    assert_int_equal(start(STR("usr_a"), 11), 0);
    str id = got.part.id;
    assert_true(str_eq(got.part.name, STR("big.txt")) && got.part.offset == 0);
    assert_int_equal(send(STR("usr_a"), id, 0, STR("hello ")), 0);
    assert_false(got.has_file);
    assert_int_equal(look(STR("usr_a"), id), 0);
    assert_int_equal(got.part.offset, 6);
    assert_int_equal(send(STR("usr_a"), id, 6, STR("world")), 0);
    assert_true(got.has_file && str_eq(got.mime, STR("text/plain")));
    sha256_hex(STR("hello world"), sha256);
    assert_true(str_eq(str_skip(got.file_id, 5), str_from(sha256)));
    assert_int_equal(count_parts(), 0);
    assert_int_equal(look(STR("usr_a"), id), -ENOENT);
    assert_int_equal(send(STR("usr_a"), id, 11, STR_NONE), -ENOENT);
}

TEST_WITH(a_large_one_is_hashed_in_steps_and_counted_once, begin, end)
{
    enum { BYTES = 20 * MIB };
    char sha256[SHA256_HEX_LEN + 1];
    struct err e = {0};
    char *bytes = arena_alloc(&arena, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)(i * 7 >> 3);
    assert_int_equal(start(STR("usr_a"), BYTES), 0);
    assert_int_equal(upload_check(files, 21 * MIB, &e), -EDQUOT); /* before the first byte */
    str id = got.part.id;
    assert_int_equal(send(STR("usr_a"), id, 0, str_make(bytes, 13 * MIB)), 0);
    assert_int_equal(send(STR("usr_a"), id, 13 * MIB, str_make(bytes + 13 * MIB, 7 * MIB)), 0);
    assert_true(got.has_file);
    sha256_hex(str_make(bytes, BYTES), sha256);
    assert_true(str_eq(str_skip(got.file_id, 5), str_from(sha256)));
    assert_int_equal(upload_check(files, 20 * MIB, &e), 0);
    assert_int_equal(upload_check(files, 21 * MIB, &e), -EDQUOT);
}

TEST_WITH(a_wrong_offset_changes_nothing, begin, end)
{
    assert_int_equal(start(STR("usr_a"), 10), 0);
    str id = got.part.id;
    assert_int_equal(send(STR("usr_a"), id, 0, STR("1234")), 0);
    assert_int_equal(send(STR("usr_a"), id, 0, STR("xxxx")), -ESTALE);
    assert_int_equal(send(STR("usr_a"), id, 5, STR("xxxx")), -ESTALE);
    assert_int_equal(send(STR("usr_a"), id, UINT64_MAX, STR("xxxx")), -ESTALE);
    assert_int_equal(send(STR("usr_a"), id, 4, STR("1234567")), -EFBIG);
    assert_int_equal(look(STR("usr_a"), id), 0);
    assert_int_equal(got.part.offset, 4);
}

TEST_WITH(an_upload_belongs_to_one_person, begin, end)
{
    static const char *const IDS[] = {"part_0000000000000000", "part_", "", "part_../../../../etc/",
                                      "new_00000000000000000"};
    assert_int_equal(start(STR("usr_a"), 4), 0);
    str id = got.part.id;
    assert_int_equal(send(STR("usr_b"), id, 0, STR("evil")), -ENOENT);
    assert_int_equal(look(STR("usr_b"), id), -ENOENT);
    assert_int_equal(drop(STR("usr_b"), id), -ENOENT);
    for (size_t i = 0; i < ARRAY_LEN(IDS); i++)
        assert_int_equal(look(STR("usr_a"), str_from(IDS[i])), -ENOENT);
    assert_int_equal(drop(STR("usr_a"), id), 0);
    assert_int_equal(drop(STR("usr_a"), id), -ENOENT);
    assert_int_equal(count_parts(), 0);
}

TEST_WITH(there_is_one_writer, begin, end)
{
    int fd = -1;
    struct partial p;
    struct err e = {0};
    const char *path = attach_conf(files)->dir;
    assert_int_equal(start(STR("usr_a"), 4), 0);
    str id = got.part.id;
    assert_int_equal(partial_open(&arena, path, STR("usr_a"), id, 0, &p, &fd, &e), 0);
    assert_int_equal(send(STR("usr_a"), id, 0, STR("1234")), -EBUSY);
    assert_int_equal(drop(STR("usr_a"), id), -EBUSY);
    set_age(id, 2 * PARTIAL_KEEP_MS / 1000);
    (void)partial_sweep(path, clock_now_ms());
    assert_int_equal(count_parts(), 2); /* even an expired one is left to its writer */
    lock_close(fd);
}

TEST_WITH(a_writer_that_goes_away_leaves_what_it_wrote, begin, end)
{
    static char piece[2 * UPLOAD_BUFFER];
    assert_int_equal(start(STR("usr_a"), 2 * sizeof piece), 0);
    str id = got.part.id;
    struct upload *u = upload_resume(files, STR("usr_a"), id, 0, &EVENTS, NULL);
    (void)upload_write(u, str_make(piece, sizeof piece));
    upload_cancel(u);
    do /* the writer still has the lock for a moment */
        assert_int_equal(look(STR("usr_a"), id), 0);
    while (got.part.offset < sizeof piece);
    while (send(STR("usr_a"), id, sizeof piece, str_make(piece, sizeof piece)) == -EBUSY)
        ;
    assert_true(got.has_file);
}

TEST_WITH(an_upload_expires, begin, end)
{
    struct err e = {0};
    assert_int_equal(start(STR("usr_a"), 30 * MIB), 0);
    str id = got.part.id;
    assert_int_equal(upload_check(files, 11 * MIB, &e), -EDQUOT);
    set_age(id, PARTIAL_KEEP_MS / 1000 + 60);
    assert_int_equal(look(STR("usr_a"), id), -ENOENT);
    assert_int_equal(send(STR("usr_a"), id, 0, STR("1")), -ENOENT);
    assert_int_equal(partial_sweep(attach_conf(files)->dir, clock_now_ms()), 0);
    assert_int_equal(count_parts(), 0);
}

TEST_WITH(a_person_has_a_bounded_number, begin, end)
{
    str ids[PARTIAL_MAX];
    for (size_t i = 0; i < PARTIAL_MAX; i++) {
        assert_int_equal(start(STR("usr_a"), 4 * MIB), 0);
        ids[i] = got.part.id;
        set_age(ids[i], 600 - (int64_t)i);
    }
    assert_int_equal(start(STR("usr_b"), 4 * MIB), 0); /* others are not concerned */
    assert_int_equal(start(STR("usr_b"), 5 * MIB), -EDQUOT);
    assert_int_equal(start(STR("usr_a"), 1), 0);
    assert_int_equal(look(STR("usr_a"), ids[0]), -ENOENT);
    assert_int_equal(look(STR("usr_a"), ids[1]), 0);
    assert_int_equal(start(STR("usr_b"), 4 * MIB - 1), 0); /* what it had reserved is free */
    assert_int_equal(count_parts(), 2 * (PARTIAL_MAX + 2));
}

TEST_WITH(an_announced_size_has_ceilings, begin, end)
{
    assert_int_equal(start(STR("usr_a"), 33 * MIB), -EFBIG);
    assert_int_equal(start(STR("usr_a"), UINT64_MAX), -EFBIG);
    assert_int_equal(start(STR("usr_a"), 32 * MIB), 0);
    assert_int_equal(start(STR("usr_a"), 9 * MIB), -EDQUOT);
    assert_int_equal(count_parts(), 2);
}

TEST_WITH(a_disk_that_refuses_keeps_nothing, begin, end)
{
    assert_int_equal(file_write_atomic(attach_conf(files)->dir, STR("x"), 0600, NULL), 0);
    assert_true(start(STR("usr_a"), 4) < 0);
    struct err e = {0};
    assert_int_equal(upload_check(files, 32 * MIB, &e), 0);
}
