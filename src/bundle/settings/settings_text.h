/* settings_text.h - changes the list of bundles, or one member, in the text of a settings file.
 *
 * People edit these files: order, spacing and unknown keys stay as they are, byte for byte; only
 * the part to change is changed. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"

enum settings_edit { SETTINGS_ADD, SETTINGS_REPLACE, SETTINGS_REMOVE };

/* `text` is a JSON object; "bundles" in it is an array, or absent for ADD. `at` is the index of the
 * entry (not for ADD), `entry` its new content (not for REMOVE). -EINVAL when the text is not such
 * a document, -ENOENT when the index does not exist. */
int settings_text_edit(struct arena *a, str text, enum settings_edit what, size_t at,
                       const struct json *entry, str *ret, struct err *e);

/* Sets the member `key` of the document, in its place or at the end. */
int settings_text_set(struct arena *a, str text, const char *key, const struct json *value,
                      str *ret, struct err *e);
