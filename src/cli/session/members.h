/* members.h - names of the people of a workspace, as its server knows them. Loop thread only. */
#pragma once

#include "cli/session/client.h"

/* {"members": [{userId, displayName, email}...]}; an empty object when the server does not tell.
 * workspace: an id, or NULL for the one that requests are about. */
struct json *members_ask(struct client *c, const char *workspace, struct arena *a);
/* The name, else the e-mail address, else the id itself. */
str members_name(const struct json *members, str user_id);
