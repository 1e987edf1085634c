/* Spans as they wait for their batch: copies, and the JSON that is made of them. */
#include "support/unit.h"
#include "telemetry/otlp.h"
#include "telemetry/span.h"

static struct buf out;
static struct buf packed;

static const char *json_of(const struct trace_span *s)
{
    struct json_writer w;
    buf_done(&out);
    jw_start(&w, &out, 1u << 20);
    span_write(&w, s);
    return buf_cstr(&out);
}

/* The span as another thread gets it. */
static const struct trace_span *repack(const struct trace_span *s)
{
    static struct trace_span own;
    buf_done(&packed);
    buf_init(&packed, 1u << 20);
    span_pack(&packed, s);
    str rest = buf_str(&packed);
    assert_true(span_unpack(&rest, &own));
    assert_int_equal(rest.n, 0);
    assert_false(span_unpack(&rest, &own));
    return &own;
}

static int forget(void **state)
{
    (void)state;
    buf_done(&out);
    buf_done(&packed);
    return 0;
}

static struct trace_span example(enum span_type type)
{
    return (struct trace_span){.type = type,
                               .trace = {0xab},
                               .id = {1},
                               .parent = {2},
                               .has_parent = true,
                               .start_ms = 1700000000000,
                               .end_ms = 1700000000005,
                               .input_tokens = 10,
                               .output_tokens = 5,
                               .cache_read_tokens = 3,
                               .texts = {[SPAN_CONVERSATION] = STR("conv_1"),
                                         [SPAN_WORKSPACE] = STR("ws_a"),
                                         [SPAN_MODEL_ASKED] = STR("google:gemini-x"),
                                         [SPAN_REASON] = STR("stop")}};
}

#define HEAD                                                                                       \
    "{\"traceId\":\"ab000000000000000000000000000000\",\"spanId\":\"0100000000000000\","           \
    "\"parentSpanId\":\"0200000000000000\",\"name\":"
#define TIMES                                                                                      \
    "\"startTimeUnixNano\":\"1700000000000000000\","                                               \
    "\"endTimeUnixNano\":\"1700000000005000000\",\"attributes\":["
#define TEXT(key, value)   "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define NUMBER(key, value) "{\"key\":\"" key "\",\"value\":{\"intValue\":\"" value "\"}}"

TEST_WITH(spans_are_packed_behind_each_other, NULL, forget)
{
    struct trace_span s = example(SPAN_RUN), own;
    buf_init(&packed, 1u << 20);
    for (int i = 0; i < 3; i++) {
        s.start_ms = i;
        s.texts[SPAN_REASON] = i == 1 ? STR("odd") : STR_NONE;
        span_pack(&packed, &s);
    }
    str rest = buf_str(&packed);
    for (int i = 0; i < 3; i++) {
        assert_true(span_unpack(&rest, &own));
        assert_int_equal(own.start_ms, i);
        assert_int_equal(own.texts[SPAN_REASON].n, i == 1 ? 3 : 0);
        assert_memory_equal(own.trace, s.trace, sizeof s.trace);
    }
    assert_false(span_unpack(&rest, &own));
}

TEST_WITH(a_run, NULL, forget)
{
    struct trace_span s = example(SPAN_RUN);
    assert_string_equal(
        json_of(&s),
        HEAD "\"invoke_agent nb\",\"kind\":1," TIMES
            TEXT("gen_ai.operation.name", "invoke_agent") "," TEXT("gen_ai.agent.name", "nb") "," TEXT("gen_ai.provider.name", "gcp.gemini") "," TEXT(
                "gen_ai.request.model",
                "gemini-x") "," TEXT("gen_ai.conversation.id",
                                     "conv_1") "," NUMBER("gen_ai.usage.input_tokens",
                                                          "10") "," NUMBER("gen_ai.usage.output_"
                                                                           "tokens",
                                                                           "5") "," TEXT("nb."
                                                                                         "workspace"
                                                                                         ".id",
                                                                                         "ws_a") "," TEXT("nb.stop_reason",
                                                                                                          "stop") "],"
                                                                                                                  "\"status\":{}}");
}

TEST_WITH(a_model_call_with_a_price, NULL, forget)
{
    struct trace_span s = example(SPAN_MODEL);
    s.has_cost = true;
    s.cost_usd = 0.25;
    const char *json = json_of(&s);
    assert_non_null(strstr(json, HEAD "\"chat gemini-x\",\"kind\":3," TIMES));
    assert_non_null(strstr(json, TEXT("gen_ai.response.model", "gemini-x"))); /* none was named */
    assert_non_null(strstr(json, NUMBER("gen_ai.usage.cache_read.input_tokens", "3")));
    assert_non_null(strstr(json, "{\"values\":[{\"stringValue\":\"stop\"}]}"));
    assert_non_null(strstr(json, "\"nb.cost_usd\",\"value\":{\"doubleValue\":0.25}"));
    s.texts[SPAN_MODEL_USED] = STR("google:gemini-y");
    s.has_cost = false;
    json = json_of(&s);
    assert_non_null(strstr(json, TEXT("gen_ai.response.model", "gemini-y")));
    assert_null(strstr(json, "nb.cost_usd"));
}

TEST_WITH(a_tool_call_that_failed, NULL, forget)
{
    struct trace_span s = example(SPAN_TOOL);
    s.texts[SPAN_TOOL_NAME] = STR("t__ping");
    s.texts[SPAN_CALL_ID] = STR("c1");
    s.texts[SPAN_ERROR] = STR("tool_error");
    const char *json = json_of(&s);
    assert_non_null(strstr(json, HEAD "\"execute_tool t__ping\",\"kind\":1," TIMES));
    assert_non_null(strstr(json, TEXT("gen_ai.tool.call.id", "c1")));
    assert_non_null(strstr(json, TEXT("error.type", "tool_error") "],\"status\":{\"code\":2}}"));
}

TEST_WITH(a_packed_span_needs_nothing_of_the_original, NULL, forget)
{
    char model[] = "demo:demo";
    struct trace_span s = example(SPAN_MODEL);
    s.texts[SPAN_MODEL_ASKED] = str_from(model);
    const struct trace_span *own = repack(&s);
    memset(model, 'x', sizeof model - 1);
    memset(&s, 0, sizeof s);
    assert_non_null(strstr(json_of(own), "\"chat demo\""));
    assert_int_equal(packed.n, span_size(own));
}

/* The room that is left for a span in its request is enough, whatever its texts are. */
TEST_WITH(long_texts_are_cut_and_the_largest_json_is_known, NULL, forget)
{
    char text[2 * OTLP_TEXT_MAX];
    memset(text, 1, sizeof text);
    for (int type = SPAN_RUN; type <= SPAN_TOOL; type++) {
        struct trace_span s = example(type);
        for (size_t i = 0; i < SPAN_TEXTS; i++)
            s.texts[i] = str_make(text, sizeof text);
        size_t size = span_size(&s);
        const struct trace_span *own = repack(&s);
        assert_int_equal(packed.n, size);
        assert_int_equal(span_size(own), size);
        (void)json_of(own);
        assert_true(out.n > 3 * OTLP_TEXT_MAX * 6 && out.n <= span_json_max(own));
    }
    struct trace_span s = example(SPAN_MODEL); /* the model is there three times */
    s.texts[SPAN_MODEL_ASKED] = str_make(text, sizeof text);
    const struct trace_span *own = repack(&s);
    (void)json_of(own);
    assert_true(out.n > 3 * OTLP_TEXT_MAX * 6 - 64 && out.n <= span_json_max(own));
    s = example(SPAN_TOOL);
    memset(text, 'x', sizeof text);
    memcpy(text + OTLP_TEXT_MAX - 1, "\xc3\xa9", 2);
    s.texts[SPAN_CALL_ID] = str_make(text, sizeof text);
    own = repack(&s);
    assert_int_equal(own->texts[SPAN_CALL_ID].n, OTLP_TEXT_MAX - 1); /* a character stays whole */
}
