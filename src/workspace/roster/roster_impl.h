/* roster_impl.h - how files become parts of a roster; for the files of workspace/ alone. */
#pragma once

#include "workspace/roster/roster.h"

/* The roster of a visit. */
int roster_load_visit(struct roster_docs *d, bool is_sole, struct roster **ret, struct err *e);

/* As it is stored and compared: in lower case. */
str email_fold(struct arena *a, str email);

/* Documents into structs. -ENOENT: it is not there. */
int user_read(struct arena *a, struct roster_docs *d, str id, struct user *ret, struct err *e);
int workspace_read(struct arena *a, struct roster_docs *d, str id, const struct roster *r,
                   struct workspace *ret, struct err *e);

/* The index of at most `max` members; a member is added to it after it was placed in `members`. */
void workspace_index_init(struct arena *a, struct workspace *w, size_t max);
void workspace_index_add(struct workspace *w, size_t member);
