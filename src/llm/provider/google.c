/* Request bodies of the Gemini API (streamGenerateContent).
 *
 * The results of a step are a message of their own with nothing else in it; pictures and words
 * follow in the next. A thought signature belongs to the part that it came with and is the opaque
 * block behind it: newer models refuse a step whose first call has none, and a documented
 * placeholder stands for the signatures of other models. */
#include "llm/provider/google_names.h"
#include "llm/provider/normalise.h"
#include "llm/provider/provider.h"
#include "net/url.h"

#define ID_LEN_MAX          64
#define TOOLS_MAX           512 /* declarations in one request */
#define THINKING_TOKENS_MIN 128
#define THINKING_TOKENS_MAX 24576 /* what every model with a budget takes */

static const str NO_SIGNATURE = STR_INIT("skip_thought_signature_validator");

struct google_body {
    struct json_writer w;
    struct arena *a;
    bool is_signed; /* the model refuses calls without a signature */
};

/* ---- tools ---- */

static bool has_properties(const struct json *schema)
{
    const struct json *properties = json_get(schema, "properties");
    return json_is(properties, JSON_OBJECT) && properties->len > 0;
}

static void google_write_tools(struct google_body *c, const struct llm_request *req)
{
    struct json_writer *w = &c->w;
    size_t n;
    const struct llm_tool *tools = provider_begin_tools(w, c->a, req, TOOLS_MAX, 0, &n);
    if (!tools)
        return;
    jw_object(w);
    jw_karray(w, "functionDeclarations");
    for (size_t i = 0; i < n; i++) {
        str words = tools[i].description.n > 0 ? tools[i].description : tools[i].name;
        jw_object(w);
        jw_kstr(w, "name", google_name(c->a, tools[i].name));
        jw_kstr(w, "description", words); /* required */
        if (has_properties(tools[i].schema))
            jw_kval(w, "parametersJsonSchema", tools[i].schema);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

/* ---- parts ---- */

static void write_words(struct google_body *c, str text, str signature)
{
    jw_object(&c->w);
    jw_kstr(&c->w, "text", text);
    jw_kstr_if(&c->w, "thoughtSignature", signature);
    jw_end(&c->w);
}

static void write_inline(struct google_body *c, const struct llm_block *b)
{
    jw_object(&c->w);
    jw_kobject(&c->w, "inlineData");
    jw_kstr(&c->w, "mimeType", b->mime);
    jw_kstr(&c->w, "data", b->data);
    jw_end(&c->w);
    jw_end(&c->w);
}

static void write_response(struct google_body *c, const struct llm_block *b)
{
    str text = provider_join_texts(c->a, b->parts, b->nparts);
    jw_object(&c->w);
    jw_kobject(&c->w, "functionResponse");
    jw_kstr(&c->w, "id", b->id);
    jw_kstr(&c->w, "name", google_name(c->a, b->name));
    jw_kobject(&c->w, "response");
    jw_kstr(&c->w, b->is_error ? "error" : "output", text.n > 0 ? text : STR("(no output)"));
    jw_end(&c->w);
    jw_end(&c->w);
    jw_end(&c->w);
}

static str signature_at(const struct llm_message *m, size_t at)
{
    bool is_opaque = at < m->n && m->blocks[at].type == LLM_OPAQUE;
    return is_opaque ? json_get_string(m->blocks[at].json, "thoughtSignature") : STR_NONE;
}

static void write_call(struct google_body *c, const struct llm_message *m, size_t at, bool is_first)
{
    const struct llm_block *b = &m->blocks[at];
    str signature = signature_at(m, at + 1);
    if (signature.n == 0 && is_first && c->is_signed)
        signature = NO_SIGNATURE;
    jw_object(&c->w);
    jw_kobject(&c->w, "functionCall");
    jw_kstr(&c->w, "id", b->id);
    jw_kstr(&c->w, "name", google_name(c->a, b->name));
    jw_kval(&c->w, "args", b->json);
    jw_end(&c->w);
    jw_kstr_if(&c->w, "thoughtSignature", signature);
    jw_end(&c->w);
}

/* ---- messages ---- */

static void begin_content(struct google_body *c, const char *role)
{
    jw_object(&c->w);
    jw_kcstr(&c->w, "role", role);
    jw_karray(&c->w, "parts");
}

static void end_content(struct google_body *c)
{
    jw_end(&c->w);
    jw_end(&c->w);
}

static void write_user_content(struct google_body *c, const struct llm_message *m)
{
    size_t at = 0;
    if (m->n > 0 && m->blocks[0].type == LLM_TOOL_RESULT) {
        begin_content(c, "user");
        for (; at < m->n && m->blocks[at].type == LLM_TOOL_RESULT; at++)
            write_response(c, &m->blocks[at]);
        end_content(c);
    }
    if (at == m->n)
        return;
    begin_content(c, "user");
    for (; at < m->n; at++) {
        if (m->blocks[at].type == LLM_TEXT)
            write_words(c, m->blocks[at].text, STR_NONE);
        else
            write_inline(c, &m->blocks[at]);
    }
    end_content(c);
}

/* A signature that belongs to no call is a part of its own: it came with words, which are joined
 * with those in front of them. */
static void write_model_content(struct google_body *c, const struct llm_message *m)
{
    bool is_first = true;
    begin_content(c, "model");
    for (size_t i = 0; i < m->n; i++) {
        const struct llm_block *b = &m->blocks[i];
        bool is_of_call = i > 0 && m->blocks[i - 1].type == LLM_TOOL_USE;
        if (b->type == LLM_TEXT) {
            write_words(c, b->text, STR_NONE);
        } else if (b->type == LLM_TOOL_USE) {
            write_call(c, m, i, is_first);
            is_first = false;
        } else if (!is_of_call && signature_at(m, i).n > 0) {
            write_words(c, STR_NONE, signature_at(m, i));
        }
    }
    end_content(c);
}

/* Blocks of another API of the same provider have nothing to say here. */
static bool is_sayable(const struct llm_message *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->blocks[i].type != LLM_OPAQUE || signature_at(m, i).n > 0)
            return true;
    return false;
}

static void write_contents(struct google_body *c, const struct wire_history *h)
{
    jw_karray(&c->w, "contents");
    for (size_t i = 0; i < h->n; i++) {
        if (h->messages[i].role == LLM_USER)
            write_user_content(c, &h->messages[i]);
        else if (is_sayable(&h->messages[i]))
            write_model_content(c, &h->messages[i]);
    }
    jw_end(&c->w);
}

static void write_instruction(struct google_body *c, const struct llm_request *req)
{
    str system = provider_system(c->a, req);
    if (system.n == 0)
        return;
    jw_kobject(&c->w, "systemInstruction");
    jw_karray(&c->w, "parts");
    write_words(c, normalise_text(c->a, system), STR_NONE);
    jw_end(&c->w);
    jw_end(&c->w);
}

/* ---- limits ---- */

static int64_t budget_of(const struct llm_request *req)
{
    int64_t budget = req->thinking_budget;
    if (budget <= 0 || strcmp(req->thinking, "enabled") != 0)
        return -1; /* as much as the model finds right */
    budget = budget < THINKING_TOKENS_MAX ? budget : THINKING_TOKENS_MAX;
    return budget > THINKING_TOKENS_MIN ? budget : THINKING_TOKENS_MIN;
}

/* Models with a budget know no level, and the other way round. */
static void write_thinking_config(struct google_body *c, const struct model_caps *caps,
                                  const struct llm_request *req)
{
    bool is_wanted = req->thinking && strcmp(req->thinking, "off") != 0 &&
                     (caps->thinks_enabled || caps->thinks_adaptive);
    const char *level = caps->takes_effort ? req->effort : NULL;
    if (!is_wanted && !level)
        return;
    jw_kobject(&c->w, "thinkingConfig");
    if (is_wanted)
        jw_kbool(&c->w, "includeThoughts", true);
    if (level)
        jw_kcstr(&c->w, "thinkingLevel", strcmp(level, "max") == 0 ? "high" : level);
    else if (caps->thinks_enabled)
        jw_kint(&c->w, "thinkingBudget", budget_of(req));
    jw_end(&c->w);
}

static void write_config(struct google_body *c, const struct model_caps *caps,
                         const struct llm_request *req)
{
    jw_kobject(&c->w, "generationConfig");
    jw_kint(&c->w, "maxOutputTokens", provider_max_tokens(caps, req));
    write_thinking_config(c, caps, req);
    jw_end(&c->w);
}

/* The models that came before signatures were required. */
static bool is_unsigned(str model)
{
    return str_starts(model, STR("gemini-1")) || str_starts(model, STR("gemini-2")) ||
           str_starts(model, STR("gemma"));
}

int google_build(const struct provider *p, const struct model_caps *caps,
                 const struct llm_request *req, struct buf *ret_body, struct err *e)
{
    struct wire_rules rules = {.provider = p->name,
                               .model = req->model,
                               .id_max = ID_LEN_MAX,
                               .can_images = caps->can_images,
                               .images_in_results = false,
                               .refuses_gif = true,
                               .can_documents = caps->can_pdf};
    struct wire_history history;
    struct arena a;
    arena_init(&a);
    int rc = normalise(&a, &rules, req->messages, req->nmessages, &history, e);
    if (rc == 0) {
        struct google_body c = {.a = &a, .is_signed = !is_unsigned(req->model)};
        jw_init(&c.w, ret_body);
        jw_object(&c.w);
        write_config(&c, caps, req);
        if (caps->can_tools)
            google_write_tools(&c, req);
        write_instruction(&c, req);
        write_contents(&c, &history);
        jw_end(&c.w);
    }
    arena_done(&a);
    return rc == 0 ? provider_finish(ret_body, e) : rc;
}

/* ---- where ---- */

static bool has_api_version(str base_url)
{
    ptrdiff_t slash = str_rfind_char(base_url, '/');
    str last = slash < 0 ? STR_NONE : str_skip(base_url, (size_t)slash + 1);
    return last.n >= 2 && last.p[0] == 'v' && last.p[1] >= '1' && last.p[1] <= '9';
}

/* The model is a part of the path, and what people typed: it stays one segment of it. */
static str google_url(const struct provider *p, str model, struct arena *a)
{
    struct buf name;
    buf_init(&name, model.n * 3 + 1);
    url_encode(&name, model, NULL);
    str url =
        arena_printf(a, "%.*s%s/models/%.*s:streamGenerateContent?alt=sse", STR_ARG(p->base_url),
                     has_api_version(p->base_url) ? "" : "/v1beta", STR_ARG(buf_str(&name)));
    buf_done(&name);
    return url;
}

static size_t google_auth(const struct provider *p, struct arena *a,
                          struct fetch_header out[AUTH_MAX])
{
    (void)a;
    out[0] = (struct fetch_header){STR("x-goog-api-key"), p->api_key};
    return p->api_key.n > 0 ? 1 : 0;
}

const struct provider_type PROVIDER_GOOGLE = {
    .name = "google",
    .build = google_build,
    .url = google_url,
    .auth = google_auth,
    .event = google_event,
    .eof = google_eof,
    .picture_side = 2000,
};
