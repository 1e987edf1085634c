/* nb__calculate and nb__time. */
#include "unit/builtin/builtin_rig.h"

BUILTIN_TEST(a_result_is_text_and_a_number)
{
    struct rig *r = *state;
    const struct tool_answer *a = use(r, r->ben, "nb__calculate", "{\"expression\":\"(2+3)*4\"}");
    assert_answer(a, "20");
    assert_true(json_double(json_get(a->out, "result"), 0) == 20);
    assert_answer(use(r, r->ben, "nb__calculate", "{\"expression\":\"1/4\"}"), "0.25");
    assert_answer(use(r, r->ben, "nb__calculate", "{\"expression\":\"2^53+1\"}"),
                  "9007199254740992");
}

BUILTIN_TEST(what_cannot_be_calculated_is_quoted)
{
    static const struct {
        const char *expression, *words;
    } CASES[] = {
        {"1/0", "Cannot calculate '1/0'"},
        {"2 +", "Cannot calculate '2 +'"},
        {"rm(1)", "Cannot calculate 'rm(1)'"},
        {"(1", "Cannot calculate '(1'"},
    };
    struct rig *r = *state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const char *args =
            arena_printf(&r->arena, "{\"expression\":\"%s\"}", CASES[i].expression).p;
        const struct tool_answer *a = use(r, r->ben, "nb__calculate", args);
        assert_true(a->is_error);
        assert_has(a->text, CASES[i].words);
        assert_null(a->out);
    }
}

/* ---- time ---- */

static int64_t offset_in(struct rig *r, const char *zone)
{
    const char *args = arena_printf(&r->arena, "{\"timezone\":\"%s\"}", zone).p;
    const struct tool_answer *a = use(r, r->ben, "nb__time", args);
    assert_false(a->is_error);
    assert_true(str_eq(out_str(a, "timezone"), str_from(zone)));
    return json_get_int(a->out, "offsetSeconds", -1);
}

BUILTIN_TEST(time_without_a_zone_is_utc)
{
    struct rig *r = *state;
    int64_t before = clock_now_ms();
    const struct tool_answer *a = use(r, r->ben, "nb__time", "{}");
    int64_t now = json_get_int(a->out, "epochMs", 0);
    assert_true(now >= before && now <= clock_now_ms());
    assert_int_equal(json_get_int(a->out, "offsetSeconds", -1), 0);
    assert_true(str_eq(out_str(a, "timezone"), STR("UTC")));
    assert_true(str_ends(out_str(a, "utc"), STR("Z")));
    assert_has(a->text, " UTC");
}

BUILTIN_TEST(zones_have_names_or_offsets)
{
    struct rig *r = *state;
    assert_int_equal(offset_in(r, "+02:00"), 7200);
    assert_int_equal(offset_in(r, "-05:30"), -19800);
    assert_int_equal(offset_in(r, "UTC"), 0);
    assert_int_equal(offset_in(r, "Asia/Kolkata"), 19800); /* no summer time */
}

BUILTIN_TEST(the_zone_of_the_settings_is_the_default)
{
    struct rig *r = *state;
    r->config.time_zone = STR("Asia/Tokyo");
    const struct tool_answer *a = use(r, r->ben, "nb__time", "{}");
    assert_int_equal(json_get_int(a->out, "offsetSeconds", 0), 32400);
    assert_true(str_eq(out_str(a, "timezone"), STR("Asia/Tokyo")));
    assert_has(a->text, "JST");
}

BUILTIN_TEST(an_unknown_zone_is_refused)
{
    struct rig *r = *state;
    static const char *const BAD[] = {"Mars/Olympus", "+25:00", "../../etc/passwd", "CESTT"};
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        const char *args = arena_printf(&r->arena, "{\"timezone\":\"%s\"}", BAD[i]).p;
        const struct tool_answer *a = use(r, r->ben, "nb__time", args);
        assert_true(a->is_error);
        assert_has_not(a->text, "/usr/share"); /* members need not know the layout of the server */
    }
}
