/* The log of a conversation as session/update. The API has it in pages, the newest first; the
 * editor wants the oldest first. The replay begins with the newest REPLAY_BYTES_MAX. */
#include "cli/acp/acp.h"

#define REPLAY_BYTES_MAX (64u * 1024 * 1024) /* of pages in memory */
#define REPLAY_PAGES_MAX 1000

static void replay_file(struct acp_session *s, const struct json *part, str message_id)
{
    struct acp_out o;
    str file = json_get_string(part, "file"), type = json_get_string(part, "mimeType");
    if (file.n == 0)
        return;
    struct json_writer *w = acp_update_begin(&o, s, "user_message_chunk");
    jw_kstr(w, "messageId", message_id);
    jw_kobject(w, "content");
    jw_kstr(w, "type", STR("resource_link"));
    jw_kstr(w, "name", json_get_string(part, "name"));
    jw_kstr(w, "uri", arena_printf(&o.arena, "nb:file/%.*s", STR_ARG(file)));
    jw_kstr_if(w, "mimeType", type);
    acp_send(s->acp, &o);
}

static void replay_parts(struct acp_session *s, const struct json *m, bool is_user, str message_id)
{
    const struct json *parts = json_get(m, "parts");
    for (size_t i = 0; json_is(parts, JSON_ARRAY) && i < parts->len; i++) {
        const struct json *part = json_at(parts, i);
        str type = json_get_string(part, "type"), text = json_get_string(part, "text");
        if (is_user && str_eq(type, STR("text")) && text.n > 0)
            acp_send_chunk(s, "user_message_chunk", text, message_id);
        else if (is_user)
            replay_file(s, part, message_id);
        else if (text.n > 0 && str_eq(type, STR("reasoning")))
            acp_send_chunk(s, "agent_thought_chunk", text, message_id);
        else if (text.n > 0 && str_eq(type, STR("text")))
            acp_send_chunk(s, "agent_message_chunk", text, message_id);
    }
}

static const char *status_of(const struct json *call)
{
    if (!json_get_bool(call, "isAnswered", false))
        return "pending";
    return json_get_bool(call, "ok", false) ? "completed" : "failed";
}

static void replay_call(struct acp_session *s, const struct json *call)
{
    struct acp_out o;
    struct acp_call c = {json_get_string(call, "id"), json_get_string(call, "name"),
                         json_get(call, "input")};
    struct json_writer *w = acp_update_begin(&o, s, "tool_call");
    acp_call_write(w, &o.arena, &c, s->cwd);
    jw_kcstr(w, "status", status_of(call));
    acp_call_write_content(w, &o.arena, &c, s->cwd, json_get_string(call, "output"));
    acp_send(s->acp, &o);
}

static void replay_message(struct acp_session *s, const struct json *m)
{
    struct arena a;
    arena_init(&a);
    bool is_user = str_eq(json_get_string(m, "role"), STR("user"));
    str id = arena_printf(&a, "m%lld", (long long)json_get_int(m, "position", 0));
    const struct json *calls = json_get(m, "toolCalls");
    const struct json *parts = json_get(m, "parts");
    if (json_is(parts, JSON_ARRAY))
        replay_parts(s, m, is_user, id);
    else if (json_get_string(m, "content").n > 0)
        acp_send_chunk(s, is_user ? "user_message_chunk" : "agent_message_chunk",
                       json_get_string(m, "content"), id);
    for (size_t i = 0; json_is(calls, JSON_ARRAY) && i < calls->len; i++)
        replay_call(s, json_at(calls, i));
    arena_done(&a);
}

static int fetch_history(struct acp_session *s, struct arena *a, int64_t before, struct json **ret,
                         struct err *e)
{
    struct client_ask q = {0};
    str id = session_conversation(s->chat);
    q.path = before > 0 ? arena_printf(a, "/v1/conversations/%.*s/history?before=%lld", STR_ARG(id),
                                       (long long)before)
                        : arena_printf(a, "/v1/conversations/%.*s/history", STR_ARG(id));
    return client_ask(session_client(s->chat), &q, a, ret, e);
}

int acp_replay(struct acp_session *s, struct err *e)
{
    struct json *pages[REPLAY_PAGES_MAX];
    struct arena a;
    size_t n = 0;
    int64_t before = 0;
    int r = 0;
    if (session_conversation(s->chat).n == 0)
        return 0;
    arena_init(&a);
    do {
        r = fetch_history(s, &a, before, &pages[n], e);
        before = r == 0 ? json_get_int(pages[n++], "before", 0) : 0;
    } while (before > 0 && n < REPLAY_PAGES_MAX && a.total < REPLAY_BYTES_MAX);
    if (r == 0 && before > 0)
        acp_send_chunk(s, "agent_message_chunk", STR("(Earlier messages are not shown.)\n"),
                       STR_NONE);
    for (size_t i = n; r == 0 && i > 0; i--) {
        const struct json *messages = json_get(pages[i - 1], "messages");
        for (size_t k = 0; json_is(messages, JSON_ARRAY) && k < messages->len; k++)
            replay_message(s, json_at(messages, k));
    }
    arena_done(&a);
    return r;
}
