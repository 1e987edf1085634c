#include "base/bytes/base64.h"
#include "unit/llm/build_rig.h"

static int setup(void **state)
{
    *state = build_rig_new(&PROVIDER_BEDROCK, "us.anthropic.claude-opus-5-v1:0");
    return 0;
}

TEST_WITH(the_body_names_a_version_and_no_model, setup, build_rig_free)
{
    struct build_rig *b = *state;
    build_rig_run(b, "[[\"u\",{\"text\":\"hi\"}]]");
    assert_string_equal(buf_cstr(&b->body),
                        "{\"anthropic_version\":\"bedrock-2023-05-31\",\"max_tokens\":100,"
                        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                        "\"hi\",\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
}

TEST_WITH(the_model_is_in_the_address, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct provider p = {.base_url = STR("https://h")};
    assert_true(str_eq(PROVIDER_BEDROCK.url(&p, b->req.model, &b->a),
                       STR("https://h/model/us.anthropic.claude-opus-5-v1%3A0/"
                           "invoke-with-response-stream")));
    assert_true(str_eq(PROVIDER_BEDROCK.url(&p, STR("../x?y"), &b->a),
                       STR("https://h/model/..%2Fx%3Fy/invoke-with-response-stream")));
}

TEST_WITH(a_key_is_a_bearer_and_keys_of_the_account_sign, setup, build_rig_free)
{
    struct build_rig *b = *state;
    struct provider p = {.aws = {.access_key = STR("AK"), .secret_key = STR("SK")}};
    struct fetch_header out[AUTH_MAX];
    str url = STR("https://h/model/m/x");
    assert_int_equal(PROVIDER_BEDROCK.sign(&p, &b->a, url, STR("{}"), 0, out), 2);
    assert_true(str_starts(out[1].value, STR("AWS4-HMAC-SHA256 Credential=AK/")));
    p.api_key = STR("k");
    assert_int_equal(PROVIDER_BEDROCK.sign(&p, &b->a, url, STR("{}"), 0, out), 0);
    assert_int_equal(PROVIDER_BEDROCK.auth(&p, &b->a, out), 1);
    assert_true(str_eq(out[0].value, STR("Bearer k")));
    p = (struct provider){.name = STR("bedrock")};
    assert_int_equal(PROVIDER_BEDROCK.sign(&p, &b->a, url, STR("{}"), 0, out), 0);
}

TEST_WITH(known_models_keep_their_limits, setup, build_rig_free)
{
    struct build_rig *b = *state;
    model_lookup(STR("bedrock"), b->req.model, NULL, &b->caps);
    assert_int_equal(b->caps.context_tokens, 1000000);
    assert_true(b->caps.can_images && b->caps.can_tools);
    assert_false(b->caps.has_price); /* Amazon has its own */
}

static void chunk(struct answer *an, const char *type, const char *name, const char *payload)
{
    struct aws_frame f = {str_from(type), str_from(name), str_from(payload)};
    PROVIDER_BEDROCK.frame(an, &f);
}

static void event(struct answer *an, str json)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_add_lit(&b, "{\"bytes\":\"");
    base64_encode(&b, json);
    buf_add_lit(&b, "\",\"p\":\"abc\"}");
    chunk(an, "event", "chunk", buf_cstr(&b));
    buf_done(&b);
}

TEST_WITH(frames_are_events_of_messages, setup, build_rig_free)
{
    struct llm_result r;
    struct answer an;
    (void)state;
    answer_init(&an, NULL, NULL);
    chunk(&an, "event", "novel", "?");
    event(&an, STR("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
                   "\"text\",\"text\":\"hi\"}}"));
    event(&an, STR("{\"type\":\"content_block_stop\",\"index\":0}"));
    event(&an, STR("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}"));
    event(&an, STR("{\"type\":\"message_stop\"}"));
    assert_true(an.is_complete && !an.has_error);
    answer_result(&an, STR("p"), STR("m"), &r);
    assert_true(r.n == 1 && str_eq(r.blocks[0].text, STR("hi")));
    answer_done(&an);
}

TEST_WITH(exceptions_and_strange_frames_are_errors, setup, build_rig_free)
{
    static const struct {
        const char *type, *name, *payload, *error, *message;
    } CASES[] = {
        {"exception", "throttlingException", "{\"message\":\"Slow\"}", "throttlingException",
         "Slow"},
        {"exception", "x", "oops", "x", "the server aborted the answer"},
        {"event", "chunk", "oops", "bad_stream", "the stream holds a frame without an event"},
        {"event", "chunk", "{\"bytes\":\"*\"}", "bad_stream",
         "the stream holds a frame without an event"},
        {"event", "chunk", "{}", "bad_stream", "the stream holds a frame without an event"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct answer an;
        answer_init(&an, NULL, NULL);
        chunk(&an, CASES[i].type, CASES[i].name, CASES[i].payload);
        assert_true(an.has_error && str_eq(an.error.type, str_from(CASES[i].error)));
        assert_true(str_eq(an.error.message, str_from(CASES[i].message)));
        answer_done(&an);
    }
}
