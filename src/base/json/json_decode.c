#include "base/json/json_decode.h"

#include <errno.h>

#include "base/nearest.h"

/* The current place as a chain up the C stack; it becomes text only for an error message. */
struct decode_place {
    const struct decode_place *up; /* NULL: `name` is the path that the caller gave */
    str name;                      /* a key, unless an index */
    size_t index;
    bool is_index;
};

struct decoder {
    struct arena *arena;
    json_unknown_key unknown;
    void *ctx;
    struct err *e;
};

static str place_path(struct arena *a, const struct decode_place *at)
{
    if (!at->up)
        return at->name;
    str up = place_path(a, at->up);
    if (at->is_index)
        return arena_printf(a, "%.*s[%zu]", STR_ARG(up), at->index);
    return arena_printf(a, "%.*s%s%.*s", STR_ARG(up), up.n ? "." : "", STR_ARG(at->name));
}

static int wrong(struct decoder *d, const struct decode_place *at, const char *what)
{
    str path = place_path(d->arena, at);
    return err_set(d->e, -EINVAL, "%.*s%s%s", STR_ARG(path), path.n ? ": " : "", what);
}

static int decode_object(struct decoder *d, const struct json *v, const struct json_field *fields,
                         void *out, const struct decode_place *at);

static int decode_value(struct decoder *d, const struct json *v, const struct json_field *f,
                        void *out, const struct decode_place *at);

static int decode_double(struct decoder *d, const struct json *v, double *out,
                         const struct decode_place *at)
{
    if (v->type == JSON_INT)
        *out = (double)v->i;
    else if (v->type != JSON_NUMBER)
        return wrong(d, at, "expected number");
    else if (parse_double(v->s, out) < 0)
        return wrong(d, at, "number out of range");
    return 0;
}

static int decode_array(struct decoder *d, const struct json *v, const struct json_field *f,
                        void *out, const struct decode_place *at)
{
    bool is_strs = f->type == JF_STRS;
    struct json_field item = {.type = is_strs ? JF_STR : JF_OBJECT, .fields = f->fields};
    size_t size = is_strs ? sizeof(str) : f->size;
    char *items = arena_array(d->arena, v->len, size);
    for (size_t i = 0; i < v->len; i++) {
        struct decode_place place = {.up = at, .index = i, .is_index = true};
        int r = decode_value(d, &v->items[i], &item, items + i * size, &place);
        if (r < 0)
            return r;
    }
    if (is_strs)
        *(struct json_strs *)out = (struct json_strs){(str *)(void *)items, v->len};
    else
        *(struct json_structs *)out = (struct json_structs){items, v->len};
    return 0;
}

static const struct {
    enum json_type type;
    const char *problem; /* with values of other types; NULL = none */
} EXPECTED[] = {
    [JF_STR] = {JSON_STRING, "expected string"},
    [JF_CSTR] = {JSON_STRING, "expected string"},
    [JF_INT] = {JSON_INT, "expected integer"},
    [JF_BOOL] = {JSON_BOOL, "expected boolean"},
    [JF_STRS] = {JSON_ARRAY, "expected array of strings"},
    [JF_OBJECTS] = {JSON_ARRAY, "expected array of objects"},
    [JF_JSON_OBJECT] = {JSON_OBJECT, "expected object"},
};

static int decode_value(struct decoder *d, const struct json *v, const struct json_field *f,
                        void *out, const struct decode_place *at)
{
    if (EXPECTED[f->type].problem && v->type != EXPECTED[f->type].type)
        return wrong(d, at, EXPECTED[f->type].problem);
    switch (f->type) {
    case JF_STR:
        *(str *)out = arena_str(d->arena, v->s);
        break;
    case JF_CSTR:
        if (str_find_char(v->s, '\0') >= 0)
            return wrong(d, at, "expected string without NUL characters");
        *(const char **)out = arena_cstr(d->arena, v->s);
        break;
    case JF_INT:
        *(int64_t *)out = v->i;
        break;
    case JF_DOUBLE:
        return decode_double(d, v, out, at);
    case JF_BOOL:
        *(bool *)out = v->boolean;
        break;
    case JF_STRS:
    case JF_OBJECTS:
        return decode_array(d, v, f, out, at);
    case JF_OBJECT:
        return decode_object(d, v, f->fields, out, at);
    case JF_JSON:
    case JF_JSON_OBJECT:
        *(const struct json **)out = v;
        break;
    }
    return 0;
}

static int decode_field(struct decoder *d, const struct json *obj, const struct json_field *f,
                        void *out, const struct decode_place *at)
{
    const struct json *v = json_get(obj, f->name);
    struct decode_place field = {.up = at, .name = str_from(f->name)};
    if (!v || (v->type == JSON_NULL && (f->flags & JF_NULLABLE)))
        return f->flags & JF_REQUIRED ? wrong(d, &field, "required but missing") : 0;
    return decode_value(d, v, f, (char *)out + f->offset, &field);
}

static bool is_known_key(const struct json_field *fields, str key)
{
    for (const struct json_field *f = fields; f->name; f++)
        if (str_eq(str_from(f->name), key))
            return true;
    return false;
}

static const char *nearest_key(const struct json_field *fields, str key)
{
    struct nearest n = nearest_to(key);
    for (const struct json_field *f = fields; f->name; f++)
        nearest_offer(&n, f->name);
    return n.best;
}

static void report_unknown(struct decoder *d, const struct json *obj,
                           const struct json_field *fields, const struct decode_place *at)
{
    for (uint32_t i = 0; i < obj->len; i++) {
        struct decode_place member = {.up = at, .name = obj->members[i].key};
        if (!is_known_key(fields, member.name))
            d->unknown(d->ctx, place_path(d->arena, &member).p, nearest_key(fields, member.name));
    }
}

static int decode_object(struct decoder *d, const struct json *v, const struct json_field *fields,
                         void *out, const struct decode_place *at)
{
    if (v->type != JSON_OBJECT)
        return wrong(d, at, "expected object");
    for (const struct json_field *f = fields; f->name; f++) {
        int r = decode_field(d, v, f, out, at);
        if (r < 0)
            return r;
    }
    if (d->unknown)
        report_unknown(d, v, fields, at);
    return 0;
}

int json_decode(struct arena *a, const struct json *obj, const struct json_field *fields,
                void *ret_struct, const char *path, json_unknown_key unknown, void *ctx,
                struct err *e)
{
    struct decoder d = {.arena = a, .unknown = unknown, .ctx = ctx, .e = e};
    struct decode_place top = {.name = str_from(path)};
    if (!obj)
        return wrong(&d, &top, "expected object");
    return decode_object(&d, obj, fields, ret_struct, &top);
}

bool json_strs_has(const struct json_strs *list, str s)
{
    return str_in(s, list->items, list->len);
}

struct json_strs json_strs_copy(struct arena *a, struct json_strs list)
{
    return (struct json_strs){list.items ? arena_strs(a, list.items, list.len) : NULL, list.len};
}

struct json_strs json_strs_of(struct arena *a, const struct json *array)
{
    struct json_strs out = {0};
    if (!json_is(array, JSON_ARRAY))
        return out;
    out.items = arena_array(a, array->len + 1, sizeof(str));
    for (uint32_t i = 0; i < array->len; i++) {
        if (array->items[i].type == JSON_STRING)
            out.items[out.len++] = arena_str(a, array->items[i].s);
    }
    return out;
}
