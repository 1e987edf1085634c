#include <errno.h>

#include "runtime/turn/turn.h"
#include "support/unit.h"

struct fixture {
    struct arena arena;
    const struct llm_message *messages;
    size_t n;
    int status;
};

static void build(struct fixture *f, const char *const *lines, size_t n)
{
    struct replay r;
    struct err e = {0};
    *f = (struct fixture){0};
    arena_init(&f->arena);
    replay_init(&r, &f->arena);
    for (size_t i = 0; i < n; i++)
        replay_add(&r, str_from(lines[i]), 0);
    f->status = context_messages(&f->arena, &r, &f->messages, &f->n, &e);
    replay_done(&r);
}

#define BUILD(f, ...)                                                                              \
    do {                                                                                           \
        const char *const lines_[] = {__VA_ARGS__};                                                \
        build(f, lines_, ARRAY_LEN(lines_));                                                       \
    } while (0)

#define USER(text)  "{\"type\":\"user.message\",\"content\":\"" text "\"}"
#define MODEL(text) "{\"type\":\"llm.response\",\"content\":\"" text "\"}"

TEST(results_follow_their_calls)
{
    struct fixture f;
    BUILD(
        &f, USER("q"),
        "{\"type\":\"llm.response\",\"content\":[{\"type\":\"opaque\",\"provider\":\"p\",\"model\":"
        "\"m\",\"block\":{\"x\":1}},"
        "{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"text\",\"text\":\"\"},"
        "{\"type\":\"tool-call\",\"toolCallId\":\"1\",\"toolName\":\"a\",\"input\":{\"n\":1e400}},"
        "{\"type\":\"tool-call\",\"toolCallId\":\"2\",\"toolName\":\"b\",\"input\":\"{broken\"}]}",
        "{\"type\":\"tool.done\",\"id\":\"1\",\"ok\":true,\"result\":{\"content\":["
        "{\"type\":\"text\",\"text\":\"seen\"},"
        "{\"type\":\"text\",\"text\":\"hidden\",\"annotations\":{\"audience\":[\"user\"]}},"
        "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"}]}}");
    assert_int_equal(f.status, 0);
    assert_int_equal(f.n, 3);
    const struct llm_message *m = &f.messages[1];
    assert_int_equal(m->n, 4);
    assert_int_equal(m->blocks[0].type, LLM_OPAQUE);
    assert_int_equal(m->blocks[2].type, LLM_TOOL_USE);
    assert_true(str_eq(m->blocks[2].args, STR("{\"n\":1e400}")));
    assert_true(str_eq(m->blocks[3].args, STR("{}")));
    const struct llm_message *results = &f.messages[2];
    assert_int_equal(results->role, LLM_USER);
    assert_int_equal(results->n, 2);
    assert_int_equal(results->blocks[0].nparts, 2);
    assert_true(str_eq(results->blocks[0].parts[0].text, STR("seen")));
    assert_int_equal(results->blocks[0].parts[1].type, LLM_IMAGE);
    assert_true(results->blocks[1].is_error); /* never answered */
    assert_int_equal(results->blocks[1].nparts, 1);
    arena_done(&f.arena);
}

TEST(never_two_users_in_a_row)
{
    struct fixture f;
    BUILD(&f, USER("one"), "{\"type\":\"run.error\",\"error\":\"x\"}", USER("two"));
    assert_int_equal(f.n, 3);
    assert_int_equal(f.messages[1].role, LLM_ASSISTANT);
    arena_done(&f.arena);
}

TEST(cut_off_answers_go_on)
{
    struct fixture f;
    BUILD(&f, USER("q"),
          "{\"type\":\"llm.response\",\"content\":\"half\",\"finishReason\":\"length\"}");
    assert_int_equal(f.n, 3);
    assert_int_equal(f.messages[2].role, LLM_USER);
    arena_done(&f.arena);
    {
        BUILD(&f, USER("q"),
              "{\"type\":\"llm.response\",\"content\":\"half\",\"finishReason\":\"length\"}",
              "{\"type\":\"run.done\",\"stopReason\":\"length\"}", USER("next"));
        assert_int_equal(f.n, 3); /* the run gave up: nothing is put between */
        assert_true(str_eq(f.messages[2].blocks[0].text, STR("next")));
        arena_done(&f.arena);
    }
}

TEST(long_results_are_bounded)
{
    struct fixture f;
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_add_lit(&line, "{\"type\":\"tool.done\",\"id\":\"1\",\"ok\":true,\"result\":{\"content\":[{"
                       "\"type\":\"text\",\"text\":\"");
    for (int i = 0; i < 30000; i++)
        buf_add_lit(&line, "ä");
    buf_add_lit(&line, "\"}]}}");
    BUILD(&f, USER("q"),
          "{\"type\":\"llm.response\",\"content\":[{\"type\":\"tool-call\",\"toolCallId\":\"1\","
          "\"toolName\":\"a\",\"input\":{}}]}",
          buf_cstr(&line));
    str text = f.messages[2].blocks[0].parts[0].text;
    assert_true(text.n < 50200);
    assert_true(str_find(text, STR("Cut here: 50000 of 60000 bytes"), 0) > 0);
    arena_done(&f.arena);
    buf_done(&line);
}

TEST(summary_replaces_the_beginning)
{
    struct fixture f;
    BUILD(&f, USER("alpha"), MODEL("beta"), USER("gamma"), MODEL("delta"),
          "{\"type\":\"history.compacted\",\"summary\":\"SUM</"
          "conversation-summary>\",\"keptMessages\":2}",
          USER("new"));
    assert_int_equal(f.n, 5);
    str first = f.messages[0].blocks[0].text;
    assert_true(str_find(first, STR("SUM"), 0) > 0);
    assert_true(str_find(first, STR("alpha"), 0) > 0); /* the user's own words stay */
    assert_true(str_find(first, STR("beta"), 0) < 0);
    assert_true(str_eq(f.messages[2].blocks[0].text, STR("gamma")));
    arena_done(&f.arena);
}

#define SAYS(who, text)                                                                            \
    "{\"type\":\"user.message\",\"userId\":\"" who "\",\"content\":\"" text "\"}"

/* One person needs no name; of several the model must know who wrote what. */
TEST(who_wrote_what)
{
    struct fixture f;
    BUILD(&f, SAYS("usr_a", "one"), MODEL("m"), SAYS("usr_a", "two"));
    assert_true(str_eq(f.messages[0].blocks[0].text, STR("one")));
    arena_done(&f.arena);
    BUILD(&f, SAYS("usr_a", "one"), MODEL("m"), SAYS("usr_b", "two"), MODEL("m"), USER("three"));
    assert_true(str_eq(f.messages[0].blocks[0].text, STR("[usr_a] one")));
    assert_true(str_eq(f.messages[2].blocks[0].text, STR("[usr_b] two")));
    assert_true(str_eq(f.messages[4].blocks[0].text, STR("three")));
    arena_done(&f.arena);
}

TEST(nothing_to_say)
{
    struct fixture f;
    BUILD(&f, "{\"type\":\"metadata.title\",\"title\":\"x\"}");
    assert_int_equal(f.status, -EINVAL);
    arena_done(&f.arena);
}
