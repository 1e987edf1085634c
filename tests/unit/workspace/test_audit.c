#include <sys/stat.h>

#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/audit.h"
#include "workspace/audit_read.h"

static struct tempdir dir;
static struct loop *loop;

static int begin(void **state)
{
    loop = loop_new(NULL);
    return tempdir_make(&dir);
}

static int end(void **state)
{
    loop_free(loop);
    return tempdir_drop(&dir);
}

static void record(struct audit *a)
{
    audit_record(a, &(struct audit_entry){.action = STR("login"), .outcome = STR("ok")});
}

static struct audit_report verify(struct arena *a)
{
    struct audit_report r;
    assert_int_equal(audit_verify(a, dir.path, &r, NULL), 0);
    return r;
}

TEST_WITH(end_writes_all_that_waits, begin, end)
{
    struct arena arena;
    struct audit *a = audit_new(loop, NULL, dir.path);
    for (int i = 0; i < 1000; i++)
        record(a);
    audit_free(a);
    arena_init(&arena);
    struct audit_report r = verify(&arena);
    assert_int_equal(r.nproblems, 0);
    assert_int_equal(r.records, 1000);
    arena_done(&arena);
    audit_record(NULL, &(struct audit_entry){0}); /* nobody to write is fine */
}

/* A file where the directory should be: nothing can be written until it goes. */
TEST_WITH(failure_is_shown_and_bounded, begin, end)
{
    struct arena arena;
    bool never = false;
    char path[128];
    snprintf(path, sizeof path, "%s/audit", dir.path);
    assert_int_equal(file_write_atomic(path, STR("x"), 0600, NULL), 0);
    struct audit *a = audit_new(loop, NULL, dir.path);
    record(a);
    for (int i = 0; i < 6000 && !audit_state(a).is_failing; i++)
        (void)loop_run_until(loop, &never, 10);
    assert_true(audit_state(a).is_failing);
    assert_true(audit_state(a).reason.n > 0);
    for (int i = 0; i < AUDIT_QUEUE_MAX + 5; i++)
        record(a);
    assert_int_equal(audit_state(a).waiting, AUDIT_QUEUE_MAX);
    assert_int_equal(audit_state(a).dropped, 6);

    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 6000 && audit_state(a).waiting > 0; i++)
        (void)loop_run_until(loop, &never, 10);
    assert_false(audit_state(a).is_failing);
    audit_free(a);
    arena_init(&arena);
    struct audit_page page;
    struct audit_query q = {.action = STR("audit.gap")};
    assert_int_equal(audit_read(&arena, dir.path, &q, &page, NULL), 0);
    assert_int_equal(page.n, 1);
    assert_int_equal(verify(&arena).records, AUDIT_QUEUE_MAX + 1);
    arena_done(&arena);
}
