/* expr.h - arithmetic as people type it: + - * / % ^, parentheses, a few functions.
 *
 * "^" binds tightest and to the right, unary minus below it, as on paper. Nesting and length are
 * bounded. */
#pragma once

#include "base/err.h"

#define EXPR_DEPTH_MAX 64
#define EXPR_BYTES_MAX 4096

/* Returns 0 or -EINVAL with "column N: reason". Division by zero is an error, not infinity. */
int expr_eval(str text, double *ret, struct err *e);
