#include "store/past.h"
#include "support/unit.h"

struct fixture {
    struct arena arena;
    struct past past;
};

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(a, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

static void user(struct fixture *f, const char *event)
{
    past_user(&f->past, &f->arena, parse(&f->arena, event));
}

static void answer(struct fixture *f, const char *event)
{
    past_answer(&f->past, &f->arena, parse(&f->arena, event));
}

static void call(struct fixture *f, const char *tool)
{
    answer(f, arena_printf(&f->arena,
                           "{\"type\":\"llm.response\",\"content\":[{\"type\":\"tool-call\","
                           "\"toolName\":\"%s\"}]}",
                           tool)
                  .p);
}

static const char *text(struct fixture *f)
{
    return past_json(&f->arena, &f->past).p;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    arena_init(&f->arena);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_done(&f->arena);
    free(f);
    return 0;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(people_and_limits_stay_in_the_order_of_their_first_messages)
{
    struct fixture *f = *state;
    assert_string_equal(text(f), "{\"people\":[],\"limits\":[],\"tools\":[]}");
    user(f, "{\"userId\":\"usr_b\"}");
    user(f, "{\"userId\":\"usr_a\",\"toolLimit\":[\"x__*\",\"y\"]}");
    user(f, "{\"userId\":\"usr_b\",\"toolLimit\":[]}");
    user(f, "{\"userId\":\"usr_a\",\"toolLimit\":[\"x__*\",\"y\"]}");
    user(f, "{\"userId\":\"\",\"toolLimit\":\"no list\"}");
    assert_string_equal(text(f),
                        "{\"people\":[\"usr_b\",\"usr_a\"],\"limits\":[[\"x__*\",\"y\"],[]],"
                        "\"tools\":[]}");
}

CASE(the_tool_that_was_called_last_is_the_last)
{
    struct fixture *f = *state;
    call(f, "a");
    call(f, "b");
    call(f, "c");
    call(f, "a");
    answer(f, "{\"role\":\"assistant\",\"toolCalls\":[{\"name\":\"d\"}]}");
    answer(f, "{\"role\":\"assistant\",\"metadata\":{\"toolCalls\":[{\"name\":\"b\"}]}}");
    answer(f, "{\"type\":\"llm.response\",\"toolCalls\":[{\"name\":\"not of this format\"}]}");
    assert_string_equal(text(f),
                        "{\"people\":[],\"limits\":[],\"tools\":[\"c\",\"a\",\"d\",\"b\"]}");
}

/* A reader of the end of a log continues from the state of all of it. */
CASE(messages_that_were_seen_before_change_nothing)
{
    struct fixture *f = *state;
    char name[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2000; i++) {
            (void)snprintf(name, sizeof name, "t%d", i % (round ? 100 : 700));
            if (round == 0 || i >= 1500)
                call(f, name);
        }
        user(f, "{\"userId\":\"usr_a\",\"toolLimit\":[\"z\"]}");
    }
    const char *all = text(f);
    struct fixture more = {.past = past_copy(&f->arena, &f->past)};
    arena_init(&more.arena);
    for (int i = 1700; i < 2000; i++) {
        (void)snprintf(name, sizeof name, "t%d", i % 100);
        call(&more, name);
    }
    user(&more, "{\"userId\":\"usr_a\",\"toolLimit\":[\"z\"]}");
    assert_string_equal(text(&more), all);
    arena_done(&more.arena);
}

/* Neither the number of names nor that of calls makes it grow. */
CASE(it_is_bounded)
{
    struct fixture *f = *state;
    struct arena keep;
    char event[300], name[64];
    arena_init(&keep);
    struct past p = {0};
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(event, sizeof event,
                       "{\"userId\":\"usr_%d\",\"toolLimit\":[\"%d\"],\"wordsOf\":[\"usr_o%d\"]}",
                       i, i, i);
        past_user(&p, &keep, parse(&f->arena, event));
        (void)snprintf(name, sizeof name, "tool_%d", i);
        (void)snprintf(event, sizeof event,
                       "{\"type\":\"llm.response\",\"content\":[{\"type\":\"tool-call\","
                       "\"toolName\":\"%s\"}]}",
                       name);
        past_answer(&p, &keep, parse(&f->arena, event));
    }
    assert_int_equal(p.people.len, PAST_PEOPLE_MAX);
    assert_int_equal(p.others.len, PAST_PEOPLE_MAX);
    assert_int_equal(p.nlimits, PAST_LIMITS_MAX);
    assert_int_equal(p.tools.len, PAST_TOOLS_MAX);
    assert_true(str_eq(p.tools.items[PAST_TOOLS_MAX - 1], STR("tool_2999")));
    assert_true(str_eq(p.tools.items[0], STR("tool_2744")));
    assert_true(keep.total < 160 * 1024);
    arena_done(&keep);
}

/* What is too long may only make rights narrower. */
CASE(a_limit_that_is_too_long_allows_nothing)
{
    struct fixture *f = *state;
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_add_lit(&b, "{\"toolLimit\":[\"*\"");
    for (unsigned i = 0; i < PAST_LIMIT_GLOBS_MAX; i++)
        buf_printf(&b, ",\"t%u\"", i);
    buf_add_lit(&b, "]}");
    user(f, buf_cstr(&b));
    assert_int_equal(f->past.nlimits, 1);
    assert_non_null(f->past.limits[0].items);
    assert_int_equal(f->past.limits[0].len, 0);
    buf_done(&b);
}

CASE(a_line_of_somebody_known_need_not_be_parsed)
{
    struct fixture *f = *state;
    user(f, "{\"userId\":\"usr_a\"}");
    assert_true(
        past_knows_user(&f->past, STR("{\"content\":[{\"userId\":\"x\"}],\"userId\":\"usr_a\"}")));
    assert_true(past_knows_user(&f->past, STR("{\"content\":\"hi\"}")));
    assert_false(past_knows_user(&f->past, STR("{\"userId\":\"usr_b\"}")));
    assert_false(past_knows_user(&f->past, STR("{\"userId\":\"usr\\u005fa\"}")));
    assert_false(past_knows_user(&f->past, STR("{\"user\\u0049d\":\"usr_b\"}")));
    assert_false(past_knows_user(&f->past, STR("{\"userId\":\"usr_a\",\"toolLimit\":[]}")));
    assert_false(past_knows_user(&f->past, STR("{\"userId\":\"usr_a\",\"wordsOf\":[]}")));
    assert_false(past_knows_user(&f->past, STR("{\"userId\":\"usr_a\"")));
}

CASE(json_and_back)
{
    static const char *const BAD[] = {"",
                                      "null",
                                      "[]",
                                      "{}",
                                      "{\"people\":[],\"limits\":[]}",
                                      "{\"people\":{},\"limits\":[],\"tools\":[]}"};
    struct fixture *f = *state, back = {0};
    user(f, "{\"userId\":\"usr_\\\"a\",\"toolLimit\":[]}");
    user(f, "{\"userId\":\"usr_b\",\"toolLimit\":[\"b\",\"a\"],\"wordsOf\":[\"usr_c\",7]}");
    assert_int_equal(f->past.others.len, 1);
    call(f, "x");
    call(f, "y");
    arena_init(&back.arena);
    assert_int_equal(past_parse(&back.arena, str_from(text(f)), &back.past), 0);
    assert_string_equal(text(&back), text(f));
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_true(past_parse(&back.arena, str_from(BAD[i]), &back.past) < 0);
    assert_string_equal(text(&back), text(f));
    arena_done(&back.arena);
}
