/* pg_roster.h - users and workspaces of several servers, in the table nb_roster.
 *
 * A row is a document that is a file otherwise (workspace/roster/roster_source.h). A change is a
 * transaction that locks the generation of the roster (nb_generation), reads everything, checks,
 * writes and increments the generation; so changes of different servers are made one after the
 * other, and who knows the generation knows whether the roster in memory is new. A change whose
 * answer was lost is looked for in nb_roster_change.
 *
 * The settings of a workspace (bundles, models ...) are not shared yet: they stay in the file
 * workspace.json of each server, and a document that is read here has those of this server. An id
 * of a removed workspace is not used again, because other servers may still have data of it. */
#pragma once

#include "store/postgres/database.h"
#include "workspace/roster/roster_source.h"

struct pg_roster {
    struct roster_source source; /* first */
    struct database *db;         /* borrowed, open */
};

/* The first server that has users or workspaces as files brings them. work_dir is borrowed.
 * -ENOTCONN: the database cannot be reached. Blocking. */
int pg_roster_init(struct pg_roster *r, struct database *db, const char *work_dir, bool is_sole,
                   struct err *e);
