/* json_value.c - looking into JSON values, building and comparing them. */
#include <assert.h>

#include "base/json/json_impl.h"

#define FIRST_CAP 8

/* Most keys have four to eight bytes, which are two words that may overlap. */
static inline bool is_key(const char *a, const char *b, size_t n)
{
    if (n < 4 || n > 8)
        return n == 0 || (a[n - 1] == b[n - 1] && memcmp(a, b, n) == 0);
    uint32_t first[2], last[2];
    memcpy(&first[0], a, 4);
    memcpy(&first[1], b, 4);
    memcpy(&last[0], a + n - 4, 4);
    memcpy(&last[1], b + n - 4, 4);
    return first[0] == first[1] && last[0] == last[1];
}

struct json *json_get_str(const struct json *obj, str key)
{
    if (!json_is(obj, JSON_OBJECT))
        return NULL;
    for (uint32_t i = 0; i < obj->len; i++) {
        str k = obj->members[i].key;
        if (k.n == key.n && is_key(k.p, key.p, k.n))
            return &obj->members[i].value;
    }
    return NULL;
}

bool json_has_string(const struct json *array, str s)
{
    for (uint32_t i = 0; json_is(array, JSON_ARRAY) && i < array->len; i++)
        if (json_is(&array->items[i], JSON_STRING) && str_eq(array->items[i].s, s))
            return true;
    return false;
}

struct json *json_at(const struct json *arr, size_t index)
{
    return json_is(arr, JSON_ARRAY) && index < arr->len ? &arr->items[index] : NULL;
}

str json_string(const struct json *v, str otherwise)
{
    return json_is(v, JSON_STRING) ? v->s : otherwise;
}

int64_t json_get_int(const struct json *obj, const char *key, int64_t otherwise)
{
    const struct json *v = json_get(obj, key);
    return json_is(v, JSON_INT) ? v->i : otherwise;
}

bool json_get_bool(const struct json *obj, const char *key, bool otherwise)
{
    const struct json *v = json_get(obj, key);
    return json_is(v, JSON_BOOL) ? v->boolean : otherwise;
}

static int cmp_members(const void *x, const void *y)
{
    const struct json_member *a = *(const struct json_member *const *)x;
    const struct json_member *b = *(const struct json_member *const *)y;
    int order = str_cmp(a->key, b->key);
    return order ? order : (a > b) - (a < b);
}

const struct json_member **json_sort_members(const struct json *obj)
{
    if (obj->len == 0)
        return NULL;
    const struct json_member **sorted = xcalloc(obj->len, sizeof(struct json_member *));
    for (uint32_t i = 0; i < obj->len; i++)
        sorted[i] = &obj->members[i];
    qsort(sorted, obj->len, sizeof(struct json_member *), cmp_members);
    return sorted;
}

static bool same_order(const struct json *a, const struct json *b)
{
    for (uint32_t i = 0; i < a->len; i++)
        if (!str_eq(a->members[i].key, b->members[i].key))
            return false;
    return true;
}

static bool members_equal(const struct json_member *a, const struct json_member *b)
{
    return str_eq(a->key, b->key) && json_equal(&a->value, &b->value);
}

static bool objects_equal(const struct json *a, const struct json *b)
{
    bool equal = true;
    if (same_order(a, b)) {
        for (uint32_t i = 0; i < a->len && equal; i++)
            equal = json_equal(&a->members[i].value, &b->members[i].value);
        return equal;
    }
    const struct json_member **x = json_sort_members(a), **y = json_sort_members(b);
    for (uint32_t i = 0; i < a->len && equal; i++)
        equal = members_equal(x[i], y[i]);
    free(x);
    free(y);
    return equal;
}

static bool arrays_equal(const struct json *a, const struct json *b)
{
    for (uint32_t i = 0; i < a->len; i++)
        if (!json_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}

static bool is_number(const struct json *v)
{
    return v->type == JSON_INT || v->type == JSON_NUMBER;
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (!a || !b)
        return a == b;
    if (is_number(a) && is_number(b))
        return json_number_equal(a, b);
    if (a->type != b->type || a->len != b->len)
        return false;
    switch (a->type) {
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_STRING:
        return str_eq(a->s, b->s);
    case JSON_ARRAY:
        return arrays_equal(a, b);
    case JSON_OBJECT:
        return objects_equal(a, b);
    default:
        return true;
    }
}

struct json *json_new(struct arena *a, enum json_type type)
{
    struct json *v = ARENA_NEW(a, struct json);
    v->type = type;
    return v;
}

struct json json_of_str(str s)
{
    return (struct json){.type = JSON_STRING, .s = s};
}

struct json json_of_int(int64_t i)
{
    return (struct json){.type = JSON_INT, .i = i};
}

struct json json_of_bool(bool b)
{
    return (struct json){.type = JSON_BOOL, .boolean = b};
}

struct json json_of_null(void)
{
    return (struct json){.type = JSON_NULL};
}

/* Makes room for one more element of `size` bytes; `first` is the array so far. */
static void *grow(struct arena *a, struct json *parent, void *first, size_t size)
{
    if (parent->len < parent->cap)
        return first;
    assert(parent->len <= UINT32_MAX / 2);
    uint32_t cap = parent->len < FIRST_CAP / 2 ? FIRST_CAP : parent->len * 2;
    void *bigger = arena_array(a, cap, size);
    if (parent->len)
        memcpy(bigger, first, parent->len * size);
    parent->cap = cap;
    return bigger;
}

struct json *json_push(struct arena *a, struct json *arr, struct json v)
{
    if (arr->type != JSON_ARRAY) /* a foreign document whose types were not checked */
        *arr = (struct json){.type = JSON_ARRAY};
    arr->items = grow(a, arr, arr->items, sizeof(*arr->items));
    struct json *place = &arr->items[arr->len++];
    *place = v;
    return place;
}

/* Removes the members called `key` from index `from` on. */
static void drop_members(struct json *obj, str key, uint32_t from)
{
    uint32_t kept = from;
    for (uint32_t i = from; i < obj->len; i++)
        if (!str_eq(obj->members[i].key, key))
            obj->members[kept++] = obj->members[i];
    obj->len = kept;
}

struct json *json_set(struct arena *a, struct json *obj, str key, struct json v)
{
    if (obj->type != JSON_OBJECT)
        *obj = (struct json){.type = JSON_OBJECT};
    struct json *old = json_get_str(obj, key);
    if (old) {
        *old = v;
        struct json_member *m = CONTAINER_OF(old, struct json_member, value);
        drop_members(obj, key, (uint32_t)(m - obj->members) + 1);
        return old;
    }
    obj->members = grow(a, obj, obj->members, sizeof(*obj->members));
    struct json_member *m = &obj->members[obj->len++];
    *m = (struct json_member){key, v};
    return &m->value;
}

void json_unset(struct json *obj, const char *key)
{
    if (json_is(obj, JSON_OBJECT))
        drop_members(obj, str_from(key), 0);
}

static void clone_into(struct arena *a, const struct json *v, struct json *ret)
{
    *ret = *v;
    ret->cap = 0;
    if (v->type == JSON_STRING || v->type == JSON_NUMBER)
        ret->s = arena_str(a, v->s);
    if (v->type == JSON_ARRAY) {
        ret->items = v->len ? arena_alloc(a, v->len * sizeof(*v->items)) : NULL;
        for (uint32_t i = 0; i < v->len; i++)
            clone_into(a, &v->items[i], &ret->items[i]);
    }
    if (v->type == JSON_OBJECT) {
        ret->members = v->len ? arena_alloc(a, v->len * sizeof(*v->members)) : NULL;
        for (uint32_t i = 0; i < v->len; i++) {
            ret->members[i].key = arena_str(a, v->members[i].key);
            clone_into(a, &v->members[i].value, &ret->members[i].value);
        }
    }
}

struct json *json_clone(struct arena *a, const struct json *v)
{
    if (!v)
        return NULL;
    struct json *copy = json_new(a, v->type);
    clone_into(a, v, copy);
    return copy;
}
