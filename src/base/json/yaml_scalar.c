#include "base/json/yaml.h"

static const struct {
    str word;
    enum json_type type;
    bool boolean;
} WORDS[] = {
    {STR_INIT(""), JSON_NULL, false},      {STR_INIT("~"), JSON_NULL, false},
    {STR_INIT("null"), JSON_NULL, false},  {STR_INIT("Null"), JSON_NULL, false},
    {STR_INIT("NULL"), JSON_NULL, false},  {STR_INIT("true"), JSON_BOOL, true},
    {STR_INIT("True"), JSON_BOOL, true},   {STR_INIT("TRUE"), JSON_BOOL, true},
    {STR_INIT("false"), JSON_BOOL, false}, {STR_INIT("False"), JSON_BOOL, false},
    {STR_INIT("FALSE"), JSON_BOOL, false},
};

/* The parts of a decimal number. */
struct yaml_decimal {
    bool negative, has_point;
    str whole, fraction, exponent; /* exponent with its sign, without the e */
};

static str take_digits(str *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
        n++;
    str digits = str_slice(*rest, 0, n);
    *rest = str_skip(*rest, n);
    return digits;
}

static bool take_any(str *rest, const char *any_of)
{
    if (rest->n == 0 || !rest->p[0] || !strchr(any_of, rest->p[0]))
        return false;
    *rest = str_skip(*rest, 1);
    return true;
}

/* [-+] ( digits [. digits*] | . digits ) [e [-+] digits] */
static bool split_decimal(str s, struct yaml_decimal *ret)
{
    struct yaml_decimal d = {0};
    d.negative = take_any(&s, "-");
    if (!d.negative)
        (void)take_any(&s, "+");
    d.whole = take_digits(&s);
    d.has_point = take_any(&s, ".");
    if (d.has_point)
        d.fraction = take_digits(&s);
    if (d.whole.n + d.fraction.n == 0)
        return false;
    if (take_any(&s, "eE")) {
        str from = s;
        (void)take_any(&s, "-+");
        if (take_digits(&s).n == 0)
            return false;
        d.exponent = str_slice(from, 0, from.n - s.n);
    }
    *ret = d;
    return s.n == 0;
}

static struct json decimal_to_json(struct arena *a, const struct yaml_decimal *d)
{
    str whole = d->whole;
    while (whole.n > 1 && whole.p[0] == '0')
        whole = str_skip(whole, 1);
    str spelled = arena_printf(a, "%s%.*s%s%.*s%s%.*s", d->negative ? "-" : "",
                               STR_ARG(whole.n ? whole : STR("0")), d->has_point ? "." : "",
                               STR_ARG(d->has_point && !d->fraction.n ? STR("0") : d->fraction),
                               d->exponent.n ? "e" : "", STR_ARG(d->exponent));
    struct json *v;
    if (json_parse(a, spelled, 0, &v, NULL) < 0)
        return json_of_str(spelled);
    return *v;
}

/* 0x and 0o; false when it is neither, or does not fit. */
static bool parse_radix(str s, int64_t *ret)
{
    unsigned bits = str_starts(s, STR("0x")) ? 4 : str_starts(s, STR("0o")) ? 3 : 0;
    s = str_skip(s, 2);
    if (bits == 0 || s.n == 0)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        const char *digits = "0123456789abcdef", *hit;
        char c = s.p[i] >= 'A' && s.p[i] <= 'F' ? (char)(s.p[i] | 0x20) : s.p[i];
        hit = c ? strchr(digits, c) : NULL;
        if (!hit || hit - digits >= 1 << bits || v > (uint64_t)INT64_MAX >> bits)
            return false;
        v = v << bits | (uint64_t)(hit - digits);
    }
    *ret = (int64_t)v;
    return true;
}

struct json yaml_plain(struct arena *a, str text)
{
    for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
        if (str_eq(text, WORDS[i].word))
            return (struct json){.type = WORDS[i].type, .boolean = WORDS[i].boolean};
    int64_t i;
    if (parse_radix(text, &i))
        return json_of_int(i);
    struct yaml_decimal d;
    if (split_decimal(text, &d))
        return decimal_to_json(a, &d);
    return json_of_str(arena_str(a, text));
}
