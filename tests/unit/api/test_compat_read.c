/* Bodies of programs: what is understood, what is refused, and in which words (compat/read_*.c). */
#include "api/compat/compat.h"
#include "support/unit.h"

struct reading {
    struct arena arena;
    struct compat_request q;
    struct err e;
    int code;
};

static void read_body(struct reading *r, compat_read *read, const char *body)
{
    struct json *v;
    *r = (struct reading){0};
    arena_init(&r->arena);
    r->q.arena = &r->arena;
    if (json_parse(&r->arena, str_from(body), JSON_COPY | JSON_UNIQUE, &v, &r->e) < 0)
        fail_msg("%s: %s", body, r->e.msg);
    r->code = read(&r->q, v, &r->e);
    if (r->code == 0)
        r->code = compat_check(&r->q, &r->e);
}

/* The messages as text: "user: hi [file 0]\nassistant: [call c1 f {}]\n". */
static const char *shown(struct reading *r)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < r->q.n; i++) {
        const struct compat_message *m = &r->q.messages[i];
        buf_add_str(&b, m->is_assistant ? STR("assistant:") : STR("user:"));
        for (size_t k = 0; k < m->n; k++) {
            const struct compat_block *c = &m->blocks[k];
            if (c->type == COMPAT_TEXT)
                buf_printf(&b, " %.*s", STR_ARG(c->text));
            else if (c->type == COMPAT_FILE)
                buf_printf(&b, " [file %zu]", c->file);
            else if (c->type == COMPAT_CALL)
                buf_printf(&b, " [call %.*s %.*s %.*s]", STR_ARG(c->id), STR_ARG(c->name),
                           STR_ARG(c->args));
            else
                buf_printf(&b, " [%s %.*s %.*s]", c->is_error ? "error" : "result", STR_ARG(c->id),
                           STR_ARG(c->text));
        }
        buf_add_lit(&b, "\n");
    }
    return arena_cstr(&r->arena, buf_keep(&b, &r->arena));
}

static void expect_read(compat_read *read, const char *body, const char *messages)
{
    struct reading r;
    read_body(&r, read, body);
    if (r.code != 0)
        fail_msg("%s: %s", body, r.e.msg);
    assert_string_equal(shown(&r), messages);
    arena_done(&r.arena);
}

static void expect_words(compat_read *read, const char *body, const char *words)
{
    struct reading r;
    read_body(&r, read, body);
    if (r.code == 0)
        fail_msg("%s was accepted", body);
    assert_string_equal(r.e.msg, words);
    arena_done(&r.arena);
}

/* ---- chat completions ---- */

#define CHAT(messages)  "{\"model\":\"m\",\"messages\":[" messages "]}"
#define CHAT_MORE(more) "{\"model\":\"m\",\"messages\":[" HI "]," more "}"
#define HI              "{\"role\":\"user\",\"content\":\"hi\"}"
#define PIXEL           "data:image/png;base64,iVBORw0KGgo="
#define TOOL(function)  "\"tools\":[{\"type\":\"function\",\"function\":{" function "}}]"

TEST(messages_of_a_chat_become_turns_of_two_sides)
{
    expect_read(compat_read_chat, CHAT(HI), "user: hi\n");
    expect_read(compat_read_chat, CHAT(HI "," HI), "user: hi hi\n");
    expect_read(compat_read_chat, CHAT(HI ",{\"role\":\"assistant\",\"content\":\"yes\"}," HI),
                "user: hi\nassistant: yes\nuser: hi\n");
    expect_read(
        compat_read_chat,
        CHAT("{\"role\":\"system\",\"content\":\"be kind\"}," HI
             ",{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"now\"}]}"),
        "user: hi\n");
    expect_read(compat_read_chat,
                CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                     "{\"type\":\"image_url\",\"image_url\":{\"url\":\"" PIXEL "\"}},"
                     "{\"type\":\"file\",\"file\":{\"file_id\":\"file_1\"}},"
                     "{\"type\":\"file\",\"file\":{\"file_data\":\"" PIXEL
                     "\",\"filename\":\"a.png\"}}]}"),
                "user: a [file 0] [file 1] [file 2]\n");
}

TEST(calls_and_results_of_a_chat_keep_their_ids)
{
    expect_read(compat_read_chat,
                CHAT(HI
                     ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
                     "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}"
                     ",{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"21\"}"),
                "user: hi\nassistant: [call c1 f {}]\nuser: [result c1 21]\n");
    expect_read(compat_read_chat,
                CHAT(HI ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"function\":"
                        "{\"name\":\"f\",\"arguments\":\"\"}}]},{\"role\":\"tool\","
                        "\"tool_call_id\":\"c1\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                        "{\"type\":\"text\",\"text\":\"b\"}]}," HI),
                "user: hi\nassistant: [call c1 f ]\nuser: [result c1 a\nb] hi\n");
}

TEST(words_of_a_body_are_quoted_in_whole_characters)
{
    expect_words(compat_read_chat,
                 CHAT("{\"role\":\"user\",\"content\":[{\"type\":"
                      "\"123456789012345678901234567890123456789\u00e9x\"}]}"),
                 "messages[0].content[0].type: '123456789012345678901234567890123456789' is not "
                 "supported here");
}

/* Joined one by one they would need gigabytes. */
TEST(many_instructions_and_texts_need_no_more_memory_than_they_have_bytes)
{
    struct reading r;
    struct buf b;
    struct turn_request turn;
    struct principal p = {.user_id = STR("usr_a"), .how = AUTH_BY_TOKEN};
    struct actor *who = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    buf_init(&b, 8u << 20);
    buf_add_lit(&b, "{\"model\":\"m\",\"messages\":[");
    for (size_t i = 0; i < 3000; i++)
        buf_add_lit(&b, "{\"role\":\"system\",\"content\":\"0123456789012345678901234567\"},"
                        "{\"role\":\"user\",\"content\":\"0123456789012345678901234567\"},");
    buf_add_lit(&b, HI "]}");
    read_body(&r, compat_read_chat, buf_str(&b).p);
    assert_int_equal(r.code, 0);
    assert_int_equal(r.q.instructions.n, 3000 * 30 - 2);
    compat_turn(who, &r.q, NULL, &turn);
    assert_int_equal(turn.message.n, 3000 * 30 + 2);
    assert_true(r.arena.total < 16u << 20);
    actor_unref(who);
    arena_done(&r.arena);
    buf_done(&b);
}

TEST(instructions_and_limits_of_a_chat_are_read)
{
    struct reading r;
    read_body(&r, compat_read_chat,
              "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
              "\"max_tokens\":10,\"max_completion_tokens\":20,\"store\":true,\"temperature\":0.5,"
              "\"stop\":[\"x\"],\"seed\":7,\"user\":\"u\",\"metadata\":{\"a\":\"b\"},"
              "\"messages\":[{\"role\":\"system\",\"content\":\"one\"},{\"role\":\"system\","
              "\"content\":\"two\"}," HI "]}");
    assert_int_equal(r.code, 0);
    assert_true(r.q.is_stream && r.q.has_usage_chunk && r.q.is_listed && r.q.metadata);
    assert_int_equal(r.q.max_tokens, 20);
    assert_true(str_eq(r.q.instructions, STR("one\n\ntwo")));
    assert_true(str_eq(r.q.model, STR("m")));
    arena_done(&r.arena);
}

TEST(a_chat_that_nb_does_not_understand_is_refused_with_the_place)
{
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {"{\"model\":\"m\"}", "messages: required but missing"},
        {"{\"messages\":[" HI "]}", "model: required but missing"},
        {"{\"model\":\"m\",\"messages\":\"hi\"}", "messages: expected an array"},
        {CHAT(""), "The request has no message to answer."},
        {CHAT("{\"role\":\"system\",\"content\":\"x\"}"), "The request has no message to answer."},
        {CHAT("7"), "messages[0].role: expected system, developer, user, assistant or tool"},
        {CHAT(HI ",{\"role\":\"function\",\"content\":\"x\"}"),
         "messages[1].role: expected system, developer, user, assistant or tool"},
        {CHAT("{\"role\":\"user\",\"content\":7}"),
         "messages[0].content: expected a string or an array"},
        {CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"video\"}]}"),
         "messages[0].content[0].type: 'video' is not supported here"},
        {CHAT("{\"role\":\"user\",\"content\":[7]}"),
         "messages[0].content[0].type: '' is not supported here"},
        {CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}"),
         "messages[0].content[0].text: expected a string"},
        {CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{}}]}"),
         "messages[0].content[0].url: expected a string that is not empty"},
        {CHAT("{\"role\":\"assistant\",\"content\":\"x\"}"),
         "The last message must be one of the user, or the result of a tool: nb does not continue "
         "an answer that the program began."},
        {CHAT("{\"role\":\"tool\",\"content\":\"x\"}"),
         "messages[0].tool_call_id: expected a string that is not empty"},
        {CHAT("{\"role\":\"tool\",\"tool_call_id\":\"c9\",\"content\":\"x\"}"),
         "The result of 'c9' has no call: send the message of the assistant that made it, too."},
        {CHAT("{\"role\":\"assistant\",\"tool_calls\":7}"),
         "messages[0].tool_calls: expected an array"},
        {CHAT("{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}"),
         "messages[0].tool_calls[0].id: expected a string that is not empty"},
        {CHAT("{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\"}]}"),
         "messages[0].tool_calls[0].name: expected a string that is not empty"},
        {CHAT("{\"role\":\"system\",\"content\":[{\"type\":\"image_url\"}]}," HI),
         "messages[0][0].type: 'image_url' is not supported here"},
        {CHAT_MORE("\"max_tokens\":-1"), "The maximum of tokens must be at least 1."},
        {CHAT_MORE("\"stream\":\"yes\""), "stream: expected boolean"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        expect_words(compat_read_chat, BAD[i].body, BAD[i].words);
}

TEST(parameters_that_would_change_the_answer_are_refused_and_others_ignored)
{
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {CHAT_MORE("\"n\":2"), "n: nb gives one answer; send several requests"},
        {CHAT_MORE("\"logprobs\":true"), "logprobs: nb has no probabilities of tokens"},
        {CHAT_MORE("\"response_format\":{\"type\":\"grammar\"}"),
         "response_format.type: expected text, json_object or json_schema"},
        {CHAT_MORE("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{}}"),
         "response_format: expected a schema"},
        {CHAT_MORE("\"modalities\":[\"text\",\"audio\"]"), "modalities: nb answers with text only"},
        {CHAT_MORE("\"audio\":{\"voice\":\"x\"}"), "audio: nb answers with text only"},
        {CHAT_MORE("\"functions\":[{}]"), "functions: use tools"},
        {CHAT_MORE("\"tool_choice\":\"required\""),
         "tool_choice: nb supports \"auto\" and \"none\"; it cannot force a call"},
        {CHAT_MORE("\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"),
         "tool_choice: nb supports \"auto\" and \"none\"; it cannot force a call"},
    };
    static const char *const GOOD[] = {
        CHAT_MORE("\"n\":1"),
        CHAT_MORE("\"logprobs\":false,\"response_format\":{\"type\":\"text\"}"),
        CHAT_MORE("\"modalities\":[\"text\"],\"functions\":[],\"audio\":null"),
        CHAT_MORE("\"tool_choice\":\"auto\""),
        CHAT_MORE("\"tool_choice\":null,\"top_p\":1,\"frequency_penalty\":0,\"logit_bias\":{}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        expect_words(compat_read_chat, BAD[i].body, BAD[i].words);
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
        expect_read(compat_read_chat, GOOD[i], "user: hi\n");
    struct reading r;
    read_body(&r, compat_read_chat, CHAT_MORE("\"tool_choice\":\"none\""));
    assert_true(r.code == 0 && r.q.is_toolless);
    arena_done(&r.arena);
}

#define ONLY_JSON "Answer with one JSON object and nothing else: no text around it, no code fence."

TEST(the_form_of_the_answer_becomes_an_instruction)
{
    static const struct {
        compat_read *read;
        const char *body, *words;
    } FORMS[] = {
        {compat_read_chat, CHAT_MORE("\"response_format\":{\"type\":\"json_object\"}"), ONLY_JSON},
        {compat_read_chat,
         CHAT_MORE("\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":"
                   "\"x\",\"schema\":{\"a\":1}}}"),
         ONLY_JSON "\n\nIt must match this JSON Schema:\n{\"a\":1}"},
        {compat_read_responses,
         "{\"input\":\"hi\",\"instructions\":\"Be brief.\",\"text\":{\"format\":{\"type\":"
         "\"json_schema\",\"name\":\"x\",\"schema\":{\"a\":1}}}}",
         "Be brief.\n\n" ONLY_JSON "\n\nIt must match this JSON Schema:\n{\"a\":1}"},
        {compat_read_responses, "{\"input\":\"hi\",\"text\":{\"verbosity\":\"low\"}}", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(FORMS); i++) {
        struct reading r;
        read_body(&r, FORMS[i].read, FORMS[i].body);
        assert_int_equal(r.code, 0);
        assert_string_equal(arena_cstr(&r.arena, r.q.instructions), FORMS[i].words);
        arena_done(&r.arena);
    }
}

/* ---- pictures ---- */

TEST(only_bytes_are_taken_as_pictures)
{
    static const struct {
        const char *url, *words;
    } BAD[] = {
        {"https://example.com/a.png",
         "messages[0].content[0]: nb does not fetch addresses. Send the bytes "
         "as a data: URL, or upload the "
         "file (POST /v1/files) and send its id."},
        {"http://169.254.169.254/latest",
         "messages[0].content[0]: nb does not fetch addresses. Send the "
         "bytes as a data: URL, or upload the "
         "file (POST /v1/files) and send its id."},
        {"file:///etc/passwd",
         "messages[0].content[0]: nb does not fetch addresses. Send the bytes as a "
         "data: URL, or upload the "
         "file (POST /v1/files) and send its id."},
        {"data:image/png,abcd", "messages[0].content[0]: expected data:<type>;base64,<bytes>"},
        {"data:image/png;base64,", "messages[0].content[0]: expected data:<type>;base64,<bytes>"},
        {"data:image/png;base64", "messages[0].content[0]: expected data:<type>;base64,<bytes>"},
        {"data:image/png;base64,abc", "messages[0].content[0]: the bytes are not valid base64"},
        {"data:image/png;base64,ab=d", "messages[0].content[0]: the bytes are not valid base64"},
        {"data:image/png;base64,ab==abcd",
         "messages[0].content[0]: the bytes are not valid base64"},
        {"data:image/png;base64,abcd efg",
         "messages[0].content[0]: the bytes are not valid base64"},
        {"data:image/png;base64,abcd-_aa",
         "messages[0].content[0]: the bytes are not valid base64"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
                      "{\"url\":\"%s\"}}]}"),
                 BAD[i].url);
        expect_words(compat_read_chat, body, BAD[i].words);
    }
}

TEST(a_request_has_so_many_files_and_no_more)
{
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    struct compat_request q = {.arena = &a};
    struct compat_message *m = compat_message(&q, false, &e);
    for (size_t i = 0; i < COMPAT_FILES_MAX; i++)
        assert_int_equal(compat_add_file(&q, m, (struct compat_file){.id = STR("file_1")}, &e), 0);
    assert_true(compat_add_file(&q, m, (struct compat_file){.id = STR("file_1")}, &e) < 0);
    assert_string_equal(e.msg, "The request has more than 50 pictures and files.");
    arena_done(&a);
}

/* ---- ceilings ---- */

TEST(a_request_has_so_many_messages_parts_and_bytes)
{
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    struct compat_request q = {.arena = &a};
    for (size_t i = 0; i < COMPAT_MESSAGES_MAX; i++)
        assert_non_null(compat_message(&q, i % 2, &e));
    assert_null(compat_message(&q, COMPAT_MESSAGES_MAX % 2, &e));
    assert_string_equal(e.msg, "The request has more than 2000 messages.");
    struct compat_message *m = &q.messages[0];
    for (size_t i = 0; i < COMPAT_BLOCKS_MAX; i++)
        assert_int_equal(compat_add_text(&q, m, STR("x"), &e), 0);
    assert_true(compat_add_text(&q, m, STR("x"), &e) < 0);
    assert_string_equal(e.msg, "The messages have more than 4000 parts.");
    q.nblocks = 0;
    char *large = xcalloc(1, COMPAT_TEXT_MAX + 1);
    assert_true(compat_add_text(&q, m, str_make(large, COMPAT_TEXT_MAX + 1), &e) < 0);
    assert_string_equal(e.msg, "A text of the messages has more than 1048576 bytes.");
    free(large);
    arena_done(&a);
}

/* ---- tools ---- */

TEST(tools_of_the_client_are_read_with_their_schema)
{
    struct reading r;
    read_body(&r, compat_read_chat,
              CHAT_MORE("\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a-b_1\","
                        "\"description\":\"d\",\"parameters\":{\"properties\":{}}}},"
                        "{\"type\":\"function\",\"function\":{\"name\":\"bare\"}}]"));
    assert_int_equal(r.code, 0);
    assert_int_equal(r.q.ntools, 2);
    assert_true(str_eq(r.q.tools[0].description, STR("d")));
    for (size_t i = 0; i < 2; i++) /* model services want the type */
        assert_true(str_eq(json_get_string(r.q.tools[i].schema, "type"), STR("object")));
    arena_done(&r.arena);
}

TEST(tools_with_a_bad_name_or_schema_are_refused)
{
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {CHAT_MORE("\"tools\":{}"), "tools: expected an array"},
        {CHAT_MORE("\"tools\":[{\"type\":\"web_search\"}]"),
         "tools[0].type: only tools of type function are supported"},
        {CHAT_MORE(TOOL("\"name\":\"\"")),
         "tools[0]: a name has 1 to 64 of the characters a-z A-Z 0-9 _ -"},
        {CHAT_MORE(TOOL("\"name\":\"a b\"")),
         "tools[0]: a name has 1 to 64 of the characters a-z A-Z 0-9 _ -"},
        {CHAT_MORE(TOOL("\"name\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffffffff"
                        "55555\"")),
         "tools[0]: a name has 1 to 64 of the characters a-z A-Z 0-9 _ -"},
        {CHAT_MORE(TOOL("\"name\":\"f\",\"parameters\":[]")),
         "tools[0]: the schema of 'f' must be of type object"},
        {CHAT_MORE(TOOL("\"name\":\"f\",\"parameters\":{\"type\":\"string\"}")),
         "tools[0]: the schema of 'f' must be of type object"},
        {CHAT_MORE(TOOL("\"name\":\"f\",\"parameters\":{\"type\":[\"object\"]}")),
         "tools[0]: the schema of 'f' must be of type object"},
        {CHAT_MORE("\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
                   "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]"),
         "tools[1]: there are two tools 'f'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        expect_words(compat_read_chat, BAD[i].body, BAD[i].words);
}

TEST(there_are_so_many_tools_and_schemas_of_so_many_bytes)
{
    struct arena a;
    struct err e = {0};
    char name[16];
    arena_init(&a);
    struct compat_request q = {.arena = &a};
    char *text = xcalloc(1, COMPAT_SCHEMA_MAX + 1);
    memset(text, 'x', COMPAT_SCHEMA_MAX);
    struct json *large = json_new(&a, JSON_OBJECT);
    json_set(&a, large, STR("description"), json_of_str(str_make(text, COMPAT_SCHEMA_MAX)));
    assert_true(compat_add_tool(&q, "tools[0]", (struct llm_tool){STR("f"), STR_NONE, large}, &e) <
                0);
    assert_string_equal(e.msg, "tools[0]: the schema of 'f' has more than 65536 bytes");
    for (size_t i = 0; i <= TURN_CLIENT_TOOLS_MAX; i++) {
        snprintf(name, sizeof name, "t%zu", i);
        struct llm_tool t = {arena_str(&a, str_from(name)), STR_NONE, NULL};
        int code = compat_add_tool(&q, "tools", t, &e);
        assert_int_equal(code == 0, i < TURN_CLIENT_TOOLS_MAX);
    }
    assert_string_equal(e.msg, "The request has more than 128 tools.");
    free(text);
    arena_done(&a);
}

/* ---- responses ---- */

#define RESPONSE(more) "{\"model\":\"m\"," more "}"

TEST(input_of_a_response_is_a_text_or_items)
{
    expect_read(compat_read_responses, RESPONSE("\"input\":\"hi\""), "user: hi\n");
    expect_read(compat_read_responses,
                RESPONSE("\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
                         "\"text\":\"a\"},{\"type\":\"input_image\",\"image_url\":\"" PIXEL "\"},"
                         "{\"type\":\"input_image\",\"file_id\":\"file_1\"},{\"type\":"
                         "\"input_file\",\"file_data\":\"" PIXEL "\"}]}]"),
                "user: a [file 0] [file 1] [file 2]\n");
    expect_read(
        compat_read_responses,
        RESPONSE("\"input\":[" HI ",{\"type\":\"reasoning\",\"summary\":[]},{\"type\":"
                 "\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"},"
                 "{\"type\":\"mcp_call\"},{\"type\":\"function_call_output\",\"call_id\":"
                 "\"c1\",\"output\":\"21\"},{\"type\":\"message\",\"role\":\"developer\","
                 "\"content\":\"now\"}]"),
        "user: hi\nassistant: [call c1 f {}]\nuser: [result c1 21]\n");
    expect_read(compat_read_responses,
                RESPONSE("\"input\":[" HI ",{\"type\":\"message\",\"role\":\"assistant\","
                         "\"content\":[{\"type\":\"output_text\",\"text\":\"yes\"},{\"type\":"
                         "\"refusal\",\"refusal\":\"no\"}]}," HI "]"),
                "user: hi\nassistant: yes\nuser: hi\n");
}

TEST(a_response_continues_the_conversation_of_another_one)
{
    struct reading r;
    read_body(&r, compat_read_responses,
              RESPONSE("\"input\":\"hi\",\"previous_response_id\":\"resp_0a1b_conv_77\""));
    assert_int_equal(r.code, 0);
    assert_true(str_eq(r.q.conversation_id, STR("conv_77")));
    assert_true(str_eq(r.q.after_run_id, STR("run_0a1b")));
    arena_done(&r.arena);
    static const char *const NAMED[] = {"\"conv_8\"", "{\"id\":\"conv_8\"}"};
    for (size_t i = 0; i < ARRAY_LEN(NAMED); i++) {
        char body[256];
        snprintf(body, sizeof body, RESPONSE("\"input\":\"hi\",\"conversation\":%s"), NAMED[i]);
        read_body(&r, compat_read_responses, body);
        assert_true(r.code == 0 && str_eq(r.q.conversation_id, STR("conv_8")));
        arena_done(&r.arena);
    }
    /* results of calls that the log has */
    expect_read(
        compat_read_responses,
        RESPONSE("\"conversation\":\"conv_8\",\"input\":[{\"type\":\"function_call_output\","
                 "\"call_id\":\"c9\",\"output\":\"21\"}]"),
        "user: [result c9 21]\n");
}

TEST(a_response_that_nb_does_not_understand_is_refused)
{
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {"{\"model\":\"m\"}", "input: required but missing"},
        {RESPONSE("\"input\":7"), "input: expected a string or an array"},
        {RESPONSE("\"input\":[]"), "The request has no message to answer."},
        {RESPONSE("\"input\":[{\"type\":\"item_reference\",\"id\":\"x\"}]"),
         "input[0].type: expected message, function_call or function_call_output"},
        {RESPONSE("\"input\":[{\"role\":\"tool\",\"content\":\"x\"}]"),
         "input[0].role: expected system, developer, user or assistant"},
        {RESPONSE("\"input\":[{\"type\":\"function_call\",\"name\":\"f\"}]"),
         "input[0].call_id: expected a string that is not empty"},
        {RESPONSE("\"input\":[{\"type\":\"function_call_output\",\"output\":\"\"}]"),
         "input[0].call_id: expected a string that is not empty"},
        {RESPONSE("\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\","
                  "\"image_url\":\"http://127.0.0.1/x\"}]}]"),
         "input[0].content[0]: nb does not fetch addresses. Send the bytes as a data: URL, or "
         "upload the "
         "file (POST /v1/files) and send its id."},
        {RESPONSE("\"input\":\"x\",\"background\":true"),
         "background: nb answers when the run has ended"},
        {RESPONSE("\"input\":\"x\",\"prompt\":{\"id\":\"p\"}"),
         "prompt: nb has no stored prompts; send instructions"},
        {RESPONSE("\"input\":\"x\",\"text\":{\"format\":{\"type\":\"json_schema\"}}"),
         "text.format: expected a schema"},
        {RESPONSE("\"input\":\"x\",\"tools\":[{\"type\":\"file_search\"}]"),
         "tools[0].type: only tools of type function are supported; the agent uses those of the "
         "workspace anyway"},
        {RESPONSE("\"input\":\"x\",\"conversation\":\"../x\""),
         "conversation: expected the id of a conversation"},
        {RESPONSE("\"input\":\"x\",\"conversation\":7"),
         "conversation: expected the id of a conversation"},
        {RESPONSE("\"input\":\"x\",\"conversation\":\"conv_1\",\"previous_response_id\":\"r\""),
         "Send conversation or previous_response_id, not both."},
        {RESPONSE("\"input\":\"x\",\"previous_response_id\":\"resp_1\""),
         "previous_response_id: not the id of a response"},
        {RESPONSE("\"input\":\"x\",\"previous_response_id\":\"resp__conv_1\""),
         "previous_response_id: not the id of a response"},
        {RESPONSE("\"input\":\"x\",\"previous_response_id\":\"resp_1_../../x\""),
         "previous_response_id: not the id of a response"},
        {RESPONSE("\"conversation\":\"conv_1\",\"input\":[" HI
                  ",{\"role\":\"assistant\",\"content\":\"x\"}," HI "]"),
         "A request that continues a conversation has only what is new: messages of the user, and "
         "results of tools."},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        expect_words(compat_read_responses, BAD[i].body, BAD[i].words);
}

/* ---- messages ---- */

#define MESSAGES(messages) "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" messages "]}"
#define BLOCKS(blocks)     MESSAGES("{\"role\":\"user\",\"content\":[" blocks "]}")

TEST(blocks_of_messages_become_turns)
{
    expect_read(compat_read_anthropic, MESSAGES(HI), "user: hi\n");
    expect_read(compat_read_anthropic,
                BLOCKS("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
                       "\"image/png\",\"data\":\"iVBORw0KGgo=\"}},{\"type\":\"document\","
                       "\"source\":{\"type\":\"file\",\"file_id\":\"file_1\"}},{\"type\":"
                       "\"document\",\"source\":{\"type\":\"text\",\"data\":\"notes\"}},"
                       "{\"type\":\"text\",\"text\":\"look\",\"cache_control\":{\"type\":"
                       "\"ephemeral\"}}"),
                "user: [file 0] [file 1] notes look\n");
    expect_read(compat_read_anthropic,
                MESSAGES(HI ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
                            "\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"I look.\"},"
                            "{\"type\":\"tool_use\",\"id\":\"u1\",\"name\":\"f\",\"input\":"
                            "{\"a\":1}}]},{\"role\":\"user\",\"content\":[{\"type\":"
                            "\"tool_result\",\"tool_use_id\":\"u1\",\"is_error\":true,\"content\":"
                            "[{\"type\":\"text\",\"text\":\"gone\"}]}]}"),
                "user: hi\nassistant: I look. [call u1 f {\"a\":1}]\nuser: [error u1 gone]\n");
}

TEST(pictures_in_the_result_of_a_tool_are_files_of_the_message)
{
    expect_read(compat_read_anthropic,
                MESSAGES(HI ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
                            "\"u1\",\"name\":\"f\"}]},{\"role\":\"user\",\"content\":[{\"type\":"
                            "\"tool_result\",\"tool_use_id\":\"u1\",\"content\":[{\"type\":"
                            "\"text\",\"text\":\"seen\"},{\"type\":\"image\",\"source\":{\"type\":"
                            "\"base64\",\"data\":\"iVBORw0KGgo=\"}}]}]}"),
                "user: hi\nassistant: [call u1 f {}]\nuser: [file 0] [result u1 seen]\n");
    expect_read(
        compat_read_responses,
        RESPONSE("\"conversation\":\"conv_8\",\"input\":[{\"type\":\"function_call_output\","
                 "\"call_id\":\"c9\",\"output\":[{\"type\":\"input_image\",\"image_url\":"
                 "\"" PIXEL "\"}]}]"),
        "user: [file 0] [result c9 ]\n");
}

TEST(messages_that_nb_does_not_understand_are_refused)
{
    static const struct {
        const char *body, *words;
    } BAD[] = {
        {"{\"model\":\"m\",\"messages\":[" HI "]}", "max_tokens: required but missing"},
        {MESSAGES("{\"role\":\"system\",\"content\":\"x\"}"),
         "messages[0].role: expected user or assistant"},
        {BLOCKS("{\"type\":\"audio\"}"),
         "messages[0].content[0].type: 'audio' is not supported here"},
        {BLOCKS("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\"}"),
         "messages[0].content[0].type: 'tool_use' is not supported here"},
        {BLOCKS("{\"type\":\"image\",\"source\":{\"type\":\"base64\"}}"),
         "messages[0].content[0].source: expected type base64 with data, or file with file_id"},
        {BLOCKS("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"!!!!\"}}"),
         "messages[0].content[0]: the bytes are not valid base64"},
        {BLOCKS("{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"http://[::1]/\"}}"),
         "messages[0].content[0]: nb does not fetch addresses. Send the bytes as a data: URL, or "
         "upload "
         "the file (POST /v1/files) and send its id."},
        {BLOCKS("{\"type\":\"tool_result\",\"content\":\"x\"}"),
         "messages[0].content[0].tool_use_id: expected a string that is not empty"},
        {"{\"model\":\"m\",\"max_tokens\":9,\"system\":7,\"messages\":[" HI "]}",
         "system: expected a string or an array"},
        {"{\"model\":\"m\",\"max_tokens\":9,\"mcp_servers\":[{}],\"messages\":[" HI "]}",
         "mcp_servers: nb uses the tools of the workspace"},
        {"{\"model\":\"m\",\"max_tokens\":9,\"tools\":[{\"type\":\"bash_20250124\",\"name\":"
         "\"bash\"}],\"messages\":[" HI "]}",
         "tools[0].type: only tools with an input_schema are supported"},
        {"{\"model\":\"m\",\"max_tokens\":9,\"tool_choice\":{\"type\":\"any\"},\"messages\":[" HI
         "]}",
         "tool_choice: nb supports \"auto\" and \"none\"; it cannot force a call"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        expect_words(compat_read_anthropic, BAD[i].body, BAD[i].words);
}

TEST(system_blocks_and_tools_of_messages_are_read)
{
    struct reading r;
    read_body(&r, compat_read_anthropic,
              "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"temperature\":1,\"system\":"
              "[{\"type\":\"text\",\"text\":\"be\"},{\"type\":\"text\",\"text\":\"kind\"}],"
              "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}},{\"type\":"
              "\"custom\",\"name\":\"g\",\"input_schema\":{\"type\":\"object\"}}],\"tool_choice\":"
              "{\"type\":\"auto\"},\"messages\":[" HI "]}");
    assert_int_equal(r.code, 0);
    assert_true(r.q.is_stream && r.q.max_tokens == 9 && r.q.ntools == 2 && !r.q.is_toolless);
    assert_true(str_eq(r.q.instructions, STR("be\nkind")));
    arena_done(&r.arena);
}
