#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/confine/path_list.h"

#define LINKS_MAX 40 /* as the kernel */

str path_real(struct arena *a, str path)
{
    char real[PATH_MAX];
    const char *p = arena_cstr(a, path);
    return arena_str(a, str_from(realpath(p, real) ? real : p));
}

bool path_is_really_in(struct arena *a, str path, const struct path_list *dirs)
{
    for (size_t i = 0; i < dirs->n; i++) {
        if (path_is_at_or_below(path, path_real(a, str_from(dirs->at[i]))))
            return true;
    }
    return false;
}

/* Resolves one more component. `dir` has no links, so ".." can be resolved as text. */
static str follow_part(struct arena *a, str dir, str part)
{
    ptrdiff_t slash = str_rfind_char(dir, '/');
    if (str_eq(part, STR("..")))
        return slash > 0 ? arena_str(a, str_slice(dir, 0, (size_t)slash)) : STR("/");
    return arena_printf(a, "%.*s/%.*s", STR_ARG(dir.n > 1 ? dir : STR("")), STR_ARG(part));
}

bool path_meets_link_in(struct arena *a, str path, const struct path_list *dirs)
{
    str at = STR("/"), rest = path, part;
    int links = 0;
    while (str_split(&rest, '/', &part)) {
        char target[PATH_MAX];
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        str next = follow_part(a, at, part);
        ssize_t n = readlink(next.p, target, sizeof(target));
        if (n < 0) {
            at = next;
            continue;
        }
        if (path_is_really_in(a, at, dirs) || ++links > LINKS_MAX || (size_t)n == sizeof(target))
            return true;
        rest = arena_printf(a, "%.*s/%.*s", (int)n, target, STR_ARG(rest));
        if (target[0] == '/')
            at = STR("/");
    }
    return false;
}

bool path_leaves_by_link(struct arena *a, str path, str dir)
{
    str straight =
        arena_printf(a, "%.*s%.*s", STR_ARG(path_real(a, dir)), STR_ARG(str_skip(path, dir.n)));
    return !str_eq(path_real(a, path), straight);
}
