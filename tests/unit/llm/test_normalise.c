#include <errno.h>

#include "llm/provider/normalise.h"
#include "unit/llm/history_rig.h"

static void describe_block(struct buf *out, struct arena *a, const struct llm_block *b)
{
    switch (b->type) {
    case LLM_TEXT:
        buf_printf(out, " '%.*s'", STR_ARG(b->text));
        break;
    case LLM_IMAGE:
        buf_printf(out, " image(%.*s)", STR_ARG(b->mime));
        break;
    case LLM_TOOL_USE:
        buf_printf(out, " use(%.*s %.*s %.*s)", STR_ARG(b->id), STR_ARG(b->name),
                   STR_ARG(json_to_str(a, b->json)));
        break;
    case LLM_TOOL_RESULT:
        buf_printf(out, " %s(%.*s", b->is_error ? "error" : "result", STR_ARG(b->id));
        for (size_t i = 0; i < b->nparts; i++)
            describe_block(out, a, &b->parts[i]);
        buf_add_char(out, ')');
        break;
    case LLM_OPAQUE:
        buf_printf(out, " opaque");
        break;
    case LLM_DOCUMENT:
        buf_printf(out, " document(%.*s)", STR_ARG(b->name));
        break;
    }
}

static str describe(struct arena *a, const struct wire_history *h)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < h->n; i++) {
        buf_printf(&out, "%s%s", i ? " | " : "", h->messages[i].role == LLM_USER ? "U" : "A");
        for (size_t k = 0; k < h->messages[i].n; k++)
            describe_block(&out, a, &h->messages[i].blocks[k]);
    }
    str s = arena_str(a, buf_str(&out));
    buf_done(&out);
    return s;
}

#define LEFT "'(The beginning of this conversation is left out.)'"

struct norm_case {
    const char *name, *history, *wire;
};

static const struct norm_case CASES[] = {
    {"plain", "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"text\":\"b\"}],[\"u\",{\"text\":\"c\"}]]",
     "U 'a' | A 'b' | U 'c'"},
    {"same roles are merged", "[[\"u\",{\"text\":\"a\"}],[\"u\",{\"text\":\"b\"}]]", "U 'a' 'b'"},
    {"blank text goes, and messages that held nothing else",
     "[[\"u\",{\"text\":\"a\"},{\"text\":\" \\n\"}],[\"a\",{\"text\":\"\"}],[\"u\",{\"text\":\"c\"}"
     "]]",
     "U 'a' 'c'"},
    {"the first message is the user's", "[[\"a\",{\"text\":\"b\"}],[\"u\",{\"text\":\"c\"}]]",
     "U " LEFT " | A 'b' | U 'c'"},
    {"no prefill", "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"text\":\"b\"}]]",
     "U 'a' | A 'b' | U 'Continue.'"},
    {"calls with results",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"text\":\"b\"},{\"use\":\"t1\",\"args\":\"{\\\"x\\\": "
     "1}\"}],[\"u\",{\"result\":\"t1\",\"parts\":[{\"text\":\"r\"}]}]]",
     "U 'a' | A 'b' use(t1 f {\"x\":1}) | U result(t1 'r')"},
    {"results come first, in the order of the calls",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"},{\"use\":\"t2\"}],[\"u\",{\"text\":\"x\"},{"
     "\"result\":\"t2\"},{\"result\":\"t1\"}]]",
     "U 'a' | A use(t1 f {}) use(t2 f {}) | U result(t1) result(t2) 'x'"},
    {"a missing result is made up",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"},{\"use\":\"t2\"}],[\"u\",{\"result\":"
     "\"t2\"}]]",
     "U 'a' | A use(t1 f {}) use(t2 f {}) | U error(t1 'interrupted: the run ended before this "
     "tool answered') result(t2)"},
    {"also at the end of the history", "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"}]]",
     "U 'a' | A use(t1 f {}) | U error(t1 'interrupted: the run ended before this tool "
     "answered')"},
    {"also before the next question",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"}],[\"u\",{\"text\":\"b\"}]]",
     "U 'a' | A use(t1 f {}) | U error(t1 'interrupted: the run ended before this tool answered') "
     "'b'"},
    {"orphan results go", "[[\"u\",{\"result\":\"t9\"},{\"text\":\"a\"}]]", "U 'a'"},
    {"and messages that held nothing else",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"text\":\"b\"}],[\"u\",{\"result\":\"t9\"}],[\"a\",{"
     "\"text\":\"c\"}],[\"u\",{\"text\":\"d\"}]]",
     "U 'a' | A 'b' 'c' | U 'd'"},
    {"one result per call",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"}],[\"u\",{\"result\":\"t1\",\"parts\":[{"
     "\"text\":\"1\"}]},{\"result\":\"t1\",\"parts\":[{\"text\":\"2\"}]}]]",
     "U 'a' | A use(t1 f {}) | U result(t1 '1')"},
    {"ids are unique",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"c0\"}],[\"u\",{\"result\":\"c0\",\"parts\":[{"
     "\"text\":\"1\"}]}],[\"a\",{\"use\":\"c0\"},{\"use\":\"c0\"}],[\"u\",{\"result\":\"c0\","
     "\"parts\":[{\"text\":\"2\"}]},{\"result\":\"c0\",\"parts\":[{\"text\":\"3\"}]}]]",
     "U 'a' | A use(c0 f {}) | U result(c0 '1') | A use(c0_2 f {}) use(c0_3 f {}) | U result(c0_2 "
     "'2') result(c0_3 '3')"},
    {"ids and names have the allowed characters",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"a.b/c\",\"name\":\"x.y\"}],[\"u\",{\"result\":"
     "\"a.b/c\"}]]",
     "U 'a' | A use(a_b_c_fc7cd9c4 x_y_b24ca9b7 {}) | U result(a_b_c_fc7cd9c4)"},
    {"bad arguments become none",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\",\"args\":\"{oops\",\"bad\":true},{\"use\":"
     "\"t2\",\"args\":\"[1]\"},{\"use\":\"t3\",\"args\":\"\"}],[\"u\",{\"result\":\"t1\",\"error\":"
     "true,\"parts\":[{\"text\":\"bad\"}]},{\"result\":\"t2\"},{\"result\":\"t3\"}]]",
     "U 'a' | A use(t1 f {}) use(t2 f {}) use(t3 f {}) | U error(t1 'bad') result(t2) "
     "result(t3)"},
    {"errors hold text, and some",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"},{\"use\":\"t2\"}],[\"u\",{\"result\":"
     "\"t1\",\"error\":true,\"parts\":[{\"image\":\"image/png\"}]},{\"result\":\"t2\",\"error\":"
     "true}]]",
     "U 'a' | A use(t1 f {}) use(t2 f {}) | U error(t1 '[a picture is left out]') error(t2 'the "
     "tool failed without a message')"},
    {"pictures are what their bytes are",
     "[[\"u\",{\"image\":\"image/tiff\"},{\"image\":\"image/gif\",\"data\":\"AAAA\"}]]",
     "U image(image/png) '[a picture is left out: it is not a PNG, JPEG, GIF or WebP picture]'"},
    {"an answer that is only accompanied says nothing",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"opaque\":{\"thought\":\"x\"}},{\"opaque\":{"
     "\"thoughtSignature\":\"s\"}},{\"opaque\":{\"type\":\"reasoning\"}},{\"opaque\":{\"phase\":"
     "\"p\"}}],[\"u\",{\"text\":\"c\"}]]",
     "U 'a' 'c'"},
    {"a signature at the end is no pause",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"text\":\"b\"},{\"opaque\":{\"thoughtSignature\":\"s\"}}]"
     "]",
     "U 'a' | A 'b' opaque | U 'Continue.'"},
    {"opaque blocks go back to where they came from",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"opaque\":{\"type\":\"thinking\"}},{\"opaque\":{\"type\":"
     "\"thinking\"},\"model\":\"other\"},{\"opaque\":{\"type\":\"thinking\"},\"provider\":"
     "\"other\"},{\"text\":\"b\"}],[\"u\",{\"text\":\"c\"}]]",
     "U 'a' | A opaque 'b' | U 'c'"},
    {"thinking alone says nothing",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"opaque\":{\"type\":\"thinking\"}}],[\"u\",{\"text\":"
     "\"c\"}]]",
     "U 'a' 'c'"},
    {"a paused turn goes back as it is",
     "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"opaque\":{\"type\":\"server_tool_use\"}}]]",
     "U 'a' | A opaque"},
    {"calls in a user message and results in an answer are nonsense",
     "[[\"u\",{\"use\":\"t1\"},{\"text\":\"a\"}],[\"a\",{\"result\":\"t1\"},{\"text\":\"b\"}],["
     "\"u\",{\"text\":\"c\"}]]",
     "U 'a' | A 'b' | U 'c'"},
};

static const struct wire_rules RULES = {.provider = STR_INIT("p"),
                                        .model = STR_INIT("m"),
                                        .id_max = 64,
                                        .can_images = true,
                                        .images_in_results = true};

static void check(const struct wire_rules *rules, const struct norm_case *c)
{
    struct arena a;
    struct wire_history h;
    size_t n;
    arena_init(&a);
    struct llm_message *messages = rig_history(&a, c->history, &n);
    assert_int_equal(normalise(&a, rules, messages, n, &h, NULL), 0);
    const char *got = arena_cstr(&a, describe(&a, &h));
    if (strcmp(got, c->wire) != 0)
        fail_msg("%s\n  got    %s\n  wanted %s", c->name, got, c->wire);
    arena_done(&a);
}

TEST(makes_histories_valid)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        check(&RULES, &CASES[i]);
}

TEST(chat_servers_get_pictures_behind_the_results)
{
    (void)state;
    struct wire_rules rules = RULES;
    rules.images_in_results = false;
    check(&rules, &(struct norm_case){
                      "moved",
                      "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"t1\"},{\"use\":\"t2\"}],[\"u\",{"
                      "\"result\":\"t1\",\"parts\":[{\"text\":\"r\"},{\"image\":\"image/png\"}]},{"
                      "\"result\":\"t2\"},{\"text\":\"x\"}]]",
                      "U 'a' | A use(t1 f {}) use(t2 f {}) | U result(t1 'r' '[the picture follows "
                      "below]') result(t2) image(image/png) 'x'"});
    rules.can_images = false;
    check(&rules, &(struct norm_case){"blind", "[[\"u\",{\"image\":\"image/png\"}]]",
                                      "U '[a picture is left out: the model cannot see]'"});
}

TEST(ids_of_nine)
{
    (void)state;
    struct wire_rules rules = RULES;
    struct arena a;
    struct wire_history h;
    size_t n;
    rules.ids_of_nine = true;
    arena_init(&a);
    struct llm_message *m = rig_history(
        &a,
        "[[\"u\",{\"text\":\"a\"}],[\"a\",{\"use\":\"abcDEF123\"},{\"use\":\"toolu_01abc\"},{"
        "\"use\":\"toolu_01abc\"}]]",
        &n);
    assert_int_equal(normalise(&a, &rules, m, n, &h, NULL), 0);
    str first = h.messages[1].blocks[0].id, second = h.messages[1].blocks[1].id;
    assert_true(str_eq(first, STR("abcDEF123")));
    assert_int_equal(second.n, 9);
    assert_false(str_eq(second, h.messages[1].blocks[2].id));
    assert_true(str_eq(second, h.messages[2].blocks[1].id));
    arena_done(&a);
}

TEST(broken_text_is_repaired)
{
    (void)state;
    struct arena a;
    struct wire_history h;
    arena_init(&a);
    struct llm_block b = {.type = LLM_TEXT, .text = STR("cut \xc3")};
    struct llm_message m = {LLM_USER, &b, 1};
    assert_int_equal(normalise(&a, &RULES, &m, 1, &h, NULL), 0);
    assert_true(str_eq(h.messages[0].blocks[0].text, STR("cut \xef\xbf\xbd")));
    arena_done(&a);
}

TEST(nothing_is_an_error)
{
    (void)state;
    struct arena a;
    struct wire_history h;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(normalise(&a, &RULES, NULL, 0, &h, &e), -EINVAL);
    assert_true(e.msg[0] != '\0');
    struct llm_block b = {.type = LLM_TEXT, .text = STR("  ")};
    struct llm_message m = {LLM_USER, &b, 1};
    assert_int_equal(normalise(&a, &RULES, &m, 1, &h, NULL), -EINVAL);
    arena_done(&a);
}

TEST(names_are_short)
{
    (void)state;
    struct arena a;
    char longest[200];
    arena_init(&a);
    memset(longest, 'x', sizeof longest);
    str made = normalise_name(&a, str_make(longest, sizeof longest));
    assert_int_equal(made.n, 64);
    assert_false(str_eq(made, normalise_name(&a, str_make(longest, sizeof longest - 1))));
    assert_true(str_eq(normalise_name(&a, STR("nb__time")), STR("nb__time")));
    arena_done(&a);
}

/* ---- any history at all ---- */

static size_t below(uint64_t *seed, size_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(*seed >> 33) % n;
}

static struct llm_block random_block(struct arena *a, uint64_t *seed)
{
    static const str IDS[] = {STR_INIT("t1"), STR_INIT("t2"), STR_INIT("t.3"), STR_INIT("")};
    static const str TEXTS[] = {STR_INIT("x"), STR_INIT(" "), STR_INIT(""), STR_INIT("\xff")};
    static const str ARGS[] = {STR_INIT("{}"), STR_INIT("{"), STR_INIT(""), STR_INIT("[]")};
    static const char *const OPAQUE[] = {"{\"type\":\"thinking\"}", "{\"type\":\"server\"}"};
    struct llm_block *part = ARENA_NEW(a, struct llm_block);
    *part = (struct llm_block){.type = below(seed, 2) ? LLM_TEXT : LLM_IMAGE,
                               .text = TEXTS[below(seed, 4)],
                               .mime = STR("image/png"),
                               .data = STR("AAAA")};
    return (struct llm_block){
        .type = (enum llm_block_type)below(seed, 5),
        .text = TEXTS[below(seed, 4)],
        .mime = below(seed, 2) ? STR("image/png") : STR("text/x"),
        .data = STR("AAAA"),
        .id = IDS[below(seed, 4)],
        .name = STR("f"),
        .args = ARGS[below(seed, 4)],
        .is_error = below(seed, 2),
        .parts = part,
        .nparts = below(seed, 2),
        .provider = STR("p"),
        .model = below(seed, 2) ? STR("m") : STR("other"),
        .json = rig_json(a, OPAQUE[below(seed, 2)]),
    };
}

static void assert_block_is_valid(const struct llm_block *b, enum llm_role role)
{
    bool is_users = b->type == LLM_IMAGE || b->type == LLM_TOOL_RESULT;
    bool is_models = b->type == LLM_TOOL_USE || b->type == LLM_OPAQUE;
    assert_false(is_users && role == LLM_ASSISTANT);
    assert_false(is_models && role == LLM_USER);
    assert_false(b->type == LLM_TEXT && str_trim(b->text).n == 0);
    assert_false(b->type == LLM_TOOL_USE && !json_is(b->json, JSON_OBJECT));
    if (b->type != LLM_TOOL_RESULT)
        return;
    assert_false(b->is_error && b->nparts == 0);
    for (size_t i = 0; i < b->nparts; i++)
        assert_false(b->is_error && b->parts[i].type != LLM_TEXT);
}

/* Every call has its result at the same place of the next message, and no result is left. */
static void assert_pairs(const struct llm_message *calls, const struct llm_message *results)
{
    size_t at = 0;
    for (size_t i = 0; calls && i < calls->n; i++) {
        if (calls->blocks[i].type != LLM_TOOL_USE)
            continue;
        assert_non_null(results);
        assert_true(at < results->n && results->blocks[at].type == LLM_TOOL_RESULT);
        assert_true(str_eq(results->blocks[at++].id, calls->blocks[i].id));
    }
    for (; results && at < results->n; at++)
        assert_int_not_equal(results->blocks[at].type, LLM_TOOL_RESULT);
}

static void assert_valid(const struct wire_history *h)
{
    assert_true(h->n > 0);
    for (size_t i = 0; i < h->n; i++) {
        const struct llm_message *m = &h->messages[i];
        assert_int_equal(m->role, i % 2 ? LLM_ASSISTANT : LLM_USER);
        assert_true(m->n > 0);
        for (size_t k = 0; k < m->n; k++)
            assert_block_is_valid(&m->blocks[k], m->role);
        if (m->role == LLM_USER)
            assert_pairs(i ? m - 1 : NULL, m);
    }
    const struct llm_message *last = &h->messages[h->n - 1];
    const struct json *end = last->blocks[last->n - 1].json;
    assert_true(last->role == LLM_USER || str_eq(json_get_string(end, "type"), STR("server")));
}

TEST(any_history_becomes_valid)
{
    (void)state;
    for (uint64_t round = 0; round < 3000; round++) {
        struct arena a;
        struct wire_history h;
        struct llm_message messages[8];
        uint64_t seed = round;
        size_t n = below(&seed, 8);
        arena_init(&a);
        for (size_t i = 0; i < n; i++) {
            struct llm_block *blocks = arena_array(&a, 5, sizeof *blocks);
            messages[i] =
                (struct llm_message){(enum llm_role)below(&seed, 2), blocks, below(&seed, 5)};
            for (size_t k = 0; k < messages[i].n; k++)
                blocks[k] = random_block(&a, &seed);
        }
        if (normalise(&a, &RULES, messages, n, &h, NULL) == 0)
            assert_valid(&h);
        arena_done(&a);
    }
}
