#include <errno.h>

#include "mcp/transport/jsonrpc.h"
#include "support/unit.h"

static int classify(struct arena *a, const char *text, struct rpc_message *m, struct err *e)
{
    struct json *v;
    int rc = rpc_parse(a, str_from(text), &v, e);
    return rc < 0 ? rc : rpc_classify(v, m, e);
}

TEST(kinds)
{
    static const struct {
        const char *text;
        enum rpc_kind kind;
    } CASES[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RPC_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\",\"params\":{\"y\":1}}", RPC_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", RPC_NOTIFICATION},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", RPC_RESULT},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-1,\"message\":\"m\"}}", RPC_ERROR},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"m\"}}", RPC_ERROR},
        {"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"m\",\"data\":[1]}}", RPC_ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        arena_init(&a);
        struct rpc_message m;
        struct err e;
        assert_int_equal(classify(&a, CASES[i].text, &m, &e), 0);
        assert_int_equal(m.kind, CASES[i].kind);
        arena_done(&a);
    }
}

TEST(ids_keep_their_type)
{
    struct arena a;
    arena_init(&a);
    struct rpc_message number, text;
    assert_int_equal(classify(&a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", &number, NULL),
                     0);
    assert_int_equal(
        classify(&a, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"m\"}", &text, NULL), 0);
    assert_int_equal(number.id->type, JSON_INT);
    assert_int_equal(text.id->type, JSON_STRING);
    struct buf out;
    buf_init(&out, 1000);
    rpc_write_result(&out, text.id, &(struct json){.type = JSON_OBJECT});
    assert_string_equal(buf_cstr(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}");
    buf_clear(&out);
    rpc_write_error(&out, number.id, -32601, STR("what \"?\""));
    assert_string_equal(buf_cstr(&out), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
                                        "\"message\":\"what \\\"?\\\"\"}}");
    buf_done(&out);
    arena_done(&a);
}

TEST(malformed_is_refused)
{
    static const char *const CASES[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{\"id\":1,\"method\":\"m\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"m\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"m\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"m\"}",
        "\xff",
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct arena a;
        arena_init(&a);
        struct rpc_message m;
        struct err e = {0};
        if (classify(&a, CASES[i], &m, &e) != -EINVAL)
            fail_msg("accepted: %s", CASES[i]);
        assert_true(e.msg[0] != '\0');
        arena_done(&a);
    }
}

TEST(malformed_answer_names_its_request)
{
    struct arena a;
    arena_init(&a);
    struct rpc_message m;
    assert_int_equal(classify(&a, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":5}", &m, NULL),
                     -EINVAL);
    assert_int_equal(m.id->i, 9);
    arena_done(&a);
}

TEST(size_is_bounded)
{
    struct arena a;
    arena_init(&a);
    size_t n = RPC_MESSAGE_MAX + 1;
    char *text = xcalloc(1, n);
    struct json *v;
    struct err e;
    assert_int_equal(rpc_parse(&a, (str){text, n}, &v, &e), -EMSGSIZE);
    free(text);
    struct buf many;
    buf_init(&many, 1 << 20);
    for (int i = 0; i <= RPC_BATCH_MAX; i++)
        buf_add_lit(&many, i == 0 ? "[1" : ",1");
    buf_add_char(&many, ']');
    assert_int_equal(rpc_parse(&a, buf_str(&many), &v, &e), -EINVAL);
    buf_done(&many);
    arena_done(&a);
}
