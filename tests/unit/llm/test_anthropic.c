#include <errno.h>

#include "llm/provider/provider.h"
#include "unit/llm/history_rig.h"

static const struct provider PROVIDER = {.name = STR_INIT("p"), .type = &PROVIDER_ANTHROPIC};

struct build {
    struct arena a;
    struct buf body;
    struct llm_request req;
    struct model_caps caps;
};

static int setup(void **state)
{
    struct build *b = xcalloc(1, sizeof *b);
    arena_init(&b->a);
    buf_init(&b->body, LLM_BODY_MAX);
    b->req = (struct llm_request){.model = STR("m"), .max_tokens = 100};
    b->caps = (struct model_caps){.can_images = true, .can_tools = true};
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct build *b = *state;
    buf_done(&b->body);
    arena_done(&b->a);
    free(b);
    return 0;
}

static void history(struct build *b, const char *json)
{
    b->req.messages = rig_history(&b->a, json, &b->req.nmessages);
}

static struct json *build(struct build *b)
{
    struct json *v = NULL;
    struct err e = {0};
    buf_clear(&b->body);
    if (anthropic_build(&PROVIDER, &b->caps, &b->req, &b->body, &e) < 0)
        fail_msg("%s", e.msg);
    assert_int_equal(json_parse(&b->a, buf_str(&b->body), 0, &v, &e), 0);
    return v;
}

TEST_WITH(writes_these_bytes, setup, teardown)
{
    struct build *b = *state;
    struct llm_tool tools[] = {
        {STR("a__one"), STR("first"), NULL},
        {STR("b__two"), STR(""),
         rig_json(&b->a, "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}")},
    };
    b->req.tools = tools;
    b->req.ntools = 2;
    b->req.system_stable = STR("be kind");
    b->req.system_volatile = STR("it is late");
    history(b, "[[\"u\",{\"text\":\"h\\u00e4\"},{\"image\":\"image/png\"}],"
               "[\"a\",{\"opaque\":{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"}},"
               "{\"text\":\"ok\"},{\"use\":\"t1\",\"name\":\"a__one\",\"args\":\"{ \\\"n\\\": 0.10 "
               "}\"},{\"use\":\"t2\",\"name\":\"b__two\"}],"
               "[\"u\",{\"result\":\"t1\",\"parts\":[{\"text\":\"r\"},{\"image\":\"image/png\"}]},"
               "{\"result\":\"t2\",\"error\":true,\"parts\":[{\"text\":\"no\"}]}]]");
    build(b);
    assert_string_equal(
        buf_cstr(&b->body),
        "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"tools\":["
        "{\"name\":\"a__one\",\"description\":\"first\",\"input_schema\":{\"type\":\"object\","
        "\"properties\":{}}},"
        "{\"name\":\"b__two\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"x\":{"
        "\"type\":\"string\"}}},\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"system\":[{\"type\":\"text\",\"text\":\"be kind\",\"cache_control\":{\"type\":"
        "\"ephemeral\"}},{\"type\":\"text\",\"text\":\"it is late\"}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"h\xc3\xa4\"},"
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":"
        "\"iVBORw0KGgo=\"},\"cache_control\":{\"type\":\"ephemeral\"}}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\","
        "\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"ok\"},{\"type\":\"tool_use\",\"id\":"
        "\"t1\",\"name\":\"a__one\",\"input\":{\"n\":0.10}},{\"type\":\"tool_use\",\"id\":\"t2\","
        "\"name\":\"b__two\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\","
        "\"content\":[{\"type\":\"text\",\"text\":\"r\"},{\"type\":\"image\",\"source\":{\"type\":"
        "\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}}]},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"no\"}],\"is_error\":true,\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
}

static size_t count(str text, str needle)
{
    size_t n = 0;
    for (ptrdiff_t at = 0; (at = str_find(text, needle, (size_t)at)) >= 0; at++)
        n++;
    return n;
}

TEST_WITH(marks_four_places_at_most, setup, teardown)
{
    struct build *b = *state;
    struct llm_tool tools[3] = {{.name = STR("a")}, {.name = STR("b")}, {.name = STR("c")}};
    b->req.tools = tools;
    b->req.ntools = 3;
    b->req.system_stable = STR("s");
    history(b, "[[\"u\",{\"text\":\"1\"}],[\"a\",{\"text\":\"2\"}],[\"u\",{\"text\":\"3\"}],[\"a\","
               "{\"text\":\"4\"}],[\"u\",{\"text\":\"5\"},{\"text\":\"6\"}]]");
    struct json *messages = json_get(build(b), "messages");
    assert_int_equal(count(buf_str(&b->body), STR("cache_control")), 4);
    struct json *newest = json_get(json_at(messages, 4), "content");
    assert_null(json_get(json_at(newest, 0), "cache_control"));
    assert_non_null(json_get(json_at(newest, 1), "cache_control"));
    assert_non_null(
        json_get(json_at(json_get(json_at(messages, 2), "content"), 0), "cache_control"));
    assert_null(json_get(json_at(json_get(json_at(messages, 0), "content"), 0), "cache_control"));
}

TEST_WITH(documents_have_a_title, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"pdf\":\"JVBERi0xLjQK\",\"text\":\"words\"}]]");
    b->caps.can_pdf = true;
    const struct json *block =
        json_at(json_get(json_at(json_get(build(b), "messages"), 0), "content"), 0);
    assert_true(str_eq(json_get_string(block, "type"), STR("document")));
    assert_true(str_eq(json_get_string(block, "title"), STR("a.pdf")));
    const struct json *source = json_get(block, "source");
    assert_true(str_eq(json_get_string(source, "media_type"), STR("application/pdf")));
    assert_true(str_eq(json_get_string(source, "data"), STR("JVBERi0xLjQK")));
    b->caps.can_pdf = false;
    block = json_at(json_get(json_at(json_get(build(b), "messages"), 0), "content"), 0);
    assert_true(str_eq(json_get_string(block, "text"), STR("words")));
}

TEST_WITH(leaves_out_what_is_empty, setup, teardown)
{
    struct build *b = *state;
    b->req.system_stable = STR(" \n");
    history(b, "[[\"u\",{\"text\":\"1\"}]]");
    struct json *body = build(b);
    assert_null(json_get(body, "system"));
    assert_null(json_get(body, "tools"));
    assert_null(json_get(body, "thinking"));
    assert_null(json_get(body, "temperature"));
}

TEST_WITH(asks_for_no_more_than_the_model_gives, setup, teardown)
{
    struct build *b = *state;
    b->caps.max_output_tokens = 64;
    history(b, "[[\"u\",{\"text\":\"1\"}]]");
    assert_int_equal(json_get_int(build(b), "max_tokens", 0), 64);
    b->req.max_tokens = 0;
    b->caps.max_output_tokens = 0;
    assert_int_equal(json_get_int(build(b), "max_tokens", 0), MODEL_MAX_OUTPUT_DEFAULT);
}

TEST_WITH(thinks_as_the_model_can, setup, teardown)
{
    static const struct {
        const char *want;
        bool enabled, adaptive;
        int64_t max_tokens, budget;
        const char *sent;
    } CASES[] = {
        {NULL, true, true, 8000, 2000, NULL},
        {"off", true, true, 8000, 2000, NULL},
        {"adaptive", true, true, 8000, 2000, "{\"type\":\"adaptive\"}"},
        {"adaptive", false, true, 8000, 2000, "{\"type\":\"adaptive\"}"},
        {"adaptive", true, false, 8000, 2000, "{\"type\":\"enabled\",\"budget_tokens\":2000}"},
        {"adaptive", false, false, 8000, 2000, NULL},
        {"enabled", true, true, 8000, 2000, "{\"type\":\"enabled\",\"budget_tokens\":2000}"},
        {"enabled", false, true, 8000, 2000, "{\"type\":\"adaptive\"}"},
        {"enabled", true, false, 8000, 10, "{\"type\":\"enabled\",\"budget_tokens\":1024}"},
        {"enabled", true, false, 1500, 9000, "{\"type\":\"enabled\",\"budget_tokens\":1499}"},
        {"enabled", true, false, 1024, 9000, NULL},
        {"nonsense", true, true, 8000, 2000, NULL},
    };
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"1\"}]]");
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        b->req.thinking = CASES[i].want;
        b->req.max_tokens = CASES[i].max_tokens;
        b->req.thinking_budget = CASES[i].budget;
        b->caps.thinks_enabled = CASES[i].enabled;
        b->caps.thinks_adaptive = CASES[i].adaptive;
        struct json *sent = json_get(build(b), "thinking");
        str text = sent ? json_to_str(&b->a, sent) : STR_NONE;
        if (!str_eq(text, str_from(CASES[i].sent)))
            fail_msg("case %zu sent %.*s", i, STR_ARG(text));
    }
}

/* A budget demands that the turn under way began with thinking; one that did not goes on
 * without. */
TEST_WITH(does_not_think_in_the_middle_of_a_foreign_turn, setup, teardown)
{
    struct build *b = *state;
    b->req.thinking = "enabled";
    b->req.thinking_budget = 2000;
    b->req.max_tokens = 8000;
    b->caps.thinks_enabled = true;
    history(b, "[[\"u\",{\"text\":\"1\"}],[\"a\",{\"use\":\"t1\"}],[\"u\",{\"result\":\"t1\"}]]");
    assert_null(json_get(build(b), "thinking"));
    history(b, "[[\"u\",{\"text\":\"1\"}],[\"a\",{\"opaque\":{\"type\":\"thinking\"}},{\"use\":"
               "\"t1\"}],[\"u\",{\"result\":\"t1\"}]]");
    assert_non_null(json_get(build(b), "thinking"));
}

TEST_WITH(names_an_effort_only_to_models_that_know_it, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"1\"}]]");
    b->req.effort = "high";
    assert_null(json_get(build(b), "output_config"));
    b->caps.takes_effort = true;
    assert_true(
        str_eq(json_get_string(json_get(build(b), "output_config"), "effort"), STR("high")));
}

TEST_WITH(the_same_values_give_the_same_bytes, setup, teardown)
{
    struct build *b = *state;
    history(b, "[[\"u\",{\"text\":\"1\"}],[\"a\",{\"use\":\"a.b\"},{\"use\":\"a.b\"}]]");
    build(b);
    str first = arena_str(&b->a, buf_str(&b->body));
    build(b);
    assert_true(str_eq(first, buf_str(&b->body)));
}

TEST_WITH(refuses_what_is_too_large, setup, teardown)
{
    struct build *b = *state;
    struct err e = {0};
    struct buf small;
    history(b, "[[\"u\",{\"text\":\"1\"}]]");
    buf_init(&small, 50);
    assert_int_equal(anthropic_build(&PROVIDER, &b->caps, &b->req, &small, &e), -EMSGSIZE);
    assert_non_null(strstr(e.msg, "too large"));
    buf_done(&small);
}

TEST_WITH(finds_the_address, setup, teardown)
{
    static const struct {
        str base, url;
    } CASES[] = {
        {STR_INIT("https://api.anthropic.com"), STR_INIT("https://api.anthropic.com/v1/messages")},
        {STR_INIT("http://h:1/v1"), STR_INIT("http://h:1/v1/messages")},
        {STR_INIT("http://h/anthropic"), STR_INIT("http://h/anthropic/v1/messages")},
    };
    struct build *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct provider p = {.base_url = CASES[i].base};
        assert_true(str_eq(PROVIDER_ANTHROPIC.url(&p, STR("m"), &b->a), CASES[i].url));
    }
}
