/* The search box, and the folding under it. */
#include <errno.h>

#include "base/utf8.h"
#include "store/event/fold.h"
#include "store/event/query.h"
#include "support/unit.h"

TEST(fold)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"Hello,   World!", "hello world"},
        {"  a-b_c.d  ", "a b c d"},
        {"\xc3\x89t\xc3\xa9 \xc5\xbd\xc3\xbcrich \xc3\x98re Stra\xc3\x9f"
         "e",
         "ete zurich ore strase"},
        {"e\xcc\x81", "e"}, /* a combining accent */
        {"\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0 \xd1\x91",
         "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0 \xd0\xb5"}, /* Cyrillic */
        {"\xce\x91\xce\xb8\xce\xae\xce\xbd\xce\xb1", "\xce\xb1\xce\xb8\xce\xb7\xce\xbd\xce\xb1"},
        {"\xe6\x9d\xb1\xe4\xba\xac\xe3\x80\x82\xe5\xa4\xa9",
         "\xe6\x9d\xb1\xe4\xba\xac \xe5\xa4\xa9"},
        {"\xef\xbc\xa1\xef\xbc\x91", "a1"}, /* full width */
        {"a\xff"
         "b",
         "a b"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str folded = fold_text(&a, str_from(cases[i].in));
        if (!str_eq(folded, str_from(cases[i].out)))
            fail_msg("case %zu: \"%s\" became \"%.*s\"", i, cases[i].in, STR_ARG(folded));
        assert_true(str_eq(fold_text(&a, folded), folded)); /* folding twice changes nothing */
    }
    arena_done(&a);
}

TEST(parse)
{
    struct arena a;
    struct query q;
    struct err e;
    arena_init(&a);
    assert_int_equal(query_parse(&a,
                                 STR("Caf\xc3\xa9 pre* \"two Words\" semi-colon from:Bob tool:x__* "
                                     "in:title after:2026-01-01 before:2026-02-01T10:00:00Z"),
                                 &q, &e),
                     0);
    assert_int_equal(q.n, 4);
    assert_true(str_eq(q.terms[0].text, STR("cafe")) && !q.terms[0].is_prefix);
    assert_true(str_eq(q.terms[1].text, STR("pre")) && q.terms[1].is_prefix);
    assert_true(str_eq(q.terms[2].text, STR("two words")) && q.terms[2].is_phrase);
    assert_true(str_eq(q.terms[3].text, STR("semi colon")) && q.terms[3].is_phrase);
    assert_true(str_eq(q.from, STR("Bob")) && str_eq(q.tool, STR("x__*")) && q.titles_only);
    assert_true(q.after_ms == 1767225600000 && q.before_ms == 1769940000000);
    assert_int_equal(query_parse(&a, STR("\"never closed"), &q, &e), 0);
    assert_int_equal(q.n, 1);
    assert_int_equal(query_parse(&a, STR("\"from:x\""), &q, &e), 0);
    assert_int_equal(q.from.n, 0); /* quoted: just words */
    static const char *const bad[] = {"", "   ", "\"\"", "!?", "after:soon", "\xff"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(query_parse(&a, str_from(bad[i]), &q, &e), -EINVAL);
    struct buf many;
    buf_init(&many, 1000);
    for (int i = 0; i <= QUERY_TERMS_MAX; i++)
        buf_printf(&many, "w%d ", i);
    assert_int_equal(query_parse(&a, buf_str(&many), &q, &e), -E2BIG);
    buf_done(&many);
    arena_done(&a);
}

static bool matches(struct arena *a, const char *query, const char *text)
{
    struct query q;
    struct event_text t = {.role = STR("user"), .text = str_from(text)};
    assert_int_equal(query_parse(a, str_from(query), &q, NULL), 0);
    return query_matches(&q, a, &t, NULL);
}

TEST(matches)
{
    static const struct {
        const char *query, *text;
        bool is_hit;
    } cases[] = {
        {"cat", "The cat.", true},
        {"cat", "concatenate", false},
        {"cat", "cats", true}, /* the last word may not be complete */
        {"cat from:user", "cats", true},
        {"\"cat\"", "cats", false},
        {"c", "cats", false},
        {"cat dog", "cats and dogs", false},
        {"cat*", "cats", true},
        {"ca* dog", "dog and cat", true},
        {"\"a b\"", "x a, b y", true},
        {"\"a b\"", "ab", false},
        {"\xe4\xba\xac", "\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd", true},
        {"tokyo",
         "\xe6\x9d\xb1\xe4\xba\xac"
         "tokyo\xe9\x83\xbd",
         true},
        {"from:user", "anything", true},
        {"from:assistant", "anything", false},
        {"cat after:2026-01-01", "cat", false}, /* no time: not in any range */
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (matches(&a, cases[i].query, cases[i].text) != cases[i].is_hit)
            fail_msg("case %zu: %s in %s", i, cases[i].query, cases[i].text);
    }
    arena_done(&a);
}

TEST(snippet)
{
    struct arena a;
    struct query q;
    struct buf text;
    arena_init(&a);
    buf_init(&text, 10000);
    for (int i = 0; i < 100; i++)
        buf_add_lit(&text, "\xc3\xa4\xc3\xb6 ");
    buf_add_lit(&text, "the, N\xc3\x89"
                       "EDLE! ");
    for (int i = 0; i < 100; i++)
        buf_add_lit(&text, "\xe6\x9d\xb1");
    assert_int_equal(query_parse(&a, STR("needle"), &q, NULL), 0);
    str snippet = query_snippet(&a, &q, buf_str(&text));
    assert_true(utf8_valid(snippet));
    assert_true(str_find(snippet,
                         STR("the, \x01N\xc3\x89"
                             "EDLE\x02! \xe6"),
                         0) > 50);
    assert_true(snippet.n < 220);
    assert_int_equal(query_parse(&a, STR("from:x"), &q, NULL), 0);
    assert_true(str_eq(query_snippet(&a, &q, STR("short")), STR("short")));
    assert_true(str_eq(query_unmarked(&a, STR("a \x01hit\x02 b")), STR("a hit b")));
    assert_int_equal(query_unmarked(&a, STR("\x01\x02")).n, 0);
    buf_done(&text);
    arena_done(&a);
}

TEST(text_of_events)
{
    static const struct {
        const char *event, *role, *text;
    } cases[] = {
        {"{\"type\":\"user.message\",\"content\":\"plain\"}", "user", "plain"},
        {"{\"type\":\"user.message\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
         "\"file\",\"data\":\"AAAA\"},{\"type\":\"text\",\"text\":\"b\"}]}",
         "user", "a\nb"},
        {"{\"type\":\"llm.response\",\"content\":[{\"type\":\"reasoning\",\"text\":\"hm\"},{"
         "\"type\":\"text\",\"text\":\"yes\"}]}",
         "assistant", "yes"},
        {"{\"type\":\"tool.done\",\"name\":\"t\",\"output\":\"old style\"}", "tool", "old style"},
        {"{\"type\":\"tool.done\",\"name\":\"t\",\"result\":{\"content\":[{\"type\":\"text\","
         "\"text\":\"new\"}]}}",
         "tool", "new"},
        {"{\"type\":\"tool.done\",\"name\":\"t\",\"result\":{\"$blob\":\"x\",\"preview\":\"p\"}}",
         "tool", "p"},
        {"{\"type\":\"metadata.title\",\"title\":\"T\"}", "title", "T"},
        {"{\"type\":\"note\",\"author\":\"u\",\"content\":\"N\"}", "note", "N"},
        {"{\"role\":\"assistant\",\"content\":\"old\"}", "assistant", "old"},
        {"{\"type\":\"run.start\",\"content\":\"no\"}", NULL, NULL},
        {"{\"type\":\"user.message\",\"content\":7}", NULL, NULL},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *v;
        struct event_head head;
        struct event_text text;
        assert_true(event_scan(str_from(cases[i].event), &head));
        assert_int_equal(json_parse(&a, str_from(cases[i].event), 0, &v, NULL), 0);
        bool has_text = text_of_event(&a, head.type, v, &text);
        if (has_text != (cases[i].role != NULL) ||
            (has_text && (!str_eq(text.role, str_from(cases[i].role)) ||
                          !str_eq(text.text, str_from(cases[i].text)))))
            fail_msg("case %zu: %s", i, cases[i].event);
    }
    arena_done(&a);
}
