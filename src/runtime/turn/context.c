/* context.c - a conversation as messages for a model: pure, equal in live runs and in replay. */
#include <assert.h>
#include <errno.h>

#include "base/utf8.h"
#include "runtime/history/app_text.h"
#include "runtime/history/escape.h"
#include "runtime/history/file_text.h"
#include "runtime/history/replay.h"
#include "runtime/turn/turn.h"

#define RESULT_TEXT_MAX 50000 /* bytes of a result that the model sees */

#define NO_ANSWER       STR("[No answer: the run failed or was interrupted.]")
#define SUMMARY_SHOWN   80000
#define FILE_NAME_SHOWN 200
#define UNDERSTOOD      STR("Understood.")
#define GO_ON           STR("Go on exactly where your last message stopped.")
#define INTERRUPTED     STR("Interrupted: the tool did not finish, its effect is unknown.")

struct context_builder {
    struct arena *a;
    struct llm_message *messages;
    size_t n, cap;
    bool has_several_people;
};

static void add_llm_message(struct context_builder *b, enum llm_role role,
                            const struct llm_block *blocks, size_t n)
{
    assert(b->n < b->cap);
    if (n > 0)
        b->messages[b->n++] = (struct llm_message){role, blocks, n};
}

static struct llm_block text_block(str text)
{
    return (struct llm_block){.type = LLM_TEXT, .text = text};
}

/* ---- results ---- */

static str bounded(struct arena *a, str text, size_t max)
{
    if (text.n <= max)
        return text;
    str head = utf8_truncate(text, max);
    return arena_printf(a, "%.*s\n[Cut here: %zu of %zu bytes shown.]", STR_ARG(head), head.n,
                        text.n);
}

/* Blocks whose audience is only the user are not sent to the model. */
static bool is_for_model(const struct json *part)
{
    const struct json *audience = json_get(json_get(part, "annotations"), "audience");
    if (!json_is(audience, JSON_ARRAY) || audience->len == 0)
        return true;
    for (size_t i = 0; i < audience->len; i++)
        if (str_eq(json_string(&audience->items[i], STR_NONE), STR("assistant")))
            return true;
    return false;
}

/* The picture that was made of the i-th part; the part itself, if there is none. */
static const struct json *view_of(const struct replay_tool *t, size_t i, const struct json *part)
{
    for (size_t k = 0; t->views && k < t->views->len; k++)
        if (json_get_int(&t->views->items[k], "part", -1) == (int64_t)i)
            return &t->views->items[k];
    return part;
}

static bool picture_part(struct arena *a, const struct json *view, struct llm_block *ret)
{
    str problem = json_get_string(view, "problem");
    if (problem.n > 0) {
        *ret = text_block(
            arena_printf(a, "[A picture that cannot be shown: %.*s.]", STR_ARG(problem)));
        return true;
    }
    *ret = (struct llm_block){.type = LLM_IMAGE,
                              .mime = json_get_string(view, "mimeType"),
                              .data = json_get_string(view, "data")};
    return ret->data.n > 0;
}

static bool result_part(struct arena *a, const struct replay_tool *t, size_t i, size_t *budget,
                        struct llm_block *ret)
{
    const struct json *part = &json_get(t->result, "content")->items[i];
    str type = json_get_string(part, "type");
    if (!is_for_model(part))
        return false;
    if (str_eq(type, STR("image")))
        return picture_part(a, view_of(t, i, part), ret);
    const struct json *resource = json_get(part, "resource");
    str text = str_eq(type, STR("text"))       ? json_get_string(part, "text")
               : str_eq(type, STR("resource")) ? json_get_string(resource, "text")
                                               : STR_NONE;
    if (str_eq(type, STR("resource_link")))
        text = arena_printf(a, "[Resource %.*s: %.*s]", STR_ARG(json_get_string(part, "name")),
                            STR_ARG(json_get_string(part, "uri")));
    else if (str_eq(type, STR("audio")))
        text = STR("[Audio that cannot be shown here.]");
    if (text.n == 0)
        return false;
    *ret = text_block(bounded(a, text, *budget));
    *budget -= text.n < *budget ? text.n : *budget;
    return true;
}

static struct llm_block result_block(struct arena *a, const struct replay_tool *t)
{
    struct llm_block b = {.type = LLM_TOOL_RESULT, .id = t->id, .is_error = true};
    const struct json *content = t->result ? json_get(t->result, "content") : NULL;
    size_t n = 0, budget = RESULT_TEXT_MAX, max = json_is(content, JSON_ARRAY) ? content->len : 0;
    struct llm_block *parts = arena_array(a, max + 1, sizeof *parts);
    for (size_t i = 0; i < max; i++)
        n += result_part(a, t, i, &budget, &parts[n]);
    if (!t->result)
        parts[n++] = text_block(INTERRUPTED);
    else
        b.is_error = json_get_bool(t->result, "isError", !t->ok);
    b.parts = parts;
    b.nparts = n;
    return b;
}

/* ---- messages ---- */

/* A file as the model gets it: a picture, a document, a text, or what is known about it. */
static struct llm_block file_block(struct arena *a, const struct json *part)
{
    str data = json_get_string(part, "data"), mime = json_get_string(part, "mimeType");
    if (data.n > 0 && str_starts(mime, STR("image/")))
        return (struct llm_block){.type = LLM_IMAGE, .mime = mime, .data = data};
    struct llm_block block = text_block(file_text(a, part));
    if (data.n > 0) {
        block.type = LLM_DOCUMENT;
        block.mime = mime;
        block.data = data;
        block.name = escape_line(a, json_get_string(part, "name"), FILE_NAME_SHOWN);
    }
    return block;
}

static bool is_file_part(const struct json *part)
{
    return str_starts(json_get_string(part, "file"), STR("file_"));
}

static void user(struct context_builder *b, const struct replay_message *m)
{
    struct llm_block *blocks = arena_alloc(b->a, (m->content->len + 1) * sizeof *blocks);
    size_t n = 0;
    for (size_t i = 0; i < m->content->len; i++)
        if (is_file_part(&m->content->items[i]))
            blocks[n++] = file_block(b->a, &m->content->items[i]);
    str text = app_text_of(b->a, m);
    if (b->has_several_people && text.n > 0 && m->user_id.n > 0)
        text = arena_printf(b->a, "[%.*s%s] %.*s", STR_ARG(m->user_id),
                            m->is_for_people ? ", to the other people" : "", STR_ARG(text));
    else if (m->is_for_people && text.n > 0)
        text = arena_printf(b->a, "[to other people] %.*s", STR_ARG(text));
    if (text.n > 0)
        blocks[n++] = text_block(text);
    add_llm_message(b, LLM_USER, blocks, n);
}

static struct llm_block call_block(struct arena *a, const struct replay_tool *t)
{
    struct llm_block b = {.type = LLM_TOOL_USE, .id = t->id, .name = t->name, .args = STR("{}")};
    if (json_is(t->input, JSON_OBJECT))
        b.args = json_to_str(a, t->input);
    return b;
}

static struct llm_block opaque_block(const struct json *part)
{
    return (struct llm_block){.type = LLM_OPAQUE,
                              .provider = json_get_string(part, "provider"),
                              .model = json_get_string(part, "model"),
                              .json = json_get(part, "block")};
}

/* Parts in their order; then calls of older formats, which are not part of the content. */
static void assistant(struct context_builder *b, const struct replay_message *m)
{
    struct llm_block *blocks = arena_alloc(b->a, (m->content->len + m->ntools) * sizeof *blocks);
    size_t n = 0, call = 0;
    for (size_t i = 0; i < m->content->len; i++) {
        const struct json *part = &m->content->items[i];
        str type = json_get_string(part, "type");
        if (str_eq(type, STR("text")) && json_get_string(part, "text").n > 0)
            blocks[n++] = text_block(json_get_string(part, "text"));
        else if (str_eq(type, STR("opaque")))
            blocks[n++] = opaque_block(part);
        else if (str_eq(type, STR("tool-call")) && call < m->ntools)
            blocks[n++] = call_block(b->a, &m->tools[call++]);
    }
    while (call < m->ntools)
        blocks[n++] = call_block(b->a, &m->tools[call++]);
    assert(n <= m->content->len + m->ntools);
    add_llm_message(b, LLM_ASSISTANT, blocks, n);
    if (m->ntools == 0)
        return;
    struct llm_block *results = arena_array(b->a, m->ntools, sizeof *results);
    for (size_t i = 0; i < m->ntools; i++)
        results[i] = result_block(b->a, &m->tools[i]);
    add_llm_message(b, LLM_USER, results, m->ntools);
}

static void add_text_message(struct context_builder *b, enum llm_role role, str text)
{
    struct llm_block *block = ARENA_NEW(b->a, struct llm_block);
    *block = text_block(text);
    add_llm_message(b, role, block, 1);
}

/* After an answer that was cut off: models require a user message before the continuation. */
static bool needs_continuing(const struct replay *r, size_t i)
{
    const struct replay_message *m = &r->messages[i];
    bool is_cut = m->role == REPLAY_ASSISTANT && m->ntools == 0 &&
                  str_eq(m->finish_reason, STR("length")) && m->stop_reason.n == 0;
    return is_cut && (i + 1 == r->n || r->messages[i + 1].role == REPLAY_ASSISTANT);
}

/* The summary, and the user's own messages. */
static str summary_text(struct arena *a, const struct replay *r)
{
    struct buf b;
    buf_init(&b, 1024u * 1024);
    buf_add_lit(&b, "The conversation so far, shortened:\n\n");
    escape_container(&b, CONTAINER_SUMMARY, r->summary, SUMMARY_SHOWN);
    buf_add_lit(&b, "\n\nWhat the user said in it:\n");
    for (size_t i = 0; i < r->nsaid; i++)
        buf_printf(&b, "- %.*s\n", STR_ARG(r->said[i].text));
    return buf_keep(&b, a);
}

int context_messages(struct arena *a, const struct replay *r, const struct llm_message **ret,
                     size_t *ret_n, struct err *e)
{
    /* At most three for each message (no answer, the message, its results or "go on"), and two for
     * the summary; one is never used. */
    struct context_builder b = {.a = a, .cap = 3 * r->n + 3};
    b.messages = arena_array(a, b.cap, sizeof *b.messages);
    /* In a conversation of several people each message begins with the user id of its author; the
     * prompt has the names. */
    b.has_several_people = r->past.people.len > 1;
    if (r->summary.n > 0) {
        add_text_message(&b, LLM_USER, summary_text(a, r));
        add_text_message(&b, LLM_ASSISTANT, UNDERSTOOD);
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct replay_message *m = &r->messages[i];
        if (m->role == REPLAY_USER && i > 0 && r->messages[i - 1].role == REPLAY_USER)
            add_text_message(&b, LLM_ASSISTANT, NO_ANSWER);
        if (m->role == REPLAY_USER)
            user(&b, m);
        else
            assistant(&b, m);
        if (needs_continuing(r, i))
            add_text_message(&b, LLM_USER, GO_ON);
    }
    if (b.n == 0)
        return err_set(e, -EINVAL, "the conversation has no message to answer");
    *ret = b.messages;
    *ret_n = b.n;
    return 0;
}
