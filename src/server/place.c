#include "server/place.h"

#include <errno.h>

#include "auth/instance.h"
#include "server/open_workspace.h"
#include "server/shared.h"

int place_choose(const struct roster *all, const char *typed, const struct workspace **ret,
                 struct err *e)
{
    if (!typed || !*typed) {
        if (all->nworkspaces == 0)
            return err_set(e, -EINVAL, "no workspaces yet; create one: nb workspace create NAME");
        if (all->nworkspaces > 1)
            return err_set(e, -EINVAL,
                           "there are several workspaces (nb workspace list shows them): pass "
                           "--workspace NAME");
        *ret = &all->workspaces[0];
        return 0;
    }
    return roster_find_workspace(all, str_from(typed), ret, e);
}

int place_roster(const struct config *c, struct roster **ret, struct err *e)
{
    struct instance i;
    int r = instance_load(&i, c->work_dir, c->secrets.nb_api_key, c->secrets.oidc_client_secret, e);
    if (r < 0)
        return r;
    r = instance_check_people(&i, c->work_dir, e);
    if (r == 0)
        r = shared_roster(c, instance_is_sole(&i), ret, e);
    instance_done(&i);
    return r;
}

struct store_conf place_store(struct config *c, const struct workspace *w, const char *type,
                              const char *dir)
{
    const char *id = arena_cstr(&c->arena, w->id), *root = arena_cstr(&c->arena, str_from(w->root));
    return open_workspace_store_conf(&c->arena, c, id, root, type, dir);
}
