/* files.h - a file in responses. */
#pragma once

#include "api/api.h"
#include "attach/library.h"
#include "base/json/json.h"

/* Answers with the file that this person or project has, or with what the query asks for of it. */
void api_file_send(struct api *api, struct http_req *r, str giver_id, str id);
void api_file_write(struct json_writer *w, const struct attached *f);
