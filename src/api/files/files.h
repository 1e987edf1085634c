/* files.h - a file in responses. */
#pragma once

#include "attach/library.h"
#include "base/json/json.h"

void api_file_write(struct json_writer *w, const struct attached *f);
