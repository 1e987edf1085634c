#include "base/clock.h"
#include "base/json/json_repair.h"
#include "engine/drafts.h"
#include "support/unit.h"

struct desk {
    struct loop *loop;
    struct drafts drafts;
    struct buf seen; /* "id input;" */
    unsigned n;
};

static void publish(void *ctx, const struct call_draft *d, str input)
{
    struct desk *t = ctx;
    struct arena a;
    struct json *v;
    arena_init(&a);
    assert_int_equal(json_parse(&a, input, 0, &v, NULL), 0);
    arena_done(&a);
    buf_printf(&t->seen, "%.*s %.*s;", STR_ARG(d->id), STR_ARG(input));
    t->n++;
}

static int set_up(void **state)
{
    struct desk *t = xcalloc(1, sizeof *t);
    t->loop = loop_new(NULL);
    buf_init(&t->seen, 1u << 22);
    drafts_init(&t->drafts, t->loop, publish, t);
    drafts_begin(&t->drafts, STR("c1"), STR("s__table"), STR("ui://s/table"));
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *t = *state;
    drafts_done(&t->drafts);
    buf_done(&t->seen);
    loop_free(t->loop);
    free(t);
    return 0;
}

#define AT_A_DESK(name) TEST_WITH(name, set_up, tear_down)

AT_A_DESK(drafts_are_written_as_they_were_published)
{
    struct desk *t = *state;
    struct buf out;
    struct json_writer w;
    drafts_begin(&t->drafts, STR("c2"), STR("nb__time"), STR_NONE);
    drafts_add(&t->drafts, STR("c1"), STR("{\"rows\": [\"a\""));
    drafts_add(&t->drafts, STR("c1"), STR(", \"b\"")); /* not published yet */
    jw_start(&w, &out, 1u << 16);
    drafts_write(&t->drafts, &w);
    assert_string_equal(buf_cstr(&out),
                        "[{\"id\":\"c1\",\"name\":\"s__table\",\"resourceUri\":\"ui://s/table\","
                        "\"input\":{\"rows\": [\"a\"]}},{\"id\":\"c2\",\"name\":\"nb__time\"}]");
    buf_done(&out);
}

static void until(struct desk *t, unsigned n)
{
    bool never = false;
    uint64_t end = clock_mono_ms() + 60000;
    while (t->n < n && clock_mono_ms() < end)
        (void)loop_run_until(t->loop, &never, 5);
    assert_int_equal(t->n, n);
}

AT_A_DESK(the_first_piece_is_published_now_and_the_next_ones_together)
{
    struct desk *t = *state;
    uint64_t before = clock_mono_ms();
    drafts_add(&t->drafts, STR("c1"), STR("{\"a\":"));
    assert_string_equal(buf_cstr(&t->seen), "c1 {};");
    drafts_add(&t->drafts, STR("c1"), STR("\"x"));
    drafts_add(&t->drafts, STR("c1"), STR("y\",\"b\":[1,2"));
    assert_int_equal(t->n, 1);
    until(t, 2);
    assert_true(clock_mono_ms() - before >= DRAFTS_PACE_MS);
    assert_string_equal(buf_cstr(&t->seen), "c1 {};c1 {\"a\":\"xy\",\"b\":[1]};");
}

AT_A_DESK(a_piece_without_news_is_not_published)
{
    struct desk *t = *state;
    drafts_add(&t->drafts, STR("c1"), STR(" "));
    assert_int_equal(t->n, 0);
    drafts_add(&t->drafts, STR("c1"), STR("{"));
    drafts_add(&t->drafts, STR("c1"), STR("\"half a ke"));
    bool never = false;
    while (timer_active(&t->drafts.pace))
        (void)loop_run_until(t->loop, &never, 5);
    assert_int_equal(t->n, 1);
    drafts_add(&t->drafts, STR("c1"), STR("y\":null"));
    assert_string_equal(buf_cstr(&t->seen), "c1 {};c1 {\"half a key\":null};");
}

AT_A_DESK(calls_without_an_interface_and_unknown_ones_are_not_published)
{
    struct desk *t = *state;
    drafts_begin(&t->drafts, STR("c2"), STR("s__plain"), STR_NONE);
    drafts_add(&t->drafts, STR("c2"), STR("{\"a\":1}"));
    drafts_add(&t->drafts, STR("c3"), STR("{\"a\":1}"));
    assert_int_equal(t->n, 0);
    assert_true(str_eq(drafts_find(&t->drafts, STR("c2"))->name, STR("s__plain")));
    assert_null(drafts_find(&t->drafts, STR("c3")));
}

AT_A_DESK(two_calls_are_written_at_the_same_time)
{
    struct desk *t = *state;
    drafts_begin(&t->drafts, STR("c2"), STR("s__table"), STR("ui://s/table"));
    drafts_add(&t->drafts, STR("c1"), STR("{\"a\":true"));
    drafts_add(&t->drafts, STR("c2"), STR("{\"b\":true"));
    drafts_add(&t->drafts, STR("c1"), STR(",\"c\":true"));
    until(t, 3);
    assert_string_equal(buf_cstr(&t->seen),
                        "c1 {\"a\":true};c1 {\"a\":true,\"c\":true};c2 {\"b\":true};");
}

AT_A_DESK(arguments_that_are_too_long_are_not_published_any_more)
{
    struct desk *t = *state;
    char *text = xcalloc(1, DRAFTS_ARGS_MAX);
    memset(text, 'x', DRAFTS_ARGS_MAX);
    text[0] = '"';
    drafts_add(&t->drafts, STR("c1"), str_make(text, DRAFTS_ARGS_MAX));
    assert_int_equal(t->n, 1);
    drafts_add(&t->drafts, STR("c1"), STR("y"));
    drafts_add(&t->drafts, STR("c1"), STR("z"));
    bool never = false;
    while (timer_active(&t->drafts.pace))
        (void)loop_run_until(t->loop, &never, 5);
    assert_int_equal(t->n, 1);
    free(text);
}

AT_A_DESK(there_is_a_limit_to_the_calls_that_are_kept)
{
    struct desk *t = *state;
    char id[16];
    for (int i = 2; i <= DRAFTS_MAX + 1; i++) {
        snprintf(id, sizeof id, "c%d", i);
        drafts_begin(&t->drafts, str_from(id), STR("s__table"), STR("ui://s/table"));
    }
    assert_null(drafts_find(&t->drafts, str_from(id)));
    drafts_add(&t->drafts, str_from(id), STR("{}"));
    assert_int_equal(t->n, 0);
}

AT_A_DESK(nothing_is_published_after_the_end_of_the_answer)
{
    struct desk *t = *state;
    drafts_add(&t->drafts, STR("c1"), STR("{"));
    drafts_add(&t->drafts, STR("c1"), STR("\"a\":true"));
    drafts_clear(&t->drafts);
    assert_false(timer_active(&t->drafts.pace));
    assert_null(drafts_find(&t->drafts, STR("c1")));
    assert_int_equal(t->n, 1);
}
