/* json_number.c - JSON numbers as values: to and from double, and exact equality.
 *
 * Other files treat a number as an int64 or as its source text; only this file parses it. */
#include <math.h>

#include "base/json/json_impl.h"

/* Exponents beyond this are compared as if they were equal only when the texts are. */
#define EXPONENT_MAX INT64_C(1000000000000)

double json_double(const struct json *v, double otherwise)
{
    if (json_is(v, JSON_INT))
        return (double)v->i;
    double d;
    if (json_is(v, JSON_NUMBER) && parse_double(v->s, &d) == 0)
        return d;
    return otherwise;
}

struct json json_of_double(struct arena *a, double d)
{
    if (!isfinite(d))
        return json_of_null();
    char text[40];
    int n = 0;
    for (int precision = 15; precision <= 17; precision++) {
        n = snprintf(text, sizeof(text), "%.*g", precision, d);
        if (strtod(text, NULL) == d)
            break;
    }
    str s = {text, (size_t)n};
    int64_t i;
    bool is_negative_zero = d == 0 && signbit(d);
    if (!is_negative_zero && parse_i64(s, &i) == 0)
        return json_of_int(i);
    return (struct json){.type = JSON_NUMBER, .s = arena_str(a, s)};
}

/* A number as sign * 0.DIGITS * 10^exponent, without zeros at either end of its digits.
 * The digits stay in the text, perhaps with a point among them. Zero has no digits. */
struct decimal {
    bool negative;
    const char *first, *end;
    int64_t exponent;
};

static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    int64_t e = 0;
    for (; p < end && e < EXPONENT_MAX; p++)
        e = e * 10 + (*p - '0');
    return negative ? -e : e;
}

static bool is_zero_or_point(char c)
{
    return c == '0' || c == '.';
}

static struct decimal read_decimal(str s)
{
    struct decimal d = {.negative = s.n && *s.p == '-'};
    const char *start = s.p + d.negative, *end = s.p + s.n;
    const char *mantissa_end = start;
    while (mantissa_end < end && *mantissa_end != 'e' && *mantissa_end != 'E')
        mantissa_end++;
    const char *point = memchr(start, '.', (size_t)(mantissa_end - start));
    const char *first = start, *last = mantissa_end;
    while (first < last && is_zero_or_point(*first))
        first++;
    while (last > first && is_zero_or_point(last[-1]))
        last--;
    if (first == last) /* zero, whatever its sign and exponent; not NULL, which takes no sums */
        return (struct decimal){.first = first, .end = first};
    d.first = first;
    d.end = last;
    /* Digits between the first one and the point; negative for zeros behind the point. */
    const char *units = point ? point : mantissa_end;
    d.exponent = first < units ? units - first : units + 1 - first;
    if (mantissa_end < end)
        d.exponent += read_exponent(mantissa_end + 1, end);
    return d;
}

static bool digits_equal(const struct decimal *a, const struct decimal *b)
{
    const char *p = a->first, *q = b->first;
    for (;; p++, q++) {
        p += p < a->end && *p == '.';
        q += q < b->end && *q == '.';
        if (p == a->end || q == b->end)
            return p == a->end && q == b->end;
        if (*p != *q)
            return false;
    }
}

static str number_text(const struct json *v, char *room, size_t size)
{
    if (v->type == JSON_NUMBER)
        return v->s;
    int n = snprintf(room, size, "%lld", (long long)v->i);
    return str_make(room, (size_t)n);
}

bool json_number_equal(const struct json *a, const struct json *b)
{
    if (a->type == JSON_INT && b->type == JSON_INT)
        return a->i == b->i;
    char room_a[24], room_b[24];
    str x = number_text(a, room_a, sizeof(room_a)), y = number_text(b, room_b, sizeof(room_b));
    if (str_eq(x, y))
        return true;
    struct decimal d = read_decimal(x), e = read_decimal(y);
    if (llabs(d.exponent) >= EXPONENT_MAX)
        return false;
    return d.negative == e.negative && d.exponent == e.exponent && digits_equal(&d, &e);
}
