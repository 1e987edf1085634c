/* Prompts that nb answers itself. A text that begins with another word behind a slash goes to the
 * model. */
#include "cli/acp/acp.h"

#define ANSWER_MAX (256u * 1024)

static void show_tools(struct acp_session *s, struct arena *a, struct buf *out)
{
    struct client_ask q = {.path = STR("/v1/tools")};
    struct json *list;
    struct err e = {0};
    if (client_ask(session_client(s->chat), &q, a, &list, &e) < 0) {
        buf_add_lit(out, e.msg);
        return;
    }
    const struct json *tools = json_get(list, "tools");
    for (size_t i = 0; json_is(tools, JSON_ARRAY) && i < tools->len; i++) {
        str about = json_get_string(json_at(tools, i), "description"), first;
        (void)str_split(&about, '\n', &first);
        buf_printf(out, "- `%.*s` %.*s\n", STR_ARG(json_get_string(json_at(tools, i), "name")),
                   STR_ARG(first));
    }
}

static void show_usage(struct acp_session *s, struct arena *a, struct buf *out)
{
    struct client_ask q = {0};
    struct json *conv;
    struct err e = {0};
    str id = session_conversation(s->chat);
    if (id.n == 0) {
        buf_add_lit(out, "The conversation begins with the first message.");
        return;
    }
    q.path = arena_printf(a, "/v1/conversations/%.*s", STR_ARG(id));
    if (client_ask(session_client(s->chat), &q, a, &conv, &e) < 0) {
        buf_add_lit(out, e.msg);
        return;
    }
    double cost = json_double(json_get(conv, "totalCostUsd"), -1);
    buf_printf(out, "%lld messages, %lld tokens in, %lld tokens out",
               (long long)json_get_int(conv, "messageCount", 0),
               (long long)json_get_int(conv, "totalInputTokens", 0),
               (long long)json_get_int(conv, "totalOutputTokens", 0));
    if (cost >= 0)
        buf_printf(out, ", $%.4f", cost);
}

static void show_id(struct acp_session *s, struct arena *a, struct buf *out)
{
    str id = session_conversation(s->chat), link = session_page_link(s->chat, a);
    if (id.n == 0)
        buf_add_lit(out, "The conversation gets its id with the first message.");
    else
        buf_printf(out, "`%.*s`%s%.*s", STR_ARG(id), link.n > 0 ? " " : "", STR_ARG(link));
}

static const struct {
    const char *name, *about;
    void (*show)(struct acp_session *s, struct arena *a, struct buf *out);
} COMMANDS[] = {
    {"tools", "List the tools that the agent can use", show_tools},
    {"usage", "Show tokens and costs of this conversation", show_usage},
    {"id", "Show the id of this conversation in nb, and its address on the page", show_id},
};

void acp_send_commands(struct acp_session *s)
{
    struct acp_out o;
    struct json_writer *w = acp_update_begin(&o, s, "available_commands_update");
    jw_karray(w, "availableCommands");
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        jw_object(w);
        jw_kcstr(w, "name", COMMANDS[i].name);
        jw_kcstr(w, "description", COMMANDS[i].about);
        jw_end(w);
    }
    acp_send(s->acp, &o);
}

bool acp_run_command(struct acp_session *s, str text)
{
    str word = str_trim(text);
    struct buf out;
    struct arena a;
    size_t i = 0;
    if (!str_starts(word, STR("/")))
        return false;
    while (i < ARRAY_LEN(COMMANDS) && !str_eq(str_skip(word, 1), str_from(COMMANDS[i].name)))
        i++;
    if (i == ARRAY_LEN(COMMANDS))
        return false;
    arena_init(&a);
    buf_init(&out, ANSWER_MAX);
    COMMANDS[i].show(s, &a, &out);
    acp_send_chunk(s, "agent_message_chunk", buf_str(&out), STR_NONE);
    buf_done(&out);
    arena_done(&a);
    return true;
}
