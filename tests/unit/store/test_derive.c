#include <errno.h>

#include "store/event/derive.h"
#include "support/derive_text.h"
#include "support/unit.h"

static bool price(void *ctx, str model, const struct conv_usage *u, double *ret)
{
    *ret = (double)u->input_tokens;
    return str_eq(model, STR("known"));
}

static const struct store_env ENV = {.price = price};

static const char *const LOG[] = {
    "{\"id\":\"conv_x\",\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"format\":\"events\","
    "\"ownerId\":\"usr_a\",\"visibility\":\"private\",\"participants\":[\"usr_a\"],"
    "\"model\":\"m\",\"metadata\":{\"k\":[1,2]},\"parent\":{\"conversationId\":\"conv_p\"}}",
    "{\"ts\":\"2026-01-01T00:00:01.000Z\",\"type\":\"user.message\",\"content\":[{\"type\":"
    "\"text\",\"text\":\"caf\xc3\xa9 \\\"x\\\"\"}]}",
    "{\"ts\":\"2026-01-01T00:00:02.000Z\",\"type\":\"llm.response\",\"model\":\"known\","
    "\"inputTokens\":3,\"outputTokens\":1,\"cacheCreationTokens\":2}",
    "not json",
    "{\"ts\":\"2026-01-01T00:00:03.000Z\",\"type\":\"aux.usage\",\"source\":\"delegate\","
    "\"inputTokens\":10,\"costUsd\":0.5}",
    "{\"ts\":\"2026-01-01T00:00:04.000Z\",\"type\":\"metadata.title\",\"title\":\"T\"}",
    "{\"ts\":\"2026-01-01T00:00:05.000Z\",\"type\":\"metadata.visibility\",\"visibility\":"
    "\"shared\"}",
    "{\"ts\":\"2026-01-01T00:00:06.000Z\",\"type\":\"metadata.participants\",\"participants\":["
    "\"usr_a\",\"usr_b\",7]}",
    "{\"ts\":1767225607000,\"type\":\"run.done\"}",
    "{\"ts\":\"nonsense\",\"type\":\"something.new\"}",
};

static void feed(struct derive *d, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        derive_line(d, str_from(LOG[i]), (i + 1) * 100);
}

/* Deriving from lines as they are appended gives the same result as reading them later. */
TEST(appended_lines)
{
    struct derive read, appended;
    struct arena a;
    arena_init(&a);
    derive_init(&read, &ENV);
    derive_init(&appended, &ENV);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(LOG); i++) {
            str line = str_from(LOG[i]);
            if (line.p[0] != '{')
                continue; /* would not be appended */
            derive_line(&read, line, i);
            derive_appended(&appended, line, i);
            assert_true(str_eq(derive_text(&read, &a), derive_text(&appended, &a)));
        }
    }
    assert_int_equal(appended.conv.message_count, 4);
    derive_done(&read);
    derive_done(&appended);
    arena_done(&a);
}

TEST(everything)
{
    struct derive d;
    struct arena a;
    arena_init(&a);
    derive_init(&d, &ENV);
    feed(&d, 0, ARRAY_LEN(LOG));
    struct conv *c = derive_conv(&d, &a, STR("conv_path"), STR("ws_fallback"));
    assert_true(str_eq(c->id, STR("conv_path")));
    assert_true(str_eq(c->workspace_id, STR("ws_fallback")));
    assert_true(str_eq(c->preview, STR("caf\xc3\xa9 \"x\"")));
    assert_true(str_eq(c->title, STR("T")));
    assert_true(str_eq(c->updated_at, STR("2026-01-01T00:00:07.000Z")));
    assert_int_equal(c->usage.input_tokens, 13);
    assert_int_equal(c->usage.cache_write_5m_tokens, 2);
    assert_true(c->is_cost_known && c->cost_usd == 3.5);
    assert_int_equal(c->message_count, 2);
    assert_int_equal(c->bad_lines, 1);
    assert_int_equal(c->acl.participants.len, 2);
    assert_true(c->acl.is_shared && c->is_hidden && !c->acl.is_sealed);
    assert_int_equal(c->end, ARRAY_LEN(LOG) * 100);
    derive_done(&d);
    arena_done(&a);
}

/* Stopped, saved and loaded at any line: the result is the same. */
TEST(an_empty_log_is_nobodys)
{
    struct derive d;
    struct arena a;
    arena_init(&a);
    derive_init(&d, &ENV);
    assert_true(derive_conv(&d, &a, STR("conv_x"), STR("ws"))->acl.is_sealed);
    feed(&d, 0, 1);
    assert_false(derive_conv(&d, &a, STR("conv_x"), STR("ws"))->acl.is_sealed);
    derive_done(&d);
    arena_done(&a);
}

TEST(costs)
{
    static const struct {
        const char *line;
        bool is_known;
        double usd;
    } cases[] = {
        {"{\"type\":\"llm.response\",\"model\":\"known\",\"inputTokens\":2}", true, 2},
        {"{\"type\":\"llm.response\",\"model\":\"other\",\"inputTokens\":2}", false, 0},
        {"{\"type\":\"llm.response\",\"model\":\"other\",\"inputTokens\":2,\"costUsd\":0.25}", true,
         0.25},
        {"{\"type\":\"llm.response\",\"model\":\"other\",\"inputTokens\":2,\"costUsd\":null}",
         false, 0},
        {"{\"type\":\"llm.response\",\"model\":\"other\"}", true, 0},
        {"{\"type\":\"llm.response\",\"model\":\"known\",\"inputTokens\":-5}", true, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct derive d;
        derive_init(&d, &ENV);
        derive_line(&d, str_from(LOG[0]), 1);
        derive_line(&d, str_from(cases[i].line), 2);
        assert_int_equal(d.conv.is_cost_known, cases[i].is_known);
        if (cases[i].is_known)
            assert_true(d.conv.cost_usd == cases[i].usd);
        derive_done(&d);
    }
}

/* The same model a thousand times must not make the state grow. */
TEST(memory_is_bounded)
{
    struct derive d;
    derive_init(&d, &ENV);
    feed(&d, 0, 3);
    size_t before = d.arena.total;
    for (int i = 0; i < 10000; i++)
        feed(&d, 2, 3);
    assert_int_equal(d.arena.total, before);
    derive_done(&d);
}

static void expect_run(struct derive *d, const char *line, const char *state, int64_t messages)
{
    derive_line(d, str_from(line), 1);
    assert_true(str_eq(d->conv.last_run, str_from(state)));
    assert_int_equal(d->conv.message_count, messages);
}

/* A run that waits for a permission is one message with the run that resumes it. */
TEST(the_state_of_the_last_run)
{
    struct derive d;
    derive_init(&d, &ENV);
    expect_run(&d, "{\"id\":\"conv_1\",\"createdAt\":\"2026-01-01T00:00:00.000Z\"}", "", 0);
    expect_run(&d, "{\"type\":\"user.message\",\"content\":[]}", "", 1);
    expect_run(&d, "{\"type\":\"run.start\"}", "open", 1);
    expect_run(&d, "{\"type\":\"run.done\",\"stopReason\":\"waiting\"}", "waiting", 1);
    expect_run(&d, "{\"type\":\"run.start\"}", "open", 1);
    expect_run(&d, "{\"type\":\"run.done\",\"stopReason\":\"complete\"}", "complete", 2);
    expect_run(&d, "{\"type\":\"run.error\",\"error\":\"x\"}", "error", 2);
    derive_done(&d);
}

TEST(a_fork_is_as_new_as_itself)
{
    struct derive d;
    derive_init(&d, &ENV);
    derive_line(&d,
                STR("{\"id\":\"conv_2\",\"createdAt\":\"2026-02-01T00:00:00.000Z\","
                    "\"forkedFrom\":\"conv_1\"}"),
                1);
    derive_line(&d, STR("{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"run.done\"}"), 2);
    assert_string_equal(d.updated_at, "2026-02-01T00:00:00.000Z");
    derive_line(&d, STR("{\"ts\":\"2026-03-01T00:00:00.000Z\",\"type\":\"run.done\"}"), 3);
    assert_string_equal(d.updated_at, "2026-03-01T00:00:00.000Z");
    derive_done(&d);
}
