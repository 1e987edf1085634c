/* compat_turn.c - a request as a turn: what was said before as events, the last message as the
 * message of the turn. */
#include <assert.h>

#include "api/api_impl.h"
#include "api/compat/compat.h"
#include "base/map.h"
#include "engine/events.h"
#include "tools/result.h"

#define AGENT_PREFIX STR("agent:")

struct history_lines {
    struct arena *arena;
    str user_id;
    const struct json *files; /* one part for each file of the request */
    struct map calls;         /* id -> struct compat_block, of the messages so far */
    str *lines;
    size_t n, cap;
    bool has_files;
};

static void add_line(struct history_lines *h, str line)
{
    ARENA_GROW(h->arena, h->lines, h->n, h->cap);
    h->lines[h->n++] = line;
}

/* ---- the user's side ---- */

static str message_text(struct arena *a, const struct compat_message *m)
{
    str *texts = arena_array(a, m->n, sizeof *texts);
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type == COMPAT_TEXT)
            texts[n++] = m->blocks[i].text;
    return compat_join(a, texts, n);
}

static const struct json *message_files(struct history_lines *h, const struct compat_message *m)
{
    struct json *parts = NULL;
    for (size_t i = 0; i < m->n; i++) {
        if (m->blocks[i].type != COMPAT_FILE)
            continue;
        assert(h->files && m->blocks[i].file < h->files->len);
        if (!parts)
            parts = json_new(h->arena, JSON_ARRAY);
        json_push(h->arena, parts, h->files->items[m->blocks[i].file]);
    }
    return parts;
}

/* Empty: the call is in the log of the conversation. */
static str call_name(const struct history_lines *h, str id)
{
    const struct compat_block *call = map_get(&h->calls, id);
    return call ? call->name : STR_NONE;
}

static void add_results(struct history_lines *h, const struct compat_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct compat_block *b = &m->blocks[i];
        if (b->type != COMPAT_RESULT)
            continue;
        struct json *part = json_new(h->arena, JSON_OBJECT);
        struct json *content = json_new(h->arena, JSON_ARRAY);
        json_set(h->arena, part, STR("type"), json_of_str(STR("text")));
        json_set(h->arena, part, STR("text"), json_of_str(b->text));
        json_push(h->arena, content, *part);
        struct tool_result res = {.content = content, .is_error = b->is_error};
        struct event_call call = {EVENT_QUOTED_RUN, b->id, call_name(h, b->id), STR_NONE};
        add_line(h, event_tool_done(h->arena, &call, &res, 0));
    }
}

static void add_user(struct history_lines *h, const struct compat_message *m)
{
    struct event_message ev = {
        .user_id = h->user_id, .text = message_text(h->arena, m), .files = message_files(h, m)};
    add_results(h, m);
    h->has_files |= ev.files != NULL;
    if (ev.text.n > 0 || ev.files)
        add_line(h, event_user_message(h->arena, &ev));
}

/* ---- the assistant's side ---- */

static struct llm_block block_of(struct arena *a, const struct compat_block *b)
{
    struct json *args;
    if (b->type == COMPAT_TEXT)
        return (struct llm_block){.type = LLM_TEXT, .text = b->text};
    struct llm_block call = {.type = LLM_TOOL_USE, .id = b->id, .name = b->name, .args = b->args};
    bool is_object = json_parse(a, b->args, 0, &args, NULL) == 0 && json_is(args, JSON_OBJECT);
    if (is_object)
        call.args = json_to_str(a, args); /* on one line, as the log has it */
    else if (b->args.n > 0)
        call.args_error = "not a JSON object";
    return call;
}

static void add_assistant(struct history_lines *h, const struct compat_message *m)
{
    struct llm_block *blocks = arena_array(h->arena, m->n, sizeof *blocks);
    for (size_t i = 0; i < m->n; i++) {
        blocks[i] = block_of(h->arena, &m->blocks[i]);
        if (m->blocks[i].type == COMPAT_CALL)
            map_put(&h->calls, m->blocks[i].id, &m->blocks[i]);
    }
    if (m->n > 0)
        add_line(h, event_quoted_response(h->arena, blocks, m->n));
}

/* ---- the whole ---- */

void compat_turn(const struct actor *who, const struct compat_request *q, const struct json *files,
                 struct turn_request *ret)
{
    struct history_lines h = {.arena = q->arena, .user_id = actor_user(who), .files = files};
    const struct compat_message *last = &q->messages[q->n - 1];
    assert(q->n > 0 && !last->is_assistant);
    for (size_t i = 0; i + 1 < q->n; i++)
        if (q->messages[i].is_assistant)
            add_assistant(&h, &q->messages[i]);
        else
            add_user(&h, &q->messages[i]);
    add_results(&h, last);
    map_done(&h.calls);
    struct turn_client *client = ARENA_NEW(q->arena, struct turn_client);
    *client = (struct turn_client){
        .instructions = q->instructions,
        .tools = q->tools,
        .ntools = q->ntools,
        .is_toolless = q->is_toolless,
        .lines = h.lines,
        .nlines = h.n,
        .has_line_files = h.has_files,
        .after_run_id = q->after_run_id,
        .max_output_tokens = q->max_tokens,
        .is_hidden = !q->is_listed,
    };
    *ret = (struct turn_request){
        .actor = who,
        .conversation_id = store_id_meant(q->conversation_id),
        .message = message_text(q->arena, last),
        .files = message_files(&h, last),
        .model = q->model,
        .channel = STR("api"),
        .metadata = q->metadata,
        .is_unattended = true,
        .client = client,
    };
}

static bool use_agent(struct http_req *r, struct turn_request *turn, str name)
{
    const struct agent *agent = agents_find(runtime_agents(api_space(r)->runtime), name);
    if (!agent) {
        http_reply_error(r, 404, "model_not_found",
                         arena_printf(&r->arena,
                                      "There is no agent '%.*s'. GET /v1/models lists "
                                      "them as agent:<name>.",
                                      STR_ARG(name))
                             .p,
                         NULL);
        return false;
    }
    struct turn_client *client = (struct turn_client *)turn->client;
    client->system_prompt = agent->system_prompt;
    client->filter = agent->tools;
    client->max_iterations = agent->max_iterations;
    turn->model = agent->model;
    return true;
}

bool compat_choose_model(struct api *api, struct http_req *r, struct turn_request *turn)
{
    struct err e = {0};
    str provider, model;
    if (str_starts(turn->model, AGENT_PREFIX))
        return use_agent(r, turn, str_skip(turn->model, AGENT_PREFIX.n));
    if (str_eq(turn->model, STR("default")))
        turn->model = STR_NONE;
    if (turn->model.n == 0 || llm_resolve(api->deps.llm, turn->model, &provider, &model, &e) == 0)
        return true;
    http_reply_error(r, 404, "model_not_found", e.msg, NULL);
    return false;
}
