/* /v1/skills: listing, matching, writing. Also /v1/prompt, which shows what a skill leads to. */
#include "support/api_rig.h"

#define MAIL                                                                                       \
    "{\"description\":\"Writes mail.\",\"body\":\"Be brief.\","                                    \
    "\"keywords\":[\"mail\",\"letter\"],\"triggers\":[\"write a mail\"]}"

static struct api_answer put(struct api_rig *t, const char *who, const char *path, const char *body)
{
    return api_call(t, who, "PUT", path, body);
}

static const struct json *find(struct api_rig *t, const char *who, const char *name)
{
    struct api_answer a = api_get(t, who, "/v1/skills");
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "skills");
    for (size_t i = 0; i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "name"), str_from(name)))
            return &list->items[i];
    return NULL;
}

TEST_WITH(an_admin_writes_a_skill_that_everybody_sees, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = put(t, "ana", "/v1/skills/workspace/mail", MAIL);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, ""),
                        "{\"name\":\"mail\",\"scope\":\"workspace\",\"deleted\":false}");
    const struct json *mail = find(t, "ben", "mail");
    assert_string_equal(api_text(t, mail, "body"), "Be brief.");
    assert_string_equal(api_text(t, mail, "source"), "workspace");
    assert_null(json_get(mail, "path")); /* a file of the machine: for admins */
    assert_non_null(json_get(find(t, "ana", "mail"), "path"));
    assert_refused(put(t, "ben", "/v1/skills/workspace/mail", MAIL), 403, "forbidden",
                   "Only admins of the workspace may do this.");
}

TEST_WITH(a_personal_skill_is_seen_only_by_its_owner, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(put(t, "ben", "/v1/skills/personal/mail", MAIL), 200);
    assert_string_equal(api_text(t, find(t, "ben", "mail"), "source"), "personal");
    assert_null(find(t, "dan", "mail"));
    assert_null(find(t, "ana", "mail")); /* not even by an admin */
    assert_refused(api_call(t, "dan", "DELETE", "/v1/skills/personal/mail", NULL), 404, "not_found",
                   "No such skill.");
    assert_status(api_call(t, "ben", "DELETE", "/v1/skills/personal/mail", NULL), 200);
    assert_null(find(t, "ben", "mail"));
}

TEST_WITH(a_personal_skill_does_not_replace_one_of_the_workspace, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(put(t, "ana", "/v1/skills/workspace/mail", MAIL), 200);
    assert_non_null(find(t, "ben", "mail"));
    assert_refused(put(t, "ben", "/v1/skills/personal/mail", MAIL), 409, "already_exists",
                   "A skill of the workspace already has this name. Choose a different name.");
}

TEST_WITH(a_bad_skill_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const BODIES[] = {"[]", "{", "{}", "{\"description\":5,\"body\":\"x\"}",
                                         "{\"description\":\"x\",\"body\":\"x\",\"tags\":\"a\"}"};
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        struct api_answer a = put(t, "ana", "/v1/skills/workspace/mail", BODIES[i]);
        if (a.status != 400)
            fail_msg("%s: %d %.*s", BODIES[i], a.status, STR_ARG(a.body));
    }
    assert_status(put(t, "ana", "/v1/skills/workspace/Bad%20Name", MAIL), 400);
    assert_refused(api_call(t, "ana", "DELETE", "/v1/skills/workspace/mail", NULL), 404,
                   "not_found", "No such skill.");
}

TEST_WITH(a_skill_for_tools_of_others_is_hidden_from_a_token, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    str globs[] = {STR("t__p*")};
    api_add_token(t, "narrow",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .tools = {globs, 1}});
    const char *drop =
        "{\"description\":\"Drops.\",\"body\":\"x\",\"allowed_tools\":[\"t__drop\"]}";
    assert_status(put(t, "ana", "/v1/skills/workspace/dropper", drop), 200);
    assert_status(put(t, "ana", "/v1/skills/workspace/mail", MAIL), 200);
    assert_non_null(find(t, "ben", "dropper"));
    assert_null(find(t, "narrow", "dropper"));
    assert_non_null(find(t, "narrow", "mail")); /* needs no tool */
    assert_refused(put(t, "narrow", "/v1/skills/personal/own", MAIL), 403, "forbidden",
                   "This token is limited to some tools. Use a token without a tool limit.");
}

/* ---- matching ---- */

TEST_WITH(a_message_selects_a_skill_by_trigger_or_keywords, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *message, *skill, *phase;
    } CASES[] = {
        {"please write a mail to Eva", "\"mail\"", "\"trigger\""},
        {"a letter by mail", "\"mail\"", "\"keywords\""},
        {"the weather", "null", "null"},
    };
    assert_status(put(t, "ana", "/v1/skills/workspace/mail", MAIL), 200);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct api_answer a = api_call(t, "ben", "POST", "/v1/skills/match",
                                       api_path(t, "{\"message\":\"%s\"}", CASES[i].message));
        assert_status(a, 200);
        assert_string_equal(api_part(t, a.json, "skill"), CASES[i].skill);
        assert_string_equal(api_part(t, a.json, "phase"), CASES[i].phase);
    }
    assert_status(api_call(t, "ben", "POST", "/v1/skills/match", "{}"), 400);
}

/* ---- POST /v1/prompt ---- */

TEST_WITH(a_preview_shows_what_would_be_sent_and_sends_nothing, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(put(t, "ana", "/v1/skills/workspace/mail", MAIL), 200);
    struct api_answer a =
        api_call(t, "ben", "POST", "/v1/prompt", "{\"message\":\"please write a mail\"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "model"), "demo:demo");
    assert_string_equal(api_part(t, a.json, "conversationId"), "null");
    assert_string_equal(api_text(t, a.json, "match.skill"), "mail");
    assert_string_equal(api_part(t, a.json, "messages"), "1");
    assert_true(str_find(json_get_string(a.json, "request"), STR("Be brief."), 0) >= 0);
    assert_true(str_find(json_get_string(a.json, "request"), STR("please write a mail"), 0) >= 0);
    int64_t total = 0;
    const struct json *tokens = json_get(a.json, "tokens");
    for (uint32_t i = 0; i + 1 < tokens->len; i++)
        total += tokens->members[i].value.i;
    assert_int_equal(total, json_get(tokens, "total")->i);
    assert_string_equal(api_part(t, api_get(t, "ben", "/v1/conversations").json, "conversations"),
                        "[]");
}

TEST_WITH(a_preview_of_a_foreign_conversation_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *body = api_path(t, "{\"message\":\"x\",\"conversationId\":\"%s\"}", id);
    struct api_answer a = api_call(t, "ben", "POST", "/v1/prompt", body);
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "messages"), "3"); /* hello, its answer, this */
    assert_status(api_call(t, "dan", "POST", "/v1/prompt", body), 404);
    assert_status(api_call(t, "ben", "POST", "/v1/prompt", "{}"), 400);
    assert_status(
        api_call(t, "ben", "POST", "/v1/prompt", "{\"message\":\"x\",\"model\":\"nobody:none\"}"),
        400);
}

TEST_WITH(a_preview_lists_the_tools_that_a_request_allows, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a =
        api_call(t, "ben", "POST", "/v1/prompt",
                 "{\"message\":\"x\",\"allowedTools\":[\"t__ping\",\"t__read\"]}");
    const struct json *tools = json_get(a.json, "tools");
    assert_int_equal(tools->len, 2);
    assert_string_equal(api_text(t, &tools->items[0], "name"), "t__ping");
    assert_true(json_get(&tools->items[0], "tokens")->i > 0);
}
