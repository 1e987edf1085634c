#include "runtime/turn/preview.h"

#include <assert.h>

#include "runtime/turn/compact.h"
#include "runtime/turn/turn.h"

#define DECLINED_MAX 256

static size_t block_tokens(struct arena *a, const struct llm_block *b)
{
    size_t n = prompt_estimate_tokens(b->text) + prompt_estimate_tokens(b->args);
    for (size_t i = 0; i < b->nparts; i++)
        n += block_tokens(a, &b->parts[i]);
    if (b->json)
        n += prompt_estimate_tokens(json_to_str(a, b->json));
    return n;
}

static size_t message_tokens(struct arena *a, const struct run_input *in)
{
    size_t n = 0;
    for (size_t i = 0; i < in->nmessages; i++)
        for (size_t k = 0; k < in->messages[i].n; k++)
            n += block_tokens(a, &in->messages[i].blocks[k]);
    return n;
}

size_t preview_tool_tokens(struct arena *a, const struct llm_tool *t)
{
    size_t n = prompt_estimate_tokens(t->name) + prompt_estimate_tokens(t->description);
    return t->schema ? n + prompt_estimate_tokens(json_to_str(a, t->schema)) : n;
}

/* Adds the lines that a turn would append before its run. */
static void add_message(struct turn *t)
{
    str lines[DECLINED_MAX];
    size_t n = turn_decline_open(t, transcript_replay(t->transcript), lines, DECLINED_MAX);
    for (size_t i = 0; i < n; i++)
        transcript_add(t->transcript, lines[i]);
    transcript_add(t->transcript, message_event(t->msg, &t->arena));
    turn_join_authors(t);
    turn_join_project(t);
}

static int build_preview(struct turn *t, struct composed *c, struct preview *ret, struct err *e)
{
    struct arena *a = &t->arena;
    const struct runtime_deps *d = &t->rt->deps;
    int r = turn_compose(t, a, t->limits.max_iterations == 1, c, e);
    if (r < 0)
        return r;
    struct llm_request req =
        run_request(&c->input, t->limits.max_output_tokens, t->conversation_id);
    ret->parts = c;
    ret->prompt_tokens = prompt_estimate_tokens(c->input.system_stable) +
                         prompt_estimate_tokens(c->input.system_volatile);
    ret->message_tokens = message_tokens(a, &c->input);
    for (size_t i = 0; i < c->input.ntools; i++)
        ret->tool_tokens += preview_tool_tokens(a, &c->input.tools[i]);
    return llm_build_request(d->llm, t->model, &req, NULL, a, &ret->request, e);
}

void preview_finish(struct turn *t)
{
    struct err e = {0};
    struct composed parts = {0};
    assert(t->msg->req.on_preview && !t->busy); /* other turns do not notice it */
    struct preview p = {.conversation_id = t->conversation_id, .model = t->model};
    p.is_compaction_due = compact_is_due(t);
    turn_match_skill(t);
    if (t->skills)
        p.match = skills_match(turn_skills(t), &t->arena, t->text);
    add_message(t);
    if (build_preview(t, &parts, &p, &e) < 0) {
        turn_refuse(t, TURN_BAD_REQUEST, &e);
        return;
    }
    if (t->msg->ev)
        t->msg->req.on_preview(t->msg->ctx, &p);
    turn_end(t);
}
