/* POST /v1/prompt {message, conversationId?, model?, allowedTools?, appContext?, workingDirectory?}
 * - shows what would be sent to the model. */
#include "api/apps/skills.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "runtime/turn/focus.h"
#include "runtime/turn/preview.h"

struct prompt_body {
    str message, conversation_id, model;
    struct json_strs allowed_tools;
    struct dir_grant directory;
    const struct json *app_context;
};

const struct json_field API_PROMPT_FIELDS[] = {
    {"message", JF_STR, offsetof(struct prompt_body, message), JF_REQUIRED, NULL, 0,
     "The message as it would be sent."},
    {"conversationId", JF_STR, offsetof(struct prompt_body, conversation_id), JF_NULLABLE, NULL, 0,
     "The conversation that it would continue; absent: a new one."},
    {"model", JF_STR, offsetof(struct prompt_body, model), JF_NULLABLE, NULL, 0,
     "The model; absent: the default."},
    {"allowedTools", JF_STRS, offsetof(struct prompt_body, allowed_tools), JF_NULLABLE, NULL, 0,
     "Patterns of the only tools that would be offered."},
    {"workingDirectory", JF_OBJECT, offsetof(struct prompt_body, directory), 0,
     API_DIRECTORY_FIELDS, 0,
     "A directory of a terminal on the server's machine; only through nb.sock."},
    {"appContext", JF_JSON_OBJECT, offsetof(struct prompt_body, app_context), JF_NULLABLE, NULL, 0,
     "The app in front of the person."},
    {0}};

struct prompt_wait {
    struct http_req *req;
    struct message *turn;
};

static void write_layers(struct json_writer *w, const struct prompt *p)
{
    jw_karray(w, "layers");
    for (size_t i = 0; i < p->n_layers; i++) {
        jw_object(w);
        jw_kint(w, "layer", p->layers[i].number);
        jw_kstr(w, "name", str_from(p->layers[i].name));
        jw_kstr(w, "author", p->layers[i].author);
        jw_kint(w, "tokens", (int64_t)p->layers[i].tokens);
        jw_kbool(w, "isVolatile", p->layers[i].is_volatile);
        jw_kstr(w, "text", p->layers[i].text);
        jw_end(w);
    }
    jw_end(w);
}

static void write_prompt_tools(struct json_writer *w, struct arena *a, const struct composed *c)
{
    jw_karray(w, "tools");
    for (size_t i = 0; i < c->input.ntools; i++) {
        jw_object(w);
        jw_kstr(w, "name", c->input.tools[i].name);
        jw_kint(w, "tokens", (int64_t)preview_tool_tokens(a, &c->input.tools[i]));
        jw_end(w);
    }
    jw_end(w);
    jw_kint(w, "hiddenTools", (int64_t)c->selection.hidden);
}

static void write_tokens(struct json_writer *w, const struct preview *p)
{
    jw_kobject(w, "tokens");
    jw_kint(w, "prompt", (int64_t)p->prompt_tokens);
    jw_kint(w, "tools", (int64_t)p->tool_tokens);
    jw_kint(w, "messages", (int64_t)p->message_tokens);
    jw_kint(w, "total", (int64_t)(p->prompt_tokens + p->tool_tokens + p->message_tokens));
    jw_end(w);
}

static void on_preview(void *ctx, const struct preview *p)
{
    struct prompt_wait *c = ctx;
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "model", p->model);
    jw_kstr_or_null(&j.w, "conversationId", p->conversation_id);
    jw_key(&j.w, "match");
    api_write_match(&j.w, &p->match);
    write_layers(&j.w, &p->parts->prompt);
    write_prompt_tools(&j.w, &c->req->arena, p->parts);
    jw_kint(&j.w, "messages", (int64_t)p->parts->input.nmessages);
    write_tokens(&j.w, p);
    jw_kbool(&j.w, "isCompactionDue", p->is_compaction_due);
    jw_kstr(&j.w, "request", p->request);
    api_json_send(&j, c->req);
}

static void on_prompt_refused(void *ctx, enum turn_refusal why, const struct err *err)
{
    struct prompt_wait *c = ctx;
    api_turn_refused(c->req, why, err);
}

static void on_prompt_gone(struct http_req *r)
{
    struct prompt_wait *c = r->user;
    turn_forget(c->turn);
}

void api_prompt_preview(void *ctx, struct http_req *r)
{
    static const struct turn_events EVENTS = {NULL, NULL, on_prompt_refused};
    struct prompt_body in = {0};
    if (!api_decode_body(r, API_PROMPT_FIELDS, &in) || !api_may_lend(r, &in.directory))
        return;
    struct turn_request req = {
        .actor = api_actor(r),
        .conversation_id = store_id_meant(in.conversation_id),
        .message = in.message,
        .model = in.model,
        .allowed_tools = in.allowed_tools,
        .grant = in.directory,
        .on_preview = on_preview,
    };
    struct prompt_wait *c = ARENA_NEW(&r->arena, struct prompt_wait);
    c->req = r;
    r->user = c;
    r->on_gone = on_prompt_gone;
    c->turn = turn_start(api_space(r)->runtime, &req, &EVENTS, c);
    turn_focus(c->turn, in.app_context);
}
