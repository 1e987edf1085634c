#include <unistd.h>

#include "base/buf.h"
#include "os/file.h"
#include "runtime/queue_files.h"
#include "support/unit.h"

#define WAIT_MS 60000

struct world {
    struct loop *loop;
    struct pool *pool;
    struct queue_files p;
    char dir[32], queue[64];
    bool is_idle;
};

static void on_idle(void *ctx)
{
    struct world *w = ctx;
    w->is_idle = true;
}

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 2);
    snprintf(w->dir, sizeof w->dir, "/tmp/nb-queue-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->queue, sizeof w->queue, "%s/queue", w->dir);
    queue_files_init(&w->p, w->pool, NULL, on_idle, w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    pool_free(w->pool);
    queue_files_done(&w->p);
    loop_free(w->loop);
    (void)rmdir(w->queue);
    assert_int_equal(rmdir(w->dir), 0);
    free(w);
    return 0;
}

static void settle(struct world *w)
{
    w->is_idle = false;
    assert_true(loop_run_until(w->loop, &w->is_idle, WAIT_MS));
    assert_true(queue_files_is_idle(&w->p));
}

struct seen {
    char order[8];
    int nfailed;
};

struct caller {
    struct seen *seen;
    char name;
};

static void on_changed(void *ctx, const struct err *err)
{
    struct caller *c = ctx;
    c->seen->order[strlen(c->seen->order)] = c->name;
    c->seen->nfailed += err != NULL;
}

static void on_text(void *ctx, str path, str text)
{
    struct buf *b = ctx;
    assert_true(str_ends(path, STR(".json")));
    buf_add_str(b, text);
}

static void assert_files(struct world *w, const char *want)
{
    struct buf b;
    buf_init(&b, 1024);
    queue_files_load(&w->p, on_text, &b);
    assert_true(str_eq(buf_str(&b), str_from(want)));
    buf_done(&b);
}

TEST_WITH(changes_are_made_in_order, set_up, tear_down)
{
    struct world *w = *state;
    struct seen seen = {0};
    struct caller a = {&seen, 'a'}, b = {&seen, 'b'}, c = {&seen, 'c'};
    queue_files_use(&w->p, w->queue);
    assert_files(w, "");
    queue_files_write(&w->p, STR("msg_1"), STR("old"), on_changed, &a);
    queue_files_write(&w->p, STR("msg_2"), STR("gone"), on_changed, &b);
    queue_files_remove(&w->p, STR("msg_2"), NULL, NULL);
    queue_files_forget(queue_files_write(&w->p, STR("msg_1"), STR("new"), on_changed, &b));
    queue_files_remove(&w->p, STR("msg_2"), on_changed, &c);
    assert_string_equal(seen.order, "");
    settle(w);
    assert_string_equal(seen.order, "abc");
    assert_int_equal(seen.nfailed, 0);
    assert_files(w, "new");
    queue_files_remove(&w->p, STR("msg_1"), NULL, NULL);
    settle(w);
    assert_files(w, "");
}

TEST_WITH(what_cannot_be_written_is_told, set_up, tear_down)
{
    struct world *w = *state;
    struct seen seen = {0};
    struct caller a = {&seen, 'a'};
    struct err e = {0};
    assert_int_equal(file_write_atomic(w->queue, STR("a file"), 0600, &e), 0);
    queue_files_use(&w->p, w->queue);
    queue_files_write(&w->p, STR("msg_1"), STR("x"), on_changed, &a);
    settle(w);
    assert_int_equal(seen.nfailed, 1);
    assert_int_equal(unlink(w->queue), 0);
}

TEST_WITH(without_a_directory_nothing_is_kept, set_up, tear_down)
{
    struct world *w = *state;
    struct seen seen = {0};
    struct caller a = {&seen, 'a'};
    queue_files_write(&w->p, STR("msg_1"), STR("x"), on_changed, &a);
    settle(w);
    assert_string_equal(seen.order, "a");
    assert_int_equal(seen.nfailed, 0);
    assert_files(w, "");
}

TEST_WITH(files_that_are_none_of_ours_are_left_alone, set_up, tear_down)
{
    struct world *w = *state;
    char path[96];
    struct err e = {0};
    queue_files_use(&w->p, w->queue);
    assert_int_equal(file_make_dirs(w->queue, &e), 0);
    snprintf(path, sizeof path, "%s/msg_1.json.tmp_1", w->queue);
    assert_int_equal(file_write_atomic(path, STR("half"), 0600, &e), 0);
    assert_files(w, "");
    assert_int_equal(unlink(path), 0);
}
