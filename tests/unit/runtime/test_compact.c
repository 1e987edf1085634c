/* Long conversations are summarised before the next message is sent. */
#include "runtime/turn/compact.h"
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

static struct rig_turn *ask_for_summary(struct rig *r, const char *id, const char *message)
{
    struct turn_request req = {.actor = r->ana,
                               .conversation_id = str_from(id),
                               .message = str_from(message),
                               .channel = STR("test"),
                               .wants_summary = true};
    struct rig_turn *t = rig_start(r, &req);
    rig_until(r, t->is_over && list_empty(&r->runtime->titles));
    return t;
}

/* Nothing is long here: the sender wants it. */
TEST_WITH(a_summary_that_the_sender_wants_leaves_the_newest_messages, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *id = "";
    for (int i = 0; i < 5; i++)
        id = rig_chat(r, r->ana, id, i == 0 ? "first words" : "later words")->conversation_id;
    rig_model.summary.text = "They spoke.";
    size_t calls = rig_model.nseen;
    assert_int_equal(ask_for_summary(r, id, "next")->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_model.nsummaries, 1);
    assert_non_null(strstr(rig_model.seen[calls].messages, "They spoke."));
    const struct json *event = rig_last(r, id, "history.compacted");
    assert_int_equal(json_get_int(event, "keptMessages", 0), COMPACT_KEEP_MESSAGES);
    assert_int_equal(json_get_int(event, "summarizedMessageCount", 0), 6);
}

TEST_WITH(there_is_nothing_to_summarise_in_a_new_conversation, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *id = rig_chat(r, r->ana, "", "hello")->conversation_id;
    assert_int_equal(ask_for_summary(r, id, "next")->stop, RUN_STOP_COMPLETE);
    assert_int_equal(rig_model.nsummaries, 0);
    assert_int_equal(ask_for_summary(r, "", "a new one")->stop, RUN_STOP_COMPLETE);
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

/* ---- without a summary ---- */

/* Messages of 4,000 bytes in a window of 6,000 tokens: with seven of them it is full. */
static const char *fill_window(struct rig *r)
{
    r->config.limits.max_input_tokens = 100000;
    const char *id = talk(r, 7);
    r->config.limits.max_input_tokens = 6000;
    return id;
}

IN_A_SMALL_WINDOW(a_conversation_that_does_not_fit_is_cut_when_there_is_no_summary)
{
    static const struct model_answer BAD[] = {
        {.error = "overloaded", .error_kind = LLM_ERR_OVERLOADED},
        {.text = " \n"},
    };
    static const char *const WHY[] = {"overloaded", "the model's summary is empty"};
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        rig_model.nsummaries = 0;
        rig_model.summary = BAD[i];
        const char *id = fill_window(r);
        size_t calls = rig_model.nseen;
        assert_int_equal(rig_chat(r, r->ana, id, "next")->stop, RUN_STOP_COMPLETE);
        assert_int_equal(rig_model.nsummaries, 1);
        const struct json *event = rig_last(r, id, "history.compacted");
        assert_non_null(event);
        assert_true(str_eq(json_get_string(event, "cutBecause"), str_from(WHY[i])));
        assert_true(json_get_int(event, "keptMessages", 0) >= COMPACT_KEEP_MESSAGES);
        const char *sent = rig_model.seen[calls].messages;
        assert_non_null(strstr(sent, "messages are left out here without a summary"));
        assert_null(strstr(sent, "user: first "));
        assert_non_null(strstr(sent, "- first ")); /* what the user said stays, bounded */
        assert_non_null(strstr(sent, "user: next\n"));
        rig_restart(r); /* and the next turn says the same, from the log */
        rig_chat(r, r->ana, id, "and next");
        assert_int_equal(rig_model.nsummaries, 1);
        assert_non_null(strstr(rig_model.seen[calls + 1].messages,
                               "messages are left out here without a summary"));
    }
}

/* A cut adds to the summary that was there. */
IN_A_SMALL_WINDOW(a_cut_keeps_the_earlier_summary)
{
    struct rig *r = *state;
    const char *id = talk(r, 5);
    rig_model.summary.text = "They spoke of x.";
    rig_chat(r, r->ana, id, "next");
    rig_model.summary = (struct model_answer){.error = "no", .error_kind = LLM_ERR_AUTH};
    for (int i = 0; i < 5; i++)
        rig_chat(r, r->ana, id, long_text(r, "later "));
    const struct json *event = rig_last(r, id, "history.compacted");
    assert_true(json_get_string(event, "cutBecause").n > 0);
    assert_true(str_starts(json_get_string(event, "summary"), STR("They spoke of x.\n\n[")));
}

/* ---- many messages ---- */

/* A conversation with so many short messages, half of them the user's. */
static const char *say_much(struct rig *r, size_t messages)
{
    const char *id = rig_chat(r, r->ana, "", "the first of all")->conversation_id;
    size_t n = messages - 2;
    str *lines = arena_array(&r->arena, n, sizeof *lines);
    for (size_t i = 0; i < n; i++)
        lines[i] = i % 2 == 0
                       ? arena_printf(&r->arena,
                                      "{\"type\":\"user.message\",\"content\":\"question %zu\","
                                      "\"userId\":\"usr_ana\"}",
                                      i / 2)
                       : arena_printf(&r->arena,
                                      "{\"type\":\"llm.response\",\"runId\":\"r%zu\",\"model\":"
                                      "\"demo:demo\",\"content\":\"answer %zu\",\"finishReason\":"
                                      "\"stop\"}",
                                      i / 2, i / 2);
    bool is_done = false;
    store_append(r->store, str_from(id), lines, n, on_rig_appended, &is_done);
    rig_until(r, is_done);
    return id;
}

TEST_WITH(very_many_messages_are_summarised_however_short_they_are, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *few = say_much(r, COMPACT_MESSAGES), *many = say_much(r, COMPACT_MESSAGES + 2);
    rig_chat(r, r->ana, few, "next");
    assert_int_equal(rig_model.nsummaries, 0);
    size_t calls = rig_model.nseen;
    rig_chat(r, r->ana, many, "next");
    assert_int_equal(rig_model.nsummaries, 1);
    const struct json *event = rig_last(r, many, "history.compacted");
    assert_int_equal(json_get_int(event, "keptMessages", 0), COMPACT_KEEP_MESSAGES_MAX);
    assert_int_equal(json_get_int(event, "summarizedMessageCount", 0),
                     COMPACT_MESSAGES + 2 - COMPACT_KEEP_MESSAGES_MAX);
    assert_null(strstr(rig_model.seen[calls].messages, "assistant: answer 0\n"));
    assert_non_null(strstr(rig_model.seen[calls].messages, "- question 0\n"));
    assert_non_null(strstr(rig_model.seen[calls].messages, "assistant: answer 499\n"));
}

/* Nothing is lost while there is time to try again; then the conversation is cut. */
TEST_WITH(very_many_messages_are_cut_when_there_is_no_summary, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    rig_model.summary = (struct model_answer){.error = "no", .error_kind = LLM_ERR_AUTH};
    const char *many = say_much(r, COMPACT_MESSAGES + 2);
    rig_chat(r, r->ana, many, "next");
    assert_int_equal(rig_model.nsummaries, 1);
    assert_null(rig_last(r, many, "history.compacted"));
    const char *most = say_much(r, COMPACT_MESSAGES_MAX + 2);
    size_t calls = rig_model.nseen;
    rig_chat(r, r->ana, most, "next");
    assert_int_equal(rig_model.nsummaries, 2);
    assert_int_equal(json_get_int(rig_last(r, most, "history.compacted"), "keptMessages", 0),
                     COMPACT_KEEP_MESSAGES_MAX);
    assert_non_null(strstr(rig_model.seen[calls].messages, "without a summary"));
    assert_non_null(strstr(rig_model.seen[calls].messages, "- question 0\n"));
}

/* An imported log may be longer than a turn reads: the next turn shortens it once and for all. */
TEST_WITH(a_log_that_was_never_summarised_is_read_to_a_limit_once, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *id = say_much(r, 2 * MODEL_LINES_MESSAGES_MAX);
    size_t calls = rig_model.nseen;
    rig_chat(r, r->ana, id, "next");
    rig_restart(r);
    rig_chat(r, r->ana, id, "next");
    assert_int_equal(rig_model.nsummaries, 1);
    assert_null(strstr(rig_model.seen[calls].messages, "user: the first of all"));
    assert_non_null(strstr(rig_model.seen[calls].messages, "- the first of all\n"));
    const char *after = strstr(rig_model.seen[calls + 1].messages, "user: next\n");
    assert_non_null(after);
    size_t same = (size_t)(after - rig_model.seen[calls + 1].messages);
    assert_memory_equal(rig_model.seen[calls].messages, rig_model.seen[calls + 1].messages, same);
}

/* The rights of a run are those of everybody who wrote a message, also of one that is left out. */
TEST_WITH(authors_of_messages_that_are_left_out_still_count, rig_set_up, rig_tear_down)
{
    struct rig *r = *state;
    const char *id = rig_chat(r, r->ana, "", "one")->conversation_id;
    rig_share(r, id, "usr_ben");
    rig_append(r, id,
               "{\"type\":\"user.message\",\"content\":\"psst\",\"userId\":\"usr_ben\","
               "\"toolLimit\":[\"t__p*\"]}");
    for (int i = 0; i < 4; i++)
        rig_append(r, id, "{\"type\":\"user.message\",\"content\":\"x\",\"userId\":\"usr_ana\"}");
    rig_append(r, id, "{\"type\":\"history.compacted\",\"summary\":\"S\",\"keptMessages\":2}");
    for (int i = 0; i < 2; i++) {
        rig_restart(r);
        MODEL(.text = "ok", .is_held = true);
        struct rig_turn *t = rig_send(r, r->ana, id, "next");
        rig_until(r, model_waiting() == 1);
        struct turn *turn = t->turn->turn;
        assert_true(actor_has_user(turn->actor, STR("usr_ben")));
        assert_false(actor_is_admin(turn->actor));
        assert_true(actor_is_narrowed(turn->actor));
        assert_non_null(strstr(rig_model.seen[rig_model.nseen - 1].messages, "[usr_ana] next"));
        model_release();
        rig_until(r, t->is_over);
    }
}
