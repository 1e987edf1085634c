#include "gateway/gateway_impl.h"
#include "gateway/sign.h"
#include "support/unit.h"

static struct gateway a = {.key = {1, 2, 3}}, b = {.key = {1, 2, 4}};

TEST(what_was_signed_is_known_again)
{
    struct arena mem;
    str body;
    arena_init(&mem);
    str text = gw_sign_text(&a, &mem, STR("handle.with/dots"), STR("ada\nws"));
    assert_true(gw_sign_check(&a, text, STR("ada\nws"), &body));
    assert_true(str_eq(body, STR("handle.with/dots")));
    arena_done(&mem);
}

TEST(anything_else_is_refused)
{
    struct arena mem;
    str body;
    arena_init(&mem);
    str text = gw_sign_text(&a, &mem, STR("handle"), STR("ada"));
    assert_false(gw_sign_check(&a, text, STR("bob"), &body));
    assert_false(gw_sign_check(&b, text, STR("ada"), &body));
    assert_false(gw_sign_check(&a, STR(""), STR("ada"), &body));
    assert_false(gw_sign_check(&a, str_slice(text, 0, 32), STR("ada"), &body));
    for (size_t i = 0; i < text.n; i++) {
        char *other = arena_cstr(&mem, text);
        other[i] ^= 1;
        assert_false(gw_sign_check(&a, str_make(other, text.n), STR("ada"), &body));
    }
    arena_done(&mem);
}

/* What is in the body must not pass for a part of the context. */
TEST(body_and_context_do_not_run_together)
{
    struct arena mem;
    str body;
    arena_init(&mem);
    str text = gw_sign_text(&a, &mem, STR("x"), STR("y\nz"));
    char *other = arena_cstr(&mem, arena_concat(&mem, text, STR("\ny")));
    assert_false(gw_sign_check(&a, str_from(other), STR("z"), &body));
    arena_done(&mem);
}
