#include "cli/session/own_server.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

int own_server_new(struct loop *l, struct config *c, bool with_bundles, struct server **ret,
                   struct err *e)
{
    char here[PATH_MAX];
    struct server_options opt = {.workspace_id = c->workspace,
                                 .needs_home = true,
                                 .with_bundles = with_bundles,
                                 .with_local_probe = true,
                                 .home_dir = getenv("HOME")};
    if (getcwd(here, sizeof here)) /* a deleted current directory has no skills */
        opt.project_dir = arena_cstr(&c->arena, str_from(here));
    return server_new(l, loop_log(l), c, &opt, ret, e);
}
