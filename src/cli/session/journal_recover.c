#include "cli/session/journal_recover.h"

#include "os/dir.h"
#include "store/log/replay.h"

static void journal_recover_warn(void *ctx, const char *sentence)
{
    fprintf(stderr, "nb: %s\n", sentence);
}

void journal_recover(const char *dir)
{
    struct replay_report report;
    struct err e = {0};
    int r = replay_journals(&store_io_system, dir, &report, &e);
    replay_tell(&report, dir, journal_recover_warn, NULL);
    if (r < 0)
        fprintf(stderr, "nb: warning: entries of the journal may be missing: %s\n", e.msg);
}

/* <root>/<name><rest>, for each name. */
static void recover_below(struct config *c, const char *root, const char *rest)
{
    DIR_EACH (d, root) {
        if (d.name[0] != '.')
            journal_recover(arena_printf(&c->arena, "%s/%s%s", root, d.name, rest).p);
    }
}

void journal_recover_all(struct config *c)
{
    journal_recover(config_path(c, "conversations"));
    recover_below(c, config_path(c, "workspaces"), "/conversations");
    if (!c->store.dir || strcmp(c->store.type, "jsonl") != 0)
        return;
    journal_recover(c->store.dir);
    recover_below(c, c->store.dir, "");
}
