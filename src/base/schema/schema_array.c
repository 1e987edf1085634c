/* schema_array.c - keywords about arrays. */
#include "base/schema/schema_impl.h"

static struct schema_path element(const struct schema_path *up, size_t index)
{
    return (struct schema_path){.up = up, .index = index, .depth = up->depth + 1};
}

static size_t length(const struct json *v)
{
    return json_is(v, JSON_ARRAY) ? v->len : 0;
}

static bool check_from(struct schema_run *r, const struct json *schema, const struct json *value,
                       size_t from, const struct schema_path *at)
{
    for (size_t i = from; i < length(value) && !r->gave_up; i++) {
        struct schema_path here = element(at, i);
        if (!schema_check(r, schema, json_at(value, i), &here))
            return false;
    }
    return true;
}

static bool check_tuple(struct schema_run *r, const struct json *schemas, const struct json *value,
                        const struct schema_path *at)
{
    for (size_t i = 0; i < length(value) && i < length(schemas); i++) {
        struct schema_path here = element(at, i);
        if (!schema_check(r, json_at(schemas, i), json_at(value, i), &here))
            return false;
    }
    return true;
}

bool schema_prefix_items(struct schema_run *r, const struct json *schema, const struct json *arg,
                         const struct json *value, const struct schema_path *at)
{
    return check_tuple(r, arg, value, at);
}

/* Up to draft 2019-09 an array of schemas here meant what prefixItems means now. */
bool schema_items(struct schema_run *r, const struct json *schema, const struct json *arg,
                  const struct json *value, const struct schema_path *at)
{
    if (arg->type == JSON_ARRAY)
        return check_tuple(r, arg, value, at);
    return check_from(r, arg, value, length(json_get(schema, "prefixItems")), at);
}

bool schema_additional_items(struct schema_run *r, const struct json *schema,
                             const struct json *arg, const struct json *value,
                             const struct schema_path *at)
{
    const struct json *items = json_get(schema, "items");
    return json_is(items, JSON_ARRAY) ? check_from(r, arg, value, items->len, at) : true;
}

bool schema_min_items(struct schema_run *r, const struct json *schema, const struct json *arg,
                      const struct json *value, const struct schema_path *at)
{
    size_t min;
    if (value->type != JSON_ARRAY || !schema_count(arg, &min) || value->len >= min)
        return true;
    return schema_fail(r, at, "must have at least %zu elements", min);
}

bool schema_max_items(struct schema_run *r, const struct json *schema, const struct json *arg,
                      const struct json *value, const struct schema_path *at)
{
    size_t max;
    if (value->type != JSON_ARRAY || !schema_count(arg, &max) || value->len <= max)
        return true;
    return schema_fail(r, at, "must have at most %zu elements", max);
}

bool schema_unique_items(struct schema_run *r, const struct json *schema, const struct json *arg,
                         const struct json *value, const struct schema_path *at)
{
    if (!json_is(arg, JSON_BOOL) || !arg->boolean)
        return true;
    for (size_t i = 1; i < length(value); i++) {
        for (size_t j = 0; j < i; j++) {
            if (!schema_spend(r))
                return true;
            if (json_equal(json_at(value, i), json_at(value, j)))
                return schema_fail(r, at, "has the same element at [%zu] and [%zu]", j, i);
        }
    }
    return true;
}

bool schema_contains(struct schema_run *r, const struct json *schema, const struct json *arg,
                     const struct json *value, const struct schema_path *at)
{
    size_t min = 1, max = SIZE_MAX, found = 0;

    if (value->type != JSON_ARRAY)
        return true;
    schema_count(json_get(schema, "minContains"), &min);
    schema_count(json_get(schema, "maxContains"), &max);
    for (size_t i = 0; i < value->len && !r->gave_up; i++) {
        struct schema_path here = element(at, i);
        found += schema_fits(r, arg, json_at(value, i), &here);
    }
    if (r->gave_up || (found >= min && found <= max))
        return true;
    if (found < min)
        return schema_fail(r, at, "needs at least %zu matching elements, has %zu", min, found);
    return schema_fail(r, at, "allows at most %zu matching elements, has %zu", max, found);
}
