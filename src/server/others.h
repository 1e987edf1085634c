/* others.h - what this server does for, and because of, other servers on the same database: it
 * takes over from those that are gone, and obeys orders about the runs that it has. Loop thread. */
#pragma once

#include "server/open_workspace.h"

struct database;

struct others { /* borrowed */
    struct open_workspaces *workspaces;
    const struct directory *directory;
    struct api *api;
};

/* From now on. address: of this server, for operators. Does nothing if there are no other servers.
 */
void others_know(struct others *o, struct database *db, const char *address);
void others_forget(struct database *db);
