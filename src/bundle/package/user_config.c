#include "bundle/package/user_config.h"

#include <errno.h>

static int wrong(struct err *e, const struct manifest_option *o, const char *why)
{
    return err_set(e, -EINVAL, "the value of '%.*s' %s", STR_ARG(o->key), why);
}

int user_config_check(const struct manifest_option *o, str value, struct err *e)
{
    double number;
    if (str_find_char(value, 0) >= 0)
        return wrong(e, o, "contains a NUL byte");
    if (o->type == OPTION_BOOLEAN && !str_eq(value, STR("true")) && !str_eq(value, STR("false")))
        return wrong(e, o, "must be true or false");
    if (o->type != OPTION_NUMBER)
        return 0;
    if (parse_double(value, &number) < 0)
        return wrong(e, o, "must be a number");
    if (number < o->min || number > o->max)
        return err_set(e, -EINVAL, "the value of '%.*s' must be %s %g", STR_ARG(o->key),
                       number < o->min ? "at least" : "at most", number < o->min ? o->min : o->max);
    return 0;
}

/* The text of a scalar for a command line. */
static str user_value_text(struct arena *a, const struct json *v)
{
    if (v->type == JSON_STRING)
        return v->s;
    bool is_scalar = v->type == JSON_BOOL || v->type == JSON_INT || v->type == JSON_NUMBER;
    return is_scalar ? json_to_str(a, v) : STR_NONE;
}

/* Treats empty strings as not set, as other hosts do. */
static int take_user_value(struct arena *a, const struct manifest_option *o, const struct json *v,
                           struct user_value *ret, struct err *e)
{
    size_t n = v->type == JSON_ARRAY ? v->len : 1;
    if (n > USER_VALUES_MAX || (v->type == JSON_ARRAY && !o->is_multiple))
        return wrong(e, o,
                     n > USER_VALUES_MAX ? "is a list that is too long"
                                         : "must be one value, not a list");
    str *items = arena_array(a, n, sizeof *items);
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        const struct json *one = v->type == JSON_ARRAY ? &v->items[i] : v;
        if (one->type == JSON_NULL)
            continue;
        if (one->type == JSON_OBJECT || one->type == JSON_ARRAY)
            return wrong(e, o, "must be a string, a number, true or false");
        str text = user_value_text(a, one);
        int r = text.n > 0 ? user_config_check(o, text, e) : 0;
        if (r < 0)
            return r;
        if (text.n > 0)
            items[len++] = text;
    }
    ret->values = (struct json_strs){items, len};
    return 0;
}

/* The variable whose value in the manifest is exactly this option: {"API_KEY":
 * "${user_config.k}"}. */
static str alias_of(struct arena *a, const struct manifest *m, str key)
{
    str wanted = arena_printf(a, "${user_config.%.*s}", STR_ARG(key));
    for (size_t i = 0; i < m->nenv; i++)
        if (str_eq(m->env[i].value, wanted))
            return m->env[i].key;
    return STR_NONE;
}

/* Only variables that the entry allows: a package must not be able to choose the variable that it
 * reads. */
static str from_environment(struct arena *a, const struct manifest *m,
                            const struct user_config_sources *from, str key)
{
    str alias = alias_of(a, m, key);
    if (alias.n == 0 || !from->getenv || !json_strs_has(&from->allowed_env, alias))
        return STR_NONE;
    return str_from(from->getenv(from->env_ctx, arena_cstr(a, alias)));
}

static struct json fallback_text(struct arena *a, const struct json *v, const char *home_dir)
{
    if (v->type != JSON_STRING)
        return *v;
    struct variables vars = {.home_dir = home_dir};
    return json_of_str(substitute_text(a, v->s, &vars));
}

bool option_is_path(const struct manifest_option *o)
{
    return o->type == OPTION_DIRECTORY || o->type == OPTION_FILE;
}

const struct json *user_config_proposal(struct arena *a, const struct manifest_option *o,
                                        const char *home_dir)
{
    if (!o->fallback)
        return NULL;
    if (o->fallback->type != JSON_ARRAY) {
        struct json *one = json_new(a, JSON_NULL);
        *one = fallback_text(a, o->fallback, home_dir);
        return one;
    }
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < o->fallback->len; i++)
        json_push(a, list, fallback_text(a, &o->fallback->items[i], home_dir));
    return list;
}

static int resolve_one(struct arena *a, const struct manifest *m,
                       const struct user_config_sources *from, struct user_value *v, struct err *e)
{
    const struct manifest_option *o = v->option;
    const struct json *const STORED[] = {from->given, from->stored, from->mpak};
    int r = 0;
    for (size_t i = 0; r == 0 && v->values.len == 0 && i < ARRAY_LEN(STORED); i++) {
        const struct json *found = json_get_str(STORED[i], o->key);
        if (found)
            r = take_user_value(a, o, found, v, e);
    }
    v->is_chosen = v->values.len > 0;
    if (r == 0 && v->values.len == 0) {
        struct json env = json_of_str(from_environment(a, m, from, o->key));
        r = take_user_value(a, o, &env, v, e);
    }
    const struct json *fallback = user_config_proposal(a, o, from->home_dir);
    if (r == 0 && v->values.len == 0 && fallback && !option_is_path(o))
        r = take_user_value(a, o, fallback, v, e);
    return r;
}

static void add_missing(struct arena *a, struct buf *out, const struct manifest_option *o,
                        const char *home_dir, bool is_further)
{
    const struct json *proposal = user_config_proposal(a, o, home_dir);
    buf_printf(out, "%s%.*s", is_further ? ", " : "", STR_ARG(o->key));
    if (proposal)
        buf_printf(out, " (it proposes %.*s)", STR_ARG(user_value_text(a, proposal)));
}

int user_config_resolve(struct arena *a, const struct manifest *m,
                        const struct user_config_sources *from, struct user_value **ret,
                        struct err *e)
{
    struct user_value *all = arena_array(a, m->noptions, sizeof *all);
    struct buf missing;
    size_t nmissing = 0;
    buf_init(&missing, ERR_MAX);
    int r = 0;
    for (size_t i = 0; r == 0 && i < m->noptions; i++) {
        all[i].option = &m->options[i];
        r = resolve_one(a, m, from, &all[i], e);
        if (r == 0 && all[i].values.len == 0 && m->options[i].is_required)
            add_missing(a, &missing, &m->options[i], from->home_dir, nmissing++ > 0);
    }
    if (r == 0 && nmissing > 0 && !from->may_lack)
        r = err_set(e, -ENOKEY, "%.*s needs %s: %s", STR_ARG(m->name),
                    nmissing > 1 ? "values that are not set" : "a value that is not set",
                    buf_cstr(&missing));
    buf_done(&missing);
    if (r == 0)
        *ret = all;
    return r;
}
