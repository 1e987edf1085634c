/* sniff.h - what a file is, from its first bytes and never from its name. Pure. */
#pragma once

#include "base/str.h"

#define SNIFF_BYTES 4096u /* as many as are looked at */

/* A media type of a fixed list; "text/plain" for every text in UTF-8, HTML and SVG included, so
 * that nothing which a browser would run is ever called by its own type; otherwise
 * "application/octet-stream". */
const char *sniff_type(str head);

/* The same type as a string that is always valid; a type that is not of the list is
 * "application/octet-stream". */
const char *sniff_known(str mime);

/* The type of the content part for it: "image" for a picture that models take, "audio", "file". */
const char *sniff_part(str mime);
bool sniff_is_text(str mime);

/* Width and height of a picture in pixels, if its first bytes say so. */
bool sniff_size(str head, uint32_t *ret_width, uint32_t *ret_height);
