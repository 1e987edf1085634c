/* schema_object.c - keywords about objects. */
#include "base/schema/schema_impl.h"
#include "base/utf8.h"

#define NAME_SHOWN_MAX 80

static struct schema_path member(const struct schema_path *up, str key)
{
    return (struct schema_path){.up = up, .key = key.p ? key : STR(""), .depth = up->depth + 1};
}

static size_t length(const struct json *v)
{
    return json_is(v, JSON_OBJECT) ? v->len : 0;
}

static bool check_member(struct schema_run *r, const struct json *schema,
                         const struct json_member *m, const struct schema_path *at)
{
    struct schema_path here = member(at, m->key);
    return schema_check(r, schema, &m->value, &here);
}

bool schema_properties(struct schema_run *r, const struct json *schema, const struct json *arg,
                       const struct json *value, const struct schema_path *at)
{
    for (size_t i = 0; i < length(value) && !r->gave_up; i++) {
        const struct json_member *m = &value->members[i];
        const struct json *sub = json_get_str(arg, m->key);
        if (sub && !check_member(r, sub, m, at))
            return false;
    }
    return true;
}

bool schema_pattern_properties(struct schema_run *r, const struct json *schema,
                               const struct json *arg, const struct json *value,
                               const struct schema_path *at)
{
    for (size_t p = 0; p < length(arg); p++) {
        for (size_t i = 0; i < length(value) && !r->gave_up; i++) {
            const struct json_member *m = &value->members[i];
            if (schema_matches(r, arg->members[p].key, m->key) == REGEX_YES &&
                !check_member(r, &arg->members[p].value, m, at))
                return false;
        }
    }
    return true;
}

static bool matches_any_pattern(struct schema_run *r, const struct json *patterns, str key)
{
    for (size_t p = 0; p < length(patterns); p++)
        if (schema_matches(r, patterns->members[p].key, key) != REGEX_NO)
            return true;
    return false;
}

static bool fail_unknown_key(struct schema_run *r, const struct json *known,
                             const struct schema_path *at)
{
    struct buf names;
    buf_init(&names, 400);
    for (size_t i = 0; i < length(known) && names.n < 300; i++) {
        buf_add_lit(&names, i ? ", " : "");
        buf_add_str(&names, utf8_truncate(known->members[i].key, NAME_SHOWN_MAX));
    }
    if (names.n > 0)
        schema_fail(r, at, "is not a known property (known: %s)", buf_cstr(&names));
    else
        schema_fail(r, at, "is not a known property");
    buf_done(&names);
    return false;
}

bool schema_additional_properties(struct schema_run *r, const struct json *schema,
                                  const struct json *arg, const struct json *value,
                                  const struct schema_path *at)
{
    const struct json *known = json_get(schema, "properties");
    const struct json *patterns = json_get(schema, "patternProperties");
    bool is_closed = arg->type == JSON_BOOL && !arg->boolean;

    for (size_t i = 0; i < length(value) && !r->gave_up; i++) {
        const struct json_member *m = &value->members[i];
        if (json_get_str(known, m->key) || matches_any_pattern(r, patterns, m->key))
            continue;
        struct schema_path here = member(at, m->key);
        if (is_closed)
            return fail_unknown_key(r, known, &here);
        if (!schema_check(r, arg, &m->value, &here))
            return false;
    }
    return true;
}

bool schema_property_names(struct schema_run *r, const struct json *schema, const struct json *arg,
                           const struct json *value, const struct schema_path *at)
{
    for (size_t i = 0; i < length(value) && !r->gave_up; i++) {
        struct json name = json_of_str(value->members[i].key);
        struct schema_path here = member(at, value->members[i].key);
        if (!schema_fits(r, arg, &name, &here))
            return schema_fail(r, &here, "is not an allowed name for a property");
    }
    return true;
}

static bool has_all(struct schema_run *r, const struct json *names, const struct json *value,
                    const struct schema_path *at, const char *because)
{
    for (size_t i = 0; i < (json_is(names, JSON_ARRAY) ? names->len : 0); i++) {
        const struct json *name = json_at(names, i);
        if (!schema_spend(r) || name->type != JSON_STRING || json_get_str(value, name->s))
            continue;
        struct schema_path here = member(at, name->s);
        return schema_fail(r, &here, "is required%s", because);
    }
    return true;
}

bool schema_required(struct schema_run *r, const struct json *schema, const struct json *arg,
                     const struct json *value, const struct schema_path *at)
{
    return value->type != JSON_OBJECT || has_all(r, arg, value, at, "");
}

bool schema_min_properties(struct schema_run *r, const struct json *schema, const struct json *arg,
                           const struct json *value, const struct schema_path *at)
{
    size_t min;
    if (value->type != JSON_OBJECT || !schema_count(arg, &min) || value->len >= min)
        return true;
    return schema_fail(r, at, "must have at least %zu properties", min);
}

bool schema_max_properties(struct schema_run *r, const struct json *schema, const struct json *arg,
                           const struct json *value, const struct schema_path *at)
{
    size_t max;
    if (value->type != JSON_OBJECT || !schema_count(arg, &max) || value->len <= max)
        return true;
    return schema_fail(r, at, "must have at most %zu properties", max);
}

bool schema_dependent_required(struct schema_run *r, const struct json *schema,
                               const struct json *arg, const struct json *value,
                               const struct schema_path *at)
{
    for (size_t i = 0; i < length(arg); i++)
        if (json_get_str(value, arg->members[i].key) &&
            !has_all(r, &arg->members[i].value, value, at, " because of another property"))
            return false;
    return true;
}

bool schema_dependent_schemas(struct schema_run *r, const struct json *schema,
                              const struct json *arg, const struct json *value,
                              const struct schema_path *at)
{
    for (size_t i = 0; i < length(arg); i++)
        if (json_get_str(value, arg->members[i].key) &&
            !schema_check(r, &arg->members[i].value, value, at))
            return false;
    return true;
}

/* The two above were one keyword until draft 2019-09. Each ignores what is the other's: no
 * schema is an array, and no list of names is an object. */
bool schema_dependencies(struct schema_run *r, const struct json *schema, const struct json *arg,
                         const struct json *value, const struct schema_path *at)
{
    return schema_dependent_required(r, schema, arg, value, at) &&
           schema_dependent_schemas(r, schema, arg, value, at);
}
