/* Request bodies of the Anthropic Messages API.
 *
 * Unknown fields are refused at every level, so only what is listed here is ever written.
 * Sampling parameters are never sent: newer models refuse them. Cache breakpoints: the last
 * tool, the end of the stable system part, and the last block of the two newest user
 * messages, so that even a step with many parallel results finds the previous prefix. */
#include "base/json/json_framed.h"
#include "llm/provider/normalise.h"
#include "llm/provider/provider.h"

#define API_VERSION         "2023-06-01"
#define BEDROCK_VERSION     "bedrock-2023-05-31"
#define THINKING_TOKENS_MIN 1024
#define ID_LEN_MAX          64
#define TOOLS_MAX           1024

static void cache_breakpoint(struct json_writer *w)
{
    jw_kobject(w, "cache_control");
    jw_kstr(w, "type", STR("ephemeral"));
    jw_end(w);
}

static void anthropic_write_text(struct json_writer *w, str text, bool is_breakpoint)
{
    jw_object(w);
    jw_kstr(w, "type", STR("text"));
    jw_kstr(w, "text", text);
    if (is_breakpoint)
        cache_breakpoint(w);
    jw_end(w);
}

static void write_system(struct json_writer *w, struct arena *a, const struct llm_request *req)
{
    bool has_stable = str_trim(req->system_stable).n > 0;
    bool has_volatile = str_trim(req->system_volatile).n > 0;
    if (!has_stable && !has_volatile)
        return;
    jw_karray(w, "system");
    if (has_stable)
        anthropic_write_text(w, normalise_text(a, req->system_stable), true);
    if (has_volatile)
        anthropic_write_text(w, normalise_text(a, req->system_volatile), false);
    jw_end(w);
}

static void anthropic_write_tools(struct json_writer *w, struct arena *a,
                                  const struct llm_request *req)
{
    size_t n;
    const struct llm_tool *tools = provider_begin_tools(w, a, req, TOOLS_MAX, 0, &n);
    if (!tools)
        return;
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "name", tools[i].name);
        if (tools[i].description.n > 0)
            jw_kstr(w, "description", tools[i].description);
        jw_kval(w, "input_schema", tools[i].schema);
        if (i + 1 == n)
            cache_breakpoint(w);
        jw_end(w);
    }
    jw_end(w);
}

/* A picture, or a document. */
static void write_source(struct json_writer *w, const struct llm_block *b)
{
    jw_kobject(w, "source");
    jw_kstr(w, "type", STR("base64"));
    jw_kstr(w, "media_type", b->mime);
    jw_kstr(w, "data", b->data);
    jw_end(w);
}

static void write_block(struct json_writer *w, const struct llm_block *b, bool is_breakpoint);

static void write_result(struct json_writer *w, const struct llm_block *b)
{
    jw_kstr(w, "tool_use_id", b->id);
    if (b->nparts > 0) {
        jw_karray(w, "content");
        for (size_t i = 0; i < b->nparts; i++)
            write_block(w, &b->parts[i], false);
        jw_end(w);
    }
    if (b->is_error)
        jw_kbool(w, "is_error", true);
}

static void write_block(struct json_writer *w, const struct llm_block *b, bool is_breakpoint)
{
    static const char *const NAMES[] = {[LLM_TEXT] = "text",
                                        [LLM_IMAGE] = "image",
                                        [LLM_TOOL_USE] = "tool_use",
                                        [LLM_TOOL_RESULT] = "tool_result",
                                        [LLM_DOCUMENT] = "document"};
    if (b->type == LLM_OPAQUE) { /* sent back unchanged */
        jw_value(w, b->json);
        return;
    }
    jw_object(w);
    jw_kstr(w, "type", str_from(NAMES[b->type]));
    if (b->type == LLM_TEXT) {
        jw_kstr(w, "text", b->text);
    } else if (b->type == LLM_IMAGE) {
        write_source(w, b);
    } else if (b->type == LLM_DOCUMENT) {
        write_source(w, b);
        jw_kstr(w, "title", b->name);
    } else if (b->type == LLM_TOOL_USE) {
        jw_kstr(w, "id", b->id);
        jw_kstr(w, "name", b->name);
        jw_kval(w, "input", b->json);
    } else {
        write_result(w, b);
    }
    if (is_breakpoint)
        cache_breakpoint(w);
    jw_end(w);
}

/* Nearly all messages of a history are one text. */
static void write_text_message(struct json_writer *w, enum llm_role role, str text)
{
#define CONTENT "\",\"content\":[{\"type\":\"text\",\"text\":"
    static const str HEADS[] = {
        [LLM_USER] = STR_INIT("{\"role\":\"user" CONTENT),
        [LLM_ASSISTANT] = STR_INIT("{\"role\":\"assistant" CONTENT),
    };
#undef CONTENT
    jw_framed_str(w, HEADS[role], text, STR("}]}"));
}

static void anthropic_write_message(struct json_writer *w, const struct llm_message *m,
                                    bool is_breakpoint)
{
    if (m->n == 1 && m->blocks[0].type == LLM_TEXT && !is_breakpoint) {
        write_text_message(w, m->role, m->blocks[0].text);
        return;
    }
    jw_object(w);
    jw_kstr(w, "role", m->role == LLM_USER ? STR("user") : STR("assistant"));
    jw_karray(w, "content");
    for (size_t i = 0; i < m->n; i++)
        write_block(w, &m->blocks[i], is_breakpoint && i + 1 == m->n);
    jw_end(w);
    jw_end(w);
}

static void write_messages(struct json_writer *w, const struct wire_history *h)
{
    size_t users_left = 0;
    for (size_t i = 0; i < h->n; i++)
        users_left += h->messages[i].role == LLM_USER;
    jw_karray(w, "messages");
    for (size_t i = 0; i < h->n; i++) {
        bool is_user = h->messages[i].role == LLM_USER;
        anthropic_write_message(w, &h->messages[i], is_user && users_left <= 2);
        users_left -= is_user;
    }
    jw_end(w);
}

/* With a fixed thinking budget the current turn must begin with thinking. A turn of
 * another model does not: then this request is sent without thinking. */
static bool is_turn_without_thinking(const struct wire_history *h)
{
    if (h->n < 2 || h->messages[h->n - 1].blocks[0].type != LLM_TOOL_RESULT)
        return false;
    return h->messages[h->n - 2].blocks[0].type != LLM_OPAQUE;
}

static const char *thinking_type(const struct model_caps *caps, const struct llm_request *req)
{
    const char *want = req->thinking ? req->thinking : "off";
    bool wants_any = strcmp(want, "adaptive") == 0 || strcmp(want, "enabled") == 0;
    if (!wants_any || (!caps->thinks_adaptive && !caps->thinks_enabled))
        return NULL;
    if (!caps->thinks_enabled)
        return "adaptive";
    return caps->thinks_adaptive && strcmp(want, "adaptive") == 0 ? "adaptive" : "enabled";
}

static void write_thinking(struct json_writer *w, const struct model_caps *caps,
                           const struct llm_request *req, const struct wire_history *h,
                           int64_t max_tokens)
{
    const char *type = thinking_type(caps, req);
    bool is_budgeted = type && strcmp(type, "enabled") == 0;
    if (!type ||
        (is_budgeted && (max_tokens <= THINKING_TOKENS_MIN || is_turn_without_thinking(h))))
        return;
    jw_kobject(w, "thinking");
    jw_kstr(w, "type", str_from(type));
    if (is_budgeted) {
        int64_t budget = req->thinking_budget;
        budget = budget < max_tokens ? budget : max_tokens - 1;
        jw_kint(w, "budget_tokens", budget > THINKING_TOKENS_MIN ? budget : THINKING_TOKENS_MIN);
    }
    jw_end(w);
}

static void write_effort(struct json_writer *w, const struct model_caps *caps,
                         const struct llm_request *req)
{
    if (!req->effort || !caps->takes_effort)
        return;
    jw_kobject(w, "output_config");
    jw_kstr(w, "effort", str_from(req->effort));
    jw_end(w);
}

static void write_name(struct json_writer *w, struct arena *a, const struct llm_request *req,
                       bool is_named)
{
    if (is_named)
        jw_kstr(w, "model", normalise_text(a, req->model));
    else
        jw_kstr(w, "anthropic_version", STR(BEDROCK_VERSION));
}

static int build_messages(const struct provider *p, const struct model_caps *caps,
                          const struct llm_request *req, bool is_named, struct buf *ret_body,
                          struct err *e)
{
    /* Compatible servers have unknown models: try to send pictures. */
    struct wire_rules rules = {.provider = p->name,
                               .model = req->model,
                               .id_max = ID_LEN_MAX,
                               .can_images = caps->can_images || caps->prefix.n == 0,
                               .images_in_results = true,
                               .can_documents = caps->can_pdf};
    struct wire_history history;
    struct arena a;
    arena_init(&a);
    int rc = normalise(&a, &rules, req->messages, req->nmessages, &history, e);
    if (rc == 0) {
        struct json_writer w;
        int64_t max_tokens = provider_max_tokens(caps, req);
        jw_init(&w, ret_body);
        jw_object(&w);
        write_name(&w, &a, req, is_named);
        jw_kint(&w, "max_tokens", max_tokens);
        if (is_named)
            jw_kbool(&w, "stream", true);
        write_thinking(&w, caps, req, &history, max_tokens);
        write_effort(&w, caps, req);
        anthropic_write_tools(&w, &a, req);
        write_system(&w, &a, req);
        write_messages(&w, &history);
        jw_end(&w);
    }
    arena_done(&a);
    return rc == 0 ? provider_finish(ret_body, e) : rc;
}

int anthropic_build(const struct provider *p, const struct model_caps *caps,
                    const struct llm_request *req, struct buf *ret_body, struct err *e)
{
    return build_messages(p, caps, req, true, ret_body, e);
}

int anthropic_build_unnamed(const struct provider *p, const struct model_caps *caps,
                            const struct llm_request *req, struct buf *ret_body, struct err *e)
{
    return build_messages(p, caps, req, false, ret_body, e);
}

static str messages_url(const struct provider *p, str model, struct arena *a)
{
    (void)model;
    bool has_version = str_ends(p->base_url, STR("/v1"));
    return arena_concat(a, p->base_url, has_version ? STR("/messages") : STR("/v1/messages"));
}

/* Both credentials if both are there, as the SDK does: a gateway reads the one that it knows. */
static size_t messages_auth(const struct provider *p, struct arena *a,
                            struct fetch_header out[AUTH_MAX])
{
    size_t n = 0;
    out[n++] = (struct fetch_header){STR("anthropic-version"), STR(API_VERSION)};
    if (p->api_key.n > 0)
        out[n++] = (struct fetch_header){STR("x-api-key"), p->api_key};
    if (p->auth_token.n > 0)
        out[n++] = (struct fetch_header){STR("authorization"),
                                         arena_concat(a, STR("Bearer "), p->auth_token)};
    return n;
}

const struct provider_type PROVIDER_ANTHROPIC = {
    .name = "anthropic",
    .build = anthropic_build,
    .url = messages_url,
    .auth = messages_auth,
    .event = anthropic_event,
    .eof = anthropic_eof,
    .rate_limit_needs_wait = true,
};
