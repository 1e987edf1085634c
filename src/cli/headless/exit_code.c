#include "cli/headless/exit_code.h"

#include <errno.h>

#include "cli/cli.h"

int exit_code_of_stop(str stop_reason)
{
    static const struct {
        const char *reason;
        int code;
    } CODES[] = {
        {"complete", EXIT_DONE}, {"max_iterations", EXIT_CUT}, {"token_budget", EXIT_CUT},
        {"length", EXIT_CUT},    {"refusal", EXIT_REFUSED},    {"cancelled", EXIT_INTERRUPTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (str_eq(stop_reason, str_from(CODES[i].reason)))
            return CODES[i].code;
    return EXIT_FAILED;
}

int exit_code_of_opening(bool is_elsewhere, int code)
{
    bool is_answer = code == -EACCES || code == -EINVAL || code == -ENOENT;
    return is_elsewhere && !is_answer ? EXIT_SERVER : EXIT_FAILED;
}

int exit_code_of_error(str error)
{
    if (str_starts(error, STR("provider_")) || str_eq(error, STR("model_not_found")) ||
        str_eq(error, STR("context_too_long")))
        return EXIT_PROVIDER;
    return str_eq(error, STR("connection_lost")) ? EXIT_SERVER : EXIT_FAILED;
}
