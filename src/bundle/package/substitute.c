
#include "base/buf.h"
#include "bundle/package/user_config.h"

#define TEXT_MAX    (1024u * 1024)
#define USER_PREFIX "user_config."

/* The next ${name} at or after *at. Sets *at to the index after it, *ret_from to that of its dollar
 * sign. */
static bool next_variable(str text, size_t *at, size_t *ret_from, str *ret_name)
{
    ptrdiff_t from = str_find(text, STR("${"), *at);
    if (from < 0)
        return false;
    ptrdiff_t to = str_find(text, STR("}"), (size_t)from);
    if (to < 0)
        return false;
    *ret_from = (size_t)from;
    *ret_name = str_slice(text, (size_t)from + 2, (size_t)to);
    *at = (size_t)to + 1;
    return true;
}

static const struct user_value *find_value(const struct variables *v, str name)
{
    if (!str_starts(name, STR(USER_PREFIX)))
        return NULL;
    str key = str_skip(name, strlen(USER_PREFIX));
    for (size_t i = 0; i < v->nvalues; i++)
        if (str_eq(v->values[i].option->key, key))
            return &v->values[i];
    return NULL;
}

static void add_values(struct buf *out, const struct user_value *value)
{
    for (size_t i = 0; i < value->values.len; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        buf_add_str(out, value->values.items[i]);
    }
}

static bool add_place(struct buf *out, const struct variables *v, str name)
{
    const struct {
        const char *name, *base, *below;
    } PLACES[] = {
        {"__dirname", v->dir, ""},
        {"HOME", v->home_dir, ""},
        {"DESKTOP", v->home_dir, "/Desktop"},
        {"DOCUMENTS", v->home_dir, "/Documents"},
        {"DOWNLOADS", v->home_dir, "/Downloads"},
        {"DATA_DIR", v->data_dir, ""},
        {"/", "", "/"},
        {"pathSeparator", "", "/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        if (PLACES[i].base && str_eq(name, str_from(PLACES[i].name))) {
            buf_printf(out, "%s%s", PLACES[i].base, PLACES[i].below);
            return true;
        }
    }
    return false;
}

str substitute_text(struct arena *a, str text, const struct variables *v)
{
    struct buf out;
    size_t at = 0, from, done = 0;
    str name;
    buf_init(&out, TEXT_MAX);
    while (next_variable(text, &at, &from, &name)) {
        const struct user_value *value = find_value(v, name);
        buf_add_str(&out, str_slice(text, done, from));
        if (value)
            add_values(&out, value);
        else if (!add_place(&out, v, name))
            buf_add_str(&out, str_slice(text, from, at));
        done = at;
    }
    buf_add_str(&out, str_skip(text, done));
    str result = arena_str(a, buf_failed(&out) ? text : buf_str(&out));
    buf_done(&out);
    return result;
}

const struct user_value *substitute_whole(str text, const struct variables *v)
{
    size_t at = 0, from;
    str name;
    if (!next_variable(text, &at, &from, &name) || from != 0 || at != text.n)
        return NULL;
    return find_value(v, name);
}

const struct user_value *substitute_secret(str text, const struct variables *v)
{
    size_t at = 0, from;
    str name;
    while (next_variable(text, &at, &from, &name)) {
        const struct user_value *value = find_value(v, name);
        if (value && value->option->is_sensitive)
            return value;
    }
    return NULL;
}

str substitute_unknown(str text, const struct variables *v)
{
    size_t at = 0, from;
    str name;
    while (next_variable(text, &at, &from, &name))
        if (str_starts(name, STR(USER_PREFIX)) && !find_value(v, name))
            return str_skip(name, strlen(USER_PREFIX));
    return STR_NONE;
}
