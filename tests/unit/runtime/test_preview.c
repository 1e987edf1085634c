/* A preview takes the way of a message up to its run: it must show the same, and change nothing. */
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

struct shown {
    bool is_done, is_compaction_due;
    char request[16 * 1024], model[64], conversation_id[96];
    size_t prompt_tokens, tool_tokens, message_tokens, nmessages;
};

static struct shown shown;

static void on_preview(void *ctx, const struct preview *p)
{
    shown = (struct shown){.is_done = true, .is_compaction_due = p->is_compaction_due};
    RIG_KEEP(shown.request, p->request);
    RIG_KEEP(shown.model, p->model);
    RIG_KEEP(shown.conversation_id, p->conversation_id);
    shown.prompt_tokens = p->prompt_tokens;
    shown.tool_tokens = p->tool_tokens;
    shown.message_tokens = p->message_tokens;
    shown.nmessages = p->parts->input.nmessages;
}

static struct rig_turn *preview(struct rig *r, const struct actor *who, const char *id,
                                const char *message)
{
    struct turn_request req = {.actor = who,
                               .conversation_id = str_from(id),
                               .message = str_from(message),
                               .on_preview = on_preview};
    shown = (struct shown){0};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, shown.is_done || t->is_over);
    return t;
}

WITH_RIG(a_preview_of_a_new_conversation_creates_none)
{
    struct rig *r = *state;
    preview(r, r->ana, "", "what would you send?");
    assert_true(shown.is_done);
    assert_string_equal(shown.model, "demo:demo");
    assert_string_equal(shown.conversation_id, "");
    assert_non_null(strstr(shown.request, "what would you send?"));
    assert_non_null(strstr(shown.request, "t__ping"));
    assert_true(shown.prompt_tokens > 0 && shown.tool_tokens > 0 && shown.message_tokens > 0);
    assert_int_equal(rig_store.kinds[RIG_CREATE].made, 0);
    assert_int_equal(rig_model.nseen, 0);
    assert_int_equal(runtime_runs(r->runtime), 0);
}

WITH_RIG(a_preview_shows_the_history_and_appends_nothing)
{
    struct rig *r = *state;
    model_says("one");
    struct rig_turn *t = rig_chat(r, r->ana, "", "first");
    preview(r, r->ana, t->conversation_id, "second");
    assert_int_equal(shown.nmessages, 3);
    assert_non_null(strstr(shown.request, "first"));
    assert_log(r, t->conversation_id, "user.message run.start llm.response run.done");
    assert_int_equal(rig_chat(r, r->ana, t->conversation_id, "third")->stop, RUN_STOP_COMPLETE);
    assert_null(strstr(rig_model.seen[1].messages, "second")); /* the cache did not keep it */
}

WITH_RIG(a_preview_does_not_wait_for_a_run)
{
    struct rig *r = *state;
    MODEL(.is_held = true);
    struct rig_turn *busy = rig_send(r, r->ana, "", "first");
    rig_until(r, model_waiting() == 1);
    preview(r, r->ana, busy->conversation_id, "second");
    assert_true(shown.is_done && !busy->is_over);
    model_release();
    rig_until(r, busy->is_over);
}

WITH_RIG(a_preview_needs_the_same_right_as_the_message)
{
    struct rig *r = *state;
    struct rig_turn *t = rig_chat(r, r->ana, "", "first");
    assert_int_equal(preview(r, r->ben, t->conversation_id, "second")->why, TURN_NOT_FOUND);
    assert_int_equal(preview(r, r->ana, t->conversation_id, "")->why, TURN_BAD_REQUEST);
    assert_false(shown.is_done);
}

/* The message would decline an open question; a preview only shows that. */
WITH_RIG(a_preview_leaves_an_open_question_open)
{
    struct rig *r = *state;
    model_calls("t__drop", "{}");
    struct rig_turn *asked = rig_chat(r, r->ana, "", "drop it");
    preview(r, r->ana, asked->conversation_id, "never mind");
    assert_non_null(strstr(shown.request, "continued without allowing this call"));
    assert_int_equal(rig_answer(r, r->ana, asked, true)->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_tools.started, 1);
}

WITH_RIG(a_preview_reports_that_a_summary_would_be_made_and_makes_none)
{
    struct rig *r = *state;
    char text[4001];
    const char *id = "";
    memset(text, 'x', sizeof text - 1);
    text[4000] = '\0';
    r->config.limits.max_input_tokens = 6000;
    for (int i = 0; i < 5; i++)
        id = rig_chat(r, r->ana, id, text)->conversation_id;
    preview(r, r->ana, id, "next");
    assert_true(shown.is_compaction_due);
    assert_int_equal(rig_model.nsummaries, 0);
}
