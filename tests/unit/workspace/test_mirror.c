#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/file.h"
#include "support/shelf.h"
#include "workspace/mirror.h"

struct two_servers {
    struct shelf shelf;
    char dir[2][40];
    struct mirror *mirror[2];
    struct arena arena;
};

static void open_mirror(struct two_servers *w, int i)
{
    const struct mirror_conf conf = {.table = &w->shelf.table,
                                     .root = w->dir[i],
                                     .workspace_id = STR("ws_a"),
                                     .has_settings = true};
    mirror_free(w->mirror[i]);
    w->mirror[i] = mirror_new(&conf);
}

static int set_up(void **state)
{
    struct two_servers *w = xcalloc(1, sizeof *w);
    shelf_init(&w->shelf);
    arena_init(&w->arena);
    for (int i = 0; i < 2; i++) {
        snprintf(w->dir[i], sizeof w->dir[i], "/tmp/nb-mirror-XXXXXX");
        assert_non_null(mkdtemp(w->dir[i]));
        open_mirror(w, i);
    }
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct two_servers *w = *state;
    for (int i = 0; i < 2; i++) {
        mirror_free(w->mirror[i]);
        assert_int_equal(dir_remove_tree(AT_FDCWD, w->dir[i], 10), 0);
    }
    arena_done(&w->shelf.arena);
    arena_done(&w->arena);
    free(w);
    return 0;
}

static const char *at(struct two_servers *w, int i, const char *name)
{
    return arena_printf(&w->arena, "%s/%s", w->dir[i], name).p;
}

static void put(struct two_servers *w, int i, const char *name, const char *text)
{
    const char *path = at(w, i, name);
    str parent = str_slice(str_from(path), 0, (size_t)str_rfind_char(str_from(path), '/'));
    assert_int_equal(file_make_dirs(arena_cstr(&w->arena, parent), NULL), 0);
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static const char *get(struct two_servers *w, int i, const char *name)
{
    str text;
    return file_read(&w->arena, at(w, i, name), 1 << 20, &text, NULL) < 0 ? NULL : text.p;
}

static bool sync_one(struct two_servers *w, int i)
{
    bool has_changed;
    struct err e = {0};
    int r = mirror_sync(w->mirror[i], &has_changed, &e);
    if (r < 0)
        fail_msg("%s", e.msg);
    return has_changed;
}

static size_t files_below(struct two_servers *w, int i, const char *name)
{
    size_t n = 0;
    DIR_EACH (d, at(w, i, name))
        n++;
    return n;
}

TEST_WITH(files_of_one_server_come_to_the_other_and_back, set_up, tear_down)
{
    struct two_servers *w = *state;
    put(w, 0, "workspace.json", "{\"name\":\"a\"}");
    put(w, 0, "skills/heron/SKILL.md", "stand still");
    put(w, 0, "skills/heron/scripts/run", "#!/bin/sh\n");
    put(w, 0, "people/usr_ann/skills/own.md", "mine");
    put(w, 0, "credentials/app.json", "sealed");
    assert_false(sync_one(w, 0)); /* nothing has changed there */
    assert_true(sync_one(w, 1));
    assert_string_equal(get(w, 1, "skills/heron/SKILL.md"), "stand still");
    assert_string_equal(get(w, 1, "people/usr_ann/skills/own.md"), "mine");
    assert_string_equal(get(w, 1, "credentials/app.json"), "sealed");
    assert_int_equal(access(at(w, 1, "skills/heron/scripts/run"), X_OK), 0);
    put(w, 1, "workspace.json", "{\"name\":\"b\"}");
    assert_int_equal(unlink(at(w, 1, "skills/heron/SKILL.md")), 0);
    assert_false(sync_one(w, 1));
    assert_true(sync_one(w, 0));
    assert_string_equal(get(w, 0, "workspace.json"), "{\"name\":\"b\"}");
    assert_null(get(w, 0, "skills/heron/SKILL.md"));
    /* Nothing is under way any more. */
    int64_t generation = w->shelf.generation;
    for (int i = 0; i < 2; i++)
        assert_false(sync_one(w, i));
    assert_int_equal(w->shelf.generation, generation);
}

TEST_WITH(what_was_changed_while_a_server_was_down_is_told_afterwards, set_up, tear_down)
{
    struct two_servers *w = *state;
    put(w, 0, "skills/a.md", "one");
    put(w, 0, "skills/b.md", "one");
    sync_one(w, 0);
    sync_one(w, 1);
    put(w, 1, "skills/a.md", "two");
    sync_one(w, 1);
    put(w, 0, "skills/b.md", "three"); /* by hand, while it is down */
    open_mirror(w, 0);
    sync_one(w, 0);
    sync_one(w, 1);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(get(w, i, "skills/a.md"), "two");
        assert_string_equal(get(w, i, "skills/b.md"), "three");
    }
    /* Without its notes, and with an old file: the documents win, the file is kept. */
    assert_int_equal(unlink(at(w, 0, ".shared.json")), 0);
    put(w, 0, "skills/a.md", "old");
    open_mirror(w, 0);
    sync_one(w, 0);
    assert_string_equal(get(w, 0, "skills/a.md"), "two");
    assert_int_equal(files_below(w, 0, "shared-conflicts"), 1);
}

TEST_WITH(two_changes_at_the_same_time_lose_nothing_silently, set_up, tear_down)
{
    struct two_servers *w = *state;
    put(w, 0, "workspace.json", "{}");
    sync_one(w, 0);
    sync_one(w, 1);
    put(w, 0, "workspace.json", "{\"a\":1}");
    put(w, 1, "workspace.json", "{\"b\":1}");
    sync_one(w, 0);
    sync_one(w, 1); /* later: that of the first counts */
    assert_string_equal(get(w, 1, "workspace.json"), "{\"a\":1}");
    assert_int_equal(files_below(w, 1, "shared-conflicts"), 1);
    assert_int_equal(files_below(w, 0, "shared-conflicts"), 0);
}

TEST_WITH(names_that_lead_elsewhere_are_not_followed, set_up, tear_down)
{
    static const char *const BAD[] = {
        "../evil",   "skills/../../evil", "skills/.hidden",       "/etc/evil",
        "skills//x", "users/x.json",      "people/usr_a/other/x", "skills/a/b/c/d/e/f/g/h/i/j",
        "skills"};
    struct two_servers *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        w->shelf.rows[w->shelf.n++] = (struct shelf_row){
            .path = str_from(BAD[i]), .bytes = STR("evil"), .version = ++w->shelf.generation};
    assert_false(sync_one(w, 0));
    assert_int_equal(files_below(w, 0, "skills"), 0);
    /* Links and large files stay where they are. */
    put(w, 0, "secret", "secret");
    put(w, 0, "skills/ok.md", "ok");
    assert_int_equal(symlink(at(w, 0, "secret"), at(w, 0, "skills/link.md")), 0);
    size_t before = w->shelf.n;
    sync_one(w, 0);
    assert_int_equal(w->shelf.n, before + 1);
}

TEST_WITH(a_table_that_cannot_be_reached_changes_nothing, set_up, tear_down)
{
    struct two_servers *w = *state;
    bool has_changed;
    struct err e = {0};
    put(w, 0, "skills/a.md", "one");
    w->shelf.fails = -EHOSTUNREACH;
    assert_int_equal(mirror_sync(w->mirror[0], &has_changed, &e), -EHOSTUNREACH);
    assert_string_equal(get(w, 0, "skills/a.md"), "one");
    w->shelf.fails = 0;
    sync_one(w, 0);
    sync_one(w, 1);
    assert_string_equal(get(w, 1, "skills/a.md"), "one");
    /* A database that was made anew: everything is compared again. */
    w->shelf.n = 0;
    w->shelf.generation = 0;
    sync_one(w, 1);
    assert_string_equal(get(w, 1, "skills/a.md"), "one");
    assert_int_equal(w->shelf.n, 1);
}
