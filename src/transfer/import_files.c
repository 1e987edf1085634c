#include "transfer/import_files.h"

#include <errno.h>
#include <sys/stat.h>

#include "os/dir.h"

enum { DEPTH_MAX = 3 };

struct collector {
    struct arena *arena;
    struct import_file *files;
    size_t n, cap, max;
};

static void collector_add(struct collector *c, const char *path, int64_t size)
{
    if (c->n == c->max)
        return;
    GROW(c->files, c->n, c->cap);
    c->files[c->n++] = (struct import_file){.path = path, .size = size};
}

static bool is_wanted_file(str name)
{
    if (str_ends(name, STR(".json")))
        return str_starts(name, STR("conversations"));
    return str_ends(name, STR(".jsonl")) && !str_eq(name, STR("notes.jsonl"));
}

static void visit(struct collector *c, const char *dir, int depth)
{
    struct stat st;
    DIR_EACH (d, dir) {
        str name = str_from(d.name);
        if (name.p[0] == '.' || str_eq(name, STR("trash")))
            continue;
        const char *path = arena_printf(c->arena, "%s/%s", dir, d.name).p;
        if (stat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            visit(c, path, depth + 1);
        else if (S_ISREG(st.st_mode) && is_wanted_file(name))
            collector_add(c, path, st.st_size);
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct import_file *)a)->path, ((const struct import_file *)b)->path);
}

int import_files(struct arena *a, const char *path, size_t max, struct import_file **ret,
                 size_t *ret_n, struct err *e)
{
    struct collector c = {.arena = a, .max = max};
    struct stat st;
    if (stat(path, &st) < 0)
        return err_errno(e, -errno, "cannot read", path);
    if (S_ISDIR(st.st_mode))
        visit(&c, path, 0);
    else if (S_ISREG(st.st_mode))
        collector_add(&c, arena_cstr(a, str_from(path)), st.st_size);
    if (c.n == 0)
        return err_set(e, -ENOENT,
                       "%s contains no conversations: no .jsonl and no conversations.json", path);
    qsort(c.files, c.n, sizeof(*c.files), by_path);
    *ret = c.files;
    *ret_n = c.n;
    return 0;
}
