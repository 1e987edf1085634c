/* The field scanner: what it finds, where it stops, and that it agrees with the reader. */
#include "base/json/json.h"
#include "base/json/json_scan.h"
#include "support/json_random.h"
#include "support/unit.h"

#define TEXT_MAX ((size_t)1 << 20)

/* "key=value key=value" of all members, '!' at the end when the line is broken. */
static void assert_scan(const char *line, const char *expected)
{
    struct buf found;
    struct json_scan s;
    str key, value;
    buf_init(&found, TEXT_MAX);
    json_scan_init(&s, str_from(line));
    while (json_scan_next(&s, &key, &value))
        (void)buf_printf(&found, "%s%.*s=%.*s", found.n ? " " : "", STR_ARG(key), STR_ARG(value));
    if (s.failed)
        (void)buf_add_char(&found, '!');
    assert_false(json_scan_next(&s, &key, &value));
    if (strcmp(buf_cstr(&found), expected) != 0)
        fail_msg("%s: found %s", line, buf_cstr(&found));
    buf_done(&found);
}

TEST(members)
{
    static const struct {
        const char *line, *found;
    } CASES[] = {
        {"{}", ""},
        {" { } \n", ""},
        {"{\"a\":1}", "a=1"},
        {"{\"a\":1,\"b\":\"x\",\"c\":null}", "a=1 b=\"x\" c=null"},
        {"{ \"a\" : -1.5e3 , \"b\" : true }\r\n", "a=-1.5e3 b=true"},
        {"{\"a\":{\"b\":{\"c\":[1,{}]}},\"d\":[[],[\"]\"]]}",
         "a={\"b\":{\"c\":[1,{}]}} d=[[],[\"]\"]]"},
        {"{\"a\":\"}\",\"b\":\"{[\\\"\",\"c\":\"\\\\\"}", "a=\"}\" b=\"{[\\\"\" c=\"\\\\\""},
        {"{\"k\\\"y\":1}", "k\\\"y=1"},
        {"{\"a\":1,\"a\":2}", "a=1 a=2"},
        {"{\"\":\"\"}", "=\"\""},
        {"{\"long\":\"0123456789abcdef0123456789abcdef\\\"0123456789abcdef\",\"n\":1}",
         "long=\"0123456789abcdef0123456789abcdef\\\"0123456789abcdef\" n=1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_scan(CASES[i].line, CASES[i].found);
}

TEST(broken_lines)
{
    static const struct {
        const char *line, *found;
    } CASES[] = {
        {"", "!"},
        {"   ", "!"},
        {"[]", "!"},
        {"1", "!"},
        {"{", "!"},
        {"{\"a\"", "!"},
        {"{\"a\":", "!"},
        {"{\"a\":1", "!"},
        {"{\"a\":1,", "a=1!"},
        {"{\"a\":1,}", "a=1!"},
        {"{\"a\":1,\"b", "a=1!"},
        {"{\"a\":1,\"b\":[1,2", "a=1!"},
        {"{\"a\":1,\"b\":\"x", "a=1!"},
        {"{\"a\":1,\"b\":\"x\\", "a=1!"},
        {"{\"a\" 1}", "!"},
        {"{a:1}", "!"},
        {"{,}", "!"},
        {"{\"a\":}", "!"},
        {"{\"a\":1 \"b\":2}", "!"},
        {"{\"a\":1}x", "!"},
        {"{}{}", "!"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_scan(CASES[i].line, CASES[i].found);
    struct json_scan s;
    json_scan_init(&s, STR_NONE);
    assert_true(s.failed);
}

TEST(field)
{
    (void)state;
    str line = STR("{\"type\":\"llm.response\",\"n\":{\"type\":\"inner\"},\"type\":2}");
    assert_true(str_eq(json_scan_field(line, STR("type")), STR("\"llm.response\"")));
    assert_true(str_eq(json_scan_field(line, STR("n")), STR("{\"type\":\"inner\"}")));
    assert_null(json_scan_field(line, STR("inner")).p);
    assert_null(json_scan_field(STR("not json"), STR("type")).p);
}

/* The same members are found with and without a known value, wherever it stands. */
TEST(known)
{
    static const str LINES[] = {
        STR_INIT("{\"a\":[1,\"]\"],\"b\":2}"),
        STR_INIT("{\"a\":[1,\"]\"] }"),
        STR_INIT("{\"a\":[1,\"]\",3],\"b\":2}"),
        STR_INIT("{\"a\":[[1,\"]\"],3],\"b\":2}"),
        STR_INIT("{\"a\":\"[1,\\\"]\\\"]\"}"),
        STR_INIT("{\"a\":[1,\"]\"]"),
        STR_INIT("{\"a\":[1"),
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++) {
        struct json_scan with, without;
        str key, value, same_key, same_value;
        json_scan_init(&with, LINES[i]);
        json_scan_init(&without, LINES[i]);
        with.known = STR("[1,\"]\"]");
        bool is_there;
        do {
            is_there = json_scan_next(&without, &key, &value);
            assert_int_equal(json_scan_next(&with, &same_key, &same_value), is_there);
            assert_true(!is_there || (str_eq(key, same_key) && str_eq(value, same_value)));
        } while (is_there);
        assert_int_equal(with.failed, without.failed);
    }
}

TEST(plain)
{
    (void)state;
    assert_true(str_eq(json_scan_plain(STR("\"abc\"")), STR("abc")));
    assert_true(json_scan_plain(STR("\"\"")).p && json_scan_plain(STR("\"\"")).n == 0);
    assert_null(json_scan_plain(STR("\"a\\nb\"")).p);
    assert_null(json_scan_plain(STR("12")).p);
    assert_null(json_scan_plain(STR("\"")).p);
    assert_null(json_scan_plain(STR_NONE).p);
}

static void assert_same_text(struct arena *a, str raw, const struct json *v)
{
    struct json *alone;
    assert_int_equal(json_parse(a, raw, 0, &alone, NULL), 0);
    assert_true(str_eq(json_to_str(a, alone), json_to_str(a, v)));
}

/* On every valid object both see the same members; on anything cut short both fail. */
static void assert_agreement(struct arena *a, str text)
{
    struct json *v;
    struct json_scan s;
    str key, value;
    assert_int_equal(json_parse(a, text, 0, &v, NULL), 0);
    json_scan_init(&s, text);
    if (v->type != JSON_OBJECT) {
        assert_true(s.failed);
        return;
    }
    for (uint32_t i = 0; i < v->len; i++) {
        assert_true(json_scan_next(&s, &key, &value));
        struct json name = json_of_str(v->members[i].key);
        assert_same_text(a, str_make(key.p - 1, key.n + 2), &name);
        assert_same_text(a, value, &v->members[i].value);
    }
    assert_false(json_scan_next(&s, &key, &value));
    assert_false(s.failed);
    json_scan_init(&s, str_slice(str_trim(text), 0, str_trim(text).n - 1));
    while (json_scan_next(&s, &key, &value))
        continue;
    assert_true(s.failed);
}

/* The same in two steps, with the first `most` elements of every array. */
static void assert_steps(struct arena *a, str text, size_t most)
{
    struct json *v;
    struct json_scan s, inner;
    str key, value;
    assert_int_equal(json_parse(a, text, 0, &v, NULL), 0);
    json_scan_init(&s, text);
    for (uint32_t i = 0; v->type == JSON_OBJECT && i < v->len; i++) {
        const struct json *member = &v->members[i].value;
        assert_true(json_scan_key(&s, &key));
        if (!json_scan_enter(&s, &inner)) {
            assert_true(member->type != JSON_ARRAY && json_scan_value(&s, &value));
            assert_same_text(a, value, member);
            continue;
        }
        for (uint32_t k = 0; k < member->len && k < most; k++) {
            assert_true(json_scan_element(&inner, &value));
            assert_same_text(a, value, &member->items[k]);
        }
        json_scan_leave(&s, &inner);
    }
    assert_false(json_scan_key(&s, &key));
    assert_int_equal(s.failed, v->type != JSON_OBJECT);
}

TEST(arrays_that_are_broken)
{
    static const char *const LINES[] = {"{\"a\":[",          "{\"a\":[1",  "{\"a\":[1,",
                                        "{\"a\":[1}",        "{\"a\":[1]", "{\"a\":[1]]",
                                        "{\"a\":[] \"b\":1}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(LINES); i++) {
        struct json_scan s, inner;
        str key;
        json_scan_init(&s, str_from(LINES[i]));
        assert_true(json_scan_key(&s, &key) && json_scan_enter(&s, &inner));
        json_scan_leave(&s, &inner);
        assert_true(s.failed);
        assert_false(json_scan_key(&s, &key));
    }
}

static void assert_elements(const char *text, const char *expected)
{
    struct buf found;
    struct json_scan s;
    str value;
    buf_init(&found, TEXT_MAX);
    json_scan_array(&s, str_from(text));
    while (json_scan_element(&s, &value))
        (void)buf_printf(&found, "<%.*s>", STR_ARG(value));
    if (s.failed)
        (void)buf_add_char(&found, '!');
    assert_false(json_scan_element(&s, &value));
    if (strcmp(buf_cstr(&found), expected) != 0)
        fail_msg("%s: found %s", text, buf_cstr(&found));
    buf_done(&found);
}

TEST(elements)
{
    (void)state;
    assert_elements("[]", "");
    assert_elements(" [ ] ", "");
    assert_elements("[1, \"a,]\" ,{\"b\":[2]},[],null]", "<1><\"a,]\"><{\"b\":[2]}><[]><null>");
    assert_elements("", "!");
    assert_elements("{}", "!");
    assert_elements("[1", "!");
    assert_elements("[1}", "!");
    assert_elements("[1,]", "<1>!");
    assert_elements("[1]2", "!");
}

TEST(agrees_with_the_reader)
{
    (void)state;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    struct json_random r = {.state = 42, .out = &text};
    for (int i = 0; i < 3000; i++) {
        struct arena a;
        arena_init(&a);
        buf_clear(&text);
        json_random_space(&r);
        json_random_container(&r, 5, i % 8 != 0);
        json_random_space(&r);
        /* An exact copy: reading past the end is seen by the sanitizer. */
        char *copy = malloc(text.n);
        assert_non_null(copy);
        memcpy(copy, text.p, text.n);
        assert_agreement(&a, str_make(copy, text.n));
        assert_steps(&a, str_make(copy, text.n), (size_t)i % 4);
        free(copy);
        arena_done(&a);
    }
    buf_done(&text);
}

/* Values are scanned in blocks: what matters stands at each place of a block, and at its end. */
TEST(every_place_of_a_block)
{
    static const char *const PIECES[] = {"\"]\"",         "\"\\\"]\"",    "\"\\\\\",[]",
                                         "\"\\\\\\\"}\"", "{\"a\":[{}]}", "\"\\\\\\\\\",\"[\""};
    char line[512], value[256];
    for (int before = 0; before <= 140; before++) {
        for (size_t k = 0; k < ARRAY_LEN(PIECES); k++) {
            for (int after = 0; after <= 66; after += 11) {
                (void)snprintf(value, sizeof value, "[\"%*s\",%s,\"%*s\"]", before, "", PIECES[k],
                               after, "");
                (void)snprintf(line, sizeof line, "{\"v\":%s,\"n\":1}", value);
                assert_true(str_eq(json_scan_field(str_from(line), STR("v")), str_from(value)));
                assert_true(str_eq(json_scan_field(str_from(line), STR("n")), STR("1")));
                line[strlen(line) - strlen(",\"n\":1}") - 1] = ' '; /* the value has no end */
                assert_int_equal(json_scan_field(str_from(line), STR("n")).n, 0);
            }
        }
    }
}
