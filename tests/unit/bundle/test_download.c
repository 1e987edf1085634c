#include <errno.h>

#include "bundle/package/download.h"
#include "os/file.h"
#include "support/unit.h"
#include "unit/bundle/registry_rig.h"

static struct rig rig;

struct got {
    bool is_done;
    struct err err;
};

static void on_done(void *ctx, const struct err *err)
{
    struct got *g = ctx;
    assert_false(g->is_done);
    g->is_done = true;
    if (err)
        g->err = *err;
}

static struct download *start(struct got *g, const char *target, const char *path, uint64_t max)
{
    struct download_spec spec = {.pool = rig.pool,
                                 .fetcher = rig.fetcher,
                                 .url = arena_printf(&rig.arena, "%s%s", rig.url, target),
                                 .path = path,
                                 .bytes_max = max};
    return download_start(&spec, on_done, g);
}

static int get(const char *target, const char *path, uint64_t max)
{
    struct got g = {0};
    (void)start(&g, target, path, max);
    assert_true(loop_run_until(rig.loop, &g.is_done, RIG_WAIT_MS));
    return g.err.code;
}

static int setup(void **state)
{
    return rig_make(&rig);
}

static int teardown(void **state)
{
    return rig_drop(&rig);
}

TEST_WITH(the_file_is_what_was_sent, setup, teardown)
{
    enum { SIZE = 3 * 1024 * 1024 + 17 };
    char *bytes = arena_alloc(&rig.arena, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 31 >> 3);
    const char *path = rig_path(&rig, "file");
    str got;
    rig_answer(&rig, "/large", 200, str_make(bytes, SIZE));
    assert_int_equal(get("/large", path, SIZE), 0);
    assert_int_equal(file_read(&rig.arena, path, SIZE, &got, NULL), 0);
    assert_true(str_eq(got, str_make(bytes, SIZE)));
    rig_answer(&rig, "/empty", 200, STR_NONE);
    assert_int_equal(get("/empty", rig_path(&rig, "empty"), 10), 0);
    assert_true(file_exists(rig_path(&rig, "empty")));
}

TEST_WITH(what_goes_wrong_leaves_no_file, setup, teardown)
{
    const char *path = rig_path(&rig, "file");
    char *bytes = arena_zalloc(&rig.arena, 600 * 1024);
    rig_answer(&rig, "/large", 200, str_make(bytes, 600 * 1024));
    rig_answer(&rig, "/broken", 500, STR("{}"));
    assert_int_equal(get("/large", path, 1000), -EMSGSIZE);
    assert_false(file_exists(path));
    assert_int_equal(get("/large", path, 500 * 1024), -EMSGSIZE);
    assert_false(file_exists(path));
    assert_int_equal(get("/absent", path, 1000), -ENOENT);
    assert_int_equal(get("/broken", path, 1000), -EIO);
    assert_false(file_exists(path));
    assert_int_equal(get("/large", "/nonexistent/dir/file", 1 << 20), -ENOENT);
}

TEST_WITH(a_file_that_is_there_stays, setup, teardown)
{
    const char *path = rig_path(&rig, "file");
    str got;
    assert_int_equal(file_write_atomic(path, STR("mine"), 0600, NULL), 0);
    rig_answer(&rig, "/x", 200, STR("other"));
    assert_int_equal(get("/x", path, 1000), -EEXIST);
    assert_int_equal(file_read(&rig.arena, path, 100, &got, NULL), 0);
    assert_true(str_eq(got, STR("mine")));
}

TEST_WITH(it_can_be_cancelled, setup, teardown)
{
    struct got g = {0};
    const char *path = rig_path(&rig, "file");
    char *bytes = arena_zalloc(&rig.arena, 4 << 20);
    rig_answer(&rig, "/never", 0, STR_NONE);
    rig_answer(&rig, "/large", 200, str_make(bytes, 4 << 20));
    struct download *d = start(&g, "/never", path, 1000);
    download_cancel(d);
    d = start(&g, "/never", path, 1000);
    assert_false(loop_run_until(rig.loop, &g.is_done, 30));
    download_cancel(d);
    for (uint64_t ms = 0; ms < 6; ms++) { /* at whatever moment */
        g = (struct got){0};
        d = start(&g, "/large", rig_path(&rig, "other"), 8 << 20);
        if (!loop_run_until(rig.loop, &g.is_done, ms))
            download_cancel(d);
        else
            unlink(rig_path(&rig, "other"));
        g.is_done = false;
        assert_false(loop_run_until(rig.loop, &g.is_done, 30));
        assert_false(file_exists(rig_path(&rig, "other")));
    }
    assert_false(file_exists(path));
}
