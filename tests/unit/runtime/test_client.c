/* Turns of programs that bring tools, instructions and earlier messages of their own. */
#include "runtime/prompt/client_tools.h"
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

#define SAID                                                                                       \
    STR("{\"type\":\"user.message\",\"userId\":\"usr_ana\",\"content\":[{\"type\":\"text\","       \
        "\"text\":\"before\"}]}")
#define ANSWERED                                                                                   \
    STR("{\"type\":\"llm.response\",\"runId\":\"run_quoted\",\"model\":\"\",\"content\":[{"        \
        "\"type\":\"text\",\"text\":\"yes\"}],"                                                    \
        "\"finishReason\":\"stop\"}")

static const struct llm_tool WEATHER[] = {{STR_INIT("weather"), STR_INIT("d"), NULL}};

static struct rig_turn *send(struct rig *r, const char *id, const char *message,
                             const struct turn_client *client)
{
    struct turn_request req = {.actor = r->ana,
                               .conversation_id = str_from(id),
                               .message = str_from(message),
                               .is_unattended = true,
                               .client = client};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over && list_empty(&r->runtime->titles));
    return t;
}

/* ---- what was said before ---- */

WITH_RIG(earlier_events_stand_in_front_of_the_message)
{
    struct rig *r = *state;
    str lines[] = {SAID, ANSWERED};
    struct rig_turn *t =
        send(r, "", "now", &(struct turn_client){.lines = lines, .nlines = 2, .is_hidden = true});
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(rig_model.seen[0].messages, "user: before\nassistant: yes\nuser: now\n");
    assert_log(r, t->conversation_id,
               "user.message llm.response user.message run.start llm.response run.done");
}

WITH_RIG(a_turn_without_a_message_needs_something_to_answer)
{
    struct rig *r = *state;
    str lines[] = {SAID};
    struct rig_turn *t = send(r, "", "", &(struct turn_client){.lines = lines, .nlines = 1});
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(rig_model.seen[0].messages, "user: before\n");
    t = send(r, "", "", &(struct turn_client){0});
    assert_true(t->is_refused && t->why == TURN_BAD_REQUEST);
    assert_string_equal(t->err.msg, "The message is empty.");
}

WITH_RIG(a_hidden_conversation_gets_no_title)
{
    struct rig *r = *state;
    struct rig_turn *t = send(r, "", "hi", &(struct turn_client){.is_hidden = true});
    send(r, t->conversation_id, "again", &(struct turn_client){0});
    assert_int_equal(rig_model.ntitles, 0);
    send(r, "", "hi", &(struct turn_client){0});
    assert_int_equal(rig_model.ntitles, 1);
}

WITH_RIG(an_answer_that_is_not_the_last_is_not_continued)
{
    struct rig *r = *state;
    struct rig_turn *first = send(r, "", "one", &(struct turn_client){0});
    struct turn_client after = {.after_run_id = str_from(first->run_id)};
    struct rig_turn *second = send(r, first->conversation_id, "two", &after);
    assert_int_equal(second->stop, RUN_STOP_COMPLETE);
    struct rig_turn *third = send(r, first->conversation_id, "three", &after);
    assert_true(third->is_refused && third->why == TURN_BAD_REQUEST);
    assert_non_null(strstr(third->err.msg, "has continued since"));
    assert_log(r, first->conversation_id,
               "user.message run.start llm.response run.done user.message run.start llm.response "
               "run.done");
}

/* ---- its tools ---- */

WITH_RIG(a_call_of_its_tool_waits_for_the_next_turn)
{
    struct rig *r = *state;
    struct turn_client client = {.tools = WEATHER, .ntools = 1};
    model_calls("weather", "{}");
    struct rig_turn *t = send(r, "", "hi", &client);
    assert_int_equal(t->stop, RUN_STOP_CLIENT_TOOLS);
    assert_non_null(strstr(rig_model.seen[0].tools, "t__ping"));
    assert_non_null(strstr(rig_model.seen[0].tools, "weather"));
    str result = STR("{\"type\":\"tool.done\",\"runId\":\"run_quoted\",\"id\":\"c1\",\"name\":"
                     "\"weather\",\"ok\":true,\"ms\":"
                     "0,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"21\"}],"
                     "\"isError\":false}}");
    client.lines = &result;
    client.nlines = 1;
    t = send(r, t->conversation_id, "", &client);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(rig_model.seen[1].messages,
                        "user: hi\nassistant: [call c1 weather {}]\nuser: [result of c1 21]\n");
}

/* Nor can it answer for a tool of the workspace that was interrupted, or twice. */
WITH_RIG(a_program_answers_only_calls_that_were_handed_over_to_it)
{
    struct rig *r = *state;
    struct turn_client client = {.tools = WEATHER, .ntools = 1};
    str result = STR("{\"type\":\"tool.done\",\"runId\":\"run_quoted\",\"id\":\"c1\",\"name\":"
                     "\"weather\",\"ok\":true,\"ms\":0,\"result\":{\"content\":[],"
                     "\"isError\":false}}");
    str message = SAID;
    model_calls("t__slow", "{}");
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, rig_tools.started == 1);
    turn_cancel(t->turn);
    rig_until(r, t->is_over);
    client.lines = &result;
    client.nlines = 1;
    struct rig_turn *faked = send(r, t->conversation_id, "", &client);
    assert_true(faked->is_refused && faked->why == TURN_BAD_REQUEST);
    assert_string_equal(faked->err.msg, "No call of the last answer waits for that result.");
    client.lines = &message; /* nor does it write in the name of somebody */
    assert_true(send(r, t->conversation_id, "hi", &client)->is_refused);
    client.nlines = 0;
    model_calls("weather", "{}");
    t = send(r, "", "hi", &client);
    result = STR("{\"type\":\"tool.done\",\"runId\":\"run_quoted\",\"id\":\"c2\",\"name\":"
                 "\"weather\",\"ok\":true,\"ms\":0,\"result\":{\"content\":[],"
                 "\"isError\":false}}");
    client.lines = &result;
    client.nlines = 1;
    assert_false(send(r, t->conversation_id, "", &client)->is_refused);
    assert_true(send(r, t->conversation_id, "", &client)->is_refused); /* it has its result */
}

/* The list of tools that was recorded last is compared by addresses: those of a program can come
 * again with other contents. */
WITH_RIG(the_tools_of_two_programs_are_never_mixed_up)
{
    struct rig *r = *state;
    for (size_t i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "tool_%zu", i);
        struct llm_tool tool = {str_from(name), STR("d"), NULL};
        send(r, "", "hi", &(struct turn_client){.tools = &tool, .ntools = 1});
        assert_non_null(strstr(rig_model.seen[i].tools, name));
        if (i > 0)
            assert_string_not_equal(rig_model.seen[i].tools, rig_model.seen[i - 1].tools);
    }
}

WITH_RIG(a_program_without_tools_gets_none)
{
    struct rig *r = *state;
    struct turn_client client = {.tools = WEATHER, .ntools = 1, .is_toolless = true};
    MODEL(.calls = {{"t__ping", "{}"}, {"weather", "{}"}});
    struct rig_turn *t = send(r, "", "hi", &client);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(rig_model.seen[0].tools, "");
    assert_int_equal(rig_tools.started, 0);
}

/* ---- its instructions, and profiles ---- */

WITH_RIG(a_profile_has_its_own_prompt_tools_and_limit)
{
    struct rig *r = *state;
    str glob = STR("t__ping");
    struct turn_client client = {.system_prompt = STR("You are a poet."),
                                 .instructions = STR("Rhyme."),
                                 .filter = {&glob, 1},
                                 .max_iterations = 1};
    model_calls("t__slow", "{}");
    struct rig_turn *t = send(r, "", "hi", &client);
    assert_int_equal(t->stop, RUN_STOP_MAX_ITERATIONS);
    assert_int_equal(rig_tools.started, 0);
    assert_null(strstr(rig_model.seen[0].tools, "t__slow"));
    assert_true(str_starts(str_from(rig_model.seen[0].system), STR("You are a poet.")));
    assert_non_null(strstr(rig_model.seen[0].system, "Rhyme."));
}

TEST(tools_of_a_program_take_the_place_of_those_with_the_same_name)
{
    struct arena a;
    struct llm_tool own[] = {{STR("a"), STR("nb"), NULL}, {STR("weather"), STR("nb"), NULL}};
    const struct llm_tool *tools = own;
    size_t n = ARRAY_LEN(own);
    struct turn_client client = {.tools = WEATHER, .ntools = 1};
    arena_init(&a);
    client_tools_add(&client, &a, &tools, &n);
    assert_int_equal(n, 2);
    assert_true(str_eq(tools[0].name, STR("a")));
    assert_true(str_eq(tools[1].description, STR("d")));
    assert_null(client_tools_find(&client, STR("a")));
    assert_null(client_tools_find(NULL, STR("a")));
    client_tools_add(NULL, &a, &tools, &n);
    assert_int_equal(n, 2);
    assert_true(str_eq(client_tools_prompt(NULL, &a, STR("p")), STR("p")));
    arena_done(&a);
}
