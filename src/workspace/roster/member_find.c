#include <errno.h>

#include "base/utf8.h"
#include "workspace/roster/roster.h"

#define TYPED_SHOWN 100 /* bytes, in an error */

static bool is_called(const struct user *u, str typed)
{
    return u->display_name.n > 0 && str_eq_nocase(u->display_name, typed);
}

static const struct user *by_id_or_email(const struct workspace *ws, str typed)
{
    for (size_t i = 0; ws && i < ws->nmembers; i++) {
        const struct user *u = ws->members[i].user;
        if (str_eq(u->id, typed) || (u->email.n > 0 && str_eq_nocase(u->email, typed)))
            return u;
    }
    return NULL;
}

int member_find(const struct workspace *ws, str typed, const struct user **ret, struct err *e)
{
    const struct user *found = by_id_or_email(ws, typed);
    size_t n = found != NULL;
    for (size_t i = 0; !found && ws && i < ws->nmembers; i++)
        n += is_called(ws->members[i].user, typed);
    for (size_t i = 0; n == 1 && !found; i++)
        if (is_called(ws->members[i].user, typed))
            found = ws->members[i].user;
    *ret = found;
    if (found)
        return 0;
    str shown = utf8_truncate(typed, TYPED_SHOWN);
    if (n > 1)
        return err_set(e, -EINVAL,
                       "%zu members of this workspace are called '%.*s'. Use the e-mail address or "
                       "the id.",
                       n, STR_ARG(shown));
    return err_set(e, -ENOENT, "'%.*s' is not a member of this workspace.", STR_ARG(shown));
}
