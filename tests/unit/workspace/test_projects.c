#include <errno.h>

#include "support/shelf.h"
#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/projects.h"

struct world {
    struct loop *loop;
    struct pool *pool;
    struct tempdir dir;
    struct arena arena;
    struct projects *p;
    char path[128];
    int code;
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 1);
    arena_init(&w->arena);
    tempdir_make(&w->dir);
    snprintf(w->path, sizeof w->path, "%s/projects.json", w->dir.path);
    w->p = projects_open(&(struct doc_place){.pool = w->pool, .path = w->path});
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    projects_free(w->p);
    pool_free(w->pool);
    loop_free(w->loop);
    arena_done(&w->arena);
    tempdir_drop(&w->dir);
    free(w);
    return 0;
}

static void on_changed(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->code = err ? err->code : 0;
}

static int settle(struct world *w)
{
    bool never = false;
    while (w->code > 0)
        (void)loop_run_until(w->loop, &never, 1);
    return w->code;
}

static int change(struct world *w, struct project_edit x, bool is_new)
{
    w->code = 1;
    x.by = STR("usr_ben");
    projects_change(w->p, &x, is_new, on_changed, w);
    return settle(w);
}

static int assign(struct world *w, const char *conv, const char *project)
{
    w->code = 1;
    projects_assign(w->p, str_from(conv), str_from(project), on_changed, w);
    return settle(w);
}

static struct project_edit named(const char *id, const char *name)
{
    return (struct project_edit){.id = str_from(id), .has_name = true, .name = str_from(name)};
}

TEST_WITH(a_conversation_is_in_one_project_at_most, set_up, tear_down)
{
    struct world *w = *state;
    struct conv_project p;
    assert_int_equal(change(w, named("prj_a", " Alpha "), true), 0);
    assert_int_equal(change(w, named("prj_b", "Beta"), true), 0);
    assert_int_equal(assign(w, "conv_1", "prj_a"), 0);
    assert_int_equal(assign(w, "conv_2", "prj_a"), 0);
    assert_int_equal(assign(w, "conv_1", "prj_b"), 0);
    assert_int_equal(assign(w, "conv_3", "prj_none"), -ENOENT);
    assert_true(projects_of(w->p, STR("conv_1"), &p) && str_eq(p.name, STR("Beta")));
    assert_true(projects_of(w->p, STR("conv_2"), &p) && str_eq(p.name, STR("Alpha")));
    assert_false(projects_of(w->p, STR("conv_3"), &p));
    assert_int_equal(projects_conversations(w->p, &w->arena, STR("prj_a")).len, 1);
    assert_int_equal(projects_size(w->p, STR("prj_a")), 1);
    assert_int_equal(assign(w, "conv_3", "prj_b"), 0);
    assert_int_equal(projects_size(w->p, STR("prj_b")), 2);
    assert_int_equal(projects_size(w->p, STR("prj_none")), 0);
    assert_int_equal(assign(w, "conv_3", ""), 0);
    assert_int_equal(assign(w, "conv_2", ""), 0);
    assert_int_equal(projects_size(w->p, STR("prj_a")), 0);
    assert_false(projects_of(w->p, STR("conv_2"), &p));
    assert_false(projects_of(NULL, STR("conv_2"), &p));
}

TEST_WITH(projects_outlive_a_restart_and_their_end_leaves_the_conversations, set_up, tear_down)
{
    struct world *w = *state;
    struct conv_project p;
    str members[] = {STR("usr_cat"), STR("usr_ben")};
    struct project_edit x = named("prj_a", "Alpha");
    x.has_members = x.has_instructions = true;
    x.members = (struct json_strs){members, 2};
    x.instructions = STR("Be brief.");
    assert_int_equal(change(w, x, true), 0);
    assert_int_equal(assign(w, "conv_1", "prj_a"), 0);
    projects_free(w->p);
    w->p = projects_open(&(struct doc_place){.pool = w->pool, .path = w->path});
    assert_true(projects_of(w->p, STR("conv_1"), &p));
    assert_true(str_eq(p.instructions, STR("Be brief.")));
    assert_true(str_eq(p.instructions_by, STR("usr_ben")));
    assert_int_equal(p.members->len, 1); /* the owner is not one of them */
    x = (struct project_edit){.id = STR("prj_a"), .is_removal = true};
    assert_int_equal(change(w, x, false), 0);
    assert_int_equal(change(w, x, false), -ENOENT);
    assert_int_equal(change(w, named("prj_b", "Beta"), true), 0);
    x.id = STR("prj_b");
    assert_int_equal(change(w, x, false), 0);
    assert_false(projects_of(w->p, STR("conv_1"), &p));
    assert_int_equal(projects_count(w->p), 0);
}

TEST_WITH(projects_have_limits, set_up, tear_down)
{
    struct world *w = *state;
    char id[32], long_text[PROJECT_INSTRUCTIONS_MAX + 2];
    struct project_edit x = named("prj_a", "");
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(change(w, x, true), -EINVAL);
    x = named("prj_a", "Alpha");
    x.has_instructions = true;
    x.instructions = str_from(long_text);
    assert_int_equal(change(w, x, true), -EINVAL);
    assert_int_equal(change(w, named("prj_x", "not there"), false), -ENOENT);
    for (unsigned i = 0; i < PROJECTS_MAX; i++) {
        snprintf(id, sizeof id, "prj_%u", i);
        assert_int_equal(change(w, named(id, "n"), true), 0);
    }
    assert_int_equal(change(w, named("prj_more", "n"), true), -EPERM);
    assert_int_equal(projects_count(w->p), PROJECTS_MAX);
}

TEST_WITH(the_first_project_can_be_removed_before_it_has_conversations, set_up, tear_down)
{
    struct world *w = *state;
    struct project_edit x = {.id = STR("prj_a"), .is_removal = true};
    assert_int_equal(change(w, named("prj_a", "Alpha"), true), 0);
    assert_int_equal(projects_count(w->p), 1);
    assert_int_equal(change(w, x, false), 0);
    assert_int_equal(projects_count(w->p), 0);
}

TEST_WITH(a_purged_conversation_makes_room, set_up, tear_down)
{
    struct world *w = *state;
    char conv[32];
    struct conv_project p;
    assert_int_equal(change(w, named("prj_a", "Alpha"), true), 0);
    for (unsigned i = 0; i < PROJECT_CONVERSATIONS_MAX; i++) {
        snprintf(conv, sizeof conv, "conv_%u", i);
        assert_int_equal(assign(w, conv, "prj_a"), 0);
    }
    assert_int_equal(assign(w, "conv_more", "prj_a"), -EPERM);
    projects_forget(w->p, STR("conv_7"));
    projects_forget(w->p, STR("conv_none"));
    projects_forget(NULL, STR("conv_7"));
    assert_int_equal(assign(w, "conv_more", "prj_a"), 0);
    assert_false(projects_of(w->p, STR("conv_7"), &p));
    assert_true(projects_of(w->p, STR("conv_8"), &p));
}

TEST_WITH(a_project_has_files_up_to_a_limit, set_up, tear_down)
{
    struct world *w = *state;
    struct conv_project p;
    struct project_file f;
    char id[32];
    assert_int_equal(change(w, named("prj_a", "Alpha"), true), 0);
    for (unsigned i = 0; i < PROJECT_FILES_MAX; i++) {
        snprintf(id, sizeof id, "file_%u", i);
        struct project_edit x = {.id = STR("prj_a"),
                                 .add_file = {.id = str_from(id), .name = STR("n"), .bytes = i}};
        assert_int_equal(change(w, x, false), 0);
    }
    struct project_edit more = {.id = STR("prj_a"), .add_file = {.id = STR("file_more")}};
    struct project_edit again = {.id = STR("prj_a"), .add_file = {.id = STR("file_7")}};
    struct project_edit none = {.id = STR("prj_b"), .add_file = {.id = STR("file_7")}};
    assert_int_equal(change(w, more, false), -EPERM);
    assert_int_equal(change(w, none, false), -ENOENT);
    assert_int_equal(change(w, again, false), 0);
    assert_true(projects_find(w->p, STR("prj_a"), &p));
    assert_int_equal(project_file_count(&p), PROJECT_FILES_MAX);
    assert_true(str_eq(project_file_at(&p, 0).id, STR("file_7")));
    assert_true(project_file_find(&p, STR("file_3"), &f) && f.bytes == 3);
    assert_true(str_eq(f.by, STR("usr_ben")));
    struct project_edit less = {.id = STR("prj_a"), .remove_file = STR("file_3")};
    assert_int_equal(change(w, less, false), 0);
    assert_int_equal(change(w, more, false), 0);
    assert_true(projects_find(w->p, STR("prj_a"), &p));
    assert_false(project_file_find(&p, STR("file_3"), &f) || project_file_find(&p, STR(""), &f));
}

/* A sweep of the trash purges many: a change writes all projects, so it takes all that wait. */
TEST_WITH(conversations_that_are_purged_together_are_few_changes, set_up, tear_down)
{
    struct world *w = *state;
    char conv[32];
    bool never = false;
    struct shelf shelf;
    struct conv_project p;
    const unsigned n = 200;
    shelf_init(&shelf);
    projects_free(w->p);
    w->p = projects_open(&(struct doc_place){.pool = w->pool,
                                             .path = w->path,
                                             .table = &shelf.table,
                                             .workspace_id = STR("ws_a"),
                                             .name = STR(PROJECTS_FILE)});
    assert_int_equal(change(w, named("prj_a", "Alpha"), true), 0);
    assert_int_equal(assign(w, "conv_stays", "prj_a"), 0);
    for (unsigned i = 0; i < n; i++) {
        snprintf(conv, sizeof conv, "conv_%u", i);
        assert_int_equal(assign(w, conv, "prj_a"), 0);
    }
    int64_t before = shelf.generation;
    for (unsigned i = 0; i < n; i++) {
        snprintf(conv, sizeof conv, "conv_%u", i);
        projects_forget(w->p, str_from(conv));
    }
    while (projects_conversations(w->p, &w->arena, STR("prj_a")).len > 1)
        (void)loop_run_until(w->loop, &never, 1);
    assert_int_equal(shelf.generation - before, 2); /* the first, and those that waited for it */
    assert_true(projects_of(w->p, STR("conv_stays"), &p));
    for (unsigned i = 0; i < 2; i++) { /* what waits when it is closed is written too */
        snprintf(conv, sizeof conv, "conv_%u", i);
        assert_int_equal(assign(w, conv, "prj_a"), 0);
    }
    projects_forget(w->p, STR("conv_0"));
    projects_forget(w->p, STR("conv_1"));
    projects_free(w->p);
    w->p = NULL;
    pool_free(w->pool);
    w->pool = pool_new(w->loop, "test", 1);
    assert_true(str_find(shelf_row(&shelf, STR(PROJECTS_FILE))->bytes, STR("conv_stays"), 0) >= 0);
    assert_true(str_find(shelf_row(&shelf, STR(PROJECTS_FILE))->bytes, STR("conv_1\""), 0) < 0);
    arena_done(&shelf.arena);
}

/* The file may have been edited. Its files would be named after it. */
TEST_WITH(a_project_with_an_id_that_is_not_one_is_not_there, set_up, tear_down)
{
    struct world *w = *state;
    struct conv_project p;
    static const char *const IDS[] = {"apollo", "prj_../../x", "prj_a/b", "prj_", ""};
    for (size_t i = 0; i < ARRAY_LEN(IDS); i++) {
        assert_int_equal(change(w, named(IDS[i], "Apollo"), true), 0);
        assert_int_equal(assign(w, "conv_1", IDS[i]), 0);
        assert_false(projects_find(w->p, str_from(IDS[i]), &p));
        assert_false(projects_of(w->p, STR("conv_1"), &p));
    }
    for (size_t i = 0; i < projects_count(w->p); i++)
        assert_false(projects_at(w->p, i, &p));
}
