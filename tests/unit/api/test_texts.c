/* /v1/instructions and /v1/prompts: who may read and write which. */
#include "support/api_rig.h"
#include "workspace/texts.h"

static int set_up(void **state)
{
    (void)api_set_up(state);
    struct api_rig *t = *state;
    str path = arena_printf(&t->rig->arena, "%s/texts.json", t->rig->root);
    t->space.texts = texts_open(&(struct doc_place){.pool = t->rig->pool, .path = path.p});
    return 0;
}

static int tear_down(void **state)
{
    struct api_rig *t = *state;
    texts_free(t->space.texts);
    t->space.texts = NULL;
    return api_tear_down(state);
}

static struct api_answer put(struct api_rig *t, const char *who, const char *path, const char *body)
{
    return api_call(t, who, "PUT", path, body);
}

static const char *instructions(struct api_rig *t, const char *who, const char *scope)
{
    struct api_answer a = api_get(t, who, "/v1/instructions");
    assert_status(a, 200);
    return api_text(t, json_get(a.json, scope), "text");
}

static size_t prompts(struct api_rig *t, const char *who)
{
    struct api_answer a = api_get(t, who, "/v1/prompts");
    assert_status(a, 200);
    return json_get(a.json, "prompts")->len;
}

TEST_WITH(admins_write_for_the_workspace_and_everybody_reads, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"text\":\" Be kind. \"}";
    assert_status(put(t, "ana", "/v1/instructions/workspace", body), 200);
    assert_refused(put(t, "ben", "/v1/instructions/workspace", body), 403, "forbidden",
                   "Only admins of the workspace may do this.");
    assert_string_equal(instructions(t, "ben", "workspace"), "Be kind.");
    assert_string_equal(instructions(t, "ben", "personal"), "");
    assert_status(put(t, "ana", "/v1/instructions/workspace", "{\"text\":\"\"}"), 200);
    assert_string_equal(instructions(t, "ben", "workspace"), "");
}

TEST_WITH(personal_texts_are_for_nobody_else, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"text\":\"Mine {{a}}.\"}";
    assert_status(put(t, "ben", "/v1/instructions/personal", body), 200);
    assert_status(put(t, "ben", "/v1/prompts/personal/mine", body), 200);
    assert_string_equal(instructions(t, "ben", "personal"), "Mine {{a}}.");
    assert_string_equal(instructions(t, "ana", "personal"), "");
    assert_int_equal(prompts(t, "ben"), 1);
    assert_int_equal(prompts(t, "ana"), 0);
    assert_refused(api_call(t, "ana", "DELETE", "/v1/prompts/personal/mine", NULL), 404,
                   "not_found", "No such prompt.");
    assert_status(api_call(t, "ben", "DELETE", "/v1/prompts/personal/mine", NULL), 200);
    assert_int_equal(prompts(t, "ben"), 0);
}

/* Who only leaves the workspace finds the texts when they come back; nobody else reads them. */
TEST_WITH(texts_go_with_the_account_not_with_the_membership, set_up, tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"text\":\"Mine.\"}";
    assert_status(put(t, "dan", "/v1/instructions/personal", body), 200);
    assert_status(put(t, "ben", "/v1/instructions/personal", body), 200);
    api_set_role(t, "usr_dan", WS_NONE);
    assert_status(api_get(t, "dan", "/v1/instructions"), 403);
    api_set_role(t, "usr_dan", WS_MEMBER);
    assert_string_equal(instructions(t, "dan", "personal"), "Mine.");
    api_change(t, (struct change){.kind = CHANGE_USER_REMOVE, .user_id = STR("usr_dan")});
    rig_until(t->rig, texts_instructions(t->space.texts, STR("usr_dan")).n == 0);
    assert_string_equal(instructions(t, "ben", "personal"), "Mine.");
}

TEST_WITH(bad_texts_are_refused, set_up, tear_down)
{
    static const char *const BODIES[] = {"[]",
                                         "{",
                                         "{}",
                                         "{\"text\":5}",
                                         "{\"text\":\" \"}",
                                         "{\"text\":\"a\\u0000b\"}",
                                         "{\"text\":\"a\",\"x\":1}"};
    struct api_rig *t = *state;
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        struct api_answer a = put(t, "ben", "/v1/prompts/personal/p", BODIES[i]);
        if (a.status != 400)
            fail_msg("%s: %d %.*s", BODIES[i], a.status, STR_ARG(a.body));
    }
    assert_status(put(t, "ben", "/v1/prompts/personal/a%20b", "{\"text\":\"a\"}"), 400);
    assert_int_equal(prompts(t, "ben"), 0);
}

TEST_WITH(without_a_document_nothing_is_there_and_nothing_is_written, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_int_equal(prompts(t, "ben"), 0);
    assert_string_equal(instructions(t, "ben", "personal"), "");
    assert_status(put(t, "ben", "/v1/instructions/personal", "{\"text\":\"x\"}"), 500);
}

/* How many layers of instructions the model would get. */
static size_t layers(struct api_rig *t, const char *who)
{
    struct api_answer a = api_call(t, who, "POST", "/v1/prompt", "{\"message\":\"x\"}");
    assert_status(a, 200);
    const struct json *all = json_get(a.json, "layers");
    size_t n = 0;
    for (size_t i = 0; i < all->len; i++)
        n += str_ends(json_get_string(&all->items[i], "name"), STR(" instructions"));
    return n;
}

TEST_WITH(the_prompt_has_the_instructions_of_the_workspace_and_of_the_sender, set_up, tear_down)
{
    struct api_rig *t = *state;
    t->rig->runtime->deps.texts = t->space.texts;
    assert_int_equal(layers(t, "ben"), 0);
    assert_status(put(t, "ben", "/v1/instructions/personal", "{\"text\":\"mine\"}"), 200);
    assert_int_equal(layers(t, "ben"), 1);
    assert_int_equal(layers(t, "ana"), 0);
    assert_status(put(t, "ana", "/v1/instructions/workspace", "{\"text\":\"ours\"}"), 200);
    assert_int_equal(layers(t, "ben"), 2);
    assert_int_equal(layers(t, "ana"), 1);
    t->rig->runtime->deps.texts = NULL;
}
