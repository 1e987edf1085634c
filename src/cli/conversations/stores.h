/* stores.h - stores that a command opens itself, with or without a running server.
 *
 * For commands that read everything (export, verify, convert) or that work on a store that no
 * server uses. Read-only stores take no locks; entries of a journal are written to the logs before
 * (journal_recover.h). Callbacks of store.h run on the loop; cmd_wait runs it. Loop thread
 * only. */
#pragma once

#include "cli/conversations/conversations.h"
#include "cli/term/progress.h"
#include "store/store.h"

struct stores {
    struct cmd *x;
    struct store_env env;
    size_t open;
};

void stores_init(struct stores *s, struct cmd *x);
void stores_done(struct stores *s); /* after all were closed */

/* The store of the command's workspace: --workspace, or the only one. A type or directory that
 * differs from the settings: see place_store. */
int stores_find(struct cmd *x, const char *type, const char *dir, struct store_conf *ret,
                struct err *e);
/* -ENOENT when the store's directory does not exist, unless it may be created. */
int stores_open(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e);
int stores_make(struct stores *s, const struct store_conf *conf, struct store **ret, struct err *e);
void stores_close(struct stores *s, struct store *store); /* accepts NULL; waits */

/* Deletes the index of a store; it is rebuilt, also by a running server. */
void stores_drop_index(const struct store_conf *conf);
void stores_drop_indexes(struct config *c); /* of all workspaces */

/* Work on each conversation that the operands name, or on all. Embed it in the state of the
 * command. */
struct stores_visit {
    struct cmd *x;
    const char *label; /* of the progress line */
    bool is_read_only;
    /* may call `store` and wait with cmd_wait */
    void (*one)(struct stores_visit *v, str id);
    void (*after)(const struct store_conf *conf); /* of each store, or NULL */
    /* set while it runs: */
    struct stores stores;
    struct store *store;
    str owner; /* the user that the command acts for */
    struct progress progress;
    int64_t unknown; /* operands that are not ids of conversations */
};

/* In the command's workspace, or in every workspace when none was named and there are several.
 * Returns an exit code: the worst, and a failure when there was no store at all. */
int stores_visit(struct stores_visit *v);
