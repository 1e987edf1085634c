/* plain_settings.h - finds secrets in plain text in the settings files of a work directory:
 * nimblebrain.json, every workspace.json, instance.json. Blocking. */
#pragma once

#include "config/config.h"

#define PLAIN_SETTINGS_MAX 1000 /* ceiling of listed secrets */

struct plain_setting {
    const char *path; /* of the file */
    str bundle;       /* or empty */
    str place;        /* "env.API_TOKEN", "providers.openai.apiKey", "auth.clientSecret" */
};

/* All of them, in the arena; files that cannot be read are left out. */
size_t plain_settings_find(struct arena *a, const struct config *c, struct plain_setting **ret);

/* Moves all of them to the encrypted store. Calls `told` for each changed file. */
int plain_settings_seal(struct arena *a, const struct config *c,
                        void (*told)(const char *path, size_t n), struct err *e);
