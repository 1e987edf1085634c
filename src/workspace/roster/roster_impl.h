/* roster_impl.h - how files become parts of a roster; for the files of workspace/ alone. */
#pragma once

#include "workspace/roster/roster.h"
#include "workspace/roster/roster_lock.h"

/* The roster as of a lock that the caller holds. */
int roster_load_locked(const struct roster_lock *l, const char *work_dir, bool is_sole,
                       struct roster **ret, struct err *e);

/* As it is stored and compared: in lower case. */
str email_fold(struct arena *a, str email);

/* Files below `dir` (users/<id>, workspaces/<id>) into structs. -ENOENT: the file is not there. */
int user_read(struct arena *a, const char *dir, str id, struct user *ret, struct err *e);
int workspace_read(struct arena *a, const char *dir, str id, const struct roster *r,
                   struct workspace *ret, struct err *e);

/* The index of at most `max` members; a member is added to it after it was placed in `members`. */
void workspace_index_init(struct arena *a, struct workspace *w, size_t max);
void workspace_index_add(struct workspace *w, size_t member);
