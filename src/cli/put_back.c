#include "cli/put_back.h"

#include <dirent.h>

#include "store/replay.h"

static void say(void *ctx, const char *sentence)
{
    fprintf(stderr, "nb: %s\n", sentence);
}

void put_back(const char *dir)
{
    struct replay_report report;
    struct err e = {0};
    int r = replay_journals(&store_io_system, dir, &report, &e);
    replay_tell(&report, dir, say, NULL);
    if (r < 0)
        fprintf(stderr, "nb: warning: what the journal holds may be missing: %s\n", e.msg);
}

/* <root>/<name><rest>, for each name. */
static void put_back_below(struct config *c, const char *root, const char *rest)
{
    DIR *d = opendir(root);
    const struct dirent *it;
    while (d && (it = readdir(d)) != NULL) {
        if (it->d_name[0] != '.')
            put_back(arena_printf(&c->arena, "%s/%s%s", root, it->d_name, rest).p);
    }
    if (d)
        closedir(d);
}

void put_back_all(struct config *c)
{
    put_back(config_path(c, "conversations"));
    put_back_below(c, config_path(c, "workspaces"), "/conversations");
    if (!c->store.dir || strcmp(c->store.type, "jsonl") != 0)
        return;
    put_back(c->store.dir);
    put_back_below(c, c->store.dir, "");
}
