#include "support/unit.h"
#include "tools/registry.h"

/* A source without a single tool, in a state that the test decides on. */
struct absent {
    struct tool_source def;
    bool is_there, is_coming;
};

static const struct tool *list(void *self, size_t *ret_n)
{
    *ret_n = 0;
    return NULL;
}

static void start(void *self, struct tool_call *c)
{
    fail();
}

static void cancel(void *self, struct tool_call *c)
{
    fail();
}

static str absence(void *self, struct arena *a, bool *ret_is_coming)
{
    const struct absent *s = self;
    *ret_is_coming = s->is_coming;
    return s->is_there ? STR_NONE : arena_printf(a, "%s is away.", s->def.name);
}

static struct loop *loop;
static struct registry *registry;
static struct absent late, early;
static struct arena arena;

static int set_up(void **state)
{
    loop = loop_new(NULL);
    registry = registry_new(loop);
    arena_init(&arena);
    late = (struct absent){.def = {.name = "late",
                                   .list = list,
                                   .start = start,
                                   .cancel = cancel,
                                   .absence = absence,
                                   .self = &late}};
    early = (struct absent){
        .def = {.name = "early", .list = list, .start = start, .cancel = cancel, .self = &early}};
    assert_int_equal(registry_add_source(registry, &late.def, NULL), 0);
    assert_int_equal(registry_add_source(registry, &early.def, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    registry_free(registry);
    arena_done(&arena);
    loop_free(loop);
    return 0;
}

static void on_over(void *ctx)
{
    *(bool *)ctx = true;
}

/* Whether it is over after a turn or two of the loop. */
static bool is_over_soon(bool *is_over)
{
    return *is_over || loop_run_until(loop, is_over, 20);
}

TEST_WITH(a_missing_tool_is_explained_by_its_source, set_up, tear_down)
{
    bool is_coming = true;
    assert_true(str_eq(registry_source_of(registry, STR("late__tool")), STR("late")));
    assert_int_equal(registry_source_of(registry, STR("nobody__tool")).n, 0);
    assert_true(
        str_eq(registry_absence(registry, &arena, STR("late"), &is_coming), STR("late is away.")));
    assert_false(is_coming);
    assert_true(str_eq(registry_explain_unknown(registry, &arena, STR("late__tool"), false),
                       STR("late is away.")));
    assert_int_equal(registry_absence(registry, &arena, STR("early"), &is_coming).n, 0);
    assert_int_equal(registry_absence(registry, &arena, STR("nobody"), &is_coming).n, 0);
    late.is_there = true;
    assert_non_null(
        strstr(registry_explain_unknown(registry, &arena, STR("late__tool"), false).p, "no tool"));
}

TEST_WITH(what_is_coming_is_waited_for, set_up, tear_down)
{
    bool is_over = false;
    late.is_coming = true;
    (void)registry_await(registry, STR("late"), 60000, on_over, &is_over);
    assert_false(is_over_soon(&is_over));
    registry_changed(registry, &late.def); /* something else about it */
    registry_changed(registry, &early.def);
    assert_false(is_over_soon(&is_over));
    late.is_coming = false;
    registry_changed(registry, &late.def);
    assert_false(is_over); /* not from within the change */
    assert_true(loop_run_until(loop, &is_over, 60000));
}

TEST_WITH(a_source_that_goes_away_is_not, set_up, tear_down)
{
    bool is_over = false;
    late.is_coming = true;
    (void)registry_await(registry, STR("late"), 60000, on_over, &is_over);
    assert_false(is_over_soon(&is_over));
    registry_remove_source(registry, &late.def);
    assert_true(loop_run_until(loop, &is_over, 60000));
}

TEST_WITH(what_does_not_come_is_told_at_once_but_not_within_the_call, set_up, tear_down)
{
    bool is_over = false;
    (void)registry_await(registry, STR("late"), 60000, on_over, &is_over);
    assert_false(is_over);
    assert_true(loop_run_until(loop, &is_over, 60000));
}

TEST_WITH(waiting_has_an_end, set_up, tear_down)
{
    bool is_over = false;
    late.is_coming = true;
    (void)registry_await(registry, STR("late"), 30, on_over, &is_over);
    assert_true(loop_run_until(loop, &is_over, 60000));
}

TEST_WITH(who_cancels_hears_nothing, set_up, tear_down)
{
    bool is_over = false;
    late.is_coming = true;
    struct registry_wait *w = registry_await(registry, STR("late"), 10, on_over, &is_over);
    registry_changed(registry, &late.def);
    registry_await_cancel(w);
    assert_false(is_over_soon(&is_over));
}
