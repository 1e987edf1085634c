#include "builtin/expr.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>

struct parser {
    str text;
    size_t at;
    int depth;
    struct err *e;
};

static int sum(struct parser *p, double *ret);

static int fail_at(struct parser *p, const char *reason)
{
    return err_set(p->e, -EINVAL, "column %zu: %s", p->at + 1, reason);
}

static void skip_space(struct parser *p)
{
    while (p->at < p->text.n && isspace((unsigned char)p->text.p[p->at]))
        p->at++;
}

static bool take_char(struct parser *p, char c)
{
    skip_space(p);
    if (p->at >= p->text.n || p->text.p[p->at] != c)
        return false;
    p->at++;
    return true;
}

static bool is_digit_at(const struct parser *p, size_t i)
{
    return i < p->text.n && isdigit((unsigned char)p->text.p[i]);
}

static size_t digits(const struct parser *p, size_t i)
{
    while (is_digit_at(p, i))
        i++;
    return i;
}

static int parse_number(struct parser *p, double *ret)
{
    size_t i = digits(p, p->at);
    if (i < p->text.n && p->text.p[i] == '.')
        i = digits(p, i + 1);
    if (i < p->text.n && (p->text.p[i] == 'e' || p->text.p[i] == 'E')) {
        size_t j = i + 1;
        if (j < p->text.n && (p->text.p[j] == '+' || p->text.p[j] == '-'))
            j++;
        if (is_digit_at(p, j))
            i = digits(p, j);
    }
    char copy[512];
    str s = str_slice(p->text, p->at, i);
    if (s.n >= sizeof copy)
        return fail_at(p, "the number is too long");
    snprintf(copy, sizeof copy, "%.*s", STR_ARG(s));
    char *end;
    *ret = strtod(copy, &end);
    if (end == copy || *end)
        return fail_at(p, "not a number");
    p->at = i;
    return 0;
}

static double fn_min(double a, double b)
{
    return a < b ? a : b;
}

static double fn_max(double a, double b)
{
    return a > b ? a : b;
}

static const struct {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
} FUNCTIONS[] = {
    {"sqrt", sqrt, NULL},   {"cbrt", cbrt, NULL},  {"abs", fabs, NULL},    {"round", round, NULL},
    {"floor", floor, NULL}, {"ceil", ceil, NULL},  {"trunc", trunc, NULL}, {"exp", exp, NULL},
    {"ln", log, NULL},      {"log", log10, NULL},  {"log2", log2, NULL},   {"sin", sin, NULL},
    {"cos", cos, NULL},     {"tan", tan, NULL},    {"asin", asin, NULL},   {"acos", acos, NULL},
    {"atan", atan, NULL},   {"min", NULL, fn_min}, {"max", NULL, fn_max},  {"pow", NULL, pow},
};

static const struct {
    const char *name;
    double value;
} CONSTANTS[] = {{"pi", 3.14159265358979323846}, {"e", 2.71828182845904523536}};

static int call_function(struct parser *p, size_t i, double *ret)
{
    double a, b;
    if (!take_char(p, '('))
        return fail_at(p, "expected '(' after the function name");
    int r = sum(p, &a);
    if (r < 0)
        return r;
    if (FUNCTIONS[i].two) {
        if (!take_char(p, ','))
            return fail_at(p, "expected ',': this function takes two values");
        r = sum(p, &b);
        if (r < 0)
            return r;
        *ret = FUNCTIONS[i].two(a, b);
    } else {
        *ret = FUNCTIONS[i].one(a);
    }
    return take_char(p, ')') ? 0 : fail_at(p, "expected ')'");
}

static int name(struct parser *p, double *ret)
{
    size_t start = p->at;
    while (p->at < p->text.n && isalnum((unsigned char)p->text.p[p->at]))
        p->at++;
    str word = str_slice(p->text, start, p->at);
    for (size_t i = 0; i < ARRAY_LEN(CONSTANTS); i++)
        if (str_eq_nocase(word, str_from(CONSTANTS[i].name))) {
            *ret = CONSTANTS[i].value;
            return 0;
        }
    for (size_t i = 0; i < ARRAY_LEN(FUNCTIONS); i++)
        if (str_eq_nocase(word, str_from(FUNCTIONS[i].name)))
            return call_function(p, i, ret);
    p->at = start;
    return fail_at(p, "unknown name");
}

static int atom(struct parser *p, double *ret)
{
    skip_space(p);
    if (p->at >= p->text.n)
        return fail_at(p, "the expression ends too early");
    if (take_char(p, '(')) {
        int r = sum(p, ret);
        if (r < 0)
            return r;
        return take_char(p, ')') ? 0 : fail_at(p, "expected ')'");
    }
    char c = p->text.p[p->at];
    if (isdigit((unsigned char)c) || c == '.')
        return parse_number(p, ret);
    if (isalpha((unsigned char)c))
        return name(p, ret);
    return fail_at(p, "expected a number, a name or '('");
}

static int unary(struct parser *p, double *ret)
{
    if (++p->depth > EXPR_DEPTH_MAX)
        return fail_at(p, "nested too deeply");
    bool is_negative = take_char(p, '-');
    bool is_signed = is_negative || take_char(p, '+');
    double exponent;
    int r = is_signed ? unary(p, ret) : atom(p, ret);
    if (r == 0 && is_negative)
        *ret = -*ret;
    if (r == 0 && !is_signed && take_char(p, '^')) {
        r = unary(p, &exponent);
        if (r == 0)
            *ret = pow(*ret, exponent);
    }
    assert(p->depth > 0 && p->at <= p->text.n);
    p->depth--;
    return r;
}

static int product(struct parser *p, double *ret)
{
    double right;
    int r = unary(p, ret);
    while (r == 0) {
        char op = take_char(p, '*') ? '*' : take_char(p, '/') ? '/' : take_char(p, '%') ? '%' : 0;
        if (!op)
            break;
        r = unary(p, &right);
        if (r == 0 && op != '*' && right == 0)
            r = fail_at(p, "division by zero");
        if (r == 0)
            *ret = op == '*' ? *ret * right : op == '/' ? *ret / right : fmod(*ret, right);
    }
    return r;
}

static int sum(struct parser *p, double *ret)
{
    double right;
    int r = product(p, ret);
    while (r == 0) {
        bool is_plus = take_char(p, '+');
        if (!is_plus && !take_char(p, '-'))
            break;
        r = product(p, &right);
        if (r == 0)
            *ret = is_plus ? *ret + right : *ret - right;
    }
    return r;
}

int expr_eval(str text, double *ret, struct err *e)
{
    struct parser p = {.text = text, .e = e};
    if (text.n > EXPR_BYTES_MAX)
        return err_set(e, -EINVAL, "the expression has more than %d bytes", EXPR_BYTES_MAX);
    double value;
    int r = sum(&p, &value);
    skip_space(&p);
    if (r == 0 && p.at < p.text.n)
        r = fail_at(&p, "unexpected text");
    if (r == 0 && !isfinite(value))
        r = err_set(e, -EINVAL, "the result is not a finite number");
    if (r == 0)
        *ret = value;
    return r;
}
