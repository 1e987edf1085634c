/* deed.h - records of the audit log, made where an operation happens.
 *
 * An operation that is audited (sharing, deleting, exporting, installing, editing a skill, an
 * answer to a permission question) takes a `struct doer`: the actor, and the way of access.
 * The floor that carries the operation out (store, bundle, runtime) begins a deed with the doer
 * and ends it with the result. So each operation is recorded once, for every caller: a route, a
 * tool of a run, /mcp or a command. A call that is refused before its operation begins is recorded
 * by its surface (api/trail.h, builtin/audited.c). Loop thread only. */
#pragma once

#include "workspace/actor.h"
#include "workspace/audit.h"

/* Borrowed for the call it is given to. */
struct doer {
    const struct actor *actor;
    str via;                     /* "api", "mcp", "cli", "run" */
    str how;                     /* empty = as the actor was authenticated */
    str run_id, conversation_id; /* of the run that does it, or empty */
    str address;                 /* of the client, or empty */
};

struct deed; /* an operation in progress */

/* NULL, and nothing is recorded, when `log`, `by` or its actor is NULL. Strings are copied. */
struct deed *deed_begin(struct audit *log, const struct doer *by, str action, str target);
/* The same action, by the same doer and way, on another target; NULL of NULL. */
struct deed *deed_again(const struct deed *d, str target);
/* All accept NULL. deed_detail appends to the existing detail. */
void deed_set(struct deed *d, str action, str target);
void deed_detail(struct deed *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Records the operation and frees `d`. err: NULL, or why nothing was done. */
void deed_end(struct deed *d, const struct err *err);

/* The parts of a record that name the doer; borrows from `by`, or from the arena. */
struct audit_entry doer_entry(struct arena *a, const struct doer *by);
str deed_outcome(const struct err *err); /* "ok", "denied", "failed" */
/* A URL without the parts that may hold a password or a key. */
str deed_plain_url(str url);
