#include "config/setting.h"

#include <assert.h>
#include <errno.h>

#include "base/nearest.h"

union setting_value { /* a place for values that are not kept */
    str s;
    const char *cstr;
    int64_t i;
    bool boolean;
    struct json_strs strs;
    const struct json *json;
};

static void *member_of(const struct setting *s, const struct config *c)
{
    assert(!(s->flags & SETTING_CHECKED) && s->offset < sizeof *c);
    return (char *)c + s->offset;
}

str setting_str(const struct setting *s, const struct config *c)
{
    const void *at = member_of(s, c);
    assert(s->type == JF_STR || s->type == JF_CSTR);
    return s->type == JF_STR ? *(const str *)at : str_from(*(const char *const *)at);
}

/* "https://a.example, https://b.example" */
static struct json_strs strs_of(struct arena *a, const char *text)
{
    str rest = str_from(text), one;
    struct json_strs out = {arena_array(a, rest.n, sizeof(str)), 0};
    while (str_split(&rest, ',', &one))
        if (str_trim(one).n > 0)
            out.items[out.len++] = arena_str(a, str_trim(one));
    return out;
}

int setting_set(const struct setting *s, struct config *c, const char *text)
{
    void *to = member_of(s, c);
    int64_t number;
    switch (s->type) {
    case JF_INT:
        if (parse_i64(str_from(text), &number) < 0 || number < s->min || number > s->max)
            return -EINVAL;
        *(int64_t *)to = number;
        return 0;
    case JF_BOOL:
        *(bool *)to = strcmp(text, "true") == 0;
        return 0;
    case JF_STR:
        *(str *)to = arena_str(&c->arena, str_from(text));
        return 0;
    case JF_CSTR:
        *(const char **)to = arena_cstr(&c->arena, str_from(text));
        return 0;
    case JF_STRS:
        *(struct json_strs *)to = strs_of(&c->arena, text);
        return 0;
    default:
        assert(!"a row whose value is not text");
        return -EINVAL;
    }
}

/* ---- the settings file ---- */

/* "http.rateLimits" of "http.rateLimits.chat"; empty for a key of the document itself. */
static str section_of(str key)
{
    ptrdiff_t dot = str_rfind_char(key, '.');
    return dot < 0 ? STR_NONE : str_slice(key, 0, (size_t)dot);
}

static const struct json *section_in(const struct json *root, str section)
{
    str one;
    while (root && str_split(&section, '.', &one))
        root = json_get_str(root, one);
    return root;
}

int setting_decode(const struct setting *s, struct config *c, const struct json *root,
                   struct err *e)
{
    str key = str_from(s->key), section = section_of(key);
    const struct json *in = section_in(root, section);
    if (!in)
        return 0;
    const char *name = s->key + (section.n ? section.n + 1 : 0);
    if (s->flags & SETTING_FILE_FIRST) { /* checked by the floor that reads `providers` */
        *(str *)member_of(s, c) = arena_str(&c->arena, json_get_string(in, name));
        return 0;
    }
    union setting_value dropped;
    bool is_dropped =
        s->flags & SETTING_CHECKED || (s->flags & SETTING_OLD && setting_str(s, c).n > 0);
    const struct json_field row[] = {
        {name, s->type, 0, (int)(s->flags & SETTING_NULLABLE), NULL, 0}, {0}};
    return json_decode(&c->arena, in, row, is_dropped ? &dropped : member_of(s, c),
                       arena_cstr(&c->arena, section), NULL, NULL, e);
}

enum key_kind { KEY_UNKNOWN, KEY_SECTION, KEY_SETTING };

static enum key_kind key_kind_of(str path)
{
    enum key_kind found = KEY_UNKNOWN;
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        str key = str_from(SETTINGS[i].key);
        if (key.n > 0 && str_eq(key, path))
            return KEY_SETTING;
        if (key.n > path.n && key.p[path.n] == '.' && str_starts(key, path))
            found = KEY_SECTION;
    }
    return found;
}

/* The key of that section that may have been meant, or NULL. */
static const char *nearest_key(struct arena *a, str section, str name)
{
    struct nearest n = nearest_to(name);
    for (size_t i = 0; i < SETTINGS_LEN; i++) {
        str rest = str_from(SETTINGS[i].key), one;
        if (section.n > 0) {
            if (!str_starts(rest, section) || rest.n <= section.n || rest.p[section.n] != '.')
                continue;
            rest = str_skip(rest, section.n + 1);
        }
        if (str_split(&rest, '.', &one))
            nearest_offer(&n, arena_cstr(a, one));
    }
    return n.best;
}

static void unknown_below(struct arena *a, const struct json *obj, str section,
                          json_unknown_key unknown, void *ctx)
{
    for (size_t i = 0; i < obj->len; i++) {
        const struct json_member *m = &obj->members[i];
        str path =
            arena_printf(a, "%.*s%s%.*s", STR_ARG(section), section.n ? "." : "", STR_ARG(m->key));
        /* a key of the file may contain a dot, one of the table does not */
        enum key_kind kind = str_find_char(m->key, '.') < 0 ? key_kind_of(path) : KEY_UNKNOWN;
        if (kind == KEY_UNKNOWN)
            unknown(ctx, path.p, nearest_key(a, section, m->key));
        else if (kind == KEY_SECTION)
            unknown_below(a, &m->value, path, unknown, ctx);
    }
}

void settings_unknown(struct arena *a, const struct json *root, json_unknown_key unknown, void *ctx)
{
    assert(root->type == JSON_OBJECT);
    unknown_below(a, root, STR_NONE, unknown, ctx);
}

/* ---- checks ---- */

static bool is_choice(const struct setting *s, str value)
{
    str rest = str_from(s->choices), one;
    while (str_split(&rest, ',', &one))
        if (str_eq(str_trim(one), value))
            return true;
    return false;
}

static int check_items(const struct setting *s, const struct config *c, struct err *e)
{
    const struct json_strs *list = member_of(s, c);
    for (size_t i = 0; i < list->len; i++)
        if (!s->is_valid(list->items[i]))
            return err_set(e, -EINVAL, "%s: %s[%zu]: expected %s", c->path, s->key, i, s->expected);
    return 0;
}

int setting_check(const struct setting *s, const struct config *c, struct err *e)
{
    if (s->flags & SETTING_CHECKED)
        return 0;
    if (s->type == JF_INT) {
        int64_t v = *(const int64_t *)member_of(s, c);
        if (v < s->min || v > s->max)
            return err_set(e, -EINVAL, "%s: %s: %lld is outside %lld to %lld", c->path, s->key,
                           (long long)v, (long long)s->min, (long long)s->max);
    }
    if (s->choices && !is_choice(s, setting_str(s, c)))
        return err_set(e, -EINVAL, "%s: %s: '%.*s' is not one of %s", c->path, s->key,
                       STR_ARG(setting_str(s, c)), s->choices);
    if (s->is_valid && s->type == JF_STRS)
        return check_items(s, c, e);
    if (s->is_valid && !s->is_valid(setting_str(s, c)))
        return err_set(e, -EINVAL, "%s: %s: expected %s", c->path, s->key, s->expected);
    return 0;
}
