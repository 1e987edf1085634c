#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/shelf.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/doc_file.h"

#define DOC_MAX 4096

struct world {
    struct loop *loop;
    struct pool *pool;
    struct tempdir dir;
    struct doc_file *f;
    char path[128];
    int codes[16]; /* in the order of the callbacks */
    size_t n;
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 1);
    tempdir_make(&w->dir);
    snprintf(w->path, sizeof w->path, "%s/doc.json", w->dir.path);
    w->f = doc_file_open(&(struct doc_place){.pool = w->pool, .path = w->path}, DOC_MAX);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    doc_file_free(w->f);
    pool_free(w->pool);
    loop_free(w->loop);
    tempdir_drop(&w->dir);
    free(w);
    return 0;
}

static void on_changed(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->codes[w->n++] = err ? err->code : 0;
}

/* Doubles `n`, so that the order of edits can be seen. */
static int add_one(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const int64_t *by = data;
    if (*by == 0)
        return err_set(e, -EINVAL, "nothing to add");
    json_set(a, doc, STR("n"), json_of_int(2 * json_get_int(doc, "n", 0) + *by));
    return 0;
}

static struct doc_change *change(struct world *w, int64_t by)
{
    struct doc_change *c = doc_change_new();
    int64_t *data = ARENA_NEW(&c->arena, int64_t);
    *data = by;
    doc_change_start(w->f, c, add_one, data, on_changed, w);
    return c;
}

static void finish(struct world *w, size_t n) /* until so many changes have ended */
{
    bool never = false;
    while (w->n < n)
        (void)loop_run_until(w->loop, &never, 1);
}

static void reopen(struct world *w) /* what was begun is written */
{
    doc_file_free(w->f);
    pool_free(w->pool);
    w->pool = pool_new(w->loop, "test", 1);
    w->f = doc_file_open(&(struct doc_place){.pool = w->pool, .path = w->path}, DOC_MAX);
}

static int64_t value(struct world *w)
{
    return json_get_int(doc_file_root(w->f), "n", 0);
}

TEST_WITH(changes_are_made_in_their_order_and_each_sees_the_one_before, set_up, tear_down)
{
    struct world *w = *state;
    change(w, 1);
    change(w, 0);
    change(w, 3);
    assert_int_equal(w->n, 0);
    assert_int_equal(value(w), 0); /* not before it is on disk */
    finish(w, 3);
    assert_int_equal(w->codes[0], 0);
    assert_int_equal(w->codes[1], -EINVAL);
    assert_int_equal(w->codes[2], 0);
    assert_int_equal(value(w), 5);
    reopen(w);
    assert_int_equal(value(w), 5);
}

TEST_WITH(a_change_of_somebody_who_left_is_still_made, set_up, tear_down)
{
    struct world *w = *state;
    doc_change_forget(change(w, 1));
    change(w, 1);
    reopen(w); /* nobody is called after doc_file_free */
    assert_int_equal(w->n, 0);
    assert_int_equal(value(w), 3);
}

static int fill(void *data, struct arena *a, struct json *doc, struct err *e)
{
    char *text = arena_alloc(a, DOC_MAX);
    memset(text, 'x', DOC_MAX);
    json_set(a, doc, STR("text"), json_of_str(str_make(text, DOC_MAX)));
    return 0;
}

TEST_WITH(a_change_that_cannot_be_written_has_not_happened, set_up, tear_down)
{
    struct world *w = *state;
    change(w, 1);
    doc_change_start(w->f, doc_change_new(), fill, NULL, on_changed, w);
    finish(w, 2);
    assert_int_equal(w->codes[1], -EPERM);
    assert_null(json_get(doc_file_root(w->f), "text"));
    assert_int_equal(unlink(w->path), 0);
    assert_int_equal(mkdir(w->path, 0700), 0); /* cannot be replaced by a file */
    change(w, 1);
    finish(w, 3);
    assert_true(w->codes[2] < 0);
    assert_int_equal(value(w), 1);
    assert_int_equal(rmdir(w->path), 0);
}

TEST_WITH(a_file_that_cannot_be_read_is_not_overwritten, set_up, tear_down)
{
    static const char *const TEXTS[] = {"", "[]", "{\"n\":7", "{\"n\":1,\"n\":2}"};
    struct world *w = *state;
    struct arena a;
    str text;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        assert_int_equal(file_write_atomic(w->path, str_from(TEXTS[i]), 0600, NULL), 0);
        reopen(w);
        assert_int_equal(value(w), 0);
        w->n = 0;
        change(w, 1);
        finish(w, 1);
        assert_int_equal(w->codes[0], -EIO);
        assert_int_equal(file_read(&a, w->path, 100, &text, NULL), 0);
        assert_true(str_eq(text, str_from(TEXTS[i])));
    }
    arena_done(&a);
}

TEST_WITH(with_other_servers_a_change_is_made_on_what_the_table_has, set_up, tear_down)
{
    struct world *w = *state;
    struct shelf shelf;
    shelf_init(&shelf);
    doc_file_free(w->f);
    const struct doc_place at = {.pool = w->pool,
                                 .path = w->path,
                                 .table = &shelf.table,
                                 .workspace_id = STR("ws_a"),
                                 .name = STR("doc.json")};
    w->f = doc_file_open(&at, DOC_MAX);
    change(w, 1);
    finish(w, 1);
    assert_true(str_eq(shelf.rows[0].bytes, STR("{\"n\":1}")));
    assert_false(file_exists(w->path));      /* the mirror writes it */
    shelf.rows[0].bytes = STR("{\"n\":10}"); /* another server, whose change is not here yet */
    change(w, 1);
    finish(w, 2);
    assert_int_equal(value(w), 21);
    assert_int_equal(w->codes[0] | w->codes[1], 0);
    shelf.fails = -EHOSTUNREACH;
    change(w, 1);
    finish(w, 3);
    assert_int_equal(w->codes[2], -ENOTCONN);
    assert_int_equal(value(w), 21);
    shelf.fails = 0;
    shelf.rows[0].bytes = STR("no JSON");
    change(w, 1);
    finish(w, 4);
    assert_true(w->codes[3] < 0);
    doc_file_free(w->f);
    w->f = NULL;
    arena_done(&shelf.arena);
}

/* Behind a reading: a change that fails and leaves everything as it is. */
static void change_in_vain(struct world *w, size_t n)
{
    doc_change_start(w->f, doc_change_new(), fill, NULL, on_changed, w);
    finish(w, n);
    assert_true(w->codes[n - 1] < 0);
}

TEST_WITH(with_other_servers_the_table_is_read_and_without_it_the_file, set_up, tear_down)
{
    struct world *w = *state;
    struct shelf shelf;
    shelf_init(&shelf);
    doc_file_free(w->f);
    w->f = doc_file_open(&(struct doc_place){.pool = w->pool,
                                             .path = w->path,
                                             .table = &shelf.table,
                                             .workspace_id = STR("ws_a"),
                                             .name = STR("doc.json")},
                         DOC_MAX);
    change(w, 1);
    finish(w, 1);
    /* The mirror has written what it read before the change: that is not taken. */
    assert_int_equal(file_write_atomic(w->path, STR("{\"n\":5}"), 0600, NULL), 0);
    doc_file_reload(w->f);
    change_in_vain(w, 2);
    assert_int_equal(value(w), 1);
    shelf.rows[0].bytes = STR("{\"n\":30}"); /* another server */
    doc_file_reload(w->f);
    change_in_vain(w, 3);
    assert_int_equal(value(w), 30);
    change(w, 1);
    finish(w, 4);
    assert_int_equal(value(w), 61);
    shelf.rows[0].bytes = STR("{\"n\":30}"); /* the same as before is news again */
    doc_file_reload(w->f);
    change_in_vain(w, 5);
    assert_int_equal(value(w), 30);
    shelf.fails = -EHOSTUNREACH;
    doc_file_reload(w->f);
    change_in_vain(w, 6);
    assert_int_equal(value(w), 5);
    assert_int_equal(file_write_atomic(w->path, STR("{"), 0600, NULL), 0);
    doc_file_reload(w->f);
    change_in_vain(w, 7);
    assert_int_equal(value(w), 5);
    /* A reading that is asked for during a change follows it, also when the change fails. */
    assert_int_equal(file_write_atomic(w->path, STR("{\"n\":6}"), 0600, NULL), 0);
    doc_change_start(w->f, doc_change_new(), fill, NULL, on_changed, w);
    doc_file_reload(w->f);
    finish(w, 8);
    change_in_vain(w, 9);
    assert_int_equal(value(w), 6);
    doc_file_free(w->f);
    w->f = NULL;
    arena_done(&shelf.arena);
}
