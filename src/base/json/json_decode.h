/* json_decode.h - JSON objects into C structs by table.
 *
 * A table names each field, its type and where it goes. Errors name the path:
 * "bundles[2].url: expected string". Decoded strings and arrays are copied to the arena;
 * JF_JSON and JF_JSON_OBJECT point into the document. The first of duplicate keys is used.
 *
 *   static const struct json_field FIELDS[] = {
 *       {"message", JF_STR, offsetof(struct chat_in, message), JF_REQUIRED, NULL, 0},
 *       {"limits", JF_OBJECT, offsetof(struct chat_in, limits), 0, LIMIT_FIELDS, 0},
 *       {"bundles", JF_OBJECTS, offsetof(...), 0, BUNDLE_FIELDS, sizeof(struct bundle_conf)},
 *       {0}};                                                                          */
#pragma once

#include "base/json/json.h"

enum json_field_type {
    JF_STR,         /* str */
    JF_CSTR,        /* const char *, refuses NUL inside */
    JF_INT,         /* int64_t */
    JF_DOUBLE,      /* double */
    JF_BOOL,        /* bool */
    JF_STRS,        /* struct json_strs: array of strings */
    JF_OBJECT,      /* nested struct in place, with its own table */
    JF_OBJECTS,     /* struct json_structs: array of objects, each zeroed, then decoded */
    JF_JSON,        /* const struct json *: any value, undecoded */
    JF_JSON_OBJECT, /* const struct json *: must be an object */
};

enum {
    JF_REQUIRED = 1,
    JF_NULLABLE = 2, /* null is the same as absent */
};

struct json_strs {
    str *items;
    size_t len;
};

bool json_strs_has(const struct json_strs *list, str s);
/* A list without items (NULL: the field was absent) stays one without. */
struct json_strs json_strs_copy(struct arena *a, struct json_strs list);
/* The strings of an array, copied; values of other types are left out. */
struct json_strs json_strs_of(struct arena *a, const struct json *array);

struct json_structs {
    void *items;
    size_t len;
};

struct json_field {
    const char *name;
    enum json_field_type type;
    size_t offset;
    int flags;
    const struct json_field *fields; /* JF_OBJECT, JF_OBJECTS */
    size_t size;                     /* JF_OBJECTS: sizeof one element */
    /* For documents only: a sentence, and a type that is narrower than `type`
     * (api/describe/shape.h), or NULL. */
    const char *about, *shape;
};

/* Called once per key that no table knows, with its full path and the known key that may have
 * been meant (or NULL). NULL = ignore silently. */
typedef void (*json_unknown_key)(void *ctx, const char *path, const char *meant);

/* Fields absent in the object leave the struct as it was: set defaults first. Returns 0 or
 * -EINVAL with a message whose path starts with `path` ("" for the document itself). */
int json_decode(struct arena *a, const struct json *obj, const struct json_field *fields,
                void *ret_struct, const char *path, json_unknown_key unknown, void *ctx,
                struct err *e);
