/* grant_rules.h - which directories of a terminal may be lent to a run of a server.
 *
 * A project may; a home directory may, but only to be read. Never nb's work directory, a directory
 * that contains it or a home, places for keys, and directories of the system. The terminal asks
 * before it sends one, the server before it uses one. Looks at files: not on the loop thread. */
#pragma once

#include "base/err.h"
#include "workspace/dir_grant.h"

/* -EACCES with the reason. `path` has no links (dir_grant.h). */
int grant_rules_check(str path, const char *home_dir, const char *work_dir, struct err *e);
