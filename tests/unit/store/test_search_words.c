/* Texts and questions as words of the index. */
#include "base/json/json.h"
#include "store/index/search_words.h"
#include "support/unit.h"

#define EAST    "\xe6\x9d\xb1" /* U+6771, U+4EAC, U+90FD: three characters of Tokyo-to */
#define CAPITAL "\xe4\xba\xac"
#define CITY    "\xe9\x83\xbd"
#define WHO     "\xee\x80\x80"
#define LOG     "\xee\x80\x81"

static void expect(const char *what, str got, const char *expected)
{
    if (!str_eq(got, str_from(expected)))
        fail_msg("%s: expected <%s>, got <%.*s>", what, expected, STR_ARG(got));
}

TEST(texts)
{
    static const struct {
        const char *text, *words;
    } CASES[] = {
        {"Hello,  World!", "hello world "},
        {"Caf\xc3\xa9 NA\xc3\x8fVE", "cafe naive "},
        {"e\xcc\x81t\xc3\xa9", "ete "}, /* a combining accent */
        {EAST, EAST " "},
        {EAST CAPITAL, EAST CAPITAL " " CAPITAL " "},
        {EAST CAPITAL CITY, EAST CAPITAL " " CAPITAL CITY " " CITY " "},
        {"in " EAST CAPITAL "2024", "in " EAST CAPITAL " " CAPITAL " 2024 "},
        {EAST " " CAPITAL, EAST " " CAPITAL " "},
        {"", ""},
        {"\xff\xfe!?", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct buf out;
        char expected[200];
        buf_init(&out, 1000);
        struct event_text text = {
            .role = STR("user"), .text = str_from(CASES[i].text), .user_id = STR("usr_A-1")};
        search_words(&out, &text, 42);
        (void)snprintf(expected, sizeof(expected), "%s" WHO "user " WHO "usra1 " LOG "42",
                       CASES[i].words);
        expect(CASES[i].text, buf_str(&out), expected);
        buf_done(&out);
    }
}

TEST(tool_names_are_words)
{
    struct buf out;
    buf_init(&out, 1000);
    struct event_text text = {.role = STR("tool"), .text = STR("ok"), .tool = STR("files__read")};
    search_words(&out, &text, 1);
    expect("tool", buf_str(&out), "ok files read " WHO "tool " WHO " " LOG "1");
    buf_done(&out);
}

TEST(questions)
{
    static const struct {
        const char *text, *expression;
    } CASES[] = {
        {"Hello", "\"hello\" *"},
        {"\"Hello\"", "\"hello\""},
        {"hel*", "\"hel\" *"},
        {"two words", "\"two\" AND \"words\" *"},
        {"\"a phrase\"", "\"a phrase\""},
        {"foo-bar*", "\"foo bar\" *"},
        {EAST, "\"" EAST "\" *"},
        {EAST CAPITAL, "\"" EAST CAPITAL "\""},
        {EAST CAPITAL "*", "\"" EAST CAPITAL "\""},
        {EAST CAPITAL CITY, "\"" EAST CAPITAL " " CAPITAL CITY "\""},
        {"a" EAST, "\"a " EAST "\" *"},
        {EAST "a", "\"" EAST " a\""},
        {"\"" EAST CAPITAL " x\"", "\"" EAST CAPITAL " " CAPITAL " x\""},
        {"from:usr_A word", "\"word\" * AND \"" WHO "usra\""},
        {"from:___", ""},
        {"in:title", "\"" WHO "title\""},
        {"tool:files__read", "\"" WHO "tool\" AND \"files read\""},
        {"tool:*read*", "\"" WHO "tool\""},
        {"after:2024-01-01", ""},
        {"NOT NEAR(a) OR \"b\" ^c:d", "\"not\" AND \"near a\" AND \"or\" AND \"b\" AND \"c d\""},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct query q;
        struct err e = {0};
        if (query_parse(&a, str_from(CASES[i].text), &q, &e) < 0)
            fail_msg("%s: %s", CASES[i].text, e.msg);
        expect(CASES[i].text, search_expression(&a, &q, 0, 0), CASES[i].expression);
    }
    struct query q;
    assert_int_equal(query_parse(&a, STR("x"), &q, NULL), 0);
    expect("one log", search_expression(&a, &q, 7, 0), "\"x\" AND \"" LOG "7\"");
    expect("and its notes", search_expression(&a, &q, 7, 8),
           "\"x\" AND (\"" LOG "8\" OR \"" LOG "7\")");
    arena_done(&a);
}

/* However long the question, the index is asked something of bounded size. */
TEST(long_questions)
{
    struct arena a;
    struct buf text;
    struct query q;
    arena_init(&a);
    buf_init(&text, 1u << 20);
    buf_add_char(&text, '"');
    for (int i = 0; i < 50000; i++)
        buf_add_lit(&text, "word ");
    buf_add_char(&text, '"');
    assert_int_equal(query_parse(&a, buf_str(&text), &q, NULL), 0);
    str expression = search_expression(&a, &q, 0, 0);
    assert_true(expression.n > 100 && expression.n < 1000);
    assert_true(str_ends(expression, STR("\" *")));
    buf_done(&text);
    arena_done(&a);
}

static double score(const char *question, const char *role, const char *text)
{
    struct arena a;
    struct query q;
    struct rank rank;
    arena_init(&a);
    assert_int_equal(query_parse(&a, str_from(question), &q, NULL), 0);
    for (size_t i = 0; i < QUERY_TERMS_MAX; i++)
        rank.weight[i] = i == 0 ? rank_weight(1000, 1000) : rank_weight(1, 1000);
    struct event_text t = {.role = str_from(role), .text = str_from(text)};
    double s = rank_score(&rank, &q, &a, &t);
    arena_done(&a);
    return s;
}

TEST(ranks)
{
    assert_true(rank_weight(1, 1000) > rank_weight(500, 1000));
    assert_true(rank_weight(1000, 1000) > 0);
    assert_true(rank_weight(10, 0) > 0);
    assert_true(score("x", "user", "x x x") > score("x", "user", "x y z"));
    assert_true(score("x", "user", "x y") >
                score("x", "user", "x and a great many other words that it is not about"));
    assert_true(score("x", "title", "x y") > score("x", "user", "x y"));
    /* the second word of the question is the rare one */
    assert_true(score("a b", "user", "a b b") > score("a b", "user", "a a b"));
}
