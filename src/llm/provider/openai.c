/* Request bodies of chat completions.
 *
 * Results of tools are text here; pictures follow in a user message. Reasoning is sent back if the
 * server requires it. Fields that only some servers know are sent only to those. */
#include "llm/provider/normalise.h"
#include "llm/provider/provider.h"
#include "llm/provider/schema_clean.h"

#define ID_LEN_MAX 40
#define TOOLS_MAX  128

struct openai_body {
    struct json_writer w;
    struct arena *a;
    const struct provider *p;
};

static void openai_write_tools(struct openai_body *c, const struct llm_request *req)
{
    unsigned flags = c->p->quirks & QUIRK_PLAIN_SCHEMA ? SCHEMA_PLAIN : 0;
    struct json_writer *w = &c->w;
    size_t n;
    const struct llm_tool *tools = provider_begin_tools(w, c->a, req, TOOLS_MAX, flags, &n);
    if (!tools)
        return;
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "type", STR("function"));
        jw_kobject(w, "function");
        jw_kstr(w, "name", tools[i].name);
        if (tools[i].description.n > 0)
            jw_kstr(w, "description", tools[i].description);
        jw_kval(w, "parameters", tools[i].schema);
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
}

static void write_simple(struct openai_body *c, str role, str content)
{
    jw_object(&c->w);
    jw_kstr(&c->w, "role", role);
    jw_kstr(&c->w, "content", content);
    jw_end(&c->w);
}

static void write_result(struct openai_body *c, const struct llm_block *b)
{
    str text = provider_join_texts(c->a, b->parts, b->nparts);
    if (text.n == 0)
        text = STR("(no output)");
    if (b->is_error)
        text = arena_concat(c->a, STR("Error: "), text);
    jw_object(&c->w);
    jw_kstr(&c->w, "role", STR("tool"));
    jw_kstr(&c->w, "tool_call_id", b->id);
    jw_kstr(&c->w, "content", text);
    jw_end(&c->w);
}

static void write_part(struct openai_body *c, const struct llm_block *b)
{
    struct json_writer *w = &c->w;
    jw_object(w);
    if (b->type == LLM_TEXT) {
        jw_kstr(w, "type", STR("text"));
        jw_kstr(w, "text", b->text);
    } else {
        bool is_image = b->type == LLM_IMAGE;
        jw_kstr(w, "type", is_image ? STR("image_url") : STR("file"));
        jw_kobject(w, is_image ? "image_url" : "file");
        if (!is_image)
            jw_kstr(w, "filename", b->name);
        jw_kstr(w, is_image ? "url" : "file_data",
                arena_printf(c->a, "data:%.*s;base64,%.*s", STR_ARG(b->mime), STR_ARG(b->data)));
        jw_end(w);
    }
    jw_end(w);
}

static void write_user(struct openai_body *c, const struct llm_message *m)
{
    size_t at = 0;
    bool is_text = true;
    for (; at < m->n && m->blocks[at].type == LLM_TOOL_RESULT; at++)
        write_result(c, &m->blocks[at]);
    for (size_t i = at; i < m->n; i++)
        is_text &= m->blocks[i].type == LLM_TEXT;
    if (at == m->n)
        return;
    if (at > 0 && c->p->quirks & QUIRK_NO_USER_AFTER_TOOL)
        write_simple(c, STR("assistant"), STR("I have the results."));
    if (is_text) { /* a plain string is understood everywhere */
        write_simple(c, STR("user"), provider_join_texts(c->a, m->blocks + at, m->n - at));
        return;
    }
    jw_object(&c->w);
    jw_kstr(&c->w, "role", STR("user"));
    jw_karray(&c->w, "content");
    for (size_t i = at; i < m->n; i++)
        write_part(c, &m->blocks[i]);
    jw_end(&c->w);
    jw_end(&c->w);
}

/* Gemini signs each call; the signature is the opaque block behind it. History of another model
 * has none, and a documented placeholder is sent instead. */
static void write_extra(struct openai_body *c, const struct llm_message *m, size_t at)
{
    const struct json *extra = NULL;
    if (at + 1 < m->n && m->blocks[at + 1].type == LLM_OPAQUE)
        extra = json_get(m->blocks[at + 1].json, "extra_content");
    if (extra) {
        jw_kval(&c->w, "extra_content", extra);
    } else if (c->p->quirks & QUIRK_THOUGHT_SIGNATURE) {
        jw_key(&c->w, "extra_content");
        jw_raw(&c->w,
               STR("{\"google\":{\"thought_signature\":\"skip_thought_signature_validator\"}}"));
    }
}

static void write_calls(struct openai_body *c, const struct llm_message *m)
{
    struct json_writer *w = &c->w;
    jw_karray(w, "tool_calls");
    for (size_t i = 0; i < m->n; i++) {
        const struct llm_block *b = &m->blocks[i];
        if (b->type != LLM_TOOL_USE)
            continue;
        jw_object(w);
        jw_kstr(w, "id", b->id);
        jw_kstr(w, "type", STR("function"));
        jw_kobject(w, "function");
        jw_kstr(w, "name", b->name);
        jw_kstr(w, "arguments", json_to_str(c->a, b->json));
        jw_end(w);
        write_extra(c, m, i);
        jw_end(w);
    }
    jw_end(w);
}

/* The reasoning that the server sent, under the names that it expects back. */
static void write_reasoning(struct openai_body *c, const struct llm_message *m)
{
    static const char *const MEMBERS[] = {"reasoning_content", "reasoning_details"};
    for (size_t k = 0; k < ARRAY_LEN(MEMBERS); k++) {
        const struct json *v = NULL;
        for (size_t i = 0; i < m->n && !v; i++)
            if (m->blocks[i].type == LLM_OPAQUE)
                v = json_get(m->blocks[i].json, MEMBERS[k]);
        if (v)
            jw_kval(&c->w, MEMBERS[k], v);
        else if (k == 0 && c->p->quirks & QUIRK_ECHO_REASONING)
            jw_kstr(&c->w, MEMBERS[k], STR_NONE); /* the turn came from another model */
    }
}

static void write_assistant(struct openai_body *c, const struct llm_message *m)
{
    bool has_calls = false;
    for (size_t i = 0; i < m->n; i++)
        has_calls |= m->blocks[i].type == LLM_TOOL_USE;
    str text = provider_join_texts(c->a, m->blocks, m->n);
    if (text.n == 0 && !has_calls)
        return; /* reasoning alone */
    jw_object(&c->w);
    jw_kstr(&c->w, "role", STR("assistant"));
    jw_key(&c->w, "content");
    if (text.n > 0)
        jw_str(&c->w, text);
    else
        jw_null(&c->w);
    if (has_calls) {
        write_reasoning(c, m);
        write_calls(c, m);
    }
    jw_end(&c->w);
}

static void write_messages(struct openai_body *c, const struct llm_request *req,
                           const struct wire_history *h)
{
    str system = provider_system(c->a, req);
    jw_karray(&c->w, "messages");
    if (system.n > 0)
        write_simple(c, STR("system"), normalise_text(c->a, system));
    for (size_t i = 0; i < h->n; i++) {
        if (h->messages[i].role == LLM_USER)
            write_user(c, &h->messages[i]);
        else
            write_assistant(c, &h->messages[i]);
    }
    jw_end(&c->w);
}

static void write_limits(struct openai_body *c, const struct model_caps *caps,
                         const struct llm_request *req)
{
    int64_t want = provider_max_tokens(caps, req);
    bool is_new_name = caps->is_reasoning && c->p->quirks & QUIRK_MAX_COMPLETION;
    jw_kint(&c->w, is_new_name ? "max_completion_tokens" : "max_tokens", want);
    if (caps->is_reasoning && req->effort)
        jw_kstr(&c->w, "reasoning_effort",
                strcmp(req->effort, "max") == 0 ? STR("high") : str_from(req->effort));
}

static void write_stream(struct openai_body *c, const struct llm_request *req)
{
    jw_kbool(&c->w, "stream", true);
    if (!(c->p->quirks & QUIRK_STRICT_FIELDS)) { /* those report usage without being asked */
        jw_kobject(&c->w, "stream_options");
        jw_kbool(&c->w, "include_usage", true);
        jw_end(&c->w);
    }
    if (c->p->quirks & QUIRK_CACHE_KEY && req->session_key.n > 0)
        jw_kstr(&c->w, "prompt_cache_key", req->session_key);
}

int openai_build(const struct provider *p, const struct model_caps *caps,
                 const struct llm_request *req, struct buf *ret_body, struct err *e)
{
    struct wire_rules rules = {.provider = p->name,
                               .model = req->model,
                               .id_max = ID_LEN_MAX,
                               .ids_of_nine = p->quirks & QUIRK_IDS_OF_NINE,
                               .can_images = caps->can_images,
                               .images_in_results = false,
                               .can_documents = caps->can_pdf};
    struct wire_history history;
    struct arena a;
    arena_init(&a);
    int rc = normalise(&a, &rules, req->messages, req->nmessages, &history, e);
    if (rc == 0) {
        struct openai_body c = {.a = &a, .p = p};
        jw_init(&c.w, ret_body);
        jw_object(&c.w);
        jw_kstr(&c.w, "model", normalise_text(&a, req->model));
        write_limits(&c, caps, req);
        write_stream(&c, req);
        if (caps->can_tools)
            openai_write_tools(&c, req);
        write_messages(&c, req, &history);
        jw_end(&c.w);
    }
    arena_done(&a);
    return rc == 0 ? provider_finish(ret_body, e) : rc;
}

static str chat_url(const struct provider *p, str model, struct arena *a)
{
    (void)model;
    return provider_openai_url(p, a, STR("/chat/completions"));
}

const struct provider_type PROVIDER_OPENAI = {
    .name = "openai",
    .build = openai_build,
    .url = chat_url,
    .auth = provider_bearer,
    .event = openai_event,
    .eof = openai_eof,
    .picture_side = 2000, /* the largest that every provider takes with many pictures */
};
