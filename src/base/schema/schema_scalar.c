/* schema_scalar.c - keywords about any value, numbers and strings. */
#include <math.h>

#include "base/schema/schema_impl.h"
#include "base/utf8.h"

#define QUOTED_MAX 200 /* bytes of an enumeration shown in an error */

static const char *type_name(const struct json *v)
{
    static const char *const NAMES[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
        [JSON_NUMBER] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };
    return NAMES[v->type];
}

bool schema_is_integer(const struct json *v)
{
    if (v->type == JSON_INT)
        return true;
    double d = json_double(v, NAN);
    return v->type == JSON_NUMBER && isfinite(d) && d == floor(d);
}

/* Unknown names of types fit everything. */
static bool has_type(const struct json *v, str type)
{
    if (str_eq(type, STR("integer")))
        return schema_is_integer(v);
    if (str_eq(type, STR("number")))
        return schema_is_number(v);
    static const struct {
        str name;
        enum json_type type;
    } TYPES[] = {
        {STR_INIT("string"), JSON_STRING}, {STR_INIT("object"), JSON_OBJECT},
        {STR_INIT("array"), JSON_ARRAY},   {STR_INIT("boolean"), JSON_BOOL},
        {STR_INIT("null"), JSON_NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_eq(type, TYPES[i].name))
            return v->type == TYPES[i].type;
    return true;
}

static bool fail_type(struct schema_run *r, const struct json *arg, const struct json *value,
                      const struct schema_path *at)
{
    struct buf names;
    size_t n = arg->type == JSON_ARRAY ? arg->len : 1;

    buf_init(&names, QUOTED_MAX);
    for (size_t i = 0; i < n; i++) {
        buf_add_lit(&names, i == 0 ? "" : i + 1 == n ? " or " : ", ");
        buf_add_str(&names, json_string(arg->type == JSON_ARRAY ? json_at(arg, i) : arg, STR("?")));
    }
    schema_fail(r, at, "expected %s, got %s", buf_cstr(&names), type_name(value));
    buf_done(&names);
    return false;
}

bool schema_type(struct schema_run *r, const struct json *schema, const struct json *arg,
                 const struct json *value, const struct schema_path *at)
{
    if (value->type == JSON_NULL && json_get_bool(schema, "nullable", false))
        return true;
    if (arg->type == JSON_STRING)
        return has_type(value, arg->s) || fail_type(r, arg, value, at);
    if (arg->type != JSON_ARRAY || arg->len == 0)
        return true;
    for (size_t i = 0; i < arg->len; i++) {
        const struct json *type = json_at(arg, i);
        if (type->type != JSON_STRING || has_type(value, type->s))
            return true;
    }
    return fail_type(r, arg, value, at);
}

/* Writes at most QUOTED_MAX bytes of v, for an error message. */
static void quote(struct buf *out, const struct json *v)
{
    struct buf whole;
    buf_init(&whole, QUOTED_MAX);
    if (json_write(&whole, v) < 0)
        buf_add_lit(out, "...");
    else
        buf_add_str(out, buf_str(&whole));
    buf_done(&whole);
}

static bool fail_enum(struct schema_run *r, const struct json *arg, const struct schema_path *at)
{
    struct buf list;
    buf_init(&list, 2 * QUOTED_MAX + 16);
    for (size_t i = 0; i < arg->len; i++) {
        if (list.n > QUOTED_MAX) {
            buf_add_lit(&list, ", ...");
            break;
        }
        buf_add_lit(&list, i ? ", " : "");
        quote(&list, json_at(arg, i));
    }
    schema_fail(r, at, "expected one of %s", buf_cstr(&list));
    buf_done(&list);
    return false;
}

bool schema_enum(struct schema_run *r, const struct json *schema, const struct json *arg,
                 const struct json *value, const struct schema_path *at)
{
    if (arg->type != JSON_ARRAY)
        return true;
    for (size_t i = 0; i < arg->len; i++)
        if (!schema_spend(r) || json_equal(json_at(arg, i), value))
            return true;
    return fail_enum(r, arg, at);
}

bool schema_const(struct schema_run *r, const struct json *schema, const struct json *arg,
                  const struct json *value, const struct schema_path *at)
{
    if (json_equal(arg, value))
        return true;
    struct buf wanted;
    buf_init(&wanted, QUOTED_MAX + 16);
    quote(&wanted, arg);
    schema_fail(r, at, "expected %s", buf_cstr(&wanted));
    buf_done(&wanted);
    return false;
}

bool schema_count(const struct json *arg, size_t *ret)
{
    if (!json_is(arg, JSON_INT) && !json_is(arg, JSON_NUMBER))
        return false;
    double d = json_double(arg, -1);
    if (!(d >= 0 && d < 1e15))
        return false;
    *ret = (size_t)d;
    return true;
}

/* ---- numbers ---- */

/* -1, 0 or 1; exact for two integers, by double otherwise. */
static int compare_numbers(const struct json *a, const struct json *b)
{
    if (a->type == JSON_INT && b->type == JSON_INT)
        return (a->i > b->i) - (a->i < b->i);
    double x = json_double(a, 0), y = json_double(b, 0);
    return (x > y) - (x < y);
}

static bool fail_number(struct schema_run *r, const struct schema_path *at, const char *rule,
                        const struct json *bound)
{
    struct buf text;
    buf_init(&text, QUOTED_MAX + 16);
    quote(&text, bound);
    schema_fail(r, at, "must be %s %s", rule, buf_cstr(&text));
    buf_done(&text);
    return false;
}

/* Draft 4 has {"minimum": 1, "exclusiveMinimum": true}. */
bool schema_minimum(struct schema_run *r, const struct json *schema, const struct json *arg,
                    const struct json *value, const struct schema_path *at)
{
    if (!schema_is_number(value) || !schema_is_number(arg))
        return true;
    if (json_get_bool(schema, "exclusiveMinimum", false))
        return compare_numbers(value, arg) > 0 || fail_number(r, at, "greater than", arg);
    return compare_numbers(value, arg) >= 0 || fail_number(r, at, "at least", arg);
}

bool schema_maximum(struct schema_run *r, const struct json *schema, const struct json *arg,
                    const struct json *value, const struct schema_path *at)
{
    if (!schema_is_number(value) || !schema_is_number(arg))
        return true;
    if (json_get_bool(schema, "exclusiveMaximum", false))
        return compare_numbers(value, arg) < 0 || fail_number(r, at, "less than", arg);
    return compare_numbers(value, arg) <= 0 || fail_number(r, at, "at most", arg);
}

bool schema_exclusive_minimum(struct schema_run *r, const struct json *schema,
                              const struct json *arg, const struct json *value,
                              const struct schema_path *at)
{
    if (!schema_is_number(value) || !schema_is_number(arg))
        return true;
    return compare_numbers(value, arg) > 0 || fail_number(r, at, "greater than", arg);
}

bool schema_exclusive_maximum(struct schema_run *r, const struct json *schema,
                              const struct json *arg, const struct json *value,
                              const struct schema_path *at)
{
    if (!schema_is_number(value) || !schema_is_number(arg))
        return true;
    return compare_numbers(value, arg) < 0 || fail_number(r, at, "less than", arg);
}

static bool is_multiple(const struct json *value, const struct json *of)
{
    if (value->type == JSON_INT && of->type == JSON_INT && of->i > 0)
        return value->i % of->i == 0;
    double divisor = json_double(of, 0);
    double quotient = json_double(value, 0) / divisor;
    if (!(divisor > 0) || !isfinite(quotient))
        return true;
    /* 0.3 is meant to be a multiple of 0.1, which no binary fraction is exactly. */
    return fabs(quotient - nearbyint(quotient)) <= 1e-9 * fmax(1, fabs(quotient));
}

bool schema_multiple_of(struct schema_run *r, const struct json *schema, const struct json *arg,
                        const struct json *value, const struct schema_path *at)
{
    if (!schema_is_number(value) || !schema_is_number(arg) || is_multiple(value, arg))
        return true;
    return fail_number(r, at, "a multiple of", arg);
}

/* ---- strings ---- */

bool schema_min_length(struct schema_run *r, const struct json *schema, const struct json *arg,
                       const struct json *value, const struct schema_path *at)
{
    size_t min;
    if (value->type != JSON_STRING || !schema_count(arg, &min) || utf8_count(value->s) >= min)
        return true;
    return schema_fail(r, at, "must have at least %zu characters", min);
}

bool schema_max_length(struct schema_run *r, const struct json *schema, const struct json *arg,
                       const struct json *value, const struct schema_path *at)
{
    size_t max;
    if (value->type != JSON_STRING || !schema_count(arg, &max) || utf8_count(value->s) <= max)
        return true;
    return schema_fail(r, at, "must have at most %zu characters", max);
}

bool schema_pattern(struct schema_run *r, const struct json *schema, const struct json *arg,
                    const struct json *value, const struct schema_path *at)
{
    if (value->type != JSON_STRING || arg->type != JSON_STRING ||
        schema_matches(r, arg->s, value->s) != REGEX_NO)
        return true;
    return schema_fail(r, at, "must match the pattern %.*s",
                       STR_ARG(utf8_truncate(arg->s, QUOTED_MAX)));
}
