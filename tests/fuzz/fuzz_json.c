/* fuzz_json.c - our reader, writer and scanner beside jansson.
 *
 * Both must accept the same texts and find the same values in them, but for what jansson is
 * known to do differently: it has no integers beyond int64, no reals beyond double and no
 * NUL in keys, nests deeper than we do, and takes a NUL byte for the end of the text. */
#include <assert.h>
#include <errno.h>

#include "../support/peer_jansson.h"
#include "base/json/json.h"
#include "base/json/json_decode.h"
#include "base/json/json_scan.h"

#define OUT_MAX      ((size_t)1 << 26)
#define PAIRWISE_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_later_twin(const struct json *obj, uint32_t i)
{
    for (uint32_t j = i + 1; j < obj->len; j++)
        if (str_eq(obj->members[i].key, obj->members[j].key))
            return true;
    return false;
}

static void check_same(const struct json *v, const json_t *peer);

/* jansson keeps the last of duplicate keys. */
static void check_same_object(const struct json *v, const json_t *peer)
{
    assert(json_typeof(peer) == PEER_JSON_OBJECT);
    size_t distinct = 0;
    for (uint32_t i = 0; i < v->len; i++) {
        if (has_later_twin(v, i))
            continue;
        distinct++;
        str key = v->members[i].key;
        check_same(&v->members[i].value, json_object_getn(peer, key.p, key.n));
    }
    assert(distinct == json_object_size(peer));
}

static void check_same(const struct json *v, const json_t *peer)
{
    assert(peer);
    switch (v->type) {
    case JSON_NULL:
        assert(json_typeof(peer) == PEER_JSON_NULL);
        break;
    case JSON_BOOL:
        assert(json_typeof(peer) == (v->boolean ? JSON_TRUE : JSON_FALSE));
        break;
    case JSON_INT:
        assert(json_typeof(peer) == JSON_INTEGER && json_integer_value(peer) == v->i);
        break;
    case JSON_NUMBER: /* a real, or the integer -0 */
        assert(json_number_value(peer) == json_double(v, 0.5));
        break;
    case JSON_STRING:
        assert(json_typeof(peer) == PEER_JSON_STRING);
        assert(str_eq(v->s, str_make(json_string_value(peer), json_string_length(peer))));
        break;
    case JSON_ARRAY:
        assert(json_typeof(peer) == PEER_JSON_ARRAY && json_array_size(peer) == v->len);
        for (uint32_t i = 0; i < v->len; i++)
            check_same(&v->items[i], json_array_get(peer, i));
        break;
    case JSON_OBJECT:
        check_same_object(v, peer);
        break;
    }
}

static void check_peer(str in, const struct json *v, const struct err *e)
{
    json_error_t error;
    json_t *peer = json_loadb(in.p, in.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (v && peer) {
        check_same(v, peer);
    } else if (v) {
        enum json_error_code code = json_error_code(&error);
        assert(code == json_error_numeric_overflow || code == json_error_null_byte_in_key);
    } else if (peer) {
        assert(strstr(e->msg, "nested too deeply") || memchr(in.p, '\0', in.n));
    }
    json_decref(peer);
}

static struct json *read_back(struct arena *a, const struct buf *text)
{
    struct json *v;
    int r = json_parse(a, buf_str(text), 0, &v, NULL);
    assert(r == 0);
    return v;
}

/* What we write is one line, reads back as the same value and is written the same again;
 * it fits a ceiling of exactly its size. */
static void check_writer(struct arena *a, const struct json *v)
{
    struct buf first, second, exact, pretty;
    buf_init(&first, OUT_MAX);
    buf_init(&second, OUT_MAX);
    buf_init(&pretty, OUT_MAX);
    assert(json_write(&first, v) == 0);
    for (size_t i = 0; i < first.n; i++)
        assert((uint8_t)first.p[i] >= 0x20);
    struct json *again = read_back(a, &first);
    assert(json_equal(v, again));
    assert(json_write(&second, again) == 0);
    assert(str_eq(buf_str(&first), buf_str(&second)));
    assert(json_write_pretty(&pretty, v) == 0);
    assert(json_equal(v, read_back(a, &pretty)));
    assert(json_equal(v, json_clone(a, v)));
    buf_init(&exact, first.n);
    assert(json_write(&exact, v) == 0);
    buf_done(&exact);
    buf_init(&exact, first.n - 1);
    assert(json_write(&exact, v) == -ENOBUFS);
    buf_done(&exact);
    buf_done(&first);
    buf_done(&second);
    buf_done(&pretty);
}

static bool raw_equals(struct arena *a, str raw, const struct json *v)
{
    struct json *alone;
    return json_parse(a, raw, 0, &alone, NULL) == 0 && json_equal(alone, v);
}

static void check_scanner(struct arena *a, str in, const struct json *v)
{
    struct json_scan s;
    str key, value;
    uint32_t members = 0;
    json_scan_init(&s, in);
    while (json_scan_next(&s, &key, &value)) {
        if (json_is(v, JSON_OBJECT)) {
            assert(members < v->len);
            struct json name = json_of_str(v->members[members].key);
            assert(raw_equals(a, str_make(key.p - 1, key.n + 2), &name));
            assert(raw_equals(a, value, &v->members[members].value));
        }
        members++;
    }
    if (v)
        assert(s.failed == (v->type != JSON_OBJECT));
    if (json_is(v, JSON_OBJECT))
        assert(members == v->len);
}

/* -1 when some object is too large to compare its keys pairwise. */
static int has_duplicates(const struct json *v)
{
    int found = 0;
    bool is_object = v->type == JSON_OBJECT;
    if (!is_object && v->type != JSON_ARRAY)
        return 0;
    if (is_object && v->len > PAIRWISE_MAX)
        return -1;
    for (uint32_t i = 0; i < v->len; i++) {
        int inner = has_duplicates(is_object ? &v->members[i].value : &v->items[i]);
        if (inner < 0)
            return -1;
        found |= inner | (is_object && has_later_twin(v, i));
    }
    return found;
}

static void check_unique(struct arena *a, str in, const struct json *v)
{
    struct json *unique;
    struct err e = {0};
    int r = json_parse(a, in, JSON_UNIQUE | JSON_COPY, &unique, &e);
    int duplicates = has_duplicates(v);
    assert(duplicates < 0 || r == (duplicates ? -EINVAL : 0));
    assert(r == 0 ? json_equal(v, unique) : strstr(e.msg, "duplicate key") != NULL);
}

struct target {
    str s;
    const char *c;
    int64_t i;
    double d;
    bool b;
    struct json_strs strs;
    struct json_structs structs;
    const struct json *any;
};

static void ignore_key(void *ctx, const char *path, const char *meant)
{
    assert(!meant || meant[0]);
    *(size_t *)ctx += strlen(path);
}

static void check_decoder(struct arena *a, const struct json *v)
{
    static const struct json_field INNER[] = {
        {"s", JF_STR, offsetof(struct target, s), JF_REQUIRED, NULL, 0}, {0}};
    static const struct json_field FIELDS[] = {
        {"s", JF_STR, offsetof(struct target, s), JF_NULLABLE, NULL, 0},
        {"c", JF_CSTR, offsetof(struct target, c), 0, NULL, 0},
        {"i", JF_INT, offsetof(struct target, i), 0, NULL, 0},
        {"d", JF_DOUBLE, offsetof(struct target, d), 0, NULL, 0},
        {"b", JF_BOOL, offsetof(struct target, b), 0, NULL, 0},
        {"l", JF_STRS, offsetof(struct target, strs), 0, NULL, 0},
        {"o", JF_OBJECTS, offsetof(struct target, structs), 0, INNER, sizeof(struct target)},
        {"j", JF_JSON, offsetof(struct target, any), 0, NULL, 0},
        {0}};
    struct target t = {0};
    struct err e = {0};
    size_t unknown = 0;
    int r = json_decode(a, v, FIELDS, &t, "", ignore_key, &unknown, &e);
    assert((r == 0) == (e.msg[0] == '\0'));
    assert(r == 0 || r == -EINVAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str in = str_make((const char *)data, size);
    struct arena a;
    struct json *v = NULL;
    struct err e = {0};
    arena_init(&a);
    int r = json_parse(&a, in, 0, &v, &e);
    assert(r == (v ? 0 : -EINVAL));
    assert((v != NULL) == (e.msg[0] == '\0'));
    check_peer(in, v, &e);
    check_scanner(&a, in, v);
    if (v) {
        check_writer(&a, v);
        check_unique(&a, in, v);
        check_decoder(&a, v);
    }
    arena_done(&a);
    return 0;
}
