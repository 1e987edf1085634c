#include "transfer/export.h"

#include <assert.h>
#include <errno.h>

#include "attach/library.h"
#include "base/clock.h"
#include "base/text/plain.h"
#include "base/utf8.h"
#include "store/event/blobs.h"
#include "store/event/parts.h"
#include "store/event/text.h"
#include "store/integrity.h"
#include "transfer/export_impl.h"

enum { TOOL_BYTES = 16 * 1024, OUT_MAX = EXPORT_PIECE_BYTES + 8 * EXPORT_HELD_BYTES };

static const struct {
    const char *name, *suffix, *mime;
    const struct export_style *style; /* NULL: the lines themselves */
} FORMATS[] = {
    [EXPORT_MARKDOWN] = {"markdown", "md", "text/markdown; charset=utf-8", &export_style_markdown},
    [EXPORT_JSON] = {"json", "json", "application/json", &export_style_json},
    [EXPORT_HTML] = {"html", "html", "text/html; charset=utf-8", &export_style_html},
    [EXPORT_JSONL] = {"jsonl", "jsonl", "application/x-ndjson", NULL},
};

int export_format_parse(str name, enum export_format *ret, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
        if (str_eq(name, str_from(FORMATS[i].name)) || str_eq(name, str_from(FORMATS[i].suffix))) {
            *ret = (enum export_format)i;
            return 0;
        }
    }
    return err_set(e, -EINVAL, "format \"%.*s\" is not one of markdown, json, html, jsonl",
                   STR_ARG(utf8_truncate(name, 40)));
}

const char *export_mime(enum export_format f)
{
    return FORMATS[f].mime;
}

const char *export_suffix(enum export_format f)
{
    return FORMATS[f].suffix;
}

/* ---- what the styles share ---- */

static void export_flush(struct exporter *x)
{
    if (x->status == 0 && x->out.n)
        x->status = buf_failed(&x->out) ? -E2BIG : x->fn(x->ctx, buf_str(&x->out));
    buf_clear(&x->out);
}

static void put_bytes(struct exporter *x, str s)
{
    while (s.n && x->status == 0) {
        size_t room = x->out.n < EXPORT_PIECE_BYTES ? EXPORT_PIECE_BYTES - x->out.n : 0;
        str piece = str_slice(s, 0, room);
        buf_add_str(&x->out, piece);
        s = str_skip(s, piece.n);
        if (x->out.n >= EXPORT_PIECE_BYTES)
            export_flush(x);
    }
}

/* Documents are shown in terminals and browsers, so control characters and bidirectional marks of
 * the conversation must have no effect there. The jsonl format is not changed. */
void export_put(struct exporter *x, str s)
{
    struct arena a;
    arena_init(&a);
    if (x->style)
        s = x->style == &export_style_json ? plain_json(&a, s) : plain_text(&a, s);
    put_bytes(x, s);
    arena_done(&a);
}

str export_time(struct exporter *x, str ts)
{
    int64_t ms;
    char iso[CLOCK_ISO_LEN + 1];
    if (clock_parse_iso(ts, &ms) < 0)
        return STR_NONE;
    clock_iso(ms, iso);
    return arena_printf(&x->scratch, "%.10s %.8s UTC", iso, iso + 11);
}

void export_facts(struct exporter *x, void (*put)(struct exporter *x, const char *name, str value))
{
    const struct conv *c = x->conv;
    struct {
        const char *name;
        str value;
    } facts[] = {{"Id", c->id},
                 {"Created", export_time(x, c->created_at)},
                 {"Updated", export_time(x, c->updated_at)},
                 {"Model", c->last_model},
                 {"Forked from", c->forked_from},
                 {"Tokens", STR_NONE},
                 {"Cost", STR_NONE}};
    if (c->usage.input_tokens || c->usage.output_tokens)
        facts[5].value =
            arena_printf(&x->scratch, "%lld in, %lld out", (long long)c->usage.input_tokens,
                         (long long)c->usage.output_tokens);
    if (c->is_cost_known && c->cost_usd > 0)
        facts[6].value = arena_printf(&x->scratch, "$%.4f", c->cost_usd);
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        if (facts[i].value.n > 0)
            put(x, facts[i].name, facts[i].value);
}

static enum export_item_type speaker_of(enum export_item_type t)
{
    return t == ITEM_USER || t == ITEM_SYSTEM || t == ITEM_NOTE ? t : ITEM_ASSISTANT;
}

bool export_is_new_speaker(struct exporter *x, const struct export_item *item)
{
    enum export_item_type speaker = speaker_of(item->type);
    bool is_new = !x->has_spoken || speaker != ITEM_ASSISTANT || x->last != speaker;
    x->has_spoken = true;
    x->last = speaker;
    return is_new;
}

str export_result_text(struct arena *a, const struct json *event)
{
    struct event_text text;
    if (text_of_event(a, EV_TOOL_DONE, event, &text) && text.text.n)
        return text.text;
    const struct json *result = json_get(event, "result");
    return result && !json_is(result, JSON_NULL) ? json_to_str(a, result) : STR_NONE;
}

void export_blocks(struct exporter *x, const struct export_item *item,
                   void (*put)(struct exporter *x, const struct json *block, str label))
{
    const struct json *content = item->content;
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        str label = parts_label(&x->scratch, &content->items[i]);
        if (label.n > 0)
            put(x, &content->items[i], label);
    }
}

/* ---- events to items ---- */

static void emit_item(struct exporter *x, struct export_item item)
{
    bool is_tool = item.type == ITEM_CALL || item.type == ITEM_RESULT;
    if ((is_tool && x->opt.without_tools) || (!is_tool && !item.text.n))
        return;
    if (item.type == ITEM_REASONING && !x->opt.with_reasoning)
        return;
    x->style->item(x, &item);
}

/* A part that is not text: its type, and its name if it has one. */
static str describe_part(struct arena *a, const struct json *part)
{
    static const char *const NAMES[] = {"filename", "name", "title", "uri", "url"};
    str type = json_get_string(part, "type");
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        str name = json_get_string(part, NAMES[i]);
        if (name.n)
            return arena_printf(a, "[%.*s: %.*s]", STR_ARG(type), STR_ARG(name));
    }
    return arena_printf(a, "[%.*s]", STR_ARG(type));
}

str export_file_link(struct exporter *x, const struct json *part)
{
    str sha256;
    if (!x->opt.file_base || !library_id_sha(json_get_string(part, "file"), &sha256))
        return STR_NONE;
    return arena_printf(&x->scratch, "%s%.*s", x->opt.file_base, STR_ARG(sha256));
}

/* Tells the caller which files the conversation has, with the views that models get of them. */
static void tell_files(struct exporter *x, enum event_type type, const struct json *event)
{
    const struct json *parts = x->opt.on_file ? file_parts_of(type, event) : NULL;
    str sha256;
    for (size_t i = 0; parts && i < 2 * parts->len; i++)
        if (file_parts_name(parts, i, &sha256))
            x->opt.on_file(x->opt.file_ctx, sha256);
}

static str args_of(struct arena *a, const struct json *input)
{
    if (json_is(input, JSON_STRING))
        return input->s;
    return input ? json_to_str(a, input) : STR_NONE;
}

static void emit_part(struct exporter *x, const struct json *part, struct export_item base)
{
    str type = json_get_string(part, "type");
    struct export_item item = base;
    if (str_eq(type, STR("text"))) {
        item.text = json_get_string(part, "text");
    } else if (str_eq(type, STR("tool-call"))) {
        item.type = ITEM_CALL;
        item.who = json_get_string(part, "toolName");
        item.text = args_of(&x->scratch, json_get(part, "input"));
    } else if (str_eq(type, STR("reasoning")) || str_eq(type, STR("opaque"))) {
        item.type = ITEM_REASONING;
        item.text = text_of_thought(&x->scratch, part);
    } else if (json_is(part, JSON_STRING)) {
        item.text = part->s;
    } else {
        item.text = describe_part(&x->scratch, part);
        item.file = json_get_string(part, "file").n > 0 ? part : NULL;
    }
    emit_item(x, item);
}

static void emit_content(struct exporter *x, const struct json *content, struct export_item base)
{
    if (json_is(content, JSON_STRING)) {
        base.text = content->s;
        emit_item(x, base);
    }
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++)
        emit_part(x, &content->items[i], base);
}

/* An older log keeps calls and results together in the message. */
static void emit_old_calls(struct exporter *x, const struct json *message, str ts)
{
    const struct json *calls = json_get(message, "toolCalls");
    if (!calls)
        calls = json_get(json_get(message, "metadata"), "toolCalls");
    for (size_t i = 0; json_is(calls, JSON_ARRAY) && i < calls->len; i++) {
        const struct json *c = &calls->items[i];
        struct export_item item = {.type = ITEM_CALL, .ts = ts, .who = json_get_string(c, "name")};
        item.text = args_of(&x->scratch, json_get(c, "input"));
        emit_item(x, item);
        item.type = ITEM_RESULT;
        item.ok = json_get_bool(c, "ok", true);
        item.ms = json_get_int(c, "ms", 0);
        item.text = args_of(&x->scratch, json_get(c, "output"));
        emit_item(x, item);
    }
}

static void emit_old_message(struct exporter *x, const struct json *v, str ts)
{
    str role = json_get_string(v, "role");
    struct export_item item = {.type = ITEM_ASSISTANT, .ts = ts};
    if (str_eq(role, STR("user")))
        item.type = ITEM_USER;
    else if (str_eq(role, STR("system")))
        item.type = ITEM_SYSTEM;
    item.who = json_get_string(v, item.type == ITEM_USER ? "userId" : "model");
    emit_old_calls(x, v, ts);
    emit_content(x, json_get(v, "content"), item);
}

static str error_text(const struct json *v)
{
    const struct json *error = json_get(v, "error");
    return json_is(error, JSON_STRING) ? error->s : json_get_string(error, "message");
}

/* A result without text is written as JSON, unless its blocks are described. */
static void emit_result(struct exporter *x, const struct json *v, struct export_item item)
{
    struct event_text text = {0};
    const struct json *content = json_get(json_get(v, "result"), "content");
    bool has_blocks = json_is(content, JSON_ARRAY) && content->len > 0;
    item.content = content;
    if (has_blocks)
        (void)text_of_event(&x->scratch, EV_TOOL_DONE, v, &text);
    item.text = has_blocks ? text.text : export_result_text(&x->scratch, v);
    emit_item(x, item);
}

/* Files that a tool has made are part of the answer, also where tool calls are left out. */
static void emit_made_files(struct exporter *x, const struct json *v, str ts)
{
    const struct json *files = file_parts_of(EV_TOOL_DONE, v);
    for (size_t i = 0; files && i < files->len; i++)
        emit_part(x, &files->items[i], (struct export_item){.type = ITEM_ASSISTANT, .ts = ts});
}

static void emit_items(struct exporter *x, enum event_type type, const struct json *v)
{
    struct export_item item = {.ts = event_iso(&x->scratch, v)};
    if (type == EV_USER_MESSAGE) {
        item.type = ITEM_USER;
        item.who = json_get_string(v, "userId");
        emit_content(x, json_get(v, "content"), item);
    } else if (type == EV_LLM_RESPONSE) {
        item.type = ITEM_ASSISTANT;
        item.who = json_get_string(v, "model");
        emit_content(x, json_get(v, "content"), item);
    } else if (type == EV_TOOL_DONE) {
        item.type = ITEM_RESULT;
        item.who = json_get_string(v, "name");
        item.ok = json_get_bool(v, "ok", true);
        item.ms = json_get_int(v, "ms", 0);
        emit_result(x, v, item);
        emit_made_files(x, v, item.ts);
    } else if (type == EV_RUN_ERROR) {
        item.type = ITEM_ERROR;
        item.text = error_text(v);
        emit_item(x, item);
    } else if (type == EV_NOTE) {
        item.type = ITEM_NOTE;
        item.who = json_get_string(v, "author");
        item.text = text_of_content(&x->scratch, json_get(v, "content"));
        emit_item(x, item);
    } else if (type == EV_LEGACY_MESSAGE) {
        emit_old_message(x, v, item.ts);
    }
}

/* ---- the log itself ---- */

/* Line 1 with the current properties of the conversation; the events that changed them follow. */
static void put_header_line(struct exporter *x)
{
    const struct conv *c = x->conv;
    struct json_writer w;
    jw_init(&w, &x->out);
    jw_object(&w);
    jw_kstr(&w, "id", c->id);
    jw_kstr(&w, "createdAt", c->created_at);
    jw_kstr(&w, "format", STR("events"));
    jw_kstr_if(&w, "workspaceId", c->workspace_id);
    if (c->acl.owner_id.n) {
        jw_kstr(&w, "ownerId", c->acl.owner_id);
        jw_kstr(&w, "visibility", c->acl.is_shared ? STR("shared") : STR("private"));
        jw_kstrs(&w, "participants", c->acl.participants.items, c->acl.participants.len);
        if (c->acl.readers.len > 0)
            jw_kstrs(&w, "readers", c->acl.readers.items, c->acl.readers.len);
    }
    jw_kstr_if(&w, "title", c->title);
    jw_kstr_if(&w, "channel", c->channel);
    jw_kstr_if(&w, "model", c->model);
    jw_kstr_if(&w, "forkedFrom", c->forked_from);
    if (c->parent)
        jw_kval(&w, "parent", c->parent);
    if (c->metadata)
        jw_kval(&w, "metadata", c->metadata);
    if (c->branch)
        jw_kval(&w, "branch", c->branch);
    if (c->is_hidden && !c->parent && !c->branch)
        jw_kbool(&w, "hidden", true);
    jw_end(&w);
    buf_add_char(&x->out, '\n');
}

/* ---- the exporter ---- */

struct exporter *exporter_new(enum export_format f, const struct conv *conv,
                              const struct export_options *opt, export_write_fn fn, void *ctx)
{
    struct exporter *x = xcalloc(1, sizeof(*x));
    assert((size_t)f < ARRAY_LEN(FORMATS) && conv && fn);
    x->style = FORMATS[f].style;
    x->conv = conv;
    x->opt = opt ? *opt : (struct export_options){0};
    if (!x->opt.max_tool_bytes)
        x->opt.max_tool_bytes = TOOL_BYTES;
    x->fn = fn;
    x->ctx = ctx;
    buf_init(&x->out, OUT_MAX);
    arena_init(&x->scratch);
    arena_init(&x->held.arena);
    buf_init(&x->held.notes, EXPORT_HELD_BYTES);
    return x;
}

static void exporter_begin(struct exporter *x)
{
    if (x->has_begun)
        return;
    x->has_begun = true;
    if (x->style)
        x->style->begin(x);
    else
        put_header_line(x);
}

int exporter_event(struct exporter *x, str line)
{
    struct event_head head;
    struct json *v;
    assert(!x->has_ended);
    exporter_begin(x);
    arena_reset(&x->scratch);
    if (!event_scan(line, &head) || json_parse(&x->scratch, line, 0, &v, NULL) < 0)
        return x->status;
    tell_files(x, head.type, v);
    if (!x->style) {
        str body, hash; /* the hash chain belongs to the log, not to its copy */
        (void)chain_split(line, &body, &hash, &x->scratch);
        export_put(x, body);
        export_lit(x, "\n");
    } else if (x->style->event) {
        x->style->event(x, head.type, v, line);
    } else {
        emit_items(x, head.type, v);
    }
    return x->status;
}

int exporter_end(struct exporter *x)
{
    assert(!x->has_ended);
    x->has_ended = true;
    exporter_begin(x);
    arena_reset(&x->scratch);
    if (x->style && x->style->end)
        x->style->end(x);
    export_flush(x);
    return x->status;
}

void exporter_free(struct exporter *x)
{
    if (!x)
        return;
    buf_done(&x->out);
    buf_done(&x->held.notes);
    arena_done(&x->scratch);
    arena_done(&x->held.arena);
    free(x);
}
