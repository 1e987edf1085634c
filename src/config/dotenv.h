/* dotenv.h - {workDir}/.env: variables for nb that are not in the environment.
 *
 *   # a comment
 *   ANTHROPIC_API_KEY=sk-...
 *   export NB_MODEL="openai:gpt-5"
 *
 * A line is NAME=VALUE; quotes around the value are removed, nothing is expanded. The environment
 * wins. Blocking. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define DOTENV_BYTES_MAX (64u * 1024)

struct dotenv {
    str text; /* of the file; empty = there is none */
};

/* A missing file is not an error; -EINVAL names the line that is not an assignment. *ret_is_open:
 * other users may read the file. */
int dotenv_load(struct arena *a, const char *path, struct dotenv *ret, bool *ret_is_open,
                struct err *e);
/* The value in the arena, or NULL. The last assignment wins. */
const char *dotenv_get(struct arena *a, const struct dotenv *d, const char *name);
