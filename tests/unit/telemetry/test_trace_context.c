/* traceparent: one strict form, everything else is ignored. */
#include "support/unit.h"
#include "telemetry/trace_context.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"

TEST(a_valid_header_is_read)
{
    struct trace_context c = trace_context_parse(STR("00-" TRACE "-" SPAN "-01"));
    assert_true(c.is_set && c.is_sampled);
    assert_int_equal(c.trace[0], 0x0a);
    assert_int_equal(c.trace[15], 0x9c);
    assert_int_equal(c.span[7], 0x31);
    c = trace_context_parse(STR("00-" TRACE "-" SPAN "-00"));
    assert_true(c.is_set && !c.is_sampled);
    /* a later version may say more */
    assert_true(trace_context_parse(STR("cc-" TRACE "-" SPAN "-01-more")).is_set);
    assert_true(trace_context_parse(STR("cc-" TRACE "-" SPAN "-03")).is_sampled);
}

TEST(everything_else_is_ignored)
{
    static const char *const BAD[] = {
        "",
        "00",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-1",
        "00-" TRACE "-" SPAN "-01-more",
        "00-" TRACE "-" SPAN "-011",
        "cc-" TRACE "-" SPAN "-01x",
        "ff-" TRACE "-" SPAN "-01",
        "0x-" TRACE "-" SPAN "-01",
        "00-" TRACE "-" SPAN "-0g",
        "00_" TRACE "-" SPAN "-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-" TRACE "-b7ad6b716920333z-01",
    };
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_false(trace_context_parse(str_from(BAD[i])).is_set);
}
