#include "base/text/secret_name.h"

static bool has_nocase(str name, str part)
{
    for (size_t i = 0; i + part.n <= name.n; i++)
        if (str_eq_nocase(str_slice(name, i, i + part.n), part))
            return true;
    return false;
}

bool secret_is_name(str name)
{
    static const str PARTS[] = {
        STR_INIT("token"),   STR_INIT("secret"),  STR_INIT("passw"),      STR_INIT("credential"),
        STR_INIT("apikey"),  STR_INIT("api_key"), STR_INIT("api-key"),    STR_INIT("access_key"),
        STR_INIT("private"), STR_INIT("cookie"),  STR_INIT("authoriz"),   STR_INIT("_key"),
        STR_INIT("-key"),    STR_INIT("session"), STR_INIT("passphrase"),
    };
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
        if (has_nocase(name, PARTS[i]))
            return true;
    return false;
}
