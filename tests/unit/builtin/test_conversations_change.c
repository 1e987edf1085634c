/* conversations__update, __fork, __note, __delete. */
#include "unit/builtin/builtin_rig.h"

static const char *share_ben(struct rig *r, const char *id)
{
    const char *args = arena_printf(&r->arena,
                                    "{\"action\":\"share\",\"conversationId\":\"%s\","
                                    "\"participants\":[\"usr_ben\"]}",
                                    id)
                           .p;
    assert_false(use(r, r->ana, "nb__manage_conversation", args)->is_error);
    builtin_rig.audited[0] = '\0';
    return id;
}

static const char *records(struct rig *r, const char *user, const char *action, const char *id,
                           const char *outcome)
{
    return arena_printf(&r->arena, "%s %s %s %s mcp\n", user, action, id, outcome).p;
}

/* ---- update ---- */

BUILTIN_TEST(the_owner_renames)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "hello");
    const struct tool_answer *a =
        use(r, r->ben, "conversations__update", with_id(r, id, "\"title\":\"New name\""));
    assert_true(str_eq(out_str(a, "title"), STR("New name")));
    assert_has(a->text, "New name\n");
    const struct json *e = rig_last(r, id, "metadata.title");
    assert_true(str_eq(json_get_string(e, "title"), STR("New name")));
    assert_null(json_get(e, "auto")); /* a person's choice, which nb does not replace */
}

BUILTIN_TEST(a_title_of_spaces_is_refused)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "hello");
    assert_refusal(use(r, r->ben, "conversations__update", with_id(r, id, "\"title\":\"  \"")),
                   "title: must not be empty");
}

BUILTIN_TEST(only_the_owner_renames)
{
    struct rig *r = *state;
    const char *id = share_ben(r, talk(r, r->ana, "for both"));
    assert_refusal(use(r, r->ben, "conversations__update", with_id(r, id, "\"title\":\"x\"")),
                   "Only the owner of a conversation may rename, delete or restore it.");
    const char *stranger = arena_printf(&r->arena, "There is no conversation '%s'.", id).p;
    assert_refusal(use(r, r->cyd, "conversations__update", with_id(r, id, "\"title\":\"x\"")),
                   stranger);
}

/* ---- fork ---- */

BUILTIN_TEST(a_fork_belongs_to_the_person_who_made_it)
{
    struct rig *r = *state;
    const char *id = share_ben(r, talk(r, r->ana, "for both"));
    const struct tool_answer *a = use(r, r->ben, "conversations__fork", with_id(r, id, ""));
    assert_true(str_eq(out_str(a, "forkedFrom"), str_from(id)));
    assert_int_equal(json_get_int(a->out, "messageCount", 0), 2);
    assert_true(str_eq(out_str(a, "visibility"), STR("private")));
    const char *copy = arena_cstr(&r->arena, out_str(a, "id"));
    assert_string_not_equal(copy, id);
    assert_true(use(r, r->cyd, "conversations__get", with_id(r, copy, ""))->is_error);
    assert_false(
        use(r, r->ben, "conversations__update", with_id(r, copy, "\"title\":\"mine\""))->is_error);
}

BUILTIN_TEST(a_fork_may_end_earlier)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "first");
    rig_chat(r, r->ben, id, "second");
    const struct tool_answer *a =
        use(r, r->ben, "conversations__fork", with_id(r, id, "\"atMessage\":2"));
    assert_int_equal(json_get_int(a->out, "messageCount", 0), 2);
    const struct tool_answer *all =
        use(r, r->ben, "conversations__fork", with_id(r, id, "\"atMessage\":99"));
    assert_int_equal(json_get_int(all->out, "messageCount", 0), 4); /* there are not more */
}

BUILTIN_TEST(without_an_id_the_calling_conversation_is_forked)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "here");
    const struct tool_answer *a = use_in(r, r->ben, id, "conversations__fork", "{}");
    assert_true(str_eq(out_str(a, "forkedFrom"), str_from(id)));
}

/* ---- note ---- */

BUILTIN_TEST(a_note_is_the_models_and_no_message)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "hello");
    const struct tool_answer *a =
        use(r, r->ben, "conversations__note", with_id(r, id, "\"text\":\"remember\""));
    assert_false(a->is_error);
    assert_int_equal(json_get_int(a->out, "messageCount", 0), 2);
    const struct json *note = rig_last(r, id, "note");
    assert_true(str_eq(json_get_string(note, "content"), STR("remember")));
    assert_true(str_eq(json_get_string(note, "author"), STR("model")));
}

BUILTIN_TEST(a_participant_writes_notes_and_a_stranger_does_not)
{
    struct rig *r = *state;
    const char *id = share_ben(r, talk(r, r->ana, "for both"));
    const char *args = with_id(r, id, "\"text\":\"n\"");
    assert_false(use(r, r->ben, "conversations__note", args)->is_error);
    assert_true(use(r, r->cyd, "conversations__note", args)->is_error);
}

BUILTIN_TEST(a_note_has_a_limit)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "hello");
    char *text = arena_alloc(&r->arena, 16002);
    memset(text, 'x', 16001);
    text[16001] = '\0';
    const char *more = arena_printf(&r->arena, "\"text\":\"%s\"", text).p;
    const struct tool_answer *a = use(r, r->ben, "conversations__note", with_id(r, id, more));
    assert_true(a->is_error);
    assert_has(a->text, "text");
}

/* ---- delete ---- */

BUILTIN_TEST(the_owner_deletes_and_it_is_recorded)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "hello");
    const struct tool_answer *a = use(r, r->ben, "conversations__delete", with_id(r, id, ""));
    assert_answer(a, "Deleted. It can be restored for 7 days.");
    assert_true(str_eq(out_str(a, "id"), str_from(id)));
    assert_audited(records(r, "usr_ben", "conversation.delete", id, "ok"));
    assert_true(use(r, r->ben, "conversations__get", with_id(r, id, ""))->is_error);
}

BUILTIN_TEST(a_conversation_cannot_delete_itself)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "hello");
    const struct tool_answer *a =
        use_in(r, r->ben, id, "conversations__delete", with_id(r, id, ""));
    assert_refusal(a, "A conversation cannot delete itself. Delete it from another conversation.");
    assert_audited(arena_printf(&r->arena, "usr_ben conversation.delete %s failed run\n", id).p);
}

BUILTIN_TEST(participants_and_strangers_do_not_delete)
{
    struct rig *r = *state;
    const char *id = share_ben(r, talk(r, r->ana, "for both"));
    assert_refusal(use(r, r->ben, "conversations__delete", with_id(r, id, "")),
                   "Only the owner of a conversation may rename, delete or restore it.");
    assert_audited(records(r, "usr_ben", "conversation.delete", id, "denied"));
    assert_true(use(r, r->cyd, "conversations__delete", with_id(r, id, ""))->is_error);
    assert_audited(records(r, "usr_cyd", "conversation.delete", id, "denied"));
    assert_false(use(r, r->ana, "conversations__get", with_id(r, id, ""))->is_error);
}

BUILTIN_TEST(a_run_in_a_deleted_conversation_is_cancelled)
{
    struct rig *r = *state;
    MODEL(.partial = "thinking", .is_held = true);
    struct rig_turn *t = rig_send(r, r->ben, "", "a long task");
    rig_until(r, model_waiting() > 0);
    const char *id = t->conversation_id;
    assert_false(use(r, r->ben, "conversations__delete", with_id(r, id, ""))->is_error);
    rig_until(r, t->is_over);
    assert_int_equal(t->stop, RUN_STOP_CANCELLED);
}
