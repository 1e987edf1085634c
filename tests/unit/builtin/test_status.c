/* nb__status, nb__bundle_status, nb__discover_bundles and nb__discover_tools. */
#include "unit/builtin/builtin_rig.h"

/* ---- nb__status ---- */

BUILTIN_TEST(the_overview_names_model_tools_and_store)
{
    struct rig *r = *state;
    const struct tool_answer *a = use(r, r->ana, "nb__status", "{}");
    assert_false(a->is_error);
    assert_has(a->text, "nb " NB_VERSION "\n");
    assert_has(a->text, "Model: demo:demo (");
    assert_has(a->text, "from 4 sources (conversations, files, nb, t)\n");
    assert_has(a->text, "Store: ");
    assert_has(a->text, "Uptime: 1 h 2 min 3 s\n");
    assert_has(a->text, "Conversations: 0\n");
    assert_has(a->text, "\"id\":\"ID\""); /* without a conversation the example has no id */
}

BUILTIN_TEST(the_overview_lists_only_what_the_caller_may_see)
{
    struct rig *r = *state;
    const char *mine = talk(r, r->ben, "my own plans");
    const char *other = talk(r, r->ana, "her own plans");
    const struct tool_answer *a = use(r, r->ben, "nb__status", "{}");
    assert_has(a->text, "Conversations: 1\n");
    assert_has(a->text, mine);
    assert_has_not(a->text, other);
}

BUILTIN_TEST(the_example_is_another_conversation_than_the_calling_one)
{
    struct rig *r = *state;
    const char *older = talk(r, r->ana, "older"), *here = talk(r, r->ana, "here");
    const struct tool_answer *a = use_in(r, r->ana, here, "nb__status", "{}");
    assert_has(a->text, arena_printf(&r->arena, "conversations__delete {\"id\":\"%s\"}", older).p);
}

BUILTIN_TEST(the_overview_has_at_most_five_conversations)
{
    struct rig *r = *state;
    for (int i = 0; i < 6; i++)
        talk(r, r->ana, "one of many");
    const struct tool_answer *a = use(r, r->ana, "nb__status", "{}");
    size_t lines = 0;
    for (const char *p = a->text; (p = strstr(p, "\n- conv_")) != NULL; p++)
        lines++;
    assert_int_equal(lines, 5);
    assert_has(a->text, "Conversations: 6\n");
}

BUILTIN_TEST(settings_are_shown_without_secrets)
{
    struct rig *r = *state;
    const struct tool_answer *a = use(r, r->ben, "nb__status", "{\"scope\":\"config\"}");
    assert_has(a->text, "Store: ");
    assert_has(a->text, "Limits: ");
    assert_has(a->text, "Models: default chosen by nb, fast the same\n");
    assert_has_not(a->text, "key");
}

BUILTIN_TEST(skills_are_found_by_a_part_of_their_name)
{
    struct rig *r = *state;
    const char *make =
        "{\"action\":\"create\",\"name\":\"Release-Notes\",\"skill\":{\"description\":"
        "\"writes notes\",\"body\":\"b\",\"keywords\":[\"release\"]}}";
    assert_false(use(r, r->ana, "nb__manage_skill", make)->is_error);
    const struct tool_answer *a =
        use(r, r->ben, "nb__status", "{\"scope\":\"skills\",\"name\":\"release\"}");
    assert_has(a->text, "- Release-Notes (skill, ");
    assert_has(a->text, "): writes notes\n");
    assert_answer(use(r, r->ben, "nb__status", "{\"scope\":\"skills\",\"name\":\"zebra\"}"),
                  "Nothing found.");
}

BUILTIN_TEST(without_bundles_there_are_none)
{
    struct rig *r = *state;
    assert_answer(use(r, r->ben, "nb__status", "{\"scope\":\"bundles\"}"), "Nothing found.");
    assert_answer(use(r, r->ben, "nb__bundle_status", "{}"), "No bundles are installed.");
    assert_answer(use(r, r->ben, "nb__bundle_status", "{\"name\":\"x\"}"),
                  "No bundle has this text in its name.");
}

BUILTIN_TEST(the_registry_of_bundles_may_be_missing)
{
    struct rig *r = *state;
    assert_refusal(use(r, r->ben, "nb__discover_bundles", "{\"query\":\"mail\"}"),
                   "No bundle registry is available here.");
}

/* ---- nb__discover_tools ---- */

static const struct tool_answer *discover(struct rig *r, const struct actor *who, const char *query)
{
    const char *args = arena_printf(&r->arena, "{\"query\":\"%s\"}", query).p;
    const struct tool_answer *a = use(r, who, "nb__discover_tools", args);
    assert_false(a->is_error);
    return a;
}

static const char *first_found(const struct tool_answer *a)
{
    const char *at = strstr(a->text, "\n- ");
    assert_non_null(at);
    return at + 3;
}

BUILTIN_TEST(a_name_weighs_more_than_a_description)
{
    struct rig *r = *state;
    const struct tool_answer *a = discover(r, r->ben, "delete");
    assert_true(str_starts(str_from(first_found(a)), STR("conversations__delete: ")));
    assert_has(a->text, "nb__manage_skill"); /* its description has the word */
}

BUILTIN_TEST(case_and_word_order_do_not_matter)
{
    struct rig *r = *state;
    assert_true(
        str_starts(str_from(first_found(discover(r, r->ben, "CURRENT date"))), STR("nb__time: ")));
    assert_string_equal(discover(r, r->ben, "date current")->text,
                        discover(r, r->ben, "current   DATE")->text);
}

BUILTIN_TEST(an_empty_query_lists_the_first_twenty)
{
    struct rig *r = *state;
    const struct tool_answer *a = discover(r, r->ben, "");
    size_t n = 0;
    for (const char *p = a->text; (p = strstr(p, "\n- ")) != NULL; p++)
        n++;
    assert_int_equal(n, 20);
    assert_has(a->text, "29 tools found; the best matches:\n");
}

BUILTIN_TEST(nothing_found_names_sources_that_are_absent)
{
    struct rig *r = *state;
    const struct tool_answer *a = discover(r, r->ben, "zebra");
    assert_has(a->text, "No tool matches.");
    assert_has_not(a->text, "t is away");
    rig_tools.absence = "t is away";
    registry_changed(r->tools, &rig_tools.source);
    assert_has(discover(r, r->ben, "ping")->text, "\n- t is away");
}

BUILTIN_TEST(tools_for_interfaces_alone_are_not_found)
{
    struct rig *r = *state;
    assert_has(discover(r, r->ana, "ping")->text, "t__ping");
    rig_tools.tools[0].is_internal = rig_tools.tools[0].is_for_apps = true;
    registry_changed(r->tools, &rig_tools.source);
    assert_has(discover(r, r->ana, "ping")->text, "No tool matches.");
}

BUILTIN_TEST(a_narrowed_token_finds_only_its_tools)
{
    struct rig *r = *state;
    struct actor *narrow = with_token(r, "usr_ben", SCOPE_ALL, "t__*");
    const struct tool_answer *a = discover(r, narrow, "");
    assert_has(a->text, "t__ping");
    assert_has_not(a->text, "conversations__list");
    rig_tools.absence = "t is away";
    registry_changed(r->tools, &rig_tools.source);
    struct actor *other = with_token(r, "usr_ben", SCOPE_ALL, "conversations__*");
    assert_has_not(discover(r, other, "ping")->text, "t is away");
    actor_unref(narrow);
    actor_unref(other);
}

BUILTIN_TEST(a_token_without_the_admin_scope_does_not_find_tools_of_admins)
{
    struct rig *r = *state;
    struct actor *token = with_token(r, "usr_ana", SCOPES_DEFAULT, NULL);
    assert_has(discover(r, r->ana, "bundle")->text, "nb__manage_bundle");
    assert_has(discover(r, token, "bundle")->text, "nb__bundle_status");
    assert_has_not(discover(r, token, "bundle")->text, "nb__manage_bundle: ");
    actor_unref(token);
}

/* What a run has found is shown to the model from then on. */
BUILTIN_TEST(found_tools_are_shown_in_the_run)
{
    struct rig *r = *state;
    r->config.limits.max_direct_tools = 3;
    model_calls("nb__discover_tools", "{\"query\":\"ping\"}");
    model_says("done");
    struct rig_turn *t = rig_chat(r, r->ben, "", "find ping");
    assert_string_equal(t->response, "done");
    assert_null(strstr(rig_model.seen[0].tools, "t__ping"));
    assert_non_null(strstr(rig_model.seen[1].tools, "t__ping"));
}
