/* A turn from its request to its end: the order of the steps, and an end at each of them. */
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

/* ---- the order ---- */

WITH_RIG(a_message_is_durable_before_the_model_is_called)
{
    struct rig *r = *state;
    store_hold(RIG_CREATE);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, rig_store.nheld == 1);
    assert_int_equal(rig_model.nseen, 0);
    assert_false(t->is_started);
    store_go();
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(t->response, "ok");
    assert_true(t->is_new);
    assert_log(r, t->conversation_id, "user.message run.start llm.response run.done");
    assert_string_equal(rig_model.seen[0].messages, "user: hi\n");
}

WITH_RIG(the_end_is_durable_before_the_sender_is_told)
{
    struct rig *r = *state;
    struct rig_turn *first = rig_chat(r, r->ana, "", "hi");
    model_from_here();
    MODEL(.text = "two", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ana, first->conversation_id, "again");
    rig_until(r, model_waiting() == 1);
    store_hold(RIG_APPEND);
    model_release();
    rig_until(r, rig_store.nheld == 1);
    assert_true(t->is_started && !t->is_over);
    store_go();
    rig_until(r, t->is_over);
    assert_string_equal(t->response, "two");
}

WITH_RIG(the_next_message_brings_the_history)
{
    struct rig *r = *state;
    model_says("one");
    struct rig_turn *t = rig_chat(r, r->ana, "", "first");
    struct rig_turn *next = rig_chat(r, r->ana, t->conversation_id, "second");
    assert_false(next->is_new);
    assert_string_equal(rig_model.seen[1].messages, "user: first\nassistant: one\nuser: second\n");
}

/* The second turn takes the transcript from the cache; the third finds a line that no turn wrote.
 */
WITH_RIG(a_message_that_somebody_else_appended_is_read)
{
    struct rig *r = *state;
    model_says("one");
    struct rig_turn *t = rig_chat(r, r->ana, "", "first");
    rig_append(r, t->conversation_id,
               "{\"type\":\"user.message\",\"userId\":\"usr_ana\",\"content\":[{\"type\":"
               "\"text\",\"text\":\"imported\"}]}");
    rig_chat(r, r->ana, t->conversation_id, "second");
    assert_non_null(strstr(rig_model.seen[1].messages, "imported"));
}

WITH_RIG(a_tool_call_is_a_step_of_its_own)
{
    struct rig *r = *state;
    model_calls("t__ping", "{\"n\":1}");
    model_says("done");
    struct rig_turn *t = rig_chat(r, r->ana, "", "ping");
    assert_int_equal(t->iterations, 2);
    assert_string_equal(rig_tools.args, "{\"n\":1}");
    assert_string_equal(rig_tools.user_id, "usr_ana");
    assert_string_equal(rig_tools.conversation_id, t->conversation_id);
    assert_string_equal(rig_model.seen[1].messages,
                        "user: ping\nassistant: [call c1 t__ping {\"n\":1}]\n"
                        "user: [result of c1 pong]\n");
    assert_log(r, t->conversation_id,
               "user.message run.start llm.response tool.start tool.done llm.response run.done");
}

WITH_RIG(a_call_can_be_found_from_its_announcement_to_its_result)
{
    struct rig *r = *state;
    struct run_call_state c;
    MODEL(.calls = {{"t__slow", "{\"n\":1}"}}, .draft = "{", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ana, "", "go");
    rig_until(r, t->is_started &&
                     runtime_find_call(r->runtime, str_from(t->conversation_id), STR("c1"), &c));
    str id = str_from(t->conversation_id);
    assert_true(str_eq(c.name, STR("t__slow")) && c.args.n == 0);
    assert_false(c.is_started || c.is_done);
    assert_false(runtime_find_call(r->runtime, id, STR("c2"), &c));
    assert_false(runtime_find_call(r->runtime, STR("conv_other"), STR("c1"), &c));
    model_release();
    rig_until(r, rig_tools.started == 1);
    assert_true(runtime_find_call(r->runtime, id, STR("c1"), &c));
    assert_true(str_eq(c.args, STR("{\"n\":1}")) && c.is_started && !c.is_done);
    tools_release();
    rig_until(r, t->is_over);
    assert_false(runtime_find_call(r->runtime, id, STR("c1"), &c));
}

static str member_of(struct rig *r, const struct json *event, const char *key)
{
    const struct json *v = json_get(event, key);
    return v ? json_to_str(&r->arena, v) : STR_NONE;
}

WITH_RIG(events_of_a_call_have_the_interface_of_its_tool)
{
    struct rig *r = *state;
    struct rig_turn *first = rig_chat(r, r->ana, "", "hi");
    rig_tools.tools[0].ui_uri = STR("ui://t/ping");
    registry_changed(r->tools, &rig_tools.source);
    rig_watch(r, first->conversation_id);
    model_calls("t__ping", "{}");
    rig_chat(r, r->ana, first->conversation_id, "ping");
    static const char *const TYPES[] = {"tool.preparing", "tool.start", "tool.done"};
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        assert_true(
            str_eq(json_get_string(rig_seen(r, TYPES[i]), "resourceUri"), STR("ui://t/ping")));
    assert_null(json_get(rig_seen(r, "tool.done"), "cancelled"));
    model_from_here();
    model_calls("t__read", "{}");
    rig_chat(r, r->ana, first->conversation_id, "read");
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        assert_null(json_get(rig_seen(r, TYPES[i]), "resourceUri"));
}

WITH_RIG(arguments_of_a_tool_with_an_interface_are_published_while_they_are_written)
{
    struct rig *r = *state;
    struct rig_turn *first = rig_chat(r, r->ana, "", "hi");
    rig_tools.tools[0].ui_uri = STR("ui://t/ping");
    registry_changed(r->tools, &rig_tools.source);
    rig_watch(r, first->conversation_id);
    MODEL(.calls = {{"t__ping", "{\"a\":\"bc\"}"}}, .draft = "{\"a\":\"b", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ana, first->conversation_id, "ping");
    rig_until(r, rig_seen(r, "tool.input"));
    const struct json *seen = rig_seen(r, "tool.input");
    assert_true(str_eq(json_get_string(seen, "id"), STR("c1")));
    assert_true(str_eq(member_of(r, seen, "input"), STR("{\"a\":\"b\"}")));
    assert_true(str_eq(json_get_string(seen, "runId"),
                       runtime_active_run(r->runtime, str_from(first->conversation_id))));
    model_release();
    rig_until(r, t->is_over);
    model_from_here();
    r->nevents = 0;
    MODEL(.calls = {{"t__read", "{}"}}, .draft = "{\"a\":\"b"); /* without an interface */
    rig_chat(r, r->ana, first->conversation_id, "read");
    assert_non_null(rig_seen(r, "tool.preparing"));
    assert_null(rig_seen(r, "tool.input"));
}

WITH_RIG(a_cancelled_call_tells_its_interface_that_there_is_no_result)
{
    struct rig *r = *state;
    rig_tools.tools[2].ui_uri = STR("ui://t/hang");
    registry_changed(r->tools, &rig_tools.source);
    model_calls("t__hang", "{}");
    struct rig_turn *t = rig_send(r, r->ana, "", "hang");
    rig_until(r, rig_tools.started == 1);
    assert_true(runtime_cancel(r->runtime, str_from(t->conversation_id)));
    rig_until(r, t->is_over);
    const struct json *done = rig_last(r, t->conversation_id, "tool.done");
    assert_true(json_get_bool(done, "cancelled", false));
    assert_true(str_find(member_of(r, done, "result"), STR("Cancelled by the user."), 0) > 0);
}

WITH_RIG(what_interfaces_write_and_show_is_stored_and_told_to_the_model)
{
    struct rig *r = *state;
    char *large = xcalloc(1, TURN_CONTEXT_TEXT_MAX + 100);
    memset(large, 'x', TURN_CONTEXT_TEXT_MAX + 99);
    struct view_context contexts[TURN_CONTEXTS_MAX + 1] = {
        {STR("notes"), STR("c1"), STR("3 notes")}, {STR("map"), STR_NONE, str_from(large)}};
    for (size_t i = 2; i < ARRAY_LEN(contexts); i++)
        contexts[i] = (struct view_context){STR("more"), STR_NONE, STR("\xff")};
    struct turn_request req = {.actor = r->ana,
                               .message = STR("Add milk"),
                               .app = STR("notes"),
                               .contexts = contexts,
                               .ncontexts = ARRAY_LEN(contexts)};
    struct rig_turn *t = rig_start(r, &req);
    memset(contexts, 0, sizeof contexts); /* it was copied */
    free(large);
    rig_until(r, t->is_over);
    const struct json *event = rig_last(r, t->conversation_id, "user.message");
    assert_event_members(event);
    const struct json *stored = json_get(event, "context");
    assert_true(str_eq(json_get_string(event, "app"), STR("notes")));
    assert_int_equal(stored->len, TURN_CONTEXTS_MAX);
    assert_true(str_eq(json_to_str(&r->arena, &stored->items[0]),
                       STR("{\"app\":\"notes\",\"callId\":\"c1\",\"text\":\"3 notes\"}")));
    assert_int_equal(json_get_string(&stored->items[1], "text").n, TURN_CONTEXT_TEXT_MAX);
    assert_int_equal(json_get_string(&stored->items[2], "text").n, 0);
    const char *told = rig_model.seen[0].messages;
    assert_non_null(strstr(told, "<app-message app=\"notes\">\nAdd milk\n</app-message>"));
    assert_non_null(strstr(told, "<app-context app=\"notes\">\n3 notes\n</app-context>"));
    /* the next message of the person is their own */
    rig_chat(r, r->ana, t->conversation_id, "thanks");
    assert_non_null(strstr(rig_model.seen[1].messages, "\nuser: thanks\n"));
    assert_null(json_get(rig_last(r, t->conversation_id, "user.message"), "context"));
}

static void hide_ping(struct rig *r)
{
    rig_tools.tools[0].is_internal = rig_tools.tools[0].is_for_apps = true;
    registry_changed(r->tools, &rig_tools.source);
}

WITH_RIG(a_tool_for_interfaces_alone_is_not_callable_by_its_guessed_name)
{
    struct rig *r = *state;
    hide_ping(r);
    model_calls("t__ping", "{}");
    model_says("I cannot");
    struct turn_request req = {
        .actor = r->ana,
        .message = STR("ping"),
        .allowed_tools = {.items = &STR("t__ping"), .len = 1},
        .auto_allow = {.items = &STR("t__ping"), .len = 1},
    };
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    assert_int_equal(rig_tools.started, 0);
    assert_null(strstr(rig_model.seen[0].tools, "t__ping"));
    assert_non_null(strstr(rig_model.seen[1].messages, "[error of c1 There is no tool"));
}

WITH_RIG(the_last_step_is_announced_to_the_model)
{
    struct rig *r = *state;
    r->config.limits.max_iterations = 2;
    model_calls("t__ping", "{}");
    model_calls("t__ping", "{\"n\":2}");
    struct rig_turn *t = rig_chat(r, r->ana, "", "ping");
    assert_int_equal(t->stop, RUN_STOP_MAX_ITERATIONS);
    assert_null(strstr(rig_model.seen[0].system, "last step"));
    assert_non_null(strstr(rig_model.seen[1].system, "last step"));
}

/* ---- requests that are refused ---- */

WITH_RIG(a_request_that_is_not_valid_is_refused_before_anything_is_stored)
{
    static const struct {
        const char *message, *model, *channel, *ask_id, *words;
    } CASES[] = {
        {"", "", "", "", "The message is empty."},
        {" \n\t", "", "", "", "The message is empty."},
        {"\xff\xfe", "", "", "", "not valid UTF-8"},
        {"hi", "a\nb", "", "", "no control characters"},
        {"hi", "", "a\033b", "", "no control characters"},
        {"hi", "nobody:nothing", "", "", "nobody"},
        {"", "", "", "ask_1", "needs conversationId"},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct turn_request req = {
            .actor = r->ana,
            .message = str_from(CASES[i].message),
            .model = str_from(CASES[i].model),
            .channel = str_from(CASES[i].channel),
            .answer = {.ask_id = str_from(CASES[i].ask_id)},
        };
        struct rig_turn *t = rig_start(r, &req);
        assert_false(t->is_over); /* never before turn_start has returned */
        rig_until(r, t->is_over);
        assert_true(t->is_refused);
        assert_int_equal(t->why, TURN_BAD_REQUEST);
        assert_non_null(strstr(t->err.msg, CASES[i].words));
    }
    assert_int_equal(rig_store.kinds[RIG_CREATE].made, 0);
    assert_int_equal(runtime_runs(r->runtime), 0);
}

WITH_RIG(a_message_may_have_a_mebibyte_and_no_byte_more)
{
    struct rig *r = *state;
    char *text = xcalloc(1, TURN_MESSAGE_MAX + 2);
    memset(text, 'a', TURN_MESSAGE_MAX);
    assert_false(rig_chat(r, r->ana, "", text)->is_refused);
    text[TURN_MESSAGE_MAX] = 'a';
    struct rig_turn *t = rig_chat(r, r->ana, "", text);
    assert_int_equal(t->why, TURN_BAD_REQUEST);
    free(text);
}

/* ---- access ---- */

/* People who may not see a conversation get the words of one that does not exist. */
WITH_RIG(a_conversation_of_somebody_else_does_not_exist)
{
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    struct rig_turn *absent = rig_chat(r, r->ben, "conv_0123456789abcdef", "hi");
    struct rig_turn *ben = rig_chat(r, r->ben, own->conversation_id, "hi");
    struct rig_turn *cyd = rig_chat(r, r->cyd, own->conversation_id, "hi");
    assert_true(absent->is_refused && ben->is_refused && cyd->is_refused);
    assert_int_equal(absent->why, TURN_NOT_FOUND);
    assert_int_equal(ben->why, TURN_NOT_FOUND);
    assert_int_equal(cyd->why, TURN_NOT_FOUND);
    assert_non_null(strstr(absent->err.msg, "There is no conversation 'conv_0123456789abcdef'."));
    assert_non_null(strstr(ben->err.msg, "There is no conversation '"));
    assert_log(r, own->conversation_id, "user.message run.start llm.response run.done");
}

WITH_RIG(a_participant_may_send_until_the_membership_ends)
{
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    rig_share(r, own->conversation_id, "usr_ben");
    assert_false(rig_chat(r, r->ben, own->conversation_id, "hello")->is_refused);
    assert_non_null(strstr(rig_model.seen[1].system, "Ben"));
    rig_remove_member(r, "usr_ben");
    assert_int_equal(rig_chat(r, r->ben, own->conversation_id, "hello")->why, TURN_NOT_FOUND);
}

/* A sentence of a member must not run with the rights of an admin. */
WITH_RIG(a_run_has_the_rights_that_all_authors_have)
{
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    rig_share(r, own->conversation_id, "usr_ben");
    rig_chat(r, r->ben, own->conversation_id, "hello");
    model_from_here();
    MODEL(.calls = {{"t__slow", "{}"}});
    struct rig_turn *t = rig_send(r, r->ana, own->conversation_id, "now");
    rig_until(r, rig_tools.started == 1);
    assert_true(actor_is_admin(r->ana));
    assert_false(actor_is_admin(turn_actor(rig_tools.host)));
    assert_string_equal(rig_tools.user_id, "usr_ana");
    tools_release();
    rig_until(r, t->is_over);
}

/* ---- a disk that is full at each step ---- */

WITH_RIG(a_full_disk_before_the_run_refuses_the_message)
{
    static const struct {
        enum rig_store_call call;
        const char *type;
        bool is_new;
    } CASES[] = {
        {RIG_CREATE, NULL, true},
        {RIG_GET, NULL, false},
        {RIG_READ, NULL, false},
        {RIG_APPEND, "user.message", false},
    };
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    size_t calls = rig_model.nseen;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        store_fault(CASES[i].call, CASES[i].type, -ENOSPC);
        struct rig_turn *t =
            rig_chat(r, r->ana, CASES[i].is_new ? "" : own->conversation_id, "more");
        assert_true(t->is_refused && !t->is_started);
        assert_int_equal(t->why, TURN_FAILED);
        assert_int_equal(t->err.code, -ENOSPC);
        store_fault(CASES[i].call, NULL, 0);
        assert_int_equal(runtime_runs(r->runtime), 0);
    }
    assert_int_equal(rig_model.nseen, calls);
    struct rig_turn *t = rig_chat(r, r->ana, own->conversation_id, "room again");
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_null(strstr(rig_model.seen[calls].messages, "more")); /* it was never stored */
}

/* The message is in the log, the answer is not: the next turn has to read the log again. */
WITH_RIG(a_full_disk_between_message_and_answer_fails_the_run)
{
    static const char *const TYPES[] = {"llm.response", "run.done"};
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        store_fault(RIG_APPEND, TYPES[i], -ENOSPC);
        struct rig_turn *t = rig_chat(r, r->ana, own->conversation_id, "lost");
        assert_true(t->is_started && !t->is_refused);
        assert_int_equal(t->stop, RUN_STOP_ERROR);
        assert_string_equal(t->error_type, "storage_error");
        store_fault(RIG_APPEND, NULL, 0);
    }
    size_t calls = rig_model.nseen;
    assert_int_equal(rig_chat(r, r->ana, own->conversation_id, "next")->stop, RUN_STOP_COMPLETE);
    /* Nothing that was not stored is sent: neither answer follows the two messages. */
    assert_null(strstr(rig_model.seen[calls].messages, "lost\nassistant: ok"));
    assert_non_null(strstr(rig_model.seen[calls].messages, "next"));
}

WITH_RIG(results_that_are_not_stored_are_not_sent_to_the_model)
{
    struct rig *r = *state;
    model_calls("t__ping", "{}");
    store_fault(RIG_APPEND, "tool.done", -EIO);
    struct rig_turn *t = rig_chat(r, r->ana, "", "ping");
    assert_string_equal(t->error_type, "storage_error");
    assert_int_equal(rig_model.nseen, 1);
}

/* ---- cancelling at each step ---- */

/* A message that was accepted is answered with the end of a run, even if nothing of it ran. */
WITH_RIG(a_turn_that_is_cancelled_while_it_starts_ends_without_a_model_call)
{
    static const enum rig_store_call HELD[] = {RIG_GET, RIG_READ, RIG_APPEND};
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    size_t calls = rig_model.nseen;
    for (size_t i = 0; i < ARRAY_LEN(HELD); i++) {
        store_hold(HELD[i]);
        struct rig_turn *t = rig_send(r, r->ana, own->conversation_id, "more");
        rig_until(r, rig_store.nheld == 1);
        turn_cancel(t->turn);
        store_go();
        rig_until(r, t->is_over);
        assert_false(t->is_refused);
        assert_int_equal(t->stop, RUN_STOP_CANCELLED);
    }
    assert_int_equal(rig_model.nseen, calls);
    assert_log(r, own->conversation_id,
               "user.message run.start llm.response run.done user.message run.start run.done "
               "user.message run.start run.done user.message run.start run.done");
}

WITH_RIG(text_that_was_streamed_before_a_cancellation_is_kept)
{
    struct rig *r = *state;
    MODEL(.partial = "half a sen", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, t->is_started && runtime_streamed(r->runtime, str_from(t->conversation_id)).n > 0);
    assert_true(runtime_cancel(r->runtime, str_from(t->conversation_id)));
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_CANCELLED);
    assert_string_equal(t->response, "half a sen");
    assert_int_equal(rig_model.ncancelled, 1);
    rig_chat(r, r->ana, t->conversation_id, "go on");
    assert_non_null(strstr(rig_model.seen[1].messages, "half a sen"));
}

WITH_RIG(a_cancelled_tool_call_has_a_result_in_the_log)
{
    struct rig *r = *state;
    model_calls("t__hang", "{}");
    struct rig_turn *t = rig_send(r, r->ana, "", "hang");
    rig_until(r, rig_tools.started == 1);
    turn_cancel(t->turn);
    rig_until(r, t->is_over);
    assert_int_equal(rig_tools.cancelled, 1);
    assert_log(r, t->conversation_id,
               "user.message run.start llm.response tool.start tool.done run.done");
}

WITH_RIG(only_a_conversation_with_a_turn_can_be_cancelled)
{
    struct rig *r = *state;
    struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
    assert_false(runtime_cancel(r->runtime, str_from(t->conversation_id)));
    assert_int_equal(runtime_active_run(r->runtime, str_from(t->conversation_id)).n, 0);
}

WITH_RIG(a_person_who_loses_access_loses_the_run_and_nobody_else_does)
{
    struct rig *r = *state;
    MODEL(.is_held = true);
    MODEL(.is_held = true);
    struct rig_turn *ana = rig_send(r, r->ana, "", "hi");
    struct rig_turn *ben = rig_send(r, r->ben, "", "hi");
    rig_until(r, model_waiting() == 2);
    runtime_cancel_user(r->runtime, STR("usr_ben"));
    rig_until(r, ben->is_over);
    assert_int_equal(ben->stop, RUN_STOP_CANCELLED);
    assert_false(ana->is_over);
    assert_true(runtime_has_run_of(r->runtime, str_from(ana->conversation_id), STR("usr_ana")));
    model_release();
    rig_until(r, ana->is_over);
}

/* ---- clients and the end ---- */

WITH_RIG(a_run_continues_when_its_client_has_gone)
{
    struct rig *r = *state;
    MODEL(.text = "for the log", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, model_waiting() == 1);
    turn_forget(t->turn);
    model_release();
    rig_until(r, runtime_runs(r->runtime) == 0);
    assert_false(t->is_over);
    assert_log(r, t->conversation_id, "user.message run.start llm.response run.done");
}

WITH_RIG(stopping_waits_until_the_ends_of_all_runs_are_durable)
{
    struct rig *r = *state;
    bool is_stopped = false;
    MODEL(.is_held = true);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, model_waiting() == 1);
    store_hold(RIG_APPEND);
    runtime_stop(r->runtime, rig_set_true, &is_stopped);
    rig_until(r, rig_store.nheld > 0);
    assert_false(is_stopped);
    store_go();
    rig_until(r, is_stopped);
    assert_int_equal(t->stop, RUN_STOP_CANCELLED);
    assert_log(r, t->conversation_id, "user.message run.start run.done");
    runtime_free(r->runtime);
    r->runtime = NULL;
}

WITH_RIG(a_turn_that_starts_while_the_server_stops_ends_as_cancelled)
{
    struct rig *r = *state;
    bool is_stopped = false;
    store_hold(RIG_CREATE);
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, rig_store.nheld == 1);
    runtime_stop(r->runtime, rig_set_true, &is_stopped);
    store_go();
    rig_until(r, is_stopped);
    assert_int_equal(t->stop, RUN_STOP_CANCELLED);
    assert_int_equal(rig_model.nseen, 0);
    runtime_free(r->runtime);
    r->runtime = NULL;
}

/* ---- errors of the model ---- */

WITH_RIG(an_error_of_the_model_ends_the_run_and_keeps_the_message)
{
    static const struct {
        enum llm_error_kind kind;
        const char *type;
    } CASES[] = {
        {LLM_ERR_AUTH, "provider_auth_error"},
        {LLM_ERR_TOO_LONG, "context_too_long"},
        {LLM_ERR_NETWORK, "provider_unreachable"},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        model_fails(CASES[i].kind, "it is broken");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
        assert_int_equal(t->stop, RUN_STOP_ERROR);
        assert_string_equal(t->error_type, CASES[i].type);
        assert_string_equal(t->err.msg, "it is broken");
        assert_log(r, t->conversation_id, "user.message run.start run.error");
    }
    assert_int_equal(rig_model.ntitles, 0); /* there is no answer to name */
}
