/* Long conversations are summarised before the next message is sent. */
#include "support/rig.h"

/* Messages of 4,000 bytes are about 1,000 tokens, and the window has 6,000: a few of them fill it.
 */
static int set_up(void **state)
{
    int r = rig_set_up(state);
    struct rig *rig = *state;
    rig->config.limits.max_input_tokens = 6000;
    return r;
}

#define IN_A_SMALL_WINDOW(name) TEST_WITH(name, set_up, rig_tear_down)

static const char *long_text(struct rig *r, const char *first_word)
{
    char *text = arena_alloc(&r->arena, 4001);
    memset(text, 'x', 4000);
    text[4000] = '\0';
    memcpy(text, first_word, strlen(first_word));
    return text;
}

/* n exchanges of a long message and "ok"; returns the conversation. */
static const char *talk(struct rig *r, int n)
{
    const char *id = "";
    for (int i = 0; i < n; i++)
        id = rig_chat(r, r->ana, id, long_text(r, i == 0 ? "first " : "later "))->conversation_id;
    assert_int_equal(rig_model.nsummaries, 0);
    return id;
}

IN_A_SMALL_WINDOW(a_short_conversation_is_sent_whole)
{
    struct rig *r = *state;
    const char *id = talk(r, 2);
    rig_chat(r, r->ana, id, "next");
    assert_int_equal(rig_model.nsummaries, 0);
    assert_non_null(strstr(rig_model.seen[2].messages, "user: first "));
}

IN_A_SMALL_WINDOW(old_messages_are_replaced_by_their_summary_and_new_ones_are_kept)
{
    struct rig *r = *state;
    const char *id = talk(r, 5);
    rig_model.summary.text = "They spoke of x.";
    size_t calls = rig_model.nseen;
    struct rig_turn *t = rig_chat(r, r->ana, id, "next");
    assert_int_equal(t->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_model.nsummaries, 1);
    assert_non_null(strstr(rig_model.summary_prompt, "User: first "));
    assert_null(strstr(rig_model.seen[calls].messages, "user: first "));
    assert_non_null(strstr(rig_model.seen[calls].messages, "They spoke of x."));
    assert_non_null(strstr(rig_model.seen[calls].messages, "user: later "));
    assert_non_null(strstr(rig_model.seen[calls].messages, "user: next\n"));
    const struct json *event = rig_last(r, id, "history.compacted");
    assert_true(str_eq(json_get_string(event, "summary"), STR("They spoke of x.")));
    assert_true(json_get_int(event, "keptMessages", 0) > 0);
}

/* The next turn has the summary from the log; it makes none again. */
IN_A_SMALL_WINDOW(a_summary_is_made_once)
{
    struct rig *r = *state;
    const char *id = talk(r, 5);
    rig_chat(r, r->ana, id, "next");
    size_t calls = rig_model.nseen;
    rig_restart(r);
    rig_chat(r, r->ana, id, "and next");
    assert_int_equal(rig_model.nsummaries, 1);
    assert_non_null(strstr(rig_model.seen[calls].messages, "A summary"));
}

/* The message waits for the summary, and is in the log only afterwards. */
IN_A_SMALL_WINDOW(the_message_is_accepted_after_the_summary)
{
    struct rig *r = *state;
    const char *id = talk(r, 5);
    rig_model.summary.is_held = true;
    struct rig_turn *t = rig_send(r, r->ana, id, "next");
    rig_until(r, model_waiting() == 1);
    assert_false(t->is_started);
    model_release();
    rig_until(r, t->is_over);
    const char *types = rig_log_types(r, id);
    const char *end = strstr(types, "history.compacted");
    assert_non_null(end);
    assert_string_equal(end, "history.compacted user.message run.start llm.response run.done");
}

/* Without a summary the model gets the long conversation, and its provider decides. */
IN_A_SMALL_WINDOW(a_summary_that_fails_does_not_refuse_the_message)
{
    static const struct model_answer BAD[] = {
        {.error = "overloaded", .error_kind = LLM_ERR_OVERLOADED},
        {.text = "  \n"},
    };
    struct rig *r = *state;
    const char *id = talk(r, 5);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        rig_model.summary = BAD[i];
        size_t calls = rig_model.nseen;
        assert_int_equal(rig_chat(r, r->ana, id, "next")->stop, RUN_STOP_COMPLETE);
        assert_non_null(strstr(rig_model.seen[calls].messages, "user: first "));
    }
    assert_int_equal(rig_model.nsummaries, 2);
    assert_null(rig_last(r, id, "history.compacted"));
}

IN_A_SMALL_WINDOW(cancelling_ends_the_summary_and_the_turn)
{
    struct rig *r = *state;
    const char *id = talk(r, 5);
    rig_model.summary.is_held = true;
    struct rig_turn *t = rig_send(r, r->ana, id, "next");
    rig_until(r, model_waiting() == 1);
    turn_cancel(t->turn);
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_CANCELLED);
    assert_int_equal(rig_model.ncancelled, 1);
    assert_null(rig_last(r, id, "history.compacted"));
}

/* Whatever our estimate was: the provider has refused the conversation as too long. */
IN_A_SMALL_WINDOW(a_conversation_that_was_too_long_for_the_provider_is_summarised)
{
    struct rig *r = *state;
    r->config.limits.max_input_tokens = 100000;
    const char *id = talk(r, 4);
    model_from_here();
    model_fails(LLM_ERR_TOO_LONG, "too long");
    assert_string_equal(rig_chat(r, r->ana, id, "next")->error_type, "context_too_long");
    rig_chat(r, r->ana, id, "again");
    assert_int_equal(rig_model.nsummaries, 1);
    assert_null(strstr(rig_model.seen[rig_model.nseen - 1].messages, "user: first "));
}

IN_A_SMALL_WINDOW(the_summary_is_billed)
{
    struct rig *r = *state;
    const char *id = talk(r, 5);
    rig_model.summary.usage = (struct conv_usage){.input_tokens = 77, .output_tokens = 3};
    rig_chat(r, r->ana, id, "next");
    const struct json *usage = rig_last(r, id, "aux.usage");
    assert_true(str_eq(json_get_string(usage, "source"), STR("compaction")));
}
