#include "cli/headless/answer_schema.h"
#include "support/unit.h"

static struct arena arena;
static struct answer_schema schema;

static int begin(void **state)
{
    struct json *v;
    arena_init(&arena);
    assert_int_equal(json_parse(&arena,
                                STR("{\"type\":\"object\",\"required\":[\"n\"],\"properties\":"
                                    "{\"n\":{\"type\":\"integer\"}}}"),
                                0, &v, NULL),
                     0);
    schema = (struct answer_schema){.schema = v};
    return 0;
}

static int end(void **state)
{
    arena_done(&arena);
    return 0;
}

static const char *checked(const char *answer)
{
    struct json *v;
    struct err e = {0};
    if (answer_schema_check(&schema, &arena, str_from(answer), &v, &e) < 0)
        return arena_printf(&arena, "%s", e.msg).p;
    return arena_cstr(&arena, json_to_str(&arena, v));
}

TEST_WITH(the_value_may_be_bare_or_in_a_fence, begin, end)
{
    assert_string_equal(checked(" {\"n\": 1}\n"), "{\"n\":1}");
    assert_string_equal(checked("Here it is:\n```json\n{\"n\": 2}\n```\n"), "{\"n\":2}");
    assert_string_equal(checked("```\n{}\n```\nbetter:\n```\n{\"n\":3}\n```"), "{\"n\":3}");
}

TEST_WITH(everything_else_is_refused_with_a_reason, begin, end)
{
    assert_non_null(strstr(checked("{\"n\":\"x\"}"), "answer.n: expected integer"));
    assert_non_null(strstr(checked("{}"), "n"));
    assert_non_null(strstr(checked("{\"n\":1} and more"), "it is not JSON"));
    assert_non_null(strstr(checked(""), "it is not JSON"));
    assert_non_null(strstr(checked("```"), "it is not JSON"));
    assert_non_null(strstr(checked("``````"), "it is not JSON"));
}
