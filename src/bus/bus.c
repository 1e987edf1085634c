/* bus.c - topics in a map, subscribers in a list per topic.
 *
 * A message is delivered to the subscribers at the time of its publication. During a
 * delivery, further messages wait in `queue`, and subscribers that unsubscribe are only
 * marked. Both lists are processed after the delivery, so callbacks may publish, subscribe
 * and unsubscribe. */
#include "bus/bus.h"

#include <assert.h>

#include "base/map.h"

struct topic {
    str name; /* the map's copy of the key */
    struct list_node subs;
    size_t nsubs; /* without the ones that left */
};

struct bus_sub {
    struct list_node node;
    struct list_node left; /* in bus.leavers */
    struct bus *bus;
    struct topic *topic;
    bus_fn fn; /* NULL once it has left */
    void *ctx;
    uint64_t since; /* messages published before this number are not for it */
};

struct queued_msg {
    struct list_node node;
    struct bus_msg msg;
    uint64_t number;
    struct arena arena; /* holds the message */
};

struct bus {
    struct map topics;
    struct list_node queue;
    uint64_t published;
    bool is_delivering;
    struct list_node leavers;
    bus_topic_fn observer;
    void *observer_ctx;
};

struct bus *bus_new(struct loop *l)
{
    (void)l; /* delivery is synchronous: the loop is only the thread it happens on */
    struct bus *b = xcalloc(1, sizeof(*b));
    map_init(&b->topics);
    list_init(&b->queue);
    list_init(&b->leavers);
    return b;
}

void bus_free(struct bus *b)
{
    if (!b)
        return;
    assert(!b->is_delivering && map_len(&b->topics) == 0);
    map_done(&b->topics);
    free(b);
}

struct bus_sub *bus_subscribe(struct bus *b, str topic, bus_fn fn, void *ctx)
{
    struct topic *t = map_get(&b->topics, topic);
    if (!t) {
        t = xcalloc(1, sizeof(*t));
        list_init(&t->subs);
        t->name = str_make(str_dup(topic), topic.n);
        map_put(&b->topics, topic, t);
    }
    struct bus_sub *s = xcalloc(1, sizeof(*s));
    *s = (struct bus_sub){.bus = b, .topic = t, .fn = fn, .ctx = ctx, .since = b->published};
    list_push(&t->subs, &s->node);
    if (++t->nsubs == 1 && b->observer)
        b->observer(b->observer_ctx, t->name, true);
    return s;
}

static void sub_drop(struct bus_sub *s)
{
    struct bus *b = s->bus;
    struct topic *t = s->topic;
    list_del(&s->node);
    free(s);
    if (!list_empty(&t->subs))
        return;
    map_del(&b->topics, t->name);
    free((char *)t->name.p);
    free(t);
}

void bus_unsubscribe(struct bus_sub *s)
{
    if (!s)
        return;
    assert(s->fn);
    s->fn = NULL;
    if (--s->topic->nsubs == 0 && s->bus->observer)
        s->bus->observer(s->bus->observer_ctx, s->topic->name, false);
    if (s->bus->is_delivering)
        list_push(&s->bus->leavers, &s->left);
    else
        sub_drop(s);
}

static void bus_deliver(struct bus *b, struct bus_msg *msg, uint64_t number)
{
    struct topic *t = map_get(&b->topics, msg->topic);
    if (t) {
        LIST_EACH (s, &t->subs, struct bus_sub, node)
            if (s->fn && s->since < number)
                s->fn(s->ctx, msg);
    }
    if (msg->shared && msg->shared_free)
        msg->shared_free(msg->shared);
    msg->shared = NULL;
}

struct bus_audience *bus_audience_copy(struct arena *a, const struct bus_audience *from)
{
    if (!from)
        return NULL;
    struct bus_audience *copy = arena_alloc(a, sizeof *copy);
    *copy = *from;
    copy->conversation_id = arena_str(a, from->conversation_id);
    copy->acl = conv_acl_copy(a, &from->acl);
    copy->lost = json_strs_copy(a, from->lost);
    return copy;
}

static void enqueue(struct bus *b, struct bus_msg *msg)
{
    struct queued_msg *q = xcalloc(1, sizeof(*q));
    arena_init(&q->arena);
    q->msg = *msg;
    q->number = b->published;
    q->msg.topic = arena_str(&q->arena, msg->topic);
    q->msg.type = arena_str(&q->arena, msg->type);
    q->msg.data = arena_str(&q->arena, msg->data);
    q->msg.audience = bus_audience_copy(&q->arena, msg->audience);
    list_push(&b->queue, &q->node);
    msg->shared = NULL; /* the copy owns it now */
}

void bus_publish(struct bus *b, struct bus_msg *msg)
{
    b->published++;
    if (b->is_delivering) {
        enqueue(b, msg);
        return;
    }
    b->is_delivering = true;
    bus_deliver(b, msg, b->published);
    struct list_node *n;
    while ((n = list_pop(&b->queue)) != NULL) {
        struct queued_msg *q = LIST_ENTRY(n, struct queued_msg, node);
        bus_deliver(b, &q->msg, q->number);
        arena_done(&q->arena);
        free(q);
    }
    b->is_delivering = false;
    while ((n = list_pop(&b->leavers)) != NULL)
        sub_drop(LIST_ENTRY(n, struct bus_sub, left));
}

void bus_observe(struct bus *b, bus_topic_fn fn, void *ctx)
{
    b->observer = fn;
    b->observer_ctx = ctx;
}

size_t bus_subscribers(const struct bus *b, str topic)
{
    const struct topic *t = map_get(&b->topics, topic);
    return t ? t->nsubs : 0;
}
