#include <errno.h>

#include "base/json/yaml.h"
#include "support/unit.h"

static void check_parse(const char *yaml, const char *json)
{
    struct arena a;
    struct json *v = NULL;
    struct err e = {0};
    arena_init(&a);
    int r = yaml_parse(&a, str_from(yaml), 1, &v, &e);
    assert_string_equal(e.msg, "");
    assert_int_equal(r, 0);
    assert_string_equal(json_to_str(&a, v).p, json);
    arena_done(&a);
}

static void check_error(const char *yaml, const char *want)
{
    struct arena a;
    struct json *v = NULL;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(yaml_parse(&a, str_from(yaml), 1, &v, &e), -EINVAL);
    assert_string_equal(e.msg, want);
    assert_null(v);
    arena_done(&a);
}

TEST(values)
{
    check_parse("", "null");
    check_parse("# only a comment\n", "null");
    check_parse("a: 1\nb: text\n", "{\"a\":1,\"b\":\"text\"}");
    check_parse("- 1\n- [x, 'y', \"z\\n\"]\n-\n", "[1,[\"x\",\"y\",\"z\\n\"],null]");
    check_parse("a:\n  b:\n    - c: true\n      d: ~\n",
                "{\"a\":{\"b\":[{\"c\":true,\"d\":null}]}}");
    check_parse("a: '1'\nb: \"true\"\n", "{\"a\":\"1\",\"b\":\"true\"}");
    check_parse("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}");
    check_parse("{a: [], b: {}}", "{\"a\":[],\"b\":{}}");
    check_parse("a: \"\\0\\u00e4\"", "{\"a\":\"\\u0000\xc3\xa4\"}");
    check_parse("1: a\ntrue: b\n", "{\"1\":\"a\",\"true\":\"b\"}");
    check_parse("---\na: 1\n...\n", "{\"a\":1}");
    check_parse("a: 1\r\nb:\r\n  - x\r\n", "{\"a\":1,\"b\":[\"x\"]}");
}

TEST(refusals)
{
    check_error("a: &x 1\n", "line 1: anchors are not supported");
    check_error("a: 1\nb: *a\n", "line 2: aliases are not supported; write the value out");
    check_error("a: 1\nb: !!str 2\n",
                "line 2: tags are not supported; quote the value to make it text");
    check_error("a: !t [1]\n", "line 1: tags are not supported; quote the value to make it text");
    check_error("&k a: 1\n", "line 1: anchors are not supported");
    check_error("a: 1\nb: 2\na: 3\n", "line 3: the key \"a\" appears twice");
    check_error("a: 1\n'a': 3\n", "line 2: the key \"a\" appears twice");
    check_error("? [x]\n: 1\n", "line 1: a key must be plain text");
    check_error("a: 1\n---\nb: 2\n", "line 2: a second document begins here");
    check_error("*a\n", "line 1: aliases are not supported; write the value out");
    check_error("ok: 1\nbad: \xff\n", "line 2: not valid UTF-8");
}

TEST(syntax_errors_name_the_line)
{
    struct arena a;
    struct json *v;
    struct err e;
    arena_init(&a);
    assert_int_equal(yaml_parse(&a, STR("a: 1\nb: c: d\n"), 10, &v, &e), -EINVAL);
    assert_string_equal(e.msg, "line 11: mapping values are not allowed in this context");
    assert_int_equal(yaml_parse(&a, STR("a: [1, 2\n"), 1, &v, &e), -EINVAL);
    assert_int_equal(yaml_parse(&a, STR("a: \"x\n"), 1, &v, NULL), -EINVAL);
    arena_done(&a);
}

static int parse_nested(int depth, const char *open)
{
    struct buf b;
    struct arena a;
    struct json *v;
    buf_init(&b, 100000);
    arena_init(&a);
    for (int i = 0; i < depth; i++)
        (void)buf_add_lit(&b, open);
    for (int i = 0; i < depth; i++)
        (void)buf_add_char(&b, open[0] == '[' ? ']' : '}');
    int r = yaml_parse(&a, buf_str(&b), 1, &v, NULL);
    buf_done(&b);
    arena_done(&a);
    return r;
}

TEST(depth)
{
    assert_int_equal(parse_nested(YAML_DEPTH_MAX, "["), 0);
    assert_int_equal(parse_nested(YAML_DEPTH_MAX + 1, "["), -EINVAL);
    assert_int_equal(parse_nested(YAML_DEPTH_MAX, "{a: "), 0);
    assert_int_equal(parse_nested(YAML_DEPTH_MAX + 1, "{a: "), -EINVAL);
    assert_int_equal(parse_nested(5000, "["), -EINVAL);
}

TEST(size_and_keys)
{
    struct buf b;
    struct arena a;
    struct json *v;
    struct err e;
    arena_init(&a);
    buf_init(&b, 2 * YAML_BYTES_MAX);
    for (int i = 0; i < 256; i++)
        (void)buf_printf(&b, "k%d: %d\n", i, i);
    assert_int_equal(yaml_parse(&a, buf_str(&b), 1, &v, &e), 0);
    assert_int_equal(v->len, 256);
    (void)buf_add_lit(&b, "one_more: 1\n");
    assert_int_equal(yaml_parse(&a, buf_str(&b), 1, &v, &e), -EINVAL);
    assert_string_equal(e.msg, "line 257: too many keys in one mapping");

    buf_clear(&b);
    (void)buf_printf(&b, "# %*s", (int)YAML_BYTES_MAX - 2, "");
    assert_int_equal(yaml_parse(&a, buf_str(&b), 1, &v, &e), 0);
    (void)buf_add_char(&b, ' ');
    assert_int_equal(yaml_parse(&a, buf_str(&b), 1, &v, &e), -EINVAL);
    buf_done(&b);
    arena_done(&a);
}

static void check_frontmatter(const char *text, const char *json, const char *body)
{
    struct arena a;
    struct json *meta = NULL;
    str rest = STR_NONE;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(yaml_frontmatter(&a, str_from(text), &meta, &rest, &e), 0);
    if (json)
        assert_string_equal(json_to_str(&a, meta).p, json);
    else
        assert_null(meta);
    assert_true(str_eq(rest, str_from(body)));
    arena_done(&a);
}

TEST(frontmatter)
{
    check_frontmatter("---\nname: x\n---\nbody\n", "{\"name\":\"x\"}", "body\n");
    check_frontmatter("---\r\nname: x\r\n---\r\nbody\r\n", "{\"name\":\"x\"}", "body\r\n");
    check_frontmatter("\xef\xbb\xbf---\nname: x\n---\n\nbody", "{\"name\":\"x\"}", "\nbody");
    check_frontmatter("--- \nname: x\n---\t", "{\"name\":\"x\"}", "");
    check_frontmatter("---\n---\nbody", "{}", "body");
    check_frontmatter("---\n# nothing\n---\n", "{}", "");
    check_frontmatter("---\na: 1\n---\nb\n---\nc", "{\"a\":1}", "b\n---\nc");
    check_frontmatter("---\na: |\n  ---\n---\nb", "{\"a\":\"---\\n\"}", "b");
    check_frontmatter("no frontmatter\n---\n", NULL, "no frontmatter\n---\n");
    check_frontmatter("----\na\n---\n", NULL, "----\na\n---\n");
    check_frontmatter(" ---\na\n---\n", NULL, " ---\na\n---\n");
    check_frontmatter("\xef\xbb\xbfplain", NULL, "plain");
    check_frontmatter("", NULL, "");
}

static void check_frontmatter_error(const char *text, const char *want)
{
    struct arena a;
    struct json *meta = NULL;
    str body;
    struct err e = {0};
    arena_init(&a);
    assert_int_equal(yaml_frontmatter(&a, str_from(text), &meta, &body, &e), -EINVAL);
    assert_string_equal(e.msg, want);
    assert_null(meta);
    arena_done(&a);
}

TEST(frontmatter_errors)
{
    check_frontmatter_error("---\nname: x\n",
                            "line 1: the frontmatter that begins here has no closing ---");
    check_frontmatter_error("---", "line 1: the frontmatter that begins here has no closing ---");
    check_frontmatter_error("---\n- a\n---\n",
                            "line 2: the frontmatter must be a mapping (key: value)");
    check_frontmatter_error("---\nok: 1\nok: 2\n---\n", "line 3: the key \"ok\" appears twice");
}
