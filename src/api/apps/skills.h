/* skills.h - skills as JSON. */
#pragma once

#include "base/json/json.h"
#include "skill/skill.h"

/* Writes an object: which skill a message selects, and why. */
void api_write_match(struct json_writer *w, const struct skill_match *m);
