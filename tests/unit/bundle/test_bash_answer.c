#include "bundle/bash/bash_answer.h"
#include "support/unit.h"

static struct arena arena;

static const struct json *parsed(struct bash_answer *a)
{
    struct json *v;
    struct err e = {0};
    arena_init(&arena);
    if (json_parse(&arena, buf_str(&a->bytes), JSON_COPY, &v, &e) < 0)
        fail_msg("%s", e.msg);
    buf_done(&a->bytes);
    return v;
}

TEST(each_answer_is_one_message)
{
    struct bash_answer a;
    struct json id = json_of_int(7);
    bash_answer_tools(&a, &id, true);
    const struct json *v = parsed(&a);
    assert_int_equal(json_get_int(v, "id", 0), 7);
    const struct json *tool = json_at(json_get(json_get(v, "result"), "tools"), 0);
    assert_true(str_eq(json_get_string(tool, "name"), STR("bash_exec")));
    assert_non_null(json_get(json_get(v, "result"), "ttlMs"));
    arena_done(&arena);
    bash_answer_tools(&a, &id, false);
    v = parsed(&a);
    assert_null(json_get(json_get(v, "result"), "resultType"));
    arena_done(&arena);
    bash_answer_version(&a, &id, STR("9"));
    v = parsed(&a);
    assert_int_equal(json_get_int(json_get(v, "error"), "code", 0), MCP_UNSUPPORTED_VERSION);
    arena_done(&arena);
}

TEST(output_is_cut_to_what_fits)
{
    struct bash_answer a;
    struct json id = json_of_int(1);
    struct bash_run r = {.exit_code = 3, .began_ms = 10, .ended_ms = 25};
    buf_init(&r.out.bytes, BASH_OUTPUT_MAX);
    buf_init(&r.err.bytes, BASH_OUTPUT_MAX);
    for (int i = 0; i < 10; i++) {
        static const char NULS[1 << 20];
        buf_add(&r.out.bytes, NULS, sizeof(NULS));
    }
    buf_add_lit(&r.err.bytes, "caf\xc3\xa9 \xff");
    r.out.dropped = 5;
    bash_answer_output(&a, &id, false, &r);
    assert_true(a.bytes.n < RPC_MESSAGE_MAX);
    const struct json *result = json_get(parsed(&a), "result");
    const struct json *out = json_get(result, "structuredContent");
    assert_int_equal(json_get_int(out, "exit_code", 0), 3);
    assert_int_equal(json_get_int(out, "duration_ms", 0), 15);
    assert_true(str_eq(json_get_string(out, "stderr"), STR("caf\xc3\xa9 \xef\xbf\xbd")));
    str cut = json_get_string(out, "stdout");
    char expected[64];
    snprintf(expected, sizeof(expected), "\n[%u more bytes]",
             (10u << 20) + 5 - (BASH_ENCODED_MAX - BASH_STDERR_MIN) / 6);
    assert_true(str_ends(cut, str_from(expected)));
    arena_done(&arena);
    buf_done(&r.out.bytes);
    buf_done(&r.err.bytes);
}
