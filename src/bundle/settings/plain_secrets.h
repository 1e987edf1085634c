/* plain_secrets.h - moves secrets from the entries of a settings file to the encrypted store.
 *
 * A sealed value is replaced by SEALED_MARK in the entry: `"env": {"API_TOKEN": "${sealed}"}`. The
 * value is stored with the bundle's other credentials (credentials.h), under the name of its place,
 * and only for the server that it was entered for: an entry of the same name with another URL does
 * not get it. Places are
 *
 *   env.NAME   header.NAME   auth.token   auth.value   auth.clientSecret   userConfig.KEY
 *
 * Variables, headers and options are treated as secrets because of their names
 * (base/text/secret_name.h), those of transport.auth always. A sealed option of userConfig is
 * removed from the entry: it is stored as if it had been set with `nb config set`. */
#pragma once

#include "bundle/entry/entry.h"

#define SEALED_MARK "${sealed}"

/* Places in this entry with a secret in plain text; at most `max`. Strings in the arena. */
size_t plain_secrets_in(struct arena *a, const struct json *entry, str *ret, size_t max);

/* Stores the plain secrets of an entry; *ret is the entry with marks in their places, or `entry`
 * itself when there are none. Blocking. */
int plain_secrets_seal(struct arena *a, const char *credentials_dir, const struct json *entry,
                       const struct json **ret, struct err *e);

/* Stores a value for one place; *ret is the entry with the mark. -EINVAL: not such a place. */
int plain_secrets_set(struct arena *a, const char *credentials_dir, const struct json *entry,
                      str place, str value, const struct json **ret, struct err *e);

/* ---- using them ---- */

bool plain_secrets_has_marks(const struct bundle_entry *b);
/* Replaces the marks by the values. -ENOKEY: a value is not stored, or for another server; the
 * message says how to set it. Blocking. */
int plain_secrets_unseal(struct arena *a, const char *credentials_dir, struct bundle_entry *b,
                         struct err *e);
