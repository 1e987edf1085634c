#include "base/clock.h"
#include "loop/timer.h"
#include "support/unit.h"

enum { PATIENCE_MS = 60000 };

/* Timers that write their letter when they fire. */
struct script {
    struct loop *loop;
    char fired[64];
    size_t n, wanted;
    bool done;
};

struct actor {
    struct timer timer;
    struct script *script;
    char letter;
};

static void note(void *ctx)
{
    struct actor *a = ctx;
    struct script *s = a->script;
    s->fired[s->n++] = a->letter;
    s->done = s->n == s->wanted;
}

static void actor_init(struct actor *a, struct script *s, char letter, loop_fn fn)
{
    a->script = s;
    a->letter = letter;
    timer_init(&a->timer, s->loop, fn, a);
}

TEST(order_of_firing)
{
    struct script s = {.loop = loop_new(NULL), .wanted = 5};
    struct actor a[5];
    static const uint64_t delay[] = {12, 2, 7, 2, 0};
    uint64_t began;
    for (int i = 0; i < 5; i++)
        actor_init(&a[i], &s, (char)('a' + i), note);
    do { /* again if a busy machine has stopped the program between two of them */
        began = clock_mono_us();
        for (int i = 0; i < 5; i++) {
            timer_start(&a[i].timer, delay[i]);
            assert_true(timer_active(&a[i].timer));
        }
    } while (clock_mono_us() - began >= 1000);
    assert_true(loop_run_until(s.loop, &s.done, PATIENCE_MS));
    assert_string_equal(s.fired, "ebdca"); /* equal times in the order of their starts */
    assert_false(timer_active(&a[0].timer));
    loop_free(s.loop);
}

TEST(never_early)
{
    struct script s = {.loop = loop_new(NULL), .wanted = 1};
    struct actor a;
    actor_init(&a, &s, 'a', note);
    uint64_t before = clock_mono_us();
    while (clock_mono_us() - before < 15000)
        ; /* the loop's own idea of now grows old */
    before = clock_mono_us();
    timer_start(&a.timer, 10);
    assert_true(loop_run_until(s.loop, &s.done, PATIENCE_MS));
    /* libuv counts whole milliseconds, so up to one of them may be missing. */
    assert_true(clock_mono_us() - before >= 9000);
    loop_free(s.loop);
}

TEST(stop_and_restart)
{
    struct script s = {.loop = loop_new(NULL), .wanted = 2};
    struct actor a, b, c;
    actor_init(&a, &s, 'a', note);
    actor_init(&b, &s, 'b', note);
    actor_init(&c, &s, 'c', note);
    timer_stop(&a.timer); /* never started */
    timer_start(&a.timer, 1);
    timer_start(&b.timer, 2);
    timer_start(&c.timer, 3);
    timer_stop(&a.timer);
    timer_stop(&a.timer);
    assert_false(timer_active(&a.timer));
    timer_start(&b.timer, 6); /* now behind c */
    assert_true(loop_run_until(s.loop, &s.done, PATIENCE_MS));
    assert_string_equal(s.fired, "cb");
    loop_free(s.loop);
}

static void free_self(void *ctx)
{
    struct actor *a = ctx;
    note(a);
    free(a);
}

static void restart_then_stop_and_free_self(void *ctx)
{
    struct actor *a = ctx;
    note(a);
    timer_start(&a->timer, 0);
    timer_stop(&a->timer);
    free(a);
}

TEST(a_callback_may_free_its_timer)
{
    struct script s = {.loop = loop_new(NULL), .wanted = 3};
    struct actor *a = xcalloc(1, sizeof(*a)), *b = xcalloc(1, sizeof(*b)), c;
    actor_init(a, &s, 'a', free_self);
    actor_init(b, &s, 'b', restart_then_stop_and_free_self);
    actor_init(&c, &s, 'c', note);
    timer_start(&a->timer, 1);
    timer_start(&b->timer, 1);
    timer_start(&c.timer, 1);
    assert_true(loop_run_until(s.loop, &s.done, PATIENCE_MS));
    assert_string_equal(s.fired, "abc");
    loop_free(s.loop);
}

struct killer {
    struct actor actor, *victim;
};

static void kill_victim(void *ctx)
{
    struct killer *k = CONTAINER_OF(ctx, struct killer, actor);
    note(ctx);
    timer_stop(&k->victim->timer);
    free(k->victim);
}

/* Both are due in the same turn; the second must not come, and its memory is gone. */
TEST(a_callback_may_stop_a_timer_that_is_due)
{
    struct script s = {.loop = loop_new(NULL), .wanted = 2};
    struct killer k = {.victim = xcalloc(1, sizeof(*k.victim))};
    struct actor last;
    actor_init(&k.actor, &s, 'k', kill_victim);
    actor_init(k.victim, &s, 'v', note);
    actor_init(&last, &s, 'l', note);
    timer_start(&k.actor.timer, 0);
    timer_start(&k.victim->timer, 0);
    timer_start(&last.timer, 0);
    assert_true(loop_run_until(s.loop, &s.done, PATIENCE_MS));
    assert_string_equal(s.fired, "kl");
    loop_free(s.loop);
}

struct spinner {
    struct timer timer;
    int turns;
    bool enough;
};

static void spin(void *ctx)
{
    struct spinner *s = ctx;
    if (s->enough)
        return;
    s->turns++;
    timer_start(&s->timer, 0);
}

static void set_true(void *ctx)
{
    *(bool *)ctx = true;
}

TEST(a_timer_without_delay_starves_nobody)
{
    struct loop *l = loop_new(NULL);
    struct spinner s = {0};
    bool post_came = false;
    timer_init(&s.timer, l, spin, &s);
    timer_start(&s.timer, 0);
    loop_post(l, set_true, &post_came);
    assert_true(loop_run_until(l, &post_came, PATIENCE_MS));
    bool never = false;
    for (int i = 0; i < PATIENCE_MS && s.turns < 2; i++)
        loop_run_until(l, &never, 1);
    assert_true(s.turns > 1);
    s.enough = true;
    timer_stop(&s.timer);
    loop_free(l);
}

TEST(endless_delays_do_not_wrap)
{
    struct script s = {.loop = loop_new(NULL), .wanted = 1};
    struct actor a, b;
    actor_init(&a, &s, 'a', note);
    actor_init(&b, &s, 'b', note);
    timer_start(&a.timer, UINT64_MAX);
    timer_start(&b.timer, 1);
    assert_true(loop_run_until(s.loop, &s.done, PATIENCE_MS));
    assert_string_equal(s.fired, "b");
    assert_true(timer_active(&a.timer));
    timer_stop(&a.timer);
    loop_free(s.loop);
}

enum { CROWD = 2000 };

struct member {
    struct timer timer;
    struct crowd *crowd;
};

struct crowd {
    struct member members[CROWD];
    uint64_t last_due, last_seq;
    int fired, wanted;
    bool in_order, done;
};

static void on_member(void *ctx)
{
    struct member *m = ctx;
    struct crowd *c = m->crowd;
    c->in_order &= m->timer.due_ms > c->last_due ||
                   (m->timer.due_ms == c->last_due && m->timer.seq > c->last_seq);
    c->last_due = m->timer.due_ms;
    c->last_seq = m->timer.seq;
    c->done = ++c->fired == c->wanted;
}

/* A heap that loses its shape on removals fires out of order. */
TEST(a_crowd_with_removals_fires_in_order)
{
    struct loop *l = loop_new(NULL);
    struct crowd *c = xcalloc(1, sizeof(*c));
    uint32_t noise = 1;
    c->in_order = true;
    c->wanted = CROWD;
    for (int i = 0; i < CROWD; i++) {
        c->members[i].crowd = c;
        timer_init(&c->members[i].timer, l, on_member, &c->members[i]);
        noise = noise * 1664525 + 1013904223;
        timer_start(&c->members[i].timer, noise >> 26);
    }
    for (int i = 0; i < CROWD; i += 3) {
        timer_stop(&c->members[i].timer);
        c->wanted--;
    }
    for (int i = 1; i < CROWD; i += 3) {
        noise = noise * 1664525 + 1013904223;
        timer_start(&c->members[i].timer, noise >> 26);
    }
    assert_true(loop_run_until(l, &c->done, PATIENCE_MS));
    assert_true(c->in_order);
    free(c);
    loop_free(l);
}
