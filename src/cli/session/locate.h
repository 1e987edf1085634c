/* locate.h - finds a conversation that is not where new ones are stored.
 *
 * Logs may be in the configured directory, in the flat default, or in the directory of a workspace,
 * depending on earlier settings. Resuming searches all of them. Blocking. */
#pragma once

#include "config/config.h"

/* The directory of <id>.jsonl, in the config's arena; NULL when it is in the configured store, or
 * nowhere, or when the store does not use files. */
const char *locate_log(struct config *c, str id);
