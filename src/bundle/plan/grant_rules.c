#include "bundle/plan/grant_rules.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#include "bundle/confine/path_list.h"
#include "bundle/confine/program_files.h"

static bool is_of_system(str path)
{
    static const char *const MORE[] = {"/boot", "/dev", "/etc", "/proc", "/run", "/sys"};
    for (size_t i = 0; i < ARRAY_LEN(MORE); i++)
        if (path_is_at_or_below(path, str_from(MORE[i])))
            return true;
    return path_is_of_system(path);
}

static bool is_secret(struct arena *a, str path, str home)
{
    for (const char *const *s = SANDBOX_SECRETS; *s; s++) {
        str secret = arena_printf(a, "%.*s/%s", STR_ARG(home), *s);
        if (path_is_at_or_below(path, secret) || path_is_at_or_below(path, path_real(a, secret)))
            return true;
    }
    return false;
}

/* Home directories of other accounts, and of this one when HOME differs: their keys would not be
 * hidden. */
static bool is_foreign_home(struct arena *a, str path)
{
    static const char *const MARKS[] = {".ssh", ".gnupg"};
    struct passwd p, *found = NULL;
    char room[8192];
    for (size_t i = 0; i < ARRAY_LEN(MARKS); i++)
        if (access(arena_printf(a, "%.*s/%s", STR_ARG(path), MARKS[i]).p, F_OK) == 0)
            return true;
    if (getpwuid_r(getuid(), &p, room, sizeof room, &found) != 0 || !found)
        return false;
    str own = path_real(a, str_from(found->pw_dir));
    return path_is_at_or_below(own, path) || is_secret(a, path, own);
}

static const char *objection(struct arena *a, str path, str home, str work)
{
    if (str_eq(path, STR("/")))
        return "it is the whole file system";
    if (path_is_at_or_below(path, work))
        return "it is nb's own work directory, or in it";
    if (is_secret(a, path, home))
        return "it contains keys";
    if (str_eq(path, home))
        return NULL;
    if (path_is_below(home, path))
        return "it contains the home directory";
    if (path_is_below(work, path))
        return "it contains nb's own work directory";
    if (is_foreign_home(a, path))
        return "it is a home directory, or contains keys";
    return is_of_system(path) ? "it is a directory of the system" : NULL;
}

int grant_rules_check(str path, const char *home_dir, const char *work_dir, struct err *e)
{
    struct arena a;
    arena_init(&a);
    const char *why =
        objection(&a, path, path_real(&a, str_from(home_dir)), path_real(&a, str_from(work_dir)));
    int r = why ? err_set(e, -EACCES, "Commands cannot run in %.*s: %s.", STR_ARG(path), why) : 0;
    arena_done(&a);
    return r;
}
