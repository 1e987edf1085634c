/* param_headers.h - arguments of a tool that stateless HTTP repeats in headers.
 *
 * A property of a tool's inputSchema may carry "x-mcp-header": "Name"; its value then also
 * travels as "Mcp-Param-Name". Annotations in the wrong place, of the wrong type or with a
 * doubled name make the whole tool unusable over HTTP. Pure; any thread. */
#pragma once

#include "base/json/json.h"

#define PARAM_HEADERS_MAX 64 /* annotated properties of one tool */

struct param_header {
    str name;        /* without "Mcp-Param-" */
    const str *path; /* property names from the arguments down */
    size_t depth;
};

struct param_headers {
    struct param_header *items;
    size_t n;
};

/* Copies what it needs to the arena. 0, or -EINVAL with the reason. NULL has none. */
int param_headers_compile(struct arena *a, const struct json *input_schema,
                          struct param_headers *ret, struct err *e);

struct param_headers param_headers_copy(struct arena *a, const struct param_headers *h);

/* The value as it stands in the header; false when the argument is absent or null. */
bool param_header_value(struct arena *a, const struct param_header *h, const struct json *arguments,
                        str *ret);

/* As it is where that is safe, else "=?base64?...?=". May borrow from the value. */
str header_value_encode(struct arena *a, str value);
