/* The content of a conversation: its messages (conversations/history.c), notes, search, and the
 * questions of tools (conversations/inputs.c). */
#include "runtime/turn/tool_question.h"
#include "support/api_streams.h"

static struct api_answer on(struct api_rig *t, const char *who, const char *method, const char *id,
                            const char *more, const char *body)
{
    return api_call(t, who, method, api_path(t, "/v1/conversations/%s/%s", id, more), body);
}

static void on_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    assert_null(err);
    *(bool *)ctx = true;
}

static void append(struct api_rig *t, const char *id, const char *line)
{
    bool is_done = false;
    str event = str_from(line);
    store_append(t->rig->store, str_from(id), &event, 1, on_appended, &is_done);
    rig_until(t->rig, is_done);
}

static const char *text_of(struct api_rig *t, const struct json *messages, size_t i)
{
    return api_text(t, json_at(messages, i), "content");
}

/* ---- history ---- */

TEST_WITH(a_history_has_what_interfaces_need, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    append(t, id,
           "{\"type\":\"user.message\",\"content\":\"x\",\"app\":\"notes\",\"context\":[{\"app\":"
           "\"map\",\"text\":\"zoom\"}]}");
    append(t, id,
           "{\"type\":\"llm.response\",\"content\":[{\"type\":\"tool-call\",\"toolCallId\":\"1\","
           "\"toolName\":\"a\",\"input\":{}},{\"type\":\"tool-call\",\"toolCallId\":\"2\","
           "\"toolName\":\"b\",\"input\":{}},{\"type\":\"tool-call\",\"toolCallId\":\"3\","
           "\"toolName\":\"c\",\"input\":{}}]}");
    append(t, id, "{\"type\":\"tool.start\",\"id\":\"1\",\"resourceUri\":\"ui://a\"}");
    append(t, id, "{\"type\":\"tool.done\",\"id\":\"2\",\"ok\":true,\"resourceUri\":\"ui://b\"}");
    append(t, id, "{\"type\":\"tool.start\",\"id\":\"3\"}");
    struct api_answer a = on(t, "ben", "GET", id, "history", NULL);
    const struct json *list = json_get(a.json, "messages");
    const struct json *user = json_at(list, 2), *calls = json_get(json_at(list, 3), "toolCalls");
    assert_string_equal(api_text(t, user, "app"), "notes");
    assert_string_equal(api_part(t, user, "context"), "[{\"app\":\"map\",\"text\":\"zoom\"}]");
    assert_null(json_get(json_at(list, 0), "app"));
    assert_string_equal(api_text(t, json_at(calls, 0), "resourceUri"), "ui://a"); /* in progress */
    assert_string_equal(api_text(t, json_at(calls, 1), "resourceUri"), "ui://b");
    assert_null(json_get(json_at(calls, 2), "resourceUri"));
}

TEST_WITH(a_history_has_thoughts_in_one_form_and_nothing_that_is_sealed, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    append(t, id, "{\"type\":\"user.message\",\"content\":\"x\"}");
    append(
        t, id,
        "{\"type\":\"llm.response\",\"runId\":\"run_t\",\"content\":[{\"type\":\"opaque\","
        "\"provider\":\"p\",\"model\":\"m\",\"block\":{\"type\":\"thinking\",\"thinking\":\"hm\","
        "\"signature\":\"sealed\"}},{\"type\":\"text\",\"text\":\"ok\"}]}");
    struct api_answer a = on(t, "ben", "GET", id, "history", NULL);
    assert_status(a, 200);
    assert_true(str_find(a.body, STR("{\"type\":\"reasoning\",\"text\":\"hm\"}"), 0) >= 0);
    assert_true(str_find(a.body, STR("sealed"), 0) < 0);
}

TEST_WITH(a_history_has_messages_with_their_calls, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{\"n\":1}");
    MODEL(.text = "done", .usage = {.input_tokens = 30, .output_tokens = 4});
    const char *id = api_conversation(t, "ben", "hello");
    struct api_answer a = on(t, "ben", "GET", id, "history", NULL);
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "messages");
    assert_int_equal(list->len, 3);
    const struct json *user = json_at(list, 0), *step = json_at(list, 1),
                      *answer = json_at(list, 2);
    assert_string_equal(api_text(t, user, "role"), "user");
    assert_string_equal(api_text(t, user, "content"), "hello");
    assert_string_equal(api_text(t, user, "userId"), "usr_ben");
    assert_null(json_get(user, "toolCalls"));
    assert_string_equal(api_text(t, answer, "role"), "assistant");
    assert_string_equal(api_text(t, answer, "content"), "done");
    assert_string_equal(api_text(t, answer, "stopReason"), "complete");
    assert_string_equal(api_part(t, answer, "inputTokens"), "30");
    const struct json *call = json_at(json_get(step, "toolCalls"), 0);
    assert_string_equal(api_text(t, call, "name"), "t__ping");
    assert_string_equal(api_text(t, call, "output"), "pong");
    assert_string_equal(api_part(t, call, "isAnswered"), "true");
    assert_string_equal(api_part(t, a.json, "before"), "null");
    assert_string_equal(api_part(t, a.json, "ask"), "null");
    assert_string_equal(api_text(t, step, "runId"), api_text(t, answer, "runId"));
}

TEST_WITH(a_history_shows_an_open_question_and_failed_runs, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_fails(LLM_ERR_AUTH, "no luck");
    struct api_answer failed = api_call(t, "ben", "POST", "/v1/chat", "{\"message\":\"one\"}");
    const char *id = api_text(t, failed.json, "details.conversationId");
    model_calls("t__drop", "{}");
    struct api_answer asked =
        api_call(t, "ben", "POST", "/v1/chat", api_chat_body(t, id, "drop it", ""));
    struct api_answer a = on(t, "ben", "GET", id, "history", NULL);
    assert_string_equal(api_text(t, a.json, "ask.askId"), api_text(t, asked.json, "ask.askId"));
    bool has_error = false;
    const struct json *list = json_get(a.json, "messages");
    for (size_t i = 0; i < list->len; i++)
        has_error |= strstr(api_text(t, json_at(list, i), "error"), "no luck") != NULL;
    assert_true(has_error);
}

/* Pages are cut before a message of a person, so that no run is split. */
TEST_WITH(pages_of_a_history_do_not_split_runs, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "one");
    assert_status(api_call(t, "ben", "POST", "/v1/chat", api_chat_body(t, id, "two", "")), 200);
    assert_status(api_call(t, "ben", "POST", "/v1/chat", api_chat_body(t, id, "three", "")), 200);
    struct api_answer a = on(t, "ben", "GET", id, "history?limit=6", NULL);
    const struct json *list = json_get(a.json, "messages");
    assert_int_equal(list->len, 2);
    assert_string_equal(text_of(t, list, 0), "three");
    a = on(t, "ben", "GET", id,
           api_path(t, "history?limit=6&before=%s", api_part(t, a.json, "before")), NULL);
    list = json_get(a.json, "messages");
    assert_string_equal(text_of(t, list, 0), "two");
    a = on(t, "ben", "GET", id, api_path(t, "history?before=%s", api_part(t, a.json, "before")),
           NULL);
    list = json_get(a.json, "messages");
    assert_int_equal(list->len, 2);
    assert_string_equal(text_of(t, list, 0), "one");
    assert_string_equal(api_part(t, a.json, "before"), "null");
}

TEST_WITH(a_run_longer_than_the_page_is_shown_whole, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "one");
    append(t, id, "{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}");
    for (unsigned i = 0; i < 20; i++)
        append(t, id, "{\"type\":\"tool.progress\"}");
    struct api_answer a = on(t, "ben", "GET", id, "history?limit=3", NULL);
    const struct json *list = json_get(a.json, "messages");
    assert_int_equal(list->len, 1);
    assert_string_equal(text_of(t, list, 0), "two");
    assert_string_not_equal(api_part(t, a.json, "before"), "null");
}

TEST_WITH(parameters_of_a_history_are_checked, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "one");
    assert_refused(on(t, "ben", "GET", id, "history?limit=20001", NULL), 400, "bad_request",
                   "limit: expected a whole number from 1 to 20000");
    assert_refused(on(t, "ben", "GET", id, "history?before=0", NULL), 400, "bad_request",
                   "before: expected a whole number from 1 to 9223372036854775807");
    assert_refused(on(t, "ben", "GET", id, "history?before=x", NULL), 400, "bad_request",
                   "before: expected a whole number from 1 to 9223372036854775807");
    store_fault(RIG_READ, NULL, -EIO);
    assert_status(on(t, "ben", "GET", id, "history", NULL), 500);
    store_fault(RIG_READ, NULL, 0);
}

TEST_WITH(a_client_that_leaves_during_a_read_cancels_it, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "one");
    store_hold(RIG_READ);
    struct api_client *c =
        api_begin(t, "ben", "GET", api_path(t, "/v1/conversations/%s/history", id), "", STR_NONE);
    rig_until(t->rig, rig_store.nheld > 0);
    api_client_close(c);
    rig_until(t->rig, t->space.users == 0);
    store_go();
    assert_status(on(t, "ben", "GET", id, "history", NULL), 200);
}

/* ---- notes ---- */

TEST_WITH(notes_are_kept_in_their_order_with_their_authors, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    assert_string_equal(api_part(t, on(t, "ben", "GET", id, "notes", NULL).json, "notes"), "[]");
    struct api_stream *s = api_watch(t, "ben", id);
    assert_status(on(t, "ben", "POST", id, "notes", "{\"content\":\"first\"}"), 200);
    struct api_answer a = on(t, "dan", "POST", id, "notes", "{\"content\":\"second\"}");
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "notes");
    assert_int_equal(list->len, 2);
    assert_string_equal(api_text(t, json_at(list, 0), "content"), "first");
    assert_string_equal(api_text(t, json_at(list, 0), "author"), "usr_ben");
    assert_string_equal(api_text(t, json_at(list, 1), "author"), "usr_dan");
    assert_string_equal(api_text(t, a.json, "conversationId"), id);
    stream_wait(s, "note");
    stream_wait(s, "note");
}

TEST_WITH(an_empty_note_is_refused, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    assert_refused(on(t, "ben", "POST", id, "notes", "{\"content\":\" \\n \"}"), 400, "bad_request",
                   "content: must not be empty");
    assert_refused(on(t, "ben", "POST", id, "notes", "{\"text\":\"x\"}"), 400, "bad_request",
                   "content: required but missing");
    store_fault(RIG_APPEND, "note", -ENOSPC);
    struct api_answer full = on(t, "ben", "POST", id, "notes", "{\"content\":\"x\"}");
    assert_status(full, 507);
    assert_null(rig_last(t->rig, id, "note"));
}

/* ---- search ---- */

static struct api_answer search(struct api_rig *t, const char *who, const char *query)
{
    return api_get(t, who, api_path(t, "/v1/search?%s", query));
}

TEST_WITH(a_search_finds_words_and_says_where_they_are, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "a pangolin sleeps");
    struct api_answer a = search(t, "ben", "q=pangolin");
    assert_status(a, 200);
    const struct json *hit = json_at(json_get(a.json, "results"), 0);
    assert_string_equal(api_text(t, hit, "conversationId"), id);
    assert_string_equal(api_text(t, hit, "role"), "user");
    assert_string_equal(api_text(t, hit, "snippet"), "a pangolin sleeps");
    assert_string_equal(api_part(t, hit, "parts"),
                        "[{\"text\":\"a \",\"isHit\":false},{\"text\":\"pangolin\",\"isHit\":true},"
                        "{\"text\":\" sleeps\",\"isHit\":false}]");
    assert_string_equal(api_part(t, a.json, "isPartial"), "false");
    assert_string_equal(api_part(t, search(t, "ben", "q=badger").json, "results"), "[]");
}

TEST_WITH(a_search_finds_only_what_the_caller_may_see, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *of_ben = api_conversation(t, "ben", "the pangolin of ben");
    const char *of_dan = api_conversation(t, "dan", "the pangolin of dan");
    assert_int_equal(json_get(search(t, "ben", "q=pangolin").json, "results")->len, 1);
    assert_int_equal(json_get(search(t, "ana", "q=pangolin").json, "results")->len, 2);
    assert_int_equal(
        json_get(search(t, "ana", api_path(t, "q=pangolin&limit=1")).json, "results")->len, 1);
    struct api_answer one = search(t, "ana", api_path(t, "q=pangolin&conversation=%s", of_ben));
    assert_int_equal(json_get(one.json, "results")->len, 1);
    struct api_answer hidden = search(t, "ben", api_path(t, "q=pangolin&conversation=%s", of_dan));
    assert_int_equal(json_get(hidden.json, "results")->len, 0);
}

TEST_WITH(parameters_of_a_search_are_checked, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *query, *words;
    } BAD[] = {
        {"", "q is required: the words to search for"},
        {"q=%20", "q is required: the words to search for"},
        {"q=a&order=oldest", "order: expected newest or relevance"},
        {"q=a&limit=201", "limit: expected a whole number from 1 to 200"},
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_refused(search(t, "ben", BAD[i].query), 400, "bad_request", BAD[i].words);
    assert_status(search(t, "ben", "q=a&order=relevance"), 200);
    assert_status(search(t, "ben", "q=a&order=newest&limit=200"), 200);
    assert_status(search(t, "cyd", "q=a"), 403);
}

/* ---- questions of tools ---- */

struct answered {
    unsigned n;
    enum tool_question_action action;
    char name[32];
};

static void on_answered(void *ctx, enum tool_question_action action, const struct json *content)
{
    struct answered *a = ctx;
    a->n++;
    a->action = action;
    str name = content ? json_get_string(content, "name") : STR_NONE;
    RIG_KEEP(a->name, name);
}

/* A tool of a run in a new conversation asks for a name; the id of the conversation. */
static const char *ask_for_name(struct api_rig *t, struct answered *a, const char *only)
{
    const char *id = api_conversation(t, "ben", "hello");
    struct json *schema;
    model_calls("t__slow", "{}");
    assert_status(
        api_call(t, "ben", "POST", "/v1/chat/start", api_chat_body(t, id, "use the tool", "")),
        202);
    rig_until(t->rig, rig_tools.started == 1);
    str text = STR("{\"type\":\"object\",\"required\":[\"name\"],"
                   "\"properties\":{\"name\":{\"type\":\"string\"}}}");
    assert_int_equal(json_parse(&t->rig->arena, text, 0, &schema, NULL), 0);
    struct tool_question_spec q = {.kind = TOOL_QUESTION_FORM,
                                   .source = STR("t"),
                                   .call_id = STR("c1"),
                                   .only_user_id = str_from(only),
                                   .message = STR("What is your name?"),
                                   .schema = schema};
    assert_non_null(tool_question_open(rig_tools.host, &q, on_answered, a));
    return id;
}

/* The path of the only open question. */
static const char *open_input(struct api_rig *t, const char *who, const char *id)
{
    struct api_answer a = on(t, who, "GET", id, "inputs", NULL);
    assert_status(a, 200);
    const struct json *list = json_get(a.json, "inputs");
    assert_int_equal(list->len, 1);
    assert_string_equal(api_text(t, json_at(list, 0), "message"), "What is your name?");
    return api_path(t, "inputs/%s", api_text(t, json_at(list, 0), "inputId"));
}

TEST_WITH(a_question_of_a_tool_is_answered_once, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct answered *got = ARENA_NEW(&t->rig->arena, struct answered);
    const char *id = ask_for_name(t, got, "");
    api_share(t, "ben", id, "dan");
    const char *path = open_input(t, "dan", id);
    struct api_answer history = on(t, "ben", "GET", id, "history", NULL);
    assert_int_equal(json_get(history.json, "inputs")->len, 1);
    const char *body = "{\"action\":\"accept\",\"content\":{\"name\":\"Dan\"}}";
    struct api_answer a = on(t, "dan", "POST", id, path, body);
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "action"), "accept");
    rig_until(t->rig, got->n == 1);
    assert_int_equal(got->action, TOOL_QUESTION_ACCEPT);
    assert_string_equal(got->name, "Dan");
    assert_refused(on(t, "ben", "POST", id, path, body), 404, "not_found",
                   "This question is not open. It may have been answered already.");
    assert_int_equal(got->n, 1);
}

TEST_WITH(wrong_answers_to_a_tool_leave_the_question_open, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct answered *got = ARENA_NEW(&t->rig->arena, struct answered);
    const char *id = ask_for_name(t, got, "");
    const char *path = open_input(t, "ben", id);
    assert_refused(on(t, "ben", "POST", id, path, "{\"action\":\"maybe\"}"), 400, "bad_request",
                   "action: expected accept, decline or cancel");
    assert_refused(on(t, "ben", "POST", id, path, "{}"), 400, "bad_request",
                   "action: required but missing");
    assert_refused(on(t, "ben", "POST", id, path, "{\"action\":\"accept\"}"), 400, "invalid_input",
                   "content.name: is required");
    struct api_answer a =
        on(t, "ben", "POST", id, path, "{\"action\":\"accept\",\"content\":{\"name\":7}}");
    assert_status(a, 400);
    assert_string_equal(api_text(t, a.json, "error"), "invalid_input");
    assert_int_equal(got->n, 0);
    open_input(t, "ben", id);
    assert_status(on(t, "ben", "POST", id, path, "{\"action\":\"decline\"}"), 200);
    rig_until(t->rig, got->n == 1);
    assert_int_equal(got->action, TOOL_QUESTION_DECLINE);
}

TEST_WITH(a_question_about_an_account_is_answered_by_its_owner, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct answered *got = ARENA_NEW(&t->rig->arena, struct answered);
    const char *id = ask_for_name(t, got, "usr_ben");
    api_share(t, "ben", id, "dan");
    const char *path = open_input(t, "dan", id);
    struct api_answer a = on(t, "dan", "POST", id, path, "{\"action\":\"decline\"}");
    assert_status(a, 403);
    assert_int_equal(got->n, 0);
    assert_status(on(t, "ben", "POST", id, path, "{\"action\":\"cancel\"}"), 200);
    rig_until(t->rig, got->n == 1);
    assert_int_equal(got->action, TOOL_QUESTION_CANCEL);
}
