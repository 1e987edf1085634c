/* bundle_share.c - which of the calls that wait for a bundle is next. The rule is in bundle.h. */
#include "bundle/bundle_impl.h"

void share_count(const struct bundle *b, struct bundle_share *ret)
{
    ret->n = 0;
    LIST_FOREACH (node, &b->calls) {
        const struct bundle_call *c = LIST_ENTRY(node, struct bundle_call, node);
        if (c->sent && bundle_call_is_tool(c) && ret->n < BUNDLE_CALLS_MAX)
            ret->people[ret->n++] = c->person;
    }
}

size_t share_of(const struct bundle_share *s, str person)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += str_eq(s->people[i], person);
    return n;
}

bool share_has_place(const struct bundle_share *s, const struct bundle_call *c)
{
    return !bundle_call_is_tool(c) || s->n < BUNDLE_CALLS_SHARED ||
           (s->n < BUNDLE_CALLS_MAX && share_of(s, c->person) == 0);
}

bool share_is_full(const struct bundle *b, str person)
{
    size_t all = 0, own = 0;
    LIST_FOREACH (node, &b->calls) {
        const struct bundle_call *c = LIST_ENTRY(node, struct bundle_call, node);
        bool is_waiting = !c->sent && bundle_call_is_tool(c);
        all += is_waiting;
        own += is_waiting && str_eq(c->person, person);
    }
    return all >= BUNDLE_QUEUE_MAX || own >= BUNDLE_QUEUE_PERSON_MAX;
}

static struct bundle_call *first_untold(const struct bundle *b)
{
    LIST_FOREACH (node, &b->calls) {
        struct bundle_call *c = LIST_ENTRY(node, struct bundle_call, node);
        if (!c->sent && !c->rights && !c->has_told && c->relay.to.progress)
            return c;
    }
    return NULL;
}

static void tell(struct bundle_call *c)
{
    struct arena a;
    struct bundle_share s;
    share_count(c->bundle, &s);
    arena_init(&a);
    struct json *params = json_new(&a, JSON_OBJECT);
    json_set(&a, params, STR("progress"), json_of_int(0));
    str message = arena_printf(&a, "waiting: %zu calls of %.*s are running, %zu of them yours", s.n,
                               STR_ARG(c->bundle->entry.server_name), share_of(&s, c->person));
    json_set(&a, params, STR("message"), json_of_str(message));
    c->relay.to.progress(c->relay.ctx, params); /* may cancel the call */
    arena_done(&a);
}

void share_tell_waiting(struct bundle *b)
{
    struct bundle_call *c;
    while (bundle_takes_calls(b) && b->is_listed && (c = first_untold(b)) != NULL) {
        c->has_told = true;
        tell(c);
    }
}
