/* json_decode.c - one decoder function per field type, chosen by table. */
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

static int decode_str(struct decoder *d, const struct json *v, const struct json_field *f,
                      void *out, const struct decode_place *at)
{
    if (v->type != JSON_STRING)
        return wrong(d, at, "expected string");
    *(str *)out = arena_str(d->arena, v->s);
    return 0;
}

static int decode_cstr(struct decoder *d, const struct json *v, const struct json_field *f,
                       void *out, const struct decode_place *at)
{
    if (v->type != JSON_STRING)
        return wrong(d, at, "expected string");
    if (str_find_char(v->s, '\0') >= 0)
        return wrong(d, at, "expected string without NUL characters");
    *(const char **)out = arena_cstr(d->arena, v->s);
    return 0;
}

static int decode_int(struct decoder *d, const struct json *v, const struct json_field *f,
                      void *out, const struct decode_place *at)
{
    if (v->type != JSON_INT)
        return wrong(d, at, "expected integer");
    *(int64_t *)out = v->i;
    return 0;
}

static int decode_double(struct decoder *d, const struct json *v, const struct json_field *f,
                         void *out, const struct decode_place *at)
{
    double n = 0;
    if (v->type == JSON_INT)
        n = (double)v->i;
    else if (v->type != JSON_NUMBER)
        return wrong(d, at, "expected number");
    else if (parse_double(v->s, &n) < 0)
        return wrong(d, at, "number out of range");
    *(double *)out = n;
    return 0;
}

static int decode_bool(struct decoder *d, const struct json *v, const struct json_field *f,
                       void *out, const struct decode_place *at)
{
    if (v->type != JSON_BOOL)
        return wrong(d, at, "expected boolean");
    *(bool *)out = v->boolean;
    return 0;
}

static int decode_strs(struct decoder *d, const struct json *v, const struct json_field *f,
                       void *out, const struct decode_place *at)
{
    if (v->type != JSON_ARRAY)
        return wrong(d, at, "expected array of strings");
    struct json_strs strs = {arena_array(d->arena, v->len, sizeof(str)), v->len};
    for (size_t i = 0; i < strs.len; i++) {
        struct decode_place item = {.up = at, .index = i, .is_index = true};
        int r = decode_str(d, &v->items[i], f, &strs.items[i], &item);
        if (r < 0)
            return r;
    }
    *(struct json_strs *)out = strs;
    return 0;
}

static int decode_struct(struct decoder *d, const struct json *v, const struct json_field *f,
                         void *out, const struct decode_place *at)
{
    return decode_object(d, v, f->fields, out, at);
}

static int decode_structs(struct decoder *d, const struct json *v, const struct json_field *f,
                          void *out, const struct decode_place *at)
{
    if (v->type != JSON_ARRAY)
        return wrong(d, at, "expected array of objects");
    struct json_structs structs = {arena_array(d->arena, v->len, f->size), v->len};
    for (size_t i = 0; i < structs.len; i++) {
        struct decode_place item = {.up = at, .index = i, .is_index = true};
        void *element = (char *)structs.items + i * f->size;
        int r = decode_object(d, &v->items[i], f->fields, element, &item);
        if (r < 0)
            return r;
    }
    *(struct json_structs *)out = structs;
    return 0;
}

static int decode_json(struct decoder *d, const struct json *v, const struct json_field *f,
                       void *out, const struct decode_place *at)
{
    *(const struct json **)out = v;
    return 0;
}

static int decode_json_object(struct decoder *d, const struct json *v, const struct json_field *f,
                              void *out, const struct decode_place *at)
{
    if (v->type != JSON_OBJECT)
        return wrong(d, at, "expected object");
    *(const struct json **)out = v;
    return 0;
}

typedef int (*decode_fn)(struct decoder *d, const struct json *v, const struct json_field *f,
                         void *out, const struct decode_place *at);

static const decode_fn DECODERS[] = {
    [JF_STR] = decode_str,       [JF_CSTR] = decode_cstr,
    [JF_INT] = decode_int,       [JF_DOUBLE] = decode_double,
    [JF_BOOL] = decode_bool,     [JF_STRS] = decode_strs,
    [JF_OBJECT] = decode_struct, [JF_OBJECTS] = decode_structs,
    [JF_JSON] = decode_json,     [JF_JSON_OBJECT] = decode_json_object,
};

static int decode_field(struct decoder *d, const struct json *obj, const struct json_field *f,
                        void *out, const struct decode_place *at)
{
    const struct json *v = json_get(obj, f->name);
    struct decode_place field = {.up = at, .name = str_from(f->name)};
    if (!v || (v->type == JSON_NULL && (f->flags & JF_NULLABLE)))
        return f->flags & JF_REQUIRED ? wrong(d, &field, "required but missing") : 0;
    return DECODERS[f->type](d, v, f, (char *)out + f->offset, &field);
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
