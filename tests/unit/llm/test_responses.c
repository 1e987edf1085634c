#include "unit/llm/build_rig.h"

#define HI "[\"u\",{\"text\":\"hi\"}]"

static int setup(void **state)
{
    *state = build_rig_new(&PROVIDER_RESPONSES, "m");
    return 0;
}

TEST_WITH(writes_these_bytes, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct llm_tool tool = {STR("a__one"), STR("first"), NULL};
    b->req.tools = &tool;
    b->req.ntools = 1;
    b->req.system_stable = STR("be kind");
    b->req.session_key = STR("conv_1");
    b->provider.quirks = QUIRK_CACHE_KEY;
    build_rig_run(
        b, "[" HI ",[\"a\",{\"opaque\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],"
           "\"status\":null,\"encrypted_content\":\"e\"}},{\"text\":\"ok\"},{\"opaque\":{\"phase\":"
           "\"commentary\"}},{\"use\":\"t1\",\"name\":\"a__one\",\"args\":\"{ \\\"n\\\": 0.10 }\"},"
           "{\"use\":\"t2\",\"name\":\"a__one\"}],"
           "[\"u\",{\"result\":\"t1\",\"parts\":[{\"text\":\"r\"},{\"image\":\"image/png\"}]},"
           "{\"result\":\"t2\",\"error\":true,\"parts\":[{\"text\":\"no\"}]},{\"text\":\"x\"},"
           "{\"image\":\"image/png\"}]]");
    assert_string_equal(
        buf_cstr(&b->body),
        "{\"model\":\"m\",\"stream\":true,\"store\":false,\"max_output_tokens\":100,"
        "\"prompt_cache_key\":\"conv_1\",\"tools\":[{\"type\":\"function\",\"name\":\"a__one\","
        "\"description\":\"first\",\"parameters\":{\"type\":\"object\",\"properties\":{}},"
        "\"strict\":false}],\"instructions\":\"be kind\",\"input\":["
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
        "\"hi\"}]},"
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"e\"},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
        "\"text\":\"ok\"}],\"phase\":\"commentary\"},"
        "{\"type\":\"function_call\",\"call_id\":\"t1\",\"name\":\"a__one\",\"arguments\":"
        "\"{\\\"n\\\":0.10}\"},"
        "{\"type\":\"function_call\",\"call_id\":\"t2\",\"name\":\"a__one\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"t1\",\"output\":[{\"type\":\"input_"
        "text\","
        "\"text\":\"r\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,"
        "iVBORw0KGgo=\"}]},"
        "{\"type\":\"function_call_output\",\"call_id\":\"t2\",\"output\":\"Error: no\"},"
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
        "\"x\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,iVBORw0KGgo=\"}]}"
        "]}");
}

TEST_WITH(reasoning_models_are_asked_for_what_they_sealed, setup, build_rig_free)
{
    struct build_rig *b = *state;
    b->caps.is_reasoning = true;
    build_rig_expect(b, "[" HI "]", "include", "[\"reasoning.encrypted_content\"]");
    build_rig_expect(b, "[" HI "]", "reasoning", "(none)");
    b->req.thinking = "adaptive";
    b->req.effort = "max";
    build_rig_expect(b, "[" HI "]", "reasoning", "{\"effort\":\"high\",\"summary\":\"auto\"}");
    b->caps.is_reasoning = false;
    build_rig_expect(b, "[" HI "]", "include", "(none)");
    build_rig_expect(b, "[" HI "]", "reasoning", "(none)");
}

/* Reasoning that is not sealed, that nothing follows, or that another API wrote. */
TEST_WITH(reasoning_that_would_be_refused_stays_here, setup, build_rig_free)
{
    static const char *const ANSWERS[] = {
        "{\"opaque\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}},{\"text\":\"ok\"}",
        "{\"text\":\"ok\"},{\"opaque\":{\"type\":\"reasoning\",\"id\":\"r\","
        "\"encrypted_content\":\"e\"}}",
        "{\"opaque\":{\"reasoning_content\":\"hm\"}},{\"text\":\"ok\"}",
        "{\"opaque\":{\"type\":\"reasoning\",\"encrypted_content\":\"e\"},\"model\":\"other\"},"
        "{\"text\":\"ok\"}",
    };
    struct build_rig *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(ANSWERS); i++) {
        str history = arena_printf(&b->a, "[" HI ",[\"a\",%s]," HI "]", ANSWERS[i]);
        build_rig_expect(b, history.p, "input",
                         "[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":"
                         "\"input_text\",\"text\":\"hi\"}]},{\"type\":\"message\",\"role\":"
                         "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"ok\"}]},"
                         "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":"
                         "\"input_text\",\"text\":\"hi\"}]}]");
    }
}

TEST_WITH(an_answer_of_reasoning_alone_is_left_out, setup, build_rig_free)
{
    build_rig_expect(
        *state,
        "[" HI ",[\"a\",{\"opaque\":{\"type\":\"reasoning\",\"encrypted_content\":"
        "\"e\"}}],[\"u\",{\"text\":\"on\"}]]",
        "input",
        "[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":"
        "\"input_text\",\"text\":\"hi\"},{\"type\":\"input_text\",\"text\":\"on\"}]}]");
}

TEST_WITH(a_pdf_is_a_file_or_its_text, setup, build_rig_free)
{
    struct build_rig *b = *state;
    assert_non_null(strstr(build_rig_document(b, true),
                           "{\"type\":\"input_file\",\"filename\":\"a.pdf\",\"file_data\":"
                           "\"data:application/pdf;base64,JVBERi0xLjc=\"}"));
    assert_non_null(
        strstr(build_rig_document(b, false), "[{\"type\":\"input_text\",\"text\":\"its text\"}"));
}

TEST_WITH(a_tiny_limit_is_raised_to_what_is_accepted, setup, build_rig_free)
{
    struct build_rig *b = *state;
    b->req.max_tokens = 1;
    build_rig_expect(b, "[" HI "]", "max_output_tokens", "16");
}

TEST_WITH(the_address_has_a_version, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct provider p = {.base_url = STR("http://h:1")};
    assert_true(
        str_eq(PROVIDER_RESPONSES.url(&p, STR("m"), &b->a), STR("http://h:1/v1/responses")));
    p.base_url = STR("https://api.openai.com/v1");
    assert_true(str_eq(PROVIDER_RESPONSES.url(&p, STR("m"), &b->a),
                       STR("https://api.openai.com/v1/responses")));
}

TEST_WITH(the_headers_say_who_pays, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct fetch_header out[AUTH_MAX];
    b->provider.api_key = STR("k");
    b->provider.organization = STR("org_1");
    b->provider.project = STR("proj_1");
    assert_int_equal(PROVIDER_RESPONSES.auth(&b->provider, &b->a, out), 3);
    assert_true(str_eq(out[0].value, STR("Bearer k")));
    assert_true(str_eq(out[1].name, STR("openai-organization")));
    assert_true(str_eq(out[2].value, STR("proj_1")));
}
