/* compat_error.h - errors in the form that clients of other services expect: http_req.write_error.
 */
#pragma once

#include "base/json/json.h"

typedef void compat_write_error(struct json_writer *w, int status, const char *code, str message);
compat_write_error compat_error_openai, compat_error_anthropic;

compat_write_error *compat_error_form(unsigned route_flags); /* NULL: nb's own */
