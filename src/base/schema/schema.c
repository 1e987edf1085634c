#include "base/schema/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

#include "base/schema/schema_impl.h"
#include "base/utf8.h"

#define PATH_BYTES_MAX 300
#define PATH_KEY_MAX   64

struct keyword {
    str name;
    schema_keyword_fn *check;
};

/* Sorted by name for the search below. then/else, minContains/maxContains and additionalItems
 * of an items array are read by the keyword they belong to. */
static const struct keyword KEYWORDS[] = {
    {STR_INIT("$dynamicRef"), schema_ref},
    {STR_INIT("$ref"), schema_ref},
    {STR_INIT("additionalItems"), schema_additional_items},
    {STR_INIT("additionalProperties"), schema_additional_properties},
    {STR_INIT("allOf"), schema_all_of},
    {STR_INIT("anyOf"), schema_any_of},
    {STR_INIT("const"), schema_const},
    {STR_INIT("contains"), schema_contains},
    {STR_INIT("dependencies"), schema_dependencies},
    {STR_INIT("dependentRequired"), schema_dependent_required},
    {STR_INIT("dependentSchemas"), schema_dependent_schemas},
    {STR_INIT("enum"), schema_enum},
    {STR_INIT("exclusiveMaximum"), schema_exclusive_maximum},
    {STR_INIT("exclusiveMinimum"), schema_exclusive_minimum},
    {STR_INIT("if"), schema_if},
    {STR_INIT("items"), schema_items},
    {STR_INIT("maxItems"), schema_max_items},
    {STR_INIT("maxLength"), schema_max_length},
    {STR_INIT("maxProperties"), schema_max_properties},
    {STR_INIT("maximum"), schema_maximum},
    {STR_INIT("minItems"), schema_min_items},
    {STR_INIT("minLength"), schema_min_length},
    {STR_INIT("minProperties"), schema_min_properties},
    {STR_INIT("minimum"), schema_minimum},
    {STR_INIT("multipleOf"), schema_multiple_of},
    {STR_INIT("not"), schema_not},
    {STR_INIT("oneOf"), schema_one_of},
    {STR_INIT("pattern"), schema_pattern},
    {STR_INIT("patternProperties"), schema_pattern_properties},
    {STR_INIT("prefixItems"), schema_prefix_items},
    {STR_INIT("properties"), schema_properties},
    {STR_INIT("propertyNames"), schema_property_names},
    {STR_INIT("required"), schema_required},
    {STR_INIT("uniqueItems"), schema_unique_items},
};

static int keyword_cmp(const void *key, const void *item)
{
    return str_cmp(*(const str *)key, ((const struct keyword *)item)->name);
}

static schema_keyword_fn *find_keyword(str name)
{
    const struct keyword *k =
        bsearch(&name, KEYWORDS, ARRAY_LEN(KEYWORDS), sizeof(KEYWORDS[0]), keyword_cmp);
    return k ? k->check : NULL;
}

/* ---- errors and budget ---- */

static bool is_bare_key(str key)
{
    for (size_t i = 0; i < key.n; i++) {
        unsigned char c = (unsigned char)key.p[i];
        if (c <= ' ' || c == '.' || c == '[' || c == ']' || c == '"' || c == 0x7f)
            return false;
    }
    return key.n > 0 && key.n <= PATH_KEY_MAX;
}

static void write_path(struct buf *out, const struct schema_path *at)
{
    if (!at->up)
        return;
    write_path(out, at->up);
    if (!at->key.p) {
        buf_printf(out, "[%zu]", at->index);
    } else if (is_bare_key(at->key)) {
        buf_add_char(out, '.');
        buf_add_str(out, at->key);
    } else {
        buf_add_char(out, '[');
        json_write_string(out, utf8_truncate(at->key, PATH_KEY_MAX));
        buf_add_char(out, ']');
    }
}

static void write_error(struct schema_run *r, struct err *e, const struct schema_path *at,
                        const char *fmt, va_list ap)
{
    struct buf path;
    char reason[ERR_MAX];

    buf_init(&path, PATH_BYTES_MAX);
    write_path(&path, at);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    err_set(e, -EINVAL, "%s%s%s: %s", r->root_name, buf_cstr(&path), buf_failed(&path) ? "..." : "",
            reason);
    buf_done(&path);
}

bool schema_fail(struct schema_run *r, const struct schema_path *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (r->speculating == 0) {
        write_error(r, r->error, at, fmt, ap);
    } else if (at->depth > r->guess_depth) {
        r->guess_depth = at->depth;
        write_error(r, &r->guess, at, fmt, ap);
    }
    va_end(ap);
    return false;
}

bool schema_spend(struct schema_run *r)
{
    if (r->steps >= SCHEMA_STEPS_MAX)
        r->gave_up = true;
    else
        r->steps++;
    return !r->gave_up;
}

enum regex_answer schema_matches(struct schema_run *r, str pattern, str s)
{
    r->steps += SCHEMA_REGEX_STEPS;
    return schema_spend(r) ? regex_search(&r->regexes, pattern, s, &r->gave_up) : REGEX_UNKNOWN;
}

/* ---- one schema ---- */

static bool check_object(struct schema_run *r, const struct json *schema, const struct json *value,
                         const struct schema_path *at)
{
    const struct json *type = json_get(schema, "type");

    /* Checked first: "expected integer" says more than "must be at least 1". */
    if (type && !schema_type(r, schema, type, value, at))
        return false;
    for (uint32_t i = 0; i < schema->len; i++) {
        schema_keyword_fn *check = find_keyword(schema->members[i].key);
        if (check && !check(r, schema, &schema->members[i].value, value, at))
            return false;
    }
    return true;
}

bool schema_check(struct schema_run *r, const struct json *schema, const struct json *value,
                  const struct schema_path *at)
{
    if (json_is(schema, JSON_BOOL))
        return schema->boolean || schema_fail(r, at, "is not allowed here");
    if (!json_is(schema, JSON_OBJECT) || !schema_spend(r))
        return true;
    if (r->depth >= SCHEMA_DEPTH_MAX) {
        r->gave_up = true;
        return true;
    }
    r->depth++;
    bool fits = check_object(r, schema, value, at);
    assert(r->depth > 0);
    r->depth--;
    return fits || r->gave_up;
}

bool schema_fits(struct schema_run *r, const struct json *schema, const struct json *value,
                 const struct schema_path *at)
{
    r->speculating++;
    bool fits = schema_check(r, schema, value, at);
    assert(r->speculating > 0);
    r->speculating--;
    return fits;
}

int schema_validate(const struct json *schema, const struct json *value, const char *root,
                    struct err *e)
{
    struct err error = {0};
    struct schema_run r = {.root = schema, .root_name = root, .error = &error};
    struct schema_path top = {0};

    bool fits = schema_check(&r, schema, value, &top);
    assert(r.depth == 0 && r.speculating == 0);
    assert(fits || r.gave_up || error.code); /* a refusal has a reason */
    regex_cache_done(&r.regexes);
    if (r.gave_up) /* the sender chooses the order of the value: unchecked parts are not valid
                    */
        return err_set(e, -EINVAL, "%s: too complex to be checked; send less", root);
    if (fits)
        return 0;
    return err_set(e, -EINVAL, "%s", error.msg);
}
