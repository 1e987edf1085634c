/* change.h - bundles are added and removed while nb runs.
 *
 * The settings are changed, the running set follows, and what becomes of it is awaited. A
 * bundle that does not come up is taken out of the settings again: an installation succeeds as
 * a whole or not at all. Loop thread only; files are written on the pool. */
#pragma once

#include "bundle/bundle.h"
#include "bundle/entry/install_rules.h"
#include "workspace/deed.h"

#define BUNDLE_CHANGE_MS 60000 /* for a download and a start */

struct bundle_changer { /* borrowed by every change until bundle_changer_done */
    struct loop *loop;
    struct pool *pool;
    struct bundles *bundles;
    const char *settings_path;
    const char
        *credentials_dir; /* where secrets of new entries go; NULL = they stay in the entry */
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

/* Values of the user_config of a bundle's manifest (bundle/configure.c). With `values`, an object,
 * they are stored like those of `nb config set`, and the bundle is restarted with them; null
 * forgets a value. Secrets, directories and files are refused (-EPERM, with the command that sets
 * them), and so is every value when `rights` are those of an admin and the bundle has secrets: a
 * value such as an address could send them elsewhere. is_check: only whether that would be refused.
 * Without `values` bundle_change_text says which there are. */
struct bundle_configure {
    str server_name;
    const struct json *values; /* or NULL */
    enum install_rights rights;
    bool is_check;
};
struct bundle_change_op *bundle_configure(struct bundle_changer *c,
                                          const struct bundle_configure *spec,
                                          const struct doer *by, bundle_changed_fn fn, void *ctx);
/* What there is to say beside the result, for people; until the callback returns. */
str bundle_change_text(const struct bundle_change_op *op);

void bundle_change_cancel(struct bundle_change_op *op); /* it still happens, unheard */
/* Nobody waits for a change any more: what is being written still is, and nothing follows. */
void bundle_changer_done(struct bundle_changer *c);
