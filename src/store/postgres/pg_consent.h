/* pg_consent.h - permanent permissions of several servers, in the table nb_consent.
 *
 * One thread reads and writes for all workspaces. A change increments the generation of consents
 * (nb_generation) in its transaction; a reading every two seconds asks for that number, and for the
 * rows only if it has changed. Loop thread. */
#pragma once

#include "store/consent_table.h"
#include "store/postgres/database.h"

struct pg_consents;

/* `db` is borrowed, and open when the table is used. */
struct pg_consents *pg_consents_new(struct loop *l, struct logger *log, struct database *db);
struct consent_table *pg_consents_table(struct pg_consents *c);
void pg_consents_free(struct pg_consents *c); /* ends what is under way; accepts NULL */
