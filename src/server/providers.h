/* providers.h - the model providers of a configuration: keys, addresses, names. */
#pragma once

#include "config/config.h"
#include "llm/llm.h"

/* Everything is allocated in the arena. Reads apiKeyFile, and the keys that people entered in the
 * page, which are used where settings and environment have none. */
int providers_from_config(struct arena *a, const struct config *c, struct llm_conf *ret,
                          struct err *e);
