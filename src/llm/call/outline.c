#include "llm/call/outline.h"

#include "base/json/json_scan.h"

#define OUTLINE_MAX (64u * 1024)

/* Not a proof of equality: the SHA-256 of the whole body is. Eight bytes per step, as bodies are
 * long. */
static uint64_t checksum(uint64_t h, str s)
{
    static const uint64_t FACTOR = 0x9e3779b97f4a7c15u;
    size_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        uint64_t w;
        memcpy(&w, s.p + i, 8);
        h = (h ^ w) * FACTOR;
        h ^= h >> 32;
    }
    for (; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * FACTOR;
    return (h ^ s.n) * FACTOR;
}

/* "#%08x/%zu", from its end; a request has ten of them. */
static str mark_of(struct arena *a, uint64_t sum, size_t bytes)
{
    char text[32], *end = text + sizeof text, *at = end;
    uint32_t high = (uint32_t)(sum >> 32);
    do
        *--at = (char)('0' + bytes % 10);
    while (bytes /= 10);
    *--at = '/';
    for (int i = 0; i < 8; i++, high >>= 4)
        *--at = "0123456789abcdef"[high & 15];
    *--at = '#';
    return arena_str(a, str_make(at, (size_t)(end - at)));
}

static str mark(struct arena *a, str value)
{
    return mark_of(a, checksum(0, value), value.n);
}

/* ---- arrays ---- */

struct outline_elements {
    size_t n;
    str newest[OUTLINE_NEWEST]; /* of element i at i % OUTLINE_NEWEST */
    uint64_t older;             /* checksum of those before */
    size_t older_bytes;
};

static void keep_element(struct outline_elements *e, str element)
{
    str *place = &e->newest[e->n % OUTLINE_NEWEST];
    if (e->n >= OUTLINE_NEWEST) {
        e->older = checksum(e->older, *place);
        e->older_bytes += place->n;
    }
    *place = element;
    e->n++;
}

static size_t older(size_t n)
{
    return n > OUTLINE_NEWEST ? n - OUTLINE_NEWEST : 0;
}

static void write_elements(struct json_writer *w, struct arena *a, struct json_scan *array)
{
    struct outline_elements e = {0};
    str element;
    while (json_scan_element(array, &element))
        keep_element(&e, element);
    jw_object(w);
    jw_kint(w, "n", (int64_t)e.n);
    if (older(e.n) > 0)
        jw_kstr(w, "older", mark_of(a, e.older, e.older_bytes));
    jw_karray(w, "newest");
    for (size_t i = older(e.n); i < e.n; i++)
        jw_str(w, mark(a, e.newest[i % OUTLINE_NEWEST]));
    jw_end(w);
    jw_end(w);
}

/* ---- outlining ---- */

static bool is_short(str value)
{
    bool is_scalar = value.p[0] != '[' && value.p[0] != '{' && !str_starts(value, STR("\"#"));
    return is_scalar && value.n <= OUTLINE_SHORT_BYTES;
}

/* There are many tools, and the whole list is in the blobs of the log. */
static bool is_split(str key)
{
    return !str_eq(key, STR("tools"));
}

static bool write_part(struct json_writer *w, struct arena *a, str key, struct json_scan *s,
                       const struct outline_known *known)
{
    struct json_scan elements;
    str value;
    if (is_split(key) && json_scan_enter(s, &elements)) {
        write_elements(w, a, &elements);
        json_scan_leave(s, &elements);
        return !s->failed;
    }
    if (!json_scan_value(s, &value))
        return false;
    if (is_short(value))
        jw_raw(w, value);
    else
        jw_str(w, s->is_known ? mark_of(a, known->sum, value.n) : mark(a, value));
    return true;
}

uint64_t outline_sum(str value)
{
    return checksum(0, value);
}

str outline_of(struct arena *a, str body, struct outline_known known)
{
    struct buf b;
    struct json_writer w;
    struct json_scan s;
    str key;
    bool is_good = true;
    jw_start(&w, &b, OUTLINE_MAX);
    jw_object(&w);
    json_scan_init(&s, body);
    s.known = known.tools;
    for (size_t i = 0; is_good && i < OUTLINE_FIELDS_MAX && json_scan_key(&s, &key); i++) {
        jw_key_str(&w, key);
        is_good = write_part(&w, a, key, &s, &known);
    }
    if (is_good)
        jw_end(&w);
    str out = s.failed || buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_done(&b);
    return out;
}

/* ---- comparing ---- */

struct comparison {
    struct arena *a;
    struct outline_difference *out;
    size_t n, max;
};

static void report_difference(struct comparison *c, str part, str was, str now)
{
    if (c->n < c->max)
        c->out[c->n++] = (struct outline_difference){part, was, now};
}

/* The first n elements of an array, combined as in the outline. */
static str mark_first(struct arena *a, str array, size_t n)
{
    struct json_scan s;
    str element;
    uint64_t sum = 0;
    size_t bytes = 0;
    json_scan_array(&s, array);
    for (size_t i = 0; i < n && json_scan_element(&s, &element); i++) {
        sum = checksum(sum, element);
        bytes += element.n;
    }
    return mark_of(a, sum, bytes);
}

static void compare_elements(struct comparison *c, str name, const struct json *was, str now)
{
    const struct json *newest = json_get(was, "newest");
    int64_t count = json_get_int(was, "n", 0);
    size_t n = count > 0 ? (size_t)count : 0, i = 0;
    str element, old = json_get_string(was, "older");
    struct json_scan s;
    if (old.n > 0 && !str_eq(old, mark_first(c->a, now, older(n))))
        report_difference(c, arena_printf(c->a, "the first %zu of %.*s", older(n), STR_ARG(name)),
                          old, STR_NONE);
    json_scan_array(&s, now);
    for (; json_scan_element(&s, &element); i++) {
        str then = i < older(n) ? STR_NONE : json_string(json_at(newest, i - older(n)), STR_NONE);
        bool is_equal = i < older(n) || str_eq(then, mark(c->a, element));
        if (!is_equal)
            report_difference(c, arena_printf(c->a, "%.*s[%zu]", STR_ARG(name), i), then, element);
    }
    for (; i < n && c->n < c->max; i++)
        report_difference(c, arena_printf(c->a, "%.*s[%zu]", STR_ARG(name), i),
                          i < older(n) ? old : json_string(json_at(newest, i - older(n)), STR_NONE),
                          STR_NONE);
}

static void compare_part(struct comparison *c, str name, const struct json *was, str now)
{
    if (!was) {
        report_difference(c, name, STR_NONE, now);
        return;
    }
    if (is_split(name) && now.p[0] == '[' && was->type == JSON_OBJECT) {
        compare_elements(c, name, was, now);
        return;
    }
    str then = json_to_str(c->a, was);
    str seen = is_short(now) ? now : arena_printf(c->a, "\"%.*s\"", STR_ARG(mark(c->a, now)));
    if (!str_eq(then, seen))
        report_difference(c, name, then, now);
}

size_t outline_compare(struct arena *a, const struct json *outline, str body,
                       struct outline_difference *ret, size_t max)
{
    struct comparison c = {.a = a, .out = ret, .max = max};
    struct json_scan s;
    str key, value;
    json_scan_init(&s, body);
    for (size_t i = 0; i < OUTLINE_FIELDS_MAX && json_scan_next(&s, &key, &value); i++)
        compare_part(&c, key, json_get_str(outline, key), value);
    for (uint32_t i = 0; json_is(outline, JSON_OBJECT) && i < outline->len; i++) {
        const struct json_member *m = &outline->members[i];
        if (json_scan_field(body, m->key).n == 0)
            report_difference(&c, m->key, json_to_str(a, &m->value), STR_NONE);
    }
    return c.n;
}
