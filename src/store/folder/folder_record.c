#include "store/folder/folder_record.h"

#include "base/clock.h"
#include "base/json/json_scan.h"
#include "base/utf8.h"
#include "store/backend/backend.h"
#include "store/event/lines.h"
#include "store/event/text.h"

enum {
    HEADER_MAX = 1024 * 1024,
    RECORD_FRAME = 4096,  /* of a record, beside the event and the text */
    ESCAPED_BYTE_MAX = 6, /* what one byte of text may need as JSON */
    NAME_MAX_BYTES = 64,
    MESSAGE_ID_HEX = 16,
    ID_HASH_HEX = 8,
};

/* ---- names ---- */

static bool is_folder_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

str folder_id(struct arena *a, str thread_id)
{
    if (store_id_valid(thread_id))
        return arena_str(a, thread_id);
    char hex[SHA256_HEX_LEN + 1], kept[48];
    size_t n = 0;
    sha256_hex(thread_id, hex);
    for (size_t i = 0; i < thread_id.n && n < sizeof(kept); i++) {
        char c = thread_id.p[i];
        if (is_folder_name_char(c) || (c >= 'A' && c <= 'Z'))
            kept[n++] = c;
    }
    return arena_printf(a, "thread_%.*s-%.*s", (int)n, kept, ID_HASH_HEX, hex);
}

str folder_name(struct arena *a, int64_t created_ms, str thread_id)
{
    char iso[CLOCK_ISO_LEN + 1], thread[NAME_MAX_BYTES];
    size_t n = thread_id.n < sizeof(thread) ? thread_id.n : sizeof(thread);
    clock_iso(created_ms, iso);
    for (char *p = iso; *p; p++) {
        if (*p == ':' || *p == '.')
            *p = '-';
    }
    for (size_t i = 0; i < n; i++) {
        char c = thread_id.p[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
        thread[i] = is_folder_name_char(c) ? c : '-';
    }
    return arena_printf(a, "conversation-%s-%.*s", iso, (int)n, thread);
}

str folder_thread(str name)
{
    size_t stamp = sizeof("conversation-2026-03-26T01-32-20-418Z-") - 1;
    bool is_ours = str_starts(name, STR("conversation-")) && name.n > stamp;
    return is_ours ? str_skip(name, stamp) : name;
}

/* ---- line 1 ---- */

static void write_nonempty(struct json_writer *w, const char *key, str value)
{
    if (value.n)
        jw_kstr(w, key, value);
}

/* Members that nb needs and the layout does not define; other programs ignore them. */
static void own_members(struct json_writer *w, const struct store *s,
                        const struct conv_create *spec)
{
    write_nonempty(w, "workspaceId", str_from(s->conf.workspace_id));
    if (spec->owner_id.n) {
        jw_kstr(w, "ownerId", spec->owner_id);
        jw_kstr(w, "visibility", STR("private"));
        jw_karray(w, "participants");
        jw_str(w, spec->owner_id);
        jw_end(w);
    }
    write_nonempty(w, "model", spec->model);
    write_nonempty(w, "forkedFrom", spec->forked_from);
    if (spec->parent)
        jw_kval(w, "parent", spec->parent);
    if (spec->metadata)
        jw_kval(w, "metadata", spec->metadata);
    if (spec->branch)
        jw_kval(w, "branch", spec->branch);
    if (spec->is_hidden)
        jw_kbool(w, "hidden", true);
}

str folder_header(struct arena *a, const struct store *s, const struct folder_place *p,
                  enum folder_file file, const struct conv_create *spec, int64_t now_ms)
{
    struct buf b;
    struct json_writer w;
    int64_t created_ms = spec->created_ms ? spec->created_ms : now_ms;
    jw_start(&w, &b, HEADER_MAX);
    jw_object(&w);
    jw_kstr(&w, "type", STR("conversation-header"));
    jw_kint(&w, "schemaVersion", 1);
    jw_kstr(&w, "fileKind", file == FOLDER_CHAT ? STR("chat") : STR("notes"));
    jw_kstr(&w, "conversationId", p->conversation_id);
    jw_kstr(&w, "threadId", p->thread_id);
    jw_kstr(&w, "channel", p->channel);
    jw_kstr(&w, "title", STR(""));
    jw_kint(&w, "createdAt", created_ms);
    jw_kint(&w, "updatedAt", created_ms);
    if (file == FOLDER_CHAT)
        own_members(&w, s, spec);
    jw_end(&w);
    buf_add_char(&b, '\n');
    return buf_keep_whole(&b, a);
}

bool folder_header_read(struct arena *a, str line, struct folder_place *ret)
{
    struct json *v;
    if (json_parse(a, line, JSON_COPY, &v, NULL) < 0 ||
        !str_eq(json_get_string(v, "type"), STR("conversation-header")))
        return false;
    ret->thread_id = json_get_string(v, "threadId");
    ret->conversation_id = json_get_string(v, "conversationId");
    ret->channel = json_get_string(v, "channel");
    return ret->thread_id.n > 0;
}

/* ---- events to records ---- */

struct record_message {
    str role; /* empty: the event is not a message */
    str text, reasoning;
};

static str reasoning_of(const struct json *content)
{
    for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->len; i++) {
        const struct json *part = &content->items[i];
        if (str_eq(json_get_string(part, "type"), STR("reasoning")))
            return json_get_string(part, "text");
    }
    return STR_NONE;
}

static bool is_of_system(enum event_type type)
{
    return type == EV_RUN_ERROR || type == EV_VISIBILITY;
}

/* Changes of the conversation as text, for programs that show only messages. */
static struct record_message system_message(struct arena *a, enum event_type type,
                                            const struct json *v)
{
    const struct json *error = json_get(v, "error");
    bool is_shared = str_eq(json_get_string(v, "visibility"), STR("shared"));
    str why = json_is(error, JSON_STRING) ? error->s : json_get_string(error, "message");
    str text =
        is_shared ? STR("This conversation is shared.") : STR("This conversation is private.");
    if (type == EV_RUN_ERROR)
        text = arena_printf(a, "The run failed%s%.*s", why.n ? ": " : ".", STR_ARG(why));
    return (struct record_message){.role = STR("system"), .text = text};
}

static struct record_message message_of(struct arena *a, enum event_type type, str event)
{
    struct record_message m = {0};
    struct json *v;
    if ((type != EV_USER_MESSAGE && type != EV_LLM_RESPONSE && type != EV_LEGACY_MESSAGE &&
         !is_of_system(type)) ||
        json_parse(a, event, 0, &v, NULL) < 0)
        return m;
    if (is_of_system(type))
        return system_message(a, type, v);
    const struct json *content = json_get(v, "content");
    m.text = text_of_content(a, content);
    m.reasoning = reasoning_of(content);
    if (type == EV_LEGACY_MESSAGE)
        m.role = json_get_string(v, "role");
    else if (type == EV_USER_MESSAGE)
        m.role = STR("user");
    else if (m.text.n)
        m.role = STR("assistant");
    return m;
}

static int64_t raw_time(str raw)
{
    int64_t ms = 0;
    str plain = json_scan_plain(raw);
    if (plain.n ? clock_parse_iso(plain, &ms) < 0 : parse_i64(raw, &ms) < 0)
        return 0;
    return ms;
}

static void write_message_record(struct json_writer *w, const struct folder_place *p,
                                 const struct record_message *m, str event)
{
    char hex[SHA256_HEX_LEN + 1], id[MESSAGE_ID_HEX + 8];
    sha256_hex(event, hex);
    (void)snprintf(id, sizeof(id), "msg_%.*s", MESSAGE_ID_HEX, hex);
    jw_kstr(w, "conversationId", p->conversation_id);
    jw_kstr(w, "threadId", p->thread_id);
    jw_kstr(w, "messageId", str_from(id));
    jw_kstr(w, "role", m->role);
    jw_kstr(w, "channel", p->channel);
    /* The text is in the line twice; a very long text is truncated here, never in the event. */
    size_t room = (LINES_MAX_BYTES - RECORD_FRAME - event.n) / ESCAPED_BYTE_MAX;
    str text = utf8_truncate(m->text, room);
    jw_kstr(w, "content", text);
    if (m->reasoning.n)
        jw_kstr(w, "reasoning", utf8_truncate(m->reasoning, room - text.n));
}

str folder_record(struct arena *a, const struct folder_place *p, str event)
{
    struct event_head head;
    struct arena scratch;
    struct buf b;
    struct json_writer w;
    event.n--; /* its line feed */
    (void)event_scan(event, &head);
    arena_init(&scratch);
    struct record_message m = message_of(&scratch, head.type, event);
    jw_start(&w, &b, LINES_MAX_BYTES);
    jw_object(&w);
    jw_kstr(&w, "type", m.role.n ? STR("message") : STR("event"));
    if (m.role.n)
        write_message_record(&w, p, &m, event);
    jw_kint(&w, "createdAt", raw_time(head.ts));
    jw_kraw(&w, "event", event);
    jw_end(&w);
    buf_add_char(&b, '\n');
    str line = buf_keep(&b, a);
    arena_done(&scratch);
    return line;
}

/* ---- records to events ---- */

struct record {
    str type, event, role, ts, created_at, thread_id;
};

static bool scan_record(str line, struct record *ret)
{
    struct json_scan scan;
    str key, value;
    *ret = (struct record){0};
    json_scan_init(&scan, line);
    while (json_scan_next(&scan, &key, &value)) {
        if (str_eq(key, STR("type")))
            ret->type = json_scan_plain(value);
        else if (str_eq(key, STR("event")))
            ret->event = value;
        else if (str_eq(key, STR("role")))
            ret->role = value;
        else if (str_eq(key, STR("ts")))
            ret->ts = value;
        else if (str_eq(key, STR("createdAt")))
            ret->created_at = value;
        else if (str_eq(key, STR("threadId")))
            ret->thread_id = value;
    }
    return !scan.failed;
}

static void add_raw_member(struct buf *out, str key, str value)
{
    buf_add_lit(out, out->n > 1 ? ",\"" : "\"");
    buf_add_str(out, key);
    buf_add_lit(out, "\":");
    buf_add_str(out, value);
}

/* The same members behind one more, with or without the type. */
static str rewrite(struct arena *a, str line, str first_key, str first, bool keeps_type)
{
    struct json_scan scan;
    struct buf out;
    str key, value;
    buf_init(&out, line.n + RECORD_FRAME + first.n);
    buf_add_char(&out, '{');
    if (first.n)
        add_raw_member(&out, first_key, first);
    json_scan_init(&scan, line);
    while (json_scan_next(&scan, &key, &value)) {
        if (keeps_type || !str_eq(key, STR("type")))
            add_raw_member(&out, key, value);
    }
    buf_add_char(&out, '}');
    return buf_keep(&out, a);
}

static str ts_of(struct arena *a, const struct record *r)
{
    char iso[CLOCK_ISO_LEN + 1];
    if (r->ts.n || !r->created_at.n)
        return STR_NONE;
    if (r->created_at.p[0] == '"')
        return r->created_at;
    clock_iso(raw_time(r->created_at), iso);
    return arena_printf(a, "\"%s\"", iso);
}

str folder_event(struct arena *a, str line)
{
    struct record r;
    struct event_head head;
    if (!scan_record(line, &r))
        return line;
    bool is_message = str_eq(r.type, STR("message"));
    if ((is_message || str_eq(r.type, STR("event"))) && event_scan(r.event, &head))
        return r.event;
    if (str_eq(r.type, STR("conversation-header")))
        return rewrite(a, line, STR("id"), r.thread_id.n ? r.thread_id : STR("\"\""), false);
    str ts = ts_of(a, &r);
    if (is_message && r.role.n)
        return rewrite(a, line, STR("ts"), ts, false);
    return ts.n && r.type.n ? rewrite(a, line, STR("ts"), ts, true) : line;
}

/* ---- notes ---- */

str folder_note(struct arena *a, const struct json *event)
{
    struct buf b;
    struct json_writer w;
    int64_t created_ms = 0;
    (void)event_time(event, &created_ms);
    jw_start(&w, &b, LINES_MAX_BYTES);
    jw_object(&w);
    jw_kstr(&w, "type", STR("note"));
    jw_kint(&w, "createdAt", created_ms);
    jw_kstr(&w, "author", json_get_string(event, "author"));
    jw_kstr(&w, "content", text_of_content(a, json_get(event, "content")));
    jw_end(&w);
    buf_add_char(&b, '\n');
    return buf_keep(&b, a);
}

str folder_note_event(struct arena *a, str line)
{
    struct record r;
    if (!scan_record(line, &r) || !str_eq(r.type, STR("note")))
        return STR_NONE;
    return rewrite(a, line, STR("ts"), ts_of(a, &r), true);
}

void folder_note_key(struct arena *a, str event, char ret[SHA256_HEX_LEN + 1])
{
    struct json *v = NULL;
    ret[0] = 0;
    if (json_parse(a, event, 0, &v, NULL) == 0)
        sha256_hex(folder_note(a, v), ret);
}
