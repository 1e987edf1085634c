/* Delegation: profiles in the settings, and the run of a child with less than its parent has. */
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

/* ---- profiles ---- */

TEST(a_profile_needs_a_description_and_a_prompt)
{
    static const struct {
        const char *conf, *words; /* NULL = it is valid */
    } CASES[] = {
        {"{\"a\":{\"description\":\"d\",\"systemPrompt\":\"p\"}}", NULL},
        {"{\"a\":{\"description\":\"d\",\"systemPrompt\":\"p\",\"model\":null}}", NULL},
        {"[]", "agents: expected object"},
        {"{\"a\":1}", "agents.a: expected object"},
        {"{\"a\":{\"systemPrompt\":\"p\"}}", "agents.a"},
        {"{\"a\":{\"description\":\"d\"}}", "agents.a"},
        {"{\"a\":{\"description\":\"d\",\"systemPrompt\":\"p\",\"tools\":\"t\"}}",
         "agents.a.tools"},
        {"{\"a\":{\"description\":\"d\",\"systemPrompt\":\"p\",\"maxIterations\":-1}}",
         "agents.a.maxIterations: must not be negative"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct agents all;
        struct json *conf;
        struct err e = {0};
        assert_int_equal(json_parse(&a, str_from(CASES[i].conf), 0, &conf, NULL), 0);
        int r = agents_decode(&a, conf, &all, &e);
        assert_int_equal(r, CASES[i].words ? -EINVAL : 0);
        if (CASES[i].words)
            assert_non_null(strstr(e.msg, CASES[i].words));
        else
            assert_non_null(agents_find(&all, STR("a")));
    }
    arena_done(&a);
}

TEST(so_many_profiles_and_no_more)
{
    struct arena a;
    struct agents all;
    struct err e = {0};
    arena_init(&a);
    struct json *conf = json_new(&a, JSON_OBJECT), *one;
    assert_int_equal(
        json_parse(&a, STR("{\"description\":\"d\",\"systemPrompt\":\"p\"}"), 0, &one, NULL), 0);
    for (int i = 0; i < 100; i++)
        json_set(&a, conf, arena_printf(&a, "agent%d", i), *one);
    assert_int_equal(agents_decode(&a, conf, &all, &e), 0);
    assert_int_equal(all.len, 100);
    json_set(&a, conf, STR("another"), *one);
    assert_int_equal(agents_decode(&a, conf, &all, &e), -EINVAL);
    arena_done(&a);
}

/* ---- the run of a child ---- */

/* Starts a child of a conversation of ana, as nb__delegate does. */
static struct rig_turn *delegate(struct rig *r, struct turn_child child, const char *task)
{
    struct rig_turn *parent = rig_chat(r, r->ana, "", "delegate it");
    child.parent_conversation_id = str_from(parent->conversation_id);
    child.parent_run_id = str_from(parent->run_id);
    child.parent_call_id = STR("c1");
    child.owner_id = STR("usr_ana");
    child.depth = 1;
    struct turn_request req = {.actor = r->ana, .message = str_from(task), .child = &child};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over && list_empty(&r->runtime->titles));
    return t;
}

WITH_RIG(a_child_has_a_log_of_its_own_that_names_its_parent)
{
    struct rig *r = *state;
    model_says("I delegate.");
    model_says("done");
    struct turn_child c = {.system_prompt = STR("You are a helper."), .max_iterations = 3};
    struct rig_turn *t = delegate(r, c, "the task");
    assert_true(t->is_new);
    assert_string_equal(t->response, "done");
    assert_non_null(strstr(rig_model.seen[1].system, "You are a helper."));
    assert_string_equal(rig_model.seen[1].messages, "user: the task\n"); /* not the parent's */
    const struct json *start = rig_last(r, t->conversation_id, "run.start");
    assert_true(json_get_string(start, "parentRunId").n > 0);
    assert_int_equal(rig_model.ntitles, 1); /* of the parent only */
}

WITH_RIG(a_child_ends_at_its_own_limit_of_steps)
{
    struct rig *r = *state;
    model_says("I delegate.");
    model_calls("t__ping", "{}");
    model_calls("t__ping", "{\"n\":2}");
    struct turn_child c = {.system_prompt = STR("Help."), .max_iterations = 2};
    struct rig_turn *t = delegate(r, c, "the task");
    assert_int_equal(t->stop, RUN_STOP_MAX_ITERATIONS);
    assert_int_equal(t->iterations, 2);
}

/* A profile can take tools away, and cannot add one that the parent does not have. */
WITH_RIG(a_child_has_the_tools_of_its_profile_and_of_its_parent)
{
    struct rig *r = *state;
    str globs[] = {STR("t__ping"), STR("t__read")};
    model_says("I delegate.");
    model_calls("t__slow", "{}");
    struct turn_child c = {
        .system_prompt = STR("Help."), .max_iterations = 3, .tools = {globs, ARRAY_LEN(globs)}};
    delegate(r, c, "the task");
    assert_string_equal(rig_model.seen[1].tools, "t__ping t__read");
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(rig_model.seen[2].messages, "not allowed in this request"));
}

/* The people who see the parent see the child, and nobody else does. */
WITH_RIG(a_child_has_the_access_of_its_parent)
{
    struct rig *r = *state;
    struct turn_child c = {.system_prompt = STR("Help."), .max_iterations = 3};
    struct rig_turn *t = delegate(r, c, "the task");
    assert_int_equal(rig_chat(r, r->ben, t->conversation_id, "hi")->why, TURN_NOT_FOUND);
    const struct json *start = rig_last(r, t->conversation_id, "run.start");
    assert_non_null(start);
    assert_int_equal(rig_chat(r, r->ana, t->conversation_id, "hi")->stop, RUN_STOP_COMPLETE);
}
