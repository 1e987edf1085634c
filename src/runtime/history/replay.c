#include "runtime/history/replay.h"

#include "base/json/json_scan.h"
#include "store/event/event.h"

static struct replay_message *add_replay_message(struct replay *r, enum replay_role role)
{
    GROW(r->messages, r->n, r->cap);
    struct replay_message *m = &r->messages[r->n++];
    *m = (struct replay_message){.role = role};
    return m;
}

static struct replay_message *last(struct replay *r)
{
    return r->n > 0 ? &r->messages[r->n - 1] : NULL;
}

static str keep_text(struct replay *r, str s)
{
    return s.n > 0 ? arena_str(r->arena, s) : STR_NONE;
}

static str keep_string(struct replay *r, const struct json *event, const char *key)
{
    return keep_text(r, json_get_string(event, key));
}

/* Content as an array of parts; a plain string becomes one text part. */
static const struct json *parts_of(struct arena *a, const struct json *content)
{
    if (json_is(content, JSON_ARRAY))
        return content;
    struct json *parts = json_new(a, JSON_ARRAY);
    if (json_is(content, JSON_STRING) && content->s.n > 0) {
        struct json *part = json_new(a, JSON_OBJECT);
        json_set(a, part, STR("type"), json_of_str(STR("text")));
        json_set(a, part, STR("text"), *content);
        json_push(a, parts, *part);
    }
    return parts;
}

static const struct json *keep_parts(struct replay *r, const struct json *content)
{
    return json_clone(r->arena, parts_of(&r->line, content));
}

static str replay_time(const struct json *event)
{
    str ts = json_get_string(event, "ts");
    return ts.n > 0 ? ts : json_get_string(event, "timestamp");
}

static void read_usage(struct replay_message *m, const struct json *event)
{
    const struct json *u = json_get(event, "usage");
    if (!u)
        u = event;
    m->usage = (struct conv_usage){
        .input_tokens = json_get_int(u, "inputTokens", 0),
        .output_tokens = json_get_int(u, "outputTokens", 0),
        .cache_read_tokens = json_get_int(u, "cacheReadTokens", 0),
        .cache_write_5m_tokens = json_get_int(u, "cacheWrite5mTokens", 0),
        .cache_write_1h_tokens = json_get_int(u, "cacheWrite1hTokens", 0),
    };
    m->llm_ms = json_get_int(event, "llmMs", 0);
}

static struct json_strs keep_strings(struct replay *r, const struct json *list)
{
    if (!json_is(list, JSON_ARRAY))
        return (struct json_strs){0};
    struct json_strs all = {arena_array(r->arena, list->len + 1, sizeof(str)), list->len};
    for (size_t i = 0; i < list->len; i++)
        all.items[i] = keep_text(r, json_string(&list->items[i], STR_NONE));
    return all;
}

static void user_message(struct replay *r, const struct json *event)
{
    struct replay_message *m = add_replay_message(r, REPLAY_USER);
    r->ask = (struct replay_ask){0};
    m->ts = keep_text(r, replay_time(event));
    m->user_id = keep_string(r, event, "userId");
    m->queued_id = keep_string(r, event, "queuedId");
    m->tool_limit = keep_strings(r, json_get(event, "toolLimit"));
    m->app = keep_string(r, event, "app");
    if (json_is(json_get(event, "context"), JSON_ARRAY))
        m->context = json_clone(r->arena, json_get(event, "context"));
    m->content = keep_parts(r, json_get(event, "content"));
}

/* ---- assistant messages and their calls ---- */

static size_t count_calls(const struct json *parts)
{
    size_t n = 0;
    for (size_t i = 0; i < parts->len; i++)
        n += str_eq(json_get_string(&parts->items[i], "type"), STR("tool-call"));
    return n;
}

static void take_calls(struct replay *r, struct replay_message *m)
{
    m->tools = arena_array(r->arena, count_calls(m->content), sizeof *m->tools);
    for (size_t i = 0; i < m->content->len; i++) {
        const struct json *part = &m->content->items[i];
        if (!str_eq(json_get_string(part, "type"), STR("tool-call")))
            continue;
        struct replay_tool *t = &m->tools[m->ntools++];
        t->id = json_get_string(part, "toolCallId");
        t->name = json_get_string(part, "toolName");
        t->input = json_get(part, "input");
        map_put(&r->open_tools, t->id, t);
    }
}

static void llm_response(struct replay *r, const struct json *event)
{
    struct replay_message *m = add_replay_message(r, REPLAY_ASSISTANT);
    m->ts = keep_text(r, replay_time(event));
    m->run_id = keep_string(r, event, "runId");
    m->model = keep_string(r, event, "model");
    m->finish_reason = keep_string(r, event, "finishReason");
    m->content = keep_parts(r, json_get(event, "content"));
    read_usage(m, event);
    take_calls(r, m);
}

/* Older logs have only the text of a result. */
static const struct json *stored_result(struct arena *a, const struct json *event)
{
    const struct json *result = json_get(event, "result");
    if (json_is(result, JSON_OBJECT))
        return result;
    struct json *made = json_new(a, JSON_OBJECT);
    json_set(a, made, STR("content"), *parts_of(a, json_get(event, "output")));
    json_set(a, made, STR("isError"), json_of_bool(!json_get_bool(event, "ok", true)));
    return made;
}

static void keep_interface(struct replay *r, struct replay_tool *t, const struct json *event)
{
    str uri = json_get_string(event, "resourceUri");
    if (uri.n > 0 && t->ui_uri.n == 0)
        t->ui_uri = arena_str(r->arena, uri);
}

static void tool_start(struct replay *r, const struct json *event)
{
    struct replay_tool *t = map_get(&r->open_tools, json_get_string(event, "id"));
    if (t)
        keep_interface(r, t, event);
}

static void tool_done(struct replay *r, const struct json *event)
{
    struct replay_tool *t = map_del(&r->open_tools, json_get_string(event, "id"));
    if (!t)
        return; /* the result of an unknown call */
    t->result = json_clone(r->arena, stored_result(&r->line, event));
    t->ok = json_get_bool(event, "ok", !json_get_bool(t->result, "isError", false));
    t->ms = json_get_int(event, "ms", 0);
    keep_interface(r, t, event);
}

static void run_done(struct replay *r, const struct json *event)
{
    struct replay_message *m = last(r);
    if (m && m->role == REPLAY_ASSISTANT)
        m->stop_reason = keep_string(r, event, "stopReason");
}

static void run_error(struct replay *r, const struct json *event)
{
    struct replay_message *m = last(r);
    if (!m)
        return;
    m->error = keep_string(r, event, "error");
    m->error_type = keep_string(r, event, "errorType");
}

static void ask_opened(struct replay *r, const struct json *event)
{
    r->ask = (struct replay_ask){keep_string(r, event, "askId"), keep_string(r, event, "runId"),
                                 json_clone(r->arena, json_get(event, "calls")),
                                 json_clone(r->arena, json_get(event, "setting"))};
}

static void ask_answered(struct replay *r, const struct json *event)
{
    if (str_eq(r->ask.ask_id, json_get_string(event, "askId")))
        r->ask = (struct replay_ask){0};
}

static void history_compacted(struct replay *r, const struct json *event)
{
    int64_t kept = json_get_int(event, "keptMessages", 0);
    if (kept < 0 || (uint64_t)kept > r->n)
        return; /* of a truncated log: there are no messages to leave out */
    r->compacted = r->n - (size_t)kept;
    r->summary = keep_string(r, event, "summary");
}

/* ---- messages of the older format ---- */

static void legacy_calls(struct replay *r, struct replay_message *m, const struct json *calls)
{
    calls = json_clone(r->arena, calls);
    m->tools = arena_array(r->arena, calls->len, sizeof *m->tools);
    for (size_t i = 0; i < calls->len; i++) {
        const struct json *c = &calls->items[i];
        struct replay_tool *t = &m->tools[m->ntools++];
        t->id = json_get_string(c, "id");
        t->name = json_get_string(c, "name");
        t->input = json_get(c, "input");
        t->result = json_clone(r->arena, stored_result(&r->line, c));
        t->ok = json_get_bool(c, "ok", true);
        t->ms = json_get_int(c, "ms", 0);
    }
}

static void legacy_message(struct replay *r, const struct json *line)
{
    str role = json_get_string(line, "role");
    if (str_eq(role, STR("user"))) {
        user_message(r, line);
        return;
    }
    if (!str_eq(role, STR("assistant")))
        return;
    const struct json *meta = json_get(line, "metadata");
    const struct json *calls = json_get(line, "toolCalls");
    llm_response(r, line);
    struct replay_message *m = last(r);
    if (meta) {
        m->model = keep_string(r, meta, "model");
        read_usage(m, meta);
    }
    if (!calls)
        calls = json_get(meta, "toolCalls");
    if (json_is(calls, JSON_ARRAY) && m->ntools == 0)
        legacy_calls(r, m, calls);
}

static const struct {
    enum event_type type;
    void (*read)(struct replay *r, const struct json *event);
} READERS[] = {
    {EV_USER_MESSAGE, user_message},
    {EV_LLM_RESPONSE, llm_response},
    {EV_TOOL_START, tool_start},
    {EV_TOOL_DONE, tool_done},
    {EV_ASK_OPENED, ask_opened},
    {EV_ASK_ANSWERED, ask_answered},
    {EV_HISTORY_COMPACTED, history_compacted},
    {EV_RUN_DONE, run_done},
    {EV_RUN_ERROR, run_error},
    {EV_LEGACY_MESSAGE, legacy_message},
};

void replay_init(struct replay *r, struct arena *a)
{
    *r = (struct replay){.arena = a};
    arena_init(&r->line);
    map_init(&r->open_tools);
}

void replay_done(struct replay *r)
{
    map_done(&r->open_tools);
    free(r->messages);
    r->messages = NULL;
}

static int reader_of(enum event_type type)
{
    for (size_t i = 0; i < ARRAY_LEN(READERS); i++)
        if (READERS[i].type == type)
            return (int)i;
    return -1;
}

static enum event_type type_of(str name)
{
    return name.n > 0 ? event_type_of(name) : EV_LEGACY_MESSAGE;
}

bool replay_reads(str type)
{
    return reader_of(type_of(type)) >= 0;
}

/* Most lines of a log are of types that no message depends on. */
static bool is_of_no_interest(str line)
{
    str type = json_scan_plain(json_scan_field(line, STR("type")));
    if (str_eq(type, event_name(EV_TOOL_START)))
        return json_scan_field(line, STR("resourceUri")).n == 0;
    return type.n > 0 && !replay_reads(type);
}

void replay_add(struct replay *r, str line, store_pos pos)
{
    struct json *event;
    size_t before = r->n;
    if (is_of_no_interest(line))
        return;
    if (json_parse(&r->line, line, 0, &event, NULL) == 0 && event->type == JSON_OBJECT) {
        int reader = reader_of(type_of(json_get_string(event, "type")));
        if (reader >= 0)
            READERS[reader].read(r, event);
    }
    arena_done(&r->line);
    for (size_t i = before; i < r->n; i++)
        r->messages[i].pos = pos;
}

struct replay replay_lines(struct arena *a, const str *lines, const store_pos *pos, size_t n)
{
    struct replay r;
    replay_init(&r, a);
    for (size_t i = 0; i < n; i++)
        replay_add(&r, lines[i], pos ? pos[i] : 0);
    struct replay all = {.n = r.n, .ask = r.ask, .compacted = r.compacted, .summary = r.summary};
    all.messages = arena_array(a, r.n, sizeof *r.messages);
    if (r.n > 0)
        memcpy(all.messages, r.messages, r.n * sizeof *r.messages);
    replay_done(&r);
    return all;
}

const struct json *replay_ask_json(struct arena *a, const struct replay *r)
{
    if (r->ask.ask_id.n == 0)
        return NULL;
    struct json *ask = json_new(a, JSON_OBJECT);
    json_set(a, ask, STR("askId"), json_of_str(r->ask.ask_id));
    if (r->ask.calls)
        json_set(a, ask, STR("calls"), *r->ask.calls);
    return ask;
}

str replay_text(struct arena *a, const struct replay_message *m)
{
    str text = STR_NONE;
    for (size_t i = 0; i < m->content->len; i++) {
        const struct json *part = &m->content->items[i];
        if (!str_eq(json_get_string(part, "type"), STR("text")))
            continue;
        str more = json_get_string(part, "text");
        text = text.n == 0 ? more : arena_printf(a, "%.*s\n\n%.*s", STR_ARG(text), STR_ARG(more));
    }
    return text;
}
