/* stores.h - stores that a command opens itself, with or without a running server.
 *
 * For commands that read everything (export, verify, convert) or that work on a store that no
 * server uses. Read-only stores take no locks; entries of a journal are written to the logs before
 * (journal_recover.h). Callbacks of store.h run on the loop; stores_wait runs it. Loop thread
 * only. */
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

/* The store of the command's workspace: --workspace, or the only one. A type or directory that
 * differs from the settings: see place_store. */
int stores_find(struct conv_cli *x, const char *type, const char *dir, struct store_conf *ret,
                struct err *e);
/* Calls fn with the store of that workspace, or of every workspace when none was named and there
 * are several. `owner` is the user that the command acts for. Returns an exit code: the worst of
 * fn's, and a failure when there was no store at all. */
int stores_each_place(struct conv_cli *x,
                      int (*fn)(void *ctx, const struct store_conf *conf, str owner), void *ctx);

/* -ENOENT when the store's directory does not exist, unless it may be created. */
int stores_open(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e);
int stores_make(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e);
void stores_close(struct stores *s, struct store *store); /* accepts NULL; waits */

void stores_wait(struct stores *s, const bool *is_done);

/* Deletes the index of a store; it is rebuilt, also by a running server. */
void stores_drop_index(const struct store_conf *conf);
void stores_drop_indexes(struct config *c); /* of all workspaces */

/* Calls fn with the id of every conversation, hidden ones included; fn may call the store and wait.
 * Returns -errno of the listing, or the first result of fn that is not 0. */
int stores_each(struct stores *s, struct store *store,
                int (*fn)(void *ctx, str id, size_t i, int64_t n), void *ctx, struct err *e);
