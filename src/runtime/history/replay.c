#include "runtime/history/replay.h"

#include <assert.h>

#include "base/json/json_scan.h"
#include "runtime/history/app_text.h"
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
    m->thinking_ms = json_get_int(event, "thinkingMs", 0);
}

static void user_message(struct replay *r, const struct json *event)
{
    struct replay_message *m = add_replay_message(r, REPLAY_USER);
    m->is_for_people = json_get_bool(event, "forPeople", false);
    if (!m->is_for_people) /* others decline an open question */
        r->ask = (struct replay_ask){0};
    m->ts = keep_text(r, replay_time(event));
    m->user_id = keep_string(r, event, "userId");
    m->queued_id = keep_string(r, event, "queuedId");
    m->app = keep_string(r, event, "app");
    if (json_is(json_get(event, "context"), JSON_ARRAY))
        m->context = json_clone(r->arena, json_get(event, "context"));
    m->content = keep_parts(r, json_get(event, "content"));
    m->compacted = r->compacted;
    r->compacted = NULL;
    if (r->is_for_model)
        past_user(&r->past, r->kept, event);
}

static void run_author(struct replay *r, const struct json *event)
{
    if (r->is_for_model)
        past_user(&r->past, r->kept, event);
}

/* The model reads what a tool makes of the answer. Logs before run.author have only this. */
static void input_answered(struct replay *r, const struct json *event)
{
    if (past_is_answer(event))
        run_author(r, event);
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
    r->last_run_id = m->run_id;
    if (r->is_for_model)
        past_answer(&r->past, r->kept, event);
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
    if (json_is(json_get(event, "views"), JSON_ARRAY))
        t->views = json_clone(r->arena, json_get(event, "views"));
    t->ok = json_get_bool(event, "ok", !json_get_bool(t->result, "isError", false));
    t->ms = json_get_int(event, "ms", 0);
    keep_interface(r, t, event);
}

/* A run that ends, or dies, before its first answer has no message of its own: what began behind
 * which message tells people of it. */
static void run_start(struct replay *r, const struct json *event)
{
    struct replay_message *m = last(r);
    if (!m)
        return;
    m->next_run_id = keep_string(r, event, "runId");
    m->next_skill = keep_string(r, event, "skill");
}

static void run_done(struct replay *r, const struct json *event)
{
    struct replay_message *m = last(r);
    if (!m || (m->role == REPLAY_USER && m->next_run_id.n == 0))
        return;
    m->stop_reason = keep_string(r, event, "stopReason");
    if (m->role == REPLAY_ASSISTANT)
        m->next_run_id = STR_NONE; /* of the answer's own run, or one that goes on with it */
}

static void run_error(struct replay *r, const struct json *event)
{
    struct replay_message *m = last(r);
    if (!m)
        return;
    m->error = keep_string(r, event, "error");
    m->error_type = keep_string(r, event, "errorType");
    if (m->role == REPLAY_ASSISTANT)
        m->next_run_id = STR_NONE;
}

static void ask_opened(struct replay *r, const struct json *event)
{
    r->ask = (struct replay_ask){keep_string(r, event, "askId"), keep_string(r, event, "runId"),
                                 json_clone(r->arena, json_get(event, "calls")),
                                 json_clone(r->arena, json_get(event, "setting"))};
}

/* The calls of the open question, by id: the message has the rest. */
static struct json asked_ids(struct replay *r)
{
    struct json ids = {.type = JSON_ARRAY};
    const struct json *calls = r->ask.calls;
    for (size_t i = 0; json_is(calls, JSON_ARRAY) && i < calls->len; i++) {
        const struct json *id = json_get(&calls->items[i], "id");
        if (json_is(id, JSON_STRING))
            json_push(r->arena, &ids, *id);
    }
    return ids;
}

/* Who allowed what, and when, is told to people with the message that makes the calls. */
static void keep_answer(struct replay *r, const struct json *event)
{
    static const char *const MEMBERS[] = {"askId",  "decision", "decisions",
                                          "always", "words",    "userId"};
    struct replay_message *m = last(r);
    if (r->is_for_model || !m || m->role != REPLAY_ASSISTANT)
        return;
    if (!m->asks)
        m->asks = json_new(r->arena, JSON_ARRAY);
    struct json *ask = json_new(r->arena, JSON_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
        if (json_get(event, MEMBERS[i]))
            json_set(r->arena, ask, str_from(MEMBERS[i]),
                     *json_clone(r->arena, json_get(event, MEMBERS[i])));
    json_set(r->arena, ask, STR("callIds"), asked_ids(r));
    json_set(r->arena, ask, STR("timestamp"), json_of_str(keep_text(r, replay_time(event))));
    json_push(r->arena, m->asks, *ask);
}

static void ask_answered(struct replay *r, const struct json *event)
{
    if (r->ask.ask_id.n == 0 || !str_eq(r->ask.ask_id, json_get_string(event, "askId")))
        return;
    keep_answer(r, event);
    r->ask = (struct replay_ask){0};
}

/* ---- a summary in place of messages ---- */

static void add_said(struct replay *r, const struct replay_message *m)
{
    GROW(r->said, r->nsaid, r->said_cap);
    str text = app_text_short(&r->line, m, REPLAY_SAID_ONE);
    size_t bytes = replay_text(&r->line, m).n;
    r->said[r->nsaid++] =
        (struct replay_said){arena_str(r->kept, text), bytes,
                             m->queued_id.n > 0 ? arena_str(r->kept, m->queued_id) : STR_NONE};
    r->said_bytes += bytes;
}

/* Results that come later have no message any more. */
static void drop_calls(struct replay *r, const struct replay_message *m)
{
    for (size_t i = 0; i < m->ntools; i++)
        if (map_get(&r->open_tools, m->tools[i].id) == &m->tools[i])
            map_del(&r->open_tools, m->tools[i].id);
}

/* The newest are kept when space is short: as few as have REPLAY_SAID_BYTES together. */
static void bound_said(struct replay *r)
{
    size_t first = 0;
    while (first < r->nsaid && r->said_bytes - r->said[first].bytes >= REPLAY_SAID_BYTES)
        r->said_bytes -= r->said[first++].bytes;
    r->nsaid -= first;
    if (first > 0)
        memmove(r->said, r->said + first, r->nsaid * sizeof *r->said);
}

static void leave_out(struct replay *r, size_t n)
{
    assert(n <= r->n);
    for (size_t i = 0; i < n; i++) {
        assert(r->bytes >= r->messages[i].bytes);
        r->bytes -= r->messages[i].bytes;
        drop_calls(r, &r->messages[i]);
        if (r->messages[i].role == REPLAY_USER)
            add_said(r, &r->messages[i]);
    }
    bound_said(r);
    r->n -= n;
    if (n > 0)
        memmove(r->messages, r->messages + n, r->n * sizeof *r->messages);
}

/* False: nothing would stand for the messages, or their number is not one. */
static bool read_summary(const struct json *event, str *ret_summary, uint64_t *ret_kept)
{
    int64_t kept = json_get_int(event, "keptMessages", 0);
    *ret_summary = json_get_string(event, "summary");
    *ret_kept = (uint64_t)kept;
    return kept >= 0 && ret_summary->n > 0;
}

static void history_compacted(struct replay *r, const struct json *event)
{
    str summary;
    uint64_t kept;
    if (!read_summary(event, &summary, &kept))
        return;
    if (!r->is_for_model) {
        r->compacted = json_clone(r->arena, event);
        return;
    }
    if (kept > r->n)
        return; /* more than there are: of a truncated log */
    leave_out(r, r->n - (size_t)kept);
    r->summary = arena_str(r->kept, summary);
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
    bool is_for_people; /* a model's messages do not depend on it */
} READERS[] = {
    {EV_USER_MESSAGE, user_message},
    {EV_LLM_RESPONSE, llm_response},
    {EV_TOOL_START, tool_start},
    {EV_TOOL_DONE, tool_done},
    {EV_ASK_OPENED, ask_opened},
    {EV_ASK_ANSWERED, ask_answered},
    {EV_RUN_AUTHOR, run_author},
    {EV_INPUT_ANSWERED, input_answered},
    {EV_HISTORY_COMPACTED, history_compacted},
    {EV_RUN_START, run_start, .is_for_people = true},
    {EV_RUN_DONE, run_done},
    {EV_RUN_ERROR, run_error},
    {EV_LEGACY_MESSAGE, legacy_message},
};

static void replay_init(struct replay *r, struct arena *a)
{
    *r = (struct replay){.arena = a};
    arena_init(&r->line);
    map_init(&r->open_tools);
}

void replay_init_model(struct replay *r, struct arena *a, const struct past *past)
{
    replay_init(r, a);
    r->is_for_model = true;
    r->kept = a;
    if (past)
        r->past = past_copy(a, past);
}

void replay_pause(struct replay *r)
{
    arena_done(&r->line);
}

void replay_done(struct replay *r)
{
    replay_pause(r);
    map_done(&r->open_tools);
    free(r->messages);
    free(r->said);
    r->messages = NULL;
    r->said = NULL;
}

static int reader_of(enum event_type type)
{
    for (size_t i = 0; i < ARRAY_LEN(READERS); i++)
        if (READERS[i].type == type)
            return (int)i;
    return -1;
}

bool replay_reads(enum event_type type)
{
    int reader = reader_of(type);
    return reader >= 0 && !READERS[reader].is_for_people;
}

/* Most lines of a log are of types that no message depends on. Returns the reader of this one, or
 * -1. */
static int reader_of_line(enum event_type type, str line)
{
    if (type == EV_TOOL_START && json_scan_field(line, STR("resourceUri")).n == 0)
        return -1;
    return reader_of(type);
}

/* The type is what the store takes it for, so that what it knows about a log (past.h) is about the
 * same messages. */
static int peek_reader(str line)
{
    struct event_head head;
    return event_peek(line, &head) ? reader_of_line(head.type, line) : -1;
}

/* What comes after a message is counted with it: results of its calls, above all. */
static void count_bytes(struct replay *r, size_t n)
{
    struct replay_message *m = last(r);
    if (!m)
        return;
    m->bytes += n;
    r->bytes += n;
}

static void add_event(struct replay *r, int reader, str line)
{
    struct json *event;
    if (json_parse(&r->line, line, 0, &event, NULL) == 0 && event->type == JSON_OBJECT) {
        READERS[reader].read(r, event);
        if (READERS[reader].type != EV_HISTORY_COMPACTED)
            count_bytes(r, line.n);
    }
}

/* Its message lives as long as the line; what is left of it does not. */
void replay_add_before(struct replay *r, str line)
{
    int reader = peek_reader(line);
    assert(r->is_for_model && r->n == 0 && r->summary.n == 0);
    if (reader < 0 || READERS[reader].is_for_people)
        return;
    bool is_question =
        READERS[reader].type == EV_ASK_OPENED || READERS[reader].type == EV_ASK_ANSWERED;
    r->arena = is_question ? r->kept : &r->line;
    add_event(r, reader, line);
    if (r->n > 0 && r->messages[0].role == REPLAY_ASSISTANT)
        r->last_run_id = arena_str(r->kept, r->last_run_id);
    leave_out(r, r->n);
    r->arena = r->kept;
    arena_reset(&r->line);
}

void replay_add(struct replay *r, str line, store_pos pos)
{
    size_t before = r->n;
    int reader = peek_reader(line);
    if (reader < 0 || (r->is_for_model && READERS[reader].is_for_people))
        return;
    add_event(r, reader, line);
    arena_reset(&r->line);
    for (size_t i = before; i < r->n; i++)
        r->messages[i].pos = pos;
}

static struct replay replay_all(struct replay *r, const str *lines, const store_pos *pos, size_t n)
{
    for (size_t i = 0; i < n; i++)
        replay_add(r, lines[i], pos ? pos[i] : 0);
    struct replay all = *r;
    all.messages = arena_copy(r->arena, r->messages, r->n, r->n + 1, sizeof *r->messages);
    all.said = arena_copy(r->arena, r->said, r->nsaid, r->nsaid + 1, sizeof *r->said);
    replay_done(r);
    map_init(&all.open_tools);
    return all;
}

struct replay replay_lines(struct arena *a, const str *lines, const store_pos *pos, size_t n)
{
    struct replay r;
    replay_init(&r, a);
    return replay_all(&r, lines, pos, n);
}

struct replay replay_lines_model(struct arena *a, const str *lines, size_t n)
{
    struct replay r;
    replay_init_model(&r, a, NULL);
    return replay_all(&r, lines, NULL, n);
}

/* ---- what a line would be ---- */

static size_t said_bytes(struct arena *scratch, const struct json *event)
{
    struct replay_message m = {.content = parts_of(scratch, json_get(event, "content"))};
    return replay_text(scratch, &m).n;
}

enum replay_kind replay_kind_of(struct arena *scratch, enum event_type type, str line,
                                size_t *ret_bytes, uint64_t *ret_kept)
{
    struct json *event;
    str summary;
    if (!replay_reads(type) || reader_of_line(type, line) < 0 ||
        json_parse(scratch, line, 0, &event, NULL) < 0 || event->type != JSON_OBJECT)
        return REPLAY_NOTHING;
    str role = type == EV_LEGACY_MESSAGE ? json_get_string(event, "role") : STR_NONE;
    if (type == EV_USER_MESSAGE || str_eq(role, STR("user"))) {
        *ret_bytes = said_bytes(scratch, event);
        return REPLAY_OF_USER;
    }
    if (type == EV_LLM_RESPONSE || str_eq(role, STR("assistant")))
        return REPLAY_OF_MODEL;
    if (type == EV_HISTORY_COMPACTED)
        return read_summary(event, &summary, ret_kept) ? REPLAY_SUMMARY : REPLAY_NOTHING;
    return type == EV_LEGACY_MESSAGE ? REPLAY_NOTHING : REPLAY_PART;
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
