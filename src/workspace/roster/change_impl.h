/* change_impl.h - shared by the files of change.h; not for other rooms.
 *
 * change.c takes the lock and runs one edit_* function by the kind of change. That function checks
 * the values and the guards against x->roster, then writes files; it sets x->ret_id on success and
 * x->e on failure. A guard is a rule that must stay true: the last owner, the last admin. */
#pragma once

#include "base/clock.h"
#include "workspace/roster/change.h"

struct edit { /* one change under the lock */
    struct arena *arena;
    struct roster_docs *docs;
    const struct roster *roster; /* as it was read under the lock */
    const struct change *change;
    char now[CLOCK_ISO_LEN + 1];
    int64_t now_ms;
    char *ret_id; /* CHANGE_ID_MAX */
    struct err *e;
};

typedef int (*edit_fn)(struct edit *x);

void edit_result(struct edit *x, str id);
/* The user or workspace that the change names; NULL with -ENOENT in x->e. */
const struct user *edit_user(struct edit *x);
const struct workspace *edit_workspace(struct edit *x);

/* A line of text for people: trimmed, valid, without control characters, not too long. */
int edit_name(struct edit *x, const char *what, str name, str *ret);

/* Writes a document. Sets updatedAt when `is_stamped`. */
int edit_write(struct edit *x, const char *kind, str id, const char *file, struct json *doc,
               bool is_stamped);

int edit_user_add(struct edit *x);
int edit_user_set(struct edit *x);
int edit_user_bind(struct edit *x);
int edit_user_password(struct edit *x);
int edit_user_sign_out(struct edit *x);
int edit_user_remove(struct edit *x);
int edit_token_add(struct edit *x);
int edit_token_revoke(struct edit *x);
int edit_workspace_add(struct edit *x);
int edit_workspace_set(struct edit *x);
int edit_workspace_remove(struct edit *x);
int edit_member_set(struct edit *x);
int edit_member_remove(struct edit *x);

/* Removes one member from the file and deletes their accounts at remote servers; checks no guard.
 */
int workspace_drop_member(struct edit *x, const struct workspace *w, str user_id);
