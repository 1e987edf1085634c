/* place.h - which workspace a command uses, and where its conversations are.
 *
 * The server and every command that opens a store itself use these functions, so that they always
 * look in the same place. Reading the roster blocks. */
#pragma once

#include "config/config.h"
#include "store/store.h"
#include "workspace/roster/roster.h"

/* The workspace that `typed` names, or the only one when typed is NULL or empty. *ret points into
 * the roster. The messages of -ENOENT and -EINVAL say what to do. */
int place_choose(const struct roster *all, const char *typed, const struct workspace **ret,
                 struct err *e);

/* The people and workspaces of the work directory, according to the settings and the environment;
 * the caller frees the roster. */
int place_roster(const struct config *c, struct roster **ret, struct err *e);

/* The store of the workspace w; a type or directory that differs from the settings uses their
 * defaults and no index. Strings live in the config's arena. */
struct store_conf place_store(struct config *c, const struct workspace *w, const char *type,
                              const char *dir);
