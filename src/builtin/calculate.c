#include "builtin/expr.h"
#include "builtin/internal.h"

static void calculate(struct builtin_call *c)
{
    str expression = json_get_string(c->call.args, "expression");
    double value;
    struct err e = {0};
    if (expr_eval(expression, &value, &e) < 0) {
        builtin_fail(c, "Cannot calculate '%.*s': %s", STR_ARG(expression), e.msg);
        return;
    }
    struct json *out = json_new(&c->call.arena, JSON_OBJECT);
    struct json number = json_of_double(&c->call.arena, value);
    json_set(&c->call.arena, out, STR("result"), number);
    builtin_reply_json(c, json_to_str(&c->call.arena, &number), out);
}

const struct builtin_tool BUILTIN_CALCULATE = {
    .name = "calculate",
    .title = "Calculate",
    .description =
        "Evaluate an arithmetic expression exactly as written: + - * / % ^, parentheses, "
        "sqrt, abs, round, floor, ceil, min, max, ln, log, exp, sin, cos, tan, pi, e.",
    .schema = "{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":\"string\","
              "\"description\":\"For example (2 + 3) * 4 or sqrt(2)\",\"minLength\":1}},"
              "\"required\":[\"expression\"],\"additionalProperties\":false}",
    .is_read_only = true,
    .call = calculate,
};
