#include <errno.h>

#include "runtime/turn/turn.h"
#include "support/unit.h"

struct world {
    struct runtime rt; /* only what settings are about */
    struct arena arena;
    struct err err;
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    arena_init(&w->rt.arena);
    arena_init(&w->rt.rules);
    arena_init(&w->arena);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    arena_done(&w->rt.arena);
    arena_done(&w->rt.rules);
    arena_done(&w->arena);
    free(w);
    return 0;
}

static const struct json *parse(struct world *w, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&w->arena, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

static int use(struct world *w, const char *identity, const char *agents, const char *permissions)
{
    struct runtime_settings s = {
        .identity = arena_str(&w->arena, str_from(identity)),
        .agents = agents ? parse(w, agents) : NULL,
        .permissions = permissions ? parse(w, permissions) : NULL,
    };
    int r = runtime_use_settings(&w->rt, &s, &w->err);
    arena_reset(&w->arena); /* all is copied */
    return r;
}

#define ONE_AGENT "{\"helper\":{\"description\":\"helps\",\"systemPrompt\":\"Help.\"}}"

TEST_WITH(are_replaced, set_up, tear_down)
{
    struct world *w = *state;
    assert_int_equal(use(w, "a clerk", ONE_AGENT, "{\"deny\":[\"files__*\"]}"), 0);
    assert_true(str_eq(w->rt.deps.identity, STR("a clerk")));
    assert_non_null(agents_find(&w->rt.agents, STR("helper")));
    assert_int_equal(runtime_permissions(&w->rt)->deny.len, 1);

    assert_int_equal(use(w, "", NULL, NULL), 0);
    assert_int_equal(w->rt.deps.identity.n, 0);
    assert_null(agents_find(&w->rt.agents, STR("helper")));
    assert_int_equal(runtime_permissions(&w->rt)->deny.len, 0);
}

TEST_WITH(wrong_ones_change_nothing, set_up, tear_down)
{
    static const char *const WRONG[][2] = {
        {"[]", "{}"},
        {"{\"helper\":7}", "{}"},
        {"{}", "[\"files__*\"]"},
        {"{}", "{\"deny\":\"files__*\"}"},
        {"{}", "{\"default\":\"perhaps\"}"},
    };
    struct world *w = *state;
    assert_int_equal(use(w, "a clerk", ONE_AGENT, "{\"deny\":[\"files__*\"]}"), 0);
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        assert_true(use(w, "a thief", WRONG[i][0], WRONG[i][1]) < 0);
        assert_true(str_eq(w->rt.deps.identity, STR("a clerk")));
        assert_non_null(agents_find(&w->rt.agents, STR("helper")));
        assert_int_equal(runtime_permissions(&w->rt)->deny.len, 1);
    }
}

/* What was replaced stays in memory: that has an end. */
TEST_WITH(ceiling, set_up, tear_down)
{
    struct world *w = *state;
    for (int i = 0; i < RUNTIME_SETTINGS_MAX; i++)
        assert_int_equal(use(w, "a clerk", NULL, NULL), 0);
    assert_int_equal(use(w, "a thief", NULL, NULL), -ENOSPC);
    assert_true(str_eq(w->rt.deps.identity, STR("a clerk")));
}
