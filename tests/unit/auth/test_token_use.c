#include <sys/stat.h>

#include "auth/session/token_use.h"
#include "base/clock.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

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

TEST_WITH(it_is_remembered, begin, end)
{
    struct token_use *u = token_use_new(loop, NULL, dir.path);
    assert_int_equal(token_use_ms(u, STR("tok_a")), 0);
    token_use_note(u, STR("tok_a"));
    token_use_note(u, STR("tok_b"));
    token_use_forget(u, STR("tok_b"));
    token_use_forget(u, STR("tok_c"));
    int64_t ms = token_use_ms(u, STR("tok_a"));
    assert_true(ms > clock_now_ms() - 60000);
    token_use_free(u);
    u = token_use_new(loop, NULL, dir.path);
    assert_int_equal(token_use_ms(u, STR("tok_a")), ms);
    assert_int_equal(token_use_ms(u, STR("tok_b")), 0);
    token_use_free(u);

    struct arena a;
    struct stat st;
    char path[128];
    arena_init(&a);
    assert_int_equal(json_get_int(token_use_read(&a, dir.path), "tok_a", 0), ms);
    arena_done(&a);
    snprintf(path, sizeof path, "%s/auth/token-use.json", dir.path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST_WITH(nothing_is_written_for_nothing, begin, end)
{
    char path[128];
    token_use_free(token_use_new(loop, NULL, dir.path));
    snprintf(path, sizeof path, "%s/auth", dir.path);
    assert_false(file_exists(path));
    token_use_free(NULL);
}

TEST_WITH(a_damaged_file_is_no_file, begin, end)
{
    char path[128];
    snprintf(path, sizeof path, "%s/auth", dir.path);
    assert_int_equal(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/auth/token-use.json", dir.path);
    assert_int_equal(file_write_atomic(path, STR("{\"tok_a\":\"x\",\"tok_b\":7}"), 0600, NULL), 0);
    struct token_use *u = token_use_new(loop, NULL, dir.path);
    assert_int_equal(token_use_ms(u, STR("tok_a")), 0);
    assert_int_equal(token_use_ms(u, STR("tok_b")), 7);
    token_use_free(u);
    assert_int_equal(file_write_atomic(path, STR("["), 0600, NULL), 0);
    u = token_use_new(loop, NULL, dir.path);
    assert_int_equal(token_use_ms(u, STR("tok_b")), 0);
    token_use_free(u);
}
