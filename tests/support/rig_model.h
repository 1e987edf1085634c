/* rig_model.h - a model that answers as the test says, in place of llm/call/call.c.
 *
 * The functions below have the names of those of call.c, so that the linker takes these; the
 * providers, their models and prices stay the real ones. A test says in advance what the model
 * answers, call by call: model_says("hello"), model_calls("t__ping", "{}"),
 * model_fails(LLM_ERR_AUTH, "no key"), or MODEL(...) for the rest. The calls for titles and for
 * summaries have scripts of their own (rig_model.title, rig_model.summary), because they happen
 * beside the runs. A call for which nothing was said is answered with "ok".
 *
 *   MODEL(.text = "later", .is_held = true);   answers after model_release()
 *   rig_model.seen[0].messages                 the messages of the first call of a run, as text
 *
 * One model for a test program: model_begin() and model_end() in the set-up and tear-down. */
#pragma once

#include <errno.h>

#include "base/bytes/hash.h"
#include "llm/call/llm_impl.h"
#include "llm/llm.h"
#include "support/unit.h"

#define MODEL_ANSWERS_MAX 32
#define MODEL_CALLS_MAX   4

struct model_answer {
    const char *partial; /* streamed immediately, also while the rest is held */
    const char *text;    /* streamed when the answer comes */
    struct {
        const char *name, *args;
    } calls[MODEL_CALLS_MAX]; /* their ids are c1, c2 ... through all answers */
    const char *draft;        /* arguments of the first call so far, streamed like `partial` */
    unsigned times;           /* the first call is made so often; 0 = once */
    const char *error;        /* instead of an answer */
    enum llm_error_kind error_kind;
    enum llm_stop stop; /* LLM_STOP_END becomes LLM_STOP_TOOL when there are calls */
    struct conv_usage usage;
    bool is_held; /* until model_release() */
};

/* One request of a run, as the test may look at it. Owned by rig_model. */
struct model_request {
    char *model, *system, *messages, *tools; /* messages: "user: hello\n..."; tools: "a b c" */
};

struct llm_call {
    struct list_node node;
    struct llm *llm;
    struct model_answer answer;
    struct llm_events ev;
    void *ctx;
    struct deferred next;
    char sha256[SHA256_HEX_LEN + 1]; /* of the request, as a provider would get it */
    bool has_streamed, has_announced;
};

static struct rig_model {
    struct model_answer script[MODEL_ANSWERS_MAX];
    size_t nscript, nplayed;
    struct model_answer title, summary;
    struct model_request seen[MODEL_ANSWERS_MAX]; /* of runs */
    size_t nseen, ntitles, nsummaries, ncancelled;
    char title_prompt[4096], summary_prompt[64 * 1024];
    unsigned ncalls;         /* tool calls so far, for their ids */
    struct list_node active; /* calls in progress */
} rig_model;

/* ---- the script ---- */

static inline void model_answers(struct model_answer a)
{
    assert_true(rig_model.nscript < MODEL_ANSWERS_MAX);
    rig_model.script[rig_model.nscript++] = a;
}

#define MODEL(...) model_answers((struct model_answer){__VA_ARGS__})

static inline void model_says(const char *text)
{
    MODEL(.text = text);
}

static inline void model_calls(const char *tool, const char *args)
{
    MODEL(.calls = {{tool, args}});
}

static inline void model_fails(enum llm_error_kind kind, const char *why)
{
    MODEL(.error = why, .error_kind = kind);
}

/* Forgets answers that were said and not given: what is said next is about the next call. */
static inline void model_from_here(void)
{
    rig_model.nplayed = rig_model.nscript;
}

/* ---- what the model was sent ---- */

static inline void model_write_block(struct buf *b, const struct llm_block *k)
{
    if (k->type == LLM_TEXT)
        buf_add_str(b, k->text);
    else if (k->type == LLM_TOOL_USE)
        buf_printf(b, "[call %.*s %.*s %.*s]", STR_ARG(k->id), STR_ARG(k->name), STR_ARG(k->args));
    else if (k->type == LLM_TOOL_RESULT)
        buf_printf(b, "[%s %.*s ", k->is_error ? "error of" : "result of", STR_ARG(k->id));
    else
        buf_printf(b, "[block of type %d]", (int)k->type);
    for (size_t i = 0; k->type == LLM_TOOL_RESULT && i < k->nparts; i++)
        model_write_block(b, &k->parts[i]);
    if (k->type == LLM_TOOL_RESULT)
        buf_add_lit(b, "]");
}

static inline char *model_messages(const struct llm_request *req)
{
    struct buf b;
    buf_init(&b, 1u << 22);
    for (size_t i = 0; i < req->nmessages; i++) {
        const struct llm_message *m = &req->messages[i];
        buf_printf(&b, "%s: ", m->role == LLM_USER ? "user" : "assistant");
        for (size_t j = 0; j < m->n; j++)
            model_write_block(&b, &m->blocks[j]);
        buf_add_lit(&b, "\n");
    }
    char *all = str_dup(buf_str(&b));
    buf_done(&b);
    return all;
}

static inline char *model_tools(const struct llm_request *req)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < req->ntools; i++)
        buf_printf(&b, "%s%.*s", i > 0 ? " " : "", STR_ARG(req->tools[i].name));
    char *all = str_dup(buf_str(&b));
    buf_done(&b);
    return all;
}

static inline char *model_system(const struct llm_request *req)
{
    struct buf b;
    buf_init(&b, 1u << 22);
    buf_add_str(&b, req->system_stable);
    buf_add_str(&b, req->system_volatile);
    char *all = str_dup(buf_str(&b));
    buf_done(&b);
    return all;
}

/* The script of a run, or that of a title or a summary. */
static inline struct model_answer model_next(str model, const struct llm_request *req)
{
    struct rig_model *m = &rig_model;
    char *messages = model_messages(req);
    struct model_answer a = {.text = "ok"};
    if (str_eq(req->system_stable, STR("You write short titles."))) {
        m->ntitles++;
        snprintf(m->title_prompt, sizeof m->title_prompt, "%s", messages);
        a = m->title;
    } else if (str_eq(req->system_stable, STR("You write summaries of conversations."))) {
        m->nsummaries++;
        snprintf(m->summary_prompt, sizeof m->summary_prompt, "%s", messages);
        a = m->summary;
    } else {
        assert_true(m->nseen < MODEL_ANSWERS_MAX);
        struct model_request *q = &m->seen[m->nseen];
        *q = (struct model_request){str_dup(model), model_system(req), str_dup(str_from(messages)),
                                    model_tools(req)};
        if (m->nplayed < m->nscript)
            a = m->script[m->nplayed++];
        m->nseen++;
    }
    free(messages);
    return a;
}

/* ---- one call ---- */

static inline void model_call_free(struct llm_call *c)
{
    defer_stop(&c->next);
    list_del(&c->node);
    free(c);
}

static inline const char *model_args_error(struct arena *a, const char *args)
{
    struct json *v;
    return json_parse(a, str_from(args), 0, &v, NULL) < 0 ? "it is cut off" : NULL;
}

static inline struct llm_block model_call_block(struct llm_call *c, struct arena *a, size_t i)
{
    const char *name = c->answer.calls[i].name, *args = c->answer.calls[i].args;
    struct llm_block b = {.type = LLM_TOOL_USE,
                          .id = arena_printf(a, "c%u", ++rig_model.ncalls),
                          .name = str_from(name),
                          .args = str_from(args),
                          .args_error = model_args_error(a, args)};
    if (c->ev.on_tool_start && !(c->answer.draft && i == 0 && c->has_announced))
        c->ev.on_tool_start(c->ctx, b.id, b.name);
    c->has_announced = false;
    return b;
}

static inline size_t model_blocks(struct llm_call *c, struct arena *a, struct llm_block **ret)
{
    size_t n = 0;
    const struct model_answer *an = &c->answer;
    struct llm_block *blocks = arena_array(a, 1 + MODEL_CALLS_MAX + an->times, sizeof *blocks);
    str text = arena_printf(a, "%s%s", an->partial ? an->partial : "", an->text ? an->text : "");
    if (text.n > 0)
        blocks[n++] = (struct llm_block){.type = LLM_TEXT, .text = text};
    for (size_t i = 0; i < MODEL_CALLS_MAX && an->calls[i].name; i++)
        blocks[n++] = model_call_block(c, a, i);
    for (size_t i = 1; i < an->times; i++)
        blocks[n++] = model_call_block(c, a, 0);
    *ret = blocks;
    return n;
}

static inline void model_answer_now(struct llm_call *c)
{
    struct model_answer an = c->answer;
    struct llm_events ev = c->ev;
    void *ctx = c->ctx;
    struct llm_block *blocks;
    struct arena a;
    arena_init(&a);
    if (an.text)
        ev.on_text(ctx, str_from(an.text));
    struct llm_result r = {.n = model_blocks(c, &a, &blocks), .stop = an.stop};
    r.blocks = blocks;
    r.usage = an.usage.input_tokens > 0 ? an.usage : (struct conv_usage){10, 5, 0, 0, 0};
    r.model = STR("demo:demo");
    r.ms = 1;
    memcpy(r.request_sha256, c->sha256, sizeof r.request_sha256);
    if (an.calls[0].name && an.stop == LLM_STOP_END)
        r.stop = LLM_STOP_TOOL;
    ev.on_done(ctx, &r);
    arena_done(&a);
    model_call_free(c);
}

static inline void model_write_draft(struct llm_call *c)
{
    char id[16];
    snprintf(id, sizeof id, "c%u", rig_model.ncalls + 1);
    c->has_announced = true;
    if (c->ev.on_tool_start)
        c->ev.on_tool_start(c->ctx, str_from(id), str_from(c->answer.calls[0].name));
    if (c->ev.on_tool_args)
        c->ev.on_tool_args(c->ctx, str_from(id), str_from(c->answer.draft));
}

static inline void on_model_next(void *ctx)
{
    struct llm_call *c = ctx;
    if (c->answer.draft && !c->has_announced)
        model_write_draft(c);
    if (c->answer.partial && !c->has_streamed) {
        c->has_streamed = true;
        c->ev.on_text(c->ctx, str_from(c->answer.partial));
    }
    if (c->answer.is_held)
        return;
    if (!c->answer.error) {
        model_answer_now(c);
        return;
    }
    struct llm_failure f = {.kind = c->answer.error_kind, .had_output = c->has_streamed};
    err_set(&f.err, -EIO, "%s", c->answer.error);
    c->ev.on_fail(c->ctx, &f);
    model_call_free(c);
}

/* The first call that is held gets its answer. */
static inline void model_release(void)
{
    LIST_FOREACH (n, &rig_model.active) {
        struct llm_call *c = LIST_ENTRY(n, struct llm_call, node);
        if (!c->answer.is_held)
            continue;
        c->answer.is_held = false;
        defer_start(c->llm->loop, &c->next);
        return;
    }
    fail_msg("no call of the model is held");
}

static inline size_t model_waiting(void)
{
    size_t waiting = 0;
    LIST_FOREACH (n, &rig_model.active)
        waiting += LIST_ENTRY(n, struct llm_call, node)->answer.is_held;
    return waiting;
}

static inline void model_hash(struct llm_call *c, str model, const struct llm_request *req)
{
    struct arena a;
    struct err e = {0};
    str body = STR_NONE;
    arena_init(&a);
    if (llm_build_request(c->llm, model, req, NULL, &a, &body, &e) == 0)
        sha256_hex(body, c->sha256);
    arena_done(&a);
}

/* ---- the functions of call.c ---- */

struct llm_call *llm_start(struct llm *m, str model, const struct llm_request *req,
                           const struct llm_events *ev, void *ctx)
{
    struct llm_call *c = xcalloc(1, sizeof *c);
    *c = (struct llm_call){.llm = m, .answer = model_next(model, req), .ev = *ev, .ctx = ctx};
    model_hash(c, model, req);
    defer_init(&c->next, on_model_next, c);
    list_push(&rig_model.active, &c->node);
    defer_start(m->loop, &c->next);
    return c;
}

void llm_cancel(struct llm_call *c)
{
    rig_model.ncancelled++;
    model_call_free(c);
}

void llm_cancel_all(struct llm *m)
{
    LIST_FOREACH (n, &rig_model.active)
        model_call_free(LIST_ENTRY(n, struct llm_call, node));
}

bool llm_usage_so_far(const struct llm_call *c, struct conv_usage *ret, bool *ret_is_estimated)
{
    *ret = (struct conv_usage){.input_tokens = 10, .output_tokens = 1};
    *ret_is_estimated = true;
    return c->has_streamed;
}

/* ---- life ---- */

static inline void model_begin(void)
{
    rig_model = (struct rig_model){.title = {.text = "A title"}, .summary = {.text = "A summary"}};
    list_init(&rig_model.active);
}

static inline void model_end(void)
{
    assert_true(list_empty(&rig_model.active));
    for (size_t i = 0; i < rig_model.nseen; i++) {
        struct model_request *q = &rig_model.seen[i];
        free(q->model);
        free(q->system);
        free(q->messages);
        free(q->tools);
    }
}
