#include "llm/provider/provider.h"
#include "unit/llm/history_rig.h"

struct build {
    struct arena a;
    struct buf body;
    struct provider provider;
    struct llm_request req;
    struct model_caps caps;
};

static int setup(void **state)
{
    struct build *b = xcalloc(1, sizeof *b);
    arena_init(&b->a);
    buf_init(&b->body, LLM_BODY_MAX);
    b->provider = (struct provider){.name = STR("p"), .type = &PROVIDER_OPENAI};
    b->req = (struct llm_request){.model = STR("m"), .max_tokens = 100};
    b->caps = (struct model_caps){.can_images = true, .can_tools = true};
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct build *b = *state;
    buf_done(&b->body);
    arena_done(&b->a);
    free(b);
    return 0;
}

static void history(struct build *b, const char *json)
{
    b->req.messages = rig_history(&b->a, json, &b->req.nmessages);
}

static struct json *build(struct build *b)
{
    struct json *v = NULL;
    struct err e = {0};
    buf_clear(&b->body);
    if (openai_build(&b->provider, &b->caps, &b->req, &b->body, &e) < 0)
        fail_msg("%s", e.msg);
    assert_int_equal(json_parse(&b->a, buf_str(&b->body), 0, &v, &e), 0);
    return v;
}

static void assert_messages(struct build *b, const char *json)
{
    str got = json_to_str(&b->a, json_get(build(b), "messages"));
    assert_string_equal(arena_cstr(&b->a, got), json);
}

TEST_WITH(writes_these_bytes, setup, teardown)
{
    struct build *b = *state;
    struct llm_tool tool = {STR("a__one"), STR("first"), NULL};
    b->req.tools = &tool;
    b->req.ntools = 1;
    b->req.system_stable = STR("be kind");
    b->req.system_volatile = STR("it is late");
    history(b, "[[\"u\",{\"text\":\"hi\"},{\"text\":\"you\"}],"
               "[\"a\",{\"text\":\"ok\"},{\"use\":\"t1\",\"name\":\"a__one\",\"args\":\"{ "
               "\\\"n\\\": 0.10 }\"},{\"use\":\"t2\",\"name\":\"a__one\"}],"
               "[\"u\",{\"result\":\"t1\",\"parts\":[{\"text\":\"r\"},{\"image\":\"image/png\"}]},"
               "{\"result\":\"t2\",\"error\":true,\"parts\":[{\"text\":\"no\"}]},{\"text\":\"x\"}]"
               "]");
    build(b);
    assert_string_equal(
        buf_cstr(&b->body),
        "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"stream_options\":{"
        "\"include_usage\":true},\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
        "\"a__one\",\"description\":\"first\",\"parameters\":{\"type\":\"object\",\"properties\":{"
        "}}}}],\"messages\":["
        "{\"role\":\"system\",\"content\":\"be kind\\n\\nit is late\"},"
        "{\"role\":\"user\",\"content\":\"hi\\n\\nyou\"},"
        "{\"role\":\"assistant\",\"content\":\"ok\",\"tool_calls\":[{\"id\":\"t1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"a__one\",\"arguments\":\"{\\\"n\\\":0.10}\"}},{"
        "\"id\":\"t2\",\"type\":\"function\",\"function\":{\"name\":\"a__one\",\"arguments\":"
        "\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"r\\n\\n[the picture follows "
        "below]\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"t2\",\"content\":\"Error: no\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
        "\"data:image/png;base64,iVBORw0KGgo=\"}},{\"type\":\"text\",\"text\":\"x\"}]}]}");
}

TEST_WITH(documents_go_to_models_that_take_them, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"pdf\":\"JVBERi0xLjQK\",\"text\":\"words\"},{\"text\":\"hi\"}]]");
    assert_messages(b, "[{\"role\":\"user\",\"content\":\"words\\n\\nhi\"}]");
    b->caps.can_pdf = true;
    assert_messages(b, "[{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"file\":{"
                       "\"filename\":\"a.pdf\",\"file_data\":"
                       "\"data:application/pdf;base64,JVBERi0xLjQK\"}},"
                       "{\"type\":\"text\",\"text\":\"hi\"}]}]");
    /* bytes that are no PDF would make the whole request fail */
    history(b, "[[\"u\",{\"pdf\":\"UEsDBAAA\",\"text\":\"words\"}]]");
    assert_messages(b, "[{\"role\":\"user\",\"content\":\"words\"}]");
}

TEST_WITH(results_are_never_empty, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"}],[\"u\",{\"result\":\"t1\"}]]");
    assert_messages(b, "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":"
                       "null,\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\"function\":{"
                       "\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
                       "\"tool_call_id\":\"t1\",\"content\":\"(no output)\"}]");
}

TEST_WITH(reasoning_models_have_their_own_limits, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"a\"}]]");
    b->caps.is_reasoning = true;
    b->provider.quirks = QUIRK_MAX_COMPLETION;
    b->req.effort = "max";
    struct json *body = build(b);
    assert_int_equal(json_get_int(body, "max_completion_tokens", 0), 100);
    assert_null(json_get(body, "max_tokens"));
    assert_true(str_eq(json_get_string(body, "reasoning_effort"), STR("high")));
}

TEST_WITH(strict_servers_get_no_more_than_they_know, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"toolu_1\"}],[\"u\",{\"result\":"
               "\"toolu_1\"},{\"text\":\"x\"}]]");
    b->provider.quirks = QUIRK_STRICT_FIELDS | QUIRK_IDS_OF_NINE | QUIRK_NO_USER_AFTER_TOOL;
    struct json *body = build(b), *messages = json_get(body, "messages");
    assert_null(json_get(body, "stream_options"));
    assert_int_equal(messages->len, 5);
    assert_int_equal(json_get_string(json_at(messages, 2), "tool_call_id").n, 9);
    assert_true(str_eq(json_get_string(json_at(messages, 3), "role"), STR("assistant")));
}

TEST_WITH(calls_are_signed_where_it_is_demanded, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"},{\"opaque\":{\"extra_content\":{"
               "\"google\":{\"thought_signature\":\"mine\"}}}},{\"use\":\"t2\"}]]");
    b->provider.quirks = QUIRK_THOUGHT_SIGNATURE;
    struct json *calls = json_get(json_at(json_get(build(b), "messages"), 1), "tool_calls");
    assert_true(str_eq(json_to_str(&b->a, json_get(json_at(calls, 0), "extra_content")),
                       STR("{\"google\":{\"thought_signature\":\"mine\"}}")));
    assert_true(str_find(json_to_str(&b->a, json_at(calls, 1)),
                         STR("skip_thought_signature_validator"), 0) > 0);
}

TEST_WITH(reasoning_goes_back_with_calls, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"opaque\":{\"reasoning_content\":\"hm\"}},{"
               "\"use\":\"t1\"}],[\"u\",{\"result\":\"t1\"}]]");
    struct json *answer = json_at(json_get(build(b), "messages"), 1);
    assert_true(str_eq(json_get_string(answer, "reasoning_content"), STR("hm")));
    history(b, "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"}],[\"u\",{\"result\":\"t1\"}]]");
    answer = json_at(json_get(build(b), "messages"), 1);
    assert_null(json_get(answer, "reasoning_content"));
    b->provider.quirks = QUIRK_ECHO_REASONING;
    answer = json_at(json_get(build(b), "messages"), 1);
    assert_non_null(json_get(answer, "reasoning_content"));
}

TEST_WITH(plain_schemas_where_it_is_demanded, setup, teardown)
{
    struct build *b = *state;
    struct llm_tool tool = {STR("a"), STR("d"),
                            rig_json(&b->a, "{\"type\":\"object\",\"additionalProperties\":false,"
                                            "\"properties\":{\"x\":{\"$ref\":\"#/$defs/y\"}}}")};
    b->req.tools = &tool;
    b->req.ntools = 1;
    b->provider.quirks = QUIRK_PLAIN_SCHEMA;
    history(b, "[[\"u\",{\"text\":\"a\"}]]");
    build(b);
    assert_true(str_find(buf_str(&b->body), STR("$ref"), 0) < 0);
    assert_true(str_find(buf_str(&b->body), STR("additionalProperties"), 0) < 0);
}

TEST_WITH(no_more_tools_than_allowed, setup, teardown)
{
    struct build *b = *state;
    struct llm_tool *tools = arena_array(&b->a, 200, sizeof *tools);
    for (int i = 0; i < 200; i++)
        tools[i].name = arena_printf(&b->a, "t%d", i);
    b->req.tools = tools;
    b->req.ntools = 200;
    history(b, "[[\"u\",{\"text\":\"a\"}]]");
    assert_int_equal(json_get(build(b), "tools")->len, 128);
    b->caps.can_tools = false;
    assert_null(json_get(build(b), "tools"));
}

TEST_WITH(finds_the_address, setup, teardown)
{
    static const struct {
        str base, url;
    } CASES[] = {
        {STR_INIT("http://127.0.0.1:8080"), STR_INIT("http://127.0.0.1:8080/v1/chat/completions")},
        {STR_INIT("https://a.b/v1"), STR_INIT("https://a.b/v1/chat/completions")},
        {STR_INIT("https://a.b/v1beta/openai"),
         STR_INIT("https://a.b/v1beta/openai/chat/completions")},
    };
    struct build *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct provider p = {.base_url = CASES[i].base};
        assert_true(str_eq(PROVIDER_OPENAI.url(&p, STR("m"), &b->a), CASES[i].url));
    }
}
