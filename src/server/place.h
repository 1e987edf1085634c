/* place.h - which workspace a command means, and where its conversations are.
 *
 * The server and every command that opens a store itself go through these functions, so that
 * they never look in different places. Reading the roster blocks. */
#pragma once

#include "config/config.h"
#include "store/store.h"
#include "workspace/roster/roster.h"

/* The workspace that `typed` names, or the only one when typed is NULL or empty. *ret points
 * into the roster. -ENOENT and -EINVAL say what to do. */
int place_choose(const struct roster *all, const char *typed, const struct workspace **ret,
                 struct err *e);

/* The people and workspaces of the work directory, as the settings and the environment say; the
 * caller frees the roster. */
int place_roster(const struct config *c, struct roster **ret, struct err *e);

/* The store of the workspace w; another type or directory than the settings' has their defaults
 * but no index. Strings live in the config's arena. */
struct store_conf place_store(struct config *c, const struct workspace *w, const char *type,
                              const char *dir);
