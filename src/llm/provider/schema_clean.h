/* schema_clean.h - makes third-party tool schemas acceptable to model APIs.
 *
 * One invalid schema makes an API refuse the whole request, so every schema is rebuilt:
 * keywords whose value no current JSON Schema draft allows are repaired or left out, the
 * root is forced to be a plain object. All other keywords are kept unchanged. At worst the result
 * accepts more than the original: the tool's own schema still validates the arguments before a
 * call. Pure. */
#pragma once

#include "base/json/json.h"

#define SCHEMA_DEPTH_MAX 32

enum schema_flags {
    SCHEMA_PLAIN = 1, /* no $ref, no additionalProperties: for servers that know a subset */
};

/* Never fails; NULL or an invalid schema gives an object without properties. */
struct json *schema_clean(struct arena *a, const struct json *schema, unsigned flags);
