#include "llm/provider/provider.h"
#include "unit/llm/stream_rig.h"

static const struct stream_decoder DECODER = {google_event, google_eof};

#define EVENT(candidate)     "data: {\"candidates\":[{" candidate "}]}\r\n\r\n"
#define PARTS(parts)         "\"content\":{\"role\":\"model\",\"parts\":[" parts "]}"
#define PART(part)           EVENT(PARTS(part))
#define TEXT(t)              PART("{\"text\":\"" t "\"}")
#define STOP(reason)         EVENT("\"finishReason\":\"" reason "\",\"index\":0")
#define CALL(members)        "{\"functionCall\":{" members "}}"
#define SIGNED(members, sig) "{\"functionCall\":{" members "},\"thoughtSignature\":\"" sig "\"}"

static const struct stream_case CASES[] = {
    {"text", TEXT("h\xc3\xa4") TEXT("!") STOP("STOP"), "end text(h\xc3\xa4!) heard <h\xc3\xa4!>"},
    {"usage: cached tokens are part of the prompt, thoughts are output",
     TEXT(
         "x") "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
              "\"promptTokenCount\":20,\"cachedContentTokenCount\":12,\"candidatesTokenCount\":3,"
              "\"thoughtsTokenCount\":4,\"toolUsePromptTokenCount\":1,\"totalTokenCount\":28}}\n\n",
     "end text(x) usage(21 in 7 out 12 read 0 w5 0 w1) heard <x>"},
    {"usage that cannot be",
     TEXT("x") "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],"
               "\"usageMetadata\":{\"promptTokenCount\":2,"
               "\"cachedContentTokenCount\":9,\"candidatesTokenCount\":"
               "-5}}\n\n",
     "end text(x) usage(2 in 0 out 2 read 0 w5 0 w1) heard <x>"},
    {"calls in parallel: the first is signed",
     PART(SIGNED("\"name\":\"f\",\"args\":{\"a\":0.10}",
                 "s") "," CALL("\"id\":\"g1\",\"name\":\"g\",\"args\":{}")) STOP("STOP"),
     "tool call(new f {\"a\":0.10}) opaque({\"thoughtSignature\":\"s\"}) call(g1 g {}) "
     "heard <[f][g]>"},
    {"a call without arguments", PART(CALL("\"name\":\"f\"")) STOP("STOP"),
     "tool call(new f {}) heard <[f]>"},
    {"a call whose name had to be changed", PART(CALL("\"name\":\"_7zip__x\"")) STOP("STOP"),
     "tool call(new 7zip__x {}) heard <[7zip__x]>"},
    {"a call without a name", PART(CALL("\"args\":{}")) STOP("STOP"), "end"},
    {"arguments that are no object", PART(CALL("\"name\":\"f\",\"args\":[1]")) STOP("STOP"),
     "tool call(new f [1] BAD) heard <[f]>"},
    {"thoughts and the signature of words",
     PART("{\"text\":\"a\",\"thought\":true}") PART("{\"text\":\"b\",\"thought\":true}") TEXT("x")
         EVENT(PARTS("{\"text\":\"\",\"thoughtSignature\":\"s\"}") ",\"finishReason\":\"STOP\""),
     "end opaque({\"thought\":\"ab\"}) text(x) opaque({\"thoughtSignature\":\"s\"}) "
     "heard <(a)(b)x>"},
    {"words after a signature begin a block",
     PART("{\"text\":\"a\",\"thoughtSignature\":\"s\"}") TEXT("b") STOP("STOP"),
     "end text(a) opaque({\"thoughtSignature\":\"s\"}) text(b) heard <ab>"},
    {"cut by the limit", TEXT("x") PART(CALL("\"name\":\"f\"")) STOP("MAX_TOKENS"),
     "length text(x) heard <x[f]>"},
    {"a signed call cut by the limit",
     TEXT("x") PART(SIGNED("\"name\":\"f\"", "s")) STOP("MAX_TOKENS"),
     "length text(x) heard <x[f]>"},
    {"a filter", TEXT("par") STOP("SAFETY"), "refusal because(SAFETY) heard <par>"},
    {"a filter in words",
     EVENT("\"finishReason\":\"RECITATION\",\"finishMessage\":\"It is a song.\""),
     "refusal because(It is a song.)"},
    {"a prompt that is blocked",
     "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{"
     "\"promptTokenCount\":3}}\n\n",
     "refusal because(the prompt was blocked: PROHIBITED_CONTENT) usage(3 in 0 out 0 read 0 w5 0 "
     "w1)"},
    {"a call that the service cannot read",
     EVENT("\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"Malformed: f(\""),
     "error tool_use_failed: Malformed: f("},
    {"a reason of the future", TEXT("x") STOP("NOVEL"), "end text(x) heard <x>"},
    {"parts of the future",
     PART("{\"executableCode\":{\"code\":\"1\"}}") PART("7") TEXT("x") STOP("STOP"),
     "end text(x) heard <x>"},
    {"nothing at all", STOP("STOP"), "end"},
    {"cut", TEXT("x"), "cut heard <x>"},
    {"an error in mid-stream",
     TEXT("x") "data: {\"error\":{\"code\":503,\"message\":\"Busy\",\"status\":\"UNAVAILABLE\"}}"
               "\n\n",
     "error UNAVAILABLE: Busy heard <x>"},
    {"an event that is no JSON", "data: oops\n\n",
     "error bad_stream: the stream holds an event that is not JSON"},
    {"strange shapes",
     "data: {}\n\ndata: {\"candidates\":7}\n\ndata: {\"candidates\":[7]}\n\ndata: []\n\n"
     "data: {\"candidates\":[{\"content\":{\"parts\":{}}}]}\n\n" STOP("STOP"),
     "end"},
};

TEST(means_the_same_however_it_is_cut)
{
    (void)state;
    rig_all(&DECODER, CASES, ARRAY_LEN(CASES));
}

TEST(a_call_is_told_with_its_arguments)
{
    rig_check_args(&DECODER, PART(CALL("\"id\":\"a\",\"name\":\"t\",\"args\":{\"x\":1}")),
                   "[a t](a {\"x\":1})");
}

TEST(the_status_of_an_error_is_kept)
{
    struct sse_event ev = {.data = STR("{\"error\":{\"code\":429,\"message\":\"m\"}}")};
    struct answer an;
    (void)state;
    answer_init(&an, NULL, NULL);
    google_event(&an, &ev);
    assert_int_equal(an.error.status, 429);
    answer_done(&an);
}
