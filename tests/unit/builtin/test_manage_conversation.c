/* nb__manage_conversation. */
#include "unit/builtin/builtin_rig.h"

static struct tool_answer *manage(struct rig *r, const struct actor *who, const char *id,
                                  const char *action, const char *more)
{
    const char *args = arena_printf(&r->arena, "{\"action\":\"%s\",\"conversationId\":\"%s\"%s%s}",
                                    action, id, more[0] ? "," : "", more)
                           .p;
    return use(r, who, "nb__manage_conversation", args);
}

static const char *participants(const struct tool_answer *a)
{
    struct rig *r = a->rig;
    return arena_cstr(&r->arena, json_to_str(&r->arena, json_get(a->out, "participants")));
}

static const char *record(struct rig *r, const char *action, const char *id, const char *outcome)
{
    return arena_printf(&r->arena, "%s %s %s mcp\n", action, id, outcome).p;
}

/* ---- sharing ---- */

BUILTIN_TEST(people_are_named_by_id_address_or_name)
{
    static const char *const NAMES[] = {"usr_ben", "ben@example.com", "BEN@example.com", "Ben",
                                        "ben"};
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        const char *id = talk(r, r->ana, "to share");
        const char *more = arena_printf(&r->arena, "\"participants\":[\"%s\"]", NAMES[i]).p;
        const struct tool_answer *a = manage(r, r->ana, id, "share", more);
        assert_false(a->is_error);
        assert_has(participants(a), "\"usr_ben\"");
        assert_true(str_eq(out_str(a, "visibility"), STR("shared")));
        assert_true(str_eq(out_str(a, "ownerId"), STR("usr_ana")));
        assert_has(a->text, "is shared: its participants see everything in it. "
                            "Owner: Ana (usr_ana). Participants besides the owner: "
                            "Ben (usr_ben).");
    }
}

BUILTIN_TEST(sharing_with_nobody_is_possible)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    const struct tool_answer *a = manage(r, r->ana, id, "share", "");
    assert_has(a->text, "Participants besides the owner: nobody.");
}

BUILTIN_TEST(one_unknown_person_shares_with_nobody)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    const struct tool_answer *a =
        manage(r, r->ana, id, "share", "\"participants\":[\"Ben\",\"Zoe\"]");
    assert_refusal(a,
                   "'Zoe' is not a member of this workspace. The action \"members\" lists them.");
    assert_true(use(r, r->ben, "conversations__get", with_id(r, id, ""))->is_error);
}

/* An account on the server is not enough. */
BUILTIN_TEST(somebody_outside_of_the_workspace_is_not_added)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    assert_refusal(manage(r, r->ana, id, "add_participant", "\"userId\":\"usr_cyd\""),
                   "'usr_cyd' is not a member of this workspace. The action \"members\" lists "
                   "them.");
}

BUILTIN_TEST(a_name_that_two_people_have_is_refused)
{
    struct rig *r = *state;
    rig_change(r, (struct change){.kind = CHANGE_USER_ADD,
                                  .user_id = STR("usr_ben2"),
                                  .display_name = STR("BEN"),
                                  .has_role = true,
                                  .role = ORG_MEMBER,
                                  .email = STR("other@example.com")});
    bool is_done = false;
    struct change c = {.kind = CHANGE_MEMBER_SET,
                       .workspace_id = STR(RIG_WORKSPACE),
                       .user_id = STR("usr_ben2"),
                       .ws_role = WS_MEMBER};
    directory_change(r->directory, &c, on_rig_changed, &is_done);
    rig_until(r, is_done);
    const char *id = talk(r, r->ana, "to share");
    assert_refusal(manage(r, r->ana, id, "add_participant", "\"userId\":\"ben\""),
                   "2 members of this workspace are called 'ben'. Use the e-mail address or the "
                   "id. The action \"members\" lists them.");
}

/* ---- one person more or less ---- */

BUILTIN_TEST(a_participant_is_added_and_removed)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    assert_false(manage(r, r->ana, id, "add_participant", "\"userId\":\"Ben\"")->is_error);
    assert_false(use(r, r->ben, "conversations__get", with_id(r, id, ""))->is_error);
    const struct tool_answer *a =
        manage(r, r->ana, id, "remove_participant", "\"userId\":\"ben@example.com\"");
    assert_false(a->is_error);
    assert_has_not(participants(a), "usr_ben");
    assert_true(use(r, r->ben, "conversations__get", with_id(r, id, ""))->is_error);
}

BUILTIN_TEST(a_person_is_required)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    static const char *const ACTIONS[] = {"add_participant", "remove_participant"};
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++)
        assert_refusal(manage(r, r->ana, id, ACTIONS[i], ""),
                       "userId is required for this action: an id, an e-mail address or a name.");
}

BUILTIN_TEST(the_owner_stays_and_others_must_take_part)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    assert_refusal(manage(r, r->ana, id, "remove_participant", "\"userId\":\"Ana\""),
                   "The owner cannot be removed.");
    assert_refusal(manage(r, r->ana, id, "remove_participant", "\"userId\":\"Ben\""),
                   "'usr_ben' is not a participant of this conversation.");
    assert_refusal(manage(r, r->ana, id, "remove_participant", "\"userId\":\"Zoe\""),
                   "'Zoe' is not a participant of this conversation.");
}

/* Somebody who has left the workspace has no name there any more, only an id. */
BUILTIN_TEST(somebody_who_has_left_can_be_removed)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    manage(r, r->ana, id, "add_participant", "\"userId\":\"usr_ben\"");
    rig_remove_member(r, "usr_ben");
    const struct tool_answer *a =
        manage(r, r->ana, id, "remove_participant", "\"userId\":\"usr_ben\"");
    assert_false(a->is_error);
    assert_has_not(participants(a), "usr_ben");
}

BUILTIN_TEST(unsharing_ends_the_access_of_participants)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    manage(r, r->ana, id, "share", "\"participants\":[\"Ben\"]");
    const struct tool_answer *a = manage(r, r->ana, id, "unshare", "");
    assert_has(a->text, "is private. ");
    assert_true(str_eq(out_str(a, "visibility"), STR("private")));
    assert_true(use(r, r->ben, "conversations__get", with_id(r, id, ""))->is_error);
}

/* ---- who may ---- */

BUILTIN_TEST(participants_do_not_share_further)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    manage(r, r->ana, id, "share", "\"participants\":[\"Ben\"]");
    static const char *const ACTIONS[] = {"share", "unshare", "add_participant",
                                          "remove_participant"};
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        const struct tool_answer *a = manage(r, r->ben, id, ACTIONS[i], "\"userId\":\"usr_ben\"");
        assert_refusal(
            a, "Only the owner of a conversation and admins of the workspace may share it.");
    }
}

BUILTIN_TEST(an_admin_shares_a_conversation_of_another_person)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "his");
    const struct tool_answer *a = manage(r, r->ana, id, "share", "\"participants\":[\"Ana\"]");
    assert_false(a->is_error);
    assert_true(str_eq(out_str(a, "ownerId"), STR("usr_ben"))); /* it stays his */
    assert_false(manage(r, r->ana, id, "remove_participant", "\"userId\":\"Ana\"")->is_error);
    assert_refusal(manage(r, r->ana, id, "remove_participant", "\"userId\":\"Ben\""),
                   "The owner cannot be removed.");
}

BUILTIN_TEST(strangers_share_nothing)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "private");
    const struct tool_answer *a = manage(r, r->cyd, id, "share", "");
    assert_refusal(a, arena_printf(&r->arena, "There is no conversation '%s'.", id).p);
}

/* ---- records ---- */

BUILTIN_TEST(changes_and_refusals_are_recorded)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "to share");
    manage(r, r->ana, id, "share", "\"participants\":[\"Ben\"]");
    assert_has(builtin_rig.audited, record(r, "conversation.share", id, "ok"));
    builtin_rig.audited[0] = '\0';
    manage(r, r->ana, id, "remove_participant", "\"userId\":\"Ben\"");
    assert_has(builtin_rig.audited, record(r, "participant.remove", "usr_ben", "ok"));
    builtin_rig.audited[0] = '\0';
    manage(r, r->ben, id, "unshare", "");
    assert_audited(
        arena_printf(&r->arena, "usr_ben %s", record(r, "conversation.unshare", id, "denied")).p);
    manage(r, r->ana, id, "add_participant", "\"userId\":\"Zoe\"");
    assert_audited(
        arena_printf(&r->arena, "usr_ana %s", record(r, "participant.add", id, "failed")).p);
}

/* ---- members ---- */

BUILTIN_TEST(members_are_listed_with_their_roles)
{
    struct rig *r = *state;
    const struct tool_answer *a =
        use(r, r->ben, "nb__manage_conversation", "{\"action\":\"members\"}");
    assert_answer(a, "usr_ana  Ana  ana@example.com  admin\nusr_ben  Ben  ben@example.com  "
                     "member\n");
    assert_int_equal(json_get(a->out, "members")->len, 2);
    assert_audited("");
}

BUILTIN_TEST(the_older_name_reaches_the_tool)
{
    struct rig *r = *state;
    assert_false(use(r, r->ben, "manage_conversation", "{\"action\":\"members\"}")->is_error);
}
