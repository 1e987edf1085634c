/* change.h - one change of users or workspaces, carried out on the files.
 *
 * Every writer, server or command, uses change_apply:
 *
 *   lock {workDir}/directory.lock (exclusive)
 *     -> read the roster again -> check the change against it
 *     -> write the files atomically (0600 in 0700 directories)
 *     -> write a new mark to the lock file, which running servers watch
 *     -> read the roster for the result
 *   unlock
 *
 * A table that servers share has a transaction and a generation in the place of the lock file and
 * its mark (roster_source.h). So two writers never lose each other's changes, and the invariants
 * hold: an e-mail address belongs to one user, there is always an owner, and every workspace with
 * members has an admin. A change of several files writes them in an order that leaves fewer rights,
 * never more, when it is interrupted. Blocking: for commands and pool threads. */
#pragma once

#include "workspace/roster/roster.h"

enum change_kind {
    CHANGE_USER_ADD,         /* email, display_name, role, password?, issuer? subject?, user_id? */
    CHANGE_USER_SET,         /* user_id; email?, display_name?, has_role + role, preferences? */
    CHANGE_USER_BIND,        /* user_id, issuer, subject: the identity at the OpenID provider */
    CHANGE_USER_PASSWORD,    /* user_id, password: ends all sessions of the user */
    CHANGE_USER_SIGN_OUT,    /* user_id: ends all sessions */
    CHANGE_USER_REMOVE,      /* user_id; is_cascade also deletes workspaces with no other member */
    CHANGE_TOKEN_ADD,        /* user_id, token (without id) */
    CHANGE_TOKEN_REVOKE,     /* user_id, token.id */
    CHANGE_WORKSPACE_ADD,    /* name, workspace_id? (made from the name), user_id = first admin */
    CHANGE_WORKSPACE_SET,    /* workspace_id; name?, settings?: members of the file, null removes */
    CHANGE_WORKSPACE_REMOVE, /* workspace_id: its directory moves to {workDir}/trash/ */
    CHANGE_MEMBER_SET,       /* workspace_id, user_id, ws_role: adds, or changes the role */
    CHANGE_MEMBER_REMOVE,    /* workspace_id, user_id */
};

/* Members that are empty or NULL are not changed. All are borrowed until the change is done. */
struct change {
    enum change_kind kind;
    str user_id, email, display_name, password, issuer, subject;
    bool has_role;
    enum org_role role;
    const struct json *preferences; /* an object: merged, null removes a key */
    struct user_token token;
    str workspace_id, name;
    enum ws_role ws_role;
    const struct json *settings; /* bundles, skillDirs, agents, models, identity, permissions */
    bool is_cascade;
    const char *actor; /* who asked, for the log; may be NULL */
};

#define CHANGE_ID_MAX 96

struct change_result {
    char id[CHANGE_ID_MAX]; /* of the user, token or workspace that was made or changed */
    struct roster *roster;  /* after the change; the caller frees it */
};

/* 0, or -EINVAL bad values, -ENOENT no such user/workspace/token, -EEXIST the e-mail address or id
 * is taken, -EPERM a guard (last owner, last admin), -EBUSY the lock is held for too long,
 * -ENOTSUP without instance.json. The message is for the person who asked. */
int change_apply(const char *work_dir, bool is_sole, const struct change *c,
                 struct change_result *ret, struct err *e);
int change_apply_to(struct roster_source *s, const struct change *c, struct change_result *ret,
                    struct err *e);

/* Members of workspace.json that are not about people: bundles, models ... */
bool workspace_is_setting(str key);

/* Deep copy, for changes that wait in a queue. */
struct change change_clone(struct arena *a, const struct change *c);
