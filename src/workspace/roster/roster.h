/* roster.h - all users and workspaces, as the files were at one moment.
 *
 * A roster is read whole from {workDir}/users/<id>/{profile,credentials}.json and
 * {workDir}/workspaces/<id>/workspace.json, or from the same documents elsewhere
 * (roster_source.h), and never changes afterwards: change.h writes files and
 * reads a new one, directory.h holds the current one and notifies observers of the differences.
 * Everything lives in the roster's own arena. Reading blocks; lookups are pure.
 *
 * A user or workspace whose file cannot be read or is not valid is left out of the roster and
 * named in `problems`: a user who cannot be read has no access. */
#pragma once

#include "base/json/json_decode.h"
#include "base/map.h"
#include "workspace/roster/roster_source.h"

#define ROSTER_USERS_MAX      10000
#define ROSTER_WORKSPACES_MAX 10000
#define ROSTER_TOKENS_MAX     100 /* of one user */
#define ROSTER_FILE_MAX       (1024u * 1024)

/* Without instance.json there is one person and one workspace, rooted at the work directory. */
#define ROSTER_SOLE_USER      "usr_default"
#define ROSTER_SOLE_WORKSPACE "ws_default"

enum org_role { ORG_MEMBER, ORG_ADMIN, ORG_OWNER };
enum ws_role { WS_NONE, WS_MEMBER, WS_ADMIN };

struct user_token { /* an API token; its value is known only to its bearer */
    const struct user *user;
    str id, name, hash;             /* hash: SHA-256 in hex */
    struct json_strs scopes, tools; /* tools: globs, none = all */
    str workspace_id;               /* empty = all workspaces of its user */
    int64_t created_ms, expires_ms; /* expires_ms 0 = never */
};

struct user {
    str id, email, display_name; /* email is lower-case and unique; may be empty */
    enum org_role role;
    str issuer, subject; /* identity at the OpenID provider; empty = not bound yet */
    int64_t created_ms, updated_ms;
    const struct json *preferences; /* timezone, locale, theme ...; never NULL */

    str password;             /* an argon2id string; empty = cannot log in with a password */
    int64_t sessions_from_ms; /* sessions that began earlier have ended */
    struct user_token *tokens;
    size_t ntokens;

    const struct json *profile, *credentials; /* the whole files; credentials may be NULL */
};

struct member {
    const struct user *user;
    enum ws_role role; /* never WS_NONE */
};

/* Finds a member in constant time: a role is looked up for each frame and each watcher. */
struct member_index {
    uint32_t *slots; /* index + 1 into the members, 0 = free; NULL: few members, not indexed */
    size_t nslots;   /* a power of two */
};

struct workspace {
    str id, name;
    const char *root; /* the directory of its data, absolute */
    struct member *members;
    size_t nmembers;
    struct member_index by_user; /* of members */
    int64_t created_ms, updated_ms;
    /* Settings that upper floors decode themselves; NULL when absent. */
    const struct json *bundles, *skill_dirs, *agents, *models, *identity, *permissions;
    const struct json *doc; /* the whole file */
};

struct roster {
    struct arena arena;
    const char *work_dir;
    bool is_sole;        /* one implicit person and workspace */
    uint64_t mark;       /* of the source when this was read */
    uint64_t generation; /* of the table; 0 = files */
    struct user *users;
    size_t nusers;
    struct workspace *workspaces;
    size_t nworkspaces;
    struct json_strs problems;
    bool misses_users; /* some cannot be read: who is not here may still exist */
    struct map by_id, by_email, by_token, by_subject, workspaces_by_id;
};

/* Reads everything, under the shared lock. `is_sole` ignores workspaces/ and all users but
 * usr_default, whose profile may exist to store preferences. */
int roster_load(const char *work_dir, bool is_sole, struct roster **ret, struct err *e);
int roster_load_from(struct roster_source *s, struct roster **ret, struct err *e);
void roster_free(struct roster *r); /* accepts NULL */

const struct user *roster_user(const struct roster *r, str id); /* NULL when absent, as all below */
const struct user *roster_user_by_email(const struct roster *r, str email); /* any case */
const struct user *roster_user_by_subject(const struct roster *r, str issuer, str subject);
const struct user_token *roster_token(const struct roster *r, str hash); /* expired ones too */
const struct workspace *roster_workspace(const struct roster *r, str id);
/* Finds a workspace by its id, with or without "ws_", or by its name. -ENOENT, or -EINVAL when
 * several have that name. */
int roster_find_workspace(const struct roster *r, str typed, const struct workspace **ret,
                          struct err *e);

/* Finds a user by id, e-mail address or display name; upper and lower case of the last two are
 * ignored. -ENOENT, or -EINVAL when several have that name. */
int roster_find_user(const struct roster *r, str typed, const struct user **ret, struct err *e);

enum ws_role workspace_role(const struct workspace *w, str user_id);
size_t workspace_admins(const struct workspace *w);
size_t roster_owners(const struct roster *r);
/* The user that commands on this machine act for: the first owner. */
str roster_operator(const struct roster *r);
/* How many workspaces the user is a member of; *ret_one is the first of them. */
size_t roster_memberships(const struct roster *r, str user_id, const struct workspace **ret_one);

str org_role_name(enum org_role role); /* owner, admin, member */
int org_role_parse(str name, enum org_role *ret);
str ws_role_name(enum ws_role role); /* admin, member */
int ws_role_parse(str name, enum ws_role *ret);

bool user_id_ok(str id);      /* usr_ and 1 to 64 of [A-Za-z0-9_-] */
bool workspace_id_ok(str id); /* ws_ and 1 to 64 of [a-z0-9_] */

/* The member that a typed name refers to: an id, an e-mail address or a display name; upper and
 * lower case of the last two are ignored. -ENOENT no member is called that; -EINVAL several are:
 * sharing must not depend on a guess. ws may be NULL: it has no members. */
int member_find(const struct workspace *ws, str typed, const struct user **ret, struct err *e);
