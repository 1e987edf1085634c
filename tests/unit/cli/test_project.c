#include <sys/stat.h>
#include <unistd.h>

#include "cli/chat/project.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct arena arena;
static struct tempdir dir;

static int begin(void **state)
{
    arena_init(&arena);
    assert_int_equal(tempdir_make(&dir), 0);
    return 0;
}

static int end(void **state)
{
    (void)tempdir_drop(&dir);
    arena_done(&arena);
    return 0;
}

static const char *at(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir.path, name).p;
}

static void put(const char *name, str text)
{
    assert_int_equal(file_write_atomic(at(name), text, 0600, NULL), 0);
}

TEST_WITH(files_of_the_directory_and_of_the_root, begin, end)
{
    struct project p;
    assert_int_equal(file_make_dirs(at("sub/deep"), NULL), 0);
    put("AGENTS.md", STR("root"));
    put("sub/CLAUDE.md", STR("between"));
    put("sub/deep/AGENTS.md", STR("here"));
    project_find(&arena, at("sub/deep"), &p);
    assert_int_equal(p.n, 1); /* no .git: only here */
    assert_int_equal(mkdir(at(".git"), 0700), 0);
    project_find(&arena, at("sub/deep"), &p);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.files[0].path, at("AGENTS.md"));
    assert_string_equal(p.files[1].path, at("sub/deep/AGENTS.md"));
    project_find(&arena, dir.path, &p);
    assert_int_equal(p.n, 1); /* the root is here: not twice */
}

/* A repository may contain a link to a key, or a directory with that name. */
TEST_WITH(links_directories_and_large_files_are_not_read, begin, end)
{
    struct project p;
    struct buf large;
    put("secret", STR("key"));
    assert_int_equal(symlink(at("secret"), at("AGENTS.md")), 0);
    assert_int_equal(mkdir(at("CLAUDE.md"), 0700), 0);
    project_find(&arena, dir.path, &p);
    assert_int_equal(p.n, 0);
    assert_int_equal(unlink(at("AGENTS.md")), 0);
    buf_init(&large, PROJECT_BYTES_MAX + 1);
    while (large.n <= PROJECT_BYTES_MAX)
        buf_add_char(&large, 'x');
    put("AGENTS.md", buf_str(&large));
    project_find(&arena, dir.path, &p);
    assert_int_equal(p.n, 1);
    assert_true(p.files[0].is_too_large);
    buf_done(&large);
}
