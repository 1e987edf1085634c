#include <errno.h>

#include "bundle/bash/bash_run.h"

static bool has_nul(str s)
{
    return str_find_char(s, '\0') >= 0;
}

static int check_env(const struct json *env, struct err *e)
{
    for (size_t i = 0; env && i < env->len; i++) {
        const struct json_member *m = &env->members[i];
        if (m->value.type != JSON_STRING || has_nul(m->value.s))
            return err_set(e, -EINVAL, "env.%.*s: must be a string", STR_ARG(m->key));
        if (m->key.n == 0 || has_nul(m->key) || str_find_char(m->key, '=') >= 0)
            return err_set(e, -EINVAL, "env: '%.*s' is not a valid variable name", STR_ARG(m->key));
    }
    return 0;
}

static int read_timeout(const struct json *v, int64_t *ret, struct err *e)
{
    double seconds = v ? json_double(v, -1) : BASH_TIMEOUT_S;
    if (!(seconds > 0) || seconds > BASH_TIMEOUT_MAX_S)
        return err_set(e, -EINVAL, "timeout: must be a number of seconds up to %d",
                       BASH_TIMEOUT_MAX_S);
    *ret = (int64_t)(seconds * 1000) + (seconds < 0.001);
    return 0;
}

int bash_want_read(const struct json *args, struct bash_want *ret, struct err *e)
{
    static const char *const KNOWN[] = {"command", "cwd", "timeout", "env"};
    for (size_t i = 0; i < (args ? args->len : 0); i++) {
        if (STR_INDEX(args->members[i].key, KNOWN) < 0)
            return err_set(e, -EINVAL, "unknown argument '%.*s'", STR_ARG(args->members[i].key));
    }
    const struct json *cwd = json_get(args, "cwd"), *env = json_get(args, "env");
    ret->command = json_get_string(args, "command");
    if (ret->command.n == 0 || has_nul(ret->command))
        return err_set(e, -EINVAL, "command: must be a non-empty string");
    if ((cwd && !json_is(cwd, JSON_STRING)) || has_nul(json_string(cwd, STR_NONE)))
        return err_set(e, -EINVAL, "cwd: must be a string");
    if (env && !json_is(env, JSON_OBJECT))
        return err_set(e, -EINVAL, "env: must be an object of strings");
    ret->cwd = json_string(cwd, STR_NONE);
    ret->env = env;
    ret->disk_full_mb = 0;
    ret->directory = STR_NONE;
    int rc = read_timeout(json_get(args, "timeout"), &ret->timeout_ms, e);
    return rc < 0 ? rc : check_env(env, e);
}
