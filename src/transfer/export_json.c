/* export_json.c - a conversation as JSON: {"conversation":{...},"messages":[...],"notes":[...]}.
 *
 * A message is {role, content (text), parts (as stored), timestamp, userId, metadata}; that of
 * an answer holds model, tokens and toolCalls [{id, name, input, output, ok, ms, files}]. */
#include "base/clock.h"
#include "base/utf8.h"
#include "store/event/text.h"
#include "transfer/export_impl.h"

enum { MESSAGE_MAX = 4 * EXPORT_HELD_BYTES };

static void put_sharing(struct json_writer *w, const struct conv *c)
{
    jw_kstr(w, "ownerId", c->acl.owner_id);
    jw_kstr(w, "visibility", c->acl.is_shared ? STR("shared") : STR("private"));
    jw_kstrs(w, "participants", c->acl.participants.items, c->acl.participants.len);
    if (c->acl.readers.len > 0)
        jw_kstrs(w, "readers", c->acl.readers.items, c->acl.readers.len);
}

static void json_begin(struct exporter *x)
{
    const struct conv *c = x->conv;
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, MESSAGE_MAX);
    jw_object(&w);
    jw_kstr(&w, "id", c->id);
    jw_kstr_if(&w, "workspaceId", c->workspace_id);
    jw_kstr(&w, "createdAt", c->created_at);
    jw_kstr(&w, "updatedAt", c->updated_at);
    jw_kcstr(&w, "title", c->title.n ? arena_cstr(&x->scratch, c->title) : NULL);
    if (c->acl.owner_id.n)
        put_sharing(&w, c);
    jw_kstr_if(&w, "channel", c->channel);
    jw_kstr_if(&w, "forkedFrom", c->forked_from);
    jw_kint(&w, "messageCount", c->message_count);
    jw_kstr_if(&w, "lastModel", c->last_model);
    jw_kint(&w, "totalInputTokens", c->usage.input_tokens);
    jw_kint(&w, "totalOutputTokens", c->usage.output_tokens);
    jw_key(&w, "totalCostUsd");
    if (c->is_cost_known)
        jw_double(&w, c->cost_usd);
    else
        jw_null(&w);
    if (c->metadata)
        jw_kval(&w, "metadata", c->metadata);
    jw_end(&w);
    export_lit(x, "{\"conversation\":");
    export_put(x, buf_str(&b));
    export_lit(x, ",\n\"messages\":[");
    buf_done(&b);
}

/* ---- messages ---- */

static void put_time(struct json_writer *w, const struct json *event)
{
    int64_t ms;
    char iso[CLOCK_ISO_LEN + 1];
    if (!event_time(event, &ms))
        return;
    clock_iso(ms, iso);
    jw_kstr(w, "timestamp", str_from(iso));
}

static const struct json *find_result(const struct exporter *x, str call_id)
{
    const struct json *results = x->held.results;
    for (size_t i = 0; results && i < results->len; i++) {
        if (str_eq(json_get_string(&results->items[i], "id"), call_id))
            return &results->items[i];
    }
    return NULL;
}

static void put_outcome(struct json_writer *w, struct arena *a, const struct json *done)
{
    jw_kbool(w, "ok", json_get_bool(done, "ok", true));
    jw_kint(w, "ms", json_get_int(done, "ms", 0));
    jw_kstr(w, "output", export_result_text(a, done));
    if (json_get(done, "files"))
        jw_kval(w, "files", json_get(done, "files"));
    if (json_get_bool(done, "isCut", false))
        jw_kbool(w, "isCut", true);
}

static void put_calls(struct json_writer *w, struct exporter *x, const struct json *content)
{
    jw_karray(w, "toolCalls");
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *part = &content->items[i];
        if (!str_eq(json_get_string(part, "type"), STR("tool-call")))
            continue;
        str id = json_get_string(part, "toolCallId");
        const struct json *done = find_result(x, id);
        jw_object(w);
        jw_kstr(w, "id", id);
        jw_kstr(w, "name", json_get_string(part, "toolName"));
        jw_kval(w, "input", json_get(part, "input"));
        if (done)
            put_outcome(w, &x->scratch, done);
        jw_end(w);
    }
    jw_end(w);
}

/* The members of the event of an answer, except its text. */
static void put_figures(struct json_writer *w, const struct json *event)
{
    static const char *const OTHERS[] = {"ts", "type", "content", "h"};
    for (uint32_t i = 0; i < event->len; i++) {
        const struct json_member *m = &event->members[i];
        if (STR_INDEX(m->key, OTHERS) < 0) {
            jw_key_str(w, m->key);
            jw_value(w, &m->value);
        }
    }
}

static void put_message(struct exporter *x, struct json_writer *w, enum event_type type,
                        const struct json *event)
{
    const struct json *content = json_get(event, "content");
    bool is_answer = type == EV_LLM_RESPONSE;
    jw_object(w);
    if (type == EV_LEGACY_MESSAGE)
        jw_kstr(w, "role", json_get_string(event, "role"));
    else
        jw_kstr(w, "role", is_answer ? STR("assistant") : STR("user"));
    jw_kstr(w, "content", text_of_content(&x->scratch, content));
    if (json_is(content, JSON_ARRAY))
        jw_kval(w, "parts", content);
    put_time(w, event);
    jw_kstr_if(w, "userId", json_get_string(event, "userId"));
    if (is_answer) {
        jw_kobject(w, "metadata");
        put_figures(w, event);
        if (!x->opt.without_tools)
            put_calls(w, x, content);
        jw_end(w);
    } else if (json_get(event, "metadata")) {
        jw_kval(w, "metadata", json_get(event, "metadata"));
    }
    if (type == EV_USER_MESSAGE && json_get(event, "files"))
        jw_kval(w, "files", json_get(event, "files"));
    jw_end(w);
}

static void put_item(struct exporter *x, bool *has_items, str json)
{
    export_put(x, *has_items ? STR(",\n") : STR("\n"));
    *has_items = true;
    export_put(x, json);
}

static void json_write_message(struct exporter *x, enum event_type type, const struct json *event)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, MESSAGE_MAX);
    put_message(x, &w, type, event);
    if (!buf_failed(&b))
        put_item(x, &x->held.has_messages, buf_str(&b));
    buf_done(&b);
}

static void release(struct exporter *x)
{
    if (!x->held.event)
        return;
    json_write_message(x, x->held.type, x->held.event);
    x->held.event = NULL;
    x->held.results = NULL;
    x->held.bytes = 0;
    arena_reset(&x->held.arena);
}

static void hold(struct exporter *x, enum event_type type, const struct json *event, size_t bytes)
{
    release(x);
    struct arena *a = &x->held.arena;
    x->held.event = json_clone(a, event);
    x->held.type = type;
    x->held.results = json_new(a, JSON_ARRAY);
    x->held.bytes = bytes;
}

/* Above EXPORT_HELD_BYTES only the beginning of a result is kept, and marked as truncated. */
static void hold_result(struct exporter *x, const struct json *event, size_t bytes)
{
    enum { KEPT = 64 * 1024 };
    struct arena *a = &x->held.arena;
    if (!x->held.event || x->opt.without_tools)
        return;
    struct json *kept = json_clone(a, event);
    if (x->held.bytes + bytes > EXPORT_HELD_BYTES) {
        str text = utf8_truncate(export_result_text(&x->scratch, event), KEPT);
        kept = json_new(a, JSON_OBJECT);
        json_set(a, kept, STR("id"), json_of_str(arena_str(a, json_get_string(event, "id"))));
        json_set(a, kept, STR("ok"), json_of_bool(json_get_bool(event, "ok", true)));
        json_set(a, kept, STR("output"), json_of_str(arena_str(a, text)));
        json_set(a, kept, STR("isCut"), json_of_bool(true));
        bytes = text.n;
    }
    x->held.bytes += bytes;
    json_push(a, x->held.results, *kept);
}

static void keep_note(struct exporter *x, const struct json *event)
{
    struct buf *b = &x->held.notes;
    struct json_writer w;
    buf_add_lit(b, x->held.has_notes ? ",\n" : "\n");
    x->held.has_notes = true;
    jw_init(&w, b);
    jw_object(&w);
    put_time(&w, event);
    jw_kstr(&w, "author", json_get_string(event, "author"));
    jw_kstr(&w, "content", text_of_content(&x->scratch, json_get(event, "content")));
    jw_end(&w);
}

static void event(struct exporter *x, enum event_type type, const struct json *event, str line)
{
    if (type == EV_LLM_RESPONSE) {
        hold(x, type, event, line.n);
    } else if (type == EV_TOOL_DONE) {
        hold_result(x, event, line.n);
    } else if (type == EV_USER_MESSAGE || type == EV_LEGACY_MESSAGE) {
        release(x);
        json_write_message(x, type, event);
    } else if (type == EV_RUN_DONE || type == EV_RUN_ERROR) {
        release(x);
    } else if (type == EV_NOTE && !buf_failed(&x->held.notes)) {
        keep_note(x, event);
    }
}

static void json_end(struct exporter *x)
{
    release(x);
    export_lit(x, "\n],\n\"notes\":[");
    if (!buf_failed(&x->held.notes))
        export_put(x, buf_str(&x->held.notes));
    export_lit(x, "\n]}\n");
}

const struct export_style export_style_json = {
    .begin = json_begin, .event = event, .end = json_end};
