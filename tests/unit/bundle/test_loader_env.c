#include "bundle/confine/loader_env.h"
#include "support/unit.h"

TEST(what_loads_code_is_known)
{
    static const char *const YES[] = {
        "LD_PRELOAD",   "LD_LIBRARY_PATH", "LD_AUDIT",     "GCONV_PATH",       "GLIBC_TUNABLES",
        "OPENSSL_CONF", "OPENSSL_MODULES", "NODE_OPTIONS", "PYTHONSTARTUP",    "PYTHONHOME",
        "PERL5OPT",     "BASH_ENV",        "ENV",          "JAVA_TOOL_OPTIONS"};
    static const char *const NO[] = {"PATH",       "HOME",        "API_KEY",       "LD", "NODE_ENV",
                                     "PYTHONPATH", "ENVIRONMENT", "SSL_CERT_FILE", ""};
    for (size_t i = 0; i < ARRAY_LEN(YES); i++)
        assert_true(env_loads_code(str_from(YES[i])));
    for (size_t i = 0; i < ARRAY_LEN(NO); i++)
        assert_false(env_loads_code(str_from(NO[i])));
    assert_true(env_is_module_path(STR("PYTHONPATH")) && env_is_module_path(STR("NODE_PATH")));
    assert_false(env_is_module_path(STR("PATH")));
}
