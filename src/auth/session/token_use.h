/* token_use.h - when each API token was last used.
 *
 * Stored in memory and written to a use_store once a minute at most: a time that helps to find
 * unused tokens may be lost in a crash. A store that other servers write to is read once a minute
 * too, so a use at one server is shown by the others after two minutes at most. Whether a token is
 * valid is never decided here. Loop thread. */
#pragma once

#include "auth/session/use_store.h"
#include "loop/loop.h"

struct token_use;

/* Takes the store. A file is read immediately, a shared store by token_use_open. */
struct token_use *token_use_new(struct loop *l, struct logger *log, struct use_store *store);
/* Reads a shared store and begins to read it again every minute; a failure is logged and repaired
 * by the next reading. Blocking. Does nothing for a file. */
void token_use_open(struct token_use *u);
void token_use_free(struct token_use *u); /* writes what is new; accepts NULL */

void token_use_note(struct token_use *u, str token_id);
void token_use_forget(struct token_use *u, str token_id);
int64_t token_use_ms(const struct token_use *u, str token_id); /* 0 = not known */
