/* credentials.h - values for bundles that a person has given: {workspace}/credentials/.
 *
 * One file per bundle, {"key": value}, encrypted (sealed.h), mode 0600 in a directory of mode
 * 0700. Without the key reading is -ENOKEY, and setting a value begins a new file. Changes are made
 * under a lock and written whole. Values are never logged and never part of a message.
 * Blocking: for pool threads and commands. */
#pragma once

#include "bundle/entry/entry.h"

#define CREDENTIALS_BYTES_MAX (256u * 1024)
#define CREDENTIALS_PROVIDERS "@providers" /* keys of model providers; no bundle's slug */
#define CREDENTIALS_INSTANCE  "@instance"  /* secrets of instance.json */
#define CREDENTIALS_OIDC      "oidcClientSecret"

/* The name of the bundle's file without ".json": "scope@package" for a named one, so that no
 * other package of the same short name can read it; else the server name. */
str credentials_slug(struct arena *a, const struct bundle_entry *entry);

/* Accounts of people at servers where each person signs in: {workspace}/credentials/people/, one
 * file of each person and bundle, "<user id>@<server name>". The name is part of what is encrypted,
 * so that nobody's file can take the place of another's. workspace/roster/change.h deletes the
 * files of a person who leaves. */
#define CREDENTIALS_PEOPLE "people"
const char *credentials_people_dir(struct arena *a, const char *credentials_dir);
/* Empty when the id cannot be part of a file's name. */
str credentials_person_slug(struct arena *a, const struct bundle_entry *entry, str user_id);
/* Those who have an account stored, in no order; at most `max`. None is fine. */
size_t credentials_people(struct arena *a, const char *credentials_dir, str server_name, size_t max,
                          str *ret_user_ids);
/* All accounts at this server. */
void credentials_forget_people(const char *credentials_dir, str server_name);

/* An object; empty when nothing is stored. */
int credentials_load(struct arena *a, const char *dir, str slug, struct json **ret, struct err *e);

/* NULL takes the key away: -ENOENT when it is not there. */
int credentials_set(const char *dir, str slug, str key, const struct json *value, struct err *e);

/* All of a bundle, when it is removed for good; none is fine. */
int credentials_remove(const char *dir, str slug, struct err *e);

/* The client secret of OpenID that was taken out of instance.json; empty when there is none. */
int credentials_instance_secret(struct arena *a, const char *work_dir, str *ret, struct err *e);

/* What the mpak command has stored for a package: packages.<name> of config.json in
 * {home}/.mpak. NULL when there is nothing, or nothing usable. */
const struct json *credentials_of_mpak(struct arena *a, const char *home_dir, str package);

/* "sk-abc" -> "sk****", short ones "****". */
str credentials_mask(struct arena *a, str value);
