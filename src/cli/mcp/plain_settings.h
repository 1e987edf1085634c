/* plain_settings.h - secrets that stand as plain text in the settings files of a work directory:
 * nimblebrain.json, every workspace.json, instance.json. Blocking. */
#pragma once

#include "config/config.h"

#define PLAIN_SETTINGS_MAX 1000 /* that are told */

struct plain_setting {
    const char *path; /* of the file */
    str bundle;       /* or empty */
    str place;        /* "env.API_TOKEN", "providers.openai.apiKey", "auth.clientSecret" */
};

/* All of them, in the arena; what cannot be read is left out. */
size_t plain_settings_find(struct arena *a, const struct config *c, struct plain_setting **ret);

/* Moves all of them to the encrypted store. `told` hears of each file that was changed. */
int plain_settings_seal(struct arena *a, const struct config *c,
                        void (*told)(const char *path, size_t n), struct err *e);
