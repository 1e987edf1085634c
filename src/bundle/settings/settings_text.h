/* settings_text.h - changes to the list of bundles, or to one member, of a settings file.
 *
 * People write these files by hand: order, spacing and keys that we do not know stay as they
 * are, byte for byte; only what is in question changes. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"

enum settings_edit { SETTINGS_ADD, SETTINGS_REPLACE, SETTINGS_REMOVE };

/* `text` is a JSON object; "bundles" in it is an array, or absent for ADD. `at` is the place of
 * the entry (not for ADD), `entry` what stands there from now on (not for REMOVE). -EINVAL when
 * the text is not such a document, -ENOENT when there is no such place. */
int settings_text_edit(struct arena *a, str text, enum settings_edit what, size_t at,
                       const struct json *entry, str *ret, struct err *e);

/* Gives the member `key` of the document this value, in its place or at the end. */
int settings_text_set(struct arena *a, str text, const char *key, const struct json *value,
                      str *ret, struct err *e);
