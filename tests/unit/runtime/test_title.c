/* A conversation gets its title after the first answer. */
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

static void on_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    snprintf(ctx, 256, "%.*s", err ? 7 : (int)conv->title.n, err ? "(error)" : conv->title.p);
    if (!err && conv->title.n == 0)
        snprintf(ctx, 256, "(none)");
}

static const char *title_of(struct rig *r, const char *conversation_id)
{
    char *title = arena_alloc(&r->arena, 256);
    title[0] = '\0';
    store_get(r->store, str_from(conversation_id), on_conv, title);
    rig_until(r, title[0] != '\0');
    return title;
}

WITH_RIG(the_first_answer_gives_the_conversation_its_title)
{
    struct rig *r = *state;
    model_says("Paris is the capital.");
    struct rig_turn *t = rig_chat(r, r->ana, "", "What is the capital of France?");
    assert_string_equal(title_of(r, t->conversation_id), "A title");
    assert_non_null(strstr(rig_model.title_prompt, "User: What is the capital of France?"));
    assert_non_null(strstr(rig_model.title_prompt, "Assistant: Paris is the capital."));
    rig_chat(r, r->ana, t->conversation_id, "and of Spain?");
    assert_int_equal(rig_model.ntitles, 1);
    const struct json *usage = rig_last(r, t->conversation_id, "aux.usage");
    assert_true(str_eq(json_get_string(usage, "source"), STR("title")));
}

/* Models add quotes and words, refuse, or write an essay; then the question itself is the title. */
WITH_RIG(a_title_is_cleaned_or_replaced_by_the_question)
{
    static const struct {
        const char *answer, *title;
    } CASES[] = {
        {"\"Capital of France\"", "Capital of France"},
        {"Title: **Capital of France**", "Capital of France"},
        {"  Capital of France \n", "Capital of France"},
        {"I'm sorry, I cannot do that.", "What is it?"},
        {"I can't help", "What is it?"},
        {"One\nTwo", "What is it?"},
        {"a b c d e f g h i j k l m n o p q r s t u v w x y z", "What is it?"},
        {"", "What is it?"},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        rig_model.title.text = CASES[i].answer;
        struct rig_turn *t = rig_chat(r, r->ana, "", "What is it?");
        assert_string_equal(title_of(r, t->conversation_id), CASES[i].title);
    }
}

WITH_RIG(a_long_question_is_cut_at_a_word_for_the_title)
{
    static const struct {
        const char *question, *title;
    } CASES[] = {
        {"one two three four five six seven eight nine ten eleven twelve thirteen",
         "one two three four five six seven eight nine ten eleven"},
        {"the first line\nand the second", "the first line"},
    };
    struct rig *r = *state;
    rig_model.title = (struct model_answer){.error = "no", .error_kind = LLM_ERR_NETWORK};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct rig_turn *t = rig_chat(r, r->ana, "", CASES[i].question);
        assert_string_equal(title_of(r, t->conversation_id), CASES[i].title);
    }
}

WITH_RIG(a_failed_first_answer_is_no_reason_for_a_title_but_the_next_one_is)
{
    struct rig *r = *state;
    model_fails(LLM_ERR_NETWORK, "no");
    struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
    assert_string_equal(title_of(r, t->conversation_id), "(none)");
    rig_chat(r, r->ana, t->conversation_id, "hi again");
    assert_string_equal(title_of(r, t->conversation_id), "A title");
}

/* A person renamed the conversation while the model was looking for a title. */
WITH_RIG(a_title_of_a_person_is_not_replaced)
{
    struct rig *r = *state;
    char title[256] = "";
    rig_model.title.is_held = true;
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, t->is_over && model_waiting() == 1);
    store_set_title(r->store, str_from(t->conversation_id), STR("Mine"), on_conv, title);
    rig_until(r, title[0] != '\0');
    model_release();
    rig_settle(r);
    assert_string_equal(title_of(r, t->conversation_id), "Mine");
    assert_non_null(
        rig_last(r, t->conversation_id, "aux.usage")); /* it was paid for all the same */
}

/* nb -p ends without waiting for the title: the next message makes up for it. */
WITH_RIG(a_title_that_a_stop_interrupted_is_made_with_the_next_message)
{
    struct rig *r = *state;
    rig_model.title.is_held = true;
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, t->is_over && model_waiting() == 1);
    rig_restart(r);
    assert_string_equal(title_of(r, t->conversation_id), "(none)");
    rig_model.title.is_held = false;
    rig_chat(r, r->ana, t->conversation_id, "again");
    assert_string_equal(title_of(r, t->conversation_id), "A title");
    assert_int_equal(rig_model.ntitles, 2);
}

WITH_RIG(one_title_at_a_time_is_made_for_a_conversation)
{
    struct rig *r = *state;
    rig_model.title.is_held = true;
    struct rig_turn *t = rig_send(r, r->ana, "", "hi");
    rig_until(r, t->is_over && model_waiting() == 1);
    struct rig_turn *next = rig_send(r, r->ana, t->conversation_id, "again");
    rig_until(r, next->is_over);
    assert_int_equal(rig_model.ntitles, 1);
    model_release();
    rig_settle(r);
}
