/* settings.h - reads, changes and watches the bundles and other sections of a settings file.
 *
 * People edit nimblebrain.json (and workspace.json). A change is made under a lock, on the current
 * file, written to a temporary file and renamed; everything except the changed part stays as it
 * was. A missing file is created. All functions except those of the watch block: for commands and
 * pool threads. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"
#include "bundle/entry/entry.h"
#include "loop/pool.h"

/* The entries of the file's "bundles"; none when it is missing. */
int settings_load_bundles(struct arena *a, const char *path, struct bundle_entry **ret,
                          size_t *ret_n, struct err *e);

/* The whole document; -ENOENT when the file is missing. */
int settings_load(struct arena *a, const char *path, struct json **ret, struct err *e);

/* Adds an entry at the end. -EEXIST when its server name is taken, -EINVAL when it is not a valid
 * entry. */
int settings_add_bundle(const char *path, const struct json *entry, struct err *e);
/* -ENOENT when no bundle has that server name, -EPERM when it is protected. */
int settings_remove_bundle(const char *path, str server_name, struct err *e);
/* Replaces the entry. */
int settings_replace_bundle(const char *path, str server_name, const struct json *entry,
                            struct err *e);

/* Sets these members of a section, such as "permissions", and removes those that are null; its
 * other members stay. */
int settings_set_members(const char *path, const char *section, const struct json *members,
                         struct err *e);

/* Touches {workDir}/.reload, which a running server watches. */
int settings_request_reload(const char *reload_path, struct err *e);

/* ---- noticing changes ---- */

struct settings_watch;

struct settings_watch_conf { /* copied, the paths too */
    struct loop *loop;
    struct pool *pool;
    const char *path;        /* of the settings */
    const char *reload_path; /* or NULL */
    /* The file changed, or a reload was requested. err: NULL when the entries are set (valid during
     * the callback); otherwise what is wrong with the file, and the previous entries should
     * stay. */
    void (*changed)(void *ctx, const struct bundle_entry *entries, size_t n, const struct err *err);
    /* Called before `changed`, unless the file is wrong or missing (as it may be while an editor
     * saves): the whole document, valid during the callback. May be NULL. */
    void (*document)(void *ctx, const struct json *doc);
    void *ctx;
};

/* Reports changes that the kernel tells of, after 100 ms; where it cannot tell, the file's date is
 * checked once a second. The present content is not reported. */
struct settings_watch *settings_watch_new(const struct settings_watch_conf *conf);
/* checks now: this process has changed the file */
void settings_watch_look(struct settings_watch *w);
void settings_watch_free(struct settings_watch *w); /* no callback follows; accepts NULL */

/* ---- changes the list of bundles, or one member, in the text of a settings file
 * (settings_text.c) ----
 *
 * People edit these files: order, spacing and unknown keys stay as they are, byte for byte; only
 * the part to change is changed. Pure; any thread. */

enum settings_edit { SETTINGS_ADD, SETTINGS_REPLACE, SETTINGS_REMOVE };

/* `text` is a JSON object; "bundles" in it is an array, or absent for ADD. `at` is the index of the
 * entry (not for ADD), `entry` its new content (not for REMOVE). -EINVAL when the text is not such
 * a document, -ENOENT when the index does not exist. */
int settings_text_edit(struct arena *a, str text, enum settings_edit what, size_t at,
                       const struct json *entry, str *ret, struct err *e);

/* Sets the member `key` of the document, in its place or at the end. */
int settings_text_set(struct arena *a, str text, const char *key, const struct json *value,
                      str *ret, struct err *e);
