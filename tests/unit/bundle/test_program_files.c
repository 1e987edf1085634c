#include <errno.h>

#include "bundle/confine/program_files.h"
#include "sandbox_rig.h"

static struct path_list found;
static const char *program;

static int reach(const char *const *argv, const char *path, const char *cwd, struct err *e)
{
    const char *const env[] = {arena_printf(&rig.arena, "PATH=%s", path).p, NULL};
    struct path_list writes = {0};
    path_list_add(&rig.arena, &writes, str_from(at("work/data/me")));
    struct program_query q = {.argv = argv,
                              .env = env,
                              .cwd = cwd,
                              .home_dir = at("home"),
                              .work_dir = at("work"),
                              .writes = &writes};
    found = (struct path_list){0};
    return program_files_find(&rig.arena, &q, &found, &program, e);
}

static bool reads(const char *name)
{
    for (size_t i = 0; i < found.n; i++) {
        if (strcmp(found.at[i], at(name)) == 0)
            return true;
    }
    return false;
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST_WITH(a_program_of_the_system_needs_nothing, rig_open, rig_close)
{
    assert_int_equal(reach(ARGV("cat", "--version"), "/usr/bin:/bin", "/", NULL), 0);
    assert_string_equal(program, "/usr/bin/cat");
    assert_int_equal(found.n, 0);
}

TEST_WITH(an_interpreter_brings_its_installation, rig_open, rig_close)
{
    assert_int_equal(reach(ARGV("node"), at("home/node/bin"), "/", NULL), 0);
    assert_string_equal(program, at("home/node/bin/node"));
    assert_true(reads("home/node"));
    assert_int_equal(found.n, 1);
}

TEST_WITH(a_script_brings_its_package, rig_open, rig_close)
{
    const char *script = at("app/dist/deep/index.js");
    assert_int_equal(reach(ARGV("cat", "--flag", script, at("home/notes/list")), "/bin", "/", NULL),
                     0);
    assert_true(reads("app"));
    assert_false(reads("home/notes"));
    assert_int_equal(reach(ARGV("cat", "dist/deep/index.js"), "/bin", at("app"), NULL), 0);
    assert_true(reads("app"));
}

TEST_WITH(modules_are_found_from_the_outermost_directory, rig_open, rig_close)
{
    const char *script = make_file("app/node_modules/a/node_modules/b/x.js", "", 0644);
    assert_int_equal(reach(ARGV("cat", script), "/bin", "/", NULL), 0);
    assert_true(reads("app/node_modules"));
    assert_false(reads("app"));
}

TEST_WITH(a_home_is_never_brought_along, rig_open, rig_close)
{
    make_file("home/bin/tool", "", 0755);
    make_file("home/lib/x", "", 0644);
    assert_int_equal(reach(ARGV("tool"), at("home/bin"), "/", NULL), 0);
    assert_true(reads("home/bin/tool"));
    assert_int_equal(found.n, 1);
    make_file("home/.local/bin/tool", "", 0755);
    make_file("home/.local/lib/x", "", 0644);
    assert_int_equal(reach(ARGV("tool"), at("home/.local/bin"), "/", NULL), 0);
    assert_true(reads("home/.local/bin/tool"));
    assert_int_equal(found.n, 1);
    const char *script = make_file("home/loose.js", "", 0644);
    make_file("home/package.json", "{}", 0644);
    assert_int_equal(reach(ARGV("cat", script), "/bin", "/", NULL), 0);
    assert_true(reads("home/loose.js"));
    assert_int_equal(found.n, 1);
}

TEST_WITH(links_and_first_lines_are_followed, rig_open, rig_close)
{
    make_file("venv/pyvenv.cfg", "", 0644);
    make_dirs(at("venv/bin"));
    assert_int_equal(symlink(at("home/node/bin/node"), at("venv/bin/python")), 0);
    assert_int_equal(reach(ARGV(at("venv/bin/python")), "/bin", "/", NULL), 0);
    assert_true(reads("venv") && reads("home/node"));
    const char *script = make_file("tool/run", "#!/usr/bin/env -S node --x\n", 0755);
    make_file("tool/package.json", "{}", 0644);
    assert_int_equal(reach(ARGV(script), at("home/node/bin"), "/", NULL), 0);
    assert_true(reads("tool") && reads("home/node"));
}

/* `npx some-server` runs in its data directory, where it can make a link of that name. */
TEST_WITH(links_of_its_own_are_not_followed, rig_open, rig_close)
{
    assert_int_equal(symlink(at("home/.ssh/id"), at("work/data/me/some-server")), 0);
    assert_int_equal(reach(ARGV("cat", "-y", "some-server"), "/bin", at("work/data/me"), NULL), 0);
    assert_int_equal(found.n, 0);
    assert_int_equal(symlink("work/data/me/some-server", at("outside")), 0);
    assert_int_equal(reach(ARGV("cat", at("outside")), "/bin", "/", NULL), 0);
    assert_int_equal(found.n, 0);
}

TEST_WITH(what_is_not_there_is_said, rig_open, rig_close)
{
    struct err e = {0};
    assert_int_equal(reach(ARGV("no-such-thing"), "/usr/bin", "/", &e), -ENOENT);
    assert_non_null(strstr(e.msg, "no such program in PATH (/usr/bin)"));
    assert_int_equal(reach(ARGV("/no/such/thing"), "/usr/bin", "/", &e), -ENOENT);
    assert_int_equal(reach(ARGV(at("home/notes/list")), "/usr/bin", "/", &e), -ENOENT);
}
