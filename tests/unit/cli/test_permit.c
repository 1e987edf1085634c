#include "cli/view/permit.h"
#include "cli/term/text.h"
#include "runtime/runtime.h"
#include "support/unit.h"

static const char ASK[] =
    "{\"askId\":\"ask_1\",\"calls\":["
    "{\"id\":\"c1\",\"name\":\"nb__calculate\",\"input\":{\"a\":\"6*7\"}},"
    "{\"id\":\"c2\",\"name\":\"bash__run\",\"input\":{\"cmd\":\"\\u001b[2Jls\"}},"
    "{\"id\":\"c3\",\"name\":\"nb__time\"}]}";

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

static void assert_question(const struct permit *p, size_t width, const char *expected)
{
    struct buf b;
    buf_init(&b, 65536);
    permit_add_question(p, &b, width, false);
    assert_string_equal(buf_cstr(&b), expected);
    buf_done(&b);
}

TEST(calls_are_decided_in_order)
{
    struct arena a;
    struct permit p;
    arena_init(&a);
    permit_init(&p, parse(&a, ASK));
    arena_done(&a); /* it has its own copy */
    assert_question(&p, 80, "Allow nb__calculate {\"a\":\"6*7\"}? [y]es / [N]o / [a]lways ");
    permit_decide(&p, PERMIT_YES);
    assert_true(str_eq(permit_tool(&p), STR("bash__run")));
    permit_decide(&p, PERMIT_ALWAYS);
    assert_false(permit_is_complete(&p));
    permit_decide(&p, PERMIT_NO);
    assert_true(permit_is_complete(&p));
    str decisions = json_to_str(&p.arena, p.decisions);
    assert_true(str_eq(decisions, STR("{\"c1\":true,\"c2\":\"always\",\"c3\":false}")));
    assert_true(str_eq(p.ask_id, STR("ask_1")));
    permit_done(&p);
}

TEST(foreign_text_is_safe)
{
    struct arena a;
    struct permit p;
    struct buf b;
    arena_init(&a);
    buf_init(&b, 65536);
    permit_init(&p, parse(&a, ASK));
    permit_decide(&p, PERMIT_NO);
    for (size_t width = 40; width <= 80; width += 40) {
        buf_clear(&b);
        permit_add_details(&p, &b, width, false);
        permit_add_question(&p, &b, width, false);
        assert_true(str_find_char(buf_str(&b), '\033') < 0);
        assert_true(str_find(buf_str(&b), STR("[2Jls"), 0) > 0);
        assert_true(str_ends(buf_str(&b), STR("[y]es / [N]o / [a]lways ")));
    }
    buf_done(&b);
    permit_done(&p);
    arena_done(&a);
}

static const char *details(const struct permit *p, size_t width)
{
    static struct buf b;
    buf_done(&b);
    buf_init(&b, 65536);
    permit_add_details(p, &b, width, false);
    return buf_cstr(&b);
}

/* A command that does not fit into the question is shown whole above it: nobody can agree to what
 * was cut off. */
TEST(a_long_input_is_shown_whole)
{
    struct arena a;
    struct permit p;
    arena_init(&a);
    permit_init(&p,
                parse(&a, "{\"askId\":\"ask_1\",\"calls\":[{\"id\":\"c1\",\"name\":\"b__x\","
                          "\"input\":{\"command\":\"echo safe; rm -rf /precious\",\"n\":7}},"
                          "{\"id\":\"c2\",\"name\":\"b__x\",\"input\":{\"c\":\"one\\ntwo\"}}]}"));
    assert_string_equal(details(&p, 100), "");
    assert_string_equal(details(&p, 60), "  command: echo safe; rm -rf /precious\n  n: 7\n");
    assert_question(&p, 60, "Allow b__x? [y]es / [N]o / [a]lways ");
    assert_question(&p, 34, "Allow b__x?\n[y]es / [N]o / [a]lways ");
    permit_decide(&p, PERMIT_NO);
    assert_string_equal(details(&p, 100), "  c: one\n    two\n");
    permit_done(&p);
    arena_done(&a);
}

TEST(a_command_says_where_it_runs)
{
    struct arena a;
    struct permit p;
    struct buf b;
    arena_init(&a);
    buf_init(&b, 65536);
    permit_init(&p,
                parse(&a, "{\"askId\":\"ask_1\",\"calls\":["
                          "{\"id\":\"1\",\"name\":\"bash__x\",\"directory\":\"/srv/\\u001bp\"},"
                          "{\"id\":\"2\",\"name\":\"bash__x\",\"input\":{\"command\":\"true\"}},"
                          "{\"id\":\"3\",\"name\":\"nb__time\"}]}"));
    p.shell_directory = STR("a directory of nb's own");
    permit_add_question(&p, &b, 80, false);
    assert_true(str_starts(buf_str(&b), STR("Allow bash__x in /srv/")));
    assert_true(str_find_char(buf_str(&b), '\033') < 0);
    permit_decide(&p, PERMIT_NO);
    assert_question(
        &p, 200,
        "Allow bash__x in a directory of nb's own {\"command\":\"true\"}? [y]es / [N]o / "
        "[a]lways ");
    assert_string_equal(details(&p, 70), "  command: true\n");
    assert_string_equal(details(&p, 40), "  in a directory of nb's own\n  command: true\n");
    assert_question(&p, 40, "Allow bash__x? [y]es / [N]o / [a]lways ");
    assert_question(&p, 70, "Allow bash__x in a directory of nb's own? [y]es / [N]o / [a]lways ");
    permit_decide(&p, PERMIT_NO);
    assert_question(&p, 80, "Allow nb__time? [y]es / [N]o / [a]lways ");
    buf_done(&b);
    permit_done(&p);
    arena_done(&a);
}

TEST(keys)
{
    assert_int_equal(permit_of_key('y'), PERMIT_YES);
    assert_int_equal(permit_of_key('A'), PERMIT_ALWAYS);
    assert_int_equal(permit_of_key('\r'), PERMIT_NO);
    assert_int_equal(permit_of_key('n'), PERMIT_NO);
    assert_int_equal(permit_of_key('x'), PERMIT_UNCLEAR);
    assert_int_equal(permit_of_key('\033'), PERMIT_UNCLEAR);
}

TEST(a_strange_question_has_no_calls)
{
    struct arena a;
    struct permit p;
    arena_init(&a);
    permit_init(&p, parse(&a, "{\"askId\":\"ask_1\",\"calls\":7}"));
    assert_true(permit_is_complete(&p));
    permit_done(&p);
    arena_done(&a);
}

TEST(refused_calls_are_named_once)
{
    struct arena a;
    str names[2];
    arena_init(&a);
    const struct json *report =
        parse(&a, "{\"toolCalls\":[{\"name\":\"x\",\"output\":\"fine\"},"
                  "{\"name\":\"y\",\"output\":\"" TURN_NOBODY_TO_ASK "\"},"
                  "{\"name\":\"y\",\"output\":\"" TURN_NOBODY_TO_ASK "\"},"
                  "{\"name\":\"z\",\"output\":\"" TURN_NOBODY_TO_ASK "\"},"
                  "{\"name\":\"w\",\"output\":\"" TURN_NOBODY_TO_ASK "\"}]}");
    assert_int_equal(permit_refused(report, names, 2), 2);
    assert_true(str_eq(names[0], STR("y")));
    assert_true(str_eq(names[1], STR("z")));
    assert_int_equal(permit_refused(NULL, names, 2), 0);
    arena_done(&a);
}
