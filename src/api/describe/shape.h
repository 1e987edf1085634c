/* shape.h - types of JSON values in one line, as TypeScript writes them, and as JSON Schema.
 *
 *   string  integer  number  boolean  null  object  any     types; `object` has any members
 *   time  uri                                               strings of that format
 *   'private'|'shared'                                      one of these strings
 *   Conversation                                            a model, by its name
 *   string[]  {integer}  string|null                        a list, values by name, either
 *   integer(1..200)  string(8..1024)                        from, to: a number, or a length
 *
 * Brackets group: ('read'|'write')[]. Pure; any thread. */
#pragma once

#include "base/json/json.h"

/* Writes the schema of the shape, an object, with `about` as its description unless NULL. Shapes
 * are constants of the program: an assertion fails on one that is not valid. */
void shape_write(struct json_writer *w, const char *shape, const char *about);
bool shape_is_valid(const char *shape);
