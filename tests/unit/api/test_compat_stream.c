/* Answers to programs as streams of events (compat/write_*.c), and clients that leave. */
#include "support/api_streams.h"

#define HI "{\"role\":\"user\",\"content\":\"hi\"}"
#define CHAT                                                                                       \
    "{\"model\":\"default\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"          \
    "\"messages\":[" HI "]}"
#define CHAT_WITH_TOOL                                                                             \
    "{\"model\":\"default\",\"stream\":true,\"messages\":[" HI "],\"tools\":[{\"type\":"           \
    "\"function\",\"function\":{\"name\":\"weather\"}}]}"
#define RESPONSE "{\"model\":\"default\",\"stream\":true,\"input\":\"hi\"}"
#define RESPONSE_WITH_TOOL                                                                         \
    "{\"model\":\"default\",\"stream\":true,\"input\":\"hi\",\"tools\":[{\"type\":\"function\","   \
    "\"name\":\"weather\"}]}"
#define MESSAGE "{\"model\":\"default\",\"stream\":true,\"max_tokens\":50,\"messages\":[" HI "]}"
#define MESSAGE_WITH_TOOL                                                                          \
    "{\"model\":\"default\",\"stream\":true,\"max_tokens\":50,\"messages\":[" HI "],\"tools\":"    \
    "[{\"name\":\"weather\",\"input_schema\":{\"type\":\"object\"}}]}"

static struct api_stream *begin(struct api_rig *t, const char *path, const char *body)
{
    return api_stream_of(api_begin(t, "ben", "POST", path, "", str_from(body)));
}

/* ---- chat completions: data without names ---- */

struct chunks {
    const struct json *items[64];
    size_t n;
    bool is_done; /* [DONE] came last */
};

static struct chunks chunks_of(struct api_rig *t, const char *body)
{
    struct chunks all = {0};
    struct api_answer a = api_call(t, "ben", "POST", "/v1/chat/completions", body);
    str rest = a.body, line;
    assert_status(a, 200);
    assert_string_equal(api_header(t, &a, "Content-Type"), "text/event-stream");
    while (str_split(&rest, '\n', &line)) {
        struct json *v;
        if (!str_starts(line, STR("data: ")))
            continue;
        assert_false(all.is_done);
        all.is_done = str_eq(line, STR("data: [DONE]"));
        if (all.is_done)
            continue;
        assert_int_equal(json_parse(&t->rig->arena, str_skip(line, 6), 0, &v, NULL), 0);
        assert_true(all.n < ARRAY_LEN(all.items));
        all.items[all.n++] = v;
    }
    return all;
}

static const struct json *first_choice(const struct json *chunk)
{
    return json_at(json_get(chunk, "choices"), 0);
}

TEST_WITH(chunks_of_a_chat_add_up_to_the_answer, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.partial = "hel", .text = "lo", .usage = {.input_tokens = 3, .output_tokens = 2});
    struct chunks all = chunks_of(t, CHAT);
    str text = STR("");
    assert_true(all.is_done && all.n >= 4);
    assert_string_equal(api_text(t, first_choice(all.items[0]), "delta.role"), "assistant");
    for (size_t i = 0; i < all.n; i++) {
        assert_string_equal(api_text(t, all.items[i], "object"), "chat.completion.chunk");
        assert_string_equal(api_text(t, all.items[i], "id"), api_text(t, all.items[0], "id"));
        text = arena_concat(&t->rig->arena, text,
                            str_from(api_text(t, first_choice(all.items[i]), "delta.content")));
    }
    assert_true(str_eq(text, STR("hello")));
    const struct json *end = all.items[all.n - 2], *usage = all.items[all.n - 1];
    assert_string_equal(api_text(t, first_choice(end), "finish_reason"), "stop");
    assert_string_equal(api_part(t, end, "usage"), "null");
    assert_string_equal(api_part(t, usage, "choices"), "[]");
    assert_string_equal(api_part(t, usage, "usage.total_tokens"), "5");
}

TEST_WITH(a_call_of_the_client_is_one_chunk_with_its_index, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.calls = {{"weather", "{\"city\":\"Wien\"}"}, {"weather", "{}"}});
    struct chunks all = chunks_of(t, CHAT_WITH_TOOL);
    assert_int_equal(all.n, 3); /* without usage: it was not asked for */
    assert_string_equal(api_part(t, first_choice(all.items[1]), "delta.tool_calls"),
                        "[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":"
                        "\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Wien\\\"}\"}},{\"index\":1,"
                        "\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"weather\","
                        "\"arguments\":\"{}\"}}]");
    assert_string_equal(api_text(t, first_choice(all.items[2]), "finish_reason"), "tool_calls");
}

TEST_WITH(calls_of_nb_are_not_in_the_stream_of_a_chat, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{}");
    model_says("done");
    struct chunks all = chunks_of(t, CHAT);
    for (size_t i = 0; i < all.n; i++)
        assert_null(json_get(json_get(first_choice(all.items[i]), "delta"), "tool_calls"));
    assert_int_equal(rig_tools.started, 1);
}

TEST_WITH(a_chat_that_fails_says_so_in_its_stream, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_SERVER, "broken");
    struct chunks all = chunks_of(t, CHAT);
    assert_true(all.is_done);
    assert_string_equal(api_text(t, all.items[all.n - 1], "error.code"), "provider_error");
    assert_string_equal(api_text(t, all.items[all.n - 1], "error.message"), "broken");
}

TEST_WITH(what_is_refused_before_the_run_has_a_status_and_no_stream, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *path, *body;
        int status;
    } BAD[] = {
        {"/v1/chat/completions", "{\"model\":\"m\",\"stream\":true,\"messages\":[]}", 400},
        {"/v1/chat/completions", "{\"model\":\"agent:none\",\"stream\":true,\"messages\":[" HI "]}",
         404},
        {"/v1/responses", "{\"stream\":true,\"input\":\"x\",\"conversation\":\"conv_none\"}", 404},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        struct api_answer a = api_call(t, "ben", "POST", BAD[i].path, BAD[i].body);
        assert_status(a, BAD[i].status);
        assert_non_null(json_get(a.json, "error"));
    }
}

/* ---- responses ---- */

static void expect_numbers(struct api_stream *s)
{
    for (size_t i = 0; i < s->nframes; i++) {
        struct json *v;
        struct arena *mem = &s->client->t->rig->arena;
        assert_int_equal(json_parse(mem, str_from(s->frames[i].data), 0, &v, NULL), 0);
        assert_int_equal(json_get_int(v, "sequence_number", -1), i);
        assert_true(str_eq(json_get_string(v, "type"), str_from(s->frames[i].event)));
    }
}

TEST_WITH(events_of_a_response_come_in_their_order, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "hello", .usage = {.input_tokens = 3, .output_tokens = 2});
    struct api_stream *s = begin(t, "/v1/responses", RESPONSE);
    stream_end(s);
    assert_string_equal(stream_events(s),
                        "response.created response.in_progress response.output_item.added "
                        "response.content_part.added response.output_text.delta "
                        "response.output_text.done response.content_part.done "
                        "response.output_item.done response.completed");
    expect_numbers(s);
    const struct json *end = stream_wait(s, "response.completed");
    assert_string_equal(api_text(t, end, "response.status"), "completed");
    assert_string_equal(api_part(t, end, "response.usage.total_tokens"), "5");
    const struct json *item = json_at(json_get(json_get(end, "response"), "output"), 0);
    assert_string_equal(api_text(t, json_at(json_get(item, "content"), 0), "text"), "hello");
}

TEST_WITH(calls_in_a_response_are_items_with_the_indexes_of_its_output, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "I look.", .calls = {{"weather", "{}"}, {"t__ping", "{}"}});
    struct api_stream *s = begin(t, "/v1/responses", RESPONSE_WITH_TOOL);
    stream_end(s);
    expect_numbers(s);
    const struct json *args = stream_wait(s, "response.function_call_arguments.done");
    assert_string_equal(api_part(t, args, "output_index"), "1");
    assert_string_equal(api_text(t, args, "arguments"), "{}");
    const struct json *done = stream_wait(s, "response.output_item.done");
    assert_string_equal(api_text(t, done, "item.call_id"), "c1");
    done = stream_wait(s, "response.output_item.done");
    assert_string_equal(api_text(t, done, "item.type"), "mcp_call");
    assert_string_equal(api_part(t, done, "output_index"), "2");
    const struct json *end = stream_wait(s, "response.completed");
    const struct json *output = json_get(json_get(end, "response"), "output");
    assert_int_equal(output->len, 3);
    assert_string_equal(api_text(t, json_at(output, 1), "id"), api_text(t, args, "item_id"));
}

TEST_WITH(a_response_that_fails_or_is_cut_off_ends_with_that_event, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_SERVER, "broken");
    struct api_stream *s = begin(t, "/v1/responses", RESPONSE);
    stream_end(s);
    const struct json *end = stream_wait(s, "response.failed");
    assert_string_equal(api_text(t, end, "response.error.message"), "broken");
    MODEL(.text = "cut", .stop = LLM_STOP_REFUSAL);
    s = begin(t, "/v1/responses", RESPONSE);
    stream_end(s);
    end = stream_wait(s, "response.incomplete");
    assert_string_equal(api_text(t, end, "response.incomplete_details.reason"), "content_filter");
}

TEST_WITH(a_response_without_a_word_has_an_empty_message, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "");
    struct api_stream *s = begin(t, "/v1/responses", RESPONSE);
    stream_end(s);
    const struct json *done = stream_wait(s, "response.output_text.done");
    assert_string_equal(api_part(t, done, "text"), "\"\"");
}

/* ---- messages ---- */

TEST_WITH(events_of_a_message_come_in_their_order, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "hello", .usage = {.input_tokens = 3, .output_tokens = 2});
    struct api_stream *s = begin(t, "/v1/messages", MESSAGE);
    stream_end(s);
    assert_string_equal(stream_events(s),
                        "message_start content_block_start content_block_delta content_block_stop "
                        "message_delta message_stop");
    const struct json *delta = stream_wait(s, "content_block_delta");
    assert_string_equal(api_part(t, delta, "delta"),
                        "{\"type\":\"text_delta\",\"text\":\"hello\"}");
    delta = stream_wait(s, "message_delta");
    assert_string_equal(api_text(t, delta, "delta.stop_reason"), "end_turn");
    assert_string_equal(api_part(t, delta, "usage.output_tokens"), "2");
}

TEST_WITH(calls_of_a_message_are_blocks_behind_its_text, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "I look.", .calls = {{"weather", "{\"city\":\"Wien\"}"}});
    struct api_stream *s = begin(t, "/v1/messages", MESSAGE_WITH_TOOL);
    stream_end(s);
    const struct json *block = stream_wait(s, "content_block_start");
    assert_string_equal(api_part(t, block, "index"), "0");
    block = stream_wait(s, "content_block_start");
    assert_string_equal(api_part(t, block, "index"), "1");
    assert_string_equal(api_part(t, block, "content_block"),
                        "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"weather\",\"input\":{}}");
    block = stream_wait(s, "content_block_delta");
    assert_string_equal(api_text(t, block, "delta.partial_json"), "{\"city\":\"Wien\"}");
    block = stream_wait(s, "message_delta");
    assert_string_equal(api_text(t, block, "delta.stop_reason"), "tool_use");
}

TEST_WITH(a_message_that_fails_ends_with_an_error, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_SERVER, "broken");
    struct api_stream *s = begin(t, "/v1/messages", MESSAGE);
    stream_end(s);
    const struct json *end = stream_wait(s, "error");
    assert_string_equal(api_text(t, end, "type"), "error");
    assert_string_equal(api_text(t, end, "error.message"), "broken");
}

/* ---- the end of the client, or of its rights ---- */

TEST_WITH(a_client_that_leaves_its_stream_cancels_the_run, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *path, *body, *event;
    } STREAMS[] = {
        {"/v1/responses", RESPONSE, "response.output_text.delta"},
        {"/v1/messages", MESSAGE, "content_block_delta"},
    };
    for (size_t i = 0; i < ARRAY_LEN(STREAMS); i++) {
        MODEL(.partial = "so far", .text = "late", .is_held = true);
        struct api_stream *s = begin(t, STREAMS[i].path, STREAMS[i].body);
        stream_wait(s, STREAMS[i].event);
        stream_drop(s);
        rig_until(t->rig, runtime_runs(t->rig->runtime) == 0);
        assert_int_equal(rig_model.ncancelled, i + 1);
    }
}

TEST_WITH(a_person_who_loses_access_gets_no_more_of_the_answer, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.partial = "so far", .text = "secret", .is_held = true);
    struct api_stream *s = begin(t, "/v1/messages", MESSAGE);
    stream_wait(s, "content_block_delta");
    api_set_role(t, "usr_ben", WS_NONE);
    stream_end(s);
    const struct json *end = stream_wait(s, "error");
    assert_non_null(strstr(api_text(t, end, "error.message"), "may not see"));
    rig_until(t->rig, runtime_runs(t->rig->runtime) == 0);
}
