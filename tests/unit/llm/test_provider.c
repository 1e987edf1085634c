#include <errno.h>

#include "llm/provider/provider.h"
#include "support/unit.h"

static void drops(const char *body, size_t index, int rc, const char *name, const char *left)
{
    struct arena a;
    struct buf b;
    str dropped = STR_NONE;
    arena_init(&a);
    buf_init(&b, 4096);
    buf_add_lit(&b, body);
    assert_int_equal(provider_drop_tool(&b, index, &a, &dropped), rc);
    if (rc == 0)
        assert_true(str_eq(dropped, str_from(name)));
    assert_string_equal(buf_cstr(&b), left);
    buf_done(&b);
    arena_done(&a);
}

TEST(one_tool_leaves_the_others)
{
    (void)state;
    drops("{\"x\":0.10,\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}", 1, 0, "b",
          "{\"x\":0.10,\"tools\":[{\"name\":\"a\"},{\"name\":\"c\"}]}");
    drops("{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a\"}}],\"y\":1}", 0, 0, "a",
          "{\"y\":1}");
    drops("{\"tools\":[{\"functionDeclarations\":[{\"name\":\"a\"},{\"name\":\"b\"}]}]}", 1, 0, "b",
          "{\"tools\":[{\"functionDeclarations\":[{\"name\":\"a\"}]}]}");
    drops("{\"tools\":[{\"functionDeclarations\":[{\"name\":\"a\"}]}],\"y\":1}", 0, 0, "a",
          "{\"y\":1}");
}

TEST(the_breakpoint_moves)
{
    (void)state;
    drops("{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\",\"cache_control\":{\"type\":\"e\"}}]}", 1,
          0, "b", "{\"tools\":[{\"name\":\"a\",\"cache_control\":{\"type\":\"e\"}}]}");
}

TEST(what_is_not_there_stays)
{
    (void)state;
    drops("{\"tools\":[{\"name\":\"a\"}]}", 1, -EINVAL, "", "{\"tools\":[{\"name\":\"a\"}]}");
    drops("{}", 0, -EINVAL, "", "{}");
}

TEST(the_system_prompt_is_one_text)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct llm_request r = {.system_stable = STR("a\n"), .system_volatile = STR(" b")};
    assert_true(str_eq(provider_system(&a, &r), STR("a\n\nb")));
    r.system_stable = STR(" ");
    assert_true(str_eq(provider_system(&a, &r), STR("b")));
    arena_done(&a);
}

TEST(tools_go_out_once_and_clean)
{
    (void)state;
    struct arena a;
    struct json bad = {.type = JSON_ARRAY};
    size_t n;
    arena_init(&a);
    struct llm_tool tools[] = {{STR("a.b"), STR(" x\xff "), &bad},
                               {STR("c"), STR(""), NULL},
                               {STR("c"), STR("again"), NULL},
                               {STR(""), STR("nameless"), NULL},
                               {STR("d"), STR(""), NULL}};
    struct llm_request r = {.tools = tools, .ntools = 5};
    struct llm_tool *out = provider_tools(&a, &r, 9, 0, &n);
    assert_int_equal(n, 3);
    assert_true(str_starts(out[0].name, STR("a_b_")));
    assert_true(str_eq(out[0].description, STR("x\xef\xbf\xbd")));
    assert_true(json_is(out[0].schema, JSON_OBJECT));
    assert_true(str_eq(out[2].name, STR("d")));
    provider_tools(&a, &r, 2, 0, &n);
    assert_int_equal(n, 2);
    arena_done(&a);
}
