/* Input of an editor: bytes become lines, a line becomes a message, its prompt becomes text and
 * files; and the arguments of a model's call become what the editor shows. Whatever is written is
 * JSON. */
#include <assert.h>

#include "base/utf8.h"
#include "cli/acp/acp_blocks.h"
#include "cli/acp/acp_call.h"
#include "cli/term/stdin_lines.h"
#include "mcp/transport/jsonrpc.h"

#define LINE_MAX_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_prompt(struct arena *a, const struct json *prompt)
{
    struct acp_blocks b;
    struct err e = {0};
    if (acp_blocks_read(a, prompt, &b, &e) < 0) {
        assert(e.code < 0 && e.msg[0]);
        return;
    }
    assert(utf8_valid(b.text) && b.text.n <= ACP_PROMPT_TEXT_MAX && b.nfiles <= ACP_FILES_MAX);
    assert(b.text.n > 0 || b.nfiles > 0);
    for (size_t i = 0; i < b.nfiles; i++) {
        assert(b.files[i].name.n > 0);
        assert(b.files[i].path.n == 0 || b.files[i].path.p[0] == '/');
    }
}

static void try_call(struct arena *a, const struct json *input, str name)
{
    struct acp_call c = {STR("id"), name, input};
    struct json_writer w;
    struct json *again;
    struct buf out;
    jw_start(&w, &out, 64u * 1024 * 1024);
    jw_object(&w);
    acp_call_write(&w, a, &c, STR("/w"));
    acp_call_write_content(&w, a, &c, STR("/w"), name);
    jw_close(&w);
    assert(!buf_failed(&out) && json_parse(a, buf_str(&out), JSON_COPY, &again, NULL) == 0);
    str title = json_get_string(again, "title");
    assert(title.n > 0 && (title.n <= ACP_TITLE_MAX + 3 || str_eq(title, name)));
    buf_done(&out);
}

static void on_fuzz_line(void *ctx, str line)
{
    struct arena a;
    struct json *doc;
    struct rpc_message m;
    assert(line.n > 0 && line.n <= LINE_MAX_BYTES && str_find_char(line, '\n') < 0);
    arena_init(&a);
    if (rpc_parse(&a, line, &doc, NULL) == 0) {
        try_prompt(&a, doc);
        if (rpc_classify(doc, &m, NULL) == 0 && m.method.n > 0) {
            try_prompt(&a, json_get(m.params, "prompt"));
            try_call(&a, m.params, m.method);
        }
    }
    arena_done(&a);
}

static void on_fuzz_too_long(void *ctx)
{
    ++*(size_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct line_events EVENTS = {on_fuzz_line, on_fuzz_too_long, NULL};
    struct line_splitter s;
    size_t nlong = 0;
    line_splitter_init(&s, LINE_MAX_BYTES);
    for (size_t at = 0, n; at < size; at += n) {
        n = 1 + data[at] % 64; /* pieces of any size */
        n = n < size - at ? n : size - at;
        line_splitter_feed(&s, str_make((const char *)data + at, n), &EVENTS, &nlong);
    }
    assert(nlong <= size / LINE_MAX_BYTES);
    line_splitter_done(&s);
    return 0;
}
