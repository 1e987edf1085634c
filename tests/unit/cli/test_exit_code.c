#include <errno.h>

#include "cli/cli.h"
#include "cli/headless/exit_code.h"
#include "support/unit.h"

TEST(each_cause_has_its_code)
{
    static const struct {
        const char *reason;
        int code;
    } STOPS[] = {{"complete", 0}, {"max_iterations", 3}, {"token_budget", 3}, {"length", 3},
                 {"refusal", 4},  {"cancelled", 130},    {"waiting", 1},      {"", 1}};
    for (size_t i = 0; i < ARRAY_LEN(STOPS); i++)
        assert_int_equal(exit_code_of_stop(str_from(STOPS[i].reason)), STOPS[i].code);
    assert_int_equal(exit_code_of_error(STR("provider_auth_error")), 5);
    assert_int_equal(exit_code_of_error(STR("context_too_long")), 5);
    assert_int_equal(exit_code_of_error(STR("connection_lost")), 6);
    assert_int_equal(exit_code_of_error(STR("storage_error")), 1);
    assert_int_equal(exit_code_of_opening(true, -ECONNREFUSED), 6);
    assert_int_equal(exit_code_of_opening(true, -EACCES), 1);
    assert_int_equal(exit_code_of_opening(false, -EIO), 1);
}
