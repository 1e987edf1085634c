/* pg_error.h - errors of PostgreSQL as errors of the store.
 *
 * Messages are shown to people and logged, so nothing of a password may be in them: libpq quotes
 * parts of an address that it could not understand. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* -EHOSTUNREACH: the database cannot be used now, the caller may try again later (503).
 * -EAGAIN: the transaction was rolled back because of a concurrent one and may be repeated
 * immediately. -ENOSPC, -EACCES, -EIO as for files; -ENODATA: nb's tables are missing. */
int pg_error_code(const char *sqlstate);

/* Pieces of store.url that may be parts of a password; kept for the life of the database. */
struct pg_secrets {
    str parts[16];
    size_t n;
};
void pg_secrets_of(struct pg_secrets *ret, str url); /* borrows url */

/* The first line of a message of libpq, with parts of passwords replaced. */
str pg_error_text(struct arena *a, const struct pg_secrets *secrets, const char *message);
