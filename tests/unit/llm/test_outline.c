#include "llm/call/outline.h"
#include "support/unit.h"

#define NOTHING_KNOWN ((struct outline_known){0})

static struct outline_known know(str tools)
{
    return (struct outline_known){tools, outline_sum(tools)};
}

#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"

struct fixture {
    struct arena arena;
    struct outline_difference found[8];
    size_t n;
};

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

static const struct json *outline(struct fixture *f, str body)
{
    struct json *v;
    str text = outline_of(&f->arena, body, NOTHING_KNOWN);
    assert_int_equal(json_parse(&f->arena, text, 0, &v, NULL), 0);
    return v;
}

static void compare(struct fixture *f, str was, str now)
{
    f->n = outline_compare(&f->arena, outline(f, was), now, f->found, ARRAY_LEN(f->found));
}

static void assert_found(const struct fixture *f, size_t i, const char *part, const char *now)
{
    assert_true(i < f->n);
    assert_true(str_eq(f->found[i].part, str_from(part)));
    assert_true(str_eq(f->found[i].now, str_from(now)));
}

/* {"messages":["m0","m1",...]} with one of them changed, or none (-1). */
static str messages(struct fixture *f, int n, int changed)
{
    struct buf b;
    buf_init(&b, 1024 * 1024);
    buf_add_lit(&b, "{\"messages\":[");
    for (int i = 0; i < n; i++)
        buf_printf(&b, "%s\"m%d%s\"", i > 0 ? "," : "", i, i == changed ? "!" : "");
    buf_add_lit(&b, "]}");
    str s = arena_str(&f->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

TEST_WITH(short_values_stand_as_they_are, setup, teardown)
{
    struct fixture *f = *state;
    str text =
        outline_of(&f->arena, STR("{\"a\":1, \"b\":\"x\", \"c\":[], \"d\":true}"), NOTHING_KNOWN);
    assert_true(
        str_eq(text, STR("{\"a\":1,\"b\":\"x\",\"c\":{\"n\":0,\"newest\":[]},\"d\":true}")));
    const struct json *v = outline(f, STR("{\"a\":\"" LONG "\",\"b\":\"#short\",\"c\":{}}"));
    assert_true(str_ends(json_get_string(v, "a"), STR("/72")));
    assert_true(str_starts(json_get_string(v, "b"), STR("#")));
    assert_true(str_ends(json_get_string(v, "b"), STR("/8")));
    assert_true(str_ends(json_get_string(v, "c"), STR("/2")));
    v = outline(f, STR("{\"tools\":[1,2],\"others\":[1,2]}"));
    assert_true(str_ends(json_get_string(v, "tools"), STR("/5")));
    assert_int_equal(json_get_int(json_get(v, "others"), "n", 0), 2);
}

/* Logs keep them: another build must write the same. */
TEST_WITH(marks_stay_the_same, setup, teardown)
{
    struct fixture *f = *state;
    str one = outline_of(&f->arena, STR("{\"tools\":[1,2]}"), NOTHING_KNOWN);
    str other = outline_of(&f->arena, STR("{\"tools\":[45]}"), NOTHING_KNOWN);
    assert_string_equal(one.p, "{\"tools\":\"#5ef5fe5a/5\"}");
    assert_string_equal(other.p, "{\"tools\":\"#047b42a2/4\"}");
}

TEST_WITH(tools_that_are_known_make_no_difference, setup, teardown)
{
    static const str GUESSES[] = {STR_INIT("[{\"name\":\"a\"}]"), STR_INIT("[{\"name\":\"b\"}]")};
    struct fixture *f = *state;
    str body = STR("{\"tools\":[{\"name\":\"a\"}],\"messages\":[[{\"name\":\"b\"}],1]}");
    str plain = outline_of(&f->arena, body, NOTHING_KNOWN);
    for (size_t i = 0; i < ARRAY_LEN(GUESSES); i++)
        assert_true(str_eq(outline_of(&f->arena, body, know(GUESSES[i])), plain));
}

TEST_WITH(what_is_no_object_has_no_outline, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(outline_of(&f->arena, STR(""), NOTHING_KNOWN).n, 0);
    assert_int_equal(outline_of(&f->arena, STR("[1]"), NOTHING_KNOWN).n, 0);
    assert_int_equal(outline_of(&f->arena, STR("{\"a\":1"), NOTHING_KNOWN).n, 0);
}

TEST_WITH(equal_bodies_have_no_difference, setup, teardown)
{
    struct fixture *f = *state;
    for (int n = 0; n < 20; n++) {
        compare(f, messages(f, n, -1), messages(f, n, -1));
        assert_int_equal(f->n, 0);
    }
    compare(f, STR("{\"a\":\"" LONG "\",\"b\":2}"), STR("{\"a\":\"" LONG "\",\"b\":2}"));
    assert_int_equal(f->n, 0);
}

TEST_WITH(fields_that_differ_are_named, setup, teardown)
{
    struct fixture *f = *state;
    compare(f, STR("{\"a\":1,\"b\":\"" LONG "\",\"gone\":true}"),
            STR("{\"a\":2,\"b\":\"" LONG "x\",\"new\":[3]}"));
    assert_int_equal(f->n, 4);
    assert_found(f, 0, "a", "2");
    assert_true(str_eq(f->found[0].was, STR("1")));
    assert_found(f, 1, "b", "\"" LONG "x\"");
    assert_found(f, 2, "new", "[3]");
    assert_int_equal(f->found[2].was.n, 0);
    assert_found(f, 3, "gone", "");
    assert_true(str_eq(f->found[3].was, STR("true")));
}

TEST_WITH(newest_elements_are_named, setup, teardown)
{
    struct fixture *f = *state;
    for (int changed = 20 - OUTLINE_NEWEST; changed < 20; changed++) {
        char part[32], now[32];
        (void)snprintf(part, sizeof part, "messages[%d]", changed);
        (void)snprintf(now, sizeof now, "\"m%d!\"", changed);
        compare(f, messages(f, 20, -1), messages(f, 20, changed));
        assert_int_equal(f->n, 1);
        assert_found(f, 0, part, now);
    }
}

TEST_WITH(older_elements_are_told_together, setup, teardown)
{
    struct fixture *f = *state;
    compare(f, messages(f, 20, -1), messages(f, 20, 3));
    assert_int_equal(f->n, 1);
    assert_found(f, 0, "the first 14 of messages", "");
}

TEST_WITH(more_or_fewer_elements, setup, teardown)
{
    struct fixture *f = *state;
    compare(f, messages(f, 2, -1), messages(f, 3, -1));
    assert_int_equal(f->n, 1);
    assert_found(f, 0, "messages[2]", "\"m2\"");
    compare(f, messages(f, 9, -1), messages(f, 8, -1));
    assert_int_equal(f->n, 1);
    assert_found(f, 0, "messages[8]", "");
    assert_true(f->found[0].was.n > 0);
}

TEST_WITH(an_outline_does_not_grow, setup, teardown)
{
    struct fixture *f = *state;
    size_t short_one = outline_of(&f->arena, messages(f, 100, -1), NOTHING_KNOWN).n;
    assert_in_range(outline_of(&f->arena, messages(f, 10000, -1), NOTHING_KNOWN).n, 1,
                    short_one + 16);
}

TEST_WITH(differences_have_a_ceiling, setup, teardown)
{
    struct fixture *f = *state;
    compare(f, STR("{}"), messages(f, 0, -1));
    assert_int_equal(f->n, 1);
    compare(f, messages(f, 0, -1), messages(f, 50, -1));
    assert_int_equal(f->n, ARRAY_LEN(f->found));
}

TEST_WITH(foreign_outlines_do_no_harm, setup, teardown)
{
    struct fixture *f = *state;
    struct json *v;
    str odd = STR("{\"messages\":{\"n\":-5,\"newest\":7,\"older\":[]},\"a\":null}");
    assert_int_equal(json_parse(&f->arena, odd, 0, &v, NULL), 0);
    f->n = outline_compare(&f->arena, v, messages(f, 3, -1), f->found, ARRAY_LEN(f->found));
    assert_true(f->n > 0);
    f->n = outline_compare(&f->arena, NULL, STR("{\"a\":1}"), f->found, ARRAY_LEN(f->found));
    assert_int_equal(f->n, 1);
}
