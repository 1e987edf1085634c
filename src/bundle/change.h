/* change.h - adds and removes bundles while nb runs.
 *
 * An operation changes the settings, lets the running set follow, and waits for the result. A
 * bundle that does not start is removed from the settings again: an installation succeeds
 * completely or changes nothing. Loop thread only; files are written on the pool. */
#pragma once

#include "bundle/bundle.h"
#include "bundle/entry/install_rules.h"
#include "workspace/deed.h"

#define BUNDLE_CHANGE_MS 60000 /* for a download and a start together */

struct bundle_changer { /* used by every change until bundle_changer_done */
    struct loop *loop;
    struct pool *pool;
    struct bundles *bundles;
    const char *settings_path;
    const char *credentials_dir;    /* for secrets of new entries; NULL = they stay in the entry */
    struct json_strs allow_install; /* install_rules.h */
    bool allow_insecure_remotes;    /* the setting, as struct bundles_conf has it */
    void (*look)(void *ctx);        /* the settings have been changed: apply them now */
    void *ctx;
    struct list_node ops; /* changes in progress */
    struct audit *audit;  /* audit log; NULL = none */
};

struct bundle_change_op; /* a change in progress; freed after its callback */

/* b: the bundle in its present state; NULL after a removal, and on failure. err: NULL on success.
 * -EEXIST the name is taken, -ENOENT no such bundle, -EPERM protected or built in, -EINVAL
 * the entry is wrong, -EACCES its URL is not allowed; any other code: the bundle did not start,
 * with the reason. */
typedef void (*bundle_changed_fn)(void *ctx, struct bundle *b, const struct err *err);

/* Arguments are copied. These never call back before they return. Both are recorded in the audit
 * log with their result, as done by `by`. */
struct bundle_change_op *bundle_add(struct bundle_changer *c, const struct json *entry,
                                    const struct doer *by, bundle_changed_fn fn, void *ctx);
struct bundle_change_op *bundle_remove(struct bundle_changer *c, str server_name,
                                       const struct doer *by, bundle_changed_fn fn, void *ctx);

/* Sets values of the user_config of a bundle's manifest (bundle/configure.c). With `values`, an
 * object, they are stored like those of `nb config set`, and the bundle is restarted with them;
 * null deletes a value. Secrets, directories and files are refused (-EPERM, with the command that
 * sets them), and so is every value when `rights` are those of an admin and the bundle has secrets:
 * a value such as an address could send them elsewhere. is_check: only report whether the change
 * would be refused. Without `values`, bundle_change_text lists the options. */
struct bundle_configure {
    str server_name;
    const struct json *values; /* or NULL */
    enum install_rights rights;
    bool is_check;
};
struct bundle_change_op *bundle_configure(struct bundle_changer *c,
                                          const struct bundle_configure *spec,
                                          const struct doer *by, bundle_changed_fn fn, void *ctx);
/* A text for people beside the result; valid until the callback returns. */
str bundle_change_text(const struct bundle_change_op *op);

/* the change still happens, without a callback */
void bundle_change_cancel(struct bundle_change_op *op);
/* Cancels all changes: a file that is being written is still written, but nothing follows. */
void bundle_changer_done(struct bundle_changer *c);
