/* directory.h - the current roster of a running server, and notifications about its changes.
 *
 * The roster is in memory: lookups are synchronous. Changes run on a pool thread (change.h) and
 * take effect as a whole, right before their `done`. Changes by other processes (nb user ...) are
 * noticed through the lock file within milliseconds. In both cases the old roster is compared with
 * the new one and every observer is notified of each difference, in one turn of the loop: a member
 * who was removed loses streams and runs immediately, whichever process made the change.
 *
 * Pointers into the roster are valid until control returns to the loop; copy what must last.
 * Loop thread only.
 *
 * Room roster/: roster.h (users and workspaces in memory), roster_lock.h (the lock file), change.h
 * (writing), roster_diff.c (differences), directory.h (this), access.h (rights in a conversation),
 * member_find.h (people by name). */
#pragma once

#include "loop/pool.h"
#include "workspace/roster/access.h"
#include "workspace/roster/change.h"

struct directory;

enum directory_news {
    NEWS_USER_ADDED,
    NEWS_USER_CHANGED,    /* name, address, preferences or instance role */
    NEWS_USER_ROLE,       /* the instance role; NEWS_USER_CHANGED follows */
    NEWS_USER_REMOVED,    /* NEWS_MEMBER_LEFT comes first, for each workspace */
    NEWS_USER_SIGNED_OUT, /* sessions that began before now have ended */
    NEWS_TOKEN_REVOKED,   /* user_id, token_id; not for expiry */
    NEWS_WORKSPACE_ADDED,
    NEWS_WORKSPACE_CHANGED, /* name or settings */
    NEWS_WORKSPACE_REMOVED, /* NEWS_MEMBER_LEFT comes first, for each member */
    NEWS_MEMBER_JOINED,
    NEWS_MEMBER_ROLE,
    NEWS_MEMBER_LEFT,
};

struct directory_item {
    enum directory_news news;
    str user_id, workspace_id, token_id; /* those that apply */
};

struct directory_observer { /* embedded in the observer's struct */
    struct list_node node;
    /* The new roster is in place already. Must not free the directory. */
    void (*on_news)(void *ctx, const struct directory_item *item);
    void *ctx;
};

/* Reads the roster before it returns (blocking): for start-up. `is_sole` as in roster.h. */
int directory_new(struct loop *l, struct logger *log, const char *work_dir, bool is_sole,
                  struct directory **ret, struct err *e);
/* The same for users and workspaces that are elsewhere; the source outlives the directory. */
int directory_new_from(struct loop *l, struct logger *log, struct roster_source *source,
                       struct directory **ret, struct err *e);
/* Waits for changes that are in progress and delivers their `done`. Accepts NULL. */
void directory_free(struct directory *d);

const struct roster *directory_roster(const struct directory *d);
/* A new number after every change: a result about rights is valid as long as it is the same. */
uint64_t directory_generation(const struct directory *d);

void directory_observe(struct directory *d, struct directory_observer *o);
void directory_unobserve(struct directory_observer *o);

/* id: the user, workspace or token that was made or changed; empty on failure. Errors as in
 * change.h. */
typedef void (*directory_done)(void *ctx, const struct err *err, str id);

#define DIRECTORY_QUEUE_MAX 256 /* changes waiting; more get -EBUSY */

/* Changes are made in the order of these calls, except that changes which take access away
 * (removals, revocations, sign-outs, passwords, instance roles) go before all others in the queue,
 * and the queue has room for twice as many of them. Copies the change; `done` may be NULL and is
 * never called before this returns. */
void directory_change(struct directory *d, const struct change *c, directory_done done, void *ctx);
/* The same, but `may` is called when the change leaves the queue, with the roster of that moment:
 * an earlier change may have taken the right to it away. False: `done` gets -ESTALE. */
void directory_change_if(struct directory *d, const struct change *c, bool (*may)(void *ctx),
                         directory_done done, void *ctx);

/* Reads the roster again if it has changed; `done` gets an empty id. */
void directory_look(struct directory *d, directory_done done, void *ctx);

/* WS_NONE: not a member, or the workspace does not exist. Constant time, nothing is allocated. */
enum ws_role directory_role(const struct directory *d, str workspace_id, str user_id);

/* roster_diff.c: the differences between two rosters, as items: losses of access first, so that
 * observers end streams and runs before they handle anything new. Pure. */
typedef void (*roster_diff_fn)(void *ctx, const struct directory_item *item);
void roster_diff(const struct roster *before, const struct roster *after, roster_diff_fn fn,
                 void *ctx);
