/* Requests of programs that speak the protocol of a model service: one answer each (compat/). */
#include "api/compat/compat.h"
#include "support/api_streams.h"

#define CHAT       "/v1/chat/completions"
#define RESPONSES  "/v1/responses"
#define MESSAGES   "/v1/messages"
#define HI         "{\"role\":\"user\",\"content\":\"hi\"}"
#define BODY(more) "{\"model\":\"demo:demo\",\"messages\":[" HI "]" more "}"
#define WEATHER                                                                                    \
    ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"description\":"       \
    "\"d\",\"parameters\":{\"type\":\"object\"}}}]"

static struct api_answer post(struct api_rig *t, const char *path, const char *body)
{
    return api_call(t, "ben", "POST", path, body);
}

static const struct json *choice(const struct api_answer *a)
{
    return json_at(json_get(a->json, "choices"), 0);
}

static struct api_answer ask(struct api_rig *t, const char *messages)
{
    struct api_answer a =
        post(t, CHAT, api_path(t, "{\"model\":\"default\",\"messages\":[%s]}", messages));
    assert_status(a, 200);
    return a;
}

/* The conversations of a person, the hidden ones left out, or all. */
static int64_t listed(struct api_rig *t)
{
    struct api_answer a = api_get(t, "ben", "/v1/conversations");
    return json_get_int(a.json, "totalCount", json_get(a.json, "conversations")->len);
}

/* ---- answers ---- */

TEST_WITH(a_chat_completion_has_the_text_and_the_usage, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "hello",
          .usage = {.input_tokens = 30, .output_tokens = 4, .cache_read_tokens = 10});
    struct api_answer a = post(t, CHAT, BODY(""));
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "object"), "chat.completion");
    assert_string_equal(api_text(t, a.json, "model"), "demo:demo");
    assert_true(str_starts(json_get_string(a.json, "id"), STR("chatcmpl-")));
    assert_string_equal(api_text(t, choice(&a), "message.content"), "hello");
    assert_string_equal(api_text(t, choice(&a), "message.role"), "assistant");
    assert_string_equal(api_text(t, choice(&a), "finish_reason"), "stop");
    assert_string_equal(api_part(t, a.json, "usage"),
                        "{\"prompt_tokens\":30,\"completion_tokens\":4,\"total_tokens\":34,"
                        "\"prompt_tokens_details\":{\"cached_tokens\":10}}");
}

TEST_WITH(a_response_has_items_and_names_its_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{\"n\":1}");
    MODEL(.text = "done", .usage = {.input_tokens = 3, .output_tokens = 2});
    struct api_answer a = post(t, RESPONSES, "{\"input\":\"hi\",\"instructions\":\"be brief\"}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "status"), "completed");
    const struct json *output = json_get(a.json, "output");
    assert_int_equal(output->len, 2);
    const struct json *text = json_at(json_get(json_at(output, 0), "content"), 0);
    assert_string_equal(api_text(t, text, "text"), "done");
    const struct json *call = json_at(output, 1);
    assert_string_equal(api_text(t, call, "type"), "mcp_call");
    assert_string_equal(api_text(t, call, "server_label"), "t");
    assert_string_equal(api_text(t, call, "name"), "ping");
    assert_string_equal(api_text(t, call, "output"), "pong");
    assert_true(str_starts(json_get_string(json_get(a.json, "conversation"), "id"), STR("conv_")));
    assert_non_null(strstr(rig_model.seen[0].system, "be brief"));
}

TEST_WITH(a_message_has_blocks_and_counts_cached_input_apart, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "hello", .usage = {.input_tokens = 30,
                                     .output_tokens = 4,
                                     .cache_read_tokens = 10,
                                     .cache_write_5m_tokens = 5});
    struct api_answer a = post(
        t, MESSAGES,
        "{\"model\":\"default\",\"max_tokens\":50,\"system\":\"be kind\",\"messages\":[" HI "]}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "type"), "message");
    assert_string_equal(api_part(t, a.json, "content"), "[{\"type\":\"text\",\"text\":\"hello\"}]");
    assert_string_equal(api_text(t, a.json, "stop_reason"), "end_turn");
    assert_string_equal(api_part(t, a.json, "usage"),
                        "{\"input_tokens\":15,\"output_tokens\":4,\"cache_creation_input_tokens\":5"
                        ",\"cache_read_input_tokens\":10}");
    assert_non_null(strstr(rig_model.seen[0].system, "be kind"));
}

TEST_WITH(the_end_of_a_run_is_named_as_each_service_names_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        enum llm_stop stop;
        const char *chat, *response, *message;
    } ENDS[] = {
        {LLM_STOP_END, "stop", "completed", "end_turn"},
        {LLM_STOP_LENGTH, "length", "incomplete", "max_tokens"},
        {LLM_STOP_REFUSAL, "content_filter", "incomplete", "refusal"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++) {
        MODEL(.text = "a", .stop = ENDS[i].stop);
        struct api_answer a = post(t, CHAT, BODY(",\"max_tokens\":5"));
        assert_string_equal(api_text(t, choice(&a), "finish_reason"), ENDS[i].chat);
        MODEL(.text = "a", .stop = ENDS[i].stop);
        a = post(t, RESPONSES, "{\"input\":\"hi\",\"max_output_tokens\":5}");
        assert_string_equal(api_text(t, a.json, "status"), ENDS[i].response);
        MODEL(.text = "a", .stop = ENDS[i].stop);
        a = post(t, MESSAGES, "{\"model\":\"default\",\"max_tokens\":5,\"messages\":[" HI "]}");
        assert_string_equal(api_text(t, a.json, "stop_reason"), ENDS[i].message);
    }
    assert_int_equal(rig_model.nseen, 3 * ARRAY_LEN(ENDS)); /* a cut answer is not continued */
}

/* ---- what was said before ---- */

TEST_WITH(earlier_messages_reach_the_model_as_they_were, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    ask(t, HI ",{\"role\":\"assistant\",\"content\":\"yes\",\"tool_calls\":[{\"id\":\"k1\","
              "\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\": \\\"Wien\\\"}\"}},"
              "{\"id\":\"k2\",\"function\":{\"name\":\"weather\",\"arguments\":\"{broken\"}}]},"
              "{\"role\":\"tool\",\"tool_call_id\":\"k1\",\"content\":\"21\"},"
              "{\"role\":\"tool\",\"tool_call_id\":\"k2\",\"content\":\"bad\"},"
              "{\"role\":\"user\",\"content\":\"and now?\"}");
    assert_string_equal(rig_model.seen[0].messages,
                        "user: hi\nassistant: yes[call k1 weather {\"city\":\"Wien\"}]"
                        "[call k2 weather {}]\nuser: [result of k1 21][result of k2 bad]\n"
                        "user: and now?\n");
}

TEST_WITH(a_request_that_quotes_the_last_answer_continues_its_conversation, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{}");
    model_says("one");
    ask(t, HI);
    model_says("two");
    ask(t,
        HI ",{\"role\":\"assistant\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"b\"}");
    /* the model sees what nb's own tool returned, which the program never had */
    assert_non_null(strstr(rig_model.seen[2].messages, "[result of c1 pong]"));
    model_says("three");
    ask(t, HI ",{\"role\":\"assistant\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"b\"},"
              "{\"role\":\"assistant\",\"content\":\"two\"},{\"role\":\"user\",\"content\":\"c\"}");
    assert_non_null(strstr(rig_model.seen[3].messages, "[result of c1 pong]"));
    assert_non_null(strstr(rig_model.seen[3].messages, "assistant: two\nuser: c\n"));
}

TEST_WITH(an_edited_message_or_a_second_try_begins_a_new_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const OTHERS[] = {
        "{\"role\":\"user\",\"content\":\"other\"},{\"role\":\"assistant\",\"content\":\"one\"}"
        "," HI,
        HI ",{\"role\":\"assistant\",\"content\":\"edited\"}," HI,
    };
    model_calls("t__ping", "{}");
    model_says("one");
    ask(t, HI);
    for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++) {
        ask(t, OTHERS[i]);
        assert_null(strstr(rig_model.seen[rig_model.nseen - 1].messages, "pong"));
    }
    const char *next = HI ",{\"role\":\"assistant\",\"content\":\"one\"}," HI;
    ask(t, next);
    assert_non_null(strstr(rig_model.seen[rig_model.nseen - 1].messages, "pong"));
    ask(t, next); /* the same question again: the first answer stays where it is */
    assert_null(strstr(rig_model.seen[rig_model.nseen - 1].messages, "pong"));
}

TEST_WITH(nobody_continues_the_conversation_of_somebody_else, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *next = "{\"model\":\"default\",\"messages\":[" HI
                       ",{\"role\":\"assistant\",\"content\":\"one\"}," HI "]}";
    model_calls("t__ping", "{}");
    model_says("one");
    ask(t, HI);
    assert_status(api_call(t, "dan", "POST", CHAT, next), 200);
    assert_null(strstr(rig_model.seen[2].messages, "pong"));
    api_add_token(t, "other",
                  (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_ALL});
    assert_status(api_call(t, "other", "POST", CHAT, next), 200); /* of the same person */
    assert_null(strstr(rig_model.seen[3].messages, "pong"));
}

TEST_WITH(a_conversation_that_was_deleted_begins_again, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_says("one");
    struct api_answer a = post(t, RESPONSES, "{\"input\":\"hi\"}");
    const char *id = api_text(t, a.json, "conversation.id");
    assert_status(api_call(t, "ben", "DELETE", api_path(t, "/v1/conversations/%s", id), NULL), 200);
    ask(t,
        HI ",{\"role\":\"assistant\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"b\"}");
    assert_string_equal(rig_model.seen[1].messages, "user: hi\nassistant: one\nuser: b\n");
}

/* ---- tools of the program ---- */

TEST_WITH(a_tool_of_the_program_ends_the_run_and_its_result_continues_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "I look.", .calls = {{"weather", "{\"city\":\"Wien\"}"}});
    struct api_answer a = post(t, CHAT, BODY(WEATHER));
    assert_status(a, 200);
    assert_string_equal(api_text(t, choice(&a), "finish_reason"), "tool_calls");
    assert_string_equal(api_text(t, choice(&a), "message.content"), "I look.");
    assert_string_equal(api_part(t, choice(&a), "message.tool_calls"),
                        "[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"weather\","
                        "\"arguments\":\"{\\\"city\\\":\\\"Wien\\\"}\"}}]");
    assert_non_null(strstr(rig_model.seen[0].tools, "t__ping"));
    assert_non_null(strstr(rig_model.seen[0].tools, "weather"));
    model_says("Warm.");
    a = post(t, CHAT,
             "{\"model\":\"default\",\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":"
             "\"I look.\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"weather\","
             "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":"
             "\"21\"}]" WEATHER "}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, choice(&a), "message.content"), "Warm.");
    assert_string_equal(rig_model.seen[1].messages,
                        "user: hi\nassistant: I look.[call c1 weather {\"city\":\"Wien\"}]\n"
                        "user: [result of c1 21]\n");
}

TEST_WITH(tools_of_both_sides_in_one_answer, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.calls = {{"t__ping", "{}"}, {"weather", "{}"}, {"t__ping", "{\"n\":2}"}});
    struct api_answer a = post(t, RESPONSES,
                               "{\"input\":\"hi\",\"tools\":[{\"type\":\"function\",\"name\":"
                               "\"weather\",\"parameters\":{\"type\":\"object\"}}]}");
    assert_status(a, 200);
    const struct json *output = json_get(a.json, "output");
    assert_int_equal(output->len, 3);
    assert_string_equal(api_text(t, json_at(output, 0), "type"), "function_call");
    assert_string_equal(api_text(t, json_at(output, 1), "type"), "mcp_call");
    const char *id = api_text(t, a.json, "id");
    model_says("Both.");
    a = post(t, RESPONSES,
             api_path(t,
                      "{\"previous_response_id\":\"%s\",\"input\":[{\"type\":"
                      "\"function_call_output\",\"call_id\":\"c2\",\"output\":\"21\"},{\"role\":"
                      "\"user\",\"content\":\"thanks\"}]}",
                      id));
    assert_status(a, 200);
    assert_non_null(strstr(rig_model.seen[1].messages,
                           "[result of c1 pong][result of c2 21][result of c3 pong]\n"
                           "user: thanks\n"));
}

TEST_WITH(a_program_can_go_without_tools_and_cannot_take_those_of_the_workspace, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{}"); /* although it was not offered */
    model_says("no tools");
    struct api_answer a = post(t, CHAT, BODY(",\"tool_choice\":\"none\"" WEATHER));
    assert_status(a, 200);
    assert_string_equal(rig_model.seen[0].tools, "");
    assert_int_equal(rig_tools.started, 0);
    assert_non_null(strstr(rig_model.seen[1].messages, "not allowed in this request"));
    /* a tool with the name of one of the workspace is the program's: nb does not call its own */
    model_calls("t__ping", "{}");
    a = post(t, CHAT,
             BODY(",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"t__ping\"}}]"));
    assert_string_equal(api_text(t, choice(&a), "finish_reason"), "tool_calls");
    assert_int_equal(rig_tools.started, 0);
}

/* ---- conversations ---- */

TEST_WITH(conversations_of_programs_are_hidden_unless_they_are_stored, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    ask(t, HI);
    struct api_answer a = post(t, RESPONSES, "{\"input\":\"hi\"}");
    const char *id = api_text(t, a.json, "conversation.id");
    assert_int_equal(listed(t), 0);
    assert_int_equal(rig_model.ntitles, 0); /* nobody reads a title */
    assert_status(api_get(t, "ben", api_path(t, "/v1/conversations/%s/history", id)), 200);
    assert_status(api_get(t, "dan", api_path(t, "/v1/conversations/%s/history", id)), 404);
    assert_status(post(t, CHAT, BODY(",\"store\":true,\"metadata\":{\"a\":\"b\"}")), 200);
    assert_int_equal(listed(t), 1);
    rig_until(t->rig, rig_model.ntitles == 1);
    assert_status(
        post(t, RESPONSES, api_path(t, "{\"input\":\"more\",\"conversation\":\"%s\"}", id)), 200);
}

TEST_WITH(only_the_newest_answer_of_ones_own_conversation_can_be_continued, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer first = post(t, RESPONSES, "{\"input\":\"hi\"}");
    const char *body = api_path(t, "{\"input\":\"more\",\"previous_response_id\":\"%s\"}",
                                api_text(t, first.json, "id"));
    assert_status(api_call(t, "dan", "POST", RESPONSES, body), 404);
    assert_status(post(t, RESPONSES, body), 200);
    struct api_answer again = post(t, RESPONSES, body);
    assert_status(again, 400);
    assert_non_null(strstr(api_text(t, again.json, "error.message"), "has continued since"));
    assert_status(post(t, RESPONSES, "{\"input\":\"x\",\"conversation\":\"conv_none\"}"), 404);
}

TEST_WITH(usage_counts_what_was_made_and_not_what_was_quoted, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "b", .usage = {.input_tokens = 7, .output_tokens = 2});
    ask(t, HI ",{\"role\":\"assistant\",\"content\":\"a\"}," HI);
    struct api_answer a = api_get(t, "ben", "/v1/usage?groupBy=model");
    assert_string_equal(api_part(t, a.json, "total.calls"), "1");
    assert_string_equal(api_part(t, a.json, "total.inputTokens"), "7");
    assert_int_equal(json_get(a.json, "rows")->len, 1);
}

/* ---- refusals ---- */

TEST_WITH(errors_have_the_form_of_the_service, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = post(t, CHAT, "{\"model\":\"m\",\"messages\":[]}");
    assert_status(a, 400);
    assert_string_equal(api_part(t, a.json, "error"),
                        "{\"message\":\"The request has no message to answer.\",\"type\":"
                        "\"invalid_request_error\",\"param\":null,\"code\":\"bad_request\"}");
    a = post(t, MESSAGES, "[]");
    assert_status(a, 400);
    assert_string_equal(api_part(t, a.json, "error"),
                        "{\"type\":\"invalid_request_error\",\"message\":\"The body must be a JSON "
                        "object.\",\"code\":\"bad_request\"}");
    assert_string_equal(api_text(t, a.json, "type"), "error");
    a = api_call(t, "", "POST", CHAT, BODY(""));
    assert_status(a, 401);
    assert_string_equal(api_text(t, a.json, "error.type"), "authentication_error");
    a = post(t, CHAT, "{\"model\":\"agent:nobody\",\"messages\":[" HI "]}");
    assert_status(a, 404);
    assert_string_equal(api_text(t, a.json, "error.code"), "model_not_found");
    a = post(t, CHAT, "{\"model\":\"groq:x\",\"messages\":[" HI "]}");
    assert_status(a, 404);
    model_fails(LLM_ERR_OVERLOADED, "busy");
    a = post(t, CHAT, BODY(""));
    assert_status(a, 502);
    assert_string_equal(api_text(t, a.json, "error.type"), "server_error");
    assert_string_equal(api_text(t, a.json, "error.code"), "provider_overloaded");
    assert_status(api_call(t, "cyd", "POST", CHAT, BODY("")), 403);
}

TEST_WITH(a_key_may_be_in_a_header_of_its_own, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *body = "{\"model\":\"default\",\"max_tokens\":9,\"messages\":[" HI "]}";
    const char *header = api_path(t, "X-Api-Key: %s\r\n", api_find_token(t, "ben")->value);
    assert_status(api_call_with(t, "", "POST", MESSAGES, header, str_from(body)), 200);
    struct api_answer a =
        api_call_with(t, "", "POST", MESSAGES, "X-Api-Key: wrong\r\n", str_from(body));
    assert_status(a, 401);
    assert_string_equal(api_text(t, a.json, "error.type"), "authentication_error");
    assert_string_equal(api_header(t, &a, "WWW-Authenticate"), "Bearer error=\"invalid_token\"");
    /* of two credentials the one in Authorization counts */
    assert_status(api_call_with(t, "cyd", "POST", MESSAGES, header, str_from(body)), 403);
}

TEST_WITH(a_token_that_may_only_read_or_use_some_tools_stays_so, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    str tool = STR("x__*");
    api_add_token(t, "reader",
                  (struct auth_new_token){.user_id = STR("usr_ben"), .scopes = SCOPE_READ});
    api_add_token(t, "narrow",
                  (struct auth_new_token){
                      .user_id = STR("usr_ben"), .scopes = SCOPE_ALL, .tools = {&tool, 1}});
    assert_status(api_call(t, "reader", "POST", CHAT, BODY("")), 403);
    model_calls("t__ping", "{}");
    assert_status(api_call(t, "narrow", "POST", CHAT, BODY("")), 200);
    assert_int_equal(rig_tools.started, 0);
    assert_null(strstr(rig_model.seen[0].tools, "t__ping"));
}

TEST_WITH(a_tool_that_needs_permission_is_refused_because_nobody_can_be_asked, api_set_up,
          api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(api_call(t, "ana", "PUT", "/v1/permissions", "{\"ask\":[\"t__ping\"]}"), 200);
    model_calls("t__ping", "{}");
    model_says("I may not.");
    struct api_answer a = post(t, CHAT, BODY(""));
    assert_status(a, 200);
    assert_int_equal(rig_tools.started, 0);
    assert_string_equal(api_text(t, choice(&a), "message.content"), "I may not.");
    assert_non_null(strstr(rig_model.seen[1].messages, "no user can answer"));
}

TEST_WITH(bodies_of_brackets_and_of_many_messages_are_refused_early, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct buf b;
    buf_init(&b, 16u << 20);
    buf_add_lit(&b, "{\"model\":\"m\",\"messages\":[");
    for (size_t i = 0; i < COMPAT_VALUES_MAX; i++)
        buf_add_lit(&b, "[],");
    buf_add_lit(&b, "[]]}");
    struct api_answer a = api_call_with(t, "ben", "POST", CHAT, "", buf_str(&b));
    assert_status(a, 400);
    assert_string_equal(api_text(t, a.json, "error.message"),
                        "The body has more than 200000 values.");
    buf_clear(&b);
    buf_add_lit(&b, "{\"model\":\"m\",\"messages\":[");
    for (size_t i = 0; i < 5000; i++)
        buf_printf(&b, "{\"role\":\"%s\",\"content\":\"x\"},", i % 2 ? "assistant" : "user");
    buf_add_lit(&b, HI "]}");
    a = api_call_with(t, "ben", "POST", CHAT, "", buf_str(&b));
    assert_status(a, 400);
    assert_string_equal(api_text(t, a.json, "error.message"),
                        "The request has more than 2000 messages.");
    buf_clear(&b);
    for (size_t i = 0; i < 200; i++)
        buf_add_lit(&b, "{\"a\":");
    a = api_call_with(t, "ben", "POST", CHAT, "", buf_str(&b));
    assert_status(a, 400);
    buf_done(&b);
    assert_int_equal(rig_model.nseen, 0);
}

TEST_WITH(a_client_that_leaves_cancels_its_run, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "late", .is_held = true);
    struct api_client *c = api_begin(t, "ben", "POST", CHAT, "", STR(BODY("")));
    rig_until(t->rig, model_waiting() == 1);
    api_client_close(c);
    rig_until(t->rig, runtime_runs(t->rig->runtime) == 0);
    assert_int_equal(rig_model.ncancelled, 1);
}

/* ---- answers of before ---- */

static struct api_answer again(struct api_rig *t, const char *who, const struct api_answer *a)
{
    return api_get(t, who, api_path(t, RESPONSES "/%s", api_text(t, a->json, "id")));
}

static void assert_again(struct api_rig *t, const struct api_answer *a)
{
    static const char *const MEMBERS[] = {"id",    "object", "status", "conversation", "store",
                                          "error", "output", "usage",  "created_at"};
    struct api_answer b = again(t, "ben", a);
    assert_status(b, 200);
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
        assert_string_equal(api_part(t, b.json, MEMBERS[i]), api_part(t, a->json, MEMBERS[i]));
}

TEST_WITH(a_response_can_be_read_again, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.text = "first", .calls = {{"t__ping", "{\"a\":1}"}, {"t__fail", "{}"}},
          .usage = {.input_tokens = 3});
    MODEL(.text = "second", .usage = {.input_tokens = 5, .output_tokens = 7});
    struct api_answer a = post(t, RESPONSES, "{\"input\":\"hi\"}");
    assert_status(a, 200);
    assert_again(t, &a);
    MODEL(.text = "later");
    const char *id = api_text(t, a.json, "conversation.id");
    struct api_answer b =
        post(t, RESPONSES,
             api_path(t, "{\"input\":\"more\",\"conversation\":\"%s\",\"store\":true}", id));
    assert_status(b, 200);
    assert_string_equal(
        api_text(
            t,
            json_at(json_get(json_at(json_get(again(t, "ben", &b).json, "output"), 0), "content"),
                    0),
            "text"),
        "later");
    assert_again(t, &a); /* not the last run any more */
}

TEST_WITH(calls_of_the_program_are_there_with_and_without_their_result, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    MODEL(.calls = {{"weather", "{\"city\":\"Rome\"}"}});
    struct api_answer a =
        post(t, RESPONSES,
             "{\"input\":\"hi\",\"tools\":[{\"type\":\"function\",\"name\":\"weather\"}]}");
    assert_status(a, 200);
    assert_string_equal(api_text(t, json_at(json_get(a.json, "output"), 0), "type"),
                        "function_call");
    assert_again(t, &a);
    MODEL(.text = "sunny");
    const char *body = api_path(
        t,
        "{\"previous_response_id\":\"%s\",\"input\":[{\"type\":\"function_call_output\","
        "\"call_id\":\"%s\",\"output\":\"sun\"}]}",
        api_text(t, a.json, "id"), api_text(t, json_at(json_get(a.json, "output"), 0), "call_id"));
    assert_status(post(t, RESPONSES, body), 200);
    assert_again(t, &a); /* its result came later */
}

TEST_WITH(a_response_is_for_those_who_may_see_its_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = post(t, RESPONSES, "{\"input\":\"hi\"}");
    assert_status(again(t, "dan", &a), 404);
    api_share(t, "ben", api_text(t, a.json, "conversation.id"), "usr_dan");
    assert_status(again(t, "dan", &a), 200);
    static const char *const UNKNOWN[] = {"resp_", "resp_x", "resp_x_", "conv_1",
                                          "resp_x_conv_none"};
    for (size_t i = 0; i < ARRAY_LEN(UNKNOWN); i++)
        assert_status(api_get(t, "ben", api_path(t, RESPONSES "/%s", UNKNOWN[i])), 404);
    assert_status(
        api_get(t, "ben",
                api_path(t, RESPONSES "/resp_none_%s", api_text(t, a.json, "conversation.id"))),
        404);
}

TEST_WITH(a_response_that_failed_or_is_not_complete_says_so, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    model_fails(LLM_ERR_AUTH, "no key");
    (void)api_call(t, "ben", "POST", "/v1/chat", api_chat_body(t, id, "x", ""));
    str log = api_get(t, "ben", api_path(t, "/v1/conversations/%s/export?format=jsonl", id)).body;
    ptrdiff_t at = str_find(log, STR("\"run.error\",\"runId\":\"run_"), 0);
    assert_true(at > 0);
    str run = str_slice(log, (size_t)at + 25, (size_t)at + 25 + 16);
    struct api_answer b =
        api_get(t, "ben", api_path(t, RESPONSES "/resp_%.*s_%s", STR_ARG(run), id));
    assert_status(b, 200);
    assert_string_equal(api_text(t, b.json, "status"), "failed");
    assert_non_null(strstr(api_text(t, b.json, "error.message"), "no key"));
    api_keep_busy(t, "ben", id);
    str active = str_skip(runtime_active_run(t->rig->runtime, str_from(id)), 4);
    b = api_get(t, "ben", api_path(t, RESPONSES "/resp_%.*s_%s", STR_ARG(active), id));
    assert_status(b, 409);
    model_release();
}
