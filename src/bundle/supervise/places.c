/* places.c - the places of a bundle: how many calls of tools run, and for which people. The rule is
 * in bundle.h.
 *
 * Each person with requests has a `struct caller`. A call of a tool is counted there and in the
 * bundle, either as waiting or as running:
 *
 *   places_enter --> waiting --places_run--> running
 *                      ^                        |
 *                      +------places_wait-------+   the server has answered, or the call was lost:
 *                                                   it ends next, or waits for its repetition
 *   places_leave: from both states, when the call ends
 *
 * Only these four functions change the counts. Requests other than tools/call have no limit and are
 * counted only in ncalls. */
#include <assert.h>

#include "base/clock.h"
#include "bundle/supervise/bundle_impl.h"

struct caller {
    struct list_node node;
    str person;
    size_t ncalls;             /* all requests; the caller is freed when it becomes 0 */
    size_t nrunning, nwaiting; /* only calls of tools */
};

static struct caller *caller_find(const struct bundle *b, str person)
{
    LIST_EACH (c, &b->callers, struct caller, node)
        if (str_eq(c->person, person))
            return c;
    return NULL;
}

static struct caller *caller_new(struct bundle *b, str person)
{
    struct caller *c = xcalloc(1, sizeof(*c) + person.n);
    char *copy = (char *)(c + 1);
    if (person.n > 0)
        memcpy(copy, person.p, person.n);
    c->person = (str){copy, person.n};
    list_push(&b->callers, &c->node);
    return c;
}

void places_enter(struct bundle_call *c, str person)
{
    struct bundle *b = c->bundle;
    c->caller = caller_find(b, person);
    if (!c->caller)
        c->caller = caller_new(b, person);
    c->caller->ncalls++;
    if (!bundle_call_is_tool(c))
        return;
    c->is_refused =
        b->nwaiting >= BUNDLE_QUEUE_MAX || c->caller->nwaiting >= BUNDLE_QUEUE_PERSON_MAX;
    c->caller->nwaiting++;
    b->nwaiting++;
}

void places_run(struct bundle_call *c)
{
    if (!bundle_call_is_tool(c))
        return;
    assert(!c->is_running && c->caller->nwaiting > 0);
    c->is_running = true;
    c->since_us = clock_mono_us();
    c->caller->nwaiting--;
    c->bundle->nwaiting--;
    c->caller->nrunning++;
    c->bundle->nrunning++;
}

void places_wait(struct bundle_call *c)
{
    if (!c->is_running)
        return;
    assert(c->caller->nrunning > 0 && c->bundle->nrunning > 0);
    c->is_running = false;
    c->caller->nrunning--;
    c->bundle->nrunning--;
    c->caller->nwaiting++;
    c->bundle->nwaiting++;
}

/* A moving average over about eight calls. */
void places_answered(const struct bundle_call *c)
{
    struct bundle *b = c->bundle;
    if (!c->is_running)
        return;
    uint64_t us = clock_mono_us() - c->since_us;
    b->call_us = b->call_us == 0 ? us : b->call_us - b->call_us / 8 + us / 8;
}

void places_leave(struct bundle_call *c)
{
    struct caller *who = c->caller;
    places_wait(c);
    if (bundle_call_is_tool(c)) { /* waiting now, in both cases */
        assert(who->nwaiting > 0 && c->bundle->nwaiting > 0);
        who->nwaiting--;
        c->bundle->nwaiting--;
    }
    assert(who->ncalls > 0);
    if (--who->ncalls > 0)
        return;
    assert(who->nrunning == 0 && who->nwaiting == 0);
    list_del(&who->node);
    free(who);
}

static size_t places_shared(const struct bundle *b)
{
    /* 0 = not known yet: assume slow calls. */
    bool is_quick = b->call_us > 0 && b->call_us <= BUNDLE_QUICK_US;
    return is_quick ? BUNDLE_CALLS_QUICK : BUNDLE_CALLS_SHARED;
}

bool places_has_one(const struct bundle_call *c)
{
    size_t n = c->bundle->nrunning, most = places_shared(c->bundle);
    return !bundle_call_is_tool(c) || n < most ||
           (n < most + BUNDLE_CALLS_SPARE && c->caller->nrunning == 0);
}

size_t places_of(const struct bundle_call *c)
{
    return bundle_call_is_tool(c) ? c->caller->nrunning : 0;
}

static struct bundle_call *first_untold(const struct bundle *b)
{
    LIST_EACH (c, &b->calls, struct bundle_call, node)
        if (!c->sent && !c->rights && !c->plan && !c->has_told && c->relay.to.progress)
            return c;
    return NULL;
}

static void tell_waiting(struct bundle_call *c)
{
    struct arena a;
    arena_init(&a);
    struct json *params = json_new(&a, JSON_OBJECT);
    json_set(&a, params, STR("progress"), json_of_int(0));
    str message = arena_printf(&a, "waiting: %zu calls of %.*s are running, %zu of them yours",
                               c->bundle->nrunning, STR_ARG(c->bundle->entry.server_name),
                               c->caller->nrunning);
    json_set(&a, params, STR("message"), json_of_str(message));
    c->relay.to.progress(c->relay.ctx, params); /* the callback may cancel the call */
    arena_done(&a);
}

void places_tell_waiting(struct bundle *b)
{
    struct bundle_call *c;
    while (bundle_takes_calls(b) && b->is_listed && (c = first_untold(b)) != NULL) {
        c->has_told = true;
        tell_waiting(c);
    }
}
