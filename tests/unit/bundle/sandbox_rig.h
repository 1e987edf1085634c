/* sandbox_rig.h - a small world of files below a temporary directory, for tests of sandboxes. */
#pragma once

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/sandbox/sandbox.h"
#include "support/unit.h"

struct rig {
    char root[64];
    struct arena arena;
};

static struct rig rig;

static const char *at(const char *name)
{
    return arena_printf(&rig.arena, "%s/%s", rig.root, name).p;
}

static void make_dirs(const char *path)
{
    char part[512];
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        snprintf(part, sizeof(part), "%.*s", (int)i, path);
        (void)mkdir(part, 0755);
    }
}

static const char *make_file(const char *name, const char *text, mode_t mode)
{
    const char *path = at(name);
    make_dirs(arena_printf(&rig.arena, "%.*s", (int)(strrchr(path, '/') - path), path).p);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, mode);
    return path;
}

static int rig_open(void **state)
{
    snprintf(rig.root, sizeof(rig.root), "/tmp/nb-rig-XXXXXX");
    assert_non_null(mkdtemp(rig.root));
    arena_init(&rig.arena);
    make_file("home/.ssh/id", "", 0600);
    make_file("home/.config/gh/hosts.yml", "", 0600);
    make_file("home/notes/list", "", 0644);
    make_file("home/node/bin/node", "", 0755);
    make_file("home/node/lib/x", "", 0644);
    make_file("work/data/me/x", "", 0644);
    make_file("work/data/other/x", "", 0644);
    make_file("app/package.json", "{}", 0644);
    make_file("app/dist/deep/index.js", "", 0644);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

static int rig_close(void **state)
{
    nftw(rig.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    arena_done(&rig.arena);
    return 0;
}

static __attribute__((unused)) bool has(const char *const *list, const char *text)
{
    for (; *list; list++) {
        if (strcmp(*list, text) == 0)
            return true;
    }
    return false;
}

/* The index of `text` at or behind `from`, or -1. */
static __attribute__((unused)) int find(const char *const *list, int from, const char *text)
{
    for (int i = from; list[i]; i++) {
        if (strcmp(list[i], text) == 0)
            return i;
    }
    return -1;
}
