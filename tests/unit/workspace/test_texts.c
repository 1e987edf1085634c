#include <errno.h>

#include "support/tempdir.h"
#include "support/unit.h"
#include "workspace/texts.h"

struct world {
    struct loop *loop;
    struct pool *pool;
    struct tempdir dir;
    struct arena arena;
    struct texts *t;
    char path[128];
    int code;
    char message[256];
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->pool = pool_new(w->loop, "test", 1);
    arena_init(&w->arena);
    tempdir_make(&w->dir);
    snprintf(w->path, sizeof w->path, "%s/texts.json", w->dir.path);
    w->t = texts_open(&(struct doc_place){.pool = w->pool, .path = w->path});
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    texts_free(w->t);
    pool_free(w->pool);
    loop_free(w->loop);
    arena_done(&w->arena);
    tempdir_drop(&w->dir);
    free(w);
    return 0;
}

static void on_changed(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->code = err ? err->code : 0;
    snprintf(w->message, sizeof w->message, "%s", err ? err->msg : "");
}

static int change(struct world *w, struct text_edit edit)
{
    w->code = 1;
    texts_change(w->t, &edit, on_changed, w);
    pool_free(w->pool);
    w->pool = pool_new(w->loop, "test", 1);
    texts_free(w->t); /* everything below is read from the file */
    w->t = texts_open(&(struct doc_place){.pool = w->pool, .path = w->path});
    assert_true(w->code <= 0);
    return w->code;
}

static const struct json *prompts(struct world *w, const char *owner)
{
    struct buf b;
    struct json_writer out;
    struct json *v = NULL;
    jw_start(&out, &b, 64u << 20);
    jw_array(&out);
    texts_write_prompts(w->t, str_from(owner), &out);
    jw_end(&out);
    assert_int_equal(json_parse(&w->arena, buf_keep_whole(&b, &w->arena), JSON_COPY, &v, NULL), 0);
    return v;
}

static bool has(struct world *w, const char *owner, const char *text)
{
    return str_eq(texts_instructions(w->t, str_from(owner)), str_from(text));
}

static str long_text(struct world *w, size_t n)
{
    char *p = arena_alloc(&w->arena, n);
    memset(p, 'x', n);
    return str_make(p, n);
}

TEST_WITH(each_person_and_the_workspace_have_instructions_of_their_own, set_up, tear_down)
{
    struct world *w = *state;
    struct text_edit own = {
        .owner = STR("usr_ben"), .by = STR("usr_ben"), .text = STR(" be brief\n")};
    assert_true(has(w, "", "") && has(w, "usr_ben", ""));
    assert_int_equal(change(w, own), 0);
    assert_int_equal(change(w, (struct text_edit){.by = STR("usr_ana"), .text = STR("say please")}),
                     0);
    assert_true(has(w, "", "say please") && has(w, "usr_ben", "be brief"));
    assert_true(has(w, "usr_cyd", ""));
    own.text = STR_NONE;
    assert_int_equal(change(w, own), 0);
    assert_true(has(w, "", "say please") && has(w, "usr_ben", ""));
    assert_true(texts_instructions(NULL, STR("usr_ben")).n == 0);
}

TEST_WITH(texts_have_limits, set_up, tear_down)
{
    struct world *w = *state;
    struct text_edit x = {.owner = STR("usr_ben"), .text = long_text(w, TEXTS_INSTRUCTIONS_MAX)};
    assert_int_equal(change(w, x), 0);
    assert_int_equal(texts_instructions(w->t, STR("usr_ben")).n, TEXTS_INSTRUCTIONS_MAX);
    x.text = long_text(w, TEXTS_INSTRUCTIONS_MAX + 1);
    assert_int_equal(change(w, x), -EINVAL);
    x.text = str_make("a\0b", 3);
    assert_int_equal(change(w, x), -EINVAL);
    assert_int_equal(texts_instructions(w->t, STR("usr_ben")).n, TEXTS_INSTRUCTIONS_MAX);
    x.name = STR("a/b");
    x.text = STR("t");
    assert_int_equal(change(w, x), -EINVAL);
    x.name = long_text(w, TEXTS_NAME_MAX + 1);
    assert_int_equal(change(w, x), -EINVAL);
    x.name = STR("ok");
    x.description = long_text(w, TEXTS_DESCRIPTION_MAX + 1);
    assert_int_equal(change(w, x), -EINVAL);
    x.description = STR_NONE;
    x.text = long_text(w, TEXTS_PROMPT_MAX + 1);
    assert_int_equal(change(w, x), -EINVAL);
    assert_int_equal(prompts(w, "usr_ben")->len, 0);
}

TEST_WITH(saved_prompts_are_replaced_deleted_and_counted, set_up, tear_down)
{
    struct world *w = *state;
    char name[16];
    struct text_edit x = {
        .owner = STR("usr_ben"), .by = STR("usr_ben"), .text = STR("t {{ who }}")};
    for (unsigned i = 0; i < TEXTS_PROMPTS_MAX; i++) {
        snprintf(name, sizeof name, "p%u", i);
        x.name = str_from(name);
        assert_int_equal(change(w, x), 0);
    }
    x.name = STR("more");
    assert_int_equal(change(w, x), -EPERM);
    x.name = STR("p7");
    x.text = STR("other");
    x.description = STR("d");
    assert_int_equal(change(w, x), 0);
    const struct json *all = prompts(w, "usr_ben");
    assert_int_equal(all->len, TEXTS_PROMPTS_MAX);
    assert_true(str_eq(json_get_string(&all->items[7], "text"), STR("other")));
    assert_true(str_eq(json_get_string(&all->items[7], "scope"), STR("personal")));
    assert_true(str_eq(json_string(json_at(json_get(&all->items[8], "variables"), 0), STR_NONE),
                       STR("who")));
    x.text = STR_NONE;
    assert_int_equal(change(w, x), 0);
    assert_int_equal(change(w, x), -ENOENT);
    assert_int_equal(prompts(w, "usr_ben")->len, TEXTS_PROMPTS_MAX - 1);
    assert_int_equal(prompts(w, "")->len, 0);
    x.owner = STR_NONE;
    x.name = STR("p1"); /* of the workspace: not there */
    assert_int_equal(change(w, x), -ENOENT);
}

TEST(variables_are_names_in_double_braces)
{
    static const struct {
        const char *text, *names;
    } CASES[] = {
        {"", ""},
        {"no variable {x} {{}} {{ }} {{a", ""},
        {"{{a}} and {{ b c }} and {{a}}", "a,b c,"},
        {"{{a\nb}} {{x}}", "x,"},
        {"{{{a}}}", "a,"},
        {"{{<b>}} {{ok-1_2}}", "ok-1_2,"},
        {"{{{{a}}", "a,"},
        {"}} {{a}} }} {{b}}", "a,b,"},
        {"{{{}} {{}}} {{a}}}", "a,"},
        {"{{ <}}b}} {{c {{ d }}", "d,"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct json_strs v = texts_variables(&a, str_from(CASES[i].text));
        str all = STR_NONE;
        for (size_t k = 0; k < v.len; k++)
            all = arena_printf(&a, "%.*s%.*s,", STR_ARG(all), STR_ARG(v.items[k]));
        if (!str_eq(all, str_from(CASES[i].names)))
            fail_msg("%s: %.*s", CASES[i].text, STR_ARG(all));
    }
    str many = STR_NONE;
    for (int i = 0; i < 40; i++)
        many = arena_printf(&a, "%.*s{{v%d}}", STR_ARG(many), i);
    assert_int_equal(texts_variables(&a, many).len, TEXTS_VARIABLES_MAX);
    arena_done(&a);
}

/* Twice as many braces must not take four times as long: the server reads them on its loop. */
TEST(open_braces_are_read_once)
{
    enum { HALF = 1024 * 1024 };
    char *p = xcalloc(1, 2 * HALF);
    struct arena a;
    arena_init(&a);
    memset(p, '{', HALF);
    memset(p + HALF, ' ', HALF);
    memcpy(p + 2 * HALF - 7, "{{a}} }", 7);
    assert_int_equal(texts_variables(&a, str_make(p, 2 * HALF)).len, 1);
    memcpy(p + 2 * HALF - 7, "     }}", 7);
    assert_int_equal(texts_variables(&a, str_make(p, 2 * HALF)).len, 0);
    arena_done(&a);
    free(p);
}

static bool is_not_ben(const void *ctx, str user_id)
{
    return !str_eq(user_id, STR("usr_ben"));
}

/* Until the change is on disk, then from there. */
static void read_again(struct world *w)
{
    assert_int_equal(change(w, (struct text_edit){.text = STR("for all")}), 0);
}

TEST_WITH(nothing_is_left_of_a_person_who_is_gone, set_up, tear_down)
{
    struct world *w = *state;
    static const char *const PEOPLE[] = {"usr_ben", "usr_cyd"};
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < ARRAY_LEN(PEOPLE); k++) {
            struct text_edit x = {.owner = str_from(PEOPLE[k]), .text = STR("mine")};
            assert_int_equal(change(w, x), 0);
            x.name = STR("p");
            assert_int_equal(change(w, x), 0);
        }
        if (i == 0)
            texts_forget(w->t, STR("usr_ben"));
        else
            texts_retain(w->t, is_not_ben, NULL);
        read_again(w);
        assert_true(has(w, "usr_ben", "") && has(w, "usr_cyd", "mine") && has(w, "", "for all"));
        assert_int_equal(prompts(w, "usr_ben")->len, 0);
        assert_int_equal(prompts(w, "usr_cyd")->len, 1);
    }
    texts_forget(w->t, STR("usr_none"));
    texts_forget(NULL, STR("usr_ben"));
}
