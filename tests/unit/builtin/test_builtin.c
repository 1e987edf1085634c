/* The source of the built-in tools: what it offers, whom it lets in, how its calls end. */
#include "unit/builtin/builtin_rig.h"

BUILTIN_TEST(every_tool_has_a_schema_hints_and_a_scope)
{
    struct rig *r = *state;
    const struct toolset *all = registry_tools(r->tools);
    size_t n = 0;
    for (size_t i = 0; i < all->len; i++) {
        const struct toolset_item *it = &all->items[i];
        if (str_eq(it->source, STR("t")))
            continue;
        n++;
        assert_true(json_is(it->tool->input_schema, JSON_OBJECT));
        assert_true(it->tool->title.n > 0 && it->tool->description.n > 0);
        /* Clients treat a missing destructiveHint as true, so a writing tool has it. */
        assert_true(json_get(it->tool->annotations, "readOnlyHint"));
        if (!json_get_bool(it->tool->annotations, "readOnlyHint", false))
            assert_true(json_get(it->tool->annotations, "destructiveHint"));
        assert_true(it->tool->scope == SCOPE_READ || it->tool->scope == SCOPE_WRITE ||
                    it->tool->scope == SCOPE_ADMIN);
    }
    assert_int_equal(n, 23);
}

BUILTIN_TEST(an_action_that_only_reads_is_known_as_such)
{
    struct rig *r = *state;
    const struct tool *t = toolset_find(registry_tools(r->tools), STR("nb__manage_skill"))->tool;
    assert_true(tool_call_reads(t, rig_args(r, "{\"action\":\"list\"}")));
    assert_true(tool_call_reads(t, rig_args(r, "{\"action\":\"show\"}")));
    assert_false(tool_call_reads(t, rig_args(r, "{\"action\":\"create\"}")));
    assert_false(tool_call_reads(t, rig_args(r, "{}")));
}

/* A row of docs/access.md for each action; every row names a scope and a role. */
TEST(the_table_of_rights_is_complete)
{
    struct builtin_access a;
    size_t n = 0, admins = 0, of_skills = 0;
    for (; builtin_access_at(n, &a); n++) {
        assert_true(a.rule.scope != 0 && a.rule.space != WS_NONE);
        admins += a.rule.space == WS_ADMIN;
        of_skills += strcmp(a.name, "manage_skill") == 0;
        if (strcmp(a.name, "manage_skill") == 0 && a.scope && strcmp(a.scope, "personal") == 0)
            assert_int_equal(a.rule.space, WS_MEMBER);
        if (strcmp(a.name, "delete") == 0)
            assert_int_equal(a.rule.conv, RULE_CONV_MANAGE);
    }
    assert_int_equal(of_skills, 10);
    assert_int_equal(admins, 4 + 4); /* skills of the workspace, bundles */
}

BUILTIN_TEST(a_feature_that_is_off_has_no_tool)
{
    struct rig *r = *state;
    builtin_free(builtin_rig.builtin);
    r->config.features.delegation = false;
    r->config.features.skill_management = false;
    builtin_rig.builtin = builtin_new(&(struct builtin_deps){.runtime = r->runtime});
    assert_int_equal(builtin_register(builtin_rig.builtin, r->tools, NULL), 0);
    const struct toolset *all = registry_tools(r->tools);
    assert_null(toolset_find(all, STR("nb__delegate")));
    assert_null(toolset_find(all, STR("nb__manage_skill")));
    assert_non_null(toolset_find(all, STR("nb__status")));
    assert_has(use(r, r->ana, "nb__delegate", "{\"task\":\"x\"}")->text, "nb__delegate");
}

/* A workspace has no copies of its own of what all workspaces have. */
BUILTIN_TEST(workspaces_share_the_descriptions_of_tools)
{
    struct rig *r = *state;
    struct builtin_catalog *catalog = builtin_catalog_new();
    struct builtin_deps deps = {.runtime = r->runtime, .catalog = catalog};
    struct registry *registries[2];
    struct builtin *builtins[2];
    const struct tool *tools[2];
    for (int i = 0; i < 2; i++) {
        registries[i] = registry_new(r->loop);
        builtins[i] = builtin_new(&deps);
        assert_int_equal(builtin_register(builtins[i], registries[i], NULL), 0);
        tools[i] = toolset_find(registry_tools(registries[i]), STR("nb__manage_skill"))->tool;
    }
    assert_ptr_equal(tools[0]->input_schema, tools[1]->input_schema);
    assert_ptr_equal(tools[0]->annotations, tools[1]->annotations);
    for (int i = 0; i < 2; i++) {
        builtin_free(builtins[i]);
        registry_free(registries[i]);
    }
    builtin_catalog_free(catalog);
}

/* ---- arguments ---- */

BUILTIN_TEST(wrong_arguments_are_named)
{
    static const struct {
        const char *tool, *args, *words;
    } CASES[] = {
        {"nb__calculate", "{}", "expression"},
        {"nb__calculate", "{\"expression\":1}", "expression"},
        {"nb__calculate", "{\"expression\":\"1\",\"more\":2}", "more"},
        {"nb__time", "{\"zone\":\"UTC\"}", "zone"},
        {"nb__delegate", "{\"task\":\"\"}", "task"},
        {"nb__delegate", "{\"task\":\"x\",\"maxIterations\":11}", "maxIterations"},
        {"nb__manage_skill", "{\"action\":\"create\",\"name\":\"a b\"}", "name"},
        {"nb__manage_conversation", "{\"action\":\"own\"}", "action"},
        {"conversations__list", "{\"limit\":0}", "limit"},
        {"conversations__list", "{\"limit\":101}", "limit"},
        {"conversations__get", "{\"expand\":\"all\"}", "expand"},
        {"conversations__search", "{\"query\":\"\"}", "query"},
        {"conversations__export", "{\"format\":\"pdf\"}", "format"},
        {"conversations__update", "{\"title\":\"\"}", "title"},
        {"conversations__note", "{}", "text"},
        {"conversations__delete", "{}", "id"},
        {"conversations__fork", "{\"atMessage\":-1}", "atMessage"},
        {"conversations__stats", "{\"period\":\"decade\"}", "period"},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct tool_answer *a = use(r, r->ana, CASES[i].tool, CASES[i].args);
        assert_true(a->is_error);
        assert_has(a->text, CASES[i].words);
        assert_has(a->text, CASES[i].tool);
    }
    assert_audited(""); /* nothing was refused for want of rights, and nothing was done */
}

BUILTIN_TEST(a_missing_action_is_refused_by_the_schema)
{
    struct rig *r = *state;
    const struct tool_answer *a = use(r, r->ana, "nb__manage_skill", "{}");
    assert_true(a->is_error);
    assert_has(a->text, "action");
}

/* ---- roles ---- */

BUILTIN_TEST(tools_for_admins_refuse_members_and_record_it)
{
    struct rig *r = *state;
    assert_refusal(use(r, r->ben, "nb__manage_skill", "{\"action\":\"delete\",\"name\":\"x\"}"),
                   "Only admins of the workspace may change its skills: they are part of "
                   "everybody's prompt. With scope \"personal\" you change your own.");
    assert_audited("usr_ben skill.delete x denied mcp\n");
    assert_refusal(
        use(r, r->ben, "nb__manage_bundle", "{\"action\":\"install\",\"name\":\"@a/b\"}"),
        "Manage bundles: only admins of the workspace may use this tool.");
    assert_audited("usr_ben bundle.install @a/b denied mcp\n");
}

BUILTIN_TEST(somebody_who_left_has_no_role)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ben, "mine");
    rig_remove_member(r, "usr_ben");
    const struct tool_answer *a = use(r, r->ben, "conversations__get", with_id(r, id, ""));
    assert_true(a->is_error);
    assert_has(a->text, "There is no conversation");
}

/* ---- probes: the rules of a call without the call ---- */

BUILTIN_TEST(a_probe_refuses_what_the_call_would_refuse)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "mine");
    const char *args = with_id(r, id, "\"title\":\"t\"");
    assert_answer(probe(r, r->ana, "conversations__update", args), "");
    assert_true(probe(r, r->ben, "conversations__update", args)->is_error);
    assert_true(
        probe(r, r->ben, "nb__manage_skill", "{\"action\":\"create\",\"name\":\"x\"}")->is_error);
    assert_answer(probe(r, r->ana, "nb__manage_skill", "{\"action\":\"create\",\"name\":\"x\"}"),
                  "");
    /* It changes nothing. */
    assert_has(
        use(r, r->ana, "conversations__get", with_id(r, id, "\"expand\":\"metadata\""))->text,
        "A title");
}

/* ---- ends ---- */

BUILTIN_TEST(a_cancelled_call_is_not_answered_and_not_recorded)
{
    struct rig *r = *state;
    const char *id = talk(r, r->ana, "mine");
    struct tool_caller who = {.actor = r->ben, .via = STR("mcp")};
    struct tool_answer *a = begin(r, &who, "conversations__delete", with_id(r, id, ""));
    registry_cancel(a->call);
    struct tool_answer *other = use(r, r->ana, "nb__calculate", "{\"expression\":\"1\"}");
    assert_answer(other, "1");
    assert_false(a->is_done);
    assert_audited("");
}

BUILTIN_TEST(the_end_of_the_source_answers_open_calls)
{
    struct rig *r = *state;
    store_hold(RIG_GET);
    struct tool_caller who = {.actor = r->ana};
    struct tool_answer *a = begin(r, &who, "conversations__get", "{\"id\":\"conv_1\"}");
    builtin_free(builtin_rig.builtin);
    builtin_rig.builtin = NULL;
    rig_until(r, a->is_done);
    assert_true(a->is_error);
    assert_has(a->text, "was removed while the call ran");
    store_go();
}

BUILTIN_TEST(an_error_of_the_store_is_reported)
{
    struct rig *r = *state;
    store_fault(RIG_GET, NULL, -EIO);
    assert_refusal(use(r, r->ana, "conversations__get", "{\"id\":\"conv_1\"}"),
                   "Input/output error");
    store_fault(RIG_GET, NULL, 0);
}
