/* token_use.h - when each API token was last used.
 *
 * Stored in memory and written to {workDir}/auth/token-use.json once a minute at most: a time that
 * helps to find unused tokens may be lost in a crash. Loop thread. */
#pragma once

#include "base/json/json.h"
#include "loop/loop.h"

struct token_use;

struct token_use *token_use_new(struct loop *l, struct logger *log, const char *work_dir);
void token_use_free(struct token_use *u); /* writes what is new; accepts NULL */

void token_use_note(struct token_use *u, str token_id);
void token_use_forget(struct token_use *u, str token_id);
int64_t token_use_ms(const struct token_use *u, str token_id); /* 0 = not known */

/* The file, for commands: an object of token ids and times. Blocking; never NULL. */
const struct json *token_use_read(struct arena *a, const char *work_dir);
