/* send_file.h - gives a file of this machine to the server. */
#pragma once

#include "cli/session/client.h"

/* The id of the file, in the arena. A large file is sent in pieces; when the connection is lost, it
 * continues where the server stopped. */
int send_file(struct client *c, struct arena *a, const char *path, str *ret_id, struct err *e);
/* The same for bytes in memory, at most CLIENT_BODY_MAX. */
int send_bytes(struct client *c, struct arena *a, str name, str bytes, str *ret_id, struct err *e);
