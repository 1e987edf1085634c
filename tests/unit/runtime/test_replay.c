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

TEST(compaction)
{
    struct fixture f;
    LOAD(&f, "{\"type\":\"user.message\",\"content\":\"1\"}",
         "{\"type\":\"llm.response\",\"content\":\"2\"}",
         "{\"type\":\"user.message\",\"content\":\"3\"}",
         "{\"type\":\"llm.response\",\"content\":\"4\"}",
         "{\"type\":\"history.compacted\",\"summary\":\"sum\",\"keptMessages\":2}",
         "{\"type\":\"user.message\",\"content\":\"5\"}");
    assert_int_equal(f.r.n, 5);
    assert_int_equal(f.r.compacted, 2);
    assert_true(str_eq(f.r.summary, STR("sum")));
    arena_done(&f.arena);
    {
        LOAD(&f, "{\"type\":\"user.message\",\"content\":\"1\"}",
             "{\"type\":\"history.compacted\",\"summary\":\"sum\",\"keptMessages\":9}",
             "{\"type\":\"history.compacted\",\"summary\":\"sum\",\"keptMessages\":-1}");
        assert_int_equal(f.r.compacted, 0);
        assert_int_equal(f.r.summary.n, 0);
        arena_done(&f.arena);
    }
}
