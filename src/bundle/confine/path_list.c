#include "bundle/confine/path_list.h"

#include "base/buf.h"

#define PATH_BYTES_MAX (64u * 1024)

void path_list_add(struct arena *a, struct path_list *l, str path)
{
    if (path.n == 0 || l->n == PATH_LIST_MAX)
        return;
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(str_from(l->at[i]), path))
            return;
    }
    ARENA_GROW(a, l->at, l->n, l->cap);
    l->at[l->n++] = arena_cstr(a, path);
}

bool path_list_covers(const struct path_list *l, str path)
{
    for (size_t i = 0; i < l->n; i++)
        if (path_is_at_or_below(path, str_from(l->at[i])))
            return true;
    return false;
}

bool path_is_at_or_below(str path, str dir)
{
    return str_eq(path, dir) || path_is_below(path, dir);
}

bool path_is_below(str path, str dir)
{
    if (str_eq(dir, STR("/")))
        return path.n > 1;
    return str_starts(path, dir) && path.n > dir.n && path.p[dir.n] == '/';
}

bool path_is_inside(str path)
{
    str rest = path, part;
    if (path.n == 0 || path.p[0] == '/' || str_find_char(path, 0) >= 0)
        return false;
    while (str_split(&rest, '/', &part))
        if (str_eq(part, STR("..")))
            return false;
    return true;
}

static void add_parts(struct buf *out, str path)
{
    str rest = path, part;
    while (str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            ptrdiff_t up = str_rfind_char(buf_str(out), '/');
            buf_truncate(out, up > 0 ? (size_t)up : 0);
            continue;
        }
        buf_add_char(out, '/');
        buf_add_str(out, part);
    }
}

str path_clean(struct arena *a, str path, str base, str home)
{
    struct buf out;
    buf_init(&out, PATH_BYTES_MAX);
    if (str_eq(path, STR("~")) || str_starts(path, STR("~/"))) {
        add_parts(&out, home);
        path = str_skip(path, 1);
    } else if (path.n == 0 || path.p[0] != '/') {
        add_parts(&out, base);
    }
    add_parts(&out, path);
    if (out.n == 0)
        buf_add_char(&out, '/');
    return buf_keep(&out, a);
}
