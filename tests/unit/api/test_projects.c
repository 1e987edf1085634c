/* /v1/projects and /v1/budgets: who may read and change them. */
#include "runtime/budget.h"
#include "support/api_rig.h"
#include "workspace/projects.h"

static int set_up(void **state)
{
    (void)api_set_up(state);
    struct api_rig *t = *state;
    str path = arena_printf(&t->rig->arena, "%s/projects.json", t->rig->root);
    t->space.projects = projects_open(&(struct doc_place){.pool = t->rig->pool, .path = path.p});
    path = arena_printf(&t->rig->arena, "%s/budgets.json", t->rig->root);
    t->space.budgets = budgets_open(&(struct doc_place){.pool = t->rig->pool, .path = path.p});
    return 0;
}

static int tear_down(void **state)
{
    struct api_rig *t = *state;
    projects_free(t->space.projects);
    budgets_free(t->space.budgets);
    t->space.projects = NULL;
    t->space.budgets = NULL;
    return api_tear_down(state);
}

static const char *add(struct api_rig *t, const char *who, const char *body)
{
    struct api_answer a = api_call(t, who, "POST", "/v1/projects", body);
    assert_status(a, 200);
    return arena_printf(&t->rig->arena, "/v1/projects/%s", api_text(t, a.json, "id")).p;
}

static size_t count(struct api_rig *t, const char *who)
{
    struct api_answer a = api_get(t, who, "/v1/projects");
    assert_status(a, 200);
    return json_get(a.json, "projects")->len;
}

TEST_WITH(a_project_is_absent_for_those_who_are_not_in_it, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *path = add(t, "ben", "{\"name\":\"Apollo\",\"instructions\":\"Be brief.\"}");
    assert_int_equal(count(t, "ben"), 1);
    assert_int_equal(count(t, "ana"), 1); /* an admin */
    assert_int_equal(count(t, "dan"), 0);
    assert_refused(api_call(t, "dan", "PATCH", path, "{\"name\":\"x\"}"), 404, "not_found",
                   "No such project.");
    assert_status(api_call(t, "ben", "PATCH", path, "{\"members\":[\"usr_dan\"]}"), 200);
    assert_int_equal(count(t, "dan"), 1);
    assert_status(api_call(t, "dan", "PATCH", path, "{\"name\":\"x\"}"), 403);
    assert_status(api_call(t, "dan", "DELETE", path, NULL), 403);
    assert_status(api_call(t, "ana", "DELETE", path, NULL), 200);
    assert_int_equal(count(t, "ben"), 0);
}

TEST_WITH(a_bad_project_is_refused, set_up, tear_down)
{
    static const char *const BODIES[] = {"{}",
                                         "{\"name\":\"\"}",
                                         "{\"name\":5}",
                                         "{\"name\":\"x\",\"members\":[\"usr_cyd\"]}",
                                         "{\"name\":\"x\",\"members\":[5]}",
                                         "{\"name\":\"x\",\"instructions\":[]}"};
    struct api_rig *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        struct api_answer a = api_call(t, "ben", "POST", "/v1/projects", BODIES[i]);
        if (a.status != 400)
            fail_msg("%s: %d %.*s", BODIES[i], a.status, STR_ARG(a.body));
    }
    assert_int_equal(count(t, "ben"), 0);
}

TEST_WITH(admins_set_budgets_and_members_see_their_own, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"personUsd\":5,\"workspaceUsd\":50}";
    assert_status(api_call(t, "ben", "PUT", "/v1/budgets", body), 403);
    assert_status(api_call(t, "ana", "PUT", "/v1/budgets", body), 200);
    struct api_answer a = api_get(t, "ben", "/v1/budgets");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "workspace"), "{\"state\":\"ok\"}");
    assert_null(json_get(a.json, "limits"));
    assert_string_equal(api_text(t, json_get(a.json, "personal"), "state"), "ok");
    assert_status(api_call(t, "ana", "PUT", "/v1/budgets", "{\"people\":{\"x y\":1}}"), 400);
    assert_status(api_call(t, "ana", "PUT", "/v1/budgets", "{\"personUsd\":-1}"), 400);
}

/* Begins a conversation, in a project unless that is empty, and returns its address. */
static const char *begin(struct api_rig *t, const char *who, const char *project)
{
    str body = arena_printf(&t->rig->arena, "{\"message\":\"hi\"%s%s%s}",
                            project[0] ? ",\"projectId\":\"" : "", project, project[0] ? "\"" : "");
    model_says("hello");
    struct api_answer a = api_call(t, who, "POST", "/v1/chat", body.p);
    assert_status(a, 200);
    return arena_printf(&t->rig->arena, "/v1/conversations/%s",
                        api_text(t, a.json, "conversationId"))
        .p;
}

static size_t listed(struct api_rig *t, const char *who, const char *project)
{
    str path = arena_printf(&t->rig->arena, "/v1/conversations?project=%s", project);
    struct api_answer a = api_get(t, who, path.p);
    assert_status(a, 200);
    return json_get(a.json, "conversations")->len;
}

TEST_WITH(a_conversation_moves_into_a_project_without_being_read_there, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *path = add(t, "ben", "{\"name\":\"Apollo\",\"members\":[\"usr_dan\"]}");
    const char *id = path + strlen("/v1/projects/");
    const char *conv = begin(t, "ben", "");
    str move = arena_printf(&t->rig->arena, "%s/project", conv);
    str body = arena_printf(&t->rig->arena, "{\"projectId\":\"%s\"}", id);
    assert_status(api_call(t, "dan", "PUT", move.p, body.p), 404); /* not his conversation */
    assert_int_equal(listed(t, "ben", id), 0);
    assert_status(api_call(t, "ben", "PUT", move.p, body.p), 200);
    assert_int_equal(listed(t, "ben", id), 1);
    assert_int_equal(listed(t, "dan", id), 0);
    assert_status(api_get(t, "dan", conv), 404);
    assert_string_equal(api_text(t, api_get(t, "ben", conv).json, "projectId"), id);
    assert_status(api_call(t, "ben", "PUT", move.p, "{\"projectId\":\"prj_none\"}"), 404);
    assert_status(api_call(t, "ben", "PUT", move.p, "{\"projectId\":null}"), 200);
    assert_int_equal(listed(t, "ben", id), 0);
}

TEST_WITH(a_chat_begins_only_in_a_project_that_its_sender_sees, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *path = add(t, "ben", "{\"name\":\"Apollo\"}");
    str body = arena_printf(&t->rig->arena, "{\"message\":\"hi\",\"projectId\":\"%s\"}",
                            path + strlen("/v1/projects/"));
    assert_refused(api_call(t, "dan", "POST", "/v1/chat", body.p), 404, "not_found",
                   "No such project.");
    str both = arena_printf(
        &t->rig->arena, "{\"message\":\"hi\",\"projectId\":\"%s\",\"conversationId\":\"%s\"}",
        path + strlen("/v1/projects/"), begin(t, "ben", "") + strlen("/v1/conversations/"));
    assert_status(api_call(t, "ben", "POST", "/v1/chat", both.p), 400);
}

TEST_WITH(without_documents_there_is_nothing_and_nothing_is_limited, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_int_equal(count(t, "ben"), 0);
    assert_status(api_call(t, "ben", "POST", "/v1/projects", "{\"name\":\"x\"}"), 403);
    assert_string_equal(api_part(t, api_get(t, "ben", "/v1/budgets").json, "workspace"),
                        "{\"state\":\"unlimited\"}");
    assert_status(api_call(t, "ana", "PUT", "/v1/budgets", "{\"personUsd\":1}"), 403);
}

TEST_WITH(a_message_beyond_the_budget_is_refused_with_402, set_up, tear_down)
{
    struct api_rig *t = *state;
    t->rig->runtime->deps.budgets = t->space.budgets;
    assert_status(api_call(t, "ana", "PUT", "/v1/budgets", "{\"people\":{\"usr_ben\":0}}"), 200);
    struct api_answer a = api_call(t, "ben", "POST", "/v1/chat", "{\"message\":\"hi\"}");
    assert_status(a, 402);
    assert_string_equal(api_text(t, a.json, "error"), "budget_exceeded");
    assert_status(api_call(t, "ben", "POST", "/v1/prompt", "{\"message\":\"hi\"}"), 200);
    (void)begin(t, "dan", ""); /* others are not limited */
    assert_status(api_call(t, "ana", "PUT", "/v1/budgets", "{\"people\":{\"usr_ben\":null}}"), 200);
    (void)begin(t, "ben", "");
    t->rig->runtime->deps.budgets = NULL;
}

/* The author of the instructions of a project in what the model would get; or NULL. */
static const char *author_of(struct api_rig *t, const char *who, const char *conv)
{
    str body = arena_printf(&t->rig->arena, "{\"message\":\"x\",\"conversationId\":\"%s\"}",
                            conv + strlen("/v1/conversations/"));
    struct api_answer a = api_call(t, who, "POST", "/v1/prompt", body.p);
    assert_status(a, 200);
    const struct json *layers = json_get(a.json, "layers");
    for (size_t i = 0; i < layers->len; i++)
        if (str_eq(json_get_string(&layers->items[i], "name"), STR("project instructions")))
            return api_text(t, &layers->items[i], "author");
    return NULL;
}

TEST_WITH(instructions_are_for_runs_of_those_who_see_the_project, set_up, tear_down)
{
    struct api_rig *t = *state;
    t->rig->runtime->deps.projects = t->space.projects;
    const char *path = add(t, "ben", "{\"name\":\"Apollo\",\"instructions\":\"Be brief.\"}");
    const char *conv = begin(t, "ben", path + strlen("/v1/projects/"));
    rig_until(t->rig, author_of(t, "ben", conv) != NULL);
    assert_non_null(strstr(author_of(t, "ben", conv), "(project Apollo)"));
    str share = arena_printf(&t->rig->arena, "%s/share", conv);
    assert_status(api_call(t, "ben", "POST", share.p, "{\"participants\":[\"usr_dan\"]}"), 200);
    assert_null(author_of(t, "dan", conv));
    assert_status(api_call(t, "ben", "PATCH", path, "{\"members\":[\"usr_dan\"]}"), 200);
    assert_non_null(author_of(t, "dan", conv));
    t->rig->runtime->deps.projects = NULL;
}

TEST_WITH(a_change_keeps_what_it_does_not_name, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *path = add(t, "ben",
                           "{\"name\":\"Apollo\",\"instructions\":\"Be brief.\","
                           "\"members\":[\"usr_dan\"]}");
    struct api_answer a = api_call(t, "ben", "PATCH", path, "{\"name\":\"Gemini\"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "name"), "Gemini");
    assert_string_equal(api_text(t, a.json, "instructions"), "Be brief.");
    assert_string_equal(api_text(t, a.json, "instructionsBy"), "usr_ben");
    assert_string_equal(api_part(t, a.json, "members"), "[\"usr_dan\"]");
    a = api_call(t, "ana", "PATCH", path, "{\"instructions\":\"\",\"members\":[]}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "ownerId"), "usr_ben");
    assert_string_equal(api_text(t, a.json, "instructions"), "");
    assert_string_equal(api_text(t, a.json, "instructionsBy"), "usr_ana");
    assert_string_equal(api_part(t, a.json, "members"), "[]");
    assert_int_equal(count(t, "dan"), 0);
}

TEST_WITH(a_deleted_project_leaves_its_conversations, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *path = add(t, "ben", "{\"name\":\"Apollo\"}");
    const char *id = path + strlen("/v1/projects/");
    const char *conv = begin(t, "ben", "");
    str move = arena_printf(&t->rig->arena, "%s/project", conv);
    str body = arena_printf(&t->rig->arena, "{\"projectId\":\"%s\"}", id);
    assert_status(api_call(t, "ben", "PUT", move.p, body.p), 200);
    assert_status(api_call(t, "ben", "DELETE", path, NULL), 200);
    struct api_answer a = api_get(t, "ben", conv);
    assert_status(a, 200);
    assert_null(json_get(a.json, "projectId"));
    str list = arena_printf(&t->rig->arena, "/v1/conversations?project=%s", id);
    assert_status(api_get(t, "ben", list.p), 404);
}
