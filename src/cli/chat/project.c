#include "cli/chat/project.h"

#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

#define LEVELS_MAX 32 /* directories above the current one that are looked at */

static bool add_file(struct arena *a, const char *dir, const char *name, struct project *p)
{
    struct stat st;
    const char *path = arena_printf(a, "%s/%s", dir, name).p;
    if (p->n == PROJECT_FILES_MAX || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_uid != geteuid() || st.st_size == 0)
        return false;
    p->files[p->n++] =
        (struct project_file){path, name, st.st_size, (uint64_t)st.st_size > PROJECT_BYTES_MAX};
    return true;
}

static void add_directory(struct arena *a, const char *dir, struct project *p)
{
    static const char *const NAMES[] = {"AGENTS.md", "CLAUDE.md"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        (void)add_file(a, dir, NAMES[i], p);
}

/* NULL: none, or `dir` itself. */
static const char *root_above(struct arena *a, const char *dir)
{
    str at = str_from(dir);
    for (int i = 0; i < LEVELS_MAX; i++) {
        const char *here = arena_cstr(a, at);
        if (file_exists(arena_printf(a, "%s/.git", here).p))
            return i > 0 ? here : NULL;
        ptrdiff_t slash = str_rfind_char(at, '/');
        if (slash <= 0)
            return NULL;
        at.n = (size_t)slash;
    }
    return NULL;
}

void project_find(struct arena *a, const char *dir, struct project *ret)
{
    const char *root = root_above(a, dir);
    *ret = (struct project){0};
    if (root)
        add_directory(a, root, ret);
    add_directory(a, dir, ret);
}

bool project_is_off(const struct cli *cli, const struct config *c, const struct chat_session *s)
{
    str why;
    return cli->chat.is_without_project || c->no_project_context ||
           session_directory(s, &why).n == 0;
}

int project_attach(const struct cli *cli, const struct config *c, struct chat_session *s,
                   void (*tell)(void *ctx, const struct project_file *f), void *ctx, struct err *e)
{
    struct arena a;
    struct project p;
    str why;
    int r = 0;
    if (session_conversation(s).n > 0 || project_is_off(cli, c, s))
        return 0;
    arena_init(&a);
    project_find(&a, arena_cstr(&a, session_directory(s, &why)), &p);
    for (size_t i = 0; i < p.n && r == 0; i++) {
        if (!p.files[i].is_too_large)
            r = session_attach(s, p.files[i].path, e);
        if (r == 0 && tell)
            tell(ctx, &p.files[i]);
    }
    arena_done(&a);
    return r;
}
