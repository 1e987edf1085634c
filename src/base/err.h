/* err.h - an error message for a person.
 *
 * Functions return 0 or a negative errno. Functions whose errors are shown to a person also take
 * a struct err: what was wrong, where, and what to do about it. The message is set once, by the
 * code that knows most; callers may put context in front of it. */
#pragma once

#include "base/str.h"

#define ERR_MAX 1024

struct err {
    int code; /* negative errno, 0 = none */
    char msg[ERR_MAX];
};

/* Both return `code`, so that a failing function can end with `return err_set(...)`.
 * `e` may be NULL. Messages longer than ERR_MAX are cut on a character boundary. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_errno(struct err *e, int code, const char *what,
              const char *path); /* "what path: reason" */
/* "context: message". */
void err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_clear(struct err *e);

/* The reason for a negative errno in words ("no space left on device"). Thread-safe. */
const char *err_reason(int code);
