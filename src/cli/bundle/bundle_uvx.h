/* bundle_uvx.h - packages that uvx runs: looks up the version when the bundle is added. */
#pragma once

#include "cli/bundle/bundle.h"

/* Asks uv which version the command means now, and writes that version into "args" of the entry, so
 * that a later start runs what was shown. Does not change commands that name an exact version or
 * run other programs, or any command when uv is not installed: another check reports a missing
 * program. Nothing of the package is built or run. uv still chooses the dependencies of the package
 * at each start. ret: whether "args" has changed. */
int bundle_cli_uvx_pin(struct cmd *x, const struct bundle_entry *b, struct json *entry, bool *ret,
                       struct err *e);
