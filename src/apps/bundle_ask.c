/* bundle_ask.c - requests of a server while one of its tools is being called.
 *
 * Forms and links are shown to the people of the conversation, and declined when nobody can be
 * asked. The server may use the model after a person has agreed; the consent is valid for the
 * run. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "apps/bundle_impl.h"
#include "apps/sampling.h"
#include "bundle/confine/path_list.h"
#include "mcp/protocol.h"
#include "runtime/turn/tool_question.h"

#define USER_REJECTED (-1) /* error code of MCP for sampling that a person refused */

struct pending_ask {
    struct list_node node;
    struct bundle_tool_call *call;
    struct mcp_ask *ask;
    struct tool_question *question; /* or: */
    struct sampling *sampling;      /* or NULL */
};

static void pending_free(struct pending_ask *p)
{
    if (p->question)
        tool_question_withdraw(p->question);
    if (p->sampling)
        sampling_cancel(p->sampling);
    list_del(&p->node);
    free(p);
}

static struct pending_ask *pending_new(struct bundle_tool_call *c, struct mcp_ask *a)
{
    assert(c->sent); /* a question belongs to a call that the server has */
    struct pending_ask *p = xcalloc(1, sizeof *p);
    p->call = c;
    p->ask = a;
    list_push(&c->asks, &p->node);
    return p;
}

void bundle_ask_gone(struct bundle_tool_call *c, struct mcp_ask *a)
{
    LIST_EACH (p, &c->asks, struct pending_ask, node)
        if (p->ask == a)
            pending_free(p);
}

void bundle_asks_drop(struct bundle_tool_call *c)
{
    LIST_FOREACH (n, &c->asks)
        pending_free(LIST_ENTRY(n, struct pending_ask, node));
}

static str source_name(const struct bundle_tool_call *c)
{
    return str_from(c->source->source.name);
}

/* ---- elicitation ---- */

static void answer_elicitation(struct mcp_ask *a, enum tool_question_action action,
                               const struct json *content)
{
    static const char *const WORDS[] = {[TOOL_QUESTION_ACCEPT] = "accept",
                                        [TOOL_QUESTION_DECLINE] = "decline",
                                        [TOOL_QUESTION_CANCEL] = "cancel"};
    struct arena arena;
    arena_init(&arena);
    struct json *result = json_new(&arena, JSON_OBJECT);
    json_set(&arena, result, STR("action"), json_of_str(str_from(WORDS[action])));
    if (content)
        json_set(&arena, result, STR("content"), *content);
    mcp_ask_answer(a, result);
    arena_done(&arena);
}

static void on_elicited(void *ctx, enum tool_question_action action, const struct json *content)
{
    struct pending_ask *p = ctx;
    assert(p->question && !p->sampling);
    p->question = NULL;
    answer_elicitation(p->ask, action, content);
    pending_free(p);
}

static bool is_web_url(str url)
{
    return str_starts(url, STR("https://")) || str_starts(url, STR("http://"));
}

static void elicit(struct bundle_tool_call *c, struct mcp_ask *a)
{
    bool is_url = str_eq(json_get_string(a->params, "mode"), STR("url"));
    struct tool_question_spec q = {
        .kind = is_url ? TOOL_QUESTION_URL : TOOL_QUESTION_FORM,
        .source = source_name(c),
        .call_id = c->call.who.call_id,
        .only_user_id = c->user_id,
        .message = json_get_string(a->params, "message"),
        .schema = is_url ? NULL : json_get(a->params, "requestedSchema"),
        .url = is_url ? json_get_string(a->params, "url") : STR_NONE,
    };
    if (is_url ? !is_web_url(q.url) : !json_is(q.schema, JSON_OBJECT)) {
        mcp_ask_refuse(a, RPC_INVALID_PARAMS,
                       is_url ? "url: expected an http(s) address"
                              : "requestedSchema: expected an object");
        return;
    }
    struct pending_ask *p = pending_new(c, a);
    p->question = tool_question_open(c->call.who.host, &q, on_elicited, p);
    if (!p->question) {
        answer_elicitation(a, TOOL_QUESTION_DECLINE, NULL);
        pending_free(p);
    }
}

/* ---- sampling ---- */

static void on_sampled(void *ctx, const struct json *result, const struct err *err)
{
    struct pending_ask *p = ctx;
    assert(p->sampling && !p->question);
    p->sampling = NULL;
    if (result)
        mcp_ask_answer(p->ask, result);
    else
        mcp_ask_refuse(p->ask, RPC_INTERNAL_ERROR, err->msg);
    pending_free(p);
}

static void sample(struct pending_ask *p)
{
    struct err e = {0};
    struct bundle_tool_call *c = p->call;
    assert(!p->question && !p->sampling && c->call.who.host);
    int r = c->samplings++ >= SAMPLING_CALLS_MAX
                ? err_set(&e, -EDQUOT, "this call has used the model %d times already",
                          SAMPLING_CALLS_MAX)
                : sampling_start(c->source->all->rt, c->call.who.host, source_name(c),
                                 p->ask->params, on_sampled, p, &p->sampling, &e);
    if (r == 0)
        return;
    mcp_ask_refuse(p->ask, r == -EINVAL ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, e.msg);
    pending_free(p);
}

static void on_consent(void *ctx, enum tool_question_action action, const struct json *content)
{
    struct pending_ask *p = ctx;
    struct bundle_source *s = p->call->source;
    assert(p->question && !p->sampling);
    p->question = NULL;
    if (action != TOOL_QUESTION_ACCEPT) {
        mcp_ask_refuse(p->ask, USER_REJECTED, "The user did not allow the use of the model.");
        pending_free(p);
        return;
    }
    snprintf(s->sampling_run, sizeof s->sampling_run, "%.*s", STR_ARG(p->call->call.who.run_id));
    sample(p);
}

static bool is_consented(const struct bundle_tool_call *c)
{
    return c->call.who.run_id.n > 0 &&
           str_eq(c->call.who.run_id, str_from(c->source->sampling_run));
}

static void consider_sampling(struct bundle_tool_call *c, struct mcp_ask *a)
{
    struct tool_question_spec q = {
        .kind = TOOL_QUESTION_SAMPLING,
        .source = source_name(c),
        .call_id = c->call.who.call_id,
        .only_user_id = c->user_id,
        .message = STR("This server wants to use the workspace's model."),
        .detail = a->params,
    };
    struct pending_ask *p = pending_new(c, a);
    if (c->call.who.host && is_consented(c)) {
        sample(p);
        return;
    }
    p->question = tool_question_open(c->call.who.host, &q, on_consent, p);
    if (!p->question) {
        mcp_ask_refuse(
            a, USER_REJECTED,
            "The use of the model needs permission, and no user is connected to give it.");
        pending_free(p);
    }
}

/* ---- roots ---- */

static bool is_declared(struct arena *a, const struct json_strs *paths, str dir)
{
    for (size_t i = 0; i < paths->len; i++) {
        str home = str_from(getenv("HOME"));
        if (path_is_at_or_below(dir, path_clean(a, paths->items[i], STR("/"), home)))
            return true;
    }
    return false;
}

/* A remote server need not know the path, and a server in a sandbox cannot read it: a server that
 * looks only at its roots would find nothing. */
static bool may_see(struct arena *a, const struct bundle_entry *b, str dir)
{
    if (b->kind == BUNDLE_REMOTE)
        return false;
    return b->kind == BUNDLE_BUILT_IN || b->sandbox.is_off ||
           is_declared(a, &b->sandbox.read, dir) || is_declared(a, &b->sandbox.write, dir);
}

static void answer_roots(const struct bundle_sources *all, const struct bundle *b,
                         struct mcp_ask *a)
{
    struct arena arena;
    arena_init(&arena);
    struct json *result = json_new(&arena, JSON_OBJECT), *list = json_new(&arena, JSON_ARRAY);
    if (all->project_dir && may_see(&arena, bundle_entry(b), str_from(all->project_dir))) {
        struct json *root = json_new(&arena, JSON_OBJECT);
        json_set(&arena, root, STR("uri"),
                 json_of_str(arena_printf(&arena, "file://%s", all->project_dir)));
        json_push(&arena, list, *root);
    }
    json_set(&arena, result, STR("roots"), *list);
    mcp_ask_answer(a, result);
    arena_done(&arena);
}

void bundle_ask(struct bundle_tool_call *c, struct mcp_ask *a)
{
    if (a->kind == MCP_ASK_ELICITATION)
        elicit(c, a);
    else if (a->kind == MCP_ASK_SAMPLING)
        consider_sampling(c, a);
    else
        answer_roots(c->source->all, c->source->bundle, a);
}

void bundle_ask_alone(struct bundle_sources *all, const struct bundle *b, struct mcp_ask *a)
{
    if (a->kind == MCP_ASK_ROOTS)
        answer_roots(all, b, a);
    else if (a->kind == MCP_ASK_ELICITATION)
        answer_elicitation(a, TOOL_QUESTION_DECLINE, NULL);
    else
        mcp_ask_refuse(
            a, USER_REJECTED,
            "The use of the model needs permission, and no user is connected to give it.");
}
