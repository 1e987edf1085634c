/* conversations__export. */
#include <assert.h>

#include "base/utf8.h"
#include "builtin/conversations.h"
#include "transfer/export.h"

struct exporting {
    struct builtin_call *call;
    struct export *export;
    enum export_format format;
    struct buf text;
};

static void on_export_cancel(struct builtin_call *c)
{
    struct exporting *x = c->state;
    export_close(x->export);
    buf_done(&x->text);
}

/* The text up to the limit, with a note when it was cut. */
static void reply_document(struct exporting *x, bool is_cut)
{
    struct arena *a = &x->call->call.arena;
    str text = arena_str(a, utf8_truncate(buf_str(&x->text), CONV_TOOL_CHARS));
    struct json *out = json_new(a, JSON_OBJECT);
    json_set(a, out, STR("format"), json_of_str(str_from(export_suffix(x->format))));
    json_set(a, out, STR("isCut"), json_of_bool(is_cut));
    json_set(a, out, STR("document"), json_of_str(text));
    if (is_cut)
        text = arena_printf(a, "%.*s\n[cut after %zu characters]", STR_ARG(text), text.n);
    builtin_reply_json(x->call, text, out);
}

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct exporting *x = ctx;
    struct builtin_call *c = x->call;
    assert(c->state == x && x->export); /* not after the last piece */
    if (!err)
        buf_add_str(&x->text, utf8_truncate(piece, CONV_TOOL_CHARS + 1));
    bool is_cut = x->text.n > CONV_TOOL_CHARS || piece.n > CONV_TOOL_CHARS + 1;
    if (!err && !is_last && !is_cut) {
        export_next(x->export, on_piece, x);
        return;
    }
    c->on_cancel = NULL;
    if (err)
        conv_tool_fail(c, err);
    else
        reply_document(x, is_cut);
    export_close(x->export);
    buf_done(&x->text);
}

static void export_found(struct builtin_call *c, const struct conv *conv)
{
    struct exporting *x = ARENA_NEW(&c->call.arena, struct exporting);
    struct err e = {0};
    str format = json_get_string(c->call.args, "format");
    x->call = c;
    if (export_format_parse(format.n > 0 ? format : STR("markdown"), &x->format, &e) < 0) {
        conv_tool_fail(c, &e);
        return;
    }
    buf_init(&x->text, 2 * CONV_TOOL_CHARS + 2);
    x->export = export_open(conv_tool_store(c), conv->id, x->format, NULL, builtin_doer(c));
    c->state = x;
    c->on_cancel = on_export_cancel;
    export_next(x->export, on_piece, x);
}

const struct builtin_tool BUILTIN_CONV_EXPORT = {
    .name = "export",
    .rule = {.conv = RULE_CONV_VIEW},
    .title = "Export a conversation",
    .description = "Export a conversation as a document, at most its first 30,000 characters.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"id\":{\"type\":\"string\",\"description\":\"This conversation when left out\"},"
              "\"format\":{\"type\":\"string\",\"enum\":[\"markdown\",\"json\"]}},"
              "\"additionalProperties\":false}",
    .is_read_only = true,
    .found = export_found,
    .audited = "conversation.export",
};
