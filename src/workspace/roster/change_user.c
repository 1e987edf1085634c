#include <errno.h>

#include "base/bytes/random.h"
#include "base/utf8.h"
#include "workspace/roster/change_impl.h"
#include "workspace/roster/roster_impl.h"

#define EMAIL_MAX            254
#define TOOL_GLOB_MAX        128
#define PREFERENCES_MAX      (16u * 1024)
#define PREFERENCES_KEYS_MAX 256u

/* ---- values ---- */

static int check_email(struct edit *x, str email)
{
    ptrdiff_t at = str_find_char(email, '@');
    bool is_ok = at > 0 && (size_t)at + 1 < email.n && email.n <= EMAIL_MAX && utf8_valid(email) &&
                 str_rfind_char(email, '@') == at;
    for (size_t i = 0; is_ok && i < email.n; i++)
        is_ok = (unsigned char)email.p[i] > 0x20 && email.p[i] != 0x7f && email.p[i] != ',';
    if (!is_ok)
        return err_set(x->e, -EINVAL, "'%.*s' is not an e-mail address",
                       STR_ARG(utf8_truncate(email, 100)));
    const struct user *other = roster_user_by_email(x->roster, email);
    if (other && !str_eq(other->id, x->change->user_id))
        return err_set(x->e, -EEXIST, "%.*s is the e-mail address of another user", STR_ARG(email));
    return 0;
}

static void set_str(struct edit *x, struct json *doc, const char *key, str value)
{
    json_set(x->arena, doc, str_from(key), json_of_str(value));
}

static int set_email(struct edit *x, struct json *doc, str email)
{
    int r = check_email(x, email);
    if (r == 0)
        set_str(x, doc, "email", email_fold(x->arena, email));
    return r;
}

static int set_display_name(struct edit *x, struct json *doc, str name)
{
    int r = edit_name(x, "display name", name, &name);
    if (r == 0)
        set_str(x, doc, "displayName", name);
    return r;
}

static void set_binding(struct edit *x, struct json *doc, str issuer, str subject)
{
    struct json *identity = json_new(x->arena, JSON_OBJECT);
    set_str(x, identity, "issuer", issuer);
    set_str(x, identity, "subject", subject);
    json_set(x->arena, doc, STR("identity"), *identity);
}

static int check_changes(struct edit *x, const struct json *changes)
{
    if (!json_is(changes, JSON_OBJECT))
        return err_set(x->e, -EINVAL, "preferences: expected object");
    if (changes->len > PREFERENCES_KEYS_MAX)
        return err_set(x->e, -EINVAL, "preferences: more than %u keys", PREFERENCES_KEYS_MAX);
    if (json_to_str(x->arena, changes).n > PREFERENCES_MAX)
        return err_set(x->e, -EINVAL, "preferences: more than %u bytes", PREFERENCES_MAX);
    return 0;
}

static void append_member(struct json *to, const struct json_member *m, const struct json *value)
{
    if (!json_is(value, JSON_NULL))
        to->members[to->len++] = (struct json_member){m->key, *value};
}

/* The old members in their order, with the new values; then the new keys. Linear. */
static struct json *merged(struct arena *a, const struct json *old, const struct json *changes)
{
    struct map by_key;
    struct json *all = json_new(a, JSON_OBJECT);
    uint32_t n = json_is(old, JSON_OBJECT) ? old->len : 0;
    all->members = arena_array(a, (size_t)n + changes->len + 1, sizeof *all->members);
    map_init(&by_key);
    for (uint32_t i = 0; i < changes->len; i++)
        map_put(&by_key, changes->members[i].key, &changes->members[i].value);
    for (uint32_t i = 0; i < n; i++) {
        struct json *value = map_del(&by_key, old->members[i].key);
        append_member(all, &old->members[i], value ? value : &old->members[i].value);
    }
    for (uint32_t i = 0; i < changes->len; i++)
        if (map_del(&by_key, changes->members[i].key))
            append_member(all, &changes->members[i], &changes->members[i].value);
    map_done(&by_key);
    return all;
}

/* Checks the limits first: the directory has one thread, and removals wait for it. */
static int merge_preferences(struct edit *x, struct json *doc, const struct json *changes)
{
    int r = check_changes(x, changes);
    if (r < 0)
        return r;
    struct json *all = merged(x->arena, json_get(doc, "preferences"), changes);
    r = check_changes(x, all);
    if (r == 0)
        json_set(x->arena, doc, STR("preferences"), *all);
    return r;
}

/* ---- profiles ---- */

static struct json *profile_of(struct edit *x, const struct user *u)
{
    struct json *doc = json_clone(x->arena, u->profile);
    if (!json_get(doc, "id")) { /* the sole user, never written so far */
        set_str(x, doc, "id", u->id);
        set_str(x, doc, "email", u->email);
        set_str(x, doc, "displayName", u->display_name);
        set_str(x, doc, "orgRole", org_role_name(u->role));
        set_str(x, doc, "createdAt", str_from(x->now));
    }
    return doc;
}

static int write_credentials(struct edit *x, str user_id, struct json *doc)
{
    return edit_write(x, "users", user_id, "credentials.json", doc, false);
}

static struct json *credentials_of(struct edit *x, const struct user *u)
{
    return u->credentials ? json_clone(x->arena, u->credentials) : json_new(x->arena, JSON_OBJECT);
}

static str new_user_id(struct edit *x)
{
    char id[RANDOM_ID_MAX];
    random_id("usr", id);
    return arena_str(x->arena, str_from(id));
}

/* Credentials are written first: a user exists once the profile exists. */
static int write_new_user(struct edit *x, str id, struct json *profile)
{
    int r = 0;
    if (x->change->password.n > 0) {
        struct json *doc = json_new(x->arena, JSON_OBJECT);
        set_str(x, doc, "password", x->change->password);
        r = write_credentials(x, id, doc);
    }
    if (r == 0)
        r = edit_write(x, "users", id, "profile.json", profile, true);
    if (r == 0)
        edit_result(x, id);
    else if (x->change->user_id.n == 0) /* an id that was given may have a directory already */
        x->docs->ops->forget(x->docs, "users", id, "credentials.json");
    return r;
}

int edit_user_add(struct edit *x)
{
    const struct change *c = x->change;
    str id = c->user_id.n > 0 ? c->user_id : new_user_id(x);
    if (!user_id_ok(id))
        return err_set(x->e, -EINVAL, "'%.*s' is not a user id", STR_ARG(utf8_truncate(id, 80)));
    if (roster_user(x->roster, id))
        return err_set(x->e, -EEXIST, "the user %.*s already exists", STR_ARG(id));
    if (x->roster->nusers >= ROSTER_USERS_MAX)
        return err_set(x->e, -ENOSPC, "the limit of %d users is reached", ROSTER_USERS_MAX);
    struct json *doc = json_new(x->arena, JSON_OBJECT);
    set_str(x, doc, "id", id);
    int r = set_email(x, doc, c->email);
    str name = c->display_name;
    if (name.n == 0)
        name = str_slice(c->email, 0, (size_t)str_find_char(c->email, '@'));
    if (r == 0)
        r = set_display_name(x, doc, name);
    if (r < 0)
        return r;
    set_str(x, doc, "orgRole", org_role_name(c->role));
    json_set(x->arena, doc, STR("preferences"), *json_new(x->arena, JSON_OBJECT));
    if (c->subject.n > 0)
        set_binding(x, doc, c->issuer, c->subject);
    set_str(x, doc, "createdAt", str_from(x->now));
    return write_new_user(x, id, doc);
}

static int guard_last_owner(struct edit *x, const struct user *u)
{
    if (u->role != ORG_OWNER || roster_owners(x->roster) > 1)
        return 0;
    return err_set(x->e, -EPERM, "%.*s is the only owner; make another user an owner first",
                   STR_ARG(u->email));
}

int edit_user_set(struct edit *x)
{
    const struct change *c = x->change;
    const struct user *u = edit_user(x);
    if (!u)
        return -ENOENT;
    struct json *doc = profile_of(x, u);
    int r = 0;
    if (c->email.n > 0)
        r = set_email(x, doc, c->email);
    if (r == 0 && c->display_name.n > 0)
        r = set_display_name(x, doc, c->display_name);
    if (r == 0 && c->has_role && c->role != u->role) {
        r = guard_last_owner(x, u);
        set_str(x, doc, "orgRole", org_role_name(c->role));
    }
    if (r == 0 && c->preferences)
        r = merge_preferences(x, doc, c->preferences);
    if (r == 0)
        r = edit_write(x, "users", u->id, "profile.json", doc, true);
    if (r == 0)
        edit_result(x, u->id);
    return r;
}

int edit_user_bind(struct edit *x)
{
    const struct change *c = x->change;
    const struct user *u = edit_user(x);
    if (!u)
        return -ENOENT;
    const struct user *other = roster_user_by_subject(x->roster, c->issuer, c->subject);
    if ((other && other != u) || u->subject.n > 0)
        return err_set(x->e, -EEXIST, "that identity or that user is already bound");
    struct json *doc = profile_of(x, u);
    set_binding(x, doc, c->issuer, c->subject);
    edit_result(x, u->id);
    return edit_write(x, "users", u->id, "profile.json", doc, true);
}

/* Sessions that began in this millisecond end as well. */
static void end_sessions(struct edit *x, struct json *credentials)
{
    json_set(x->arena, credentials, STR("sessionsFrom"), json_of_int(x->now_ms + 1));
}

int edit_user_password(struct edit *x)
{
    const struct user *u = edit_user(x);
    if (!u)
        return -ENOENT;
    struct json *doc = credentials_of(x, u);
    set_str(x, doc, "password", x->change->password);
    end_sessions(x, doc);
    edit_result(x, u->id);
    return write_credentials(x, u->id, doc);
}

int edit_user_sign_out(struct edit *x)
{
    const struct user *u = edit_user(x);
    if (!u)
        return -ENOENT;
    struct json *doc = credentials_of(x, u);
    end_sessions(x, doc);
    edit_result(x, u->id);
    return write_credentials(x, u->id, doc);
}

/* ---- removal ---- */

static int guard_workspaces(struct edit *x, const struct user *u)
{
    for (size_t i = 0; i < x->roster->nworkspaces; i++) {
        const struct workspace *w = &x->roster->workspaces[i];
        if (workspace_role(w, u->id) == WS_NONE)
            continue;
        if (w->nmembers == 1 && !x->change->is_cascade)
            return err_set(
                x->e, -EPERM,
                "%.*s is the only member of %.*s; add another member or delete the workspace first",
                STR_ARG(u->email), STR_ARG(w->id));
        if (w->nmembers > 1 && workspace_role(w, u->id) == WS_ADMIN && workspace_admins(w) == 1)
            return err_set(x->e, -EPERM,
                           "%.*s is the only admin of %.*s; make another member an admin first",
                           STR_ARG(u->email), STR_ARG(w->id));
    }
    return 0;
}

/* Memberships are removed first: an interruption leaves a user with fewer rights, not with more. */
static int leave_workspaces(struct edit *x, const struct user *u)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < x->roster->nworkspaces; i++) {
        const struct workspace *w = &x->roster->workspaces[i];
        if (workspace_role(w, u->id) == WS_NONE)
            continue;
        r = w->nmembers == 1 ? x->docs->ops->trash(x->docs, "workspaces", w->id, x->e)
                             : workspace_drop_member(x, w, u->id);
    }
    return r;
}

int edit_user_remove(struct edit *x)
{
    const struct user *u = edit_user(x);
    if (!u)
        return -ENOENT;
    int r = guard_last_owner(x, u);
    if (r == 0)
        r = guard_workspaces(x, u);
    if (r == 0)
        r = leave_workspaces(x, u);
    if (r < 0)
        return r;
    r = x->docs->ops->remove(x->docs, "users", u->id, "credentials.json", x->e);
    if (r < 0)
        return r;
    edit_result(x, u->id);
    return x->docs->ops->trash(x->docs, "users", u->id, x->e);
}

/* ---- tokens ---- */

static struct json strings(struct arena *a, struct json_strs in)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < in.len; i++)
        json_push(a, list, json_of_str(in.items[i]));
    return *list;
}

static struct json *token_doc(struct edit *x, str id, str name)
{
    const struct user_token *t = &x->change->token;
    struct json *doc = json_new(x->arena, JSON_OBJECT);
    set_str(x, doc, "id", id);
    set_str(x, doc, "name", name);
    set_str(x, doc, "hash", t->hash);
    json_set(x->arena, doc, STR("scopes"), strings(x->arena, t->scopes));
    if (t->tools.len > 0)
        json_set(x->arena, doc, STR("tools"), strings(x->arena, t->tools));
    if (t->workspace_id.n > 0)
        set_str(x, doc, "workspaceId", t->workspace_id);
    set_str(x, doc, "createdAt", str_from(x->now));
    if (t->expires_ms > 0) {
        char iso[CLOCK_ISO_LEN + 1];
        clock_iso(t->expires_ms, iso);
        set_str(x, doc, "expiresAt", arena_str(x->arena, str_from(iso)));
    }
    return doc;
}

static int check_token_workspace(struct edit *x, const struct user *u)
{
    str id = x->change->token.workspace_id;
    if (id.n == 0)
        return 0;
    const struct workspace *w = roster_workspace(x->roster, id);
    if (!w || workspace_role(w, u->id) == WS_NONE)
        return err_set(x->e, -ENOENT, "%.*s is not a member of a workspace %.*s", STR_ARG(u->email),
                       STR_ARG(id));
    return 0;
}

/* A glob that no tool name can match would silently make a token that may call nothing. */
static int check_token_tools(struct edit *x)
{
    const struct json_strs *tools = &x->change->token.tools;
    for (size_t i = 0; i < tools->len; i++) {
        str glob = tools->items[i];
        bool is_ok = glob.n > 0 && glob.n <= TOOL_GLOB_MAX;
        for (size_t k = 0; is_ok && k < glob.n; k++) {
            char c = glob.p[k], lower = (char)(c | 0x20);
            is_ok = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                    c == '-' || c == '*';
        }
        if (!is_ok)
            return err_set(x->e, -EINVAL,
                           "tools: '%.*s' matches no tool; use letters, digits, _ and - of a tool "
                           "name, and * for any characters",
                           STR_ARG(utf8_truncate(glob, 80)));
    }
    return 0;
}

int edit_token_add(struct edit *x)
{
    const struct user *u = edit_user(x);
    str name;
    char id[RANDOM_ID_MAX];
    if (!u)
        return -ENOENT;
    if (u->ntokens >= ROSTER_TOKENS_MAX)
        return err_set(x->e, -ENOSPC, "%.*s has reached the limit of %d tokens; revoke some first",
                       STR_ARG(u->email), ROSTER_TOKENS_MAX);
    int r = edit_name(x, "token name", x->change->token.name, &name);
    if (r == 0)
        r = check_token_workspace(x, u);
    if (r == 0)
        r = check_token_tools(x);
    if (r < 0)
        return r;
    random_id("tok", id);
    struct json *doc = credentials_of(x, u), *list = json_get(doc, "tokens");
    if (!json_is(list, JSON_ARRAY))
        list = json_set(x->arena, doc, STR("tokens"), *json_new(x->arena, JSON_ARRAY));
    json_push(x->arena, list, *token_doc(x, str_from(id), name));
    r = write_credentials(x, u->id, doc);
    if (r == 0 && !json_get(u->profile, "id")) /* credentials without a profile are not a user */
        r = edit_write(x, "users", u->id, "profile.json", profile_of(x, u), true);
    edit_result(x, str_from(id));
    return r;
}

int edit_token_revoke(struct edit *x)
{
    const struct user *u = edit_user(x);
    if (!u)
        return -ENOENT;
    struct json *doc = credentials_of(x, u), *old = json_get(doc, "tokens");
    struct json *kept = json_new(x->arena, JSON_ARRAY);
    for (size_t i = 0; old && i < old->len; i++)
        if (!str_eq(json_get_string(json_at(old, i), "id"), x->change->token.id))
            json_push(x->arena, kept, *json_at(old, i));
    if (!old || kept->len == old->len)
        return err_set(x->e, -ENOENT, "%.*s has no token %.*s", STR_ARG(u->email),
                       STR_ARG(x->change->token.id));
    json_set(x->arena, doc, STR("tokens"), *kept);
    edit_result(x, x->change->token.id);
    return write_credentials(x, u->id, doc);
}
