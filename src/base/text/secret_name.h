/* secret_name.h - whether a value of this name is usually a secret. Pure. */
#pragma once

#include "base/str.h"

/* A variable, a header or an option: API_TOKEN, Authorization, X-Api-Key, DB_PASSWORD. */
bool secret_is_name(str name);
