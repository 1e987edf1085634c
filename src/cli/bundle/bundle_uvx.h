/* bundle_uvx.h - packages that uvx runs: the version is looked up when the bundle is added. */
#pragma once

#include "cli/bundle/bundle.h"

/* Asks uv which version the command means now, and writes that one into "args" of the entry, so
 * that a later start runs what was shown. Commands that name an exact version, and commands of
 * other programs, stay as they are; so do all when uv is not there: whether the program of the
 * command exists is checked elsewhere. Nothing of the package is built or run. Dependencies of the
 * package are still chosen by uv when it starts. ret: whether "args" has changed. */
int bundle_cli_uvx_pin(struct conv_cli *x, const struct bundle_entry *b, struct json *entry,
                       bool *ret, struct err *e);
