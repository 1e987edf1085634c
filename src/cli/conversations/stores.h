/* stores.h - stores opened by a command itself, beside a running server or without one.
 *
 * For commands that read everything (export, verify, convert) or that work on a store nobody
 * serves. Read-only stores take no locks; what a
 * journal holds is put back before (journal_recover.h). Calls of store.h come back on the loop;
 * stores_wait runs it. Loop thread only. */
#pragma once

#include "cli/conversations/conversations.h"
#include "store/store.h"

struct stores {
    struct conv_cli *x;
    struct store_env env;
    size_t open;
};

void stores_init(struct stores *s, struct conv_cli *x);
void stores_done(struct stores *s); /* after all were closed */

/* The store of the workspace that the command is about: --workspace, or the only one. Another
 * type or directory than the settings' as place_store says. */
int stores_find(struct conv_cli *x, const char *type, const char *dir, struct store_conf *ret,
                struct err *e);
/* Calls fn with the store of that workspace, or of every workspace when none was named and there
 * are several. `owner` is who a command acts for. Returns an exit code: the worst of fn's, and a
 * failure when there was no store at all. */
int stores_each_place(struct conv_cli *x,
                      int (*fn)(void *ctx, const struct store_conf *conf, str owner), void *ctx);

/* A store whose directory does not exist is -ENOENT, unless it may be made. */
int stores_open(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e);
int stores_make(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e);
void stores_close(struct stores *s, struct store *store); /* accepts NULL; waits */

void stores_wait(struct stores *s, const bool *is_done);

/* Removes the index of a store; it is made again, also by a server that runs. */
void stores_drop_index(const struct store_conf *conf);
void stores_drop_indexes(struct config *c); /* of all workspaces */

/* Calls fn with the id of every conversation, hidden ones included; it may call the store and
 * wait. -errno of the listing, or what fn returned when it was not 0. */
int stores_each(struct stores *s, struct store *store,
                int (*fn)(void *ctx, str id, size_t i, int64_t n), void *ctx, struct err *e);
