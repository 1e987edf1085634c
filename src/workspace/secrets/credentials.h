/* credentials.h - values that people have set for bundles: {workspace}/credentials/.
 *
 * One file per bundle (its name: entry_credentials, bundle/entry/entry.h), {"key": value},
 * encrypted (sealed.h), mode 0600 in a directory of mode 0700. Without the key, reading returns
 * -ENOKEY, and setting a value begins a new file. Changes are made under a lock and written
 * atomically. Values are never logged and never part of a message. Blocking: for pool threads and
 * commands. */
#pragma once

#include "base/json/json.h"

#define CREDENTIALS_BYTES_MAX (256u * 1024)
/* keys of model providers; not a valid slug of a bundle */
#define CREDENTIALS_PROVIDERS "@providers"
#define CREDENTIALS_INSTANCE  "@instance" /* secrets of instance.json */
#define CREDENTIALS_OIDC      "oidcClientSecret"

/* Accounts of people at servers where each person signs in: {workspace}/credentials/people/, one
 * file for each person and bundle, "<user id>@<server name>". The name is part of the encrypted
 * data, so that a file cannot replace that of another person. workspace/roster/change.h deletes the
 * files of a person who leaves. */
#define CREDENTIALS_PEOPLE "people"
const char *credentials_people_dir(struct arena *a, const char *credentials_dir);
/* Empty when the id cannot be part of a file's name. */
str credentials_person_slug(struct arena *a, str server_name, str user_id);
/* The people with a stored account, unordered; at most `max`. There may be none. */
size_t credentials_people(struct arena *a, const char *credentials_dir, str server_name, size_t max,
                          str *ret_user_ids);
/* Deletes all accounts at this server. */
void credentials_forget_people(const char *credentials_dir, str server_name);

/* An object; empty when nothing is stored. */
int credentials_load(struct arena *a, const char *dir, str slug, struct json **ret, struct err *e);

/* A NULL value deletes the key: -ENOENT when it is not stored. */
int credentials_set(const char *dir, str slug, str key, const struct json *value, struct err *e);

/* Deletes all values of a bundle that is removed permanently; there may be none. */
int credentials_remove(const char *dir, str slug, struct err *e);

/* The OpenID client secret that was moved out of instance.json; empty when there is none. */
int credentials_instance_secret(struct arena *a, const char *work_dir, str *ret, struct err *e);

/* The values that the mpak command has stored for a package: packages.<name> of config.json in
 * {home}/.mpak. NULL when there is nothing usable. */
const struct json *credentials_of_mpak(struct arena *a, const char *home_dir, str package);

/* "sk-abc" -> "sk****", short ones "****". */
str credentials_mask(struct arena *a, str value);
