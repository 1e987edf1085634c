#include "llm/provider/provider.h"
#include "unit/llm/stream_rig.h"

static const struct stream_decoder DECODER = {responses_event, responses_eof};

#define EVENT(type, members) "event: " type "\ndata: {\"type\":\"" type "\"," members "}\n\n"
#define ADDED(n, item)                                                                             \
    EVENT("response.output_item.added", "\"output_index\":" n ",\"item\":{" item "}")
#define DONE(n, item)                                                                              \
    EVENT("response.output_item.done", "\"output_index\":" n ",\"item\":{" item "}")
#define MESSAGE(n) ADDED(n, "\"type\":\"message\",\"role\":\"assistant\",\"content\":[]")
#define DELTA(n, t)                                                                                \
    EVENT("response.output_text.delta", "\"output_index\":" n ",\"delta\":\"" t "\"")
#define SAID(n, t)                                                                                 \
    DONE(n, "\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" t "\"}]")
#define CALL(n, id, name)                                                                          \
    ADDED(n, "\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" name                  \
             "\",\"arguments\":\"\"")
#define ARGS(n, t)                                                                                 \
    EVENT("response.function_call_arguments.delta", "\"output_index\":" n ",\"delta\":\"" t "\"")
#define CALLED(n, id, name, args)                                                                  \
    DONE(n, "\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" name                   \
            "\",\"arguments\":\"" args "\"")
#define END EVENT("response.completed", "\"response\":{\"status\":\"completed\"}")
#define INCOMPLETE(reason)                                                                         \
    EVENT("response.incomplete",                                                                   \
          "\"response\":{\"incomplete_details\":{\"reason\":\"" reason "\"}}")

static const struct stream_case CASES[] = {
    {"text",
     EVENT("response.created", "\"response\":{\"id\":\"resp_1\"}") MESSAGE("0")
         DELTA("0", "h\xc3\xa4") DELTA("0", "!") SAID("0", "h\xc3\xa4!") END,
     "end text(h\xc3\xa4!) heard <h\xc3\xa4!>"},
    {"text without deltas", SAID("0", "x") END, "end text(x) heard <x>"},
    {"usage: cached tokens are part of the input",
     MESSAGE("0") DELTA("0", "x") SAID("0", "x")
         EVENT("response.completed",
               "\"response\":{\"usage\":{\"input_tokens\":20,\"output_tokens\":3,"
               "\"input_tokens_details\":{\"cached_tokens\":12,\"cache_write_tokens\":5}}}"),
     "end text(x) usage(20 in 3 out 12 read 5 w5 0 w1) heard <x>"},
    {"two calls, interleaved",
     CALL("0", "c1", "f") CALL("1", "c2", "g") ARGS("1", "{}") ARGS("0", "{\\\"a\\\":1}")
         CALLED("1", "c2", "g", "{}") CALLED("0", "c1", "f", "{\\\"a\\\":1}") END,
     "tool call(c1 f {\"a\":1}) call(c2 g {}) heard <[f][g]>"},
    {"arguments only at the end", CALL("0", "c1", "f") CALLED("0", "c1", "f", "{\\\"a\\\":1}") END,
     "tool call(c1 f {\"a\":1}) heard <[f]>"},
    {"a call that never was done", CALL("0", "c1", "f") ARGS("0", "{}") END, "end heard <[f]>"},
    {"reasoning is kept as it was done",
     ADDED("0", "\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]") EVENT(
         "response.reasoning_summary_part.added", "\"output_index\":0,\"summary_index\":0")
         EVENT("response.reasoning_summary_text.delta", "\"output_index\":0,\"delta\":\"a\"") EVENT(
             "response.reasoning_summary_part.added", "\"output_index\":0,\"summary_index\":1")
             EVENT("response.reasoning_summary_text.delta", "\"output_index\":0,\"delta\":\"b\"")
                 DONE("0", "\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],"
                           "\"encrypted_content\":\"e\"") SAID("1", "x") END,
     "end opaque({\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":"
     "\"e\"}) text(x) heard <(a)(\n\n)(b)x>"},
    {"the phase of a message",
     DONE("0", "\"type\":\"message\",\"phase\":\"commentary\",\"content\":[{\"text\":\"x\"}]") END,
     "end text(x) opaque({\"phase\":\"commentary\"}) heard <x>"},
    {"cut by the limit: words stay, a call goes",
     MESSAGE("0") DELTA("0", "x") INCOMPLETE("max_output_tokens"), "length text(x) heard <x>"},
    {"a call cut by the limit",
     SAID("0", "x") CALL("1", "c1", "f") CALLED("1", "c1", "f", "{}")
         INCOMPLETE("max_output_tokens"),
     "length text(x) heard <x[f]>"},
    {"a filter", MESSAGE("0") DELTA("0", "par") INCOMPLETE("content_filter"),
     "refusal heard <par>"},
    {"a refusal",
     MESSAGE("0") EVENT("response.refusal.delta", "\"output_index\":0,\"delta\":\"I \"")
         EVENT("response.refusal.delta", "\"output_index\":0,\"delta\":\"can't\"")
             DONE("0", "\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":"
                       "\"I can't\"}]") END,
     "refusal because(I can't)"},
    {"a failed response",
     EVENT("response.failed", "\"response\":{\"error\":{\"code\":\"server_error\",\"message\":"
                              "\"Broken\"}}"),
     "error server_error: Broken"},
    {"an error", EVENT("error", "\"code\":\"rate_limit_exceeded\",\"message\":\"Slow\""),
     "error rate_limit_exceeded: Slow"},
    {"an error in an error", EVENT("error", "\"error\":{\"type\":\"t\",\"message\":\"Slow\"}"),
     "error t: Slow"},
    {"a failure without a word", EVENT("response.failed", "\"response\":{}"),
     "error : the server aborted the answer"},
    {"items and events of the future",
     ADDED("0", "\"type\":\"novel_call\"") DONE("0", "\"type\":\"novel_call\"")
         EVENT("response.novel.delta", "\"output_index\":0,\"delta\":\"x\"") SAID("1", "x") END,
     "end text(x) heard <x>"},
    {"deltas of nothing", DELTA("4", "x") ARGS("4", "x") END, "end"},
    {"deltas of the wrong kind", MESSAGE("0") ARGS("0", "x") SAID("0", "y") END,
     "end text(y) heard <y>"},
    {"cut", MESSAGE("0") DELTA("0", "x"), "cut heard <x>"},
    {"[DONE] ends nothing", MESSAGE("0") DELTA("0", "x") "data: [DONE]\n\n", "cut heard <x>"},
    {"an event that is no JSON", "data: oops\n\n",
     "error bad_stream: the stream holds an event that is not JSON"},
    {"strange shapes",
     "data: {}\n\ndata: {\"type\":7}\n\n" EVENT("response.output_item.added", "\"item\":7")
         EVENT("response.output_item.done", "\"item\":7") EVENT(
             "response.output_item.done", "\"item\":{\"type\":\"message\",\"content\":{}}") END,
     "end"},
};

TEST(means_the_same_however_it_is_cut)
{
    (void)state;
    rig_all(&DECODER, CASES, ARRAY_LEN(CASES));
}

TEST(arguments_are_told_as_they_are_written)
{
    rig_check_args(&DECODER,
                   CALL("0", "a", "t") ARGS("0", "{\\\"x") CALL("1", "b", "u") ARGS("1", "{}")
                       ARGS("0", "\\\":1}"),
                   "[a t](a {\"x)[b u](b {})(a \":1})");
}
