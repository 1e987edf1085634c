#include "llm/demo/demo.h"
#include "unit/llm/history_rig.h"

struct heard {
    struct buf words; /* each delta in brackets */
    size_t calls;
};

static void on_text(void *ctx, str d)
{
    struct heard *h = ctx;
    buf_printf(&h->words, "[%.*s]", STR_ARG(d));
}

static void on_tool(void *ctx, str id, str name)
{
    struct heard *h = ctx;
    (void)id, (void)name;
    h->calls++;
}

static const struct llm_events LISTENER = {.on_text = on_text, .on_tool_start = on_tool};

static void speak(const char *history, struct heard *h, struct answer *an, struct arena *a)
{
    struct demo_speech d;
    struct llm_tool *tool = ARENA_NEW(a, struct llm_tool);
    *tool = (struct llm_tool){STR("nb__time"), STR("Tells the time."), NULL};
    struct llm_request req = {.tools = tool, .ntools = 1, .max_tokens = 1000};
    req.messages = rig_history(a, history, &req.nmessages);
    answer_init(an, &LISTENER, h);
    buf_init(&h->words, 1 << 16);
    demo_begin(&d, a, &req, 400);
    while (demo_step(&d, an))
        assert_false(an->is_complete);
    assert_true(an->is_complete);
}

TEST(says_word_by_word)
{
    (void)state;
    struct arena a;
    struct heard h = {0};
    struct answer an;
    struct llm_result r;
    arena_init(&a);
    speak("[[\"u\",{\"text\":\"x\"}],[\"a\",{\"text\":\"y\"}],[\"u\",{\"text\":\"say one  two "
          "th\\u00fcr\"}]]",
          &h, &an, &a);
    assert_string_equal(buf_cstr(&h.words), "[one  ][two ][th\xc3\xbcr]");
    answer_result(&an, STR("demo"), STR("demo"), &r);
    assert_int_equal(r.stop, LLM_STOP_END);
    assert_int_equal(r.usage.input_tokens, 101);
    assert_int_equal(r.usage.output_tokens, 4);
    answer_done(&an);
    buf_done(&h.words);
    arena_done(&a);
}

static void on_args(void *ctx, str id, str piece)
{
    struct heard *h = ctx;
    buf_printf(&h->words, "%.*s:[%.*s]", STR_ARG(id), STR_ARG(piece));
}

TEST(writes_arguments_in_pieces)
{
    static const struct llm_events WITH_ARGS = {
        .on_text = on_text, .on_tool_start = on_tool, .on_tool_args = on_args};
    struct arena a;
    struct heard h = {0};
    struct answer an;
    struct llm_result r;
    struct demo_speech d = {.plan = {.uses = {{STR("t"), STR("{\"title\":\"a chart\",\"n\":1}")},
                                              {STR("t"), STR("{}")}},
                                     .nuses = 2}};
    arena_init(&a);
    answer_init(&an, &WITH_ARGS, &h);
    buf_init(&h.words, 1 << 16);
    while (demo_step(&d, &an))
        ;
    assert_string_equal(buf_cstr(&h.words),
                        "demo_call_1:[{\"title\":\"a char]demo_call_1:[t\",\"n\":1}]"
                        "demo_call_2:[{}]");
    answer_result(&an, STR("demo"), STR("demo"), &r);
    assert_int_equal(h.calls, 2);
    assert_true(str_eq(r.blocks[0].args, STR("{\"title\":\"a chart\",\"n\":1}")));
    answer_done(&an);
    buf_done(&h.words);
    arena_done(&a);
}

TEST(numbers_its_calls)
{
    (void)state;
    struct arena a;
    struct heard h = {0};
    struct answer an;
    struct llm_result r;
    arena_init(&a);
    speak("[[\"u\",{\"text\":\"x\"}],[\"a\",{\"use\":\"demo_call_1\"}],[\"u\",{\"result\":"
          "\"demo_call_1\"}],[\"a\",{\"text\":\"y\"}],[\"u\",{\"text\":\"call nb__time and call "
          "nb__time\"}]]",
          &h, &an, &a);
    answer_result(&an, STR("demo"), STR("demo"), &r);
    assert_int_equal(h.calls, 2);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.stop, LLM_STOP_TOOL);
    assert_true(str_eq(r.blocks[0].id, STR("demo_call_2")));
    assert_true(str_eq(r.blocks[1].id, STR("demo_call_3")));
    answer_done(&an);
    buf_done(&h.words);
    arena_done(&a);
}
