#include <errno.h>

#include "base/clock.h"
#include "workspace/roster/roster_impl.h"

struct profile_in {
    str id, email, display_name, role, created_at, updated_at;
    const struct json *preferences;
    struct {
        str issuer, subject;
    } identity;
};

#define AT(type, member) offsetof(struct type, member)

static const struct json_field IDENTITY_FIELDS[] = {
    {"issuer", JF_STR, 0, JF_REQUIRED, NULL, 0},
    {"subject", JF_STR, sizeof(str), JF_REQUIRED, NULL, 0},
    {0}};

static const struct json_field PROFILE_FIELDS[] = {
    {"id", JF_STR, AT(profile_in, id), JF_REQUIRED, NULL, 0},
    {"email", JF_STR, AT(profile_in, email), JF_NULLABLE, NULL, 0},
    {"displayName", JF_STR, AT(profile_in, display_name), JF_NULLABLE, NULL, 0},
    {"orgRole", JF_STR, AT(profile_in, role), 0, NULL, 0},
    {"createdAt", JF_STR, AT(profile_in, created_at), 0, NULL, 0},
    {"updatedAt", JF_STR, AT(profile_in, updated_at), 0, NULL, 0},
    {"preferences", JF_JSON_OBJECT, AT(profile_in, preferences), JF_NULLABLE, NULL, 0},
    {"identity", JF_OBJECT, AT(profile_in, identity), JF_NULLABLE, IDENTITY_FIELDS, 0},
    {0}};

struct token_in {
    str id, name, hash, workspace_id, created_at, expires_at;
    struct json_strs scopes, tools;
};

static const struct json_field TOKEN_FIELDS[] = {
    {"id", JF_STR, AT(token_in, id), JF_REQUIRED, NULL, 0},
    {"name", JF_STR, AT(token_in, name), 0, NULL, 0},
    {"hash", JF_STR, AT(token_in, hash), JF_REQUIRED, NULL, 0},
    {"scopes", JF_STRS, AT(token_in, scopes), JF_REQUIRED, NULL, 0},
    {"tools", JF_STRS, AT(token_in, tools), 0, NULL, 0},
    {"workspaceId", JF_STR, AT(token_in, workspace_id), JF_NULLABLE, NULL, 0},
    {"createdAt", JF_STR, AT(token_in, created_at), 0, NULL, 0},
    {"expiresAt", JF_STR, AT(token_in, expires_at), JF_NULLABLE, NULL, 0},
    {0}};

struct credentials_in {
    str password;
    int64_t sessions_from;
    struct json_structs tokens;
};

static const struct json_field CREDENTIALS_FIELDS[] = {
    {"password", JF_STR, AT(credentials_in, password), JF_NULLABLE, NULL, 0},
    {"sessionsFrom", JF_INT, AT(credentials_in, sessions_from), 0, NULL, 0},
    {"tokens", JF_OBJECTS, AT(credentials_in, tokens), 0, TOKEN_FIELDS, sizeof(struct token_in)},
    {0}};

struct member_in {
    str user_id, role;
};

static const struct json_field MEMBER_FIELDS[] = {
    {"userId", JF_STR, AT(member_in, user_id), JF_REQUIRED, NULL, 0},
    {"role", JF_STR, AT(member_in, role), JF_REQUIRED, NULL, 0},
    {0}};

struct workspace_in {
    str id, name, created_at, updated_at;
    struct json_structs members;
    const struct json *bundles, *skill_dirs, *agents, *models, *identity, *permissions;
};

static const struct json_field WORKSPACE_FIELDS[] = {
    {"id", JF_STR, AT(workspace_in, id), JF_REQUIRED, NULL, 0},
    {"name", JF_STR, AT(workspace_in, name), JF_REQUIRED, NULL, 0},
    {"members", JF_OBJECTS, AT(workspace_in, members), JF_REQUIRED, MEMBER_FIELDS,
     sizeof(struct member_in)},
    {"createdAt", JF_STR, AT(workspace_in, created_at), 0, NULL, 0},
    {"updatedAt", JF_STR, AT(workspace_in, updated_at), 0, NULL, 0},
    {"bundles", JF_JSON, AT(workspace_in, bundles), JF_NULLABLE, NULL, 0},
    {"skillDirs", JF_JSON, AT(workspace_in, skill_dirs), JF_NULLABLE, NULL, 0},
    {"agents", JF_JSON, AT(workspace_in, agents), JF_NULLABLE, NULL, 0},
    {"models", JF_JSON, AT(workspace_in, models), JF_NULLABLE, NULL, 0},
    {"identity", JF_JSON, AT(workspace_in, identity), JF_NULLABLE, NULL, 0},
    {"permissions", JF_JSON, AT(workspace_in, permissions), JF_NULLABLE, NULL, 0},
    {0}};

struct roster_place { /* of documents */
    struct roster_docs *docs;
    const char *kind;
    str id;
    const char *dir; /* for messages, and the data of a workspace */
};

static struct roster_place roster_place_of(struct arena *a, struct roster_docs *d, const char *kind,
                                           str id)
{
    return (struct roster_place){d, kind, id,
                                 arena_printf(a, "%s/%s/%.*s", d->work_dir, kind, STR_ARG(id)).p};
}

/* A document that must be an object, and its fields. The message names it. */
static int roster_read_doc(struct arena *a, const struct roster_place *p, const char *name,
                           const struct json_field *fields, void *ret, const struct json **ret_doc,
                           struct err *e)
{
    str text;
    int r = p->docs->ops->read(p->docs, a, p->kind, p->id, name, &text, e);
    if (r < 0)
        return r;
    struct json *doc;
    r = json_parse(a, text, JSON_UNIQUE, &doc, e);
    if (r == 0)
        r = json_decode(a, doc, fields, ret, "", NULL, NULL, e);
    if (r < 0) {
        err_prefix(e, "%s/%s", p->dir, name);
        return r;
    }
    *ret_doc = doc;
    return 0;
}

static int64_t time_from_iso(str iso)
{
    int64_t ms = 0;
    (void)clock_parse_iso(iso, &ms);
    return ms;
}

static bool is_hash(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    return s.n == 64;
}

/* A token whose expiry cannot be read is refused, because it would never expire. */
static int read_token(const struct token_in *in, const struct user *u, struct user_token *ret,
                      struct err *e)
{
    *ret = (struct user_token){.user = u,
                               .id = in->id,
                               .name = in->name,
                               .hash = in->hash,
                               .scopes = in->scopes,
                               .tools = in->tools,
                               .workspace_id = in->workspace_id,
                               .created_ms = time_from_iso(in->created_at)};
    if (in->expires_at.n > 0 && clock_parse_iso(in->expires_at, &ret->expires_ms) < 0)
        return err_set(e, -EINVAL, "token %.*s: expiresAt is not a time", STR_ARG(in->id));
    if (!is_hash(in->hash))
        return err_set(e, -EINVAL, "token %.*s: hash is not a SHA-256 in hex", STR_ARG(in->id));
    return 0;
}

static int read_credentials(struct arena *a, const struct roster_place *p, struct user *u,
                            struct err *e)
{
    struct credentials_in in = {0};
    const char *dir = p->dir;
    int r = roster_read_doc(a, p, "credentials.json", CREDENTIALS_FIELDS, &in, &u->credentials, e);
    if (r == -ENOENT)
        return 0;
    if (r == 0 && in.tokens.len > ROSTER_TOKENS_MAX)
        r = err_set(e, -EFBIG, "%s/credentials.json: more than %d tokens", dir, ROSTER_TOKENS_MAX);
    if (r < 0)
        return r;
    u->password = in.password;
    u->sessions_from_ms = in.sessions_from;
    u->tokens = arena_array(a, in.tokens.len, sizeof *u->tokens);
    u->ntokens = in.tokens.len;
    const struct token_in *tokens = in.tokens.items;
    for (size_t i = 0; r == 0 && i < in.tokens.len; i++)
        r = read_token(&tokens[i], u, &u->tokens[i], e);
    if (r < 0)
        err_prefix(e, "%s/credentials.json", dir);
    return r;
}

str email_fold(struct arena *a, str s)
{
    char *p = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] | 0x20);
    return str_make(p, s.n);
}

int user_read(struct arena *a, struct roster_docs *d, str id, struct user *ret, struct err *e)
{
    struct profile_in in = {0};
    struct user u = {0};
    const struct roster_place p = roster_place_of(a, d, "users", id);
    const char *dir = p.dir;
    int r = roster_read_doc(a, &p, "profile.json", PROFILE_FIELDS, &in, &u.profile, e);
    if (r < 0)
        return r;
    if (!str_eq(in.id, id))
        return err_set(e, -EINVAL, "%s/profile.json: its id is not the directory's name", dir);
    if (in.role.n > 0 && org_role_parse(in.role, &u.role) < 0)
        return err_set(e, -EINVAL, "%s/profile.json: orgRole: expected owner, admin or member",
                       dir);
    u.id = in.id;
    u.email = email_fold(a, in.email);
    u.display_name = in.display_name;
    u.issuer = in.identity.issuer;
    u.subject = in.identity.subject;
    u.created_ms = time_from_iso(in.created_at);
    u.updated_ms = time_from_iso(in.updated_at);
    u.preferences = in.preferences ? in.preferences : json_new(a, JSON_OBJECT);
    *ret = u; /* before the tokens, which point to it */
    return read_credentials(a, &p, ret, e);
}

static int read_members(struct arena *a, const struct workspace_in *in, const struct roster *r,
                        struct workspace *w, struct err *e)
{
    const struct member_in *list = in->members.items;
    w->members = arena_array(a, in->members.len, sizeof *w->members);
    workspace_index_init(a, w, in->members.len);
    for (size_t i = 0; i < in->members.len; i++) {
        struct member *m = &w->members[w->nmembers];
        if (ws_role_parse(list[i].role, &m->role) < 0)
            return err_set(e, -EINVAL, "members[%zu].role: expected admin or member", i);
        m->user = roster_user(r, list[i].user_id);
        if (m->user && workspace_role(w, m->user->id) == WS_NONE)
            workspace_index_add(w, w->nmembers++);
    }
    return 0;
}

int workspace_read(struct arena *a, struct roster_docs *d, str id, const struct roster *r,
                   struct workspace *ret, struct err *e)
{
    struct workspace_in in = {0};
    struct workspace w = {0};
    const struct roster_place p = roster_place_of(a, d, "workspaces", id);
    const char *dir = p.dir;
    int rc = roster_read_doc(a, &p, "workspace.json", WORKSPACE_FIELDS, &in, &w.doc, e);
    if (rc < 0)
        return rc;
    if (!str_eq(in.id, id))
        return err_set(e, -EINVAL, "%s/workspace.json: its id is not the directory's name", dir);
    w.id = in.id;
    w.name = in.name;
    w.root = dir;
    w.created_ms = time_from_iso(in.created_at);
    w.updated_ms = time_from_iso(in.updated_at);
    w.bundles = in.bundles;
    w.skill_dirs = in.skill_dirs;
    w.agents = in.agents;
    w.models = in.models;
    w.identity = in.identity;
    w.permissions = in.permissions;
    rc = read_members(a, &in, r, &w, e);
    if (rc < 0) {
        err_prefix(e, "%s/workspace.json", dir);
        return rc;
    }
    *ret = w;
    return 0;
}
