/* download.h - a file as a response: in pieces, as fast as the client reads, or a range of it. */
#pragma once

#include "api/api.h"
#include "attach/library.h"

/* Answers the request. Takes over fd. The response is always an attachment that a browser does not
 * show as a page of this server. */
void download_reply(struct api *api, struct http_req *r, const struct attached *file, int fd);
