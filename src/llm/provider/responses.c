/* Request bodies of OpenAI's Responses API.
 *
 * Nothing is stored there: the whole history goes out with every request, and what the model
 * reasoned comes back encrypted and is returned as it came. Calls and messages go without the ids
 * of their items, because an id makes the service look for the items around it. */
#include "llm/provider/normalise.h"
#include "llm/provider/provider.h"

#define ID_LEN_MAX 64
#define TOOLS_MAX  128
#define OUTPUT_MIN 16 /* fewer tokens are refused */

struct responses_body {
    struct json_writer w;
    struct arena *a;
    const struct provider *p;
};

static void responses_write_tools(struct responses_body *c, const struct llm_request *req)
{
    struct json_writer *w = &c->w;
    size_t n;
    const struct llm_tool *tools = provider_begin_tools(w, c->a, req, TOOLS_MAX, 0, &n);
    if (!tools)
        return;
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "type", STR("function"));
        jw_kstr(w, "name", tools[i].name);
        jw_kstr_if(w, "description", tools[i].description);
        jw_kval(w, "parameters", tools[i].schema);
        jw_kbool(w, "strict", false); /* true by default, and refuses most schemas */
        jw_end(w);
    }
    jw_end(w);
}

/* ---- items ---- */

static void begin_item(struct responses_body *c, const char *type)
{
    jw_object(&c->w);
    jw_kcstr(&c->w, "type", type);
}

static str data_url(struct arena *a, const struct llm_block *b)
{
    return arena_printf(a, "data:%.*s;base64,%.*s", STR_ARG(b->mime), STR_ARG(b->data));
}

static void write_input(struct responses_body *c, const struct llm_block *b)
{
    if (b->type == LLM_TEXT) {
        begin_item(c, "input_text");
        jw_kstr(&c->w, "text", b->text);
    } else if (b->type == LLM_IMAGE) {
        begin_item(c, "input_image");
        jw_kstr(&c->w, "image_url", data_url(c->a, b));
    } else {
        begin_item(c, "input_file");
        jw_kstr(&c->w, "filename", b->name.n > 0 ? b->name : STR("document.pdf"));
        jw_kstr(&c->w, "file_data", data_url(c->a, b));
    }
    jw_end(&c->w);
}

/* A plain string where that is enough: every server understands it. */
static void write_output(struct responses_body *c, const struct llm_block *b)
{
    bool is_plain = true;
    for (size_t i = 0; i < b->nparts; i++)
        is_plain &= b->parts[i].type == LLM_TEXT;
    str text = provider_join_texts(c->a, b->parts, b->nparts);
    if (b->nparts == 0)
        text = STR("(no output)");
    begin_item(c, "function_call_output");
    jw_kstr(&c->w, "call_id", b->id);
    if (is_plain) {
        jw_kstr(&c->w, "output", b->is_error ? arena_concat(c->a, STR("Error: "), text) : text);
    } else {
        jw_karray(&c->w, "output"); /* a failed call has no pictures */
        for (size_t i = 0; i < b->nparts; i++)
            write_input(c, &b->parts[i]);
        jw_end(&c->w);
    }
    jw_end(&c->w);
}

static void write_user_items(struct responses_body *c, const struct llm_message *m)
{
    size_t at = 0;
    for (; at < m->n && m->blocks[at].type == LLM_TOOL_RESULT; at++)
        write_output(c, &m->blocks[at]);
    if (at == m->n)
        return;
    begin_item(c, "message");
    jw_kstr(&c->w, "role", STR("user"));
    jw_karray(&c->w, "content");
    for (; at < m->n; at++)
        write_input(c, &m->blocks[at]);
    jw_end(&c->w);
    jw_end(&c->w);
}

static const struct json *opaque_member(const struct llm_message *m, size_t at, const char *key)
{
    bool is_opaque = at < m->n && m->blocks[at].type == LLM_OPAQUE;
    return is_opaque ? json_get(m->blocks[at].json, key) : NULL;
}

/* Newer models say whether a message is a remark or the answer, and want to read it again. */
static void write_said(struct responses_body *c, const struct llm_message *m, size_t at)
{
    const struct json *phase = opaque_member(m, at + 1, "phase");
    begin_item(c, "message");
    jw_kstr(&c->w, "role", STR("assistant"));
    jw_karray(&c->w, "content");
    begin_item(c, "output_text");
    jw_kstr(&c->w, "text", m->blocks[at].text);
    jw_end(&c->w);
    jw_end(&c->w);
    if (phase)
        jw_kval(&c->w, "phase", phase);
    jw_end(&c->w);
}

static void write_function_call(struct responses_body *c, const struct llm_block *b)
{
    begin_item(c, "function_call");
    jw_kstr(&c->w, "call_id", b->id);
    jw_kstr(&c->w, "name", b->name);
    jw_kstr(&c->w, "arguments", json_to_str(c->a, b->json));
    jw_end(&c->w);
}

/* The service refuses reasoning that nothing follows, and looks for one that is not encrypted. */
static bool is_returnable(const struct llm_message *m, size_t at)
{
    str type = json_string(opaque_member(m, at, "type"), STR_NONE);
    str sealed = json_string(opaque_member(m, at, "encrypted_content"), STR_NONE);
    if (!str_eq(type, STR("reasoning")) || sealed.n == 0)
        return false;
    for (size_t i = at + 1; i < m->n; i++)
        if (m->blocks[i].type != LLM_OPAQUE)
            return true;
    return false;
}

static void write_reasoning_item(struct responses_body *c, const struct json *item)
{
    static const char *const MEMBERS[] = {"id", "summary", "content", "encrypted_content"};
    begin_item(c, "reasoning");
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
        const struct json *v = json_get(item, MEMBERS[i]);
        if (v && v->type != JSON_NULL)
            jw_kval(&c->w, MEMBERS[i], v);
    }
    jw_end(&c->w);
}

static void write_model_items(struct responses_body *c, const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct llm_block *b = &m->blocks[i];
        if (b->type == LLM_TEXT)
            write_said(c, m, i);
        else if (b->type == LLM_TOOL_USE)
            write_function_call(c, b);
        else if (is_returnable(m, i))
            write_reasoning_item(c, b->json);
    }
}

static void write_items(struct responses_body *c, const struct wire_history *h)
{
    jw_karray(&c->w, "input");
    for (size_t i = 0; i < h->n; i++) {
        if (h->messages[i].role == LLM_USER)
            write_user_items(c, &h->messages[i]);
        else
            write_model_items(c, &h->messages[i]);
    }
    jw_end(&c->w);
}

/* ---- the rest ---- */

/* Summaries are only for verified organisations, so they must be asked for. */
static void write_reasoning_config(struct responses_body *c, const struct llm_request *req)
{
    bool is_shown = req->thinking && strcmp(req->thinking, "off") != 0;
    if (req->effort || is_shown) {
        jw_kobject(&c->w, "reasoning");
        if (req->effort)
            jw_kcstr(&c->w, "effort", strcmp(req->effort, "max") == 0 ? "high" : req->effort);
        if (is_shown)
            jw_kstr(&c->w, "summary", STR("auto"));
        jw_end(&c->w);
    }
    jw_karray(&c->w, "include");
    jw_str(&c->w, STR("reasoning.encrypted_content"));
    jw_end(&c->w);
}

static void write_head(struct responses_body *c, const struct model_caps *caps,
                       const struct llm_request *req)
{
    str system = provider_system(c->a, req);
    jw_kstr(&c->w, "model", normalise_text(c->a, req->model));
    jw_kbool(&c->w, "stream", true);
    jw_kbool(&c->w, "store", false);
    int64_t max_tokens = provider_max_tokens(caps, req);
    jw_kint(&c->w, "max_output_tokens", max_tokens > OUTPUT_MIN ? max_tokens : OUTPUT_MIN);
    if (caps->is_reasoning)
        write_reasoning_config(c, req);
    if (c->p->quirks & QUIRK_CACHE_KEY)
        jw_kstr_if(&c->w, "prompt_cache_key", req->session_key);
    if (caps->can_tools)
        responses_write_tools(c, req);
    jw_kstr_if(&c->w, "instructions", normalise_text(c->a, system));
}

int responses_build(const struct provider *p, const struct model_caps *caps,
                    const struct llm_request *req, struct buf *ret_body, struct err *e)
{
    struct wire_rules rules = {.provider = p->name,
                               .model = req->model,
                               .id_max = ID_LEN_MAX,
                               .can_images = caps->can_images,
                               .images_in_results = true,
                               .can_documents = caps->can_pdf};
    struct wire_history history;
    struct arena a;
    arena_init(&a);
    int rc = normalise(&a, &rules, req->messages, req->nmessages, &history, e);
    if (rc == 0) {
        struct responses_body c = {.a = &a, .p = p};
        jw_init(&c.w, ret_body);
        jw_object(&c.w);
        write_head(&c, caps, req);
        write_items(&c, &history);
        jw_end(&c.w);
    }
    arena_done(&a);
    return rc == 0 ? provider_finish(ret_body, e) : rc;
}

static str responses_url(const struct provider *p, str model, struct arena *a)
{
    (void)model;
    return provider_openai_url(p, a, STR("/responses"));
}

const struct provider_type PROVIDER_RESPONSES = {
    .name = "openai-responses",
    .build = responses_build,
    .url = responses_url,
    .auth = provider_bearer,
    .event = responses_event,
    .eof = responses_eof,
    .picture_side = 2000,
};
