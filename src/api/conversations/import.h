/* import.h - an import that the API started: from a path of this machine, or of a file that a
 * person has given. Loop thread. */
#pragma once

#include "api/api.h"
#include "transfer/import.h"

struct api_import;

bool api_import_is_busy(const struct api *api, struct http_req *r); /* true: 409 was sent */
/* Imports a file, or what is in it if it is an archive; takes fd over. Replies with the state. */
void api_import_given_file(struct api *api, struct http_req *r, enum import_kind kind, str name,
                           int fd);
void api_import_reply(struct http_req *r, const struct api_import *im);
const struct api_import *api_import_of(const struct api *api, str user_id); /* or NULL */
void api_import_free(struct api_import *im); /* cancels it; accepts NULL */
