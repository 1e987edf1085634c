/* Questions about tool calls: they end a run, stay in the log, and an answer resumes the run. */
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

/* The model calls t__drop, about which a person is asked; then it says "done". */
static struct rig_turn *ask(struct rig *r, const struct actor *who, const char *conversation_id)
{
    model_calls("t__drop", "{\"n\":1}");
    model_says("done");
    struct rig_turn *t = rig_chat(r, who, conversation_id, "drop it");
    assert_int_equal(t->stop, RUN_STOP_WAITING);
    assert_int_equal(rig_tools.started, 0);
    return t;
}

static struct rig_turn *answer_as(struct rig *r, const struct actor *who, struct turn_answer a,
                                  const struct rig_turn *asked)
{
    a.ask_id = str_from(asked->ask_id);
    struct turn_request req = {
        .actor = who, .conversation_id = str_from(asked->conversation_id), .answer = a};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    return t;
}

static const struct json *parse(struct rig *r, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&r->arena, str_from(text), 0, &v, NULL), 0);
    return v;
}

/* ---- the question ---- */

WITH_RIG(a_call_that_needs_permission_ends_the_run_with_a_question)
{
    struct rig *r = *state;
    struct rig_turn *t = ask(r, r->ana, "");
    const struct json *opened = rig_last(r, t->conversation_id, "ask.opened");
    const struct json *call = json_at(json_get(opened, "calls"), 0);
    assert_log(r, t->conversation_id, "user.message run.start llm.response ask.opened run.done");
    assert_true(str_eq(json_get_string(opened, "askId"), str_from(t->ask_id)));
    assert_true(str_eq(json_get_string(call, "name"), STR("t__drop")));
    assert_true(json_get_bool(call, "needsPermission", false));
    assert_true(json_get_bool(call, "canRemember", false));
}

/* One call that needs permission delays the whole response. */
WITH_RIG(the_question_shows_all_calls_that_its_answer_starts)
{
    struct rig *r = *state;
    MODEL(.calls = {{"t__ping", "{}"}, {"t__drop", "{}"}});
    struct rig_turn *t = rig_chat(r, r->ana, "", "both");
    const struct json *calls = json_get(rig_last(r, t->conversation_id, "ask.opened"), "calls");
    assert_int_equal(calls->len, 2);
    assert_false(json_get_bool(&calls->items[0], "needsPermission", true));
    assert_int_equal(rig_tools.started, 0);
    rig_answer(r, r->ana, t, true);
    assert_int_equal(rig_tools.started, 2);
}

/* Nobody is asked about a call that its source would refuse anyway. */
WITH_RIG(a_call_that_would_be_refused_is_answered_instead_of_asked_about)
{
    struct rig *r = *state;
    rig_tools.refusal = "You are not an admin.";
    model_calls("t__drop", "{}");
    struct rig_turn *t = rig_chat(r, r->ana, "", "drop it");
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.probed, 1);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(rig_model.seen[1].messages, "[error of c1 You are not an admin.]"));
}

WITH_RIG(where_nobody_can_be_asked_the_call_is_refused)
{
    struct rig *r = *state;
    model_calls("t__drop", "{}");
    struct turn_request req = {.actor = r->ana, .message = STR("drop it"), .is_unattended = true};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(rig_model.seen[1].messages, TURN_NOBODY_TO_ASK));
}

WITH_RIG(rules_of_the_workspace_decide_for_each_tool)
{
    static const struct {
        const char *rules, *tool;
        enum run_stop stop;
        unsigned started;
        const char *result; /* that the model gets; NULL = a person is asked */
    } CASES[] = {
        {"{}", "t__ping", RUN_STOP_COMPLETE, 1, "pong"},
        {"{\"deny\":[\"t__ping\"]}", "t__ping", RUN_STOP_COMPLETE, 0, "do not permit this tool"},
        {"{\"ask\":[\"t__*\"]}", "t__ping", RUN_STOP_WAITING, 0, NULL},
        {"{\"allow\":[\"t__drop\"]}", "t__drop", RUN_STOP_COMPLETE, 1, "pong"},
        {"{\"default\":\"ask\"}", "t__ping", RUN_STOP_WAITING, 0, NULL},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        rig_use_permissions(r, CASES[i].rules);
        rig_tools.started = 0;
        model_from_here();
        model_calls(CASES[i].tool, "{}");
        struct rig_turn *t = rig_chat(r, r->ana, "", "go");
        assert_int_equal(t->stop, CASES[i].stop);
        assert_int_equal(rig_tools.started, CASES[i].started);
        if (CASES[i].result)
            assert_non_null(strstr(rig_model.seen[rig_model.nseen - 1].messages, CASES[i].result));
    }
}

/* ---- answers ---- */

WITH_RIG(an_allowed_call_runs_before_the_model_continues)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    struct rig_turn *t = rig_answer(r, r->ana, asked, true);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_not_equal(t->run_id, asked->run_id);
    assert_string_equal(rig_tools.args, "{\"n\":1}");
    assert_int_equal(rig_model.nseen, 2);
    assert_non_null(strstr(rig_model.seen[1].messages, "[result of c1 pong]"));
    assert_log(r, t->conversation_id,
               "user.message run.start llm.response ask.opened run.done ask.answered run.start "
               "tool.start tool.done llm.response run.done");
    const struct json *start = rig_last(r, t->conversation_id, "run.start");
    assert_true(str_eq(json_get_string(start, "resumes"), str_from(asked->run_id)));
}

WITH_RIG(a_declined_call_gets_a_result_and_does_not_run)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    struct rig_turn *t = rig_answer(r, r->ana, asked, false);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(rig_model.seen[1].messages, "The user did not allow this call."));
}

WITH_RIG(each_call_can_be_decided_on_its_own)
{
    struct rig *r = *state;
    MODEL(.calls = {{"t__drop", "{\"n\":1}"}, {"t__drop", "{\"n\":2}"}});
    struct rig_turn *asked = rig_chat(r, r->ana, "", "both");
    struct turn_answer a = {.is_allowed = true, .decisions = parse(r, "{\"c1\":false}")};
    answer_as(r, r->ana, a, asked);
    assert_int_equal(rig_tools.started, 1);
    assert_string_equal(rig_tools.args, "{\"n\":2}");
}

WITH_RIG(an_answer_is_durable_before_its_calls_start)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    struct turn_request req = {
        .actor = r->ana,
        .conversation_id = str_from(asked->conversation_id),
        .answer = {.ask_id = str_from(asked->ask_id), .is_allowed = true},
    };
    store_fault(RIG_APPEND, "ask.answered", -ENOSPC);
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    assert_int_equal(t->why, TURN_FAILED);
    assert_int_equal(rig_tools.started, 0);
    store_fault(RIG_APPEND, NULL, 0);
    assert_int_equal(rig_answer(r, r->ana, asked, true)->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 1); /* the question had stayed open */
}

WITH_RIG(a_question_is_answered_once)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    rig_answer(r, r->ana, asked, true);
    struct rig_turn *again = rig_answer(r, r->ana, asked, true);
    assert_true(again->is_refused);
    assert_int_equal(again->why, TURN_NO_QUESTION);
    assert_int_equal(rig_tools.started, 1);
}

WITH_RIG(a_message_instead_of_an_answer_declines_the_calls)
{
    struct rig *r = *state;
    rig_tools.tools[5].ui_uri = STR("ui://t/drop");
    registry_changed(r->tools, &rig_tools.source);
    struct rig_turn *asked = ask(r, r->ana, "");
    struct rig_turn *t = rig_chat(r, r->ana, asked->conversation_id, "never mind");
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_non_null(strstr(rig_model.seen[1].messages, "continued without allowing this call"));
    assert_log(r, t->conversation_id,
               "user.message run.start llm.response ask.opened run.done ask.answered tool.done "
               "user.message run.start llm.response run.done");
    const struct json *done = rig_last(r, t->conversation_id, "tool.done");
    assert_true(str_eq(json_get_string(done, "resourceUri"), STR("ui://t/drop")));
    assert_true(json_get_bool(done, "cancelled", false)); /* its interface gets no result */
    assert_int_equal(rig_answer(r, r->ana, asked, true)->why, TURN_NO_QUESTION);
}

WITH_RIG(an_answer_never_waits_for_another_turn)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    rig_model.script[1] = (struct model_answer){.is_held = true};
    struct rig_turn *busy = rig_send(r, r->ana, asked->conversation_id, "never mind");
    rig_until(r, model_waiting() == 1);
    struct rig_turn *t = rig_answer(r, r->ana, asked, true);
    assert_int_equal(t->why, TURN_BUSY);
    model_release();
    rig_until(r, busy->is_over);
}

/* ---- what is remembered ---- */

static enum run_stop drop_again(struct rig *r, const struct actor *who, const char *conversation_id)
{
    model_from_here();
    model_calls("t__drop", "{\"n\":1}");
    model_says("done");
    return rig_chat(r, who, conversation_id, "drop it again")->stop;
}

WITH_RIG(a_permission_for_a_conversation_is_valid_there_and_for_that_person_only)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    struct turn_answer always = {.is_allowed = true, .remember = CONSENT_CONVERSATION};
    assert_int_equal(answer_as(r, r->ana, always, asked)->stop, RUN_STOP_COMPLETE);
    const struct json *answered = rig_last(r, asked->conversation_id, "ask.answered");
    assert_true(str_eq(json_get_string(answered, "always"), STR("conversation")));
    assert_int_equal(drop_again(r, r->ana, asked->conversation_id), RUN_STOP_COMPLETE);
    assert_int_equal(drop_again(r, r->ana, ""), RUN_STOP_WAITING);
    rig_restart(r);
    assert_int_equal(drop_again(r, r->ana, asked->conversation_id), RUN_STOP_COMPLETE);
}

/* Only what the question shows can be remembered, and only of a tool that runs commands. */
WITH_RIG(words_that_no_command_of_the_question_begins_with_are_refused)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    struct turn_answer always = {
        .is_allowed = true, .remember = CONSENT_MINE, .words = STR("git status")};
    struct rig_turn *t = answer_as(r, r->ana, always, asked);
    assert_true(t->is_refused);
    assert_int_equal(t->why, TURN_BAD_REQUEST);
    assert_int_equal(rig_tools.started, 0);
    assert_int_equal(drop_again(r, r->ana, ""), RUN_STOP_WAITING);
}

/* ---- restarts and copies ---- */

/* The run that resumes has the setting of the run that asked, not the settings of today. */
WITH_RIG(a_question_survives_a_restart_with_its_setting)
{
    struct rig *r = *state;
    r->config.limits.max_iterations = 7;
    struct rig_turn *asked = ask(r, r->ana, "");
    r->config.limits.max_iterations = 3;
    rig_restart(r);
    struct rig_turn *t = rig_answer(r, r->ana, asked, true);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 1);
    const struct json *start = rig_last(r, t->conversation_id, "run.start");
    const struct json *limits = json_get(json_get(json_get(start, "setting"), "value"), "limits");
    assert_int_equal(json_get_int(limits, "maxIterations", 0), 7);
}

static void on_forked(void *ctx, const struct err *err, const struct conv *conv)
{
    assert_null(err);
    snprintf(ctx, STORE_ID_MAX + 1, "%.*s", STR_ARG(conv->id));
}

/* The copy has the question, but its setting belongs to another conversation: whoever answers acts
 * for themselves. */
WITH_RIG(a_copied_question_lends_nobodys_rights)
{
    struct rig *r = *state;
    struct rig_turn copy = {0};
    struct rig_turn *asked = ask(r, r->ana, "");
    store_fork(r->store, str_from(asked->conversation_id), -1, STR("usr_ben"), NULL, on_forked,
               copy.conversation_id);
    rig_until(r, copy.conversation_id[0] != '\0');
    memcpy(copy.ask_id, asked->ask_id, sizeof copy.ask_id);
    struct rig_turn *t = rig_answer(r, r->ben, &copy, true);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(rig_tools.user_id, "usr_ben");
}

/* ---- who may answer ---- */

WITH_RIG(strangers_cannot_answer)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    assert_int_equal(rig_answer(r, r->ben, asked, true)->why, TURN_NOT_FOUND);
    assert_int_equal(rig_answer(r, r->cyd, asked, true)->why, TURN_NOT_FOUND);
    assert_int_equal(rig_tools.started, 0);
}

/* The answer is consent only: the run still acts for the person who sent the message. */
WITH_RIG(a_participant_may_answer_for_the_sender)
{
    struct rig *r = *state;
    struct rig_turn *asked = ask(r, r->ana, "");
    rig_share(r, asked->conversation_id, "usr_ben");
    struct rig_turn *t = rig_answer(r, r->ben, asked, true);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_string_equal(rig_tools.user_id, "usr_ana");
    const struct json *answered = rig_last(r, t->conversation_id, "ask.answered");
    assert_true(str_eq(json_get_string(answered, "userId"), STR("usr_ben")));
}

WITH_RIG(a_call_with_the_account_of_the_sender_is_allowed_by_the_sender_alone)
{
    struct rig *r = *state;
    rig_tools.tools[5].is_personal = true;
    registry_changed(r->tools, &rig_tools.source);
    struct rig_turn *asked = ask(r, r->ana, "");
    rig_share(r, asked->conversation_id, "usr_ben");
    struct rig_turn *t = rig_answer(r, r->ben, asked, true);
    assert_int_equal(t->why, TURN_FORBIDDEN);
    assert_non_null(strstr(t->err.msg, "Only that person may allow it."));
    assert_int_equal(rig_answer(r, r->ben, asked, false)->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 0);
}

WITH_RIG(a_token_with_fewer_tools_cannot_consent_for_a_wider_run)
{
    struct rig *r = *state;
    str glob = STR("t__drop");
    struct principal p = {.user_id = STR("usr_ana"), .how = AUTH_BY_TOKEN, .scopes = SCOPE_ALL};
    struct actor *narrow =
        actor_new(r->directory, STR(RIG_WORKSPACE), &p, (struct json_strs){&glob, 1});
    struct rig_turn *asked = ask(r, r->ana, "");
    struct rig_turn *t = rig_answer(r, narrow, asked, true);
    assert_int_equal(t->why, TURN_FORBIDDEN);
    assert_non_null(strstr(t->err.msg, "more rights than this token has"));
    assert_int_equal(rig_tools.started, 0);
    actor_unref(narrow);
}

WITH_RIG(the_run_of_a_member_who_left_cannot_be_resumed)
{
    struct rig *r = *state;
    struct rig_turn *own = rig_chat(r, r->ana, "", "hi");
    rig_share(r, own->conversation_id, "usr_ben");
    model_from_here();
    struct rig_turn *asked = ask(r, r->ben, own->conversation_id);
    rig_remove_member(r, "usr_ben");
    struct rig_turn *t = rig_answer(r, r->ana, asked, true);
    assert_int_equal(t->why, TURN_FORBIDDEN);
    assert_non_null(strstr(t->err.msg, "has no access any more"));
    assert_int_equal(rig_tools.started, 0);
}

/* ---- consents that are stored ---- */

/* Asks with a new conversation whether t__drop needs a question now. */
static bool is_asked(struct rig *r, const struct actor *who)
{
    rig_tools.started = 0;
    model_from_here();
    model_calls("t__drop", "{}");
    struct rig_turn *t = rig_chat(r, who, "", "drop it");
    assert_true((t->stop == RUN_STOP_WAITING) == (rig_tools.started == 0));
    return t->stop == RUN_STOP_WAITING;
}

WITH_RIG(a_consent_of_a_person_is_stored_for_that_person)
{
    struct rig *r = *state;
    struct turn_answer always = {.is_allowed = true, .remember = CONSENT_MINE};
    answer_as(r, r->ben, always, ask(r, r->ben, ""));
    assert_false(is_asked(r, r->ben));
    assert_true(is_asked(r, r->ana));
    rig_restart(r);
    assert_false(is_asked(r, r->ben));
}

WITH_RIG(only_an_admin_stores_a_consent_for_everybody)
{
    struct rig *r = *state;
    struct turn_answer for_all = {.is_allowed = true, .remember = CONSENT_WORKSPACE};
    struct rig_turn *asked = ask(r, r->ben, "");
    assert_int_equal(answer_as(r, r->ben, for_all, asked)->why, TURN_FORBIDDEN);
    assert_true(is_asked(r, r->ben));
    model_from_here();
    rig_tools.started = 0;
    answer_as(r, r->ana, for_all, ask(r, r->ana, ""));
    assert_false(is_asked(r, r->ben));
    assert_false(is_asked(r, r->ana));
}

WITH_RIG(always_for_one_call_stores_the_consent_for_its_tool)
{
    struct rig *r = *state;
    struct turn_answer a = {.decisions = parse(r, "{\"c1\":\"always\"}")};
    answer_as(r, r->ana, a, ask(r, r->ana, ""));
    assert_false(is_asked(r, r->ana));
}

WITH_RIG(a_tool_that_changes_the_workspace_asks_every_time)
{
    struct rig *r = *state;
    rig_tools.tools[5].is_workspace_change = true;
    registry_changed(r->tools, &rig_tools.source);
    struct rig_turn *asked = ask(r, r->ana, "");
    const struct json *opened = rig_last(r, asked->conversation_id, "ask.opened");
    assert_false(json_get_bool(json_at(json_get(opened, "calls"), 0), "canRemember", true));
    answer_as(r, r->ana, (struct turn_answer){.is_allowed = true, .remember = CONSENT_MINE}, asked);
    assert_true(is_asked(r, r->ana));
}

/* Tools that the sender allowed in advance: for this turn, and while nobody else wrote in it. */
WITH_RIG(a_consent_in_advance_is_for_messages_of_the_sender_alone)
{
    struct rig *r = *state;
    str glob = STR("t__*");
    struct turn_request req = {
        .actor = r->ana, .message = STR("drop it"), .auto_allow = {&glob, 1}};
    model_calls("t__drop", "{}");
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 1);

    rig_share(r, t->conversation_id, "usr_ben");
    rig_chat(r, r->ben, t->conversation_id, "and mine");
    model_from_here();
    model_calls("t__drop", "{}");
    req.conversation_id = str_from(t->conversation_id);
    struct rig_turn *mixed = rig_start(r, &req);
    rig_until(r, mixed->is_over);
    assert_int_equal(mixed->stop, RUN_STOP_WAITING);
}
