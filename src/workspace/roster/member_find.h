/* member_find.h - finds the member of a workspace that a typed name refers to.
 *
 * People are named by id, by e-mail address or by display name; upper and lower case of the last
 * two are ignored. A name that several members have is refused: sharing must not depend on a guess.
 * Pure. */
#pragma once

#include "base/err.h"
#include "workspace/roster/roster.h"

/* -ENOENT no member is called that, -EINVAL several are. ws may be NULL: it has no members. The
 * result is borrowed from the roster. */
int member_find(const struct workspace *ws, str typed, const struct user **ret, struct err *e);
