/* bundle_npm.h - packages of npm: lookup, and installation with progress output. */
#pragma once

#include "bundle/plan/npm_install.h"
#include "cli/bundle/bundle.h"

/* Looks up the exact version that the entry's command means now; installs nothing. */
int bundle_cli_npm_resolve(struct cmd *x, const struct bundle_entry *b, struct npm_package *ret,
                           struct err *e);
/* Installs the version that the entry pins, unless it is installed. */
int bundle_cli_npm_install(struct cmd *x, const struct bundle_entry *b, struct err *e);

/* "pinned" of an entry. */
struct json *bundle_cli_pinned(struct arena *a, const struct npm_pin *pin);
