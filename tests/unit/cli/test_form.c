#include "cli/screen/form.h"
#include "support/unit.h"

struct world {
    struct arena arena;
    struct form form;
    struct err err;
};

static void ask(struct world *w, const char *question)
{
    struct json *v;
    arena_init(&w->arena);
    assert_int_equal(json_parse(&w->arena, str_from(question), 0, &v, NULL), 0);
    form_init(&w->form, v);
}

static void done(struct world *w)
{
    form_done(&w->form);
    arena_done(&w->arena);
}

static int enter(struct world *w, const char *line)
{
    return form_enter(&w->form, str_from(line), &w->err);
}

TEST(fields_one_by_one)
{
    struct world w = {0};
    ask(&w, "{\"inputId\":\"i\",\"kind\":\"form\",\"source\":\"s\",\"message\":\"m\",\"schema\":{"
            "\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":2},"
            "\"age\":{\"type\":\"integer\",\"minimum\":0},\"ok\":{\"type\":\"boolean\"},"
            "\"size\":{\"type\":\"string\",\"enum\":[\"S\",\"M\"],\"default\":\"M\"},"
            "\"tags\":{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}}},"
            "\"required\":[\"name\"]}}");
    assert_true(enter(&w, "") < 0); /* required */
    assert_true(enter(&w, "x") < 0);
    assert_int_equal(enter(&w, " Ann "), 0);
    assert_true(enter(&w, "old") < 0);
    assert_true(enter(&w, "-1") < 0);
    assert_int_equal(enter(&w, "41"), 0);
    assert_true(enter(&w, "maybe") < 0);
    assert_int_equal(enter(&w, "y"), 0);
    assert_true(enter(&w, "XL") < 0);
    assert_int_equal(enter(&w, ""), 0); /* the default is the server's to fill in */
    assert_true(enter(&w, "a, c") < 0);
    assert_false(form_is_complete(&w.form));
    assert_int_equal(enter(&w, "a, b"), 0);
    assert_string_equal(w.form.action, "accept");
    str got = json_to_str(&w.arena, w.form.content);
    assert_true(
        str_eq(got, STR("{\"name\":\"Ann\",\"age\":41,\"ok\":true,\"tags\":[\"a\",\"b\"]}")));
    done(&w);
}

TEST(yes_or_no)
{
    static const char QUESTION[] = "{\"inputId\":\"i\",\"kind\":\"url\",\"source\":\"s\","
                                   "\"message\":\"m\",\"url\":\"https://example.com/a\"}";
    struct world w = {0};
    ask(&w, QUESTION);
    assert_int_equal(enter(&w, ""), 0);
    assert_string_equal(w.form.action, "decline");
    done(&w);
    ask(&w, QUESTION);
    assert_int_equal(enter(&w, "yes"), 0);
    assert_string_equal(w.form.action, "accept");
    done(&w);
}

TEST(foreign_text_is_made_safe)
{
    struct world w = {0};
    struct buf out;
    ask(&w, "{\"inputId\":\"i\",\"kind\":\"form\",\"source\":\"s\\u001b[31m\",\"message\":"
            "\"a\\u001b]0;x\\u0007b\",\"schema\":{\"type\":\"object\",\"properties\":{"
            "\"k\":{\"type\":\"string\",\"title\":\"t\\u001b[2J\"}}}}");
    buf_init(&out, 65536);
    form_add_heading(&w.form, &out, false);
    form_add_prompt(&w.form, &out, false);
    assert_null(memchr(out.p, '\x1b', out.n));
    assert_null(memchr(out.p, '\a', out.n));
    assert_true(str_find(buf_str(&out), STR("Enter to leave out"), 0) >= 0);
    buf_done(&out);
    done(&w);
}
