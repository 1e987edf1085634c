#include "bundle/confine/loader_env.h"

bool env_loads_code(str name)
{
    static const char *const PREFIXES[] = {"LD_",      "DYLD_",  "OPENSSL_",     "BASH_FUNC_",
                                           "MALLOC_",  "COR_",   "CORECLR_",     "BUN_INSPECT",
                                           "GUIX_LD_", "NIX_LD", "SYSTEMD_EXEC", "NODE_REPL_"};
    static const char *const NAMES[] = {
        /* the C library: plug-ins, tables and host names that the variable chooses */
        "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH",
        "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
        /* shells: files that run first, and options that run text */
        "BASH_ENV", "BASHOPTS", "CDPATH", "ENV", "FPATH", "GLOBIGNORE", "IFS", "KSH_ENV",
        "PROMPT_COMMAND", "PS4", "SHELLOPTS", "ZDOTDIR",
        /* interpreters: options, start-up files, other homes */
        "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "BUN_OPTIONS", "DENO_DIR", "ELECTRON_RUN_AS_NODE",
        "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONUSERBASE", "PYTHONBREAKPOINT",
        "PYTHONPLATLIBDIR", "PYTHONWARNINGS", "PYTHONEXECUTABLE", "PERL5OPT", "PERL5LIB", "PERLLIB",
        "PERL5DB", "RUBYOPT", "RUBYLIB", "GEM_PATH", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "PHPRC",
        "PHP_INI_SCAN_DIR", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
        "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "R_PROFILE", "R_PROFILE_USER",
        "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "UV_PYTHON", "UV_INDEX_URL", NULL};
    for (size_t i = 0; i < ARRAY_LEN(PREFIXES); i++) {
        if (str_starts(name, str_from(PREFIXES[i])))
            return true;
    }
    return str_in_cstrs(name, NAMES);
}

bool env_is_module_path(str name)
{
    static const char *const NAMES[] = {"PYTHONPATH", "NODE_PATH", NULL};
    return str_in_cstrs(name, NAMES);
}
