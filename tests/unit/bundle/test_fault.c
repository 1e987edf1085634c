#include <errno.h>

#include "bundle/supervise/fault.h"
#include "support/unit.h"

static void a_failure_never_has_the_servers_words(void **state)
{
    static const enum bundle_state STATES[] = {BUNDLE_CRASHED, BUNDLE_DEAD, BUNDLE_STOPPED};
    for (int code = -200; code < 0; code++) {
        for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
            assert_null(strstr(fault_of_state(STATES[i], code, "sk-SECRET /etc"), "SECRET"));
        assert_true(strlen(fault_of_request(code)) > 0);
    }
}

static void what_nb_did_is_told(void **state)
{
    assert_string_equal(fault_of_state(BUNDLE_STOPPED, 0, "stopped by a user"),
                        "stopped by a user");
    assert_string_equal(fault_of_state(BUNDLE_RUNNING, 0, ""), "");
    assert_non_null(strstr(fault_of_state(BUNDLE_STOPPED, -ENOKEY, ""), "values"));
    assert_non_null(strstr(fault_of_request(-ETIMEDOUT), "in time"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_never_has_the_servers_words),
        cmocka_unit_test(what_nb_did_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
