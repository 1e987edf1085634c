#include "engine/deltas.h"
#include "support/unit.h"

#define TEXT      STR("text.delta")
#define REASONING STR("reasoning.delta")

struct fixture {
    struct loop *loop;
    struct deltas deltas;
    struct buf seen; /* "type:text|" for each that was published */
    bool is_done;
};

static void on_publish(void *ctx, str type, str text)
{
    struct fixture *f = ctx;
    buf_printf(&f->seen, "%.1s:%.*s|", type.p, STR_ARG(text));
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

TEST_WITH(the_first_goes_at_once_the_rest_together, setup, teardown)
{
    struct fixture *f = *state;
    deltas_add(&f->deltas, TEXT, STR("a"));
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_add(&f->deltas, TEXT, STR("c"));
    assert_string_equal(buf_cstr(&f->seen), "t:a|");
    wait_ms(f, 4 * DELTAS_PACE_MS);
    assert_string_equal(buf_cstr(&f->seen), "t:a|t:bc|");
}

TEST_WITH(after_silence_the_next_is_a_first_one, setup, teardown)
{
    struct fixture *f = *state;
    deltas_add(&f->deltas, TEXT, STR("a"));
    wait_ms(f, 4 * DELTAS_PACE_MS);
    deltas_add(&f->deltas, TEXT, STR("b"));
    assert_string_equal(buf_cstr(&f->seen), "t:a|t:b|");
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
    assert_string_equal(buf_cstr(&f->seen), "r:1|r:2|t:ab|r:3|");
}

TEST_WITH(a_flush_sends_what_waits_once, setup, teardown)
{
    struct fixture *f = *state;
    deltas_flush(&f->deltas);
    deltas_add(&f->deltas, TEXT, STR("a"));
    deltas_add(&f->deltas, TEXT, STR("b"));
    deltas_flush(&f->deltas);
    deltas_flush(&f->deltas);
    wait_ms(f, 2 * DELTAS_PACE_MS);
    assert_string_equal(buf_cstr(&f->seen), "t:a|t:b|");
}

TEST_WITH(what_waits_has_a_ceiling, setup, teardown)
{
    struct fixture *f = *state;
    static char big[DELTAS_BYTES_MAX + 1];
    memset(big, 'x', sizeof big);
    deltas_add(&f->deltas, TEXT, STR("a"));
    deltas_add(&f->deltas, TEXT, str_make(big, DELTAS_BYTES_MAX));
    assert_string_equal(buf_cstr(&f->seen), "t:a|");
    deltas_add(&f->deltas, TEXT, STR("b"));
    assert_int_equal(f->seen.n, 4 + 3 + DELTAS_BYTES_MAX);
    deltas_add(&f->deltas, TEXT, str_make(big, sizeof big));
    assert_int_equal(f->seen.n, 4 + 3 + DELTAS_BYTES_MAX + 4 + 3 + sizeof big);
    assert_int_equal(f->deltas.waiting.n, 0);
}
