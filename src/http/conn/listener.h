/* listener.h - sockets that accept connections for a server. Not for other floors; the
 * functions that open them are in server.h. */
#pragma once

#include "http/conn/conn.h"

void listeners_close(struct http_server *s); /* ends with server_check_stopped */
