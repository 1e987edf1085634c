/* agents.h - named profiles of child agents, for nb__delegate. */
#pragma once

#include "base/json/json_decode.h"

struct agent {
    str name, description, system_prompt, model;
    struct json_strs tools; /* globs; items NULL = not limited */
    int64_t max_iterations; /* 0 = not limited */
};

struct agents {
    struct agent *items;
    size_t len;
};

/* The "agents" section of the settings; conf may be NULL. Errors name the path. */
int agents_decode(struct arena *a, const struct json *conf, struct agents *ret, struct err *e);
const struct agent *agents_find(const struct agents *all, str name);
