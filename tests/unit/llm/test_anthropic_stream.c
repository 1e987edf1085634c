#include "llm/provider/anthropic.h"
#include "unit/llm/stream_rig.h"

static const struct stream_decoder DECODER = {anthropic_event, anthropic_eof};

#define EV(name, rest)  "event: " name "\ndata: {\"type\":\"" name "\"" rest "}\n\n"
#define START(i, block) EV("content_block_start", ",\"index\":" #i ",\"content_block\":" block)
#define DELTA(i, delta) EV("content_block_delta", ",\"index\":" #i ",\"delta\":" delta)
#define STOP(i)         EV("content_block_stop", ",\"index\":" #i)
#define TEXT_START(i)   START(i, "{\"type\":\"text\",\"text\":\"\"}")
#define TEXT(i, t)      DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" t "\"}")
#define TOOL_START(i, id)                                                                          \
    START(i, "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"input\":{}}")
#define ARGS(i, t) DELTA(i, "{\"type\":\"input_json_delta\",\"partial_json\":\"" t "\"}")
#define END(reason)                                                                                \
    EV("message_delta", ",\"delta\":{\"stop_reason\":\"" reason "\"}") EV("message_stop", "")

static const struct stream_case CASES[] = {
    {"text", TEXT_START(0) TEXT(0, "h\xc3\xa4") TEXT(0, "\\ud83d\\ude00") STOP(0) END("end_turn"),
     "end text(h\xc3\xa4\xf0\x9f\x98\x80) heard <h\xc3\xa4\xf0\x9f\x98\x80>"},
    {"text in the start of its block",
     START(0, "{\"type\":\"text\",\"text\":\"hi\"}") STOP(0) END("end_turn"),
     "end text(hi) heard <hi>"},
    {"usage is overwritten, not added",
     EV("message_start",
        ",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":7,"
        "\"cache_creation_input_tokens\":9,\"cache_creation\":{"
        "\"ephemeral_1h_input_tokens\":4,\"ephemeral_5m_input_tokens\":5},"
        "\"output_tokens\":1}}")
         EV("message_delta", ",\"delta\":{},\"usage\":{\"output_tokens\":3}")
             EV("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
                                 "\"input_tokens\":6,\"output_tokens\":8}") EV("message_stop", ""),
     "end usage(22 in 8 out 7 read 5 w5 4 w1)"},
    {"one call",
     TOOL_START(0, "t1") ARGS(0, "") ARGS(0, "{\\\"a\\\":") ARGS(0, "1}") STOP(0) END("tool_use"),
     "tool call(t1 f {\"a\":1}) heard <[f]>"},
    {"a call without arguments", TOOL_START(0, "t1") ARGS(0, "") STOP(0) END("tool_use"),
     "tool call(t1 f {}) heard <[f]>"},
    {"two calls, interleaved",
     TOOL_START(0, "t1") TOOL_START(1, "t2") ARGS(1, "{\\\"b\\\":2}") ARGS(0, "{\\\"a\\\":1}")
         STOP(1) STOP(0) END("tool_use"),
     "tool call(t1 f {\"a\":1}) call(t2 f {\"b\":2}) heard <[f][f]>"},
    {"arguments that are no JSON", TOOL_START(0, "t1") ARGS(0, "{oops") STOP(0) END("tool_use"),
     "tool call(t1 f {oops BAD) heard <[f]>"},
    {"arguments that are no object", TOOL_START(0, "t1") ARGS(0, "[1]") STOP(0) END("tool_use"),
     "tool call(t1 f [1] BAD) heard <[f]>"},
    {"a call cut by the limit never counts",
     TEXT_START(0) TEXT(0, "x") STOP(0) TOOL_START(1, "t1") ARGS(1, "{\\\"a\\\":\\\"unf") STOP(1)
         END("max_tokens"),
     "length text(x) heard <x[f]>"},
    {"not even when it looks complete",
     TOOL_START(0, "t0") STOP(0) TOOL_START(1, "t1") STOP(1) END("max_tokens"),
     "length call(t0 f {}) heard <[f][f]>"},
    {"a block that was never closed does not count",
     TEXT_START(0) TEXT(0, "x") STOP(0) TOOL_START(1, "t1") ARGS(1, "{}") END("tool_use"),
     "end text(x) heard <x[f]>"},
    {"thinking is kept with its signature",
     START(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
         DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"a\"}")
             DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"b\"}")
                 DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"sig\"}") STOP(0)
                     TEXT_START(1) TEXT(1, "x") STOP(1) END("end_turn"),
     "end opaque({\"type\":\"thinking\",\"thinking\":\"ab\",\"signature\":\"sig\"}) text(x) heard "
     "<(a)(b)x>"},
    {"thinking that is only a signature",
     START(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
         DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"sig\"}") STOP(0) TEXT_START(1)
             TEXT(1, "x") STOP(1) END("end_turn"),
     "end opaque({\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"sig\"}) text(x) heard "
     "<x>"},
    {"redacted thinking comes whole",
     START(0, "{\"type\":\"redacted_thinking\",\"data\":\"AbC=\"}") STOP(0) TEXT_START(1)
         TEXT(1, "x") STOP(1) END("end_turn"),
     "end opaque({\"type\":\"redacted_thinking\",\"data\":\"AbC=\"}) text(x) heard <x>"},
    {"a server tool pauses",
     START(0, "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{}}")
         ARGS(0, "{\\\"query\\\":") ARGS(0, "\\\"x\\\"}") STOP(0) END("pause_turn"),
     "pause opaque({\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{"
     "\"query\":\"x\"}})"},
    {"unknown blocks are kept, unknown events and deltas skipped",
     EV("novel", ",\"x\":1") START(0, "{\"type\":\"novel\",\"n\":1e21,\"z\":[0.10]}")
         DELTA(0, "{\"type\":\"novel_delta\",\"x\":1}") STOP(0) TEXT_START(1)
             DELTA(1, "{\"type\":\"citations_delta\",\"citation\":{}}") TEXT(1, "x") STOP(1)
                 END("end_turn"),
     "end opaque({\"type\":\"novel\",\"n\":1e21,\"z\":[0.10]}) text(x) heard <x>"},
    {"a refusal keeps nothing",
     TEXT_START(0) TEXT(0, "par") STOP(0)
         EV("message_delta", ",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{"
                             "\"category\":\"c\",\"explanation\":\"no\"}}") EV("message_stop", ""),
     "refusal because(no) heard <par>"},
    {"stop sequence", TEXT_START(0) TEXT(0, "x") STOP(0) END("stop_sequence"),
     "end text(x) heard <x>"},
    {"context window", TEXT_START(0) TEXT(0, "x") STOP(0) END("model_context_window_exceeded"),
     "length text(x) heard <x>"},
    {"a reason of the future", TEXT_START(0) TEXT(0, "x") STOP(0) END("novel"),
     "end text(x) heard <x>"},
    {"calls are the truth", TOOL_START(0, "t1") STOP(0) END("end_turn"),
     "tool call(t1 f {}) heard <[f]>"},
    {"an empty answer", EV("message_start", ",\"message\":{}") END("end_turn"), "end"},
    {"blank text is no block", TEXT_START(0) TEXT(0, " ") STOP(0) END("end_turn"), "end heard < >"},
    {"pings and comments",
     ": hi\n\n" EV("ping", "") TEXT_START(0) EV("ping", "") TEXT(0, "x") STOP(0) END("end_turn"),
     "end text(x) heard <x>"},
    {"cut", TEXT_START(0) TEXT(0, "x"), "cut heard <x>"},
    {"cut after the reason",
     TEXT_START(0) TEXT(0, "x") STOP(0)
         EV("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"}"),
     "cut heard <x>"},
    {"an error in mid-stream",
     TEXT_START(0) TEXT(0, "x")
         EV("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"),
     "error overloaded_error: Overloaded heard <x>"},
    {"an event that is no JSON", "event: x\ndata: {oops\n\n",
     "error bad_stream: the stream holds an event that is not JSON"},
    {"nothing after the end counts",
     TEXT_START(0) TEXT(0, "x") STOP(0) END("end_turn") TEXT_START(1) TEXT(1, "y"),
     "end text(x) heard <x>"},
    {"deltas for blocks that are not there", TEXT(3, "x") ARGS(4, "{}") STOP(9) END("end_turn"),
     "end"},
    {"carriage returns",
     "event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":0,"
     "\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\r\n\r\n"
     "data: {\"type\":\"content_block_stop\",\"index\":0}\r\rdata: {\"type\":\"message_stop\"}\n\n",
     "end text(x) heard <x>"},
    {"strange shapes",
     "data: []\n\ndata: 7\n\ndata: null\n\ndata: {\"type\":5}\n\n"
     "data: {\"type\":\"content_block_start\"}\n\n"
     "data: {\"type\":\"content_block_start\",\"content_block\":7}\n\n"
     "data: {\"type\":\"message_delta\",\"usage\":[],\"delta\":3}\n\n" END("end_turn"),
     "end"},
};

TEST(means_the_same_however_it_is_cut)
{
    (void)state;
    rig_all(&DECODER, CASES, ARRAY_LEN(CASES));
}

TEST(a_long_answer_is_one_block)
{
    (void)state;
    struct answer an;
    struct llm_result r;
    answer_init(&an, NULL, NULL);
    anthropic_event(&an, &(struct sse_event){.data = STR("{\"type\":\"content_block_start\","
                                                         "\"index\":0,\"content_block\":{\"type\":"
                                                         "\"text\",\"text\":\"\"}}")});
    for (int i = 0; i < 100000; i++)
        anthropic_event(&an,
                        &(struct sse_event){.data = STR("{\"type\":\"content_block_delta\","
                                                        "\"index\":0,\"delta\":{\"type\":"
                                                        "\"text_delta\",\"text\":\"word \"}}")});
    anthropic_event(
        &an, &(struct sse_event){.data = STR("{\"type\":\"content_block_stop\",\"index\":0}")});
    anthropic_event(&an, &(struct sse_event){.data = STR("{\"type\":\"message_stop\"}")});
    answer_result(&an, STR("p"), STR("m"), &r);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.blocks[0].text.n, 500000);
    answer_done(&an);
}

TEST(arguments_are_told_as_they_are_written)
{
    rig_check_args(&DECODER,
                   TOOL_START(0, "a") ARGS(0, "") ARGS(0, "{\\\"x") ARGS(0, "\\\":1}") STOP(0)
                       START(1, "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"u\"}")
                           ARGS(1, "{}"), /* of a tool that the provider runs */
                   "[a f](a {\"x)(a \":1})");
}
