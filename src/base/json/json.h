/* json.h - JSON documents: strict reader into an arena, lossless one-line writer.
 *
 * nb forwards other people's JSON, so nothing may change on the way through: numbers keep
 * their source text unless they fit int64 (and -0 stays -0), object keys keep their order,
 * duplicate keys are all kept (lookup finds the first). The reader refuses everything that RFC
 * 8259 does not allow, bytes that are not UTF-8, lone surrogate escapes, trailing text and
 * nesting beyond a cap. Values live in the arena given to the reader; string values that
 * need no unescaping point into the input unless JSON_COPY is set.
 *
 * Writing never fails on valid values except by the ceiling of the buf. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define JSON_DEPTH_MAX 128

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    bool boolean; /* JSON_BOOL */
    uint32_t len; /* elements or members */
    uint32_t cap; /* what json_push and json_set have room for; 0 = exactly len */
    union {
        int64_t i;                   /* JSON_INT */
        str s;                       /* JSON_STRING: decoded; JSON_NUMBER: source text */
        struct json *items;          /* JSON_ARRAY: first element */
        struct json_member *members; /* JSON_OBJECT: first member */
    };
};

struct json_member {
    str key;
    struct json value;
};

/* ---- reading ---- */

enum {
    JSON_COPY = 1,   /* copy all strings: the input may go away */
    JSON_UNIQUE = 2, /* refuse duplicate keys (the API boundary) */
};

/* Parses the whole of `in`. On failure returns -EINVAL with "line L, column C: reason"
 * in e (may be NULL). The caller bounds the size of `in`: a text of nothing but brackets,
 * commas and digits takes up to 16 times its size in the arena, and during the call two to
 * three times that; usual messages take two to three times their size. */
int json_parse(struct arena *a, str in, int flags, struct json **ret, struct err *e);

/* ---- looking things up: all accept NULL and wrong types, and then find nothing ---- */

struct json *json_get_str(const struct json *obj, str key);
static inline struct json *json_get(const struct json *obj, const char *key)
{
    return json_get_str(obj, str_from(key));
}
struct json *json_at(const struct json *arr, size_t index);
str json_string(const struct json *v, str otherwise);
static inline str json_get_string(const struct json *obj, const char *key)
{
    return json_string(json_get(obj, key), STR_NONE); /* when absent */
}
int64_t json_get_int(const struct json *obj, const char *key, int64_t otherwise);
bool json_get_bool(const struct json *obj, const char *key, bool otherwise);
static inline bool json_is(const struct json *v, enum json_type type)
{
    return v && v->type == type;
}
double json_double(const struct json *v, double otherwise);
/* The order of keys is ignored, and numbers are compared by their exact value: 1 is 1.0
 * and 10e-1, but 2^63 is not 2^63 + 1. */
bool json_equal(const struct json *a, const struct json *b);
bool json_has_string(const struct json *array, str s); /* false for other values */

/* ---- building: values are copied shallowly into their parent ---- */

struct json *json_new(struct arena *a, enum json_type type);
struct json json_of_str(str s);
struct json json_of_int(int64_t i);
struct json json_of_bool(bool b);
struct json json_of_null(void);
/* A short text that reads back as the same double; null for NaN and infinities. */
struct json json_of_double(struct arena *a, double d);
/* An object with one member, which lives as long as the block. */
#define JSON_ONE(key, v)                                                                           \
    ((struct json){.type = JSON_OBJECT, .len = 1, .members = &(struct json_member){STR(key), (v)}})
/* Appending grows the parent's array by doubling inside the arena. Both return the place
 * of the new value inside its parent; it moves when the parent grows again. */
struct json *json_push(struct arena *a, struct json *arr, struct json v);
/* Replaces the value of an existing key in place (and drops its duplicates), else appends.
 * The key is borrowed. Linear in the number of members. */
struct json *json_set(struct arena *a, struct json *obj, str key, struct json v);
void json_unset(struct json *obj, const char *key);
struct json *json_clone(struct arena *a, const struct json *v); /* deep, owns its strings */

/* ---- writing ---- */

int json_write(struct buf *out, const struct json *v);        /* compact, one line */
int json_write_pretty(struct buf *out, const struct json *v); /* two spaces, for people */
int json_write_string(struct buf *out, str s); /* quoted and escaped; s must be UTF-8 */
str json_to_str(struct arena *a, const struct json *v);

/* A streaming writer for code that knows its shape: keeps track of commas. One check at
 * the end is enough: buf_failed(out). A value in an object without a key is a bug (assert).
 *   struct json_writer w; jw_init(&w, &buf);
 *   jw_object(&w); jw_key(&w, "id"); jw_str(&w, id); jw_end(&w);                       */
struct json_writer {
    struct buf *out;
    uint64_t kinds; /* one bit per level: 1 = object */
    uint8_t depth;  /* at most 64 */
    bool comma;     /* due before the next value */
    bool has_key;   /* a key was written, its value was not yet */
};

void jw_init(struct json_writer *w, struct buf *out);
void jw_start(struct json_writer *w, struct buf *out, size_t max_bytes); /* buf_init and jw_init */
void jw_object(struct json_writer *w);
void jw_array(struct json_writer *w);
void jw_end(struct json_writer *w);
void jw_close(struct json_writer *w); /* ends everything that is open */
void jw_key_str(struct json_writer *w, str key);
void jw_key_plain(struct json_writer *w, str key); /* a key that has nothing to escape */
#define JSON_SPECIAL                                                                               \
    "\"\\\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15"     \
    "\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
/* Of a literal the compiler knows whether it has something to escape. */
static inline void jw_key(struct json_writer *w, const char *key)
{
    if (__builtin_constant_p(strcspn(key, JSON_SPECIAL)) &&
        strcspn(key, JSON_SPECIAL) == strlen(key))
        jw_key_plain(w, str_from(key));
    else
        jw_key_str(w, str_from(key));
}
void jw_str(struct json_writer *w, str s);
void jw_cstr(struct json_writer *w, const char *s); /* NULL writes null */
void jw_int(struct json_writer *w, int64_t v);
void jw_double(struct json_writer *w, double v);
void jw_bool(struct json_writer *w, bool v);
void jw_null(struct json_writer *w);
void jw_value(struct json_writer *w, const struct json *v); /* NULL writes null */
void jw_raw(struct json_writer *w, str json);               /* text that is valid JSON already */

/* key and value in one call */
static inline void jw_kstr(struct json_writer *w, const char *key, str s)
{
    jw_key(w, key);
    jw_str(w, s);
}
void jw_kstr_if(struct json_writer *w, const char *key, str s);      /* nothing for an empty one */
void jw_kstr_or_null(struct json_writer *w, const char *key, str s); /* empty writes null */
void jw_kint(struct json_writer *w, const char *key, int64_t v);
void jw_kbool(struct json_writer *w, const char *key, bool v);
void jw_kval(struct json_writer *w, const char *key, const struct json *v);
void jw_kcstr(struct json_writer *w, const char *key, const char *s);
void jw_kdouble(struct json_writer *w, const char *key, double v);
void jw_kraw(struct json_writer *w, const char *key, str json);
static inline void jw_kobject(struct json_writer *w, const char *key)
{
    jw_key(w, key);
    jw_object(w);
}
static inline void jw_karray(struct json_writer *w, const char *key)
{
    jw_key(w, key);
    jw_array(w);
}
void jw_kstrs(struct json_writer *w, const char *key, const str *items, size_t n); /* an array */
