/* grant_rules.h - which directories of a terminal may be lent to a run of a server.
 *
 * A project may be lent; a home directory may be lent for reading only. Never nb's work directory,
 * a directory that contains it or a home, places for keys, and system directories. The terminal
 * checks before it sends a directory, the server before it uses it. Reads the file system: not on
 * the loop thread. */
#pragma once

#include "base/err.h"
#include "workspace/dir_grant.h"

/* -EACCES with the reason. `path` has no links (dir_grant.h). */
int grant_rules_check(str path, const char *home_dir, const char *work_dir, struct err *e);
