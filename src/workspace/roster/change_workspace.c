#include <errno.h>
#include <unistd.h>

#include "base/bytes/random.h"
#include "base/utf8.h"
#include "os/dir.h"
#include "workspace/roster/change_impl.h"

#define SLUG_MAX     40
#define SLUG_NUMBERS 100 /* ws_sales_2 ... */

static const struct {
    const char *key;
    enum json_type type;
    const char *expected;
} SETTINGS[] = {
    {"bundles", JSON_ARRAY, "array"},    {"skillDirs", JSON_ARRAY, "array"},
    {"agents", JSON_OBJECT, "object"},   {"models", JSON_OBJECT, "object"},
    {"identity", JSON_STRING, "string"}, {"permissions", JSON_OBJECT, "object"},
};

/* ---- the file ---- */

static int write_workspace(struct edit *x, str id, struct json *doc)
{
    return edit_write(x, "workspaces", id, "workspace.json", doc, true);
}

static struct json member_json(struct arena *a, str user_id, enum ws_role role)
{
    struct json *m = json_new(a, JSON_OBJECT);
    json_set(a, m, STR("userId"), json_of_str(user_id));
    json_set(a, m, STR("role"), json_of_str(ws_role_name(role)));
    return *m;
}

/* Gives the user this role; WS_NONE removes the user. Changes the list in the file, not the one in
 * the roster: a member whose profile cannot be read at the moment stays a member. */
static int write_member(struct edit *x, const struct workspace *w, str user_id, enum ws_role role)
{
    struct json *doc = json_clone(x->arena, w->doc), *old = json_get(doc, "members");
    struct json *list = json_new(x->arena, JSON_ARRAY);
    bool is_listed = false;
    for (size_t i = 0; i < old->len; i++) {
        struct json *m = json_at(old, i);
        bool is_this = str_eq(json_get_string(m, "userId"), user_id);
        is_listed |= is_this;
        if (is_this && role == WS_NONE)
            continue;
        if (is_this)
            json_set(x->arena, m, STR("role"), json_of_str(ws_role_name(role)));
        json_push(x->arena, list, *m);
    }
    if (!is_listed && role != WS_NONE)
        json_push(x->arena, list, member_json(x->arena, user_id, role));
    json_set(x->arena, doc, STR("members"), *list);
    return write_workspace(x, w->id, doc);
}

/* "<user id>@..." and its lock, ".<user id>@...": accounts at servers where each person signs in
 * (workspace/secrets/credentials.h). */
static bool is_account_of(const char *file, str user_id)
{
    str name = str_from(file);
    if (str_starts(name, STR(".")))
        name = str_skip(name, 1);
    return str_starts(name, user_id) && str_starts(str_skip(name, user_id.n), STR("@"));
}

/* The accounts of a person at remote servers end with the membership. */
static int forget_accounts(struct edit *x, str workspace_id, str user_id)
{
    str dir = arena_printf(x->arena, "%s/workspaces/%.*s/credentials/people", x->docs->work_dir,
                           STR_ARG(workspace_id));
    struct dir d = dir_open(dir.p);
    int r = 0;
    if (d.error < 0)
        return d.error == -ENOENT ? 0 : err_errno(x->e, d.error, "cannot read", dir.p);
    while (dir_next(&d)) {
        if (is_account_of(d.name, user_id) && unlinkat(dir_fd(&d), d.name, 0) < 0 &&
            errno != ENOENT)
            r = err_errno(x->e, -errno, "cannot remove an account from", dir.p);
    }
    return r;
}

int workspace_drop_member(struct edit *x, const struct workspace *w, str user_id)
{
    int r = write_member(x, w, user_id, WS_NONE);
    return r < 0 ? r : forget_accounts(x, w->id, user_id);
}

/* ---- ids ---- */

static str slug_of(struct arena *a, str name)
{
    char text[SLUG_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < name.n && n < SLUG_MAX; i++) {
        char c = name.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_word)
            text[n++] = c;
        else if (n > 0 && text[n - 1] != '_')
            text[n++] = '_';
    }
    while (n > 0 && text[n - 1] == '_')
        n--;
    return arena_str(a, str_make(text, n));
}

static bool is_taken(struct edit *x, str id)
{
    return roster_workspace(x->roster, id) || x->docs->ops->is_taken(x->docs, "workspaces", id);
}

static str new_workspace_id(struct edit *x, str name)
{
    str slug = slug_of(x->arena, name);
    str id = arena_printf(x->arena, "ws_%.*s", STR_ARG(slug));
    for (int i = 2; slug.n > 0 && i < SLUG_NUMBERS; i++) {
        if (!is_taken(x, id))
            return id;
        id = arena_printf(x->arena, "ws_%.*s_%d", STR_ARG(slug), i);
    }
    char random[RANDOM_ID_MAX];
    random_id("ws", random);
    return arena_str(x->arena, str_from(random));
}

/* ---- settings ---- */

bool workspace_is_setting(str key)
{
    for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++)
        if (str_eq(key, str_from(SETTINGS[i].key)))
            return true;
    return false;
}

static int set_one(struct edit *x, struct json *doc, const struct json_member *m)
{
    for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++) {
        if (!str_eq(m->key, str_from(SETTINGS[i].key)))
            continue;
        if (json_is(&m->value, JSON_NULL))
            json_unset(doc, SETTINGS[i].key);
        else if (json_is(&m->value, SETTINGS[i].type))
            json_set(x->arena, doc, m->key, m->value);
        else
            return err_set(x->e, -EINVAL, "%s: expected %s", SETTINGS[i].key, SETTINGS[i].expected);
        return 0;
    }
    return err_set(x->e, -EINVAL, "'%.*s' is not a setting of a workspace",
                   STR_ARG(utf8_truncate(m->key, 80)));
}

static int set_settings(struct edit *x, struct json *doc)
{
    const struct json *s = x->change->settings;
    int r = 0;
    if (!s)
        return 0;
    if (!json_is(s, JSON_OBJECT))
        return err_set(x->e, -EINVAL, "settings: expected object");
    for (size_t i = 0; r == 0 && i < s->len; i++)
        r = set_one(x, doc, &s->members[i]);
    return r;
}

/* ---- workspaces ---- */

int edit_workspace_add(struct edit *x)
{
    const struct change *c = x->change;
    const struct user *admin = edit_user(x);
    str name;
    if (!admin)
        return -ENOENT;
    if (x->roster->nworkspaces >= ROSTER_WORKSPACES_MAX)
        return err_set(x->e, -ENOSPC, "the limit of %d workspaces is reached",
                       ROSTER_WORKSPACES_MAX);
    int r = edit_name(x, "workspace name", c->name, &name);
    if (r < 0)
        return r;
    str id = c->workspace_id.n > 0 ? c->workspace_id : new_workspace_id(x, name);
    if (!workspace_id_ok(id))
        return err_set(x->e, -EINVAL,
                       "a workspace id is ws_ and 1 to 64 of lower-case letters, digits and _");
    if (is_taken(x, id))
        return err_set(x->e, -EEXIST, "the workspace %.*s already exists", STR_ARG(id));
    struct json *doc = json_new(x->arena, JSON_OBJECT), *members = json_new(x->arena, JSON_ARRAY);
    json_push(x->arena, members, member_json(x->arena, admin->id, WS_ADMIN));
    json_set(x->arena, doc, STR("id"), json_of_str(id));
    json_set(x->arena, doc, STR("name"), json_of_str(name));
    json_set(x->arena, doc, STR("members"), *members);
    json_set(x->arena, doc, STR("bundles"), *json_new(x->arena, JSON_ARRAY));
    json_set(x->arena, doc, STR("createdAt"), json_of_str(str_from(x->now)));
    r = set_settings(x, doc);
    edit_result(x, id);
    if (r == 0 && (r = write_workspace(x, id, doc)) < 0)
        x->docs->ops->forget(x->docs, "workspaces", id, NULL);
    return r;
}

int edit_workspace_set(struct edit *x)
{
    const struct workspace *w = edit_workspace(x);
    if (!w)
        return -ENOENT;
    struct json *doc = json_clone(x->arena, w->doc);
    int r = 0;
    if (x->change->name.n > 0) {
        str name;
        r = edit_name(x, "workspace name", x->change->name, &name);
        if (r == 0)
            json_set(x->arena, doc, STR("name"), json_of_str(name));
    }
    if (r == 0)
        r = set_settings(x, doc);
    edit_result(x, w->id);
    return r < 0 ? r : write_workspace(x, w->id, doc);
}

int edit_workspace_remove(struct edit *x)
{
    const struct workspace *w = edit_workspace(x);
    if (!w)
        return -ENOENT;
    edit_result(x, w->id);
    return x->docs->ops->trash(x->docs, "workspaces", w->id, x->e);
}

/* ---- members ---- */

static int guard_last_admin(struct edit *x, const struct workspace *w, const struct user *u)
{
    if (workspace_role(w, u->id) != WS_ADMIN || workspace_admins(w) > 1)
        return 0;
    return err_set(x->e, -EPERM,
                   "%.*s is the only admin of %.*s; make another member an admin first",
                   STR_ARG(u->email), STR_ARG(w->id));
}

int edit_member_set(struct edit *x)
{
    const struct workspace *w = edit_workspace(x);
    const struct user *u = w ? edit_user(x) : NULL;
    enum ws_role role = x->change->ws_role;
    if (!u)
        return -ENOENT;
    if (role == WS_NONE)
        return err_set(x->e, -EINVAL, "the role of a member must be admin or member");
    int r = role == WS_ADMIN ? 0 : guard_last_admin(x, w, u);
    if (r < 0)
        return r;
    edit_result(x, u->id);
    return write_member(x, w, u->id, role);
}

int edit_member_remove(struct edit *x)
{
    const struct workspace *w = edit_workspace(x);
    const struct user *u = w ? edit_user(x) : NULL;
    if (!u)
        return -ENOENT;
    if (workspace_role(w, u->id) == WS_NONE)
        return err_set(x->e, -ENOENT, "%.*s is not a member of %.*s", STR_ARG(u->email),
                       STR_ARG(w->id));
    int r = guard_last_admin(x, w, u);
    edit_result(x, u->id);
    return r < 0 ? r : workspace_drop_member(x, w, u->id);
}
