#include "bundle/plan/bundle_want.h"
#include "net/child.h"

static const char *const PASSED[] = {
    "PATH",        "USER",        "SHELL",      "LANG",        "LC_ALL",
    "LC_CTYPE",    "TERM",        "TZ",         "NODE_ENV",    "BUN_ENV",
    "NB_WORK_DIR", "UPJACK_ROOT", "PYTHONPATH", "VIRTUAL_ENV", "NODE_PATH",
};

/* Passed on only if the home directory is visible. */
static const char *const PASSED_WITH_HOME[] = {"HOME", "TMPDIR", "XDG_DATA_HOME",
                                               "XDG_CONFIG_HOME"};

static const char *const *names_of(struct arena *a, const struct bundle_env_want *w)
{
    const struct json_strs *allowed = &w->entry->allowed_env;
    size_t n = 0, max = ARRAY_LEN(PASSED) + ARRAY_LEN(PASSED_WITH_HOME) + allowed->len + 1;
    const char **names = arena_array(a, max, sizeof(*names));
    for (size_t i = 0; i < ARRAY_LEN(PASSED); i++)
        names[n++] = PASSED[i];
    for (size_t i = 0; w->keeps_home && i < ARRAY_LEN(PASSED_WITH_HOME); i++)
        names[n++] = PASSED_WITH_HOME[i];
    for (size_t i = 0; i < allowed->len; i++) {
        bool is_doubled = false;
        for (size_t k = 0; k < n; k++)
            is_doubled = is_doubled || str_eq(str_from(names[k]), allowed->items[i]);
        if (!is_doubled && !bundle_env_is_own(allowed->items[i]))
            names[n++] = arena_cstr(a, allowed->items[i]);
    }
    return names;
}

static const char *pair(struct arena *a, const char *key, str value)
{
    return arena_printf(a, "%s=%.*s", key, STR_ARG(value)).p;
}

/* The last variable of a name takes effect: child_env keeps that one. */
static const char *const *pairs_of(struct arena *a, const struct bundle_env_want *w)
{
    size_t n = 0, npackage = 0;
    for (const char *const *p = w->package_env; p && *p; p++)
        npackage++;
    const char **pairs = arena_array(a, npackage + w->entry->nenv + 5, sizeof(*pairs));
    str data = str_from(w->data_dir);
    pairs[n++] = pair(a, "MPAK_WORKSPACE", data);
    pairs[n++] = pair(a, "UPJACK_ROOT", data);
    if (!w->keeps_home)
        pairs[n++] = pair(a, "HOME", data);
    if (w->tmp_dir)
        pairs[n++] = pair(a, "TMPDIR", str_from(w->tmp_dir));
    for (size_t i = 0; i < npackage; i++)
        pairs[n++] = w->package_env[i];
    for (size_t i = 0; i < w->entry->nenv; i++) {
        const struct bundle_pair *e = &w->entry->env[i];
        pairs[n++] = pair(a, arena_cstr(a, e->key), e->value);
    }
    return pairs;
}

const char *const *bundle_env(struct arena *a, const struct bundle_env_want *w)
{
    char **block = child_env(names_of(a, w), pairs_of(a, w));
    const char **ret = arena_cstrs(a, (const char *const *)block);
    free(block);
    return ret;
}
