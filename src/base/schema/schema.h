/* schema.h - does a JSON value fit a JSON Schema?
 *
 * Knows draft 2020-12 and what older drafts spell differently (definitions, items as an
 * array, dependencies, boolean exclusiveMinimum) and OpenAPI's nullable. `format` is an
 * annotation here, $ref stays within the document. Tool schemas are third-party data: a keyword
 * that is wrong or unknown accepts the value instead of blocking the call. Work is bounded by a
 * budget of steps and a depth; when either runs out the value is refused as too complex, because
 * its sender also chooses the order in which it is checked. Pure; any thread. */
#pragma once

#include "base/err.h"
#include "base/json/json.h"

#define SCHEMA_STEPS_MAX 500000
#define SCHEMA_DEPTH_MAX 200

/* Returns 0, or -EINVAL with the first reason, which starts with the path of the value
 * that does not fit: "arguments.items[2].count: expected integer, got string". `root` is
 * what the path starts with. */
int schema_validate(const struct json *schema, const struct json *value, const char *root,
                    struct err *e);
