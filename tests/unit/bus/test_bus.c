#include "bus/bus.h"
#include "support/unit.h"

struct probe {
    struct bus *bus;
    struct bus_sub *sub, *other;
    char seen[64];
    size_t n;
    int mode;
};

static void on_msg(void *ctx, struct bus_msg *m)
{
    struct probe *p = ctx;
    assert_true(p->n + m->data.n < sizeof(p->seen));
    memcpy(p->seen + p->n, m->data.p, m->data.n);
    p->n += m->data.n;
    p->seen[p->n] = 0;
}

static void publish(struct bus *b, str topic, str data)
{
    struct bus_msg m = {.topic = topic, .type = STR("t"), .data = data};
    bus_publish(b, &m);
}

TEST(topics_are_separate)
{
    struct bus *b = bus_new(NULL);
    struct probe x = {0}, y = {0};
    struct bus_sub *sx = bus_subscribe(b, STR("x"), on_msg, &x);
    struct bus_sub *sy = bus_subscribe(b, STR("y"), on_msg, &y);
    publish(b, STR("x"), STR("1"));
    publish(b, STR("y"), STR("2"));
    publish(b, STR("z"), STR("3"));
    publish(b, STR("x"), STR("4"));
    assert_string_equal(x.seen, "14");
    assert_string_equal(y.seen, "2");
    assert_int_equal(bus_subscribers(b, STR("x")), 1);
    bus_unsubscribe(sx);
    assert_int_equal(bus_subscribers(b, STR("x")), 0);
    publish(b, STR("x"), STR("5"));
    assert_string_equal(x.seen, "14");
    bus_unsubscribe(sy);
    bus_unsubscribe(NULL);
    bus_free(b);
}

static void on_leave(void *ctx, struct bus_msg *m)
{
    struct probe *p = ctx;
    on_msg(p, m);
    if (p->sub) {
        bus_unsubscribe(p->sub);
        bus_unsubscribe(p->other);
        p->sub = p->other = NULL;
    }
}

TEST(leaving_inside_a_delivery)
{
    struct bus *b = bus_new(NULL);
    struct probe first = {0}, second = {0}, third = {0};
    first.sub = bus_subscribe(b, STR("x"), on_leave, &first);
    first.other = bus_subscribe(b, STR("x"), on_msg, &second);
    struct bus_sub *s3 = bus_subscribe(b, STR("x"), on_msg, &third);
    publish(b, STR("x"), STR("1"));
    publish(b, STR("x"), STR("2"));
    assert_string_equal(first.seen, "1");
    assert_string_equal(second.seen, "");
    assert_string_equal(third.seen, "12");
    bus_unsubscribe(s3);
    bus_free(b);
}

static void on_answer(void *ctx, struct bus_msg *m)
{
    struct probe *p = ctx;
    on_msg(p, m);
    if (str_eq(m->data, STR("1"))) {
        char fleeting[2] = "2"; /* must be copied: it is gone when the answer is delivered */
        publish(p->bus, STR("x"), str_from(fleeting));
        fleeting[0] = '?';
        p->other = bus_subscribe(p->bus, STR("x"), on_msg, p + 1);
        publish(p->bus, STR("x"), STR("3"));
    }
}

TEST(publishing_inside_a_delivery)
{
    struct bus *b = bus_new(NULL);
    struct probe p[2] = {{.bus = b}}, last = {0};
    struct bus_sub *s1 = bus_subscribe(b, STR("x"), on_answer, &p[0]);
    struct bus_sub *s2 = bus_subscribe(b, STR("x"), on_msg, &last);
    publish(b, STR("x"), STR("1"));
    assert_string_equal(p[0].seen, "123");
    assert_string_equal(last.seen, "123"); /* everybody sees one order */
    assert_string_equal(p[1].seen, "3");   /* joined after 2 was published */
    bus_unsubscribe(s1);
    bus_unsubscribe(s2);
    bus_unsubscribe(p[0].other);
    bus_free(b);
}

static void on_audience(void *ctx, struct bus_msg *m)
{
    struct probe *p = ctx;
    if (p->n++ == 0) { /* the answer is queued; all of its audience is on this stack */
        char owner[] = "usr_a", lost[] = "usr_b", id[] = "conv_1";
        str users[] = {str_from(lost)};
        struct bus_audience who = {.conversation_id = str_from(id),
                                   .acl = {.owner_id = str_from(owner), .is_sealed = true},
                                   .is_for_lost = true,
                                   .lost = {users, 1}};
        struct bus_msg answer = {.topic = m->topic, .type = STR("t"), .audience = &who};
        bus_publish(p->bus, &answer);
        memset(owner, '?', sizeof owner);
        memset(lost, '?', sizeof lost);
        memset(id, '?', sizeof id);
        users[0] = STR_NONE;
        return;
    }
    assert_true(str_eq(m->audience->conversation_id, STR("conv_1")));
    assert_true(str_eq(m->audience->acl.owner_id, STR("usr_a")) && m->audience->acl.is_sealed);
    assert_true(m->audience->is_for_lost && str_eq(m->audience->lost.items[0], STR("usr_b")));
}

TEST(a_queued_message_keeps_its_audience)
{
    struct bus *b = bus_new(NULL);
    struct probe p = {.bus = b};
    struct bus_sub *s = bus_subscribe(b, STR("x"), on_audience, &p);
    publish(b, STR("x"), STR("1"));
    assert_int_equal(p.n, 2);
    bus_unsubscribe(s);
    bus_free(b);
}

static void count_free(void *shared)
{
    ++*(int *)shared;
}

static void on_share(void *ctx, struct bus_msg *m)
{
    if (m->shared)
        return;
    m->shared = ctx;
    m->shared_free = count_free;
}

TEST(shared_work_is_freed_once)
{
    struct bus *b = bus_new(NULL);
    int freed = 0;
    struct bus_sub *s1 = bus_subscribe(b, STR("x"), on_share, &freed);
    struct bus_sub *s2 = bus_subscribe(b, STR("x"), on_share, &freed);
    publish(b, STR("x"), STR("1"));
    assert_int_equal(freed, 1);
    bus_unsubscribe(s2);
    bus_unsubscribe(s1);
    bus_free(b);
}
