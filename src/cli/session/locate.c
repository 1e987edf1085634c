#include "cli/session/locate.h"

#include "os/dir.h"
#include "os/file.h"
#include "store/store.h"

static bool is_log_in(struct config *c, const char *dir, str id)
{
    return file_exists(arena_printf(&c->arena, "%s/%.*s.jsonl", dir, STR_ARG(id)).p);
}

static const char *in_workspaces(struct config *c, str id)
{
    const char *root = config_path(c, "workspaces"), *found = NULL;
    DIR_EACH (d, root) {
        if (d.name[0] == '.' || found)
            continue;
        const char *dir = arena_printf(&c->arena, "%s/%s/conversations", root, d.name).p;
        if (is_log_in(c, dir, id))
            found = dir;
    }
    return found;
}

const char *locate_log(struct config *c, str id)
{
    if (strcmp(c->store.type, "jsonl") != 0 || !store_id_valid(id))
        return NULL;
    const char *flat = config_path(c, "conversations");
    if (is_log_in(c, c->store.dir ? c->store.dir : flat, id))
        return NULL;
    return is_log_in(c, flat, id) ? flat : in_workspaces(c, id);
}
