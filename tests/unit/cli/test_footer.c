#include "cli/screen/footer.h"
#include "support/unit.h"

static const char *footer(const char *report)
{
    static struct buf b;
    struct arena a;
    struct json *v;
    buf_done(&b);
    buf_init(&b, 4096);
    arena_init(&a);
    assert_int_equal(json_parse(&a, str_from(report), 0, &v, NULL), 0);
    struct footer_sum sum = {0};
    footer_count(&sum, v);
    footer_add(&b, &sum, v);
    arena_done(&a);
    return buf_cstr(&b);
}

TEST(only_what_is_known)
{
    assert_string_equal(footer("{\"inputTokens\":831,\"outputTokens\":7}"), "831 in · 7 out");
    assert_string_equal(footer("{\"inputTokens\":1,\"outputTokens\":2,\"skillName\":null,"
                               "\"usage\":{\"costUsd\":null,\"totalMs\":1240}}"),
                        "1 in · 2 out · 1.2 s");
    assert_string_equal(footer("{}"), "0 in · 0 out");
}

/* An answer that asked for permission is one answer to the person who reads its footer. */
TEST(the_parts_of_an_answer_are_added)
{
    struct arena a;
    struct json *v;
    struct buf b;
    struct footer_sum sum = {0};
    buf_init(&b, 4096);
    arena_init(&a);
    str report = STR("{\"inputTokens\":3,\"outputTokens\":2,\"usage\":{\"costUsd\":0.25,"
                     "\"totalMs\":600}}");
    assert_int_equal(json_parse(&a, report, 0, &v, NULL), 0);
    footer_count(&sum, v);
    footer_count(&sum, v);
    footer_add(&b, &sum, v);
    assert_string_equal(buf_cstr(&b), "6 in · 4 out · $0.50 · 1.2 s");
    arena_done(&a);
    buf_done(&b);
}

TEST(cost_and_skill)
{
    assert_string_equal(footer("{\"usage\":{\"costUsd\":0.00421}}"), "0 in · 0 out · $0.0042");
    assert_string_equal(footer("{\"usage\":{\"costUsd\":1.5}}"), "0 in · 0 out · $1.50");
    assert_string_equal(footer("{\"usage\":{\"costUsd\":0}}"), "0 in · 0 out");
    assert_string_equal(footer("{\"skillName\":\"a\\u001b[2Jb\"}"), "0 in · 0 out · skill a␛[2Jb");
}

TEST(stop_words)
{
    assert_null(footer_stop_words(STR("complete")));
    assert_null(footer_stop_words(STR_NONE));
    assert_string_equal(footer_stop_words(STR("cancelled")), "stopped");
    assert_non_null(strstr(footer_stop_words(STR("max_iterations")), "maxIterations"));
}
