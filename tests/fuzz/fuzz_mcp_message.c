/* Messages of an MCP server. Whatever is accepted has exactly the parts of its kind, and an
 * answer to a request carries the id back with its type. What stands in a schema's place is
 * compiled into headers, which must be safe to send. */
#include <assert.h>

#include "mcp/transport/jsonrpc.h"
#include "mcp/transport/param_headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(struct arena *a, const struct json *id)
{
    struct buf out;
    buf_init(&out, RPC_MESSAGE_MAX);
    rpc_write_result(&out, id, json_new(a, JSON_OBJECT));
    struct json *v;
    struct rpc_message back;
    assert(rpc_parse(a, buf_str(&out), &v, NULL) == 0 && rpc_classify(v, &back, NULL) == 0);
    assert(back.kind == RPC_RESULT && back.id->type == id->type && json_equal(back.id, id));
    buf_done(&out);
}

static void check_message(struct arena *a, struct json *v)
{
    struct rpc_message m;
    struct err e;
    if (rpc_classify(v, &m, &e) < 0)
        return;
    assert((m.kind == RPC_REQUEST || m.kind == RPC_NOTIFICATION) == (m.method.n > 0));
    assert((m.kind == RPC_RESULT) == (m.result != NULL));
    assert((m.kind == RPC_ERROR) == (m.error != NULL));
    assert(m.kind != RPC_NOTIFICATION || !m.id);
    assert(!m.id || m.id->type == JSON_INT || m.id->type == JSON_STRING);
    assert(!m.params || m.params->type == JSON_OBJECT);
    if (m.kind == RPC_REQUEST)
        check_answer(a, m.id);
}

static void check_headers(struct arena *a, const struct json *v)
{
    struct param_headers h;
    struct err e;
    const struct json *arguments = json_get(v, "arguments");
    if (param_headers_compile(a, json_get(v, "inputSchema"), &h, &e) < 0)
        return;
    assert(h.n <= PARAM_HEADERS_MAX);
    for (size_t i = 0; i < h.n; i++) {
        str value;
        if (!param_header_value(a, &h.items[i], arguments, &value))
            continue;
        for (size_t k = 0; k < value.n; k++)
            assert(value.p[k] >= ' ' && value.p[k] <= '~');
        assert(value.n == 0 || (value.p[0] != ' ' && value.p[value.n - 1] != ' '));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    arena_init(&a);
    struct json *v;
    struct err e;
    if (rpc_parse(&a, (str){(const char *)data, size}, &v, &e) == 0) {
        if (v->type == JSON_ARRAY) {
            assert(v->len > 0 && v->len <= RPC_BATCH_MAX);
            for (uint32_t i = 0; i < v->len; i++)
                check_message(&a, &v->items[i]);
        }
        check_message(&a, v);
        check_headers(&a, v);
    }
    arena_done(&a);
    return 0;
}
