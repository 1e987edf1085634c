#include "support/unit.h"
#include "tools/suggest.h"
#include "tools/toolset.h"

static struct toolset_part *part(str source, const char *const *names, size_t n)
{
    struct tool tools[16] = {0};
    assert_true(n <= ARRAY_LEN(tools));
    for (size_t i = 0; i < n; i++)
        tools[i].name = str_from(names[i]);
    return toolset_part_new(source, tools, n);
}

#define PART(source, ...)                                                                          \
    part(STR(source), (const char *const[]){__VA_ARGS__},                                          \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static struct toolset *set_of(struct toolset_part *x, struct toolset_part *y)
{
    struct toolset_part *parts[] = {x, y};
    struct toolset *t = toolset_new(parts, 2);
    toolset_part_unref(x);
    toolset_part_unref(y);
    return t;
}

static void assert_names(const struct toolset *t, const char *expected)
{
    struct buf all;
    buf_init(&all, 4096);
    for (size_t i = 0; i < t->len; i++) {
        buf_add_lit(&all, i ? " " : "");
        buf_add_str(&all, t->items[i].name);
    }
    assert_string_equal(buf_cstr(&all), expected);
    buf_done(&all);
}

TEST(sorted_whatever_the_order)
{
    struct toolset *t = set_of(PART("nb", "status", "delegate"), PART("bash", "run"));
    struct toolset *u = set_of(PART("bash", "run"), PART("nb", "delegate", "status"));
    assert_names(t, "bash__run nb__delegate nb__status");
    assert_names(u, "bash__run nb__delegate nb__status");
    toolset_unref(t);
    toolset_unref(u);
}

TEST(find_is_exact_and_reverses_names)
{
    struct toolset *t = set_of(PART("files", "read/all", "write"), PART("nb", "status"));
    const struct toolset_item *it = toolset_find(t, STR("files__read_all"));
    assert_non_null(it);
    assert_true(str_eq(it->tool->name, STR("read/all")));
    assert_true(str_eq(it->source, STR("files")));
    assert_null(toolset_find(t, STR("files__read")));
    assert_null(toolset_find(t, STR("FILES__write")));
    assert_null(toolset_find(t, STR("")));
    toolset_unref(t);
}

TEST(the_exact_spelling_keeps_its_name)
{
    struct toolset *t = set_of(PART("f", "a.b", "a_b", "a b"), PART("nb", "x"));
    assert_int_equal(t->len, 4);
    assert_true(str_eq(toolset_find(t, STR("f__a_b"))->tool->name, STR("a_b")));
    for (size_t i = 1; i < t->len; i++)
        assert_true(str_cmp(t->items[i - 1].name, t->items[i].name) < 0);
    toolset_unref(t);
}

TEST(clash_between_sources)
{
    struct toolset *t = set_of(PART("a", "b__c"), PART("a__b", "c"));
    struct toolset *u = set_of(PART("a__b", "c"), PART("a", "b__c"));
    assert_int_equal(t->len, 2);
    assert_int_equal(u->len, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(str_eq(t->items[i].name, u->items[i].name));
        assert_true(str_eq(t->items[i].source, u->items[i].source));
    }
    assert_true(str_eq(toolset_find(t, STR("a__b__c"))->source, STR("a")));
    toolset_unref(t);
    toolset_unref(u);
}

/* A server that calls a tool what the hash of another tool's name is. */
TEST(a_stolen_hash_never_gives_two_equal_names)
{
    struct toolset *t = set_of(PART("f", "a.b", "a_b"), PART("nb", "x"));
    char stolen[TOOL_NAME_MAX + 1] = {0};
    for (size_t i = 0; i < t->len; i++)
        if (str_eq(t->items[i].tool->name, STR("a.b")))
            memcpy(stolen, t->items[i].name.p + 3, t->items[i].name.n - 3);
    toolset_unref(t);

    t = set_of(PART("f", "a.b", "a_b", stolen), PART("nb", "x"));
    assert_int_equal(t->len, 3);
    for (size_t i = 1; i < t->len; i++)
        assert_true(str_cmp(t->items[i - 1].name, t->items[i].name) < 0);
    toolset_unref(t);
}

TEST(listed_twice_is_kept_once)
{
    struct toolset *t = set_of(PART("f", "a", "a", "b"), PART("nb", "x"));
    assert_names(t, "f__a f__b nb__x");
    toolset_unref(t);
}

TEST(a_snapshot_outlives_its_source)
{
    char name[] = "volatile";
    struct tool tool = {.name = str_make(name, 8)};
    struct toolset_part *p = toolset_part_new(STR("s"), &tool, 1);
    struct toolset *t = toolset_new(&p, 1);
    struct toolset *second = toolset_ref(t);
    toolset_part_unref(p);
    memset(name, 'x', 8);
    toolset_unref(t);
    assert_names(second, "s__volatile");
    toolset_unref(second);
}

TEST(empty)
{
    struct toolset *t = toolset_new(NULL, 0);
    const struct toolset_item *found[SUGGEST_MAX];
    assert_int_equal(t->len, 0);
    assert_null(toolset_find(t, STR("nb__status")));
    assert_int_equal(suggest_tools(t, STR("nb__status"), false, found), 0);
    assert_null(toolset_unref(t));
    assert_null(toolset_unref(NULL));
}

TEST(part_has_a_ceiling)
{
    size_t n = TOOLSET_PART_MAX + 5;
    struct tool *tools = xcalloc(n, sizeof(*tools));
    char *names = xcalloc(n, 8);
    for (size_t i = 0; i < n; i++) {
        int len = snprintf(names + i * 8, 8, "t%zu", i);
        tools[i].name = str_make(names + i * 8, (size_t)len);
    }
    struct toolset_part *p = toolset_part_new(STR("s"), tools, n);
    struct toolset *t = toolset_new(&p, 1);
    assert_int_equal(t->len, TOOLSET_PART_MAX);
    toolset_part_unref(p);
    toolset_unref(t);
    free(names);
    free(tools);
}

static void assert_suggests(const struct toolset *t, str wanted, const char *first)
{
    const struct toolset_item *found[SUGGEST_MAX];
    size_t n = suggest_tools(t, wanted, false, found);
    if (!first) {
        assert_int_equal(n, 0);
        return;
    }
    assert_true(n >= 1 && n <= SUGGEST_MAX);
    assert_string_equal(found[0]->name.p, first);
}

TEST(suggestions)
{
    struct toolset *t =
        set_of(PART("nb", "status", "delegate", "discover_tools"), PART("bash", "bash_exec"));
    assert_suggests(t, STR("status"), "nb__status");
    assert_suggests(t, STR("nb__stauts"), "nb__status");
    assert_suggests(t, STR("system__status"), "nb__status");
    assert_suggests(t, STR("bash"), "bash__bash_exec");
    assert_suggests(t, STR("discover_tool"), "nb__discover_tools");
    assert_suggests(t, STR("qqqqqqqqqqqqqqqqqq"), NULL);
    assert_suggests(t, STR(""), NULL);
    toolset_unref(t);
}

TEST(at_most_five_suggestions)
{
    struct toolset *t =
        set_of(PART("s", "get_a", "get_b", "get_c", "get_d", "get_e", "get_f"), PART("u", "get"));
    const struct toolset_item *found[SUGGEST_MAX];
    assert_int_equal(suggest_tools(t, STR("get"), false, found), 5);
    toolset_unref(t);
}

TEST(a_part_may_borrow_what_its_tools_point_to)
{
    struct json schema = {.type = JSON_OBJECT};
    struct tool tool = {.name = STR("read"), .description = STR("Reads."), .input_schema = &schema};
    struct toolset *borrowed =
        set_of(toolset_part_borrow(STR("s"), &tool, 1), PART("nb", "status"));
    struct toolset *copied = set_of(toolset_part_new(STR("s"), &tool, 1), PART("nb", "status"));
    assert_ptr_equal(toolset_find(borrowed, STR("s__read"))->tool->input_schema, &schema);
    assert_ptr_equal(toolset_find(borrowed, STR("s__read"))->tool->description.p,
                     tool.description.p);
    assert_ptr_not_equal(toolset_find(copied, STR("s__read"))->tool->input_schema, &schema);
    toolset_unref(borrowed);
    toolset_unref(copied);
}
