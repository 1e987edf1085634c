/* people.h - shared by the commands about users, tokens and workspaces (NEEDS_PEOPLE).
 *
 * They change the files under the lock, whether a server runs or not: a running server detects the
 * change. */
#pragma once

#include "cli/command.h"
#include "workspace/roster/change.h"

/* Reads instance and roster, for the frame; an exit code. */
int people_load(struct cmd *x);

/* The user or workspace that was named: an e-mail address or an id; an id with or without ws_, or a
 * name. NULL after printing an error. */
const struct user *people_user(struct cmd *x, const char *typed);
const struct workspace *people_workspace(struct cmd *x, const char *typed);

/* Applies the change and reads x->roster again. `id` (CHANGE_ID_MAX, may be NULL): id of what was
 * created. Prints an error and returns an exit code otherwise. */
int people_change(struct cmd *x, const struct change *c, char *ret_id);

/* A new password, typed twice or read from stdin, as a hash in the arena; an exit code. */
int people_password(struct cmd *x, bool from_stdin, str *ret_hash);

/* Times as members of a result: ISO 8601, or null for 0. */
struct json people_iso(struct cmd *x, int64_t ms);
