/* file_text.h - a file of a message in words, for models. Pure. */
#pragma once

#include "base/arena.h"
#include "base/json/json.h"

/* The content with the name and the language of the file; the beginning of a text that is too long,
 * and how to read the rest; or what is known about a file that cannot be read. The part is one that
 * the store has restored (store/event/blobs.h). */
str file_text(struct arena *a, const struct json *part);
