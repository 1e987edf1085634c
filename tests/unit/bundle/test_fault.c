#include <errno.h>

#include "bundle/supervise/fault.h"
#include "support/unit.h"

TEST(a_failure_never_has_the_servers_words)
{
    static const enum bundle_state STATES[] = {BUNDLE_CRASHED, BUNDLE_DEAD, BUNDLE_STOPPED};
    for (int code = -200; code < 0; code++) {
        for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
            assert_null(strstr(fault_of_state(STATES[i], code, "sk-SECRET /etc"), "SECRET"));
        assert_true(strlen(fault_of_request(code)) > 0);
    }
}

TEST(what_nb_did_is_told)
{
    assert_string_equal(fault_of_state(BUNDLE_STOPPED, 0, "stopped by a user"),
                        "stopped by a user");
    assert_string_equal(fault_of_state(BUNDLE_RUNNING, 0, ""), "");
    assert_non_null(strstr(fault_of_state(BUNDLE_STOPPED, -ENOKEY, ""), "values"));
    assert_non_null(strstr(fault_of_request(-ETIMEDOUT), "in time"));
}
