/* consent.h - tools that people have allowed permanently.
 *
 * A consent belongs to the person who gave it and ends with their membership; one without a person
 * is for the whole workspace and was given by an admin. Rules of the settings under ask or deny
 * take precedence (compose.c). Kept in permissions.json of the workspace, read once at the start
 * and written as a whole by a pool thread; or in a table that several servers share
 * (store/consent_table.h). A file of an earlier version, which has no user ids, is
 * valid for the sole user of a machine and for nobody else. Loop thread. */
#pragma once

#include "base/log.h"
#include "loop/pool.h"
#include "runtime/consent_limit.h"
#include "store/consent_table.h"
#include "tools/tool_selection.h"

#define CONSENTS_MAX 1000
#define CONSENTS_CONVERSATION_MAX                                                                  \
    200 /* of them for one conversation each; a new one replaces the oldest */

struct consent {
    str user_id; /* empty = everybody in the workspace */
    str tool;    /* a name, or a limited permission (consent_limit.h); a glob only if a person wrote
                    one into the file */
};

struct consents {
    struct pool *pool;
    struct logger *log;
    const char *path; /* NULL = not stored, or in the table */
    struct arena arena;
    struct consent_table *table; /* NULL = a file */
    struct consent_watch watch;
    struct consent_write write;
    struct consent_edit *edits; /* not stored yet; the first nwriting are being written */
    size_t nedits, edits_cap, nwriting;
    struct consent *items;
    size_t n;
    struct list_node waiting, served;
    bool is_writing;
    char *text; /* owned by the job */
    struct err err;
    struct job job;
};

struct consent_save { /* embedded in the object that waits */
    struct list_node node;
    loop_fn fn;
    void *ctx;
    bool has_failed; /* set when fn is called */
};

void consents_init(struct consents *c, struct pool *pool, struct logger *log);
/* Reads the file, if there is one; blocking. `path` is copied. */
int consents_load(struct consents *c, const char *path, struct err *e);
/* In place of the file; blocking. workspace_id is borrowed. */
int consents_share(struct consents *c, struct consent_table *table, str workspace_id,
                   struct err *e);
void consents_done(struct consents *c); /* no save may be in progress */

/* Theirs or the workspace's: without a limit, or also those whose limits the call is within. */
bool consents_has(const struct consents *c, str user_id, str tool);
bool consents_allow(const struct consents *c, str user_id, const struct consent_call *call);
/* False: the limit is reached, and the next call asks again. */
bool consents_add(struct consents *c, str user_id, str tool);
bool consents_remove(struct consents *c, str user_id, str tool); /* false: there is none */
bool consents_remove_user(struct consents *c, str user_id);      /* all consents of this person */
/* Tools of this person, or with an empty id of the workspace. */
struct json_strs consents_of(const struct consents *c, struct arena *a, str user_id);
/* Calls fn when all changes are durable, or when writing them has failed (which is logged); never
 * before it returns. */
void consents_save(struct consents *c, struct consent_save *s, loop_fn fn, void *ctx);
