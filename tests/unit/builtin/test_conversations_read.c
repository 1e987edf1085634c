/* conversations__list, __get, __search, __stats, __export. */
#include "unit/builtin/builtin_rig.h"

static void share_with(struct rig *r, const char *id, const char *user_id)
{
    const char *args = arena_printf(&r->arena,
                                    "{\"action\":\"add_participant\",\"conversationId\":\"%s\","
                                    "\"userId\":\"%s\"}",
                                    id, user_id)
                           .p;
    const struct tool_answer *a = use(r, r->ana, "nb__manage_conversation", args);
    if (a->is_error)
        fail_msg("%s", a->text);
    builtin_rig.audited[0] = '\0';
}

static size_t listed(const struct tool_answer *a)
{
    const struct json *list = json_get(a->out, "conversations");
    assert_true(json_is(list, JSON_ARRAY));
    return list->len;
}

/* ---- list ---- */

BUILTIN_TEST(each_person_lists_their_own)
{
    struct rig *r = *state;
    const char *one = talk(r, r->ana, "apples"), *two = talk(r, r->ben, "pears");
    const struct tool_answer *a = use(r, r->ben, "conversations__list", "{}");
    assert_int_equal(listed(a), 1);
    assert_has(a->text, "1 of 1 conversations\n");
    assert_has(a->text, two);
    assert_has_not(a->text, one);
    share_with(r, one, "usr_ben");
    assert_int_equal(listed(use(r, r->ben, "conversations__list", "{}")), 2);
    assert_int_equal(listed(use(r, r->cyd, "conversations__list", "{}")), 0);
}

BUILTIN_TEST(a_page_names_the_next_one)
{
    struct rig *r = *state;
    for (int i = 0; i < 3; i++)
        talk(r, r->ana, "one of three");
    const struct tool_answer *a = use(r, r->ana, "conversations__list", "{\"limit\":2}");
    assert_int_equal(listed(a), 2);
    assert_int_equal(json_get_int(a->out, "totalCount", 0), 3);
    const char *rest = arena_printf(&r->arena, "{\"limit\":2,\"cursor\":\"%.*s\"}",
                                    STR_ARG(out_str(a, "nextCursor")))
                           .p;
    const struct tool_answer *last = use(r, r->ana, "conversations__list", rest);
    assert_int_equal(listed(last), 1);
    assert_int_equal(json_get(last->out, "nextCursor")->type, JSON_NULL);
}

BUILTIN_TEST(a_wrong_cursor_is_refused)
{
    struct rig *r = *state;
    talk(r, r->ana, "one");
    assert_true(use(r, r->ana, "conversations__list", "{\"cursor\":\"not one\"}")->is_error);
}

BUILTIN_TEST(a_list_is_narrowed_by_words)
{
    struct rig *r = *state;
    talk(r, r->ana, "apples and pears");
    talk(r, r->ana, "bicycles");
    const struct tool_answer *a = use(r, r->ana, "conversations__list", "{\"search\":\"apples\"}");
    assert_int_equal(listed(a), 1);
    const struct json *one = json_at(json_get(a->out, "conversations"), 0);
    assert_true(str_eq(json_get_string(one, "preview"), STR("apples and pears")));
    assert_true(str_eq(json_get_string(one, "visibility"), STR("private")));
    assert_int_equal(json_get_int(one, "messageCount", 0), 2);
}

/* ---- get ---- */

BUILTIN_TEST(messages_are_read_with_their_roles)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "what is a rig?");
    const struct tool_answer *a = use(r, r->ben, "conversations__get", with_id(r, id, ""));
    const struct json *m = json_get(a->out, "messages");
    assert_int_equal(m->len, 2);
    assert_true(str_eq(json_get_string(json_at(m, 0), "role"), STR("user")));
    assert_true(str_eq(json_get_string(json_at(m, 0), "content"), STR("what is a rig?")));
    assert_true(str_eq(json_get_string(json_at(m, 1), "role"), STR("assistant")));
    assert_true(str_eq(json_get_string(json_at(m, 1), "content"), STR("an answer")));
    assert_has(a->text, "): what is a rig?\nassistant (");
    assert_false(json_get_bool(a->out, "hasEarlier", true));
    assert_false(json_get_bool(a->out, "isCut", true));
}

BUILTIN_TEST(without_an_id_the_conversation_of_the_call_is_read)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "here");
    const struct tool_answer *a = use_in(r, r->ben, id, "conversations__get", "{}");
    assert_true(str_eq(out_str(a, "id"), str_from(id)));
    assert_refusal(use(r, r->ben, "conversations__get", "{}"), "There is no conversation ''.");
}

BUILTIN_TEST(metadata_has_no_messages)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "here");
    const struct tool_answer *a =
        use(r, r->ben, "conversations__get", with_id(r, id, "\"expand\":\"metadata\""));
    assert_null(json_get(a->out, "messages"));
    assert_has(a->text, "2 messages  ");
}

BUILTIN_TEST(a_limit_keeps_the_last_messages)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "first");
    model_says("second answer");
    rig_chat(r, r->ben, id, "second");
    const struct tool_answer *a =
        use(r, r->ben, "conversations__get", with_id(r, id, "\"limit\":2"));
    const struct json *m = json_get(a->out, "messages");
    assert_int_equal(m->len, 2);
    assert_true(str_eq(json_get_string(json_at(m, 0), "content"), STR("second")));
    assert_true(json_get_bool(a->out, "hasEarlier", false));
}

BUILTIN_TEST(tool_calls_are_shown_on_request)
{
    struct rig *r = *state;
    model_calls("t__ping", "{\"a\":1}");
    model_says("done");
    const char *id = rig_chat(r, r->ben, "", "ping it")->conversation_id;
    const struct tool_answer *a =
        use(r, r->ben, "conversations__get", with_id(r, id, "\"expand\":\"full\""));
    assert_has(a->text, "  [t__ping {\"a\":1} -> pong]\n");
    assert_has_not(use(r, r->ben, "conversations__get", with_id(r, id, ""))->text, "t__ping");
}

BUILTIN_TEST(a_long_conversation_is_cut)
{
    struct rig *r = *state;
    char *text = arena_alloc(&r->arena, 40001);
    memset(text, 'x', 40000);
    text[40000] = '\0';
    const char *id = talk(r, r->ben, text);
    const struct tool_answer *a = use(r, r->ben, "conversations__get", with_id(r, id, ""));
    assert_true(json_get_bool(a->out, "isCut", false));
    assert_true(strlen(a->text) <= 30000);
    assert_int_equal(json_get(a->out, "messages")->len, 1); /* nothing is left for the second */
}

/* ---- access: the same words, whether a conversation is missing or not for the caller ---- */

BUILTIN_TEST(strangers_cannot_tell_that_a_conversation_exists)
{
    static const char *const TOOLS[] = {"conversations__get", "conversations__export",
                                        "conversations__fork"};
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "private");
    for (size_t i = 0; i < ARRAY_LEN(TOOLS); i++) {
        const char *refusal = arena_printf(&r->arena, "There is no conversation '%s'.", id).p;
        assert_refusal(use(r, r->ben, TOOLS[i], with_id(r, id, "")), refusal);
        assert_refusal(use(r, r->cyd, TOOLS[i], with_id(r, id, "")), refusal);
        assert_refusal(use(r, r->ben, TOOLS[i], with_id(r, "conv_0", "")),
                       "There is no conversation 'conv_0'.");
    }
}

BUILTIN_TEST(an_id_that_is_not_one_is_absent)
{
    struct rig *r = *state;
    assert_refusal(use(r, r->ana, "conversations__get", "{\"id\":\"../../etc/passwd\"}"),
                   "There is no conversation '../../etc/passwd'.");
    assert_has(use(r, r->ana, "conversations__get",
                   with_id(r,
                           "conv_0123456789012345678901234567890123456789012345678901234567890123"
                           "4567890123456789",
                           ""))
                   ->text,
               "There is no conversation 'conv_01234");
}

BUILTIN_TEST(a_participant_reads_what_is_shared)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "for both");
    share_with(r, id, "usr_ben");
    assert_false(use(r, r->ben, "conversations__get", with_id(r, id, ""))->is_error);
    assert_true(use(r, r->cyd, "conversations__get", with_id(r, id, ""))->is_error);
}

/* ---- search ---- */

BUILTIN_TEST(a_search_groups_matches_by_conversation)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "walrus");
    for (int i = 0; i < 4; i++) {
        model_says("walrus walrus");
        rig_chat(r, r->ben, id, "walrus again");
    }
    const struct tool_answer *a = use(r, r->ben, "conversations__search", "{\"query\":\"walrus\"}");
    const struct json *results = json_get(a->out, "results");
    assert_int_equal(results->len, 1);
    assert_true(str_eq(json_get_string(json_at(results, 0), "id"), str_from(id)));
    assert_int_equal(json_get(json_at(results, 0), "matches")->len, 3); /* at most */
    assert_has_not(a->text, "\1");                                      /* no marks of the index */
}

BUILTIN_TEST(a_search_finds_only_what_the_caller_may_see)
{
    struct rig *r = *state;
    talk(r, r->ana, "secret walrus");
    const struct tool_answer *a = use(r, r->ben, "conversations__search", "{\"query\":\"walrus\"}");
    assert_answer(a, "Nothing was found.");
    assert_int_equal(json_get(a->out, "results")->len, 0);
}

BUILTIN_TEST(a_limit_counts_conversations)
{
    struct rig *r = *state;
    for (int i = 0; i < 3; i++)
        talk(r, r->ben, "walrus");
    const struct tool_answer *a =
        use(r, r->ben, "conversations__search", "{\"query\":\"walrus\",\"limit\":2}");
    assert_int_equal(json_get(a->out, "results")->len, 2);
}

/* ---- stats ---- */

BUILTIN_TEST(totals_count_what_the_caller_may_see)
{
    struct rig *r = *state;
    talk(r, r->ben, "one");
    talk(r, r->ben, "two");
    talk(r, r->ana, "not his");
    const struct tool_answer *a = use(r, r->ben, "conversations__stats", "{}");
    assert_has(a->text, "2 conversations, 4 messages, ");
    assert_has(a->text, "(period: all)\n");
    assert_true(json_is(a->out, JSON_OBJECT));
    assert_has(use(r, r->ben, "conversations__stats", "{\"period\":\"day\"}")->text,
               "(period: day)");
    assert_has(use(r, r->cyd, "conversations__stats", "{}")->text, "0 conversations, 0 messages");
}

BUILTIN_TEST(totals_can_be_cancelled)
{
    struct rig *r = *state;
    talk(r, r->ben, "one");
    struct tool_caller who = {.actor = r->ben};
    struct tool_answer *a = begin(r, &who, "conversations__stats", "{}");
    registry_cancel(a->call);
    assert_answer(use(r, r->ben, "nb__calculate", "{\"expression\":\"1\"}"), "1");
    assert_false(a->is_done);
}

/* ---- export ---- */

BUILTIN_TEST(an_export_is_a_document_and_is_recorded)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "what is a rig?");
    const struct tool_answer *a = use(r, r->ben, "conversations__export", with_id(r, id, ""));
    assert_has(a->text, "what is a rig?");
    assert_true(str_eq(out_str(a, "format"), STR("md")));
    assert_false(json_get_bool(a->out, "isCut", true));
    assert_audited(arena_printf(&r->arena, "usr_ben conversation.export %s ok mcp\n", id).p);
    const struct tool_answer *json =
        use(r, r->ben, "conversations__export", with_id(r, id, "\"format\":\"json\""));
    struct json *doc;
    assert_int_equal(json_parse(&r->arena, str_from(json->text), 0, &doc, NULL), 0);
}

BUILTIN_TEST(a_long_export_is_cut)
{
    struct rig *r = *state;
    char *text = arena_alloc(&r->arena, 40001);
    memset(text, 'x', 40000);
    text[40000] = '\0';
    const char *id = talk(r, r->ben, text);
    const struct tool_answer *a = use(r, r->ben, "conversations__export", with_id(r, id, ""));
    assert_true(json_get_bool(a->out, "isCut", false));
    assert_has(a->text, "\n[cut after 30000 characters]");
}

BUILTIN_TEST(a_refused_export_is_recorded_as_denied)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "private");
    assert_true(use(r, r->ben, "conversations__export", with_id(r, id, ""))->is_error);
    assert_audited(arena_printf(&r->arena, "usr_ben conversation.export %s denied mcp\n", id).p);
}
