/* param_headers.h - arguments of a tool that stateless HTTP repeats in headers.
 *
 * A property of a tool's inputSchema may carry "x-mcp-header": "Name"; its value is then also sent
 * as "Mcp-Param-Name". An annotation in the wrong place, of the wrong type or with a duplicate name
 * makes the whole tool unusable over HTTP. Pure; any thread. */
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

/* Copies its results to the arena. Returns 0, or -EINVAL with the reason. A NULL schema has no
 * headers. */
int param_headers_compile(struct arena *a, const struct json *input_schema,
                          struct param_headers *ret, struct err *e);

struct param_headers param_headers_copy(struct arena *a, const struct param_headers *h);

/* The value for the header; false when the argument is absent or null. */
bool param_header_value(struct arena *a, const struct param_header *h, const struct json *arguments,
                        str *ret);

/* The value unchanged where that is safe, else "=?base64?...?=". May borrow from the value. */
str header_value_encode(struct arena *a, str value);
