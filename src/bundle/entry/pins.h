/* pins.h - the definitions of tools that a person has approved, and differences from them.
 *
 * A pin file (`{workspace}/pins/<server>.json`, 0600) holds the definition of each tool of a bundle
 * when the bundle was first used, or when a change was approved:
 *
 *   {"version": 1, "source": "<digest of where the bundle comes from>", "instructions": "...",
 *    "tools": {"<name>": {"title", "description", "inputSchema", "outputSchema", "annotations"}}}
 *
 * A tool that is missing in the file, or differs from it, is quarantined: neither listed nor
 * callable. Everything here is pure and bounded; pin_watch.c reads and writes the files. */
#pragma once

#include "base/bytes/hash.h"
#include "base/json/json_decode.h"
#include "bundle/entry/entry.h"

#define PINS_BYTES_MAX       (16u * 1024 * 1024) /* of a file */
#define PINS_TOOL_BYTES_MAX  (256u * 1024)       /* of one definition */
#define PINS_TOTAL_BYTES_MAX (8u * 1024 * 1024)  /* of all definitions of a bundle */
#define PIN_CHANGES_MAX      64                  /* reported changes of one tool */
#define PIN_TEXT_MAX         2000                /* reported bytes of a value */

/* Why a tool is quarantined. */
enum pin_why { PIN_NEW, PIN_CHANGED, PIN_SHADOWS, PIN_HIDDEN, PIN_REPEATED, PIN_TOO_LARGE };
const char *pin_why_name(enum pin_why w); /* "new", "changed" ... */

/* Digest of the source of a bundle; the version of a package is not part of it. */
void pin_source(const struct bundle_entry *e, char ret[SHA256_HEX_LEN + 1]);

/* The part of a Tool object that is pinned; its values point into `tool`. */
struct json *pin_definition(struct arena *a, const struct json *tool);
/* Identifies one definition of one tool: an approval names the one that was shown. */
void pin_digest(struct arena *a, str name, const struct json *definition,
                char ret[SHA256_HEX_LEN + 1]);

/* -EINVAL when the text is not a pin file. */
int pins_parse(struct arena *a, str text, struct json **ret, struct err *e);
struct json *pins_new(struct arena *a, str source);
const struct json *pins_tool(const struct json *pins, str name); /* its definition, or NULL */

/* ---- differences ---- */

struct pin_change {
    str field;         /* "description", "inputSchema.properties.path.type" */
    str before, after; /* texts with hidden characters made visible; empty = absent */
};

/* before: NULL for a tool that is new. */
size_t pin_diff(struct arena *a, const struct json *before, const struct json *after,
                struct pin_change ret[PIN_CHANGES_MAX]);

/* ---- tools that pass themselves off as others ---- */

struct pin_other { /* an approved tool of another bundle */
    str source, name, description;
    str skeleton, joined; /* filled in by pin_other_init */
};
void pin_other_init(struct arena *a, struct pin_other *o);

/* A sentence that says which other tool this one imitates or mentions; empty when none. */
str pin_shadow(struct arena *a, str source, const struct json *tool, const struct pin_other *others,
               size_t n);

/* ---- words that people should see ---- */

/* Warnings about a definition: hidden characters, instructions to the model. */
struct json_strs pin_warnings(struct arena *a, const struct json *definition);
/* The same for any text, such as the instructions of a server. */
struct json_strs pin_text_warnings(struct arena *a, str text);
