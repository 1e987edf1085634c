/* fresh.h - what other servers have changed, read before a request is believed.
 *
 * A session that one server has ended, a token that it has revoked, a member whom it has removed:
 * all must be refused by the others at their next request. So a request waits for a reading that
 * began after the request arrived. One reading is under way at a time, and all requests that arrive
 * during it share the next: at most one query for a request, and one for each round trip under
 * load. Between requests the same is read every two seconds, so that streams end too.
 *
 * Only servers that share a database have this. If the database cannot be reached, who waits gets
 * -ENOTCONN: nobody is logged out, and nobody who was revoked comes in. Loop thread. */
#pragma once

#include "auth/session/session.h"
#include "workspace/roster/directory.h"

struct fresh;
struct database;

struct fresh_wait { /* embedded; list_del of its node ends the wait */
    struct list_node node;
    void (*fn)(void *ctx, const struct err *err);
    void *ctx;
};

/* directory: is told when the roster in the database is newer than its own; NULL, or one whose
 * roster is not there: it is not. */
struct fresh *fresh_new(struct loop *l, struct database *db, struct sessions *sessions,
                        struct directory *directory);
/* The first reading, then one every two seconds. The database must be open. Blocking. */
int fresh_open(struct fresh *f, struct err *e);
/* Waits for a reading under way; waits that are left are dropped. Accepts NULL. */
void fresh_free(struct fresh *f);

/* Calls w->fn after a reading that begins now or later; never before it returns. */
void fresh_await(struct fresh *f, struct fresh_wait *w);
