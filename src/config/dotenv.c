#include "config/dotenv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "os/file.h"

static bool is_variable_name(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!is_letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return s.n > 0;
}

static str unquoted(str v)
{
    bool is_quoted = v.n >= 2 && (v.p[0] == '"' || v.p[0] == '\'') && v.p[v.n - 1] == v.p[0];
    return is_quoted ? str_slice(v, 1, v.n - 1) : v;
}

/* 1 = an assignment, 0 = nothing, -1 = neither. */
static int dotenv_read_line(str line, str *ret_name, str *ret_value)
{
    line = str_trim(line);
    if (line.n == 0 || line.p[0] == '#')
        return 0;
    if (str_starts(line, STR("export ")))
        line = str_trim(str_skip(line, 7));
    ptrdiff_t equals = str_find_char(line, '=');
    if (equals < 0)
        return -1;
    *ret_name = str_trim(str_slice(line, 0, (size_t)equals));
    *ret_value = unquoted(str_trim(str_skip(line, (size_t)equals + 1)));
    return is_variable_name(*ret_name) ? 1 : -1;
}

int dotenv_load(struct arena *a, const char *path, struct dotenv *ret, bool *ret_is_open,
                struct err *e)
{
    struct stat st;
    str rest, line, name, value;
    size_t no = 0;
    *ret = (struct dotenv){0};
    *ret_is_open = false;
    int r = file_read(a, path, DOTENV_BYTES_MAX, &ret->text, e);
    if (r == -ENOENT) {
        err_clear(e);
        return 0;
    }
    if (r < 0)
        return r;
    *ret_is_open = stat(path, &st) == 0 && (st.st_mode & 077) != 0;
    rest = ret->text;
    while (str_split(&rest, '\n', &line)) {
        no++;
        if (dotenv_read_line(line, &name, &value) < 0)
            return err_set(e, -EINVAL, "%s: line %zu is not NAME=VALUE", path, no);
    }
    return 0;
}

const char *dotenv_get(struct arena *a, const struct dotenv *d, const char *name)
{
    str rest = d->text, line, key, value;
    const char *found = NULL;
    while (str_split(&rest, '\n', &line))
        if (dotenv_read_line(line, &key, &value) == 1 && str_eq(key, str_from(name)))
            found = arena_cstr(a, value);
    return found;
}
