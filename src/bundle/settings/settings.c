#include "bundle/settings/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "config/config.h"
#include "config/relaxed.h"
#include "os/file.h"
#include "os/lock.h"
#include "workspace/roster/roster_lock.h"

#define NEW_FILE      "{\n  \"version\": \"1\",\n  \"bundles\": []\n}\n"
#define NEW_FILE_MODE 0600 /* entries may hold tokens */

/* ---- the file, locked ---- */

struct file {
    struct arena arena;
    const char *path; /* symbolic links followed: the link stays, its target changes */
    const char *dir;
    int lock;                  /* of the directory */
    struct roster_lock roster; /* of all workspaces, if this is the file of one */
    unsigned mode;
    str text;
    struct bundle_entry *entries;
    size_t n;
};

static const char *dir_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_cstr(a, str_make(path, (size_t)(slash - path)));
}

static const char *follow_link(struct arena *a, const char *path)
{
    char real[PATH_MAX];
    return arena_cstr(a, str_from(realpath(path, real) ? real : path));
}

static int read_text(struct arena *a, const char *path, str *ret, bool *ret_has_comments,
                     struct err *e)
{
    *ret_has_comments = false;
    int r = file_read(a, path, CONFIG_BYTES_MAX, ret, e);
    if (r == 0)
        *ret = relaxed_json(a, *ret, ret_has_comments);
    if (r == -ENOENT) {
        err_clear(e);
        *ret = STR(NEW_FILE);
        return 0;
    }
    return r;
}

static int parse_text(struct arena *a, const char *path, str text, struct json **ret, struct err *e)
{
    int r = json_parse(a, text, JSON_COPY | JSON_UNIQUE, ret, e);
    if (r == 0 && !json_is(*ret, JSON_OBJECT))
        r = err_set(e, -EINVAL, "expected an object");
    if (r < 0)
        err_prefix(e, "%s", path);
    return r;
}

static int decode_text(struct arena *a, const char *path, str text, struct bundle_entry **ret,
                       size_t *ret_n, struct err *e)
{
    struct json *root;
    int r = parse_text(a, path, text, &root, e);
    if (r < 0)
        return r;
    r = bundle_entries_decode(a, json_get(root, "bundles"), dir_of(a, path), ret, ret_n, e);
    if (r < 0)
        err_prefix(e, "%s", path);
    return r;
}

/* {workDir}/workspaces/<id>/workspace.json also holds its name and its members, which are changed
 * under a lock of their own. */
static int lock_roster(struct file *f, struct err *e)
{
    enum { LEVELS = 3 };
    str dir = str_from(f->path);
    if (!str_ends(dir, STR("/workspace.json")))
        return 0;
    for (int i = 0; i < LEVELS && dir.n > 0; i++)
        dir = str_slice(dir, 0, (size_t)str_rfind_char(dir, '/'));
    return roster_lock_take(&f->roster, arena_cstr(&f->arena, dir), true, e);
}

static int open_locked(struct file *f, const char *path, struct err *e)
{
    struct stat st;
    bool has_comments = false;
    *f = (struct file){.lock = -1, .roster = {-1}};
    arena_init(&f->arena);
    f->path = follow_link(&f->arena, path);
    f->dir = dir_of(&f->arena, f->path);
    int r = file_make_dirs(f->dir, e);
    if (r == 0)
        r = lock_roster(f, e);
    if (r == 0)
        r = dir_lock_settings(f->dir, &f->lock, e);
    if (r == 0)
        r = read_text(&f->arena, f->path, &f->text, &has_comments, e);
    if (r == 0 && has_comments)
        r = err_set(
            e, -EINVAL,
            "%s has comments or trailing commas, which nb would lose: change it by hand, or "
            "remove them first",
            f->path);
    if (r == 0)
        r = decode_text(&f->arena, f->path, f->text, &f->entries, &f->n, e);
    f->mode = stat(f->path, &st) == 0 ? st.st_mode & 0777 : NEW_FILE_MODE;
    return r;
}

static void close_locked(struct file *f)
{
    lock_close(f->lock);
    if (f->roster.fd >= 0)
        roster_lock_drop(&f->roster);
    arena_done(&f->arena);
}

static int find_bundle(const struct file *f, str server_name, size_t *ret, struct err *e)
{
    for (size_t i = 0; i < f->n; i++) {
        if (str_eq(f->entries[i].server_name, server_name)) {
            *ret = i;
            return 0;
        }
    }
    return err_set(e, -ENOENT, "%s has no bundle '%.*s'", f->path, STR_ARG(server_name));
}

static int settings_write_text(struct file *f, str text, struct err *e)
{
    int r = file_write_atomic(f->path, text, f->mode, e);
    return r == 0 && f->roster.fd >= 0 ? roster_lock_set_mark(&f->roster, e) : r;
}

static int settings_change(struct file *f, enum settings_edit what, size_t at,
                           const struct json *entry, struct err *e)
{
    str text;
    int r = settings_text_edit(&f->arena, f->text, what, at, entry, &text, e);
    if (r < 0) {
        err_prefix(e, "%s", f->path);
        return r;
    }
    return settings_write_text(f, text, e);
}

/* ---- reading and changing ---- */

int settings_load_bundles(struct arena *a, const char *path, struct bundle_entry **ret,
                          size_t *ret_n, struct err *e)
{
    str text;
    bool has_comments;
    const char *real = follow_link(a, path);
    int r = read_text(a, real, &text, &has_comments, e);
    return r < 0 ? r : decode_text(a, real, text, ret, ret_n, e);
}

/* Checks that the list with `entry` in it can be read back. `but`: the index that it replaces. */
static int settings_check_entry(struct file *f, const struct json *entry, size_t but, struct err *e)
{
    struct bundle_entry decoded;
    int r = bundle_entry_decode(&f->arena, entry, f->dir, &decoded, e);
    if (r < 0)
        return r;
    if (but == f->n && f->n >= BUNDLES_MAX)
        return err_set(e, -ENOSPC, "there are %d bundles already, which is the limit", BUNDLES_MAX);
    for (size_t i = 0; i < f->n; i++)
        if (i != but && str_eq(f->entries[i].server_name, decoded.server_name))
            return err_set(e, -EEXIST,
                           "there is a bundle '%.*s' already; give the new one another serverName",
                           STR_ARG(decoded.server_name));
    return 0;
}

int settings_load(struct arena *a, const char *path, struct json **ret, struct err *e)
{
    str text;
    int r = file_read(a, path, CONFIG_BYTES_MAX, &text, e);
    return r < 0 ? r : parse_text(a, path, relaxed_json(a, text, NULL), ret, e);
}

/* server_name: not for ADD; entry: not for REMOVE. */
static int edit_bundle(const char *path, enum settings_edit what, str server_name,
                       const struct json *entry, struct err *e)
{
    struct file f;
    int r = open_locked(&f, path, e);
    size_t at = f.n;
    if (r == 0 && what != SETTINGS_ADD)
        r = find_bundle(&f, server_name, &at, e);
    if (r == 0 && what == SETTINGS_REMOVE && f.entries[at].is_protected)
        r = err_set(e, -EPERM, "the bundle '%.*s' is protected; change that in %s first",
                    STR_ARG(server_name), f.path);
    if (r == 0 && entry)
        r = settings_check_entry(&f, entry, at, e);
    if (r == 0)
        r = settings_change(&f, what, at, entry, e);
    close_locked(&f);
    return r;
}

int settings_add_bundle(const char *path, const struct json *entry, struct err *e)
{
    return edit_bundle(path, SETTINGS_ADD, STR_NONE, entry, e);
}

int settings_remove_bundle(const char *path, str server_name, struct err *e)
{
    return edit_bundle(path, SETTINGS_REMOVE, server_name, NULL, e);
}

int settings_replace_bundle(const char *path, str server_name, const struct json *entry,
                            struct err *e)
{
    return edit_bundle(path, SETTINGS_REPLACE, server_name, entry, e);
}

static int merge_members(struct file *f, const char *key, const struct json *members, str *ret,
                         struct err *e)
{
    struct json *root;
    int r = json_parse(&f->arena, f->text, JSON_COPY | JSON_UNIQUE, &root, e);
    if (r < 0)
        return r;
    struct json *section = json_get(root, key);
    if (!json_is(section, JSON_OBJECT))
        section = json_new(&f->arena, JSON_OBJECT);
    for (size_t i = 0; i < members->len; i++) {
        const struct json_member *one = &members->members[i];
        if (one->value.type == JSON_NULL)
            json_unset(section, arena_cstr(&f->arena, one->key));
        else
            json_set(&f->arena, section, one->key, one->value);
    }
    return settings_text_set(&f->arena, f->text, key, section, ret, e);
}

int settings_set_members(const char *path, const char *section, const struct json *members,
                         struct err *e)
{
    struct file f;
    str text;
    int r = open_locked(&f, path, e);
    if (r == 0 && (r = merge_members(&f, section, members, &text, e)) < 0)
        err_prefix(e, "%s", f.path);
    if (r == 0)
        r = settings_write_text(&f, text, e);
    close_locked(&f);
    return r;
}

int settings_request_reload(const char *reload_path, struct err *e)
{
    char now[CLOCK_ISO_LEN + 2];
    clock_iso(clock_now_ms(), now);
    now[CLOCK_ISO_LEN] = '\n';
    return file_write_atomic(reload_path, str_make(now, CLOCK_ISO_LEN + 1), 0600, e);
}
