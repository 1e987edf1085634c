#include "llm/provider/openai.h"
#include "unit/llm/stream_rig.h"

static const struct stream_decoder DECODER = {openai_event, openai_eof};

#define CHUNK(delta, finish)                                                                       \
    "data: {\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" finish "}]}\n\n"
#define D(delta)      CHUNK(delta, "null")
#define FINISH(name)  CHUNK("{}", "\"" name "\"")
#define DONE          "data: [DONE]\n\n"
#define CALL(members) D("{\"tool_calls\":[{" members "}]}")
#define TEXT(t)       D("{\"content\":\"" t "\"}")

static const struct stream_case CASES[] = {
    {"text",
     D("{\"role\":\"assistant\",\"content\":\"\"}") TEXT("h\xc3\xa4") TEXT("!") FINISH("stop") DONE,
     "end text(h\xc3\xa4!) heard <h\xc3\xa4!>"},
    {"usage in the last chunk; cached tokens are part of the prompt",
     TEXT("x") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,"
                              "\"completion_tokens\":3,\"prompt_tokens_details\":{"
                              "\"cached_tokens\":12}}}\n\n" DONE,
     "end text(x) usage(20 in 3 out 12 read 0 w5 0 w1) heard <x>"},
    {"usage in x_groq",
     TEXT("x") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],"
               "\"x_groq\":{\"usage\":{\"prompt_tokens\":4,"
               "\"completion_tokens\":1}}}\n\n" DONE,
     "end text(x) usage(4 in 1 out 0 read 0 w5 0 w1) heard <x>"},
    {"usage as DeepSeek counts it",
     TEXT("x") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
                              "\"completion_tokens\":1,\"prompt_cache_hit_tokens\":4}}\n\n" DONE,
     "end text(x) usage(9 in 1 out 4 read 0 w5 0 w1) heard <x>"},
    {"one call in fragments",
     CALL("\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
          "\"arguments\":\"\"}") CALL("\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}")
         CALL("\"index\":0,\"function\":{\"arguments\":\":1}\"}") FINISH("tool_calls") DONE,
     "tool call(c1 f {\"a\":1}) heard <[f]>"},
    {"two calls, interleaved",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
         CALL("\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}")
             CALL("\"index\":0,\"function\":{\"arguments\":\"}\"}") FINISH("tool_calls") DONE,
     "tool call(c1 f {}) call(c2 g {}) heard <[f][g]>"},
    {"no index: an id begins a call",
     CALL("\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
         CALL("\"function\":{\"arguments\":\"}\"}")
             CALL("\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}")
                 FINISH("tool_calls") DONE,
     "tool call(c1 f {}) call(c2 g {}) heard <[f][g]>"},
    {"no index, no id: a name begins a call",
     CALL("\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")
         CALL("\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}") FINISH("tool_calls") DONE,
     "tool call(new f {}) call(new g {}) heard <[f][g]>"},
    {"every call numbered zero",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")
         CALL("\"index\":0,\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}")
             FINISH("tool_calls") DONE,
     "tool call(c1 f {}) call(c2 g {}) heard <[f][g]>"},
    {"the id repeated with every fragment",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
         CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"}\"}")
             FINISH("tool_calls") DONE,
     "tool call(c1 f {}) heard <[f]>"},
    {"arguments as an object",
     CALL("\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":0.10}}") FINISH("stop")
         DONE,
     "tool call(c1 f {\"a\":0.10}) heard <[f]>"},
    {"arguments null",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":"
          "null}") FINISH("tool_calls") DONE,
     "tool call(c1 f {}) heard <[f]>"},
    {"arguments that are no JSON",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{a\"}")
         FINISH("tool_calls") DONE,
     "tool call(c1 f {a BAD) heard <[f]>"},
    {"a call cut by the limit",
     TEXT("x") CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
         FINISH("length") DONE,
     "length text(x) heard <x[f]>"},
    {"stop beside calls",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")
         FINISH("stop") DONE,
     "tool call(c1 f {}) heard <[f]>"},
    {"reasoning is kept",
     D("{\"reasoning_content\":\"a\"}") D("{\"reasoning_content\":\"b\"}") TEXT("x") FINISH("stop")
         DONE,
     "end opaque({\"reasoning_content\":\"ab\"}) text(x) heard <(a)(b)x>"},
    {"reasoning as Ollama names it", D("{\"reasoning\":\"a\"}") TEXT("x") FINISH("stop") DONE,
     "end opaque({\"reasoning\":\"a\"}) text(x) heard <(a)x>"},
    {"reasoning details are kept piece by piece",
     D("{\"reasoning_details\":[{\"type\":\"t\",\"n\":1}]}")
         D("{\"reasoning_details\":[{\"type\":\"t\",\"n\":2}]}") TEXT("x") FINISH("stop") DONE,
     "end opaque({\"reasoning_details\":[{\"type\":\"t\",\"n\":1},{\"type\":\"t\",\"n\":2}]}) "
     "text(x) heard <x>"},
    {"a signed call",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},"
          "\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}") FINISH("tool_calls") DONE,
     "tool call(c1 f {}) opaque({\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}}) "
     "heard <[f]>"},
    {"content in parts",
     D("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]}]}")
         D("{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}") FINISH("stop") DONE,
     "end opaque({\"reasoning\":\"hm\"}) text(x) heard <(hm)x>"},
    {"a filter", TEXT("par") FINISH("content_filter") DONE, "refusal heard <par>"},
    {"a refusal in words",
     D("{\"refusal\":\"I \"}") D("{\"refusal\":\"can't\"}") FINISH("stop") DONE,
     "end because(I can't)"},
    {"no [DONE]", TEXT("x") FINISH("stop"), "end text(x) heard <x>"},
    {"no reason", TEXT("x") DONE, "length text(x) heard <x>"},
    {"cut", TEXT("x"), "cut heard <x>"},
    {"an error in mid-stream",
     TEXT("x") "data: {\"error\":{\"message\":\"Broken\",\"type\":\"t\",\"code\":\"server_error\"}}"
               "\n\n",
     "error server_error: Broken heard <x>"},
    {"an error with a number", "data: {\"error\":{\"message\":\"Slow\",\"code\":429}}\n\n",
     "error : Slow"},
    {"finish error", TEXT("x") FINISH("error") DONE,
     "error server_error: the server aborted the answer heard <x>"},
    {"comments", ": OPENROUTER PROCESSING\n\n" TEXT("x") FINISH("stop") ": keep-alive\n\n" DONE,
     "end text(x) heard <x>"},
    {"an event that is no JSON", "data: oops\n\n",
     "error bad_stream: the stream holds an event that is not JSON"},
    {"strange shapes",
     "data: {}\n\ndata: {\"choices\":7}\n\ndata: {\"choices\":[7]}\n\n"
     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[5,{}],\"content\":7}}]}\n\n" FINISH("stop")
         DONE,
     "end"},
};

TEST(means_the_same_however_it_is_cut)
{
    (void)state;
    rig_all(&DECODER, CASES, ARRAY_LEN(CASES));
}

TEST(arguments_are_told_as_they_are_written)
{
    rig_check_args(
        &DECODER,
        D("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"t\",\"arguments\":"
          "\"\"}}]}") D("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\"}}]}")
            D("{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"u\","
              "\"arguments\":{\"y\":2}}}]}")
                D("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]}"),
        "[a t](a {\"x)[b u](b {\"y\":2})(a \":1})");
}

TEST(arguments_before_the_name_are_told_with_it)
{
    rig_check_args(
        &DECODER,
        D("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{\"}}]}")
            D("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"t\",\"arguments\":\"}\"}}]}"),
        "[a t](a {)(a })");
}

TEST(a_call_with_the_number_of_nothing_is_a_call)
{
    rig_check_args(&DECODER,
                   TEXT("x") D("{\"tool_calls\":[{\"index\":-1,\"id\":\"a\",\"function\":{"
                               "\"name\":\"t\",\"arguments\":\"{}\"}}]}"),
                   "x[a t](a {})");
}
