#include "llm/provider/answer.h"
#include "support/unit.h"

TEST(too_many_blocks_fail)
{
    (void)state;
    struct answer an;
    answer_init(&an, NULL, NULL);
    for (unsigned i = 0; i < ANSWER_BLOCKS_MAX; i++)
        assert_non_null(answer_open(&an, ANSWER_TEXT, i));
    assert_false(an.has_error);
    assert_null(answer_open(&an, ANSWER_TEXT, 0));
    assert_true(an.has_error);
    answer_done(&an);
}

TEST(too_many_bytes_fail)
{
    (void)state;
    struct answer an;
    size_t n = 1 << 20;
    char *block = xcalloc(1, n);
    answer_init(&an, NULL, NULL);
    struct answer_block *b = answer_open(&an, ANSWER_TEXT, 0);
    for (size_t at = 0; at < ANSWER_BYTES_MAX; at += n)
        answer_text(&an, b, str_make(block, n));
    assert_false(an.has_error);
    answer_text(&an, b, STR("x"));
    assert_true(an.has_error);
    assert_int_equal(b->text.n, ANSWER_BYTES_MAX);
    free(block);
    answer_done(&an);
}

TEST(the_first_error_stays)
{
    (void)state;
    struct answer an;
    answer_init(&an, NULL, NULL);
    answer_fail(&an, STR("a"), STR("first"));
    answer_fail(&an, STR("b"), STR("second"));
    assert_true(str_eq(an.error.message, STR("first")));
    answer_done(&an);
}

TEST(input_is_the_sum_of_its_parts)
{
    (void)state;
    struct answer an;
    struct llm_result r;
    answer_init(&an, NULL, NULL);
    an.usage = (struct answer_usage){
        .uncached_in = 1, .cache_read = 2, .cache_write = 7, .cache_write_1h = 3, .out = 5};
    an.is_complete = true;
    answer_result(&an, STR("p"), STR("m"), &r);
    assert_int_equal(r.usage.input_tokens, 10);
    assert_int_equal(r.usage.cache_write_5m_tokens, 4);
    assert_int_equal(r.usage.cache_write_1h_tokens, 3);
    assert_true(str_eq(r.model, STR("p:m")));
    answer_done(&an);
}

TEST(counts_make_sense)
{
    (void)state;
    struct arena a;
    struct json *u;
    arena_init(&a);
    json_parse(&a, STR("{\"a\":5,\"b\":-1,\"c\":9223372036854775807,\"d\":\"5\",\"e\":1.5}"), 0, &u,
               NULL);
    assert_int_equal(answer_count(u, "a", 7), 5);
    for (const char *key = "bcdef"; *key; key++)
        assert_int_equal(answer_count(u, (char[]){*key, 0}, 7), 7);
    arena_done(&a);
}

TEST(blocks_are_found_while_they_are_open)
{
    (void)state;
    struct answer an;
    answer_init(&an, NULL, NULL);
    answer_open(&an, ANSWER_TEXT, 0)->is_open = false;
    assert_null(answer_find(&an, 0));
    struct answer_block *b = answer_open(&an, ANSWER_TOOL, 0);
    assert_ptr_equal(answer_find(&an, 0), b);
    assert_ptr_equal(answer_last(&an, ANSWER_TOOL), b);
    assert_null(answer_last(&an, ANSWER_OPAQUE));
    answer_done(&an);
}
