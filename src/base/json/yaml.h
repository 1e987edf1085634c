/* yaml.h - YAML as people write it in frontmatter, turned into JSON values.
 *
 * Built on libyaml's event API with no aliases, anchors or custom tags, depth and size
 * capped, duplicate keys refused. Plain scalars follow YAML's core schema (true, 12, null,
 * 1.5); quoted ones are strings. */
#pragma once

#include "base/json/json.h"

#define YAML_BYTES_MAX (256u * 1024)
#define YAML_DEPTH_MAX 16

/* What an unquoted scalar means: null, true, false, integers (also 0x and 0o) and decimal numbers;
 * all else is a string. Numbers are respelled as JSON where YAML is laxer (+1, 007, .5, 1.).
 * Infinities and not-a-number, which JSON lacks, stay strings. `text` is copied into the arena. */
struct json yaml_plain(struct arena *a, str text);

/* Errors read "line 3: reason"; `first_line` is the number of the text's first line. */
int yaml_parse(struct arena *a, str text, unsigned first_line, struct json **ret, struct err *e);

/* Splits "---\n<yaml>\n---\n<body>". Without frontmatter *ret_meta is NULL and the body is
 * everything. Accepts CRLF and a BOM. Empty frontmatter is an empty object; any other value that
 * is not a mapping, and frontmatter that does not end, are errors. The body points into
 * `text`. */
int yaml_frontmatter(struct arena *a, str text, struct json **ret_meta, str *ret_body,
                     struct err *e);
