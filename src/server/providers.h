/* providers.h - the model providers of a configuration: keys, addresses, names. */
#pragma once

#include "config/config.h"
#include "llm/llm.h"

/* Everything lives in the arena. apiKeyFile is read here, and the keys that people have entered,
 * which count where settings and environment have none. */
int providers_from_config(struct arena *a, const struct config *c, struct llm_conf *ret,
                          struct err *e);
