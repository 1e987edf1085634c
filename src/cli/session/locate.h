/* locate.h - where a conversation lies, when it is not where new ones go.
 *
 * Logs may be in the configured directory, in the flat default, or in the directory of a
 * workspace: earlier settings left them there. Resuming finds them all. Blocking. */
#pragma once

#include "config/config.h"

/* The directory of <id>.jsonl, in the config's arena; NULL when it is in the configured
 * store already, or nowhere, or the store is not of files. */
const char *locate_log(struct config *c, str id);
