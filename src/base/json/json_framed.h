/* json_framed.h - values of a fixed shape around one string, written in one piece. */
#pragma once

#include "base/json/json.h"

/* A value: JSON up to a string, the string, and the JSON behind it. */
void jw_framed_str(struct json_writer *w, str before, str s, str after);
