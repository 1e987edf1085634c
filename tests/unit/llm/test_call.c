#include <errno.h>

#include "base/bytes/hash.h"
#include "llm/llm.h"
#include "loop/timer.h"
#include "net/fetch.h"
#include "support/unit.h"
#include "unit/llm/script_server.h"

enum { WAIT_MS = 60000, SILENCE_MS = 1500 };

#define STREAM_HEAD                                                                                \
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_1\r\n\r\n"
#define EV(json) "event: x\r\ndata: " json "\r\n\r\n"
#define TEXT_ANSWER                                                                                \
    STREAM_HEAD EV("{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,"       \
                   "\"cache_read_input_tokens\":10,\"cache_creation_input_tokens\":5,"             \
                   "\"output_tokens\":1}}}") EV("{\"type\":\"ping\"}")                             \
        EV("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"            \
           "\"text\",\"text\":\"\"}}")                                                             \
            EV("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"                \
               "\"text_delta\",\"text\":\"gr\xc3\xbc\xc3\x9f\"}}")                                 \
                EV("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"            \
                   "\"text_delta\",\"text\":\" dich \xf0\x9f\x98\x80\"}}")                         \
                    EV("{\"type\":\"content_block_stop\",\"index\":0}")                            \
                        EV("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"               \
                           "\"end_turn\"},\"usage\":{\"output_tokens\":7}}")                       \
                            EV("{\"type\":\"message_stop\"}")
#define ERROR(status, headers, type, message)                                                      \
    "HTTP/1.1 " status "\r\n" headers "connection: close\r\n\r\n{\"type\":\"error\",\"error\":{"   \
    "\"type\":\"" type "\",\"message\":\"" message "\"},\"request_id\":\"req_e\"}"

struct world {
    struct loop *loop;
    struct fetcher *fetcher;
    struct script_server *server;
    struct llm *llm;
    struct llm_call *call;
    bool cancel_in_text;
    unsigned idle_ms;
    /* what came */
    bool is_over, is_done;
    struct buf text;
    unsigned retries;
    uint64_t last_wait_ms;
    enum llm_error_kind kind;
    int http_status;
    bool had_output;
    char message[ERR_MAX], sha[65], request_id[64];
    struct conv_usage usage;
    size_t nblocks;
};

static void on_text(void *ctx, str delta)
{
    struct world *w = ctx;
    buf_add_str(&w->text, delta);
    if (!w->cancel_in_text)
        return;
    llm_cancel(w->call);
    w->call = NULL;
    w->is_over = true;
}

static void on_retry(void *ctx, unsigned attempt, unsigned of, uint64_t wait_ms,
                     const struct err *why)
{
    struct world *w = ctx;
    assert_true(attempt < of);
    w->retries++;
    w->last_wait_ms = wait_ms;
    assert_int_equal(attempt, w->retries);
    assert_true(why->code < 0);
}

static void on_done(void *ctx, const struct llm_result *r)
{
    struct world *w = ctx;
    w->is_done = w->is_over = true;
    w->usage = r->usage;
    w->nblocks = r->n;
    memcpy(w->sha, r->request_sha256, sizeof w->sha);
    snprintf(w->request_id, sizeof w->request_id, "%.*s", STR_ARG(r->request_id));
}

static void on_fail(void *ctx, const struct llm_failure *f)
{
    struct world *w = ctx;
    w->is_over = true;
    w->kind = f->kind;
    w->http_status = f->http_status;
    w->had_output = f->had_output;
    memcpy(w->message, f->err.msg, sizeof w->message);
    snprintf(w->request_id, sizeof w->request_id, "%.*s", STR_ARG(f->request_id));
}

static void make_llm(struct world *w, const char *type, const char *key)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", w->server ? w->server->port : 1);
    struct llm_provider_conf p = {.name = STR("test"),
                                  .type = str_from(type),
                                  .base_url = str_from(url),
                                  .api_key = str_from(key)};
    struct llm_conf conf = {.providers = &p,
                            .nproviders = 1,
                            .idle_timeout_ms = w->idle_ms ? w->idle_ms : WAIT_MS,
                            .retry_base_ms = 4,
                            .max_tries = 3};
    struct err e = {0};
    w->llm = llm_new(w->loop, w->fetcher, &conf, NULL, &e);
    assert_non_null(w->llm);
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->fetcher = fetcher_new(w->loop);
    buf_init(&w->text, 1 << 20);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    llm_free(w->llm);
    fetcher_free(w->fetcher);
    if (w->server)
        script_server_free(w->server);
    loop_free(w->loop);
    buf_done(&w->text);
    free(w);
    return 0;
}

/* The steps must outlive the server's thread. */
static void play(struct world *w, const struct script_step *steps, size_t n)
{
    w->server = script_server_new(steps, n);
    make_llm(w, "anthropic", "sk-ant-secret-key-123");
}

static void start(struct world *w, str model)
{
    static const struct llm_events EVENTS = {
        .on_text = on_text, .on_retry = on_retry, .on_done = on_done, .on_fail = on_fail};
    struct llm_block block = {.type = LLM_TEXT, .text = STR("hello")};
    struct llm_message message = {LLM_USER, &block, 1};
    struct llm_tool tools[2] = {{STR("a__one"), STR("first"), NULL},
                                {STR("b__two"), STR("second"), NULL}};
    struct llm_request req = {
        .messages = &message, .nmessages = 1, .tools = tools, .ntools = 2, .max_tokens = 100};
    w->call = llm_start(w->llm, model, &req, &EVENTS, w);
    assert_false(w->is_over); /* never before it returns */
}

static void call(struct world *w)
{
    start(w, STR("test:claude-sonnet-5"));
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
}

static void assert_text(struct world *w, const char *text)
{
    assert_string_equal(buf_cstr(&w->text), text);
}

static void assert_message_has(struct world *w, const char *part)
{
    if (!strstr(w->message, part))
        fail_msg("'%s' is not in: %s", part, w->message);
}

TEST_WITH(streams_an_answer, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {{TEXT_ANSWER, SCRIPT_CLOSE, false}};
    play(w, STEPS, 1);
    call(w);
    assert_true(w->is_done);
    assert_text(w, "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x98\x80");
    assert_int_equal(w->usage.input_tokens, 18);
    assert_int_equal(w->usage.cache_read_tokens, 10);
    assert_int_equal(w->usage.cache_write_5m_tokens, 5);
    assert_int_equal(w->usage.output_tokens, 7);
    assert_string_equal(w->request_id, "req_1");
    str sent = script_request(w->server, 0);
    assert_true(str_find(sent, STR("POST /v1/messages HTTP/1.1\r\n"), 0) == 0);
    assert_true(str_find_nocase(sent, STR("anthropic-version: 2023-06-01\r\n")) > 0);
    assert_true(str_find_nocase(sent, STR("x-api-key: sk-ant-secret-key-123\r\n")) > 0);
}

TEST_WITH(hashes_what_was_sent, setup, teardown)
{
    struct world *w = *state;
    char hex[SHA256_HEX_LEN + 1];
    static const struct script_step STEPS[] = {{TEXT_ANSWER, SCRIPT_CLOSE, false}};
    play(w, STEPS, 1);
    call(w);
    str sent = script_request(w->server, 0);
    ptrdiff_t body = str_find(sent, STR("\r\n\r\n"), 0) + 4;
    sha256_hex(str_skip(sent, (size_t)body), hex);
    assert_string_equal(w->sha, hex);
}

TEST_WITH(takes_one_byte_at_a_time, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {{TEXT_ANSWER, SCRIPT_CLOSE, true}};
    play(w, STEPS, 1);
    call(w);
    assert_true(w->is_done);
    assert_text(w, "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x98\x80");
}

/* The answer counts when the model says so, not when the server lets go of the socket. */
TEST_WITH(does_not_wait_for_the_socket, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {{TEXT_ANSWER, SCRIPT_HANG, false}};
    play(w, STEPS, 1);
    call(w);
    assert_true(w->is_done);
}

TEST_WITH(retries_until_it_works, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("529 Overloaded", "", "overloaded_error", "Overloaded")},
        {ERROR("500 Oops", "", "api_error", "Internal")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 3);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->retries, 2);
    assert_true(w->last_wait_ms <= 8 && w->last_wait_ms >= 6); /* doubled, a quarter less */
}

TEST_WITH(gives_up_after_all_tries, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("529 Overloaded", "", "overloaded_error", "Overloaded")},
        {ERROR("529 Overloaded", "", "overloaded_error", "Overloaded")},
        {ERROR("529 Overloaded", "", "overloaded_error", "Overloaded")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 4);
    call(w);
    assert_false(w->is_done);
    assert_int_equal(w->kind, LLM_ERR_OVERLOADED);
    assert_int_equal(w->http_status, 529);
    assert_string_equal(w->request_id, "req_e");
    assert_int_equal(script_played(w->server), 3);
}

TEST_WITH(waits_as_long_as_it_is_told, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("429 Slow", "retry-after: 2\r\nretry-after-ms: 37\r\n", "rate_limit_error", "Slow")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 2);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->last_wait_ms, 37);
}

TEST(stops_at_once_when_it_is_hopeless)
{
    static const struct {
        const char *answer;
        enum llm_error_kind kind;
        const char *message;
    } CASES[] = {
        {ERROR("401 No", "", "authentication_error", "invalid x-api-key sk-ant-secret-key-123"),
         LLM_ERR_AUTH, "providers.test.apiKey"},
        {ERROR("402 Pay", "", "billing_error", "no credit"), LLM_ERR_BILLING, "credit"},
        {ERROR("403 No", "", "permission_error", "no"), LLM_ERR_AUTH, "key"},
        {ERROR("404 No", "", "not_found_error", "model: claude-sonnet-5"), LLM_ERR_MODEL,
         "claude-sonnet-5"},
        {ERROR("400 Bad", "", "invalid_request_error", "messages.0: no"), LLM_ERR_INVALID,
         "messages.0: no"},
        {ERROR("400 Bad", "", "invalid_request_error", "prompt is too long: 9 tokens > 8"),
         LLM_ERR_TOO_LONG, "too long"},
        {"HTTP/1.1 413 Large\r\nconnection: close\r\n\r\n<html>cloud</html>", LLM_ERR_TOO_LONG,
         "HTTP 413"},
        {ERROR("429 Cap", "", "rate_limit_error", "monthly spend cap"), LLM_ERR_BILLING,
         "spending limit"},
        {ERROR("429 Slow", "retry-after: 4000\r\n", "rate_limit_error", "Slow"), LLM_ERR_OVERLOADED,
         "429"},
        {ERROR("500 Oops", "x-should-retry: false\r\n", "api_error", "no"), LLM_ERR_SERVER,
         " had an internal error (500: no). Try again later."},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world *w;
        setup((void **)&w);
        struct script_step steps[] = {{.answer = CASES[i].answer}, {.answer = TEXT_ANSWER}};
        play(w, steps, 2);
        call(w);
        assert_false(w->is_done);
        assert_int_equal(w->retries, 0);
        assert_int_equal(w->kind, CASES[i].kind);
        assert_message_has(w, CASES[i].message);
        assert_null(strstr(w->message, "secret"));
        teardown((void **)&w);
    }
}

TEST_WITH(obeys_x_should_retry, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("400 Odd", "x-should-retry: true\r\n", "invalid_request_error", "again")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 2);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->retries, 1);
}

TEST_WITH(a_cut_answer_is_a_failure, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                        "\"type\":\"text\",\"text\":\"half\"}}")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 2);
    call(w);
    assert_false(w->is_done);
    assert_true(w->had_output); /* shown, so it is not tried again */
    assert_int_equal(w->kind, LLM_ERR_NETWORK);
    assert_int_equal(script_played(w->server), 1);
}

TEST_WITH(a_cut_before_any_output_is_tried_again, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"message_start\",\"message\":{}}")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 2);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->retries, 1);
}

TEST_WITH(an_error_in_mid_stream_ends_it, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                        "\"Overloaded\"}}"),
         SCRIPT_HANG},
        {STREAM_HEAD EV("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                        "\"type\":\"text\",\"text\":\"x\"}}")
             EV("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                "\"Overloaded\"}}"),
         SCRIPT_HANG},
    };
    play(w, STEPS, 2);
    call(w);
    assert_false(w->is_done);
    assert_int_equal(w->retries, 1);
    assert_true(w->had_output);
    assert_int_equal(w->kind, LLM_ERR_OVERLOADED);
}

TEST_WITH(silence_is_a_failure, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                        "\"type\":\"text\",\"text\":\"x\"}}"),
         SCRIPT_HANG}};
    w->idle_ms = SILENCE_MS;
    play(w, STEPS, 1);
    call(w);
    assert_false(w->is_done);
    assert_int_equal(w->kind, LLM_ERR_NETWORK);
}

/* Pings keep a connection open; they are not a part of an answer. */
TEST_WITH(pings_alone_are_silence, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"message_start\",\"message\":{}}"), SCRIPT_PING},
        {TEXT_ANSWER},
    };
    w->idle_ms = SILENCE_MS;
    play(w, STEPS, 2);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->retries, 1);
}

TEST_WITH(pings_behind_half_an_answer_end_it, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                        "\"type\":\"text\",\"text\":\"x\"}}"),
         SCRIPT_PING}};
    w->idle_ms = SILENCE_MS;
    play(w, STEPS, 1);
    call(w);
    assert_false(w->is_done);
    assert_int_equal(w->kind, LLM_ERR_NETWORK);
    assert_message_has(w, "no part of an answer arrived within 1500 ms");
}

/* Proxies drop the header; a 429 is a rate limit until the tries are used up. */
TEST_WITH(a_rate_limit_without_a_wait_is_tried_again, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("429 Slow", "", "rate_limit_error", "Slow down")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 2);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->retries, 1);
}

static void tick(void *ctx)
{
    (void)ctx;
}

TEST_WITH(cancelling_closes_the_socket, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {STREAM_HEAD EV("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                        "\"type\":\"text\",\"text\":\"x\"}}"),
         SCRIPT_HANG}};
    play(w, STEPS, 1);
    w->cancel_in_text = true;
    call(w);
    assert_null(w->call);
    struct timer t;
    bool never = false;
    timer_init(&t, w->loop, tick, NULL);
    for (int i = 0; i < WAIT_MS / 10 && !script_saw_close(w->server); i++)
        loop_run_until(w->loop, &never, 10);
    assert_true(script_saw_close(w->server));
    assert_false(w->is_done);
}

TEST_WITH(cancels_while_it_waits_to_retry, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("429 Slow", "retry-after: 60\r\n", "rate_limit_error", "Slow")}};
    play(w, STEPS, 1);
    start(w, STR("test:claude-sonnet-5"));
    bool never = false;
    for (int i = 0; i < WAIT_MS / 10 && w->retries == 0; i++)
        loop_run_until(w->loop, &never, 10);
    assert_int_equal(w->last_wait_ms, 60000);
    llm_cancel(w->call);
    loop_run_until(w->loop, &never, 20);
    assert_false(w->is_over);
}

TEST_WITH(goes_on_without_a_bad_tool, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("400 Bad", "", "invalid_request_error",
               "tools.1.custom.input_schema: JSON schema is invalid")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 2);
    call(w);
    assert_true(w->is_done);
    assert_int_equal(w->retries, 0);
    str first = script_request(w->server, 0), second = script_request(w->server, 1);
    assert_true(str_find(first, STR("b__two"), 0) > 0);
    assert_true(str_find(second, STR("b__two"), 0) < 0);
    assert_true(str_find(second, STR("a__one"), 0) > 0);
    /* the cache breakpoint of the last tool moved */
    assert_true(str_find(second, STR("\"cache_control\""), 0) <
                str_find(second, STR("\"messages\""), 0));
}

TEST_WITH(a_second_bad_tool_is_an_error, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {ERROR("400 Bad", "", "invalid_request_error", "tools.0.custom: no")},
        {ERROR("400 Bad", "", "invalid_request_error", "tools.0.custom: no")},
        {TEXT_ANSWER},
    };
    play(w, STEPS, 3);
    call(w);
    assert_false(w->is_done);
    assert_int_equal(w->kind, LLM_ERR_INVALID);
    assert_int_equal(script_played(w->server), 2);
}

TEST_WITH(an_error_inside_of_200_is_an_error, setup, teardown)
{
    struct world *w = *state;
    static const struct script_step STEPS[] = {
        {"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"no route\","
         "\"type\":\"invalid_request_error\"}}"}};
    play(w, STEPS, 1);
    call(w);
    assert_false(w->is_done);
    assert_message_has(w, "no route");
}

TEST_WITH(set_up_errors_come_later, setup, teardown)
{
    struct world *w = *state;
    make_llm(w, "anthropic", "k");
    start(w, STR("openai:gpt-5"));
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_int_equal(w->kind, LLM_ERR_MODEL);
    assert_message_has(w, "OPENAI_API_KEY");
}

TEST_WITH(nobody_there_is_said_at_once, setup, teardown)
{
    struct world *w = *state;
    make_llm(w, "anthropic", "k"); /* port 1 */
    call(w);
    assert_int_equal(w->kind, LLM_ERR_NETWORK);
    assert_int_equal(w->retries, 0);
    assert_message_has(w, "test: http://127.0.0.1:1");
}

TEST_WITH(the_demo_needs_no_network, setup, teardown)
{
    struct world *w = *state;
    make_llm(w, "anthropic", "k");
    start(w, STR("demo"));
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_true(w->is_done);
    assert_non_null(strstr(buf_cstr(&w->text), "demo model"));
    assert_true(w->usage.input_tokens > 0 && w->usage.output_tokens > 0);
    assert_int_equal(strlen(w->sha), 64);
}

/* The checksum of what a request with this tool was. */
static void call_with_tool(struct world *w, const char *tool, const char *key, char ret_sha[65])
{
    static const struct llm_events EVENTS = {
        .on_text = on_text, .on_done = on_done, .on_fail = on_fail};
    struct llm_block block = {.type = LLM_TEXT, .text = STR("hello")};
    struct llm_message message = {LLM_USER, &block, 1};
    struct llm_tool tools[1] = {{str_from(tool), STR("a tool"), NULL}};
    struct llm_request req = {.messages = &message,
                              .nmessages = 1,
                              .tools = tools,
                              .ntools = 1,
                              .tools_key = str_from(key),
                              .max_tokens = 100};
    w->is_over = w->is_done = false;
    (void)llm_start(w->llm, STR("demo"), &req, &EVENTS, w);
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_true(w->is_done);
    memcpy(ret_sha, w->sha, 65);
}

TEST_WITH(tools_that_are_known_give_the_same_bytes, setup, teardown)
{
    struct world *w = *state;
    char plain[2][65], keyed[65];
    make_llm(w, "anthropic", "k");
    call_with_tool(w, "a__one", "", plain[0]);
    call_with_tool(w, "b__two", "", plain[1]);
    assert_string_not_equal(plain[0], plain[1]);
    for (int i = 0; i < 3; i++) {
        call_with_tool(w, "a__one", "key-a", keyed);
        assert_string_equal(keyed, plain[0]);
    }
    for (int i = 0; i < 2; i++) {
        call_with_tool(w, "b__two", "key-b", keyed);
        assert_string_equal(keyed, plain[1]);
    }
    call_with_tool(w, "a__one", "", keyed);
    assert_string_equal(keyed, plain[0]);
}

TEST_WITH(the_demo_can_be_interrupted, setup, teardown)
{
    struct world *w = *state;
    make_llm(w, "anthropic", "k");
    w->cancel_in_text = true;
    start(w, STR("demo:demo"));
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_text(w, "I ");
}

TEST_WITH(the_demo_takes_its_time, setup, teardown)
{
    struct world *w = *state;
    bool never = false;
    struct llm_conf conf = {.demo_delay_ms = 20};
    w->llm = llm_new(w->loop, w->fetcher, &conf, NULL, NULL);
    start(w, STR("demo"));
    for (int i = 0; i < WAIT_MS / 10 && w->text.n == 0; i++)
        loop_run_until(w->loop, &never, 10);
    assert_false(w->is_over);
    assert_true(w->text.n > 0 && w->text.n < 40); /* a few words of many */
    llm_cancel(w->call);
    size_t before = w->text.n;
    loop_run_until(w->loop, &never, 50);
    assert_int_equal(w->text.n, before);
}

TEST_WITH(freeing_ends_all_calls, setup, teardown)
{
    struct world *w = *state;
    make_llm(w, "anthropic", "k");
    start(w, STR("demo:demo"));
    start(w, STR("test:claude-sonnet-5"));
    llm_free(w->llm);
    w->llm = NULL;
    bool never = false;
    loop_run_until(w->loop, &never, 20);
    assert_false(w->is_over);
}
