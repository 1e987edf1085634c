/* Permissions, stored consents and skills that change while the workspace is open. */
#include "runtime/skill_change.h"
#include "support/rig.h"

#define WITH_RIG(name) TEST_WITH(name, rig_set_up, rig_tear_down)

struct changed {
    bool is_done;
    struct err err;
};

static void on_changed(void *ctx, const struct err *err)
{
    struct changed *c = ctx;
    c->is_done = true;
    if (err)
        c->err = *err;
}

static struct json *parse(struct rig *r, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&r->arena, str_from(text), 0, &v, NULL), 0);
    return v;
}

static str settings_file(struct rig *r)
{
    str text = STR_NONE;
    char path[128];
    snprintf(path, sizeof path, "%s/workspace.json", r->root);
    assert_int_equal(file_read(&r->arena, path, 65536, &text, NULL), 0);
    return text;
}

static const struct toolset_item *tool(struct rig *r, const char *name)
{
    return registry_find(r->tools, str_from(name), NULL, true);
}

/* ---- permissions ---- */

WITH_RIG(permissions_are_in_the_settings_before_they_take_effect)
{
    struct rig *r = *state;
    struct changed c = {0};
    runtime_set_permissions(r->runtime, parse(r, "{\"deny\":[\"t__ping\"]}"), on_changed, &c);
    assert_false(c.is_done);
    rig_until(r, c.is_done);
    assert_int_equal(c.err.code, 0);
    assert_true(str_find(settings_file(r), STR("t__ping"), 0) >= 0);
    assert_int_equal(permission_decide(runtime_permissions(r->runtime), tool(r, "t__ping")),
                     PERMISSION_DENY);
}

/* Both are written; the one that was asked for last is in effect. */
WITH_RIG(changes_of_permissions_are_made_one_after_the_other)
{
    struct rig *r = *state;
    struct changed first = {0}, second = {0};
    runtime_set_permissions(r->runtime, parse(r, "{\"deny\":[\"t__ping\"]}"), on_changed, &first);
    runtime_set_permissions(r->runtime, parse(r, "{\"deny\":[\"t__read\"]}"), on_changed, &second);
    rig_until(r, second.is_done);
    assert_true(first.is_done);
    assert_true(str_find(settings_file(r), STR("t__read"), 0) >= 0);
    assert_int_equal(permission_decide(runtime_permissions(r->runtime), tool(r, "t__ping")),
                     PERMISSION_ALLOW);
    assert_int_equal(permission_decide(runtime_permissions(r->runtime), tool(r, "t__read")),
                     PERMISSION_DENY);
}

WITH_RIG(permissions_that_cannot_be_written_do_not_take_effect)
{
    struct rig *r = *state;
    struct changed c = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/workspace.json", r->root);
    assert_int_equal(file_write_atomic(path, STR("{ not JSON"), 0600, NULL), 0);
    runtime_set_permissions(r->runtime, parse(r, "{\"deny\":[\"t__ping\"]}"), on_changed, &c);
    rig_until(r, c.is_done);
    assert_true(c.err.code < 0);
    assert_int_equal(permission_decide(runtime_permissions(r->runtime), tool(r, "t__ping")),
                     PERMISSION_ALLOW);
}

/* The client has gone; the change is made all the same, and stopping waits for it. */
WITH_RIG(a_forgotten_change_is_still_made)
{
    struct rig *r = *state;
    struct changed c = {0};
    rule_change_forget(
        runtime_set_permissions(r->runtime, parse(r, "{\"deny\":[\"t__ping\"]}"), on_changed, &c));
    rig_stop_runtime(r);
    assert_false(c.is_done);
    assert_true(str_find(settings_file(r), STR("t__ping"), 0) >= 0);
}

/* ---- stored consents ---- */

WITH_RIG(a_withdrawn_consent_ends_now_and_after_a_restart)
{
    struct rig *r = *state;
    struct changed c = {0};
    consents_add(&r->runtime->consents, STR("usr_ben"), STR("t__drop"));
    consents_add(&r->runtime->consents, STR("usr_ana"), STR("t__drop"));
    assert_true(runtime_has_consent(r->runtime, STR("usr_ben"), tool(r, "t__drop")));
    assert_null(runtime_withdraw_consent(r->runtime, STR("usr_ben"), STR("t__ping"), on_changed,
                                         &c)); /* there is none */
    assert_non_null(
        runtime_withdraw_consent(r->runtime, STR("usr_ben"), STR("t__drop"), on_changed, &c));
    assert_false(runtime_has_consent(r->runtime, STR("usr_ben"), tool(r, "t__drop")));
    rig_until(r, c.is_done);
    rig_restart(r);
    assert_false(runtime_has_consent(r->runtime, STR("usr_ben"), tool(r, "t__drop")));
    assert_true(runtime_has_consent(r->runtime, STR("usr_ana"), tool(r, "t__drop")));
}

WITH_RIG(consents_end_with_the_membership_of_their_person)
{
    struct rig *r = *state;
    consents_add(&r->runtime->consents, STR("usr_ben"), STR("t__drop"));
    consents_add(&r->runtime->consents, STR("usr_ben"), STR("t__ping"));
    runtime_forget_user(r->runtime, STR("usr_ben"));
    assert_int_equal(runtime_consents(r->runtime, &r->arena, STR("usr_ben")).len, 0);
    rig_restart(r);
    assert_int_equal(runtime_consents(r->runtime, &r->arena, STR("usr_ben")).len, 0);
}

/* Rules of the workspace take precedence over what a person once allowed. */
WITH_RIG(a_tool_under_ask_is_asked_about_in_spite_of_a_consent)
{
    struct rig *r = *state;
    consents_add(&r->runtime->consents, STR("usr_ana"), STR("t__ping"));
    assert_true(runtime_has_consent(r->runtime, STR("usr_ana"), tool(r, "t__ping")));
    rig_use_permissions(r, "{\"ask\":[\"t__ping\"]}");
    assert_false(runtime_has_consent(r->runtime, STR("usr_ana"), tool(r, "t__ping")));
}

/* ---- skills ---- */

#define RHYMES                                                                                     \
    "---\nname: rhymes\ndescription: answers in rhymes\ntype: context\n---\nAlways answer in "     \
    "rhymes.\n"

static struct changed change_skill(struct rig *r, const char *owner, const char *text)
{
    struct changed c = {0};
    struct skill_change_spec spec = {
        .name = STR("rhymes"), .owner = str_from(owner), .text = str_from(text)};
    skill_change_start(r->runtime, &spec, on_changed, &c);
    rig_until(r, c.is_done);
    return c;
}

static bool has_rhymes(struct rig *r, const struct actor *who)
{
    size_t i = rig_model.nseen;
    rig_chat(r, who, "", "hi");
    return strstr(rig_model.seen[i].system, "Always answer in rhymes.") != NULL;
}

WITH_RIG(a_skill_is_in_the_prompt_of_the_next_message_and_gone_after_its_deletion)
{
    struct rig *r = *state;
    assert_int_equal(change_skill(r, "", RHYMES).err.code, 0);
    assert_true(has_rhymes(r, r->ana));
    assert_true(has_rhymes(r, r->ben));
    assert_int_equal(change_skill(r, "", "").err.code, 0);
    assert_false(has_rhymes(r, r->ana));
    assert_true(change_skill(r, "", "").err.code < 0); /* there is none any more */
}

WITH_RIG(a_personal_skill_is_for_messages_of_its_person)
{
    struct rig *r = *state;
    assert_int_equal(change_skill(r, "usr_ben", RHYMES).err.code, 0);
    assert_true(has_rhymes(r, r->ben));
    assert_false(has_rhymes(r, r->ana));
}

/* As soon as somebody else writes, the personal skill does not apply any more. */
WITH_RIG(a_personal_skill_ends_with_the_first_message_of_somebody_else)
{
    struct rig *r = *state;
    change_skill(r, "usr_ana", RHYMES);
    struct rig_turn *t = rig_chat(r, r->ana, "", "hi");
    rig_share(r, t->conversation_id, "usr_ben");
    rig_chat(r, r->ben, t->conversation_id, "hello");
    rig_chat(r, r->ana, t->conversation_id, "again");
    assert_non_null(strstr(rig_model.seen[0].system, "Always answer in rhymes."));
    assert_null(strstr(rig_model.seen[2].system, "Always answer in rhymes."));
}
