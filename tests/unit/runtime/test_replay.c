#include "runtime/history/replay.h"
#include "support/unit.h"

struct fixture {
    struct arena arena;
    struct replay r;
};

static void load(struct fixture *f, const char *const *lines, size_t n)
{
    str *s = xcalloc(n, sizeof *s);
    store_pos *pos = xcalloc(n, sizeof *pos);
    arena_init(&f->arena);
    for (size_t i = 0; i < n; i++) {
        s[i] = str_from(lines[i]);
        pos[i] = (store_pos)(i + 1) * 10;
    }
    f->r = replay_lines(&f->arena, s, pos, n);
    free(s);
    free(pos);
}

#define LOAD(f, ...)                                                                               \
    do {                                                                                           \
        const char *const lines_[] = {__VA_ARGS__};                                                \
        load(f, lines_, ARRAY_LEN(lines_));                                                        \
    } while (0)

static str text(struct fixture *f, size_t i)
{
    return replay_text(&f->arena, &f->r.messages[i]);
}

TEST(a_run_with_tools)
{
    struct fixture f;
    LOAD(&f,
         "{\"type\":\"user.message\",\"ts\":\"t1\",\"userId\":\"usr_a\",\"queuedId\":\"msg_1\","
         "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}",
         "{\"type\":\"run.start\",\"runId\":\"r\"}",
         "{\"type\":\"llm.response\",\"runId\":\"r\",\"model\":\"p:m\",\"inputTokens\":7,"
         "\"content\":["
         "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"tool-call\",\"toolCallId\":\"1\","
         "\"toolName\":\"x\",\"input\":{\"k\":0.10}},"
         "{\"type\":\"tool-call\",\"toolCallId\":\"2\",\"toolName\":\"y\",\"input\":{}}]}",
         "{\"type\":\"tool.done\",\"runId\":\"r\",\"id\":\"2\",\"ok\":false,\"ms\":5,\"result\":{"
         "\"content\":[],\"isError\":true}}",
         "{\"type\":\"tool.done\",\"runId\":\"r\",\"id\":\"1\",\"ok\":true,\"output\":\"old "
         "style\"}",
         "{\"type\":\"tool.done\",\"runId\":\"r\",\"id\":\"99\",\"ok\":true}",
         "{\"type\":\"llm.response\",\"runId\":\"r\",\"content\":[{\"type\":\"text\",\"text\":"
         "\"b\"}]}",
         "{\"type\":\"run.done\",\"runId\":\"r\",\"stopReason\":\"complete\"}");
    assert_int_equal(f.r.n, 3);
    assert_int_equal(f.r.messages[0].role, REPLAY_USER);
    assert_true(str_eq(f.r.messages[0].user_id, STR("usr_a")));
    assert_true(str_eq(f.r.messages[0].queued_id, STR("msg_1")));
    assert_int_equal(f.r.messages[0].pos, 10);
    const struct replay_message *m = &f.r.messages[1];
    assert_int_equal(m->pos, 30);
    assert_int_equal(m->ntools, 2);
    assert_int_equal(m->usage.input_tokens, 7);
    assert_true(m->tools[0].ok);
    assert_non_null(m->tools[0].result);
    assert_false(m->tools[1].ok);
    assert_int_equal(m->tools[1].ms, 5);
    assert_true(str_eq(json_to_str(&f.arena, m->tools[0].input), STR("{\"k\":0.10}")));
    assert_true(str_eq(text(&f, 2), STR("b")));
    assert_true(str_eq(f.r.messages[2].stop_reason, STR("complete")));
    arena_done(&f.arena);
}

TEST(old_and_mixed_lines)
{
    struct fixture f;
    LOAD(&f, "{\"role\":\"user\",\"content\":\"first\",\"ts\":\"t\"}",
         "{\"role\":\"assistant\",\"content\":\"one\",\"timestamp\":\"u\",\"toolCalls\":[{\"id\":"
         "\"c\",\"name\":\"n\","
         "\"input\":{},\"output\":\"out\",\"ok\":true,\"ms\":3}]}",
         "not json", "[]", "{\"type\":\"from.the.future\"}",
         "{\"role\":\"system\",\"content\":\"x\"}",
         "{\"type\":\"user.message\",\"content\":\"second\"}");
    assert_int_equal(f.r.n, 3);
    assert_true(str_eq(text(&f, 0), STR("first")));
    assert_true(str_eq(f.r.messages[1].ts, STR("u")));
    assert_int_equal(f.r.messages[1].ntools, 1);
    assert_true(str_eq(f.r.messages[1].tools[0].name, STR("n")));
    assert_true(str_eq(text(&f, 2), STR("second")));
    arena_done(&f.arena);
}

TEST(questions)
{
    struct fixture f;
    LOAD(
        &f, "{\"type\":\"user.message\",\"content\":\"q\"}",
        "{\"type\":\"ask.opened\",\"askId\":\"ask_1\",\"runId\":\"r\",\"calls\":[{\"id\":\"1\"}]}");
    assert_true(str_eq(f.r.ask.ask_id, STR("ask_1")));
    arena_done(&f.arena);
    {
        LOAD(&f, "{\"type\":\"ask.opened\",\"askId\":\"ask_1\"}",
             "{\"type\":\"ask.answered\",\"askId\":\"ask_2\"}");
        assert_true(str_eq(f.r.ask.ask_id, STR("ask_1")));
        arena_done(&f.arena);
    }
    {
        LOAD(&f, "{\"type\":\"ask.opened\",\"askId\":\"ask_1\"}",
             "{\"type\":\"ask.answered\",\"askId\":\"ask_1\"}");
        assert_int_equal(f.r.ask.ask_id.n, 0);
        arena_done(&f.arena);
    }
    {
        LOAD(&f, "{\"type\":\"ask.opened\",\"askId\":\"ask_1\"}",
             "{\"type\":\"user.message\",\"content\":\"go on\"}");
        assert_int_equal(f.r.ask.ask_id.n, 0);
        arena_done(&f.arena);
    }
}

static struct replay for_model(struct arena *a, const char *const *lines, size_t n)
{
    str *s = arena_array(a, n, sizeof *s);
    for (size_t i = 0; i < n; i++)
        s[i] = str_from(lines[i]);
    return replay_lines_model(a, s, n);
}

#define FOR_MODEL(a, ...)                                                                          \
    for_model(a, (const char *const[]){__VA_ARGS__},                                               \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

TEST(people_are_told_of_runs_without_an_answer_and_of_answered_questions)
{
    struct fixture f;
    LOAD(&f, "{\"type\":\"user.message\",\"content\":[]}",
         "{\"type\":\"run.start\",\"runId\":\"dead\"}",
         "{\"type\":\"user.message\",\"content\":[]}",
         "{\"type\":\"run.start\",\"runId\":\"stopped\"}",
         "{\"type\":\"run.done\",\"runId\":\"stopped\",\"stopReason\":\"cancelled\"}",
         "{\"type\":\"user.message\",\"content\":[]}",
         "{\"type\":\"llm.response\",\"runId\":\"r\",\"content\":[]}",
         "{\"type\":\"ask.answered\",\"askId\":\"ask_0\",\"decision\":\"allow\"}",
         "{\"type\":\"ask.opened\",\"askId\":\"ask_1\",\"calls\":[{\"id\":\"1\"},{},7]}",
         "{\"type\":\"run.done\",\"runId\":\"r\",\"stopReason\":\"waiting\"}",
         "{\"type\":\"ask.answered\",\"ts\":\"t\",\"askId\":\"ask_1\",\"decision\":\"deny\","
         "\"userId\":\"usr_a\",\"secret\":1}",
         "{\"type\":\"run.start\",\"runId\":\"more\"}");
    assert_int_equal(f.r.n, 4);
    const struct replay_message *m = f.r.messages;
    assert_true(str_eq(m[0].next_run_id, STR("dead")) && m[0].stop_reason.n == 0);
    assert_true(str_eq(m[1].stop_reason, STR("cancelled")));
    assert_true(m[2].next_run_id.n == 0);
    assert_true(str_eq(m[3].next_run_id, STR("more")));
    struct buf b;
    struct json_writer w;
    buf_init(&b, 1000);
    jw_init(&w, &b);
    jw_value(&w, m[3].asks);
    assert_string_equal(buf_cstr(&b),
                        "[{\"askId\":\"ask_1\",\"decision\":\"deny\",\"userId\":\"usr_a\","
                        "\"callIds\":[\"1\"],\"timestamp\":\"t\"}]");
    buf_done(&b);
    arena_done(&f.arena);
}

TEST(compaction)
{
    static const char *const LINES[] = {
        "{\"type\":\"user.message\",\"content\":\"1\",\"userId\":\"usr_a\"}",
        "{\"type\":\"llm.response\",\"content\":\"2\"}",
        "{\"type\":\"user.message\",\"content\":\"3\",\"userId\":\"usr_b\"}",
        "{\"type\":\"llm.response\",\"content\":\"4\",\"runId\":\"r4\"}",
        "{\"type\":\"history.compacted\",\"summary\":\"sum\",\"keptMessages\":2}",
        "{\"type\":\"user.message\",\"content\":\"5\"}"};
    struct fixture f;
    struct arena a;
    arena_init(&a);
    struct replay r = for_model(&a, LINES, ARRAY_LEN(LINES));
    assert_int_equal(r.n, 3);
    assert_true(str_eq(replay_text(&a, &r.messages[0]), STR("3")));
    assert_true(str_eq(r.summary, STR("sum")));
    assert_int_equal(r.nsaid, 1);
    assert_true(str_eq(r.said[0].text, STR("1")));
    assert_int_equal(r.past.people.len, 2); /* also those who wrote what is left out */
    assert_true(str_eq(r.last_run_id, STR("r4")));
    load(&f, LINES, ARRAY_LEN(LINES)); /* for people nothing is left out; they are told */
    assert_int_equal(f.r.n, 5);
    assert_null(f.r.messages[2].compacted);
    assert_true(str_eq(json_get_string(f.r.messages[4].compacted, "summary"), STR("sum")));
    arena_done(&f.arena);
    arena_done(&a);
}

TEST(a_summary_that_cannot_be_used_leaves_nothing_out)
{
    struct arena a;
    arena_init(&a);
    struct replay r =
        FOR_MODEL(&a, "{\"type\":\"user.message\",\"content\":\"1\"}",
                  "{\"type\":\"history.compacted\",\"summary\":\"sum\",\"keptMessages\":9}",
                  "{\"type\":\"history.compacted\",\"summary\":\"sum\",\"keptMessages\":-1}",
                  "{\"type\":\"history.compacted\",\"summary\":\"\",\"keptMessages\":0}");
    assert_int_equal(r.n, 1);
    assert_int_equal(r.summary.n, 0);
    arena_done(&a);
}

TEST(people_are_told_of_the_skill_and_of_the_time_that_the_model_thought)
{
    static const char *const LINES[] = {
        "{\"type\":\"user.message\",\"content\":\"1\"}",
        "{\"type\":\"run.start\",\"runId\":\"r1\",\"skill\":\"plans\"}",
        "{\"type\":\"llm.response\",\"content\":\"2\",\"runId\":\"r1\",\"thinkingMs\":40}",
        "{\"type\":\"run.done\",\"runId\":\"r1\",\"stopReason\":\"complete\"}",
        "{\"type\":\"user.message\",\"content\":\"3\"}",
        "{\"type\":\"run.start\",\"runId\":\"r2\"}",
        "{\"type\":\"llm.response\",\"content\":\"4\",\"runId\":\"r2\"}"};
    struct fixture f;
    load(&f, LINES, ARRAY_LEN(LINES));
    assert_true(str_eq(f.r.messages[0].next_skill, STR("plans")));
    assert_int_equal(f.r.messages[1].thinking_ms, 40);
    assert_int_equal(f.r.messages[2].next_skill.n, 0);
    assert_int_equal(f.r.messages[3].thinking_ms, 0);
    arena_done(&f.arena);
}
