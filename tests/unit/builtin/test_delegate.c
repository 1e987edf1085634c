/* nb__delegate: a child run inside a tool call. */
#include "unit/builtin/builtin_rig.h"

static void use_agents(struct rig *r, const char *section)
{
    struct json *agents = (struct json *)rig_args(r, section);
    struct runtime_settings s = {.default_model = STR("demo:demo"), .agents = agents};
    struct err e = {0};
    if (runtime_use_settings(r->runtime, &s, &e) < 0)
        fail_msg("%s", e.msg);
}

/* The result of the only call of nb__delegate in the conversation. */
static const struct json *delegated(struct rig *r, const char *id)
{
    const struct json *e = rig_last(r, id, "tool.done");
    assert_non_null(e);
    assert_true(str_eq(json_get_string(e, "name"), STR("nb__delegate")));
    return e;
}

static const char *text_of(struct rig *r, const struct json *done)
{
    return arena_cstr(&r->arena, json_to_str(&r->arena, done));
}

BUILTIN_TEST(a_task_is_delegated_and_its_answer_returned)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"count the apples\"}");
    model_says("there are 3");
    model_says("the child says 3");
    struct rig_turn *t = rig_chat(r, r->ben, "", "delegate it");
    assert_string_equal(t->response, "the child says 3");
    assert_has(rig_model.seen[1].messages, "user: count the apples\n");
    assert_has(rig_model.seen[1].system, "You are an agent that works on one task");
    assert_has_not(rig_model.seen[1].messages, "delegate it"); /* a fresh context */
    assert_has(rig_model.seen[2].messages, "there are 3");
}

BUILTIN_TEST(a_child_has_a_conversation_that_names_its_parent)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\"}");
    model_says("done by the child");
    model_says("ok");
    struct rig_turn *t = rig_chat(r, r->ben, "", "delegate it");
    const struct json *out = json_get(delegated(r, t->conversation_id), "result");
    const struct json *structured = json_get(out, "structuredContent");
    str child = json_get_string(structured, "conversationId");
    assert_true(child.n > 0 && !str_eq(child, str_from(t->conversation_id)));
    assert_true(str_eq(json_get_string(structured, "stopReason"), STR("complete")));
    assert_int_equal(json_get_int(structured, "iterations", 0), 1);
    assert_log(r, arena_cstr(&r->arena, child), "user.message run.start llm.response run.done");
}

BUILTIN_TEST(the_tokens_of_a_child_are_charged_to_its_parent)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\"}");
    MODEL(.text = "done", .usage = {.input_tokens = 700, .output_tokens = 70});
    model_says("ok");
    struct rig_turn *t = rig_chat(r, r->ben, "", "delegate it");
    const struct json *charged = NULL;
    struct rig_lines l = rig_log(r, t->conversation_id);
    for (size_t i = 0; i < l.n; i++)
        if (str_eq(json_get_string(l.items[i], "source"), STR("delegate")))
            charged = l.items[i];
    assert_non_null(charged);
    assert_int_equal(json_get_int(charged, "inputTokens", 0), 700);
    assert_true(str_eq(json_get_string(charged, "runId"), str_from(t->run_id)));
}

/* ---- refusals ---- */

BUILTIN_TEST(delegation_needs_a_conversation)
{
    struct rig *r = *state;
    assert_refusal(use(r, r->ben, "nb__delegate", "{\"task\":\"x\"}"),
                   "Work can only be delegated from a conversation.");
}

BUILTIN_TEST(an_unknown_agent_is_refused_with_the_known_ones)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\",\"agent\":\"clerk\"}");
    model_says("ok");
    rig_chat(r, r->ben, "", "delegate it");
    assert_has(rig_model.seen[1].messages,
               "There is no agent 'clerk'. Agents: none are configured.");
    use_agents(r, "{\"cook\":{\"description\":\"cooks\",\"systemPrompt\":\"You cook.\"},"
                  "\"maid\":{\"description\":\"cleans\",\"systemPrompt\":\"You clean.\"}}");
    model_calls("nb__delegate", "{\"task\":\"x\",\"agent\":\"clerk\"}");
    model_says("ok");
    rig_chat(r, r->ben, "", "delegate it");
    assert_has(rig_model.seen[3].messages, "There is no agent 'clerk'. Agents: cook, maid.");
}

BUILTIN_TEST(the_last_step_cannot_be_delegated)
{
    struct rig *r = *state;
    r->config.limits.max_iterations = 2;
    model_calls("nb__delegate", "{\"task\":\"x\"}");
    model_says("ok");
    rig_chat(r, r->ben, "", "delegate it");
    assert_has(rig_model.seen[1].messages, "Too few steps are left in this run to delegate");
}

BUILTIN_TEST(a_child_that_fails_is_an_error_of_the_tool)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\"}");
    model_fails(LLM_ERR_AUTH, "the key was refused");
    model_says("it did not work");
    struct rig_turn *t = rig_chat(r, r->ben, "", "delegate it");
    assert_string_equal(t->response, "it did not work");
    assert_has(rig_model.seen[2].messages, "The delegated run failed: ");
}

/* ---- limits ---- */

BUILTIN_TEST(a_child_gets_the_steps_it_is_given)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\",\"maxIterations\":2}");
    model_calls("t__ping", "{}");
    model_calls("t__ping", "{\"again\":1}");
    model_says("ok");
    struct rig_turn *t = rig_chat(r, r->ben, "", "delegate it");
    const struct json *out = json_get(delegated(r, t->conversation_id), "result");
    const struct json *s = json_get(out, "structuredContent");
    assert_int_equal(json_get_int(s, "iterations", 0), 2);
    assert_false(str_eq(json_get_string(s, "stopReason"), STR("complete")));
    assert_has(text_of(r, out), "[The delegated run stopped early: ");
}

BUILTIN_TEST(a_child_sees_only_the_tools_it_is_given)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\",\"tools\":[\"t__ping\"]}");
    model_says("done");
    model_says("ok");
    rig_chat(r, r->ben, "", "delegate it");
    assert_has(rig_model.seen[0].tools, "t__fail");
    assert_has(rig_model.seen[1].tools, "t__ping");
    assert_has_not(rig_model.seen[1].tools, "t__fail");
}

BUILTIN_TEST(a_profile_decides_prompt_and_tools)
{
    struct rig *r = *state;
    use_agents(r, "{\"cook\":{\"description\":\"cooks\",\"systemPrompt\":\"You cook.\","
                  "\"tools\":[\"t__read\"]}}");
    model_calls("nb__delegate",
                "{\"task\":\"soup\",\"agent\":\"cook\",\"tools\":[\"t__ping\"]}"); /* ignored */
    model_says("done");
    model_says("ok");
    rig_chat(r, r->ben, "", "delegate it");
    assert_has(rig_model.seen[1].system, "You cook.");
    assert_has_not(rig_model.seen[1].system, "You are an agent that works on one task");
    assert_has(rig_model.seen[1].tools, "t__read");
    assert_has_not(rig_model.seen[1].tools, "t__ping");
}

BUILTIN_TEST(delegation_is_not_nested_without_end)
{
    struct rig *r = *state;
    for (int i = 0; i <= TURN_DEPTH_MAX; i++)
        model_calls("nb__delegate", "{\"task\":\"x\",\"tools\":[\"nb__*\"],\"maxIterations\":10}");
    struct rig_turn *t = rig_chat(r, r->ben, "", "delegate it");
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_has(rig_model.seen[TURN_DEPTH_MAX + 1].messages,
               "Delegation is nested too deeply: at most 3 levels.");
}

/* ---- ends ---- */

BUILTIN_TEST(cancelling_the_parent_cancels_the_child)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\"}");
    MODEL(.partial = "thinking", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ben, "", "delegate it");
    rig_until(r, model_waiting() > 0);
    assert_true(runtime_cancel(r->runtime, str_from(t->conversation_id)));
    rig_until(r, t->is_over && model_waiting() == 0);
    assert_int_equal(t->stop, RUN_STOP_CANCELLED);
    assert_int_equal(rig_model.ncancelled, 1);
}

BUILTIN_TEST(watchers_learn_the_conversation_of_the_child)
{
    struct rig *r = *state;
    model_calls("nb__delegate", "{\"task\":\"x\"}");
    MODEL(.text = "done", .is_held = true);
    model_says("ok");
    struct rig_turn *t = rig_send(r, r->ben, "", "delegate it");
    rig_until(r, t->is_started);
    rig_watch(r, t->conversation_id);
    rig_until(r, model_waiting() > 0);
    const struct json *e = rig_seen(r, "tool.progress");
    assert_non_null(e);
    assert_true(str_starts(json_get_string(e, "message"), STR("started conv_")));
    model_release();
    rig_until(r, t->is_over);
}
