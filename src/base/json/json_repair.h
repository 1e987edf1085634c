/* json_repair.h - the value that the beginning of a JSON text already holds.
 *
 * For text that is still being written: strings, arrays and objects that are open are closed; a
 * key without a value is left out, and so is a literal or a number whose end is not there yet (12
 * may become 123). The result is a prefix of the text and what closes it, so each value in it is
 * the final one, or a beginning of a string, array or object. Nesting is bounded by
 * JSON_DEPTH_MAX. Pure; takes time in proportion to the text. */
#pragma once

#include "base/json/json.h"

/* A valid JSON text in the arena. Empty: there is no value yet, or this is not JSON. */
str json_repair(struct arena *a, str text);
