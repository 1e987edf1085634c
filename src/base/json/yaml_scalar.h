/* yaml_scalar.h - what an unquoted YAML scalar means: YAML 1.2's core schema. */
#pragma once

#include "base/json/json.h"

/* null, true, false, integers (also 0x and 0o) and decimal numbers; all else is a string.
 * Numbers are respelled as JSON where YAML is laxer (+1, 007, .5, 1.). Infinities and
 * not-a-number, which JSON lacks, stay strings. `text` is copied into the arena. */
struct json yaml_plain(struct arena *a, str text);
