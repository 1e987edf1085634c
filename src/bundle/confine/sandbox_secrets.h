/* sandbox_secrets.h - paths in a home directory that hold keys, tokens and histories.
 *
 * Hidden from every sandbox that may read their surroundings, unless they are declared themselves.
 * Relative to the home directory; NULL-terminated. */
#pragma once

extern const char *const SANDBOX_SECRETS[];
