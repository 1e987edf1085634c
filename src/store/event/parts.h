/* parts.h - the content of a tool result in short: an array with one object for each block.
 *
 *   {type, text, bytes?}                       text; bytes, its size, only if the text is cut
 *   {type, mimeType, bytes}                    pictures, sound: the size of what data decodes to
 *   {type, uri, mimeType, text | bytes}        an embedded resource
 *   {type, uri, name, title, description ...}  a link to a resource; a file of the conversation
 *                                              (nb://files/...) has its address
 *   {type: "structured", value, bytes?}        structuredContent, at the end; value without its
 *                                              nested members and with cut texts, or absent, if
 *                                              bytes is there
 *
 * Blocks are foreign: every text is bounded and there are at most PARTS_MAX of them. The reference
 * to a blob has its parts in this form. Pure. */
#pragma once

#include "base/json/json.h"

#define PARTS_MAX 64

struct parts_form {
    size_t text_max;  /* bytes of text, of all parts together */
    size_t value_max; /* bytes of the structured value, as JSON */
    str address;      /* of the parts, "/.../parts/": what is not complete gets its own; or empty */
};

/* Writes the array for a result {content, structuredContent}, or for a reference to it. */
void parts_write(struct json_writer *w, const struct json *result, const struct parts_form *form);

/* True when the texts of a result are all that it has. */
bool parts_are_text(const struct json *result);

/* The block with this name: its index in the content, or "structured". NULL: there is none. */
const struct json *parts_find(const struct json *result, str name);
/* The base64 of a block that has some: of a picture, of sound, of a resource. */
str parts_base64(const struct json *block);
/* The text of a block, or of the resource in it. */
str parts_text(const struct json *block);
str parts_mime(const struct json *block);
size_t parts_decoded_size(str base64);
/* The type, if it is one of pictures and sound that browsers decode; else NULL. SVG is a document
 * and is not among them. */
const char *parts_shown_type(str mime);

/* A block or a part that is not text in a few words, "[image: image/png, 12 kB]"; empty for text
 * and structured content. */
str parts_label(struct arena *a, const struct json *part);
