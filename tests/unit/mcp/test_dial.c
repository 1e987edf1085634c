#include "mcp/dial.h"
#include "support/unit.h"

TEST(dial_outlives_its_source)
{
    struct arena a;
    arena_init(&a);
    char program[] = "prog", env[] = "A=b", cwd[] = "/tmp", value[] = "v";
    const char *argv[] = {program, "x", NULL}, *envs[] = {env, NULL};
    struct fetch_header h = {STR("n"), {value, 1}};
    struct mcp_dial dial = {.wire = MCP_WIRE_STDIO,
                            .child = {.argv = argv, .env = envs, .cwd = cwd},
                            .headers = &h,
                            .nheaders = 1};
    struct mcp_dial copy = dial_copy(&a, &dial);
    program[0] = env[0] = cwd[0] = value[0] = '!';
    argv[1] = NULL;
    assert_string_equal(copy.child.argv[0], "prog");
    assert_string_equal(copy.child.argv[1], "x");
    assert_null(copy.child.argv[2]);
    assert_string_equal(copy.child.env[0], "A=b");
    assert_string_equal(copy.child.cwd, "/tmp");
    assert_true(str_eq(copy.headers[0].value, STR("v")));
    arena_done(&a);
}

TEST(request_outlives_its_source)
{
    struct arena a, b;
    arena_init(&a);
    arena_init(&b);
    struct json *params;
    assert_int_equal(json_parse(&b, STR("{\"name\":\"t\"}"), JSON_COPY, &params, NULL), 0);
    char method[] = "m";
    struct mcp_request copy =
        dial_copy_request(&a, &(struct mcp_request){.method = {method, 1}, .params = params});
    method[0] = '!';
    arena_done(&b);
    assert_true(str_eq(copy.method, STR("m")));
    assert_true(str_eq(json_get_string(copy.params, "name"), STR("t")));
    assert_null(copy.capabilities);
    arena_done(&a);
}

TEST(members_that_the_caller_keeps_are_not_copied)
{
    struct arena a;
    arena_init(&a);
    struct json *params;
    assert_int_equal(json_parse(&a, STR("{\"name\":\"t\"}"), 0, &params, NULL), 0);
    struct mcp_request req = {.method = STR("m"), .params = params, .capabilities = params};
    struct mcp_request copy = dial_copy_request(&a, &req);
    assert_ptr_not_equal(copy.params, params);
    assert_true(copy.is_kept); /* the copy lives as long as the arena */
    req.is_kept = true;
    copy = dial_copy_request(&a, &req);
    assert_ptr_equal(copy.params, params);
    assert_ptr_equal(copy.capabilities, params);
    arena_done(&a);
}
