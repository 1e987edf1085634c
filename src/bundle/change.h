/* change.h - bundles are added and removed while nb runs.
 *
 * The settings are changed, the running set follows, and what becomes of it is awaited. A
 * bundle that does not come up is taken out of the settings again: an installation succeeds as
 * a whole or not at all. Loop thread only; files are written on the pool. */
#pragma once

#include "bundle/bundle.h"
#include "workspace/deed.h"

#define BUNDLE_CHANGE_MS 60000 /* for a download and a start */

struct bundle_changer { /* borrowed by every change until bundle_changer_done */
    struct loop *loop;
    struct pool *pool;
    struct bundles *bundles;
    const char *settings_path;
    const char *credentials_dir; /* where secrets of new entries go; NULL = they stay in the entry */
    struct json_strs allow_install; /* install_rules.h */
    void (*look)(void *ctx);        /* the settings have been changed: follow them now */
    void *ctx;
    struct list_node ops; /* changes under way */
    struct audit *audit;  /* where they are recorded; NULL = nowhere */
};

struct bundle_change_op; /* one under way; dies with its callback */

/* b: the bundle as it runs now; NULL once it was removed, and on failure. err: NULL on success.
 * -EEXIST the name is taken, -ENOENT there is none, -EPERM protected or built in, -EINVAL no
 * entry, anything else: it did not start, and why. */
typedef void (*bundle_changed_fn)(void *ctx, struct bundle *b, const struct err *err);

/* Everything is copied. Never call back before they return. Both are recorded with their result
 * in the audit log, as done by `by`. */
struct bundle_change_op *bundle_add(struct bundle_changer *c, const struct json *entry,
                                    const struct doer *by, bundle_changed_fn fn, void *ctx);
struct bundle_change_op *bundle_remove(struct bundle_changer *c, str server_name,
                                       const struct doer *by, bundle_changed_fn fn, void *ctx);
void bundle_change_cancel(struct bundle_change_op *op); /* it still happens, unheard */
/* Nobody waits for a change any more: what is being written still is, and nothing follows. */
void bundle_changer_done(struct bundle_changer *c);
