#include "mcp/transport/param_headers.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/base64.h"

#define ANNOTATION      "x-mcp-header"
#define SENTINEL_PREFIX "=?base64?"
#define SENTINEL_SUFFIX "?="

struct compiler {
    struct arena *mem;
    struct param_headers *out;
    str path[JSON_DEPTH_MAX];
    size_t depth;
    struct err *e;
};

enum holds { ONE_SCHEMA, LIST_OF_SCHEMAS, MAP_OF_SCHEMAS };

/* Other keywords that contain schemas; an annotation below any of these is invalid. */
static const struct {
    str keyword;
    enum holds holds;
} APPLICATORS[] = {
    {STR_INIT("items"), ONE_SCHEMA},
    {STR_INIT("contains"), ONE_SCHEMA},
    {STR_INIT("additionalProperties"), ONE_SCHEMA},
    {STR_INIT("unevaluatedProperties"), ONE_SCHEMA},
    {STR_INIT("unevaluatedItems"), ONE_SCHEMA},
    {STR_INIT("additionalItems"), ONE_SCHEMA},
    {STR_INIT("propertyNames"), ONE_SCHEMA},
    {STR_INIT("contentSchema"), ONE_SCHEMA},
    {STR_INIT("not"), ONE_SCHEMA},
    {STR_INIT("if"), ONE_SCHEMA},
    {STR_INIT("then"), ONE_SCHEMA},
    {STR_INIT("else"), ONE_SCHEMA},
    {STR_INIT("prefixItems"), LIST_OF_SCHEMAS},
    {STR_INIT("oneOf"), LIST_OF_SCHEMAS},
    {STR_INIT("anyOf"), LIST_OF_SCHEMAS},
    {STR_INIT("allOf"), LIST_OF_SCHEMAS},
    {STR_INIT("$defs"), MAP_OF_SCHEMAS},
    {STR_INIT("definitions"), MAP_OF_SCHEMAS},
    {STR_INIT("patternProperties"), MAP_OF_SCHEMAS},
    {STR_INIT("dependentSchemas"), MAP_OF_SCHEMAS},
};

static bool is_header_token(str s)
{
    return s.n > 0 && str_is_made_of(s, "!#$%&'*+-.^_`|~");
}

static bool is_header_type(const struct json *type)
{
    str s = json_string(type, STR_NONE);
    return str_eq(s, STR("string")) || str_eq(s, STR("integer")) || str_eq(s, STR("boolean"));
}

/* string, integer or boolean; a list of types may also contain null */
static bool has_header_type(const struct json *schema)
{
    const struct json *type = json_get(schema, "type");
    if (!json_is(type, JSON_ARRAY))
        return is_header_type(type);
    unsigned values = 0;
    for (uint32_t i = 0; i < type->len; i++) {
        if (is_header_type(&type->items[i]))
            values++;
        else if (!str_eq(json_string(&type->items[i], STR_NONE), STR("null")))
            return false;
    }
    return values == 1;
}

static bool is_taken(const struct param_headers *h, str name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (str_eq_nocase(h->items[i].name, name))
            return true;
    }
    return false;
}

static void keep_header(struct compiler *c, str name)
{
    assert(c->out->n < PARAM_HEADERS_MAX && c->depth > 0);
    str *path = arena_strs(c->mem, c->path, c->depth);
    c->out->items[c->out->n++] =
        (struct param_header){.name = arena_str(c->mem, name), .path = path, .depth = c->depth};
}

static int take_annotation(struct compiler *c, const struct json *schema, bool is_reachable)
{
    const struct json *v = json_get(schema, ANNOTATION);
    if (!v)
        return 0;
    str name = json_string(v, STR_NONE);
    if (!is_header_token(name))
        return err_set(c->e, -EINVAL, ANNOTATION " is not a header name");
    if (!is_reachable || c->depth == 0)
        return err_set(c->e, -EINVAL, ANNOTATION " \"%.*s\" is not on a property", STR_ARG(name));
    if (!has_header_type(schema))
        return err_set(c->e, -EINVAL,
                       ANNOTATION " \"%.*s\" is not on a string, an integer or a boolean",
                       STR_ARG(name));
    if (is_taken(c->out, name))
        return err_set(c->e, -EINVAL, ANNOTATION " \"%.*s\" occurs twice", STR_ARG(name));
    if (c->out->n == PARAM_HEADERS_MAX)
        return err_set(c->e, -EINVAL, "more than %d " ANNOTATION, PARAM_HEADERS_MAX);
    keep_header(c, name);
    return 0;
}

static int walk_schema(struct compiler *c, const struct json *schema, bool is_reachable);

static int walk_properties(struct compiler *c, const struct json *map, bool is_reachable)
{
    if (!json_is(map, JSON_OBJECT))
        return 0;
    int rc = 0;
    for (uint32_t i = 0; i < map->len && rc == 0; i++) {
        assert(c->depth < JSON_DEPTH_MAX); /* the parser allows no deeper document */
        c->path[c->depth++] = map->members[i].key;
        rc = walk_schema(c, &map->members[i].value, is_reachable);
        c->depth--;
    }
    return rc;
}

static int walk_applicator(struct compiler *c, const struct json *v, enum holds holds)
{
    if (holds == MAP_OF_SCHEMAS)
        return walk_properties(c, v, false);
    if (!json_is(v, JSON_ARRAY)) /* "items" may be a list in older dialects */
        return walk_schema(c, v, false);
    int rc = 0;
    for (uint32_t i = 0; i < v->len && rc == 0; i++)
        rc = walk_schema(c, &v->items[i], false);
    return rc;
}

static int walk_schema(struct compiler *c, const struct json *schema, bool is_reachable)
{
    if (!json_is(schema, JSON_OBJECT))
        return 0;
    int rc = take_annotation(c, schema, is_reachable);
    if (rc == 0)
        rc = walk_properties(c, json_get(schema, "properties"), is_reachable);
    for (size_t i = 0; i < ARRAY_LEN(APPLICATORS) && rc == 0; i++)
        rc = walk_applicator(c, json_get_str(schema, APPLICATORS[i].keyword), APPLICATORS[i].holds);
    return rc;
}

int param_headers_compile(struct arena *a, const struct json *input_schema,
                          struct param_headers *ret, struct err *e)
{
    struct param_header found[PARAM_HEADERS_MAX];
    struct param_headers headers = {.items = found};
    struct compiler c = {.mem = a, .out = &headers, .e = e};
    int rc = walk_schema(&c, input_schema, true);
    if (rc < 0)
        return rc;
    *ret = (struct param_headers){0};
    if (headers.n == 0)
        return 0;
    ret->items = arena_array(a, headers.n, sizeof(*ret->items));
    ret->n = headers.n;
    memcpy(ret->items, found, headers.n * sizeof(*found));
    return 0;
}

struct param_headers param_headers_copy(struct arena *a, const struct param_headers *h)
{
    struct param_headers copy = {.items = arena_array(a, h->n + 1, sizeof(*copy.items))};
    for (; copy.n < h->n; copy.n++) {
        const struct param_header *from = &h->items[copy.n];
        str *path = arena_strs(a, from->path, from->depth);
        copy.items[copy.n] = (struct param_header){arena_str(a, from->name), path, from->depth};
    }
    return copy;
}

bool param_header_value(struct arena *a, const struct param_header *h, const struct json *arguments,
                        str *ret)
{
    const struct json *v = arguments;
    for (size_t i = 0; i < h->depth; i++)
        v = json_get_str(v, h->path[i]);
    if (!v || v->type == JSON_NULL || v->type == JSON_ARRAY || v->type == JSON_OBJECT)
        return false;
    *ret = v->type == JSON_STRING ? header_value_encode(a, v->s) : json_to_str(a, v);
    return true;
}

static bool is_plain(str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if (c < ' ' || c > '~')
            return false;
    }
    if (value.n > 0 && (value.p[0] == ' ' || value.p[value.n - 1] == ' '))
        return false;
    return !(str_starts(value, STR(SENTINEL_PREFIX)) && str_ends(value, STR(SENTINEL_SUFFIX)));
}

str header_value_encode(struct arena *a, str value)
{
    if (is_plain(value))
        return value;
    struct buf out;
    buf_init(&out, value.n * 2 + 64);
    (void)buf_add_lit(&out, SENTINEL_PREFIX);
    (void)base64_encode(&out, value);
    (void)buf_add_lit(&out, SENTINEL_SUFFIX);
    return buf_keep(&out, a);
}
