#include <sys/stat.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/log.h"
#include "gateway/call_log.h"
#include "support/heap_count.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct tempdir dir;
static char path[128];

static size_t read_file(const char *name, char *out, size_t max)
{
    FILE *f = fopen(name, "re");
    if (!f)
        return 0;
    size_t n = fread(out, 1, max - 1, f);
    out[n] = 0;
    fclose(f);
    return n;
}

static void add(struct call_log *a, const char *tool, const char *outcome)
{
    struct call_log_entry e = {
        .user_id = STR("usr_a"),
        .workspace_id = STR("ws_b"),
        .tool = str_from(tool),
        .outcome = outcome,
        .took_us = 1500,
    };
    call_log_add(a, &e);
}

TEST(calls_are_written_one_line_each)
{
    char text[4096];
    bool never = false;
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 1);
    struct call_log *a = call_log_new(l, p, NULL, path);
    add(a, "x__one", "ok");
    add(a, "x__two", "cancelled");
    for (int i = 0; i < 1000 && read_file(path, text, sizeof text) == 0; i++)
        (void)loop_run_until(l, &never, 20);
    assert_true(read_file(path, text, sizeof text) > 0);
    add(a, "x__three", "ok"); /* written by the end at the latest */
    call_log_free(a);
    pool_free(p);
    assert_true(read_file(path, text, sizeof text) > 0);

    struct arena mem;
    arena_init(&mem);
    str rest = str_from(text), line;
    static const char *const TOOLS[] = {"x__one", "x__two", "x__three"};
    size_t n = 0;
    for (; str_split(&rest, '\n', &line); n++) {
        struct json *v;
        assert_int_equal(json_parse(&mem, line, 0, &v, NULL), 0);
        assert_true(str_eq(json_get_string(v, "tool"), str_from(TOOLS[n])));
        assert_true(str_eq(json_get_string(v, "user"), STR("usr_a")));
        assert_true(json_double(json_get(v, "ms"), 0) == 1.5);
    }
    assert_int_equal(n, 3);
    arena_done(&mem);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    loop_free(l);
}

/* The buffers of a burst are not kept. */
TEST(memory_of_many_calls_is_given_back)
{
    enum { MANY = 5000 };
    char burst[sizeof path + 8];
    struct stat st = {0};
    bool never = false;
    heap_count_needed();
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 1);
    snprintf(burst, sizeof burst, "%s.burst", path);
    struct call_log *a = call_log_new(l, p, NULL, burst);
    heap_count_begin();
    for (int i = 0; i < MANY; i++)
        add(a, "x__one", "ok");
    assert_true(heap_count_most() > MANY * 50);
    for (int i = 0; i < 1000 && heap_count_now() > CALL_LOG_SPARE_BYTES; i++)
        (void)loop_run_until(l, &never, 20);
    assert_in_range(heap_count_end(), 0, CALL_LOG_SPARE_BYTES);
    assert_int_equal(stat(burst, &st), 0);
    assert_true(st.st_size > MANY * 50);
    call_log_free(a);
    pool_free(p);
    loop_free(l);
}

static int gate[2];

static void wait_at_gate(struct job *j)
{
    char byte;
    (void)!read(gate[0], &byte, 1);
}

static void on_gate_passed(struct job *j) {}

TEST(a_log_that_is_freed_during_a_write_loses_no_line)
{
    char text[4096] = "";
    bool never = false;
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 1);
    struct call_log *a = call_log_new(l, p, NULL, path);
    struct job blocker = {.work = wait_at_gate, .done = on_gate_passed};
    (void)unlink(path);
    assert_int_equal(pipe(gate), 0);
    pool_submit(p, &blocker); /* the only thread is busy, so that the write stays in the queue */
    add(a, "x__first", "ok");
    (void)loop_run_until(l, &never, 2 * CALL_LOG_FLUSH_MS);
    add(a, "x__last", "ok");
    call_log_free(a);
    assert_int_equal(write(gate[1], "x", 1), 1);
    pool_free(p);
    assert_true(read_file(path, text, sizeof text) > 0);
    assert_non_null(strstr(text, "x__first"));
    assert_non_null(strstr(text, "x__last"));
    close(gate[0]);
    close(gate[1]);
    loop_free(l);
}

TEST(a_full_file_makes_room)
{
    char old[160], text[4096];
    struct loop *l = loop_new(NULL);
    struct pool *p = pool_new(l, "test", 1);
    assert_int_equal(truncate(path, CALL_LOG_FILE_MAX + 1), 0);
    struct call_log *a = call_log_new(l, p, NULL, path);
    add(a, "x__new", "ok");
    call_log_free(a);
    snprintf(old, sizeof old, "%s.1", path);
    struct stat st;
    assert_int_equal(stat(old, &st), 0);
    assert_true(st.st_size > (off_t)CALL_LOG_FILE_MAX);
    assert_true(read_file(path, text, sizeof text) < 1000);
    assert_non_null(strstr(text, "x__new"));
    pool_free(p);
    loop_free(l);
}

static int set_up(void **state)
{
    int r = tempdir_make(&dir);
    snprintf(path, sizeof path, "%s/logs/audit.jsonl", dir.path);
    return r;
}

static int tear_down(void **state)
{
    return tempdir_drop(&dir);
}

TESTS_SHARE(set_up, tear_down)
