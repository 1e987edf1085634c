#include "llm/provider/schema_clean.h"

struct cleaner {
    struct arena *a;
    unsigned flags;
};

static struct json clean(struct cleaner *c, const struct json *v, unsigned depth);

/* ---- what each keyword may hold; false = leave the keyword out ---- */

typedef bool (*keyword_fn)(struct cleaner *c, const struct json *in, unsigned depth,
                           struct json *ret);

static bool kw_drop(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)c, (void)in, (void)depth, (void)ret;
    return false;
}

static bool kw_string(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)c, (void)depth;
    *ret = *in;
    return in->type == JSON_STRING;
}

static bool kw_bool(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)c, (void)depth;
    *ret = *in;
    return in->type == JSON_BOOL;
}

static bool kw_number(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)c, (void)depth;
    *ret = *in;
    return in->type == JSON_INT || in->type == JSON_NUMBER;
}

static bool kw_positive(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    return kw_number(c, in, depth, ret) && json_double(in, 0) > 0;
}

static bool kw_count(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)c, (void)depth;
    *ret = *in;
    return in->type == JSON_INT && in->i >= 0;
}

static bool kw_array(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)c, (void)depth;
    *ret = *in;
    return in->type == JSON_ARRAY && in->len > 0;
}

static bool kw_schema(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    if (in->type != JSON_OBJECT && in->type != JSON_BOOL)
        return false;
    *ret = clean(c, in, depth + 1);
    return true;
}

static bool kw_schemas(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    if (in->type != JSON_ARRAY || in->len == 0)
        return false;
    *ret = (struct json){.type = JSON_ARRAY};
    for (size_t i = 0; i < in->len; i++)
        json_push(c->a, ret, clean(c, &in->items[i], depth + 1));
    return true;
}

static bool is_key_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || ch == '.' || ch == '-';
}

static bool is_allowed_key(str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (!is_key_char(key.p[i]))
            return false;
    return key.n > 0 && key.n <= 64;
}

static bool kw_properties(struct cleaner *c, const struct json *in, unsigned depth,
                          struct json *ret)
{
    if (in->type != JSON_OBJECT)
        return false;
    *ret = (struct json){.type = JSON_OBJECT};
    for (size_t i = 0; i < in->len; i++)
        if (is_allowed_key(in->members[i].key))
            json_set(c->a, ret, in->members[i].key, clean(c, &in->members[i].value, depth + 1));
    return true;
}

static bool kw_definitions(struct cleaner *c, const struct json *in, unsigned depth,
                           struct json *ret)
{
    if (in->type != JSON_OBJECT)
        return false;
    *ret = (struct json){.type = JSON_OBJECT};
    for (size_t i = 0; i < in->len; i++)
        json_set(c->a, ret, in->members[i].key, clean(c, &in->members[i].value, depth + 1));
    return true;
}

static bool holds_string(const struct json *arr, str s)
{
    for (size_t i = 0; i < arr->len; i++)
        if (str_eq(json_string(&arr->items[i], STR_NONE), s))
            return true;
    return false;
}

/* Draft 3 wrote `required: true` beside each property. */
static bool kw_required(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)depth;
    *ret = (struct json){.type = JSON_ARRAY};
    if (in->type != JSON_ARRAY)
        return false;
    for (size_t i = 0; i < in->len; i++) {
        str name = json_string(&in->items[i], STR_NONE);
        if (is_allowed_key(name) && !holds_string(ret, name))
            json_push(c->a, ret, json_of_str(name));
    }
    return true;
}

static bool is_type_name(const struct json *v)
{
    static const str TYPES[] = {STR_INIT("object"), STR_INIT("array"),   STR_INIT("string"),
                                STR_INIT("number"), STR_INIT("integer"), STR_INIT("boolean"),
                                STR_INIT("null")};
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_eq(json_string(v, STR_NONE), TYPES[i]))
            return true;
    return false;
}

static bool kw_type(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    (void)depth;
    *ret = *in;
    if (in->type != JSON_ARRAY)
        return is_type_name(in);
    *ret = (struct json){.type = JSON_ARRAY};
    for (size_t i = 0; i < in->len; i++)
        if (is_type_name(&in->items[i]) && !holds_string(ret, in->items[i].s))
            json_push(c->a, ret, in->items[i]);
    return ret->len > 0;
}

static bool kw_unless_plain(struct cleaner *c, const struct json *in, unsigned depth,
                            struct json *ret)
{
    return !(c->flags & SCHEMA_PLAIN) && kw_schema(c, in, depth, ret);
}

static bool kw_ref(struct cleaner *c, const struct json *in, unsigned depth, struct json *ret)
{
    return !(c->flags & SCHEMA_PLAIN) && kw_string(c, in, depth, ret);
}

static const struct {
    str name;
    keyword_fn fn;
} KEYWORDS[] = {
    {STR_INIT("$schema"), kw_drop},
    {STR_INIT("$id"), kw_drop},
    {STR_INIT("id"), kw_drop}, /* draft 4's $id; as a property name it lives one level deeper */
    {STR_INIT("$anchor"), kw_drop},
    {STR_INIT("$ref"), kw_ref},
    {STR_INIT("$defs"), kw_definitions},
    {STR_INIT("definitions"), kw_definitions},
    {STR_INIT("type"), kw_type},
    {STR_INIT("title"), kw_string},
    {STR_INIT("description"), kw_string},
    {STR_INIT("format"), kw_string},
    {STR_INIT("pattern"), kw_string},
    {STR_INIT("$comment"), kw_string},
    {STR_INIT("enum"), kw_array},
    {STR_INIT("examples"), kw_array},
    {STR_INIT("minimum"), kw_number},
    {STR_INIT("maximum"), kw_number},
    {STR_INIT("exclusiveMinimum"), kw_number},
    {STR_INIT("exclusiveMaximum"), kw_number},
    {STR_INIT("multipleOf"), kw_positive},
    {STR_INIT("minLength"), kw_count},
    {STR_INIT("maxLength"), kw_count},
    {STR_INIT("minItems"), kw_count},
    {STR_INIT("maxItems"), kw_count},
    {STR_INIT("minProperties"), kw_count},
    {STR_INIT("maxProperties"), kw_count},
    {STR_INIT("minContains"), kw_count},
    {STR_INIT("maxContains"), kw_count},
    {STR_INIT("uniqueItems"), kw_bool},
    {STR_INIT("deprecated"), kw_bool},
    {STR_INIT("readOnly"), kw_bool},
    {STR_INIT("writeOnly"), kw_bool},
    {STR_INIT("required"), kw_required},
    {STR_INIT("properties"), kw_properties},
    {STR_INIT("patternProperties"), kw_definitions},
    {STR_INIT("additionalProperties"), kw_unless_plain},
    {STR_INIT("unevaluatedProperties"), kw_unless_plain},
    {STR_INIT("propertyNames"), kw_schema},
    {STR_INIT("items"), kw_schema},
    {STR_INIT("prefixItems"), kw_schemas},
    {STR_INIT("additionalItems"), kw_drop}, /* means nothing beside prefixItems */
    {STR_INIT("unevaluatedItems"), kw_schema},
    {STR_INIT("contains"), kw_schema},
    {STR_INIT("not"), kw_schema},
    {STR_INIT("if"), kw_schema},
    {STR_INIT("then"), kw_schema},
    {STR_INIT("else"), kw_schema},
    {STR_INIT("allOf"), kw_schemas},
    {STR_INIT("anyOf"), kw_schemas},
    {STR_INIT("oneOf"), kw_schemas},
    {STR_INIT("dependencies"), kw_drop},
    {STR_INIT("dependentSchemas"), kw_definitions},
};

static keyword_fn find_keyword(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(KEYWORDS); i++)
        if (str_eq(name, KEYWORDS[i].name))
            return KEYWORDS[i].fn;
    return NULL;
}

/* ---- repairs that involve several keywords ---- */

/* Draft 4: a boolean beside `minimum` excludes the bound itself. */
static void repair_bound(struct cleaner *c, const struct json *in, struct json *out,
                         const char *bound, const char *exclusive)
{
    if (!json_get_bool(in, exclusive, false) || !json_get(out, bound))
        return;
    json_set(c->a, out, str_from(exclusive), *json_get(out, bound));
    json_unset(out, bound);
}

/* Draft 7: an array under `items` describes single places; today that is prefixItems. */
static void repair_tuple(struct cleaner *c, const struct json *in, struct json *out, unsigned depth)
{
    const struct json *items = json_get(in, "items");
    struct json places;
    if (json_is(items, JSON_ARRAY) && kw_schemas(c, items, depth, &places))
        json_set(c->a, out, STR("prefixItems"), places);
    /* Several APIs refuse arrays without `items`. */
    bool is_array = str_eq(json_get_string(out, "type"), STR("array"));
    if (is_array && !json_get(out, "items") && !json_get(out, "prefixItems"))
        json_set(c->a, out, STR("items"), (struct json){.type = JSON_OBJECT});
}

static struct json clean(struct cleaner *c, const struct json *v, unsigned depth)
{
    struct json out = {.type = JSON_OBJECT};
    if (v->type == JSON_BOOL && !(c->flags & SCHEMA_PLAIN))
        return *v;
    if (v->type != JSON_OBJECT || depth > SCHEMA_DEPTH_MAX)
        return out;
    for (size_t i = 0; i < v->len; i++) {
        const struct json_member *m = &v->members[i];
        keyword_fn fn = find_keyword(m->key);
        struct json value = m->value;
        if (!fn || fn(c, &m->value, depth, &value))
            json_set(c->a, &out, m->key, value);
    }
    repair_bound(c, v, &out, "minimum", "exclusiveMinimum");
    repair_bound(c, v, &out, "maximum", "exclusiveMaximum");
    repair_tuple(c, v, &out, depth);
    return out;
}

/* ---- the root ---- */

static void merge_properties(struct cleaner *c, struct json *root, const struct json *branch)
{
    const struct json *more = json_get(branch, "properties");
    struct json *props = json_get(root, "properties");
    for (size_t i = 0; json_is(more, JSON_OBJECT) && i < more->len; i++)
        if (!json_get_str(props, more->members[i].key))
            json_set(c->a, props, more->members[i].key, more->members[i].value);
}

/* Roots may not be unions, so their branches become one object that takes the properties of
 * all. The tool's own schema still enforces the required properties. */
static void flatten_union(struct cleaner *c, struct json *root, const char *keyword)
{
    const struct json *branches = json_get(root, keyword);
    for (size_t i = 0; json_is(branches, JSON_ARRAY) && i < branches->len; i++)
        merge_properties(c, root, &branches->items[i]);
    json_unset(root, keyword);
}

/* Whatever is required must also be described, or the schema contradicts itself after
 * properties with forbidden names were left out. */
static void drop_unknown_required(struct cleaner *c, struct json *root)
{
    const struct json *required = json_get(root, "required");
    struct json kept = {.type = JSON_ARRAY};
    for (size_t i = 0; json_is(required, JSON_ARRAY) && i < required->len; i++)
        if (json_get_str(json_get(root, "properties"), required->items[i].s))
            json_push(c->a, &kept, required->items[i]);
    if (required)
        json_set(c->a, root, STR("required"), kept);
}

/* Generators often write {"$ref": "#/definitions/Args", "definitions": {...}}. */
static const struct json *follow_root_ref(const struct json *schema)
{
    str ref = json_get_string(schema, "$ref"), step;
    if (!str_starts(ref, STR("#/")))
        return schema;
    const struct json *at = schema;
    str rest = str_skip(ref, 2);
    while (at && str_split(&rest, '/', &step))
        at = json_get_str(at, step);
    return json_is(at, JSON_OBJECT) ? at : schema;
}

static void copy_keywords(struct cleaner *c, struct json *root, const struct json *schema)
{
    struct json cleaned = clean(c, schema, 0);
    for (size_t i = 0; i < cleaned.len; i++)
        if (!str_eq(cleaned.members[i].key, STR("type")))
            json_set(c->a, root, cleaned.members[i].key, cleaned.members[i].value);
}

struct json *schema_clean(struct arena *a, const struct json *schema, unsigned flags)
{
    struct cleaner c = {a, flags};
    struct json *root = json_new(a, JSON_OBJECT);
    json_set(a, root, STR("type"), json_of_str(STR("object")));
    if (json_is(schema, JSON_OBJECT)) {
        const struct json *target = follow_root_ref(schema);
        copy_keywords(&c, root, schema);
        if (target != schema)
            copy_keywords(&c, root, target);
    }
    if (!json_get(root, "properties"))
        json_set(a, root, STR("properties"), (struct json){.type = JSON_OBJECT});
    flatten_union(&c, root, "oneOf");
    flatten_union(&c, root, "anyOf");
    flatten_union(&c, root, "allOf");
    json_unset(root, "$ref");
    json_unset(root, "enum");
    drop_unknown_required(&c, root);
    return root;
}
