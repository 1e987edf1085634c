/* trial.c - is a key accepted? The shortest question to the provider's default model, once.
 *
 * A set of providers of its own holds the key meanwhile: no other call can come to use it. */
#include <assert.h>

#include "llm/call/llm_impl.h"
#include "llm/llm.h"

#define TRIAL_SILENCE_MS 15000
#define TRIAL_TOKENS     16 /* the fewest that all providers take */

bool llm_is_key(str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] > '~')
            return false; /* it becomes part of a header */
    return key.n >= LLM_KEY_MIN && key.n <= LLM_KEY_MAX;
}

struct llm_trial {
    struct llm *llm; /* of this trial */
    llm_trial_fn fn;
    void *ctx;
    enum llm_trial_result result;
    struct err why;
    struct deferred end; /* a call cannot free its providers itself */
};

static void trial_free(struct llm_trial *t)
{
    defer_stop(&t->end);
    llm_free(t->llm);
    free(t);
}

static void trial_end(void *ctx)
{
    struct llm_trial *t = ctx;
    t->fn(t->ctx, t->result, &t->why);
    trial_free(t);
}

static void trial_settle(struct llm_trial *t, enum llm_trial_result result)
{
    t->result = result;
    defer_start(t->llm->loop, &t->end);
}

static void on_trial_text(void *ctx, str delta) {}

static void on_trial_done(void *ctx, const struct llm_result *r)
{
    trial_settle(ctx, LLM_TRIAL_ACCEPTED);
}

/* Only what is said of the key counts against it. */
static void on_trial_fail(void *ctx, const struct llm_failure *f)
{
    struct llm_trial *t = ctx;
    t->why = f->err;
    trial_settle(t, f->kind == LLM_ERR_AUTH ? LLM_TRIAL_REFUSED : LLM_TRIAL_UNKNOWN);
}

static void trial_ask(struct llm_trial *t, const struct provider *p, str name)
{
    static const struct llm_events EVENTS = {
        .on_text = on_trial_text, .on_done = on_trial_done, .on_fail = on_trial_fail};
    struct llm_block word = {.type = LLM_TEXT, .text = STR("Hi")};
    struct llm_message message = {LLM_USER, &word, 1};
    struct llm_request request = {.messages = &message, .nmessages = 1, .max_tokens = TRIAL_TOKENS};
    str model = arena_printf(&t->llm->arena, "%.*s:%.*s", STR_ARG(p->name), STR_ARG(name));
    (void)llm_start(t->llm, model, &request, &EVENTS, t); /* ends with t->llm at the latest */
}

static struct llm_trial *trial_new(const struct llm *m, llm_trial_fn fn, void *ctx)
{
    struct llm_conf conf = {.idle_timeout_ms = TRIAL_SILENCE_MS, .max_tries = 1};
    struct llm_trial *t = xcalloc(1, sizeof *t);
    struct llm *own = llm_new(m->loop, m->fetcher, &conf, m->log, NULL);
    assert(own); /* it has no providers that could be wrong */
    *t = (struct llm_trial){.llm = own, .fn = fn, .ctx = ctx};
    defer_init(&t->end, trial_end, t);
    return t;
}

struct llm_trial *llm_try_provider(struct llm *m, const struct llm_provider_conf *conf, str model,
                                   llm_trial_fn fn, void *ctx)
{
    struct llm_trial *t = trial_new(m, fn, ctx);
    if (llm_add_provider(t->llm, conf, &t->why) < 0)
        trial_settle(t, LLM_TRIAL_UNKNOWN);
    else
        trial_ask(t, llm_find_provider(t->llm, conf->name), model);
    return t;
}

struct llm_trial *llm_try_key(struct llm *m, str provider, str key, llm_trial_fn fn, void *ctx)
{
    struct llm_trial *t = trial_new(m, fn, ctx);
    const struct provider *known = llm_find_provider(m, provider);
    struct provider *p =
        known ? &t->llm->providers[t->llm->nproviders++] : llm_add_known(t->llm, provider);
    assert(p); /* llm_may_set_key */
    if (known)
        *p = *known; /* the strings live as long as `m` */
    p->api_key = arena_str(&t->llm->arena, key);
    str model = p->default_model;
    if (model.n == 0 && llm_has_prefix(m->default_model, provider))
        model = str_skip(m->default_model, provider.n + 1);
    if (model.n > 0)
        trial_ask(t, p, model);
    else
        trial_settle(t, LLM_TRIAL_UNKNOWN);
    return t;
}

void llm_stop_trial(struct llm_trial *t)
{
    trial_free(t);
}
