#include "base/clock.h"
#include "engine/deltas.h"
#include "support/unit.h"

#define TEXT      STR("text.delta")
#define REASONING STR("reasoning.delta")

struct fixture {
    struct loop *loop;
    struct deltas deltas;
    struct buf seen;  /* "type:text|" for each that was published */
    uint64_t busy_us; /* what a publication costs */
    bool is_watcher_late;
    bool is_done;
};

static bool on_publish(void *ctx, str type, str text)
{
    struct fixture *f = ctx;
    for (uint64_t began_us = clock_mono_us(); clock_mono_us() - began_us < f->busy_us;)
        ;
    buf_printf(&f->seen, "%.1s:%.*s|", type.p, STR_ARG(text));
    return f->is_watcher_late;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    f->loop = loop_new(NULL);
    buf_init(&f->seen, 1024 * 1024);
    deltas_init(&f->deltas, f->loop, on_publish, f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    deltas_done(&f->deltas);
    buf_done(&f->seen);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void wait_ms(struct fixture *f, uint64_t ms)
{
    (void)loop_run_until(f->loop, &f->is_done, ms);
}

static void on_turn(void *ctx)
{
    bool *is_over = ctx;
    *is_over = true;
}

/* One turn of the loop, with what it defers. */
static void turn(struct fixture *f)
{
    bool is_over = false;
    struct deferred end;
    defer_init(&end, on_turn, &is_over);
    defer_start(f->loop, &end);
    assert_true(loop_run_until(f->loop, &is_over, 60000));
}

static void wait_seen(struct fixture *f, const char *all)
{
    for (int i = 0; i < 60000 && strcmp(buf_cstr(&f->seen), all) != 0; i++)
        wait_ms(f, 1);
    assert_string_equal(buf_cstr(&f->seen), all);
}

TEST_WITH(a_turn_of_the_loop_is_one_event, setup, teardown)
{
    struct fixture *f = *state;
    deltas_add(&f->deltas, TEXT, STR("a"));
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_add(&f->deltas, TEXT, STR("c"));
    turn(f);
    assert_string_equal(buf_cstr(&f->seen), "t:abc|");
}

/* No clock holds a piece back while publishing costs nothing. */
TEST_WITH(every_turn_publishes_its_piece, setup, teardown)
{
    struct fixture *f = *state;
    turn(f);
    for (int i = 0; i < 3; i++) {
        deltas_add(&f->deltas, TEXT, STR("a"));
        turn(f);
        while (f->deltas.waiting.n > 0) /* a loaded machine: the loop was behind */
            wait_ms(f, 1);
    }
    assert_string_equal(buf_cstr(&f->seen), "t:a|t:a|t:a|");
}

TEST_WITH(a_loop_that_is_behind_collects_for_as_long_as_it_was_busy, setup, teardown)
{
    struct fixture *f = *state;
    f->busy_us = 3000;
    deltas_add(&f->deltas, TEXT, STR("a"));
    while (!timer_active(&f->deltas.rest))
        turn(f);
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_add(&f->deltas, TEXT, STR("c"));
    assert_string_equal(buf_cstr(&f->seen), "t:a|");
    wait_seen(f, "t:a|t:bc|");
}

TEST_WITH(a_watcher_that_is_behind_gets_fewer_events, setup, teardown)
{
    struct fixture *f = *state;
    f->is_watcher_late = true;
    deltas_add(&f->deltas, TEXT, STR("a"));
    turn(f);
    turn(f);
    assert_true(timer_active(&f->deltas.rest));
    f->is_watcher_late = false;
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_add(&f->deltas, TEXT, STR("c"));
    wait_seen(f, "t:a|t:bc|");
}

TEST_WITH(types_are_not_mixed_or_reordered, setup, teardown)
{
    struct fixture *f = *state;
    deltas_add(&f->deltas, REASONING, STR("1"));
    deltas_add(&f->deltas, REASONING, STR("2"));
    deltas_add(&f->deltas, TEXT, STR("a"));
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_add(&f->deltas, REASONING, STR("3"));
    deltas_flush(&f->deltas);
    assert_string_equal(buf_cstr(&f->seen), "r:12|t:ab|r:3|");
}

TEST_WITH(a_flush_sends_what_waits_once, setup, teardown)
{
    struct fixture *f = *state;
    deltas_flush(&f->deltas);
    deltas_add(&f->deltas, TEXT, STR("a"));
    deltas_flush(&f->deltas);
    assert_string_equal(buf_cstr(&f->seen), "t:a|");
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_flush(&f->deltas);
    deltas_flush(&f->deltas);
    wait_ms(f, 2 * DELTAS_REST_MS);
    assert_string_equal(buf_cstr(&f->seen), "t:a|t:b|");
}

TEST_WITH(what_waits_has_a_ceiling, setup, teardown)
{
    struct fixture *f = *state;
    static char big[DELTAS_BYTES_MAX + 1];
    memset(big, 'x', sizeof big);
    deltas_add(&f->deltas, TEXT, str_make(big, DELTAS_BYTES_MAX));
    assert_int_equal(f->seen.n, 0);
    deltas_add(&f->deltas, TEXT, STR("b"));
    assert_int_equal(f->seen.n, 3 + DELTAS_BYTES_MAX);
    deltas_add(&f->deltas, TEXT, str_make(big, sizeof big));
    assert_int_equal(f->seen.n, 3 + DELTAS_BYTES_MAX + 4 + 3 + sizeof big);
    assert_int_equal(f->deltas.waiting.n, 0);
}
